"""Eigenvalues and eigenvectors of a symmetric matrix on one thread, the same bits whatever the load.

LAPACK's solver is faster on an idle machine, but its threads wait for each other by spinning: on a busy machine one
call for 400 points took 2 CPU seconds instead of .02.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.random_features.core_kernels import dot


@kernel
def tridiagonal(A, d, e, scales):
    """A = Q T Q' by Householder reflections I - s v v'; T has diagonal d (n,) and off-diagonal e (n,), e[n-1] = 0.

    A (n, n) is overwritten: row k holds v_k from column k + 1 on, scales[k] its s.
    """
    n = A.shape[0]
    p = np.empty(n)
    for k in range(n - 1):
        v = A[k, k + 1 :]
        d[k] = A[k, k]
        size = math.sqrt(dot(v, v))
        scales[k] = 0.0
        e[k] = v[0]
        if size > abs(v[0]):
            # The sign avoids cancellation in v[0] - e.
            e[k] = -size if v[0] > 0.0 else size
            v[0] -= e[k]
            s = 2.0 / dot(v, v)
            scales[k] = s
            m = n - k - 1
            for i in range(m):
                p[i] = s * dot(A[k + 1 + i, k + 1 :], v)
            half = 0.5 * s * dot(p[:m], v)
            for i in range(m):
                p[i] -= half * v[i]
            for i in range(m):
                row, a, b = A[k + 1 + i, k + 1 :], v[i], p[i]
                for j in range(m):
                    row[j] -= a * p[j] + b * v[j]
    d[n - 1] = A[n - 1, n - 1]
    e[n - 1] = 0.0


@kernel
def implicit_ql(d, e, rows):
    """d becomes the eigenvalues of the tridiagonal (d, e), the rows of `rows` (n, n) are rotated with them.

    QL with implicit shifts (EISPACK tql2); the vectors lie in rows, so that a rotation runs along memory.
    """
    n = d.shape[0]
    shift, largest = 0.0, 0.0
    for k in range(n):
        largest = max(largest, abs(d[k]) + abs(e[k]))
        tiny = 2.220446049250313e-16 * largest
        m = k
        while abs(e[m]) > tiny:
            m += 1
        while m > k and abs(e[k]) > tiny:
            g = d[k]
            p = (d[k + 1] - g) / (2.0 * e[k])
            r = math.copysign(math.hypot(p, 1.0), p)
            d[k] = e[k] / (p + r)
            d[k + 1] = e[k] * (p + r)
            after = d[k + 1]
            h = g - d[k]
            for i in range(k + 2, n):
                d[i] -= h
            shift += h
            p = d[m]
            c, c2, c3, s, s2 = 1.0, 1.0, 1.0, 0.0, 0.0
            next_e = e[k + 1]
            for i in range(m - 1, k - 1, -1):
                c3, c2, s2 = c2, c, s
                g = c * e[i]
                h = c * p
                r = math.hypot(p, e[i])
                e[i + 1] = s * r
                s = e[i] / r
                c = p / r
                p = c * d[i] - s * g
                d[i + 1] = h + s * (c * g + s * d[i])
                upper, lower = rows[i + 1], rows[i]
                for j in range(n):
                    h = upper[j]
                    upper[j] = s * lower[j] + c * h
                    lower[j] = c * lower[j] - s * h
            p = -s * s2 * c3 * next_e * e[k] / after
            e[k] = s * p
            d[k] = c * p
        d[k] += shift
        e[k] = 0.0


@kernel
def largest_eigen(A, values, vectors):
    """The r largest eigenvalues, descending, into values (r,), their unit vectors into the rows of vectors (r, n).

    A (n, n) symmetric and finite, r <= n; A is overwritten.
    """
    n, wanted = A.shape[0], values.shape[0]
    d, e, scales = np.empty(n), np.empty(n), np.zeros(n)
    tridiagonal(A, d, e, scales)
    rows = np.zeros((n, n))
    for i in range(n):
        rows[i, i] = 1.0
    implicit_ql(d, e, rows)
    for r in range(wanted):
        best = 0
        for i in range(n):
            if d[i] > d[best]:
                best = i
        values[r] = d[best]
        d[best] = -math.inf  # taken
        for j in range(n):
            vectors[r, j] = rows[best, j]
        for k in range(n - 2, -1, -1):
            if scales[k] != 0.0:
                v, part = A[k, k + 1 :], vectors[r, k + 1 :]
                step = scales[k] * dot(v, part)
                for j in range(n - k - 1):
                    part[j] -= step * v[j]
