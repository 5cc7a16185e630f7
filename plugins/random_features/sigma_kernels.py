"""The statistics after each sample: scaling, and the kernel width sigma that is drawn from the data."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.scaling import scaled, watch, watch_sparse
from onlinekit_plugins.random_features.core_kernels import (
    CLIP,
    FIXED,
    GAIN,
    KEPT,
    LENGTHS,
    LIMIT,
    WIDTH,
    clipped,
)
from onlinekit_plugins.random_features.fma import fused

AUTO = 0.4  # sigma = AUTO sqrt(2 d)
MEDIAN = 0.5  # sigma = MEDIAN times the median distance


@fused
def follow(norm: float, stats: np.ndarray, run: np.ndarray, sample: np.ndarray) -> None:
    """sigma = .4 sqrt(2 mean |x|^2), the mean over the scaled rows other than 0 so far; run[GAIN] = 1 / sigma."""
    if run[FIXED] == -1.0:
        width = 0.0
        for j in range(stats.shape[1]):
            width += 1.0 if stats[3, j] > 0.0 else 0.0
        if width > 0:
            run[WIDTH] = width
            run[GAIN] = 1.0 / (AUTO * math.sqrt(2.0 * width))
        return
    if norm > 0.0:
        run[LENGTHS] += 1.0
        run[WIDTH] += (norm - run[WIDTH]) / run[LENGTHS]
        run[GAIN] = 1.0 / (AUTO * math.sqrt(2.0 * run[WIDTH]))
    if sample.shape[1] > 0 and run[KEPT] == sample.shape[1]:
        sigma = MEDIAN * median_distance(stats, sample)
        if sigma > 0.0:
            run[GAIN] = 1.0 / sigma
            run[FIXED] = 1.0


@fused
def median_distance(stats: np.ndarray, sample: np.ndarray) -> float:
    """The median of |x_s - x_t| over the pairs of kept rows, sample (capacity, n) as it came, scaled here."""
    n = sample.shape[1]
    squares = np.zeros(n * (n - 1) // 2)
    row = np.empty(n)
    limit = CLIP if stats.shape[1] > 0 else LIMIT
    for j in range(sample.shape[0]):
        for s in range(n):
            row[s] = clipped(scaled(sample[j, s : s + 1], stats[:, j : j + 1], 0), limit)
        at = 0
        for s in range(1, n):
            for t in range(s):
                squares[at] += (row[s] - row[t]) ** 2
                at += 1
    return math.sqrt(np.median(squares))


@fused
def settle(x: np.ndarray, norm: float, stats: np.ndarray, run: np.ndarray, sample: np.ndarray) -> None:
    """After learning x (d,): take it into the running mean and deviation, and let sigma follow."""
    watch(x, stats)
    if run[FIXED] <= 0.0:
        if sample.shape[1] > 0:
            sample[: x.shape[0], int(run[KEPT])] = x
            run[KEPT] += 1.0
        follow(norm, stats, run, sample)


@fused
def settle_sparse(
    index: np.ndarray, value: np.ndarray, norm: float, stats: np.ndarray, run: np.ndarray, sample: np.ndarray
) -> None:
    """settle for a row given by its entries, index (m,) and value (m,)."""
    watch_sparse(index, value, stats)
    if run[FIXED] <= 0.0:
        if sample.shape[1] > 0:
            for e in range(index.shape[0]):
                sample[index[e], int(run[KEPT])] = value[e]
            run[KEPT] += 1.0
        follow(norm, stats, run, sample)
