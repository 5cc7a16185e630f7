"""From any active set to the exact minimiser: block pivoting and refinement; arrays as in `kernels`.

Exact state of one output: b = z on S with b >= 0 at the lower edge and b <= 0 at the upper one, and lo <= f <= hi
outside S. Samples that break this by more than tol (in units of f) are infeasible.
"""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.exchange_kernels import exchange, flush, shift
from onlinekit_plugins.id_odm.kernels import (
    AT_HI,
    AT_LO,
    EVALUATIONS,
    FREE,
    HI,
    IDLE,
    IL,
    LAST,
    LO,
    MEMBER,
    NOISE,
    PATH,
    RK,
    SIZE,
    STATUS,
    B,
    F,
    T,
)
from onlinekit_plugins.id_odm.packed_kernels import dot
from onlinekit_plugins.id_odm.polish_kernels import polish

# What resolve says: done, P must be built anew, no progress within the bound, `fallback` must go on
SOLVED, STALE, LOST, STALLED = range(4)
STALLS = 3
LARGE = 512  # members of S, from which on a pass over P costs more than to carry terms along


@kernel
def evaluate(K: np.ndarray, V: np.ndarray, C: np.ndarray, top: int, slot: int) -> float:
    """f at a sample: K_slot'b, remembered with the path length."""
    value = dot(K[slot], V[B], top)
    V[F, slot] = value
    V[LAST, slot] = C[PATH]
    C[EVALUATIONS] += 1.0
    return value


@kernel
def outside(
    K: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, top: int, tol: float,
    slots: np.ndarray, sides: np.ndarray,
) -> int:  # fmt: skip
    """Idle samples outside their interval by more than tol: filled into slots, sides (top,); how many.

    Lazy: |f_i(now) - f_i(then)| <= sqrt(k_ii) (path now - path then), so most samples need no evaluation.
    """
    if C[PATH] > 1e4:
        # A long path would absorb small steps; only differences count, so it may start again from zero.
        for j in range(top):
            V[LAST, j] -= C[PATH]
        C[PATH] = 0.0
    found = 0
    for j in range(top):
        if M[STATUS, j] != IDLE:
            continue
        slack = min(V[F, j] - V[LO, j], V[HI, j] - V[F, j])
        if slack >= (C[PATH] - V[LAST, j]) * V[RK, j]:
            continue
        value = evaluate(K, V, C, top, j)
        if value < V[LO, j] - tol or value > V[HI, j] + tol or V[LO, j] == V[HI, j]:  # a point is always in S
            slots[found] = j
            sides[found] = AT_LO if value < V[LO, j] else AT_HI
            found += 1
    return found


@kernel
def crossed(V: np.ndarray, M: np.ndarray, j: int, tol: float) -> bool:
    """Whether member j has the wrong sign; at lo = hi both signs are right."""
    if V[LO, j] == V[HI, j]:
        return False
    b = V[B, j] if M[STATUS, j] == AT_LO else -V[B, j]
    return b < 0.0 and -b * V[IL, j] > tol


@kernel
def resolve(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    top: int, forced: np.ndarray, dying: int, tol: float, stalls: int,
) -> int:  # fmt: skip
    """The exact minimiser after any change of samples; SOLVED, STALE, LOST or STALLED.

    Parameters: forced (m,) slots that leave S in the first exchange, the first `dying` of them for good; tol >= 0
    in units of f; stalls: rounds without fewer infeasible samples that are allowed. Violators among the new samples
    enter in that same first exchange.
    """
    slots, sides = np.empty(top, np.int64), np.empty(top, np.int64)
    leaving = np.empty(top, np.int64)
    nl = 0
    for a in range(forced.shape[0]):
        j = forced[a]
        if M[STATUS, j] >= AT_LO:
            leaving[nl] = j
            nl += 1
        elif a < dying:
            M[STATUS, j] = FREE
    first = forced.shape[0] > 0
    best, stalled, tries = top + 1, 0, 0
    while True:
        edge = max(tol, C[NOISE])
        flips = 0
        if not first:
            nl = 0
            for p in range(int(C[SIZE])):
                j = M[MEMBER, p]
                if crossed(V, M, j, edge):
                    value = V[T, j] - V[IL, j] * V[B, j]
                    if M[STATUS, j] == AT_LO and value > V[HI, j] + edge:
                        sides[flips] = j
                        flips += 1
                    elif M[STATUS, j] == AT_HI and value < V[LO, j] - edge:
                        sides[flips] = j
                        flips += 1
                    else:
                        leaving[nl] = j
                        nl += 1
            for a in range(flips):
                j = sides[a]
                to = AT_HI if M[STATUS, j] == AT_LO else AT_LO
                shift(P, V, M, C, U, sign, j, V[HI, j] if to == AT_HI else V[LO, j])
                M[STATUS, j] = to
        ne = outside(K, V, M, C, top, edge, slots, sides)
        count = nl + ne + flips
        if count > 0 or first:
            if not first:
                if count < best:
                    best, stalled = count, 0
                else:
                    stalled += 1
                if stalled > stalls:
                    return STALLED
            first = False
            if count > 0:
                exchange(K, P, V, M, C, U, sign, top, leaving[:nl], slots[:ne], sides[:ne])
                for a in range(dying):
                    M[STATUS, forced[a]] = FREE
                continue
        if C[SIZE] < LARGE:
            flush(P, C, U, sign)
        told = polish(K, P, V, M, C, U, sign, top, tol)
        if told == 2:
            return STALE
        if told == 0:
            return SOLVED
        tries += 1
        if tries > 20:
            return LOST
        best, stalled = top + 1, 0
