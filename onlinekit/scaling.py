"""Running mean and variance inside the kernels: the same numbers as River's StandardScaler in a pipeline."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel


@kernel
def finite(x: np.ndarray) -> bool:
    """Whether every value of the row x (d,) is finite; 0 * x is NaN exactly when one is not."""
    total = 0.0
    for j in range(x.shape[0]):
        total += 0.0 * x[j]
    return total == 0.0


@kernel
def watch(x: np.ndarray, stats: np.ndarray) -> None:
    """n += 1; mean += (x - mean) / n; var += ((x - old mean)(x - mean) - var) / n  (Welford).

    x (d,); stats (4, capacity >= d): stats[0, 0] = n, stats[1] = mean, stats[2] = variance, stats[3] = 1 / sd
    (0 where sd is 0; kept, so that predicting neither divides nor takes roots); no columns = no scaling. A feature
    that comes later has mean and variance 0, as if it had been 0.0 until then.
    """
    if stats.shape[1] == 0:
        return
    stats[0, 0] += 1.0
    n = stats[0, 0]
    for j in range(x.shape[0]):
        old = stats[1, j]
        stats[1, j] += (x[j] - old) / n
        stats[2, j] += ((x[j] - old) * (x[j] - stats[1, j]) - stats[2, j]) / n
        stats[3, j] = 1.0 / math.sqrt(stats[2, j]) if stats[2, j] > 0.0 else 0.0


@kernel
def scaled(x: np.ndarray, stats: np.ndarray, j: int) -> float:
    """(x_j - mean_j) / sd_j, 0 where the deviation is 0; x_j itself without scaling."""
    if stats.shape[1] == 0:
        return x[j]
    return (x[j] - stats[1, j]) * stats[3, j]
