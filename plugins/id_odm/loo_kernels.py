"""Exact leave-one-out values from one tableau: each sample's small change of sets, without touching the inverse."""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.kernels import AT_HI, AT_LO, FREE, IDLE
from onlinekit_plugins.id_odm.packed_kernels import add

ROOM = 64  # sets that differ in more samples are solved the long way
STALLS = 3


@kernel
def mirror(L: np.ndarray, T: np.ndarray) -> None:
    """The corner of T (n, n) = the symmetric matrix whose lower triangle L (s, s) has."""
    for i in range(L.shape[0]):
        for j in range(i + 1):
            T[i, j] = T[j, i] = L[i, j]


@kernel
def _eliminate(A: np.ndarray, x: np.ndarray, m: int) -> None:
    """x (m,) <- A^-1 x; A (m, m), positive definite but not symmetric, is used up."""
    for k in range(m):
        for i in range(k + 1, m):
            factor = A[i, k] / A[k, k]
            for j in range(k + 1, m):
                A[i, j] -= factor * A[k, j]
            x[i] -= factor * x[k]
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]


@kernel
def _judge(status: int, b: float, f: float, lo: float, hi: float, il: float, tol: float) -> int:
    """The set in which a sample should be: as it is, or IDLE, or at the edge beyond which f = t - il b lies."""
    if status != IDLE:
        wrong = b < 0.0 if status == AT_LO else b > 0.0
        if not wrong or il * abs(b) <= tol or lo == hi:
            return status
    if f < lo - tol:
        return AT_LO
    if f > hi + tol:
        return AT_HI
    return IDLE


@kernel
def leave_each_out(
    T: np.ndarray, base: np.ndarray, status: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray,
    target: np.ndarray, tol: float, out: np.ndarray,
) -> int:  # fmt: skip
    """out (n,): f at each sample without it; NaN where more than ROOM samples change sets or rounds do not end.

    base (n,): b of members of S, f of idle ones, at the minimiser over all samples. T (n, n), row j: how base moves
    with x_j, where x_j is what a member's row K b + il b = t + x is off when it leaves S (so f = t + x), and the
    coefficient b of an idle one that enters. With J those that change, w = base + sum_J x_j T_j, where w is 0 at
    those that left and t at those that entered: a system of |J|. A member that changes sides has x = t' - t given.
    How many are NaN.
    """
    n, failed = base.shape[0], 0
    now, want = np.empty(n, np.int64), np.empty(n, np.int64)
    changed, unknown, given = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64), np.zeros(n)
    A, x, w = np.empty((ROOM, ROOM)), np.empty(ROOM), np.empty(n)
    for i in range(n):
        out[i] = base[i]
        if status[i] == IDLE:
            continue
        for j in range(n):
            now[j] = status[j]
        now[i] = FREE
        size, best, stalled = 1, n + 1, 0
        changed[0] = i
        out[i] = np.nan
        while size > 0:
            # Where w must go, and what moves it there.
            for j in range(n):
                w[j] = base[j]
            m = 0
            for a in range(size):
                j = changed[a]
                if status[j] != IDLE and now[j] >= AT_LO:
                    add(w, n, (lo[j] if now[j] == AT_LO else hi[j]) - target[j], T[j])
                else:
                    unknown[m] = j
                    m += 1
            for a in range(m):
                j = unknown[a]
                goal = 0.0 if status[j] != IDLE else (lo[j] if now[j] == AT_LO else hi[j])
                x[a] = goal - w[j]
                for e in range(m):
                    A[a, e] = T[unknown[e], j]
            _eliminate(A, x, m)
            for a in range(m):
                add(w, n, x[a], T[unknown[a]])
                given[unknown[a]] = x[a]
            # Who is in the wrong set now?
            count = size = 0
            for j in range(n):
                if now[j] == FREE:
                    want[j] = FREE
                else:
                    inside, ours = now[j] == IDLE, status[j] != IDLE
                    if inside:
                        b, f = 0.0, target[j] + given[j] if ours else w[j]
                    else:
                        b = w[j] if ours else given[j]
                        f = (lo[j] if now[j] == AT_LO else hi[j]) - il[j] * b
                    want[j] = _judge(now[j], b, f, lo[j], hi[j], il[j], tol)
                    count += want[j] != now[j]
                if want[j] != status[j]:
                    if size < ROOM:
                        changed[size] = j
                    size += 1
            if count == 0:
                out[i] = target[i] + given[i]
                break
            if count < best:
                best, stalled = count, 0
            else:
                stalled += 1
            if stalled > STALLS or size > ROOM:
                size = 0
            for j in range(n):
                now[j] = want[j]
        failed += out[i] != out[i]
    return failed
