"""Kernels of reparameterized random features.

x (d,); v (capacity,), work (4, components) with rows z, cos z, sin z, g, and scores (classes,) are scratch; noise
(capacity, components) the fixed draws E; scales (capacity,) the learned factors exp(gamma); weights (K,
2 components), K = 1 for two classes: those of the cosines, then those of the sines; seen (capacity,) and extent (2,)
as `follow` keeps them; rates (5,) = lr, width_lr, l2, max_change, sigma (0: automatic).
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.random_features.core_kernels import dot
from onlinekit_plugins.random_features.doors import doors
from onlinekit_plugins.random_features.gaussian import follow, present, width
from onlinekit_plugins.random_features.scores_kernels import hinge, into_probabilities
from onlinekit_plugins.random_features.sincos import sincos


@kernel
def project(d, v, work, scores, noise, scales, weights, sigma):
    """v_j *= scales_j / sigma; z = sum_j v_j E_j; c, s = cos z, sin z; scores_k = D^(-1/2) w_k . (c, s)."""
    z, c, s = work[0], work[1], work[2]
    D = z.shape[0]
    z[:] = 0.0
    for j in range(d):
        v[j] *= scales[j] / sigma
        if v[j] != 0.0:
            value, row = v[j], noise[j]
            for i in range(D):
                z[i] += value * row[i]
    sincos(z, s, c)
    norm = 1.0 / math.sqrt(D)
    for k in range(weights.shape[0]):
        scores[k] = norm * (dot(weights[k, :D], c) + dot(weights[k, D:], s))


@kernel
def learn(x, y, w, v, work, scores, stats, noise, scales, weights, seen, extent, rates):
    """w_k -= lr (l2 w_k - y_k phi), gamma_j += width_lr v_j (E_j . g) on a positive hinge loss; all from old values.

    g_i = sum_k y_k D^(-1/2) (w_k,D+i cos z_i - w_k,i sin z_i) = -d loss / d z_i, y_k = +-1 for two classes, else +1
    for the class and -1 for its best rival. The largest |change of gamma_j| is held to max_change.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    follow(x, stats, seen, extent, v)
    project(x.shape[0], v, work, scores, noise, scales, weights, width(rates[4], extent))
    c, s, g = work[1], work[2], work[3]
    lr, width_lr, l2, max_change = rates[0], rates[1], rates[2], rates[3]
    D, K = c.shape[0], weights.shape[0]
    loss, k, rival, sign = hinge(scores, y, K)
    learns = loss > 0.0 and w > 0.0
    norm = 1.0 / math.sqrt(D)
    if learns and width_lr > 0.0:
        for i in range(D):
            along, across = weights[k, i], weights[k, D + i]
            if rival >= 0:
                along -= weights[rival, i]
                across -= weights[rival, D + i]
            g[i] = sign * norm * (across * c[i] - along * s[i])
        step = width_lr * w
        # All changes first: one factor for all keeps the direction of the step.
        largest = 0.0
        for j in range(x.shape[0]):
            if v[j] != 0.0:
                largest = max(largest, abs(step * v[j] * dot(noise[j], g)))
        if largest > max_change:
            step *= max_change / largest
        if largest > 0.0:
            for j in range(x.shape[0]):
                if v[j] != 0.0:
                    scales[j] *= math.exp(step * v[j] * dot(noise[j], g))
    if l2 > 0.0:
        keep = 1.0 - lr * l2 * w
        for r in range(K):
            for i in range(2 * D):
                weights[r, i] *= keep
    if learns:
        step = sign * lr * w * norm
        for i in range(D):
            weights[k, i] += step * c[i]
            weights[k, D + i] += step * s[i]
        if rival >= 0:
            for i in range(D):
                weights[rival, i] -= step * c[i]
                weights[rival, D + i] -= step * s[i]
    return 0


@kernel
def predict(x, out, v, work, scores, stats, noise, scales, weights, seen, extent, rates):
    """out (classes,) = sigmoid or softmax of the scores; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    present(x, stats, seen, v)
    project(x.shape[0], v, work, scores, noise, scales, weights, width(rates[4], extent))
    return into_probabilities(scores, weights.shape[0], out)


@kernel
def run_rows(X, y, w, predicting, learning, winners, out, *state):
    """predict each row of X (n, d) into winners (n,) and out (n, classes), learn it with y (n,), w (n,), or both."""
    for t in range(X.shape[0]):
        if predicting:
            winners[t] = predict(X[t], out[t], *state)
        if learning:
            learn(X[t], y[t], w[t], *state)


learn_rows, predict_rows, prequential_rows = doors(run_rows)
