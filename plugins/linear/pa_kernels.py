"""Kernels of the passive-aggressive rule. x (d,), weights (K, capacity), intercept (K,); K = 1 for two classes."""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, scaled, watch
from onlinekit_plugins.linear.scores import all_raw, move, probabilities, raw, rival


@kernel
def learn(
    x: np.ndarray,
    y: int,
    w: float,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    C: float,
    mode: float,
    fit_intercept: float,
) -> int:
    """Two classes: loss = max(0, 1 - y f), tau = min(C, loss/|x|^2) (I), loss/(|x|^2 + 1/2C) (II), w += tau y x.

    More: loss = max(0, 1 - f_y + f_s), |x|^2 doubled, class y moves by tau x and the best rival s by -tau x.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    norm = 0.0
    for j in range(x.shape[0]):
        norm += scaled(x, stats, j) ** 2
    s = -1
    sign = 1.0
    if weights.shape[0] == 1:
        sign = 1.0 if y == 1 else -1.0
        loss = 1.0 - sign * raw(x, 0, stats, weights, intercept)
    else:
        scores = all_raw(x, stats, weights, intercept)
        s = rival(scores, y)
        loss = 1.0 - scores[y] + scores[s]
        norm *= 2.0
    if not loss > 0.0:
        return 0
    if mode == 2.0:
        tau = w * loss / (norm + 0.5 / C)
    elif norm > 0.0:
        tau = w * min(C, loss / norm)
    else:
        return 0
    k = y if s >= 0 else 0
    move(x, k, sign * tau, stats, weights)
    if fit_intercept != 0.0:
        intercept[k] += sign * tau
    if s >= 0:
        move(x, s, -tau, stats, weights)
        if fit_intercept != 0.0:
            intercept[s] -= tau
    return 0


@kernel
def predict(
    x: np.ndarray,
    out: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    C: float,
    mode: float,
    fit_intercept: float,
) -> int:
    """out (K,) = sigmoid or softmax of the scores; the winner's index, -1 when x is not finite."""
    return probabilities(x, out, stats, weights, intercept)


@kernel
def learn_rows(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    C: float,
    mode: float,
    fit_intercept: float,
) -> None:
    """learn for each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], stats, weights, intercept, C, mode, fit_intercept)


@kernel
def predict_rows(
    X: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    C: float,
    mode: float,
    fit_intercept: float,
) -> None:
    """predict for each row of X (n, d) into winners (n,) and out (n, K)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, C, mode, fit_intercept)


@kernel
def prequential_rows(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    C: float,
    mode: float,
    fit_intercept: float,
) -> None:
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, C, mode, fit_intercept)
        learn(X[t], y[t], w[t], stats, weights, intercept, C, mode, fit_intercept)
