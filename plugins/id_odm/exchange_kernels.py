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
    ROOM,
    SIZE,
    SPAN,
    STATUS,
    WAITING,
    B,
    F,
    T,
)
from onlinekit_plugins.id_odm.packed_kernels import add, backward, column, dot, factor, forward, rank, solve, times

RESIDUAL = 1e-10  # of Q z = t, before `_polish`
BLOCK = ROOM // 2  # more leave or enter in several blocks, whose terms always have room in U


@kernel
def walked(C: np.ndarray, energy: float, part: float, size: float) -> None:
    """Path length += ||dw||, ||dw||^2 = energy - part, rounded upwards: the certificate must not be too short.

    size = sum |db|: a residual r of Q z = t changes the energy by at most max|r| size; r <= RESIDUAL is allowed for
    here, and `_polish` adds what a larger one takes.
    """
    C[PATH] += 1.0001 * math.sqrt(max(energy - part, 0.0) + 1e-12 * abs(energy) + RESIDUAL * size)
    C[SPAN] += size


@kernel
def flush(P: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray) -> None:
    """P += the terms that wait in U, in one pass; U is zero but for those that wait."""
    s, waiting = int(C[SIZE]), int(C[WAITING])
    if waiting > 0:
        rank(P, s, U, sign, (waiting + 3) // 4 * 4)
        for a in range(waiting):
            for i in range(s):
                U[a, i] = 0.0
        C[WAITING] = 0.0


@kernel
def _column(P: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray, p: int, out: np.ndarray) -> None:
    """out (s,) = column p of P with the terms that wait in U."""
    s = int(C[SIZE])
    column(P, s, p, out)
    for a in range(int(C[WAITING])):
        add(out, s, sign[a] * U[a, p], U[a])


@kernel
def diagonal(P: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray, p: int) -> float:
    """Entry (p, p) of P with the terms that wait in U."""
    value = P[p * (p + 1) // 2 + p]
    for a in range(int(C[WAITING])):
        value += sign[a] * U[a, p] * U[a, p]
    return value


@kernel
def _remove(P: np.ndarray, M: np.ndarray, U: np.ndarray, waiting: int, s: int, p: int) -> None:
    """Position p leaves S and P: the last one takes its place."""
    last = s - 1
    for a in range(waiting):
        U[a, p] = U[a, last]
        U[a, last] = 0.0
    row, to = last * (last + 1) // 2, p * (p + 1) // 2
    M[POS, M[MEMBER, p]] = -1
    if p != last:
        for i in range(p):
            P[to + i] = P[row + i]
        P[to + p] = P[row + last]
        at = to + 2 * p + 1
        for i in range(p + 1, last):
            P[at] = P[row + i]
            at += i + 1
        M[MEMBER, p] = M[MEMBER, last]
        M[POS, M[MEMBER, p]] = p
    for i in range(s):
        P[row + i] = 0.0
    M[MEMBER, last] = 0


@kernel
def shift(
    P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    slot: int, target: float,
) -> None:  # fmt: skip
    """A member gets another target: z += P_:j (t' - t), O(s), P unchanged."""
    s, p = int(C[SIZE]), M[POS, slot]
    change = target - V[T, slot]
    u = np.empty(s)
    _column(P, C, U, sign, p, u)
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
def exchange(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    top: int, leaving: np.ndarray, entering: np.ndarray, sides: np.ndarray,
) -> None:  # fmt: skip
    """Slots `leaving` (nl,) leave S and `entering` (ne,) enter it at `sides` (ne,), BLOCK at a time.

    V[F] must be fresh for those that enter. Leaving D: g = P_DD^-1 z_D, z -= P_:D g, P -= P_:D P_DD^-1 P_D:.
    Entering E: q = K_SE, v = P q, Sigma = K_EE + diag(il_E) - q'v, z_E = Sigma^-1 (t_E - q'z), z -= v z_E,
    P += v Sigma^-1 v', with rows -Sigma^-1 v and Sigma^-1 added. The terms wait in U, so that several exchanges take
    one pass over P.
    """
    nl, ne = leaving.shape[0], entering.shape[0]
    for begin in range(0, max(nl, ne), BLOCK):
        s, r, m = int(C[SIZE]), min(BLOCK, max(0, nl - begin)), min(BLOCK, max(0, ne - begin))
        D, E = leaving[begin : begin + r], entering[begin : begin + m]
        # Rows: factors of the change of P (r leave, m enter), q from at_q on (m, even for `times`), z, z before.
        even = (m + 1) // 2 * 2
        at_q = r + even
        work = np.zeros((at_q + even + 2, s))
        z, old = work[-2], work[-1]
        for i in range(s):
            z[i] = old[i] = V[B, M[MEMBER, i]]
        # ||dw||^2 = db'(Q db) - sum il db^2, and (Q db)_i is 0 for members that stay, t - f before for those that
        # enter, f after - t for those that leave.
        energy = part = size = 0.0
        LD, LE, g, x = np.empty((r, r)), np.empty((m, m)), np.empty(r), np.empty(m)
        if r > 0:
            for a in range(r):
                _column(P, C, U, sign, M[POS, D[a]], work[a])
                g[a] = V[B, D[a]]
                for b in range(r):
                    LD[a, b] = work[a, M[POS, D[b]]]
            factor(LD, 1e-300)
            solve(LD, g)
            for a in range(r):
                add(z, s, -g[a], work[a])
            forward(LD, work[:r], s)
            for a in range(r):
                z[M[POS, D[a]]] = 0.0
        if m > 0:
            for e in range(m):
                row = K[E[e]]
                for i in range(s):
                    work[at_q + e, i] = row[M[MEMBER, i]]
                for a in range(r):
                    work[at_q + e, M[POS, D[a]]] = 0.0
            times(P, s, work[at_q : at_q + even], work[r:at_q])
            least = np.inf
            for e in range(m):
                q, j = work[at_q + e], E[e]
                for a in range(int(C[WAITING])):
                    add(work[r + e], s, sign[a] * dot(U[a], q, s), U[a])
                for a in range(r):
                    add(work[r + e], s, -dot(work[a], q, s), work[a])
                for a in range(r):
                    work[r + e, M[POS, D[a]]] = 0.0
                V[T, j] = V[LO, j] if sides[begin + e] == AT_LO else V[HI, j]
                x[e] = V[T, j] - dot(q, z, s)
                least = min(least, V[IL, j])
            for e in range(m):
                for a in range(e + 1):
                    LE[e, a] = K[E[e], E[a]] - dot(work[at_q + e], work[r + a], s)
                LE[e, e] += V[IL, E[e]]
            factor(LE, least)
            solve(LE, x)
            for e in range(m):
                j = E[e]
                before = V[F, j] if begin == 0 else dot(K[j], V[B], top)
                energy += x[e] * (V[T, j] - before)
                part += V[IL, j] * x[e] * x[e]
                size += abs(x[e])
                add(z, s, -x[e], work[r + e])
            forward(LE, work[r : r + m], s)
        if C[WAITING] + r + m > ROOM:
            flush(P, C, U, sign)
        for a in range(r + m):
            term = int(C[WAITING])
            sign[term] = -1.0 if a < r else 1.0
            for i in range(s):
                U[term, i] = work[a, i]
            C[WAITING] += 1.0
        if m > 0:
            backward(LE, work[r : r + m], s)
            unit, at = np.empty(m), s * (s + 1) // 2
            for e in range(m):
                for i in range(s):
                    P[at + i] = -work[r + e, i]
                for a in range(m):
                    unit[a] = 0.0
                unit[e] = 1.0
                solve(LE, unit)
                for a in range(e + 1):
                    P[at + s + a] = unit[a]
                at += s + e + 1
                j = E[e]
                M[MEMBER, s + e], M[POS, j], M[STATUS, j] = j, s + e, sides[begin + e]
                V[B, j] = x[e]
        for i in range(s):
            j, step = M[MEMBER, i], z[i] - old[i]
            V[B, j] = z[i]
            part += V[IL, j] * step * step
            size += abs(step)
        for a in range(r):
            j = D[a]
            V[F, j] = dot(K[j], V[B], top)
            energy -= old[M[POS, j]] * (V[F, j] - V[T, j])
        walked(C, energy, part, size)
        s += m
        for a in range(r):
            j = D[a]
            _remove(P, M, U, int(C[WAITING]), s, M[POS, j])
            s -= 1
            M[STATUS, j], V[T, j], V[LAST, j] = IDLE, 0.0, C[PATH]
        C[SIZE] = s
        C[EXCHANGES] += r + m
        C[BLOCKS] += 1.0
