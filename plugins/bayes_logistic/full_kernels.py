"""The full covariance, kept as its lower triangle row by row: half the memory, and symmetric by construction.

z, r, add, u (n + 1,), tri (T,); see shared_kernels. Sums run in a fixed order, so results do not depend on the
machine; four rows at a time give the compiler independent sums.
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel


@kernel
def edge(tri: np.ndarray, z: np.ndarray, u: np.ndarray, start: int, stop: int, first: int) -> None:
    """u += S z, its part from the rows start..stop of the triangle, columns `first` to the diagonal."""
    for j in range(start, stop):
        row = tri[j * (j + 1) // 2 : (j + 1) * (j + 2) // 2]
        total = 0.0
        for k in range(first, j):
            total += row[k] * z[k]
            u[k] += row[k] * z[j]
        u[j] += total + row[j] * z[j]


@kernel
def multiply_thin(tri: np.ndarray, z: np.ndarray, u: np.ndarray) -> None:
    """u += S z, passing over the zeros of z."""
    n = u.shape[0]
    for j in range(n):
        if z[j] != 0.0:
            start = j * (j + 1) // 2
            row = tri[start : start + j + 1]
            for k in range(j + 1):
                u[k] += row[k] * z[j]
            cell = start + j
            for k in range(j + 1, n):
                cell += k
                u[k] += tri[cell] * z[j]


@kernel
def multiply(tri: np.ndarray, z: np.ndarray, u: np.ndarray) -> None:
    """u = S z."""
    n = u.shape[0]
    filled = 0
    for j in range(n):
        u[j] = 0.0
        filled += z[j] != 0.0
    if 4 * filled <= n:
        multiply_thin(tri, z, u)
        return
    for j in range(0, n - 3, 4):
        a = j * (j + 1) // 2
        b = a + j + 1
        c = b + j + 2
        d = c + j + 3
        row0, row1, row2, row3 = tri[a : a + j], tri[b : b + j], tri[c : c + j], tri[d : d + j]
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for k in range(j):
            u[k] += (row0[k] * z0 + row1[k] * z1) + (row2[k] * z2 + row3[k] * z3)
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(j):
            s0 += row0[k] * z[k]
            s1 += row1[k] * z[k]
            s2 += row2[k] * z[k]
            s3 += row3[k] * z[k]
        u[j] += s0
        u[j + 1] += s1
        u[j + 2] += s2
        u[j + 3] += s3
        edge(tri, z, u, j, j + 4, j)
    edge(tri, z, u, n - n % 4, n, 0)


@kernel
def absorb(
    tri: np.ndarray, r: np.ndarray, add: np.ndarray, u: np.ndarray, h: np.ndarray, gain: float, still: bool
) -> None:
    """Sigma = P - h h' with h = sqrt(gain) u, inflation and step in one pass; h (n + 1,) is scratch."""
    n = u.shape[0]
    root = math.sqrt(gain)
    for j in range(n):
        h[j] = root * u[j]
    for j in range(n):
        row = tri[j * (j + 1) // 2 : (j + 1) * (j + 2) // 2]
        hj = h[j]
        if still:
            if hj != 0.0:
                for k in range(j + 1):
                    row[k] -= hj * h[k]
        else:
            rj = r[j]
            for k in range(j + 1):
                row[k] = (rj * r[k]) * row[k] - hj * h[k]
            row[j] += add[j]
