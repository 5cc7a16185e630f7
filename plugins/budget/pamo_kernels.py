"""Kernels of passive-aggressive learning with max-out units.

x (d,) a row; v (capacity,), z and step (2 units,) are scratch; planes (capacity, 2 units) the two linear pieces of
each unit, offsets (2 units,) their constants; output (units,) the weights of the units; seen (capacity,) and extent
(2,) as `follow` keeps them; out (2,) probabilities; C, C_units, gain (0: automatic).
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit.jit import kernel
from onlinekit.scaling import finite, watch
from onlinekit_plugins.random_features.gaussian import follow, present
from onlinekit_plugins.random_features.scores_kernels import into_probabilities


@kernel
def score(d, v, z, planes, offsets, output, gain):
    """v *= gain; f = D^(-1/2) sum_i output_i max(z_i, z_D+i), z = sum_j v_j planes_j + gain offsets."""
    D = output.shape[0]
    for i in range(2 * D):
        z[i] = gain * offsets[i]
    for j in range(d):
        v[j] *= gain
        if v[j] != 0.0:
            value, row = v[j], planes[j]
            for i in range(2 * D):
                z[i] += value * row[i]
    total = 0.0
    for i in range(D):
        total += output[i] * max(z[i], z[D + i])
    return total / math.sqrt(D)


@kernel
def gained(gain, extent):
    """gain itself, or (m + 1)^(-1/2) when it is 0, m = mean |x|^2 of the scaled rows so far."""
    return gain if gain > 0.0 else 1.0 / math.sqrt(1.0 + extent[0])


@kernel
def aggression(C, loss, norm):
    """min(C, loss / norm): the step of min |change|^2 / 2 + C hinge; 0 when next to nothing there changes f.

    Without the last, units with weights near 0 would have to move without bound to move f.
    """
    return min(C, loss / norm) if norm > 1e-30 else 0.0


@kernel
def learn(x, y, w, v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain):
    """Three passive-aggressive steps from the old values: the output, the left pieces and the right pieces.

    Each is the projection onto y f >= 1 of its own problem, tau = min(w C, loss / |df|^2), with df the derivative of
    f: D^(-1/2) max(z_i, z_D+i) for the output, D^(-1/2) output_i (x, 1) for a piece that is the larger of its unit.
    """
    if not finite(x):
        return -1
    watch(x, stats)
    follow(x, stats, seen, extent, v)
    D = output.shape[0]
    scale = gained(gain, extent)
    sign = 1.0 if y == 1 else -1.0
    loss = 1.0 - sign * score(x.shape[0], v, z, planes, offsets, output, scale)
    if not loss > 0.0 or w == 0.0:
        return 0
    norm = scale * scale
    for j in range(x.shape[0]):
        norm += v[j] * v[j]
    of_output, of_left, of_right = 0.0, 0.0, 0.0
    for i in range(D):
        if z[i] >= z[D + i]:
            of_output += z[i] * z[i]
            of_left += output[i] * output[i]
        else:
            of_output += z[D + i] * z[D + i]
            of_right += output[i] * output[i]
    root = sign / math.sqrt(D)
    tau = root * aggression(w * C, loss, of_output / D)
    left = root * aggression(w * C_units, loss, norm * of_left / D)
    right = root * aggression(w * C_units, loss, norm * of_right / D)
    for i in range(D):
        larger = z[i] >= z[D + i]
        step[i] = left * output[i] if larger else 0.0
        step[D + i] = 0.0 if larger else right * output[i]
        output[i] += tau * (z[i] if larger else z[D + i])
    for i in range(2 * D):
        offsets[i] += scale * step[i]
    for j in range(x.shape[0]):
        if v[j] != 0.0:
            for i in range(2 * D):
                planes[j, i] += v[j] * step[i]
    return 0


@kernel
def predict(x, out, v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain):
    """out = 1 - sigmoid(f), sigmoid(f); the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    present(x, stats, seen, v)
    out[0] = score(x.shape[0], v, z, planes, offsets, output, gained(gain, extent))
    return into_probabilities(out, 1, out)


@kernel
def learn_rows(X, y, w, v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain):
    """learn each row of X (n, d), y (n,), w (n,)."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain)


@kernel
def predict_rows(X, winners, out, v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain):
    """predict each row of X (n, d) into winners (n,) and out (n, 2)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain)


@kernel
def prequential_rows(X, y, w, winners, out, v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain):
    """predict, then learn, each row of X (n, d)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain)
        learn(X[t], y[t], w[t], v, z, step, stats, planes, offsets, output, seen, extent, C, C_units, gain)
