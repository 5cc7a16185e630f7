"""Exchanges of the active set S: P = (K_SS + diag(il))^-1 and z = P t after samples leave, enter or change side.

A whole block is one symmetric product and one pass of rank (leaving + entering) over the packed P; arrays as in
`kernels`. Every exchange adds a bound of ||w_new - w_old|| to the path length C[PATH], on which the lazy
certificate of idle samples rests.
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.kernels import (
    AT_LO,
    BLOCKS,
    EXCHANGES,
    HI,
    IDLE,
    IL,
    LAST,
    LO,
    MEMBER,
    PATH,
    POS,
    SIZE,
    SPAN,
    STATUS,
    B,
    F,
    T,
)
from onlinekit_plugins.id_odm.packed_kernels import add, column, dot, factor, rank, solve, times

RESIDUAL = 1e-10  # of Q z = t, before `_polish`
BLOCK = 32  # more leave or enter in several blocks, so that the block's vectors stay in the cache


@kernel
def walked(C: np.ndarray, energy: float, part: float, size: float) -> None:
    """Path length += ||dw||, ||dw||^2 = energy - part, rounded upwards: the certificate must not be too short.

    size = sum |db|: a residual r of Q z = t changes the energy by at most max|r| size; r <= RESIDUAL is allowed for
    here, and `_polish` adds what a larger one takes.
    """
    C[PATH] += 1.0001 * math.sqrt(max(energy - part, 0.0) + 1e-12 * abs(energy) + RESIDUAL * size)
    C[SPAN] += size


@kernel
def _remove(P: np.ndarray, M: np.ndarray, s: int, p: int) -> None:
    """Position p leaves S and P: the last one takes its place."""
    last = s - 1
    M[POS, M[MEMBER, p]] = -1
    if p != last:
        row, to = last * (last + 1) // 2, p * (p + 1) // 2
        P[to : to + p] = P[row : row + p]
        P[to + p] = P[row + last]
        at = to + 2 * p + 1
        for i in range(p + 1, last):
            P[at] = P[row + i]
            at += i + 1
        M[MEMBER, p] = M[MEMBER, last]
        M[POS, M[MEMBER, p]] = p
    P[last * (last + 1) // 2 : last * (last + 1) // 2 + last + 1] = 0.0
    M[MEMBER, last] = 0


@kernel
def shift(P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, slot: int, target: float) -> None:
    """A member gets another target: z += P_:j (t' - t), O(s), P unchanged."""
    s, p = int(C[SIZE]), M[POS, slot]
    change = target - V[T, slot]
    u = np.empty(s)
    column(P, s, p, u)
    part = size = 0.0
    for i in range(s):
        j = M[MEMBER, i]
        step = u[i] * change
        V[B, j] += step
        part += V[IL, j] * step * step
        size += abs(step)
    walked(C, change * change * u[p], part, size)
    V[T, slot] = target
    C[EXCHANGES] += 1.0


@kernel
def _block(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray,
    leaving: np.ndarray, entering: np.ndarray, sides: np.ndarray,
) -> None:  # fmt: skip
    """Up to BLOCK slots leave S and others enter it at a side, in one pass.

    Leaving D: g = P_DD^-1 z_D, z -= P_:D g, P -= P_:D P_DD^-1 P_D:. Entering E: q = K_SE, v = P q,
    Sigma = K_EE + diag(il_E) - q'v, z_E = Sigma^-1 (t_E - q'z), z -= v z_E, P += v Sigma^-1 v'.
    """
    s, nl, ne, width = int(C[SIZE]), leaving.shape[0], entering.shape[0], K.shape[0]
    old = np.empty(s)
    for i in range(s):
        old[i] = V[B, M[MEMBER, i]]
    # ||dw||^2 = db'(Q db) - sum il db^2, and (Q db)_i is 0 for members that stay, t - f before for those that
    # enter, f after - t for those that leave.
    energy = part = size = 0.0
    U = np.empty((nl + ne, s))
    DD = np.empty((nl, nl))
    g = np.empty(nl)
    before = np.empty(ne)
    for e in range(ne):
        before[e] = dot(K[entering[e]], V[B], width)
    for a in range(nl):
        column(P, s, M[POS, leaving[a]], U[a])
        g[a] = V[B, leaving[a]]
    for a in range(nl):
        for b in range(nl):
            DD[a, b] = U[a, M[POS, leaving[b]]]
    if nl > 0:
        factor(DD, np.full(nl, 1e-300))
        solve(DD, g)
        for i in range(s):
            step = 0.0
            for a in range(nl):
                step -= U[a, i] * g[a]
            V[B, M[MEMBER, i]] += step
        for a in range(nl):
            for b in range(a):
                add(U[a], s, -DD[a, b], U[b])
            U[a] /= DD[a, a]
        for a in range(nl):
            V[B, leaving[a]] = 0.0
    if ne > 0:
        Q, W = np.empty((ne, s)), U[nl:]
        for e in range(ne):
            row = K[entering[e]]
            for i in range(s):
                Q[e, i] = row[M[MEMBER, i]]
            for a in range(nl):
                Q[e, M[POS, leaving[a]]] = 0.0
        times(P, s, Q, W)
        S = np.empty((ne, ne))
        x, floor = np.empty(ne), np.empty(ne)
        for e in range(ne):
            for a in range(nl):
                add(W[e], s, -dot(U[a], Q[e], s), U[a])
            for a in range(nl):
                W[e, M[POS, leaving[a]]] = 0.0
            j = entering[e]
            x[e] = V[LO, j] if sides[e] == AT_LO else V[HI, j]
            V[T, j] = x[e]
            floor[e] = V[IL, j]
            for i in range(s):
                x[e] -= Q[e, i] * V[B, M[MEMBER, i]]
        for e in range(ne):
            for f in range(e + 1):
                S[e, f] = K[entering[e], entering[f]] - dot(Q[e], W[f], s)
            S[e, e] += floor[e]
        factor(S, floor)
        solve(S, x)
        for e in range(ne):
            energy += x[e] * (V[T, entering[e]] - before[e])
            part += floor[e] * x[e] * x[e]
            size += abs(x[e])
        for i in range(s):
            step = 0.0
            for e in range(ne):
                step -= W[e, i] * x[e]
            V[B, M[MEMBER, i]] += step
        for e in range(ne):
            for f in range(e):
                add(W[e], s, -S[e, f], W[f])
            W[e] /= S[e, e]
    rank(P, s, U, nl)
    if ne > 0:
        # Rows of the inverse that belong to E: -Sigma^-1 v and Sigma^-1; from L'^-1 applied to W = L^-1 v.
        at = s * (s + 1) // 2
        N = U[nl:]
        for e in range(ne - 1, -1, -1):
            for f in range(e + 1, ne):
                add(N[e], s, -S[f, e], N[f])
            N[e] /= S[e, e]
        unit = np.empty(ne)
        for e in range(ne):
            j = entering[e]
            for i in range(s):
                P[at + i] = -N[e, i]
            unit[:] = 0.0
            unit[e] = 1.0
            solve(S, unit)
            P[at + s : at + s + e + 1] = unit[: e + 1]
            at += s + e + 1
            M[MEMBER, s + e] = j
            M[POS, j] = s + e
            M[STATUS, j] = sides[e]
            V[B, j] = x[e]
    for a in range(nl):
        V[B, leaving[a]] = 0.0
    for i in range(s):
        j = M[MEMBER, i]
        step = V[B, j] - old[i]
        part += V[IL, j] * step * step
        size += abs(step)
    for a in range(nl):
        j = leaving[a]
        V[F, j] = dot(K[j], V[B], width)
        energy -= old[M[POS, j]] * (V[F, j] - V[T, j])
    walked(C, energy, part, size)
    s += ne
    for a in range(nl):
        p = M[POS, leaving[a]]
        _remove(P, M, s, p)
        s -= 1
        M[STATUS, leaving[a]] = IDLE
        V[T, leaving[a]] = 0.0
        V[LAST, leaving[a]] = C[PATH]
    C[SIZE] = s
    C[EXCHANGES] += nl + ne
    C[BLOCKS] += 1.0


@kernel
def exchange(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray,
    leaving: np.ndarray, entering: np.ndarray, sides: np.ndarray,
) -> None:  # fmt: skip
    """Slots `leaving` (nl,) leave S and `entering` (ne,) enter it at `sides` (ne,); see `_block`."""
    nl, ne = leaving.shape[0], entering.shape[0]
    a = e = 0
    while a < nl or e < ne:
        _block(K, P, V, M, C, leaving[a : a + BLOCK], entering[e : e + BLOCK], sides[e : e + BLOCK])
        a = min(a + BLOCK, nl)
        e = min(e + BLOCK, ne)
