"""State layout and the scalar formulas of the drift-aware Bayesian logistic regression.

M models (1, or 5 for drift="auto") share one row of n features. Column 0 of every array is the intercept, column
j + 1 feature j; the arrays may have spare columns behind them. T = number of cells of `cov`.

- weights (M, 3, n + 1): MEAN, GROUP (which drift constant), SINCE (drift sum up to which the variance is counted)
- cov (M, T): the lower triangle of the covariance row by row, (k, j) in cell k (k + 1) / 2 + j for j <= k; the
  variances alone if DIAG
- state (M, 6 + 2 G): LEVEL v, COUNT N, LOGW log weight of the model, STARTED columns that have been through a step,
  STEPS taken, PENDING: 1 while some variances lag behind (after a sparse row); then for each of G groups its drift
  constant c and its drift sum, at RATES + 2 g and RATES + 2 g + 1
- hyper (7,): the parameters
- stats (5, n): see onlinekit.scaling; no columns = no scaling
- work (2 + 3 M, n + 3): scratch. Row Z the row as the weights see it, row RZ that row times r, then for each model
  the rows r, add and u: P = diag(r) Sigma diag(r) + diag(add) is the inflated covariance, u = P z. Behind them,
  in the columns n + 1 and n + 2: STEPS when they were computed (row Z); the
  logit variance of features never seen (RZ); 1 if nothing inflates (r); a and s2 (u).
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel

MEAN, GROUP, SINCE = range(3)
LEVEL, COUNT, LOGW, STARTED, STEPS, PENDING, RATES = range(7)
PRIOR, ALPHA, MODE, BOUNDED, ADF, DIAG, INTERCEPT = range(7)
NONE, UNCERTAINTY, UNCERTAINTY_MEAN, CONSTANT, AUTO = range(5)
Z, RZ, R = range(3)  # rows of work; add and u of model m are R + 3 m + 1 and R + 3 m + 2
SPARE = 3  # columns of work beyond the features
FADING = 0.99  # of the log weights of the models that "auto" mixes
P_MIN, P_MAX = 1e-300, 1.0 - 2.0**-53  # a float64 sigmoid would round to exactly 0 or 1
X_MAX = 1e150  # larger values would overflow in a running variance


@kernel
def sigmoid(a: float) -> float:
    """1 / (1 + exp(-a)), kept inside the open interval (0, 1)."""
    if a >= 0.0:
        return min(1.0 / (1.0 + math.exp(-a)), P_MAX)
    e = math.exp(a)
    return max(e / (1.0 + e), P_MIN)


@kernel
def moderated(a: float, s2: float) -> float:
    """E sigm(N(a, s2)) by the probit approximation (2.17), (2.20): sigm(a / sqrt(1 + pi s2 / 8))."""
    return sigmoid(a / math.sqrt(1.0 + math.pi * s2 / 8.0))


@kernel
def entropy(p: float) -> float:
    """-p log p - (1 - p) log(1 - p), in nats; 0 < p < 1."""
    return -(p * math.log(p) + (1.0 - p) * math.log1p(-p))


@kernel
def information(a: float, s2: float, nodes: np.ndarray, shares: np.ndarray) -> float:
    """H(E p) - E H(p) for p = sigm(N(a, s2)), by quadrature with nodes (k,) and shares (k,)."""
    mean, noise = 0.0, 0.0
    for i in range(nodes.shape[0]):
        p = sigmoid(a + math.sqrt(s2) * nodes[i])
        mean += shares[i] * p
        noise += shares[i] * entropy(p)
    return max(entropy(min(max(mean, P_MIN), P_MAX)) - noise, 0.0)


@kernel
def level(m: int, state: np.ndarray, hyper: np.ndarray) -> float:
    """The drift level v that the next step of model m inflates with."""
    if hyper[MODE] == NONE:
        return 0.0
    if hyper[MODE] >= CONSTANT:
        return 1.0
    return max(state[m, LEVEL], 0.0)


@kernel
def share_lost(m: int, g: int, state: np.ndarray, hyper: np.ndarray) -> float:
    """rho = min(1, v c_g / prior_var), or v c_g itself when the inflation is additive (2.22)."""
    amount = level(m, state, hyper) * state[m, RATES + 2 * g]
    return min(1.0, amount / hyper[PRIOR]) if hyper[BOUNDED] else amount


@kernel
def inflated(variance: float, rho: float, hyper: np.ndarray) -> float:
    """(1 - rho) variance + rho prior_var, or variance + rho when additive (2.22)."""
    return (1.0 - rho) * variance + rho * hyper[PRIOR] if hyper[BOUNDED] else variance + rho


@kernel
def shares(state: np.ndarray) -> np.ndarray:
    """The weights (M,) of the mixed models: softmax of their log weights."""
    models = state.shape[0]
    out = np.empty(models)
    best, total = state[0, LOGW], 0.0
    for m in range(1, models):
        best = max(best, state[m, LOGW])
    for m in range(models):
        out[m] = math.exp(state[m, LOGW] - best)
        total += out[m]
    for m in range(models):
        out[m] /= total
    return out


@kernel
def mixed(extra: float, work: np.ndarray, state: np.ndarray) -> float:
    """p(y = 1), the mean of the models' moderated sigmoids (2.17); `extra` is added to each s2."""
    n = work.shape[1] - SPARE
    if state.shape[0] == 1:
        return moderated(work[R + 2, n + 1], work[R + 2, n + 2] + extra)
    share = shares(state)
    p = 0.0
    for m in range(state.shape[0]):
        p += share[m] * moderated(work[R + 3 * m + 2, n + 1], work[R + 3 * m + 2, n + 2] + extra)
    return min(max(p, P_MIN), P_MAX)


@kernel
def gains(y: int, w: float, a: float, s2: float, hyper: np.ndarray) -> tuple[float, float]:
    """(gain, step): Sigma = P - gain u u', mu += step u; (2.21), (2.22) or moment matching.

    With p = sigm(K a), q = p (1 - p) and weight w = 1: newton q / (1 + q s2) and (y - p) / (1 + q s2); adf K^2 q and
    K (y - p). A weight w counts the sample's precision w times.
    """
    if w == 0.0:
        return 0.0, 0.0
    p = moderated(a, s2)
    q = p * (1.0 - p)
    if hyper[ADF]:
        k = 1.0 / math.sqrt(1.0 + math.pi * s2 / 8.0)
        share = 1.0 / (1.0 / w + (1.0 - 1.0 / w) * k * k * q * s2)
        return k * k * q * share, k * (y - p) * share
    share = 1.0 / (1.0 / w + q * s2)
    return q * share, (y - p) * share


@kernel
def monitor(
    m: int, y: int, gain: float, step: float, a: float, s2: float, state: np.ndarray, hyper: np.ndarray
) -> None:
    """N = alpha N + 1; v += (max(G, 0) - v) / N (2.29), (2.30), G = min(p', 1 - p') - min(p, 1 - p).

    p' is the prediction after the label (2.25): a' = a + s2 step, s2' = s2 - gain s2^2.
    """
    p, mode = moderated(a, s2), hyper[MODE]
    state[m, COUNT] = hyper[ALPHA] * state[m, COUNT] + 1.0
    if mode == UNCERTAINTY or mode == UNCERTAINTY_MEAN:
        after = moderated(a + s2 * step, max(s2 - gain * s2 * s2, 0.0))
        g = min(after, 1.0 - after) - min(p, 1.0 - p)
        if mode == UNCERTAINTY:
            g = max(g, 0.0)  # the other mode averages first; level clips
        state[m, LEVEL] += (g - state[m, LEVEL]) / state[m, COUNT]
    if mode == AUTO:
        state[m, LOGW] = FADING * state[m, LOGW] + math.log(p if y == 1 else 1.0 - p)
