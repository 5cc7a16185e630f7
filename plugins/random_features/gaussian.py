"""Gaussian similarities to stored points, and scores from them: shared by learners of points and of widths."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math
import numbers

from onlinekit.jit import kernel
from onlinekit.scaling import scaled
from onlinekit_plugins.random_features.core_kernels import dot


def checked_width(sigma: str | float) -> float:
    """The kernels' form of a width: the number itself, 0.0 for "auto"; ValueError for anything else."""
    if sigma == "auto":
        return 0.0
    # Beyond these bounds its square, or that of a distance over it, is no float.
    if not isinstance(sigma, numbers.Real) or isinstance(sigma, bool) or not 1e-100 <= sigma <= 1e100:
        raise ValueError(f"sigma must be 'auto' or a number from 1e-100 to 1e100, not {sigma!r}")
    return float(sigma)


@kernel
def held(x, stats, j):
    """The scaled x_j within +-1e15, so that no product of it with weights or draws overflows; NaN gives -1e15."""
    v = scaled(x, stats, j)
    if abs(v) <= 1e15:
        return v
    return 1e15 if v > 0.0 else -1e15


@kernel
def present(x, stats, seen, v):
    """v_j = the scaled x_j, 0 for a feature that no learned row has had yet: it is as if unknown. x (d,), v >= (d,)."""
    for j in range(x.shape[0]):
        v[j] = held(x, stats, j) if seen[j] > 0.0 else 0.0


@kernel
def follow(x, stats, seen, extent, v):
    """Of a row to learn: v = x scaled, seen_j = 1 where v_j != 0, extent = (mean |v|^2 of the rows, their number)."""
    total = 0.0
    for j in range(x.shape[0]):
        v[j] = held(x, stats, j)
        total += v[j] * v[j]
        if v[j] != 0.0:
            seen[j] = 1.0
    extent[1] += 1.0
    extent[0] += (total - extent[0]) / extent[1]


@kernel
def width(sigma, extent):
    """sigma itself, or .4 sqrt(2 m) when it is 0, m = mean |x|^2 of the scaled rows so far (1 before it is known).

    sqrt(2 m) is the typical distance of two rows. A feature that comes late changes nothing before it comes.
    """
    if sigma > 0.0:
        return sigma
    return 0.4 * math.sqrt(2.0 * extent[0]) if extent[0] > 0.0 else 1.0


@kernel
def similarities(v, d, near, points, size, sigma):
    """near_i = exp(-|v - p_i|^2 / (2 sigma^2)) for i < size; v at least (d,), points (capacity >= d, budget).

    Points stand in columns, so that the inner loop runs along memory for any number of features.
    """
    for i in range(size):
        near[i] = 0.0
    for j in range(d):
        value, row = v[j], points[j]
        for i in range(size):
            gap = value - row[i]
            near[i] += gap * gap
    factor = -0.5 / (sigma * sigma)
    for i in range(size):
        near[i] = math.exp(factor * near[i])


@kernel
def expansion(near, coefs, size, scores):
    """scores_k = sum over i < size of coefs[k, i] near_i; coefs (K, budget), scores at least (K,)."""
    for k in range(coefs.shape[0]):
        scores[k] = dot(coefs[k, :size], near[:size])
