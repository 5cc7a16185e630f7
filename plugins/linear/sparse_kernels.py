"""The kernels of the linear learners for sparse rows; the names are those of kernels.py.

index, value (m,) the entries of a row; rows t of a batch hold the entries indptr[t] to indptr[t + 1].
"""

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch_sparse
from onlinekit_plugins.linear.products import dot_sparse, move_sparse, sigmoid, square_sparse
from onlinekit_plugins.linear.rules import PA_I, pull, pulls, shrink, softmax


@kernel
def score_two_sparse(index, value, out, stats, weights, intercept):
    """out (2,) = (1 - p, p), p the sigmoid of the one score; the winner, from the entries of a row."""
    p = sigmoid(dot_sparse(index, value, stats, weights, 0) + intercept[0])
    out[0] = 1.0 - p
    out[1] = p
    return 1 if p > 0.5 else 0


@kernel
def score_many_sparse(index, value, out, stats, weights, intercept):
    """out (K,) = the softmax of the scores; the winner, from the entries of a row."""
    for k in range(weights.shape[0]):
        out[k] = dot_sparse(index, value, stats, weights, k) + intercept[k]
    return softmax(out)


@kernel
def step_two_sparse(index, value, y, w, stats, weights, intercept, rule, lr, intercept_lr, l2, C):
    """w_0 += lr (c x - l2 w_0), b_0 += intercept_lr c, c the pull of two classes, from the entries of a row."""
    watch_sparse(index, value, stats)
    norm = square_sparse(index, value, stats) if rule >= PA_I else 0.0
    c = pull(dot_sparse(index, value, stats, weights, 0) + intercept[0], y, w, norm, rule, C)
    shrink(weights, lr * l2)
    move_sparse(index, value, stats, weights, 0, lr * c)
    intercept[0] += intercept_lr * c


@kernel
def step_many_sparse(index, value, y, w, stats, weights, intercept, rule, lr, intercept_lr, l2, C):
    """w_k += lr (c_k x - l2 w_k), b_k += intercept_lr c_k, c (K,) the pulls, from the entries of a row."""
    watch_sparse(index, value, stats)
    norm = square_sparse(index, value, stats) if rule >= PA_I else 0.0
    c = np.empty(weights.shape[0])
    for k in range(weights.shape[0]):
        c[k] = dot_sparse(index, value, stats, weights, k) + intercept[k]
    pulls(c, y, w, norm, rule, C)
    shrink(weights, lr * l2)
    for k in range(weights.shape[0]):
        move_sparse(index, value, stats, weights, k, lr * c[k])
        intercept[k] += intercept_lr * c[k]


@kernel
def learn_sparse(index, value, y, w, stats, weights, intercept, hyper):
    """One step, in O(m); the penalty l2, where there is one, in O(capacity); -1 when not finite, and no change."""
    if not finite(value):
        return -1
    rule, lr, intercept_lr, l2, C = hyper[0], hyper[1], hyper[2], hyper[3], hyper[4]
    if weights.shape[0] == 1:
        step_two_sparse(index, value, y, w, stats, weights, intercept, rule, lr, intercept_lr, l2, C)
    else:
        step_many_sparse(index, value, y, w, stats, weights, intercept, rule, lr, intercept_lr, l2, C)
    return 0


@kernel
def predict_sparse(index, value, out, stats, weights, intercept, hyper):
    """out = probabilities; the winner's index, -1 when the row is not finite."""
    if not finite(value):
        return -1
    if weights.shape[0] == 1:
        return score_two_sparse(index, value, out, stats, weights, intercept)
    return score_many_sparse(index, value, out, stats, weights, intercept)


@kernel
def learn_sparse_rows(indptr, index, value, y, w, stats, weights, intercept, hyper):
    """A step for each row t, with the entries indptr[t] to indptr[t + 1]."""
    for t in range(y.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        learn_sparse(i, v, y[t], w[t], stats, weights, intercept, hyper)


@kernel
def predict_sparse_rows(indptr, index, value, winners, out, stats, weights, intercept, hyper):
    """Scores for each row t, with the entries indptr[t] to indptr[t + 1]."""
    for t in range(winners.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        winners[t] = predict_sparse(i, v, out[t], stats, weights, intercept, hyper)


@kernel
def prequential_sparse_rows(indptr, index, value, y, w, winners, out, stats, weights, intercept, hyper):
    """Scores, then a step, row by row."""
    for t in range(y.shape[0]):
        i, v = index[indptr[t] : indptr[t + 1]], value[indptr[t] : indptr[t + 1]]
        winners[t] = predict_sparse(i, v, out[t], stats, weights, intercept, hyper)
        learn_sparse(i, v, y[t], w[t], stats, weights, intercept, hyper)
