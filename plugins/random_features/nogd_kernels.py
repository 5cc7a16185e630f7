"""Kernels of Nystroem online gradient descent.

x (d,); v (capacity,), near (budget,), image (rank,) and scores (classes,) are scratch; points (capacity, budget) the
points taken; coefs (K, budget), K = 1 for two classes, the expansion of f over them; nystroem (rank, budget) the map M,
zero until the budget is full; counts (2,) = number of points, rank in use (0 until then);
seen (capacity,) and extent (2,) as `follow` keeps them.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.random_features.core_kernels import dot
from onlinekit_plugins.random_features.doors import doors
from onlinekit_plugins.random_features.eigen_kernels import largest_eigen
from onlinekit_plugins.random_features.gaussian import expansion, follow, present, similarities, width
from onlinekit_plugins.random_features.scores_kernels import hinge, into_probabilities


@kernel
def gram(points, d, sigma, near):
    """G (budget, budget) with G_ij = k(p_i, p_j) among the points (capacity >= d, budget)."""
    budget = points.shape[1]
    result, point = np.empty((budget, budget)), np.empty(d)
    for i in range(budget):
        for j in range(d):
            point[j] = points[j, i]
        similarities(point, d, near, points, budget, sigma)
        for j in range(budget):
            result[i, j] = near[j]
    return result


@kernel
def freeze(d, near, points, coefs, nystroem, counts, sigma):
    """G = V L V'; M = L_r^(-1/2) V_r' of the r largest eigenvalues; coefs becomes its projection coefs V_r V_r'.

    That is w = L_r^(1/2) V_r' coefs in the space of the nystroem, f = w . M k = (M' w) . k. Eigenvalues below
    1e-10 of the largest are noise and are left out, so the rank may be lower than asked for.
    """
    budget, most = points.shape[1], nystroem.shape[0]
    values, vectors = np.empty(most), np.empty((most, budget))
    largest_eigen(gram(points, d, sigma, near), values, vectors)
    projected = np.zeros(coefs.shape)
    rank = 0
    while rank < most and values[rank] > 1e-10 * values[0]:
        vector = vectors[rank]
        for k in range(coefs.shape[0]):
            part = dot(coefs[k], vector)
            for i in range(budget):
                projected[k, i] += part * vector[i]
        size = 1.0 / math.sqrt(values[rank])
        for i in range(budget):
            nystroem[rank, i] = size * vector[i]
        rank += 1
    for k in range(coefs.shape[0]):
        for i in range(budget):
            coefs[k, i] = projected[k, i]
    counts[1] = rank


@kernel
def move(near, image, coefs, k, step, nystroem, r):
    """w_k += step M near in the space of the map: coefs_k += step M' image, image = M near; r rows in use."""
    for i in range(r):
        scale = step * image[i]
        for j in range(near.shape[0]):
            coefs[k, j] += scale * nystroem[i, j]


@kernel
def learn(x, y, w, v, near, image, scores, stats, points, coefs, nystroem, counts, seen, extent, lr, sigma):
    """On a positive hinge loss: a new point with coefficient lr w y while there is room, then w += lr w y M k(x).

    More classes: loss = 1 - (f_y - f_s) for the best rival s; class y moves so, class s the other way.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    follow(x, stats, seen, extent, v)
    size = int(counts[0])
    s = width(sigma, extent)
    similarities(v, x.shape[0], near, points, size, s)
    expansion(near, coefs, size, scores)
    loss, k, rival, sign = hinge(scores, y, coefs.shape[0])
    if not loss > 0.0 or w == 0.0:
        return 0
    step = sign * lr * w
    budget = points.shape[1]
    if size < budget:
        for j in range(x.shape[0]):
            points[j, size] = v[j]
        coefs[k, size] = step
        if rival >= 0:
            coefs[rival, size] = -step
        counts[0] += 1.0
        if size + 1 == budget:
            freeze(x.shape[0], near, points, coefs, nystroem, counts, s)
        return 0
    rank = int(counts[1])
    for i in range(rank):
        image[i] = dot(nystroem[i], near)
    move(near, image, coefs, k, step, nystroem, rank)
    if rival >= 0:
        move(near, image, coefs, rival, -step, nystroem, rank)
    return 0


@kernel
def predict(x, out, v, near, image, scores, stats, points, coefs, nystroem, counts, seen, extent, lr, sigma):
    """out (classes,) = sigmoid or softmax of f = coefs k(x); the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    size = int(counts[0])
    present(x, stats, seen, v)
    similarities(v, x.shape[0], near, points, size, width(sigma, extent))
    expansion(near, coefs, size, scores)
    return into_probabilities(scores, coefs.shape[0], out)


@kernel
def run_rows(X, y, w, predicting, learning, winners, out, *state):
    """predict each row of X (n, d) into winners (n,) and out (n, classes), learn it with y (n,), w (n,), or both."""
    for t in range(X.shape[0]):
        if predicting:
            winners[t] = predict(X[t], out[t], *state)
        if learning:
            learn(X[t], y[t], w[t], *state)


learn_rows, predict_rows, prequential_rows = doors(run_rows)
