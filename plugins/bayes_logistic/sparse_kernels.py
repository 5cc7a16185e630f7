"""Rows given by their entries, for the diagonal covariance: index (m,) columns, value (m,); names in shared_kernels."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, scaled_sparse, watch_sparse
from onlinekit_plugins.bayes_logistic.diag_kernels import ahead, postpone, reduced
from onlinekit_plugins.bayes_logistic.shared_kernels import (
    ALPHA,
    COUNT,
    GROUP,
    INTERCEPT,
    MEAN,
    PRIOR,
    RATES,
    RZ,
    SINCE,
    SPARE,
    STARTED,
    STEPS,
    X_MAX,
    R,
    Z,
    gains,
    mixed,
    monitor,
)


@kernel
def look_sparse(
    index: np.ndarray, value: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray,
    state: np.ndarray, hyper: np.ndarray,
) -> bool:  # fmt: skip
    """Fill work: z, and for each model P_jj (row add), u = P z, a, s2, entry i in column i + 1; whether finite.

    Columns >= n are of features never seen, whose weights are at the prior.
    """
    n, entries = work.shape[1] - SPARE, index.shape[0]
    z = work[Z]
    z[n + 1] = -1.0  # no row that look may find again
    z[0] = hyper[INTERCEPT]
    work[RZ, n + 1] = 0.0  # features never seen are in s2 already
    for i in range(entries):
        z[i + 1] = scaled_sparse(index[i], value[i], stats) if index[i] < n else value[i]
    for k in range(state.shape[0]):
        p, u = work[R + 3 * k + 1], work[R + 3 * k + 2]
        a, s2 = 0.0, 0.0
        for i in range(entries + 1):
            j = 0 if i == 0 else index[i - 1] + 1
            if j <= n:
                a += weights[k, MEAN, j] * z[i]
                p[i] = ahead(k, j, weights, cov, state, hyper)
            else:
                p[i] = hyper[PRIOR]
            u[i] = p[i] * z[i]
            s2 += u[i] * z[i]
        if not (math.isfinite(a) and math.isfinite(s2)):
            return False
        u[n + 1], u[n + 2] = a, s2
    return True


@kernel
def learn_sparse(
    index: np.ndarray, value: np.ndarray, y: int, w: float, work: np.ndarray, stats: np.ndarray, weights: np.ndarray,
    cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """learn of kernels, from the entries of a row and in O(entries)."""
    n, entries = work.shape[1] - SPARE, index.shape[0]
    if not finite(value):
        return -1
    if y > 1:
        for k in range(state.shape[0]):
            state[k, COUNT] *= hyper[ALPHA]
        return 0
    if stats[4, 2] == 0.0:
        for i in range(entries):
            if not abs(value[i]) < X_MAX:
                return -1
        watch_sparse(index, value, stats)
    if not look_sparse(index, value, work, stats, weights, cov, state, hyper):
        return -1
    for k in range(state.shape[0]):
        p, u = work[R + 3 * k + 1], work[R + 3 * k + 2]
        a, s2 = u[n + 1], u[n + 2]
        gain, step = gains(y, w, a, s2, hyper)
        root = math.sqrt(gain)
        # P holds this step's drift already; the others' is postponed.
        postpone(k, n + 1, weights, cov, state, hyper)
        for i in range(entries + 1):
            j = 0 if i == 0 else index[i - 1] + 1
            cov[k, j] = reduced(p[i], root * u[i])
            weights[k, MEAN, j] += step * u[i]
            weights[k, SINCE, j] = state[k, RATES + 2 * int(weights[k, GROUP, j]) + 1]
        monitor(k, y, gain, step, a, s2, state, hyper)
        state[k, STARTED] = n + 1
    state[0, STEPS] += 1.0
    return 0


@kernel
def predict_sparse(
    index: np.ndarray, value: np.ndarray, out: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray,
    cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """predict of kernels, from the entries of a row and in O(entries)."""
    if not look_sparse(index, value, work, stats, weights, cov, state, hyper):
        return -1
    p = mixed(0.0, work, state)
    out[0], out[1] = 1.0 - p, p
    return 1 if p > 0.5 else 0


@kernel
def learn_sparse_rows(
    indptr: np.ndarray, index: np.ndarray, value: np.ndarray, y: np.ndarray, w: np.ndarray, work: np.ndarray,
    stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """learn_sparse for rows t, entries indptr[t] to indptr[t + 1]; 1 + the row refused, where it stops, or 0."""
    for t in range(indptr.shape[0] - 1):
        part = slice(indptr[t], indptr[t + 1])
        if learn_sparse(index[part], value[part], y[t], w[t], work, stats, weights, cov, state, hyper) < 0:
            return t + 1
    return 0


@kernel
def predict_sparse_rows(
    indptr: np.ndarray, index: np.ndarray, value: np.ndarray, winners: np.ndarray, out: np.ndarray, work: np.ndarray,
    stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> None:  # fmt: skip
    """predict_sparse row by row."""
    for t in range(indptr.shape[0] - 1):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = predict_sparse(index[part], value[part], out[t], work, stats, weights, cov, state, hyper)


@kernel
def prequential_sparse_rows(
    indptr: np.ndarray, index: np.ndarray, value: np.ndarray, y: np.ndarray, w: np.ndarray, winners: np.ndarray,
    out: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray,
    hyper: np.ndarray,
) -> int:  # fmt: skip
    """predict_sparse, then learn_sparse, row by row; 1 + the row refused, where it stops, or 0."""
    for t in range(indptr.shape[0] - 1):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = predict_sparse(index[part], value[part], out[t], work, stats, weights, cov, state, hyper)
        if learn_sparse(index[part], value[part], y[t], w[t], work, stats, weights, cov, state, hyper) < 0:
            return t + 1
    return 0
