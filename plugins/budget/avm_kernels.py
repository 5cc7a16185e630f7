"""Kernels of the approximation vector machine.

x (d,) a row; v (capacity,), near (budget,) and scores (classes,) are scratch; cores (capacity, budget) the core
points; votes (K, budget), K = 1 for two classes; counts (2,) = number of core points, total weight learned;
seen (capacity,) and extent (2,) as `follow` keeps them; out (classes,) probabilities; l2, delta, sigma (0: automatic).
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.random_features.gaussian import expansion, follow, present, similarities, width
from onlinekit_plugins.random_features.scores_kernels import hinge, into_probabilities


@kernel
def score(d, v, near, scores, cores, votes, counts, l2, sigma):
    """scores_k = sum_i votes[k, i] k(p_i, v) / (l2 W), W = counts[1]; near_i = k(p_i, v)."""
    size = int(counts[0])
    similarities(v, d, near, cores, size, sigma)
    expansion(near, votes, size, scores)
    if counts[1] > 0.0:
        for k in range(votes.shape[0]):
            scores[k] /= l2 * counts[1]


@kernel
def learn(x, y, w, v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma):
    """W += w; on a positive hinge loss the core point that covers x gets w votes for y (and -w for the best rival).

    p covers x when |x - p| <= delta sigma, that is k(p, x) >= exp(-delta^2 / 2). An uncovered x becomes a core
    point; with the budget used up the nearest p stands in with k(p, x) w votes, the projection of x on p.
    -1, and no change, when x is not finite.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    follow(x, stats, seen, extent, v)
    score(x.shape[0], v, near, scores, cores, votes, counts, l2, width(sigma, extent))
    counts[1] += w
    loss, k, rival, sign = hinge(scores, y, votes.shape[0])
    if not loss > 0.0 or w == 0.0:
        return 0
    size = int(counts[0])
    i = 0
    for r in range(1, size):
        if near[r] > near[i]:
            i = r
    step = sign * w
    if size == 0 or near[i] < math.exp(-0.5 * delta * delta):
        if size < near.shape[0]:
            i = size
            counts[0] += 1.0
            for j in range(x.shape[0]):
                cores[j, i] = v[j]
        else:
            step *= near[i]
    votes[k, i] += step
    if rival >= 0:
        votes[rival, i] -= step
    return 0


@kernel
def predict(x, out, v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma):
    """out = sigmoid or softmax of the scores; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    present(x, stats, seen, v)
    score(x.shape[0], v, near, scores, cores, votes, counts, l2, width(sigma, extent))
    return into_probabilities(scores, votes.shape[0], out)


@kernel
def learn_rows(X, y, w, v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma):
    """learn each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma)


@kernel
def predict_rows(X, winners, out, v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma):
    """predict each row of X (n, d) into winners (n,) and out (n, classes)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma)


@kernel
def prequential_rows(
    X, y, w, winners, out, v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma
):
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma)
        learn(X[t], y[t], w[t], v, near, scores, stats, cores, votes, counts, seen, extent, l2, delta, sigma)
