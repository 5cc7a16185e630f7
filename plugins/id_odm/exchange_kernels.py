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
    FAST,
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

RESIDUAL = 1e-10  # of Q z = t, before `_polish`
BLOCK = 32  # more leave or enter in several blocks, so that the block's vectors stay in the cache


@kernel(fastmath=FAST)
def dot(a: np.ndarray, b: np.ndarray, n: int) -> float:
    """sum_j a_j b_j over the first n."""
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@kernel(fastmath=FAST)
def _row_times(row: np.ndarray, q: np.ndarray, v: np.ndarray, n: int, factor: float) -> float:
    """row'q over the first n, while v += factor row: both halves of a symmetric product in one reading."""
    total = 0.0
    for j in range(n):
        total += row[j] * q[j]
        v[j] += factor * row[j]
    return total


@kernel(fastmath=FAST)
def _four_times(
    r0: np.ndarray, r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, q: np.ndarray, v: np.ndarray, n: int
) -> None:  # fmt: skip
    """`_row_times` of the four rows n..n+3 of the triangle at once, so that q and v are read once for four."""
    q0, q1, q2, q3 = q[n], q[n + 1], q[n + 2], q[n + 3]
    a0 = a1 = a2 = a3 = 0.0
    for j in range(n):
        a0 += r0[j] * q[j]
        a1 += r1[j] * q[j]
        a2 += r2[j] * q[j]
        a3 += r3[j] * q[j]
        v[j] += q0 * r0[j] + q1 * r1[j] + q2 * r2[j] + q3 * r3[j]
    v[n] += a0 + r0[n] * q0 + r1[n] * q1 + r2[n] * q2 + r3[n] * q3
    v[n + 1] += a1 + r1[n] * q0 + r1[n + 1] * q1 + r2[n + 1] * q2 + r3[n + 1] * q3
    v[n + 2] += a2 + r2[n] * q0 + r2[n + 1] * q1 + r2[n + 2] * q2 + r3[n + 2] * q3
    v[n + 3] += a3 + r3[n] * q0 + r3[n + 1] * q1 + r3[n + 2] * q2 + r3[n + 3] * q3


@kernel(fastmath=FAST)
def _add(row: np.ndarray, n: int, c: float, u: np.ndarray) -> None:
    for j in range(n):
        row[j] += c * u[j]


@kernel(fastmath=FAST)
def _add_two(row: np.ndarray, n: int, c: float, u: np.ndarray, d: float, v: np.ndarray) -> None:
    for j in range(n):
        row[j] += c * u[j] + d * v[j]


@kernel(fastmath=FAST)
def _add_four(row: np.ndarray, n: int, f: np.ndarray, U: np.ndarray) -> None:
    u, v, w, x = U[0], U[1], U[2], U[3]
    c, d, e, g = f[0], f[1], f[2], f[3]
    for j in range(n):
        row[j] += c * u[j] + d * v[j] + e * w[j] + g * x[j]


@kernel
def times(P: np.ndarray, s: int, Q: np.ndarray, out: np.ndarray) -> None:
    """out = Q P for Q, out (m, s) and the packed symmetric P."""
    out[:] = 0.0
    i = at = 0
    while i + 4 <= s:
        second = at + i + 1
        third = second + i + 2
        fourth = third + i + 3
        end = fourth + i + 4
        for a in range(Q.shape[0]):
            _four_times(P[at:second], P[second:third], P[third:fourth], P[fourth:end], Q[a], out[a], i)
        i += 4
        at = end
    while i < s:
        row = P[at : at + i + 1]
        for a in range(Q.shape[0]):
            value = _row_times(row, Q[a], out[a], i, Q[a, i])
            out[a, i] += value + row[i] * Q[a, i]
        at += i + 1
        i += 1


@kernel
def _rank(P: np.ndarray, s: int, U: np.ndarray, minus: int) -> None:
    """P += sum_a +-u_a u_a', the first `minus` rows of U (m, s) with a minus sign."""
    m = U.shape[0]
    f = np.empty(m)
    at = 0
    for i in range(s):
        row = P[at : at + i + 1]
        for a in range(m):
            f[a] = -U[a, i] if a < minus else U[a, i]
        a = 0
        while a + 4 <= m:
            _add_four(row, i + 1, f[a:], U[a:])
            a += 4
        if a + 2 <= m:
            _add_two(row, i + 1, f[a], U[a], f[a + 1], U[a + 1])
            a += 2
        if a < m:
            _add(row, i + 1, f[a], U[a])
        at += i + 1


@kernel
def _column(P: np.ndarray, s: int, p: int, out: np.ndarray) -> None:
    """out (s,) = column p of the packed P."""
    at = p * (p + 1) // 2
    out[: p + 1] = P[at : at + p + 1]
    at += 2 * p + 1
    for i in range(p + 1, s):
        out[i] = P[at]
        at += i + 1


@kernel
def _factor(A: np.ndarray, floor: np.ndarray) -> None:
    """Lower Cholesky factor of A (m, m) in place; pivots are at least floor (m,), their exact lower bound."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if i == j:
                A[i, i] = math.sqrt(max(value, floor[i]))
            else:
                A[i, j] = value / A[j, j]


@kernel
def _solve(A: np.ndarray, x: np.ndarray) -> None:
    """x (m,) <- (A A')^-1 x for the lower factor A."""
    m = A.shape[0]
    for i in range(m):
        for k in range(i):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            x[i] -= A[k, i] * x[k]
        x[i] /= A[i, i]


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
    _column(P, s, p, u)
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
        _column(P, s, M[POS, leaving[a]], U[a])
        g[a] = V[B, leaving[a]]
    for a in range(nl):
        for b in range(nl):
            DD[a, b] = U[a, M[POS, leaving[b]]]
    if nl > 0:
        _factor(DD, np.full(nl, 1e-300))
        _solve(DD, g)
        for i in range(s):
            step = 0.0
            for a in range(nl):
                step -= U[a, i] * g[a]
            V[B, M[MEMBER, i]] += step
        for a in range(nl):
            for b in range(a):
                _add(U[a], s, -DD[a, b], U[b])
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
                _add(W[e], s, -dot(U[a], Q[e], s), U[a])
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
        _factor(S, floor)
        _solve(S, x)
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
                _add(W[e], s, -S[e, f], W[f])
            W[e] /= S[e, e]
    _rank(P, s, U, nl)
    if ne > 0:
        # Rows of the inverse that belong to E: -Sigma^-1 v and Sigma^-1; from L'^-1 applied to W = L^-1 v.
        at = s * (s + 1) // 2
        N = U[nl:]
        for e in range(ne - 1, -1, -1):
            for f in range(e + 1, ne):
                _add(N[e], s, -S[f, e], N[f])
            N[e] /= S[e, e]
        unit = np.empty(ne)
        for e in range(ne):
            j = entering[e]
            for i in range(s):
                P[at + i] = -N[e, i]
            unit[:] = 0.0
            unit[e] = 1.0
            _solve(S, unit)
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
