"""Running mean and variance inside the kernels: the same numbers as River's StandardScaler in a pipeline.

stats (5, capacity >= d):

    stats[0]     number of samples that mean and variance of a feature stand for: all, or before its zeros since
    stats[1]     mean
    stats[2]     variance
    stats[3]     1 / sd, 0 where sd is 0 (kept, so that predicting neither divides nor takes roots)
    stats[4, 0]  number of samples
    stats[4, 1]  1 while some feature waits for its zeros to be counted (after a sparse row)
    stats[4, 2]  1 when there is no scaling: means stay 0 and 1 / sd stays 1, so that no kernel has to ask

A feature that comes later has mean and variance 0, as if it had been 0.0 until then.
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel


@kernel
def finite(x: np.ndarray) -> bool:
    """Whether every value of the row x (d,) is finite; x - x is NaN exactly when one is not."""
    bad = False
    for j in range(x.shape[0]):
        bad |= x[j] - x[j] != 0.0
    return not bad


@kernel
def watch(x: np.ndarray, stats: np.ndarray) -> None:
    """n += 1; mean += (x - mean) / n; var += ((x - old mean)(x - mean) - var) / n  (Welford). x (d,)."""
    if stats[4, 2] == 0.0:
        if stats[4, 1] != 0.0:
            for j in range(stats.shape[1]):
                catch_up(j, stats)
            stats[4, 1] = 0.0
        stats[4, 0] += 1.0
        n = stats[4, 0]
        share = 1.0 / n
        for j in range(x.shape[0]):
            old = stats[1, j]
            mean = old + (x[j] - old) * share
            variance = stats[2, j] + ((x[j] - old) * (x[j] - mean) - stats[2, j]) * share
            stats[0, j] = n
            stats[1, j] = mean
            stats[2, j] = variance
            stats[3, j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0


@kernel
def scaled(x: np.ndarray, stats: np.ndarray, j: int) -> float:
    """(x_j - mean_j) / sd_j, 0 where the deviation is 0; x_j itself without scaling."""
    return (x[j] - stats[1, j]) * stats[3, j]


@kernel
def variance_now(j: int, stats: np.ndarray) -> float:
    """var <- c/n (var + mean^2 m/n): feature j with its m = n - c zeros since counted in."""
    c, n = stats[0, j], stats[4, 0]
    return c / n * (stats[2, j] + stats[1, j] * stats[1, j] * ((n - c) / n))


@kernel
def catch_up(j: int, stats: np.ndarray) -> None:
    """Count in the zeros of feature j since it was last seen: mean <- mean c/n, var as in variance_now."""
    c, n = stats[0, j], stats[4, 0]
    if c != n:
        variance = variance_now(j, stats)
        stats[1, j] *= c / n
        stats[2, j] = variance
        stats[3, j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
        stats[0, j] = n


@kernel
def watch_sparse(index: np.ndarray, value: np.ndarray, stats: np.ndarray) -> None:
    """watch for a row given by its entries, index (m,) and value (m,), in O(m): zeros are counted in when needed."""
    if stats[4, 2] == 0.0:
        stats[4, 1] = 1.0
        for i in range(index.shape[0]):
            catch_up(index[i], stats)
        stats[4, 0] += 1.0
        n = stats[4, 0]
        share = 1.0 / n
        for i in range(index.shape[0]):
            j = index[i]
            old = stats[1, j]
            mean = old + (value[i] - old) * share
            variance = stats[2, j] + ((value[i] - old) * (value[i] - mean) - stats[2, j]) * share
            stats[0, j] = n
            stats[1, j] = mean
            stats[2, j] = variance
            stats[3, j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0


@kernel
def scaled_sparse(j: int, value: float, stats: np.ndarray) -> float:
    """value / sd_j, not centred, so that zeros stay zeros; the value itself without scaling."""
    if stats[4, 2] != 0.0:  # nor touch memory in vain
        return value
    if stats[0, j] == stats[4, 0]:
        return value * stats[3, j]
    variance = variance_now(j, stats)
    return value / math.sqrt(variance) if variance > 0.0 else 0.0


def fresh(capacity: int, standardize: bool) -> np.ndarray:
    """stats before any sample."""
    stats = np.zeros((5, capacity))
    if not standardize:
        stats[3] = 1.0
        stats[4, 2] = 1.0
    return stats
