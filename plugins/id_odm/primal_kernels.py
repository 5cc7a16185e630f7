"""Exact updates of w = argmin 1/2 |w|^2 + sum_i dist(w'phi_i, [lo_i, hi_i])^2 / (2 il_i), one output.

With S the samples outside their interval, t_i the edge they missed: A = I + sum_S phi phi' / il, r = sum_S t phi / il,
w = A^-1 r. A sample that enters or leaves S is a rank-1 step on A^-1. Beyond the store of `primal_heap`:

- mats (2, d, d): A and M = A^-1, both whole and exactly symmetric;
- vecs (5, d): w, r, and three scratch rows;
- num (4,): PATH = length of the way of w, ERROR = (size of the rounding in A)^2, TRACE of A, PEAK = its largest value
  since A was summed;
- count (9,): see primal_heap.
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.primal_heap import (
    ACTIVE,
    EXCHANGES,
    HI,
    IL,
    LO,
    NORM,
    REBUILDS,
    REFINEMENTS,
    SIDE,
    SINCE,
    STORED,
    dot,
)

W, R, V, G, OLD = 0, 1, 2, 3, 4
PATH, ERROR, TRACE, PEAK = 0, 1, 2, 3
EPS = 2.3e-16
DRIFT = 1e-20  # (1e-10)^2: rounding in A beyond which A is summed afresh


@kernel
def times(matrix: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """out = matrix x for a symmetric matrix (d, d), by rows so that the inner loop is no reduction."""
    out[:] = 0.0
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            for j in range(x.shape[0]):
                out[j] += x[i] * matrix[i, j]


@kernel
def rank_one(matrix: np.ndarray, v: np.ndarray, c: float) -> None:
    """matrix += c v v'; (v_i v_j) first, so that the result is symmetric to the last bit."""
    for i in range(v.shape[0]):
        if v[i] != 0.0:
            for j in range(v.shape[0]):
                matrix[i, j] += c * (v[i] * v[j])


@kernel
def invert(A: np.ndarray, M: np.ndarray) -> None:
    """M = A^-1 by Cholesky: A = LL', M = L^-T L^-1; A (d, d) positive definite."""
    d = A.shape[0]
    L = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            s = A[i, j] - dot(L[i, :j], L[j, :j])
            L[i, j] = math.sqrt(s) if i == j else s / L[j, j]
    # B = L^-1 row by row: B_i = (e_i - sum_k<i L_ik B_k) / L_ii.
    B = np.zeros((d, d))
    for i in range(d):
        for k in range(i):
            for j in range(k + 1):
                B[i, j] -= L[i, k] * B[k, j]
        for j in range(i):
            B[i, j] /= L[i, i]
        B[i, i] = 1.0 / L[i, i]
    M[:, :] = 0.0
    for k in range(d):
        for i in range(k + 1):
            for j in range(k + 1):
                M[i, j] += B[k, i] * B[k, j]


@kernel
def rebuild(
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> None:
    """A, r, M and w from the samples in S: no rounding of earlier updates is left."""
    A, r = mats[0], vecs[R]
    A[:, :] = 0.0
    r[:] = 0.0
    for k in range(count[STORED]):
        i = heap[k]
        if place[i, SIDE] != 0:
            rank_one(A, samples[i], 1.0 / spec[i, IL])
            t = spec[i, LO] if place[i, SIDE] < 0 else spec[i, HI]
            for j in range(r.shape[0]):
                r[j] += t / spec[i, IL] * samples[i, j]
    num[TRACE] = 0.0
    for j in range(r.shape[0]):
        A[j, j] += 1.0
        num[TRACE] += A[j, j]
    num[PEAK] = num[TRACE]
    num[ERROR] = 0.0
    count[SINCE] = 0
    count[REBUILDS] += 1
    remember(vecs)
    invert(A, mats[1])
    times(mats[1], r, vecs[W])
    num[PATH] += gone(vecs)


@kernel
def remember(vecs: np.ndarray) -> None:
    """Old w = w."""
    for j in range(vecs.shape[1]):
        vecs[OLD, j] = vecs[W, j]


@kernel
def gone(vecs: np.ndarray) -> float:
    """|w - old w|, rounded up."""
    total = 0.0
    for j in range(vecs.shape[1]):
        total += (vecs[W, j] - vecs[OLD, j]) ** 2
    return math.sqrt(total) * (1.0 + 1e-12)


@kernel
def exchange(
    i: int,
    to: int,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> None:
    """Sample i changes side, w follows.

    Enter: w += v (t - f) / (il + h), M -= vv' / (il + h); leave: the same with il -> -il; from one edge to the other:
    w += v (t' - t) / il; v = M phi, h = phi'v, f = w'phi.
    """
    phi, il, side = samples[i], spec[i, IL], place[i, SIDE]
    w, r, v = vecs[W], vecs[R], vecs[V]
    times(mats[1], phi, v)
    old = spec[i, LO] if side < 0 else spec[i, HI]
    new = spec[i, LO] if to < 0 else spec[i, HI]
    place[i, SIDE] = to
    count[EXCHANGES] += 1
    count[SINCE] += 1
    if side != 0 and to != 0:
        step, dr = (new - old) / il, (new - old) / il
    else:
        sign, t = (1.0, new) if to != 0 else (-1.0, old)
        h = dot(phi, v)
        rounding = EPS * num[TRACE]
        num[ERROR] += rounding * rounding
        num[TRACE] += sign * spec[i, NORM] ** 2 / il
        num[PEAK] = max(num[PEAK], num[TRACE])
        count[ACTIVE] += to * to - side * side
        pivot = sign * il + h
        if sign < 0.0 and -pivot < 1e-8 * il:  # what is left would be lost in the rounding of what goes
            num[ERROR] = math.inf
            return
        rank_one(mats[0], phi, sign / il)
        rank_one(mats[1], v, -1.0 / pivot)
        step, dr = (t - dot(w, phi)) / pivot, sign * t / il
    for j in range(w.shape[0]):
        w[j] += step * v[j]
        r[j] += dr * phi[j]
    num[PATH] += abs(step) * math.sqrt(dot(v, v)) * (1.0 + 1e-12)


@kernel
def exchange_all(
    m: int,
    todo: np.ndarray,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> None:
    """`exchange` for the m rows (slot, side) of todo; when they are many, only the sides, and A afresh in `settle`."""
    if 2 * m > count[ACTIVE] + vecs.shape[1]:
        for k in range(m):
            i, to = todo[k, 0], todo[k, 1]
            count[ACTIVE] += to * to - place[i, SIDE] * place[i, SIDE]
            place[i, SIDE] = to
        count[EXCHANGES] += m
        count[SINCE] += m
        num[ERROR] = math.inf
    else:
        for k in range(m):
            exchange(todo[k, 0], todo[k, 1], samples, spec, place, mats, vecs, num, count)


@kernel
def settle(
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> None:
    """w := A^-1 r to rounding: start afresh when due, else w += M (r - Aw), and M anew when that does not help."""
    d = vecs.shape[1]
    if count[ACTIVE] == 0 and count[SINCE] > 0:
        remember(vecs)
        mats[:] = 0.0
        for j in range(d):
            mats[0, j, j] = 1.0
            mats[1, j, j] = 1.0
        vecs[W] = 0.0
        vecs[R] = 0.0
        num[PATH] += gone(vecs)
        num[ERROR] = 0.0
        num[TRACE] = float(d)
        num[PEAK] = float(d)
        count[SINCE] = 0
        return
    # Summing A afresh costs what that many exchanges cost; at once only where most of A has gone and left rounding.
    due = (count[SINCE] >= d and 4 * count[SINCE] >= count[ACTIVE]) or num[TRACE] < 0.1 * num[PEAK]
    if num[ERROR] == math.inf or (num[ERROR] > DRIFT and due):
        rebuild(samples, spec, place, heap, mats, vecs, num, count)
    w, r, g = vecs[W], vecs[R], vecs[G]
    before = math.inf
    for attempt in range(6):
        times(mats[0], w, g)
        size = 0.0
        for j in range(d):
            g[j] = r[j] - g[j]
            size += g[j] * g[j]
        size = math.sqrt(size)
        floor = EPS * (math.sqrt(dot(r, r)) + num[TRACE] * math.sqrt(dot(w, w)))
        if size <= max(1e-13, floor) or attempt == 5:
            return
        if size > 0.1 * before:
            invert(mats[0], mats[1])
            count[REBUILDS] += 1
        before = size
        count[REFINEMENTS] += 1
        times(mats[1], g, vecs[V])
        for j in range(d):
            w[j] += vecs[V, j]
        num[PATH] += math.sqrt(dot(vecs[V], vecs[V])) * (1.0 + 1e-12)
