"""The diagonal covariance: O(n) a dense row, O(entries) a sparse one.

A sparse row does not touch the variances of the other features. What they drift meanwhile is summed up once for all
features of a group (their drift constant being the same), and counted in when a feature is next looked at:

    bounded    sum of log(1 - rho):  variance = prior_var - (prior_var - variance) exp(sum - since)
    additive   sum of v c:           variance = variance + (sum - since)
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.bayes_logistic.shared_kernels import (
    BOUNDED,
    GROUP,
    PENDING,
    PRIOR,
    RATES,
    SINCE,
    STARTED,
    inflated,
    share_lost,
)

LOG_ZERO = -800.0  # exp of it is 0: the logarithm of 1 - rho where rho = 1
SUM_MAX = 1e5  # beyond it the sums would lose digits


@kernel
def current(m: int, j: int, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> float:
    """The variance of column j of model m with the drift counted in that it has not been touched by."""
    total = state[m, RATES + 2 * int(weights[m, GROUP, j]) + 1]
    since = weights[m, SINCE, j]
    if total == since:
        return cov[m, j]
    if hyper[BOUNDED]:
        lost = -math.expm1(total - since)
        return (1.0 - lost) * cov[m, j] + lost * hyper[PRIOR]
    return cov[m, j] + (total - since)


@kernel
def settle(m: int, columns: int, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> None:
    """Count the drift in for all columns of model m, and begin the sums anew."""
    for j in range(columns):
        cov[m, j] = current(m, j, weights, cov, state, hyper)
        weights[m, SINCE, j] = 0.0
    for g in range((state.shape[1] - RATES) // 2):
        state[m, RATES + 2 * g + 1] = 0.0
    state[m, PENDING] = 0.0


@kernel
def postpone(m: int, columns: int, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> None:
    """Add this step's drift to the sum of each group."""
    large = False
    for g in range((state.shape[1] - RATES) // 2):
        rho = share_lost(m, g, state, hyper)
        if rho != 0.0:
            change = rho
            if hyper[BOUNDED]:
                change = math.log1p(-rho) if rho < 1.0 else LOG_ZERO
            state[m, RATES + 2 * g + 1] += change
            large |= abs(state[m, RATES + 2 * g + 1]) > SUM_MAX
    state[m, PENDING] = 1.0
    if large:
        settle(m, columns, weights, cov, state, hyper)


@kernel
def ahead(m: int, j: int, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> float:
    """P_jj, the variance that the next step starts from. A new weight does not drift before its first step."""
    if j >= state[m, STARTED]:
        return hyper[PRIOR]
    rho = share_lost(m, int(weights[m, GROUP, j]), state, hyper)
    return inflated(current(m, j, weights, cov, state, hyper), rho, hyper)


@kernel
def ahead_all(
    m: int, p: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray
) -> None:
    """p (n + 1,) = `ahead` of every column."""
    started, group, variance = int(state[m, STARTED]), weights[m, GROUP], cov[m]
    for g in range((state.shape[1] - RATES) // 2):
        rho = share_lost(m, g, state, hyper)
        for j in range(started):
            if group[j] == g:
                now = current(m, j, weights, cov, state, hyper) if state[m, PENDING] else variance[j]
                p[j] = inflated(now, rho, hyper)
    for j in range(started, p.shape[0]):
        p[j] = hyper[PRIOR]


@kernel
def reduced(variance: float, h: float) -> float:
    """variance - h^2; of a positive variance a positive rest, also where rounding leaves nothing."""
    return max(variance - h * h, 2.0**-52 * variance)
