"""Passes over rows: margins, and sums of rows by blocks with compensated totals (pure nopython functions)."""

import numpy as np

from onlinekit.jit import kernel


@kernel
def margins_dense(
    rows: np.ndarray, sign: np.ndarray, w: np.ndarray, unit: float, z: np.ndarray, size: np.ndarray, off: np.ndarray
) -> int:
    """z_i = sign_i sum_j x_ij w_j, size_i = sum_j |x_ij w_j|, off_i its rounding; rows (n, d), w (d,), others (n,)."""
    for i in range(rows.shape[0]):
        total, reach, count = 0.0, 0.0, 2.0
        for j in range(rows.shape[1]):
            x = rows[i, j]
            if x != 0.0:
                p = x * w[j]
                total += p
                reach += abs(p)
                count += 1.0
        # Products and sums are rounded once a non-zero.
        z[i], size[i], off[i] = sign[i] * total, reach, count * 1.01 * unit * reach
    return 0


@kernel
def margins_sparse(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    sign: np.ndarray,
    w: np.ndarray,
    unit: float,
    z: np.ndarray,
    size: np.ndarray,
    off: np.ndarray,
) -> int:
    """The same over CSR rows, unsigned indices: equal to the bit when no zero is stored."""
    for i in range(len(indptr) - 1):
        total, reach, count = 0.0, 0.0, 2.0
        for k in range(indptr[i], indptr[i + 1]):
            p = data[k] * w[indices[k]]
            total += p
            reach += abs(p)
            count += 1.0
        z[i], size[i], off[i] = sign[i] * total, reach, count * 1.01 * unit * reach
    return 0


@kernel
def loss_terms(
    hinge: bool,
    z: np.ndarray,
    off: np.ndarray,
    decay: np.ndarray,
    log: np.ndarray,
    sign: np.ndarray,
    more: float,
    unit: float,
    slope: np.ndarray,
    along: np.ndarray,
    error: np.ndarray,
    total: np.ndarray,
) -> int:
    """slope_i = phi'(z_i), along_i = sign_i slope_i and an error, for a margin off by off_i; all (n,).

    ``more`` times |slope_i| is added to the error. total (3,) gets sum phi(z_i), its low part, its error. The squared
    hinge, or the logistic loss, of which |phi''| <= |phi'| and which takes decay = exp(-|z|) and log = log(1 + decay),
    (n,) each: these and divisions are right to some units.
    """
    for i in range(len(z)):
        if hinge:
            t = 1.0 - z[i]
            rough = 1.01 * (unit * abs(t) + off[i])
            if t < -rough:  # surely beyond the kink: exactly zero
                rough = 0.0
            if t < 0.0:
                t = 0.0
            p, doubt = 2.0 * t, 2.0 * rough
            value, vague = t * t, rough * (2.0 * t + rough) + 2.0 * unit * t * t
        else:
            e = decay[i]
            rest = 1.0 / (1.0 + e)
            p = e * rest if z[i] > 0.0 else rest
            far = p * (1.01 * off[i]) + off[i] * off[i]
            doubt = 20.0 * unit * p + far
            value = log[i] - min(z[i], 0.0)
            vague = 20.0 * unit * value + far
        slope[i], along[i], error[i] = -p, -p * sign[i], doubt + more * p
        # Knuth's sum.
        s = total[0] + value
        q = s - total[0]
        total[1] += (total[0] - (s - q)) + (value - q)
        total[0] = s
        total[2] += vague
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
