"""One pass over rows: margins, slopes and the gradient, in compensated double precision (pure nopython functions)."""

import math

import numpy as np

from onlinekit.jit import kernel

_U = 2.0**-53


@kernel
def sum_error(a: float, b: float, t: float) -> float:
    """a + b - t exactly, t = fl(a + b) (Knuth's sum)."""
    part = t - a
    return (a - (t - part)) + (b - part)


@kernel
def loss_terms(squared: bool, high: float, low: float, size: float, length: float, out: np.ndarray) -> int:
    """phi, phi' and their errors at the margin high + low: out = (phi, error, phi', error, z).

    |high + low - z| <= u size + 4 (length + 2)^2 u^2 size, size = sum |x_j w_j|: rounded products, summed as in
    Ogita, Rump and Oishi's sum2.
    """
    z = high + low
    tail = (1.01 + 4.0 * (length + 2.0) * (length + 2.0) * _U) * _U * size
    if squared:
        t = (1.0 - high) - low
        # 1 - high is rounded once and the rest once more.
        rough = 2.0 * _U * (abs(t) + abs(low)) + tail
        t = max(t, 0.0)
        out[0], out[1] = t * t, 2.0 * t * rough + rough * rough + 2.0 * _U * t * t
        out[2], out[3] = -2.0 * t, 2.0 * rough
    else:
        off = 2.0 * _U * abs(z) + tail
        e = math.exp(-abs(z))
        slope = -e / (1.0 + e) if z > 0.0 else -1.0 / (1.0 + e)
        value = math.log1p(e) + max(-z, 0.0)
        # |phi''| <= |phi'|, and exp, log1p and the division are right to a few units.
        out[0], out[1] = value, 8.0 * _U * value + abs(slope) * off * 1.01 + off * off
        out[2], out[3] = slope, abs(slope) * (8.0 * _U + 1.01 * off) + off * off
    out[4] = z
    return 0


@kernel
def sum_dense(
    rows: np.ndarray,
    sign: np.ndarray,
    w: np.ndarray,
    squared: bool,
    high: np.ndarray,
    low: np.ndarray,
    error: np.ndarray,
    z: np.ndarray,
    slope: np.ndarray,
    terms: np.ndarray,
) -> int:
    """Sums over sign_i rows_i (n, d) at w (d,): gradient = high + low -+ error (d,); z, slope (n,).

    terms (6,) is scratch; on return terms[0] = sum phi and terms[1] its error.
    """
    value, rest, doubt = 0.0, 0.0, 0.0
    for i in range(rows.shape[0]):
        zh, zl, size, length = 0.0, 0.0, 0.0, 0.0
        for j in range(rows.shape[1]):
            x = rows[i, j]
            if x != 0.0:
                p = x * w[j]
                t = zh + p
                zl += sum_error(zh, p, t)
                zh = t
                size += abs(p)
                length += 1.0
        s = sign[i]
        loss_terms(squared, s * zh, s * zl, size, length, terms)
        t = value + terms[0]
        rest += sum_error(value, terms[0], t)
        value = t
        doubt += terms[1]
        z[i], slope[i] = terms[4], terms[2]
        along, off = s * terms[2], terms[3] + 2.0 * _U * abs(terms[2])
        for j in range(rows.shape[1]):
            x = rows[i, j]
            if x != 0.0:
                p = along * x
                t = high[j] + p
                low[j] += sum_error(high[j], p, t)
                high[j] = t
                error[j] += abs(x) * off
    terms[0], terms[1] = value + rest, doubt + 4.0 * _U * value
    return 0


@kernel
def sum_sparse(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    sign: np.ndarray,
    w: np.ndarray,
    squared: bool,
    high: np.ndarray,
    low: np.ndarray,
    error: np.ndarray,
    z: np.ndarray,
    slope: np.ndarray,
    terms: np.ndarray,
) -> int:
    """The same over CSR rows without duplicate entries."""
    value, rest, doubt = 0.0, 0.0, 0.0
    for i in range(len(indptr) - 1):
        zh, zl, size = 0.0, 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            p = data[k] * w[indices[k]]
            t = zh + p
            zl += sum_error(zh, p, t)
            zh = t
            size += abs(p)
        s = sign[i]
        loss_terms(squared, s * zh, s * zl, size, float(indptr[i + 1] - indptr[i]), terms)
        t = value + terms[0]
        rest += sum_error(value, terms[0], t)
        value = t
        doubt += terms[1]
        z[i], slope[i] = terms[4], terms[2]
        along, off = s * terms[2], terms[3] + 2.0 * _U * abs(terms[2])
        for k in range(indptr[i], indptr[i + 1]):
            j, x = indices[k], data[k]
            p = along * x
            t = high[j] + p
            low[j] += sum_error(high[j], p, t)
            high[j] = t
            error[j] += abs(x) * off
    terms[0], terms[1] = value + rest, doubt + 4.0 * _U * value
    return 0
