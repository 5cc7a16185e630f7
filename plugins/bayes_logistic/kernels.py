"""Steps and predictions of the drift-aware Bayesian logistic regression; shapes and names in shared_kernels."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, scaled, watch
from onlinekit_plugins.bayes_logistic.diag_kernels import ahead_all, reduced, settle
from onlinekit_plugins.bayes_logistic.full_kernels import absorb, multiply
from onlinekit_plugins.bayes_logistic.shared_kernels import (
    ALPHA,
    BOUNDED,
    COUNT,
    DIAG,
    GROUP,
    INTERCEPT,
    MEAN,
    PENDING,
    PRIOR,
    RATES,
    RZ,
    SPARE,
    STARTED,
    STEPS,
    X_MAX,
    R,
    Z,
    gains,
    mixed,
    monitor,
    share_lost,
)
from onlinekit_plugins.bayes_logistic.sparse_kernels import (
    learn_sparse,
    learn_sparse_rows,
    predict_sparse,
    predict_sparse_rows,
    prequential_sparse_rows,
)

__all__ = [
    "learn",
    "learn_rows",
    "learn_sparse",
    "learn_sparse_rows",
    "look",
    "predict",
    "predict_rows",
    "predict_sparse",
    "predict_sparse_rows",
    "prequential_rows",
    "prequential_sparse_rows",
    "probability",
    "unlabelled",
]


@kernel
def inflate(m: int, work: np.ndarray, weights: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> bool:
    """Fill r and add of model m, P = diag(r) Sigma diag(r) + diag(add) (2.22); whether nothing inflates at all."""
    n = work.shape[1] - SPARE
    groups = (state.shape[1] - RATES) // 2
    still = True
    for g in range(groups):
        still &= share_lost(m, g, state, hyper) == 0.0
    r, add, group = work[R + 3 * m], work[R + 3 * m + 1], weights[m, GROUP]
    r[n + 1] = 1.0 if still else 0.0
    if still:
        return True
    started = int(state[m, STARTED])
    for g in range(groups):
        rho = share_lost(m, g, state, hyper)
        root, more = (math.sqrt(1.0 - rho), rho * hyper[PRIOR]) if hyper[BOUNDED] else (1.0, rho)
        for j in range(n + 1):
            if group[j] == g:
                r[j] = root
                add[j] = more
    for j in range(started, n + 1):
        # A new weight is at its prior, which does not drift before its first step.
        r[j] = 1.0
        add[j] = 0.0
    return False


@kernel
def project(
    m: int, work: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray
) -> bool:
    """a = mu'z (2.19), u = P z, s2 = z'u (2.18) with P for Sigma; whether a and s2 are finite."""
    n = work.shape[1] - SPARE
    z, u, mean = work[Z, : n + 1], work[R + 3 * m + 2, : n + 1], weights[m, MEAN]
    a = 0.0
    for j in range(n + 1):
        a += mean[j] * z[j]
    if hyper[DIAG]:
        p = work[R + 3 * m + 1, : n + 1]
        ahead_all(m, p, weights, cov, state, hyper)
        for j in range(n + 1):
            u[j] = p[j] * z[j]
    elif inflate(m, work, weights, state, hyper):
        multiply(cov[m], z, u)
    else:
        r, add, rz = work[R + 3 * m], work[R + 3 * m + 1], work[RZ, : n + 1]
        for j in range(n + 1):
            rz[j] = r[j] * z[j]
        multiply(cov[m], rz, u)
        for j in range(n + 1):
            u[j] = r[j] * u[j] + add[j] * z[j]
    s2 = 0.0
    for j in range(n + 1):
        s2 += z[j] * u[j]
    work[R + 3 * m + 2, n + 1] = a
    work[R + 3 * m + 2, n + 2] = max(s2, 0.0)
    return math.isfinite(a) and math.isfinite(s2)


@kernel
def look(
    x: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray,
    hyper: np.ndarray,
) -> bool:  # fmt: skip
    """Fill work for the row x (n,) unless it is what it was filled for; whether a and s2 of all models are finite."""
    n = work.shape[1] - SPARE
    z = work[Z]
    same = z[n + 1] == state[0, STEPS]
    if stats[4, 2] != 0.0:
        for j in range(n):
            same &= z[j + 1] == x[j]
    else:
        for j in range(n):
            value = scaled(x, stats, j)
            same &= z[j + 1] == value
            z[j + 1] = value
    if same:
        return True
    if stats[4, 2] != 0.0:
        for j in range(n):
            z[j + 1] = x[j]
    z[0] = hyper[INTERCEPT]
    z[n + 1] = -1.0
    for m in range(state.shape[0]):
        if not project(m, work, weights, cov, state, hyper):
            return False
    z[n + 1] = state[0, STEPS]
    return True


@kernel
def unlabelled(x: np.ndarray, state: np.ndarray, hyper: np.ndarray) -> int:
    """N = alpha N, nothing else (2.30); -1 if x is not finite."""
    if not finite(x):
        return -1
    for m in range(state.shape[0]):
        state[m, COUNT] *= hyper[ALPHA]
    return 0


@kernel
def learn(
    x: np.ndarray, y: int, w: float, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray,
    state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """One step, y in {0, 1}, or 2 for no label; -1 if the row, or its logit, is not finite (nothing changed)."""
    if y > 1:
        return unlabelled(x, state, hyper)
    n = work.shape[1] - SPARE
    if stats[4, 2] == 0.0:
        for j in range(n):
            if not abs(x[j]) < X_MAX:
                return -1
        watch(x, stats)
    if not look(x, work, stats, weights, cov, state, hyper):
        return -1
    for m in range(state.shape[0]):
        u, mean = work[R + 3 * m + 2], weights[m, MEAN]
        a, s2 = u[n + 1], u[n + 2]
        gain, step = gains(y, w, a, s2, hyper)
        if hyper[DIAG]:
            if state[m, PENDING]:
                settle(m, n + 1, weights, cov, state, hyper)
            root = math.sqrt(gain)
            for j in range(n + 1):
                cov[m, j] = reduced(work[R + 3 * m + 1, j], root * u[j])
        else:
            r, add = work[R + 3 * m], work[R + 3 * m + 1]
            absorb(cov[m], r, add, u[: n + 1], work[RZ], gain, r[n + 1] == 1.0)
        for j in range(n + 1):
            mean[j] += step * u[j]
        monitor(m, y, gain, step, a, s2, state, hyper)
        state[m, STARTED] = n + 1
    state[0, STEPS] += 1.0
    return 0


@kernel
def probability(
    x: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray,
    hyper: np.ndarray,
) -> float:  # fmt: skip
    """p(y = 1 | x), or -1 if the row, or its logit, is not finite.

    x may have values behind the n features that are known: of features never seen, whose weights are at the prior.
    """
    extra = 0.0
    for j in range(work.shape[1] - SPARE, x.shape[0]):
        extra += hyper[PRIOR] * x[j] * x[j]
    work[RZ, work.shape[1] - 2] = extra
    if not (look(x, work, stats, weights, cov, state, hyper) and math.isfinite(extra)):
        return -1.0
    return mixed(extra, work, state)


@kernel
def predict(
    x: np.ndarray, out: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray, cov: np.ndarray,
    state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """out (2,) = probabilities of False and True; the winner, or -1 if the row, or its logit, is not finite."""
    p = probability(x, work, stats, weights, cov, state, hyper)
    out[0], out[1] = 1.0 - p, p
    if p < 0.0:
        return -1
    return 1 if p > 0.5 else 0


@kernel
def learn_rows(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray,
    cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """learn row by row; 1 + the row refused, where it stops, or 0."""
    for t in range(X.shape[0]):
        if learn(X[t], y[t], w[t], work, stats, weights, cov, state, hyper) < 0:
            return t + 1
    return 0


@kernel
def predict_rows(
    X: np.ndarray, winners: np.ndarray, out: np.ndarray, work: np.ndarray, stats: np.ndarray, weights: np.ndarray,
    cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> None:  # fmt: skip
    """predict row by row."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], work, stats, weights, cov, state, hyper)


@kernel
def prequential_rows(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, winners: np.ndarray, out: np.ndarray, work: np.ndarray,
    stats: np.ndarray, weights: np.ndarray, cov: np.ndarray, state: np.ndarray, hyper: np.ndarray,
) -> int:  # fmt: skip
    """predict, then learn, row by row; 1 + the row refused, where it stops, or 0."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], work, stats, weights, cov, state, hyper)
        if learn(X[t], y[t], w[t], work, stats, weights, cov, state, hyper) < 0:
            return t + 1
    return 0
