"""Passes over rows: margins, and sums of rows by blocks with compensated totals (pure nopython functions)."""

import numpy as np

from onlinekit.jit import kernel


@kernel
def margins_dense(
    rows: np.ndarray, sign: np.ndarray, w: np.ndarray, z: np.ndarray, size: np.ndarray, length: np.ndarray
) -> int:
    """z_i = sign_i sum_j x_ij w_j, size_i = sum_j |x_ij w_j|, length_i non-zeros; rows (n, d), w (d,), others (n,)."""
    for i in range(rows.shape[0]):
        total, reach, count = 0.0, 0.0, 0.0
        for j in range(rows.shape[1]):
            x = rows[i, j]
            if x != 0.0:
                p = x * w[j]
                total += p
                reach += abs(p)
                count += 1.0
        z[i], size[i], length[i] = sign[i] * total, reach, count
    return 0


@kernel
def margins_sparse(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    sign: np.ndarray,
    w: np.ndarray,
    z: np.ndarray,
    size: np.ndarray,
) -> int:
    """The same over CSR rows, unsigned indices: equal to the bit."""
    for i in range(len(indptr) - 1):
        total, reach = 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            p = data[k] * w[indices[k]]
            total += p
            reach += abs(p)
        z[i], size[i] = sign[i] * total, reach
    return 0


@kernel
def close_block(high: np.ndarray, low: np.ndarray, sums: np.ndarray) -> int:
    """High + low (d,) += sums[:, 0], which becomes 0: Knuth's sum, its error kept in low."""
    for j in range(len(high)):
        a, b = high[j], sums[j, 0]
        t = a + b
        q = t - a
        low[j] += (a - (t - q)) + (b - q)
        high[j], sums[j, 0] = t, 0.0
    return 0


@kernel
def sum_dense(
    rows: np.ndarray,
    along: np.ndarray,
    off: np.ndarray,
    block: int,
    high: np.ndarray,
    low: np.ndarray,
    sums: np.ndarray,
) -> int:
    """High + low = sum_i along_i x_i, (d,), and sums[:, 1] = sum_i off_i |x_i|; ``block`` rows are summed plainly.

    sums (d, 2) is zero at first: side by side in memory, the two cost next to what one does.
    """
    n = rows.shape[0]
    for first in range(0, n, block):
        for i in range(first, min(first + block, n)):
            a, e = along[i], off[i]
            for j in range(rows.shape[1]):
                x = rows[i, j]
                sums[j, 0] += a * x
                sums[j, 1] += abs(x) * e
        close_block(high, low, sums)
    return 0


@kernel
def sum_sparse(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    along: np.ndarray,
    off: np.ndarray,
    block: int,
    high: np.ndarray,
    low: np.ndarray,
    sums: np.ndarray,
) -> int:
    """The same over CSR rows, unsigned indices."""
    n = len(indptr) - 1
    for first in range(0, n, block):
        for i in range(first, min(first + block, n)):
            a, e = along[i], off[i]
            if a != 0.0 or e != 0.0:
                for k in range(indptr[i], indptr[i + 1]):
                    j, x = indices[k], data[k]
                    sums[j, 0] += a * x
                    sums[j, 1] += abs(x) * e
        close_block(high, low, sums)
    return 0
