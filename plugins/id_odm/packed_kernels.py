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
def add(row: np.ndarray, n: int, c: float, u: np.ndarray) -> None:
    """row += c u over the first n."""
    for j in range(n):
        row[j] += c * u[j]


@kernel(fastmath=FAST)
def _tile_times(
    r0: np.ndarray, r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, n: int,
    p: np.ndarray, v: np.ndarray, q: np.ndarray, w: np.ndarray,
) -> None:  # fmt: skip
    """Rows n..n+3 of the triangle, left of column n, times p and q: every number of theirs is read once for both
    halves of both products v and w."""
    p0, p1, p2, p3 = p[n], p[n + 1], p[n + 2], p[n + 3]
    q0, q1, q2, q3 = q[n], q[n + 1], q[n + 2], q[n + 3]
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    for j in range(n):
        x0, x1, x2, x3 = r0[j], r1[j], r2[j], r3[j]
        a0 += x0 * p[j]
        a1 += x1 * p[j]
        a2 += x2 * p[j]
        a3 += x3 * p[j]
        b0 += x0 * q[j]
        b1 += x1 * q[j]
        b2 += x2 * q[j]
        b3 += x3 * q[j]
        v[j] += p0 * x0 + p1 * x1 + p2 * x2 + p3 * x3
        w[j] += q0 * x0 + q1 * x1 + q2 * x2 + q3 * x3
    v[n] += a0
    v[n + 1] += a1
    v[n + 2] += a2
    v[n + 3] += a3
    w[n] += b0
    w[n + 1] += b1
    w[n + 2] += b2
    w[n + 3] += b3


@kernel
def times(P: np.ndarray, s: int, Q: np.ndarray, out: np.ndarray) -> None:
    """out = Q P for Q, out (m, s), m even, and the packed symmetric P: four rows of P by two of Q at a time."""
    m = Q.shape[0]
    for a in range(m):
        for j in range(s):
            out[a, j] = 0.0
    at = 0
    for i in range(0, s, 4):
        rows, first = min(4, s - i), 0
        if rows == 4:
            r1, r2, r3 = at + i + 1, at + 2 * i + 3, at + 3 * i + 6
            for a in range(0, m, 2):
                _tile_times(P[at:r1], P[r1:r2], P[r2:r3], P[r3:], i, Q[a], out[a], Q[a + 1], out[a + 1])
            first = i
        for k in range(i, i + rows):  # the corner at the diagonal, and the last rows
            for j in range(first, k + 1):
                for a in range(m):
                    out[a, k] += P[at + j] * Q[a, j]
                    if j < k:
                        out[a, j] += P[at + j] * Q[a, k]
            at += k + 1


@kernel(fastmath=FAST)
def _tile_add(
    r0: np.ndarray, r1: np.ndarray, r2: np.ndarray, r3: np.ndarray, n: int,
    t: np.ndarray, u: np.ndarray, v: np.ndarray, w: np.ndarray, a: float, b: float, c: float, d: float,
) -> None:  # fmt: skip
    """Rows n..n+3 of the triangle, left of column n, += a tt' + b uu' + c vv' + d ww'."""
    t0, t1, t2, t3 = a * t[n], a * t[n + 1], a * t[n + 2], a * t[n + 3]
    u0, u1, u2, u3 = b * u[n], b * u[n + 1], b * u[n + 2], b * u[n + 3]
    v0, v1, v2, v3 = c * v[n], c * v[n + 1], c * v[n + 2], c * v[n + 3]
    w0, w1, w2, w3 = d * w[n], d * w[n + 1], d * w[n + 2], d * w[n + 3]
    for j in range(n):
        x, y, z, o = t[j], u[j], v[j], w[j]
        r0[j] += t0 * x + u0 * y + v0 * z + w0 * o
        r1[j] += t1 * x + u1 * y + v1 * z + w1 * o
        r2[j] += t2 * x + u2 * y + v2 * z + w2 * o
        r3[j] += t3 * x + u3 * y + v3 * z + w3 * o


@kernel
def rank(P: np.ndarray, s: int, U: np.ndarray, sign: np.ndarray, m: int) -> None:
    """P += sum_a sign_a u_a u_a' over the first m rows of U (>= m, >= s), m a multiple of 4: four rows of P by four
    of U at a time."""
    at = 0
    for i in range(0, s, 4):
        rows, first = min(4, s - i), 0
        if rows == 4:
            r1, r2, r3 = at + i + 1, at + 2 * i + 3, at + 3 * i + 6
            for a in range(0, m, 4):
                _tile_add(
                    P[at:r1], P[r1:r2], P[r2:r3], P[r3:], i, U[a], U[a + 1], U[a + 2], U[a + 3],
                    sign[a], sign[a + 1], sign[a + 2], sign[a + 3],
                )  # fmt: skip
            first = i
        for k in range(i, i + rows):
            for a in range(m):
                c = sign[a] * U[a, k]
                for j in range(first, k + 1):
                    P[at + j] += c * U[a, j]
            at += k + 1


@kernel
def column(P: np.ndarray, s: int, p: int, out: np.ndarray) -> None:
    """out (s,) = column p of the packed P."""
    at = p * (p + 1) // 2
    for i in range(p + 1):
        out[i] = P[at + i]
    at += 2 * p + 1
    for i in range(p + 1, s):
        out[i] = P[at]
        at += i + 1


@kernel
def factor(A: np.ndarray, floor: float) -> None:
    """Lower Cholesky factor of A (m, m) in place; pivots are at least `floor`, a lower bound of the exact ones."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if i == j:
                A[i, i] = math.sqrt(max(value, floor))
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


@kernel
def forward(L: np.ndarray, U: np.ndarray, s: int) -> None:
    """U (m, s) <- L^-1 U for the lower factor L (m, m)."""
    for a in range(L.shape[0]):
        for b in range(a):
            add(U[a], s, -L[a, b], U[b])
        for i in range(s):
            U[a, i] /= L[a, a]


@kernel
def backward(L: np.ndarray, U: np.ndarray, s: int) -> None:
    """U (m, s) <- L'^-1 U for the lower factor L (m, m)."""
    for a in range(L.shape[0] - 1, -1, -1):
        for b in range(a + 1, L.shape[0]):
            add(U[a], s, -L[b, a], U[b])
        for i in range(s):
            U[a, i] /= L[a, a]
