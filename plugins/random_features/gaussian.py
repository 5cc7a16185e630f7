"""Gaussian similarities to stored points, scores and probabilities: shared by learners of points and of widths."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.random_features.core_kernels import dot


def checked_width(sigma: str | float, standardize: bool) -> float:
    """The kernels' form of a width: the number itself, 0.0 for "auto"; ValueError for anything else."""
    if isinstance(sigma, str):
        if sigma != "auto":
            raise ValueError(f"sigma must be 'auto' or a positive number, not {sigma!r}")
        if not standardize:
            raise ValueError("sigma='auto' counts on features of deviation 1: give a number with standardize=False")
        return 0.0
    if not (sigma > 0 and math.isfinite(sigma)):
        raise ValueError(f"sigma must be 'auto' or a positive number, not {sigma!r}")
    return float(sigma)


@kernel
def varied(stats: np.ndarray, d: int) -> int:
    """How many of the d features have varied so far: a feature that comes late changes nothing before it comes."""
    count = 0
    for j in range(d):
        if stats[3, j] > 0.0:
            count += 1
    return count


@kernel
def width(sigma: float, stats: np.ndarray, d: int) -> float:
    """sigma itself, or .4 sqrt(2 m) when it is 0: m = number of the d features that have varied so far (at least 1).

    sqrt(2 m) is the typical distance of two standardized rows.
    """
    if sigma > 0.0:
        return sigma
    return 0.4 * math.sqrt(2.0 * max(varied(stats, d), 1))


@kernel
def similarities(
    x: np.ndarray, near: np.ndarray, stats: np.ndarray, points: np.ndarray, size: int, sigma: float
) -> None:
    """near_i = exp(-|(x - p_i) / sd|^2 / (2 sigma^2)) for i < size; x (d,), points (capacity >= d, budget).

    Points are stored unscaled and by columns: the mean cancels in a difference, so distances are always in the
    present scale, and the inner loop runs along memory for any number of features.
    """
    for i in range(size):
        near[i] = 0.0
    for j in range(x.shape[0]):
        scale = 1.0 if stats.shape[1] == 0 else stats[3, j]
        if scale > 0.0:
            value, row = x[j], points[j]
            for i in range(size):
                gap = (value - row[i]) * scale
                near[i] += gap * gap
    factor = -0.5 / (sigma * sigma)
    for i in range(size):
        near[i] = math.exp(factor * near[i])


@kernel
def expansion(near: np.ndarray, coefs: np.ndarray, size: int, scores: np.ndarray) -> None:
    """scores_k = sum over i < size of coefs[k, i] near_i; coefs (K, budget), scores at least (K,)."""
    for k in range(coefs.shape[0]):
        scores[k] = dot(coefs[k, :size], near[:size])


@kernel
def best_rival(scores: np.ndarray, y: int, K: int) -> int:
    """argmax over r != y, r < K of scores_r, the lowest index at a tie."""
    best = 1 if y == 0 else 0
    for r in range(K):
        if r != y and scores[r] > scores[best]:
            best = r
    return best


@kernel
def into_probabilities(scores: np.ndarray, K: int, out: np.ndarray) -> int:
    """out = (1 - s, s), s = sigmoid(scores_0), when K = 1, else the softmax of scores (K,); the winner's index.

    No exponent is positive, so nothing overflows.
    """
    if K == 1:
        f = scores[0]
        small = math.exp(-abs(f))
        out[1] = (1.0 if f > 0.0 else small) / (1.0 + small)
        out[0] = (small if f > 0.0 else 1.0) / (1.0 + small)
        return 1 if f > 0.0 else 0
    best = 0
    for k in range(K):
        if scores[k] > scores[best]:
            best = k
    total = 0.0
    for k in range(K):
        out[k] = math.exp(scores[k] - scores[best])
        total += out[k]
    for k in range(K):
        out[k] /= total
    return best
