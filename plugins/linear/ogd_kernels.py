"""Kernels of online gradient descent on the hinge loss. x (d,), weights (K, capacity), intercept (K,); K = 1 binary."""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.linear.scores import all_raw, move, probabilities, raw, rival


@kernel
def learn(
    x: np.ndarray,
    y: int,
    w: float,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    lr: float,
    intercept_lr: float,
) -> int:
    """Two classes, y = -1 or +1: if y f <= 1, w += lr y x, b += intercept_lr y.

    More: if f_y - f_s <= 1 for the best rival s, class y moves so and class s the other way.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    if weights.shape[0] == 1:
        sign = 1.0 if y == 1 else -1.0
        if sign * raw(x, 0, stats, weights, intercept) <= 1.0:
            move(x, 0, lr * w * sign, stats, weights)
            intercept[0] += intercept_lr * w * sign
        return 0
    scores = all_raw(x, stats, weights, intercept)
    s = rival(scores, y)
    if scores[y] - scores[s] <= 1.0:
        move(x, y, lr * w, stats, weights)
        move(x, s, -lr * w, stats, weights)
        intercept[y] += intercept_lr * w
        intercept[s] -= intercept_lr * w
    return 0


@kernel
def predict(
    x: np.ndarray,
    out: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    lr: float,
    intercept_lr: float,
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
    lr: float,
    intercept_lr: float,
) -> None:
    """learn for each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], stats, weights, intercept, lr, intercept_lr)


@kernel
def predict_rows(
    X: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    intercept: np.ndarray,
    lr: float,
    intercept_lr: float,
) -> None:
    """predict for each row of X (n, d) into winners (n,) and out (n, K)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, lr, intercept_lr)


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
    lr: float,
    intercept_lr: float,
) -> None:
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, lr, intercept_lr)
        learn(X[t], y[t], w[t], stats, weights, intercept, lr, intercept_lr)
