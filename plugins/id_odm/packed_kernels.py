"""Symmetric matrices as packed lower triangles, row i at i (i + 1) / 2: products, low-rank updates, small factors."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.kernels import FAST


@kernel
def pack(A: np.ndarray, P: np.ndarray) -> None:
    """P (at least s (s + 1) / 2,) = lower triangle of A (s, s)."""
    at = 0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            P[at + j] = A[i, j]
        at += i + 1


@kernel
def unpack(P: np.ndarray, A: np.ndarray) -> None:
    """The symmetric A (s, s) of a packed P."""
    at = 0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] = P[at + j]
            A[j, i] = P[at + j]
        at += i + 1


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
def add(row: np.ndarray, n: int, c: float, u: np.ndarray) -> None:
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
def rank(P: np.ndarray, s: int, U: np.ndarray, minus: int) -> None:
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
            add(row, i + 1, f[a], U[a])
        at += i + 1


@kernel
def column(P: np.ndarray, s: int, p: int, out: np.ndarray) -> None:
    """out (s,) = column p of the packed P."""
    at = p * (p + 1) // 2
    out[: p + 1] = P[at : at + p + 1]
    at += 2 * p + 1
    for i in range(p + 1, s):
        out[i] = P[at]
        at += i + 1


@kernel
def factor(A: np.ndarray, floor: np.ndarray) -> None:
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
def solve(A: np.ndarray, x: np.ndarray) -> None:
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
