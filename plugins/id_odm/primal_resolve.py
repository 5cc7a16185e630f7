"""Which samples must change sides: block exchanges, and a finite descent when they do not get fewer."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.primal_heap import (
    ACTIVE,
    BLOCKS,
    EVALUATIONS,
    EXPIRY,
    FALLBACKS,
    HI,
    IL,
    LO,
    NORM,
    POS,
    SIDE,
    SINCE,
    STORED,
    dot,
    expiry,
    push,
    remove,
    reschedule,
    side_of,
    slack,
)
from onlinekit_plugins.id_odm.primal_kernels import ERROR, PATH, V, W, exchange_all, settle


@kernel
def infeasible(
    tol: float,
    todo: np.ndarray,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> int:
    """Evaluate the expired samples; those on a wrong side by more than tol go to todo (cap, 2) as (slot, right side).

    The others get their next expiry. Those in todo keep an infinite one until they are exchanged.
    """
    if num[PATH] > 1e3:  # so that adding to it never rounds a small room away
        for k in range(count[STORED]):
            spec[heap[k], EXPIRY] -= num[PATH]
        num[PATH] = 0.0
    m, n = 0, count[STORED]
    while n > 0 and spec[heap[0], EXPIRY] < num[PATH]:
        i = heap[0]
        f = dot(vecs[W], samples[i])
        count[EVALUATIONS] += 1
        room = slack(f, place[i, SIDE], spec[i, LO], spec[i, HI]) + tol
        if room < 0.0:
            todo[m, 0] = i
            todo[m, 1] = side_of(f, spec[i, LO], spec[i, HI])
            m += 1
            reschedule(i, math.inf, n, heap, spec, place)
        else:
            reschedule(i, expiry(num[PATH], room, spec[i, NORM]), n, heap, spec, place)
    return m


@kernel
def resolve(
    tol: float,
    force: int,
    todo: np.ndarray,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> int:
    """Exchange all infeasible samples, again while they get fewer (three stalls allowed), else `descend`.

    force: 0, 1 = straight to `descend`, 2 = a rebuild first. 0, or -1 when `descend` gave up.
    """
    if force == 2:
        num[ERROR] = math.inf
    settle(samples, spec, place, heap, mats, vecs, num, count)
    best, stalls = len(todo) + 1, 0
    while True:
        m = infeasible(tol, todo, samples, spec, place, heap, vecs, num, count)
        if m == 0:
            return 0
        if m < best:
            best, stalls = m, 0
        else:
            stalls += 1
        for k in range(m):
            reschedule(todo[k, 0], -1.0, count[STORED], heap, spec, place)
        if stalls > 3 or force == 1:
            if descend(tol, samples, spec, place, heap, mats, vecs, num, count) < 0:
                return -1
            best, stalls = len(todo) + 1, 0
            continue
        count[BLOCKS] += 1
        exchange_all(m, todo, samples, spec, place, mats, vecs, num, count)
        settle(samples, spec, place, heap, mats, vecs, num, count)


@kernel
def descend(
    tol: float,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> int:
    """Newton steps with an exact line search: finite, as the objective is strictly convex, piecewise quadratic, C1.

    0, or -1 when 500 steps were not enough (rounding at the edge of float64).
    """
    n, d = count[STORED], vecs.shape[1]
    count[FALLBACKS] += 1
    start, p = vecs[W].copy(), np.zeros(d)
    f, q, knots = np.zeros(n), np.zeros(n), np.zeros(2 * n + 1)
    for _ in range(500):
        count[ACTIVE] = 0
        for k in range(n):
            i = heap[k]
            f[k] = dot(start, samples[i])
            place[i, SIDE] = side_of(f[k], spec[i, LO], spec[i, HI])
            count[ACTIVE] += 1 if place[i, SIDE] != 0 else 0
        count[SINCE] += 1
        num[ERROR] = math.inf
        settle(samples, spec, place, heap, mats, vecs, num, count)
        wrong = 0
        for k in range(n):
            i = heap[k]
            g = dot(vecs[W], samples[i])
            room = slack(g, place[i, SIDE], spec[i, LO], spec[i, HI]) + tol
            wrong += 1 if room < 0.0 else 0
            spec[i, EXPIRY] = -1.0  # all alike: still a heap
        count[EVALUATIONS] += 2 * n
        if wrong == 0:
            return 0
        for j in range(d):
            p[j] = vecs[W, j] - start[j]
        size = 1
        for k in range(n):
            i = heap[k]
            q[k] = dot(p, samples[i])
            for edge in (spec[i, LO], spec[i, HI]):
                if q[k] != 0.0 and edge < math.inf and edge > -math.inf and (edge - f[k]) / q[k] > 0.0:
                    knots[size] = (edge - f[k]) / q[k]
                    size += 1
        step = line_minimum(np.sort(knots[:size]), dot(start, p), dot(p, p), f, q, spec, heap)
        for j in range(d):
            start[j] += step * p[j]
    return -1


@kernel
def slope(s: float, a: float, c: float, f: np.ndarray, q: np.ndarray, spec: np.ndarray, heap: np.ndarray) -> float:
    """d/ds of the objective at w + s p: (w'p + s p'p) + sum_i (g_i - clip(g_i)) q_i / il_i with g = f + s q."""
    total = a + s * c
    for k in range(f.shape[0]):
        i = heap[k]
        g = f[k] + s * q[k]
        if g < spec[i, LO]:
            total += (g - spec[i, LO]) * q[k] / spec[i, IL]
        elif g > spec[i, HI]:
            total += (g - spec[i, HI]) * q[k] / spec[i, IL]
    return total


@kernel
def line_minimum(
    knots: np.ndarray, a: float, c: float, f: np.ndarray, q: np.ndarray, spec: np.ndarray, heap: np.ndarray
) -> float:
    """The s > 0 where `slope` is zero; it is increasing and linear between the sorted knots (m,), knots[0] = 0."""
    low, high = 0, knots.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if slope(knots[middle], a, c, f, q, spec, heap) <= 0.0:
            low = middle
        else:
            high = middle
    left = knots[low]
    right = knots[low + 1] if low + 1 < knots.shape[0] else left + 1.0
    at, to = slope(left, a, c, f, q, spec, heap), slope(right, a, c, f, q, spec, heap)
    return left - at * (right - left) / (to - at) if to > at else right


@kernel
def update(
    forget: np.ndarray,
    slots: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    il: np.ndarray,
    tol: float,
    force: int,
    todo: np.ndarray,
    samples: np.ndarray,
    spec: np.ndarray,
    place: np.ndarray,
    heap: np.ndarray,
    mats: np.ndarray,
    vecs: np.ndarray,
    num: np.ndarray,
    count: np.ndarray,
) -> int:
    """For each output: the slots in forget (q,) leave, those in slots (m,) come or change, then one `resolve`.

    lo, hi (outputs, m), il (m,); todo (cap, 2) scratch; samples (cap, d); the others as in primal_heap and
    primal_kernels with a leading axis of outputs. 0, or -1 when an output gave up.
    """
    failed = 0
    for c in range(spec.shape[0]):
        m = 0
        for i in forget:
            if place[c, i, SIDE] != 0:
                todo[m, 0], todo[m, 1] = i, 0
                m += 1
        for i in slots:
            if place[c, i, POS] >= 0 and place[c, i, SIDE] != 0:
                todo[m, 0], todo[m, 1] = i, 0
                m += 1
        exchange_all(m, todo, samples, spec[c], place[c], mats[c], vecs[c], num[c], count[c])
        for i in forget:
            remove(i, heap[c], spec[c], place[c], count[c])
            spec[c, i, :] = 0.0
        for k in range(slots.shape[0]):
            i = slots[k]
            if place[c, i, POS] >= 0:
                remove(i, heap[c], spec[c], place[c], count[c])
            spec[c, i, LO], spec[c, i, HI], spec[c, i, IL] = lo[c, k], hi[c, k], il[k]
            spec[c, i, NORM] = math.sqrt(dot(samples[i], samples[i])) * (1.0 + 1e-14)
            push(i, heap[c], spec[c], place[c], count[c])
        if resolve(tol, force, todo, samples, spec[c], place[c], heap[c], mats[c], vecs[c], num[c], count[c]) < 0:
            failed = -1
        vecs[c, V:, :] = 0.0  # nothing of a forgotten row stays in scratch memory
    for i in forget:
        samples[i, :] = 0.0
    return failed
