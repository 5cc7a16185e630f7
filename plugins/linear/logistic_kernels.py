"""Kernels of logistic regression. x (d,), weights (K, capacity), intercept (K,); K = 1 for two classes."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.linear.scores import all_raw, move, probabilities, raw


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
    l2: float,
) -> int:
    """g_k = w (p_k - [k = y]);  w_k -= lr (g_k x + l2 w_k);  b_k -= intercept_lr g_k."""
    if not finite(x):
        return -1
    watch(x, stats)
    outputs = weights.shape[0]
    g = np.empty(outputs)
    if outputs == 1:
        g[0] = w * (1.0 / (1.0 + math.exp(-raw(x, 0, stats, weights, intercept))) - y)
    else:
        scores = all_raw(x, stats, weights, intercept)
        e = np.exp(scores - np.max(scores))
        for k in range(outputs):
            g[k] = w * (e[k] / np.sum(e) - (1.0 if k == y else 0.0))
    for k in range(outputs):
        if l2 != 0.0:
            for j in range(x.shape[0]):
                weights[k, j] -= lr * l2 * weights[k, j]
        move(x, k, -lr * g[k], stats, weights)
        intercept[k] -= intercept_lr * g[k]
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
    l2: float,
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
    l2: float,
) -> None:
    """learn for each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], stats, weights, intercept, lr, intercept_lr, l2)


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
    l2: float,
) -> None:
    """predict for each row of X (n, d) into winners (n,) and out (n, K)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, lr, intercept_lr, l2)


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
    l2: float,
) -> None:
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, lr, intercept_lr, l2)
        learn(X[t], y[t], w[t], stats, weights, intercept, lr, intercept_lr, l2)
