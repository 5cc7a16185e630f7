"""Refinement: Q z = t is kept by residual checks and steps z += P (t - Q z); arrays as in `kernels`."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.exchange_kernels import RESIDUAL, flush
from onlinekit_plugins.id_odm.kernels import (
    FOUND,
    GAP,
    IL,
    MEMBER,
    NOISE,
    PATH,
    REFINEMENTS,
    RK,
    SINCE,
    SIZE,
    SPAN,
    TURN,
    B,
    T,
)
from onlinekit_plugins.id_odm.packed_kernels import add, dot

SPOTS = 4  # residual rows looked at after every resolve
MAX_GAP = 64.0  # resolves between two checks of all rows, at most
SAFE = 2e4  # of trace(K_SS / il), a bound of the condition number; beyond, all rows are looked at every time
BROKEN = 1e-6  # build P anew above


@kernel
def _residual(K: np.ndarray, V: np.ndarray, M: np.ndarray, top: int, p: int) -> float:
    """Row p of t - (K_SS + diag(il)) z."""
    j = M[MEMBER, p]
    return V[T, j] - V[IL, j] * V[B, j] - dot(K[j], V[B], top)


@kernel
def _lengthen(C: np.ndarray, worst: float) -> int:
    """The path that a residual of Q z = t beyond RESIDUAL has hidden from `walked`; 1 if there was any."""
    hidden = worst > RESIDUAL and C[SPAN] > 0.0
    if hidden:
        C[PATH] += 2.0 * math.sqrt(worst * C[SPAN])
    C[SPAN] = 0.0
    return 1 if hidden else 0


@kernel
def polish(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    top: int, tol: float,
) -> int:  # fmt: skip
    """Keep Q z = t: some rows after each resolve, at times all; refinement z += P (t - Q z) above tol / 2.

    0: z stays, 1: z was refined (look at feasibility again), 2: P is stale.
    """
    s = int(C[SIZE])
    if s == 0:
        C[SPAN] = 0.0
        return 0
    weight, widest, condition = 0.0, 0.0, 0.0
    for p in range(s):
        j = M[MEMBER, p]
        weight += V[RK, j] * abs(V[B, j])
        widest = max(widest, V[RK, j])
        condition += V[RK, j] * V[RK, j] / V[IL, j]
    # What rounding alone makes of a sum of these sizes: no residual below can be asked for.
    C[NOISE] = 2.3e-16 * weight * widest
    enough = max(0.5 * tol, C[NOISE])
    C[SINCE] += 1.0
    C[GAP] -= 1.0
    worst = 0.0
    if C[GAP] > 0.0 and condition < SAFE:
        for a in range(min(SPOTS, s)):
            r = abs(_residual(K, V, M, top, (int(C[TURN]) + a) % s))
            worst = max(worst, r) if r == r else np.inf
        C[TURN] = (C[TURN] + SPOTS) % s
        if worst <= enough:
            return _lengthen(C, worst)
    r, z = np.empty(s), np.empty(s)
    moved = longer = 0
    before = np.inf
    while True:
        worst = 0.0
        for p in range(s):
            r[p] = _residual(K, V, M, top, p)
            worst = max(worst, abs(r[p])) if r[p] == r[p] else np.inf
        if not worst <= BROKEN * max(1.0, C[NOISE] / tol):
            return 2
        if moved == 0:
            longer = _lengthen(C, worst)
        if worst <= enough:
            # How fast it grew says when to look again: well before it can have reached the bound.
            rate = max(worst - C[FOUND], 0.01 * worst) / C[SINCE]
            C[GAP] = 1.0 if moved else min(max(math.floor(0.3 * (enough - worst) / (rate + 1e-300)), 1.0), MAX_GAP)
            C[FOUND], C[SINCE] = worst, 0.0
            return 1 if moved or longer else 0
        if worst > 0.5 * before:
            C[FOUND], C[SINCE], C[GAP] = worst, 0.0, 1.0
            return 1 if worst <= 50.0 * enough else 2
        flush(P, C, U, sign)
        at = 0
        for p in range(s):  # z = P r
            row = P[at : at + p + 1]
            z[p] = dot(row, r, p + 1)
            add(z, p, r[p], row)
            at += p + 1
        energy = 0.0
        for p in range(s):
            V[B, M[MEMBER, p]] += z[p]
            energy += abs(r[p] * z[p])
        C[PATH] += 2.0 * math.sqrt(energy)
        C[REFINEMENTS] += 1.0
        moved += 1
        before = worst
