"""Nopython kernels: d features, k outputs (1 for two classes, else one a class).

x (d,), X (n, d), out (classes,) probabilities; weights (k, >= d), intercept (k,); stats is unused here.
"""

import math

import numpy as np

from onlinekit.jit import kernel


@kernel
def predict(x, out, stats, weights, intercept, rate):
    """Fill out with probabilities; the most probable class (the first of equals), or -1 if x is not finite."""
    k = intercept.shape[0]
    for j in range(x.shape[0]):
        if not math.isfinite(x[j]):
            return -1
    for c in range(k):
        score = intercept[c]
        for j in range(x.shape[0]):
            score += weights[c, j] * x[j]
        out[c] = score
    if k == 1:
        # exp of a negative number only: no overflow.
        e = math.exp(-abs(out[0]))
        p = 1.0 / (1.0 + e) if out[0] >= 0.0 else e / (1.0 + e)
        out[0] = 1.0 - p
        out[1] = p
        return 1 if p > 0.5 else 0
    best = 0
    for c in range(1, k):
        if out[c] > out[best]:
            best = c
    top = out[best]
    total = 0.0
    for c in range(k):
        out[c] = math.exp(out[c] - top)
        total += out[c]
    for c in range(k):
        out[c] /= total
    return best


@kernel
def learn(x, y, w, stats, weights, intercept, rate):
    """W <- W - rate * w * (p - onehot(y)) x; 0, or -1 if x is not finite (nothing changed)."""
    k = intercept.shape[0]
    out = np.empty(max(2, k))
    if predict(x, out, stats, weights, intercept, rate) < 0:
        return -1
    for c in range(k):
        p = out[1] if k == 1 else out[c]
        hit = y == 1 if k == 1 else y == c
        step = rate * w * ((1.0 if hit else 0.0) - p)
        intercept[c] += step
        for j in range(x.shape[0]):
            weights[c, j] += step * x[j]
    return 0


# The loops name their kernels: only such loops are cached on disk and run at full speed.
@kernel
def learn_rows(X, y, w, stats, weights, intercept, rate):
    """The loop of learn; 0, or -1 at a row that is not finite."""
    for i in range(X.shape[0]):
        if learn(X[i], y[i], w[i], stats, weights, intercept, rate) < 0:
            return -1
    return 0


@kernel
def predict_rows(X, winners, out, stats, weights, intercept, rate):
    """The loop of predict."""
    for i in range(X.shape[0]):
        winners[i] = predict(X[i], out[i], stats, weights, intercept, rate)
    return 0


@kernel
def prequential_rows(X, y, w, winners, out, stats, weights, intercept, rate):
    """Predict, then learn, row by row."""
    for i in range(X.shape[0]):
        winners[i] = predict(X[i], out[i], stats, weights, intercept, rate)
        learn(X[i], y[i], w[i], stats, weights, intercept, rate)
    return 0
