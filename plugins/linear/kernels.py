"""Kernels of the linear learners: f_k = w_k . x + b_k, moved by one of the rules.

x (d,) a row; index, value (m,) the entries of a sparse one; weights (K, capacity), intercept (K,), K = 1 for two
classes; out (2 or K,) probabilities; hyper (5,) the rule, lr, intercept_lr, the penalty l2 (LOGISTIC) and the
aggressiveness C (PA): one array, because each further argument costs time a call.
"""

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch, watch_sparse
from onlinekit_plugins.linear.products import dot, dot_sparse, move, move_sparse, sigmoid, square, square_sparse
from onlinekit_plugins.linear.rules import PA_I, pull, pulls, softmax


@kernel
def shrink(weights, share):
    """weights -= share * weights."""
    if share != 0.0:
        weights *= 1.0 - share


@kernel
def learn(x, y, w, stats, weights, intercept, hyper):
    """w_k += lr (c_k x - l2 w_k), b_k += intercept_lr c_k; -1 when x is not finite, and nothing changes."""
    if not finite(x):
        return -1
    rule, lr, intercept_lr, l2, C = hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]
    watch(x, stats)
    norm = square(x, stats) if rule >= PA_I else 0.0
    if weights.shape[0] == 1:
        c = pull(dot(x, stats, weights, 0) + intercept[0], y, w, norm, rule, C)
        shrink(weights, lr * l2)
        move(x, stats, weights, 0, lr * c)
        intercept[0] += intercept_lr * c
        return 0
    c = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        c[k] = dot(x, stats, weights, k) + intercept[k]
    pulls(c, y, w, norm, rule, C)
    shrink(weights, lr * l2)
    for k in range(weights.shape[0]):
        move(x, stats, weights, k, lr * c[k])
        intercept[k] += intercept_lr * c[k]
    return 0


@kernel
def learn_sparse(index, value, y, w, stats, weights, intercept, hyper):
    """learn from the entries of a row, in O(m); the penalty l2, where there is one, in O(capacity)."""
    rule, lr, intercept_lr, l2, C = hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]
    watch_sparse(index, value, stats)
    norm = square_sparse(index, value, stats) if rule >= PA_I else 0.0
    if weights.shape[0] == 1:
        c = pull(dot_sparse(index, value, stats, weights, 0) + intercept[0], y, w, norm, rule, C)
        shrink(weights, lr * l2)
        move_sparse(index, value, stats, weights, 0, lr * c)
        intercept[0] += intercept_lr * c
        return 0
    c = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        c[k] = dot_sparse(index, value, stats, weights, k) + intercept[k]
    pulls(c, y, w, norm, rule, C)
    shrink(weights, lr * l2)
    for k in range(weights.shape[0]):
        move_sparse(index, value, stats, weights, k, lr * c[k])
        intercept[k] += intercept_lr * c[k]
    return 0


@kernel
def choose(out, one_score):
    """Scores in out to probabilities; the index of the winner."""
    if one_score:
        p = sigmoid(out[0])
        out[0] = 1.0 - p
        out[1] = p
        return 1 if p > 0.5 else 0
    return softmax(out)


@kernel
def predict(x, out, stats, weights, intercept, hyper):
    """out = sigmoid or softmax of the scores; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    for k in range(weights.shape[0]):
        out[k] = dot(x, stats, weights, k) + intercept[k]
    return choose(out, weights.shape[0] == 1)


@kernel
def predict_sparse(index, value, out, stats, weights, intercept, hyper):
    """predict from the entries of a row, in O(m)."""
    for k in range(weights.shape[0]):
        out[k] = dot_sparse(index, value, stats, weights, k) + intercept[k]
    return choose(out, weights.shape[0] == 1)


@kernel
def learn_rows(X, y, w, stats, weights, intercept, hyper):
    """learn for each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], stats, weights, intercept, hyper)


@kernel
def predict_rows(X, winners, out, stats, weights, intercept, hyper):
    """predict for each row of X (n, d) into winners (n,) and out (n, 2 or K)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, hyper)


@kernel
def prequential_rows(X, y, w, winners, out, stats, weights, intercept, hyper):
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], stats, weights, intercept, hyper)
        learn(X[t], y[t], w[t], stats, weights, intercept, hyper)


@kernel
def learn_sparse_rows(indptr, index, value, y, w, stats, weights, intercept, hyper):
    """learn_sparse for rows t with entries indptr[t] to indptr[t + 1]."""
    for t in range(y.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        learn_sparse(i, v, y[t], w[t], stats, weights, intercept, hyper)


@kernel
def predict_sparse_rows(indptr, index, value, winners, out, stats, weights, intercept, hyper):
    """predict_sparse for rows t with entries indptr[t] to indptr[t + 1]."""
    for t in range(winners.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        winners[t] = predict_sparse(i, v, out[t], stats, weights, intercept, hyper)


@kernel
def prequential_sparse_rows(indptr, index, value, y, w, winners, out, stats, weights, intercept, hyper):
    """predict_sparse, then learn_sparse, row by row."""
    for t in range(y.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        winners[t] = predict_sparse(i, v, out[t], stats, weights, intercept, hyper)
        learn_sparse(i, v, y[t], w[t], stats, weights, intercept, hyper)
