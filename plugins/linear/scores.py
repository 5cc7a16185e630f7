"""Scores of a linear model and the probabilities drawn from them; shared by the family."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, scaled


@kernel
def raw(x: np.ndarray, k: int, stats: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> float:
    """f_k = w_k . x + b_k, x (d,) scaled by stats; weights (K, capacity), intercept (K,)."""
    total = 0.0
    for j in range(x.shape[0]):
        total += weights[k, j] * scaled(x, stats, j)
    return total + intercept[k]


@kernel
def rival(scores: np.ndarray, y: int) -> int:
    """argmax over r != y of scores_r, the lowest index at a tie; scores (K,)."""
    best = 1 if y == 0 else 0
    for r in range(scores.shape[0]):
        if r != y and scores[r] > scores[best]:
            best = r
    return best


@kernel
def all_raw(x: np.ndarray, stats: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """f (K,), one score a class."""
    scores = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        scores[k] = raw(x, k, stats, weights, intercept)
    return scores


@kernel
def probabilities(x: np.ndarray, out: np.ndarray, stats: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> int:
    """out = (1 - s, s), s = sigmoid(f), or the softmax of f (K,); the winner's index, -1 if x is not finite."""
    if not finite(x):
        return -1
    if weights.shape[0] == 1:
        p = 1.0 / (1.0 + math.exp(-raw(x, 0, stats, weights, intercept)))
        out[0] = 1.0 - p
        out[1] = p
        return 1 if p > 0.5 else 0
    scores = all_raw(x, stats, weights, intercept)
    best = np.argmax(scores)
    total = 0.0
    for k in range(scores.shape[0]):
        out[k] = math.exp(scores[k] - scores[best])
        total += out[k]
    for k in range(scores.shape[0]):
        out[k] /= total
    return int(best)


@kernel
def move(x: np.ndarray, k: int, step: float, stats: np.ndarray, weights: np.ndarray) -> None:
    """w_k += step * x; x (d,) scaled by stats."""
    if step != 0.0:
        for j in range(x.shape[0]):
            weights[k, j] += step * scaled(x, stats, j)
