"""Kernels of the random-feature learners: one call predicts or learns, scaling, cache and clip inside.

x (d,); work (5, max(D, K)) and cells (4, capacity) are scratch, see core_kernels; stats (5, capacity); weights
(K, D), or (K, 2 D) with sines; directions (capacity, D); phases (D,); run (13,); sample (capacity, 1 + rows kept).
phi = scale (cos z), or scale (cos z, sin z), with z = U x + b; K = 1 for two classes.
"""

from typing import Any

import numpy as np

from onlinekit.scaling import finite
from onlinekit_plugins.random_features.blocked_kernels import predict_blocked, run_blocked
from onlinekit_plugins.random_features.core_kernels import (
    CLOCK,
    FIXED,
    GAIN,
    GRADIENT,
    SCORES,
    Z,
    copy,
    correct,
    look,
    project,
    turn,
    turn_and_project,
)
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather, note, squared
from onlinekit_plugins.random_features.scores_kernels import into_probabilities
from onlinekit_plugins.random_features.sigma_kernels import follow
from onlinekit_plugins.random_features.sparse_kernels import (
    learn_sparse,
    learn_sparse_rows,
    predict_sparse,
    predict_sparse_rows,
    prequential_sparse_rows,
)

__all__ = [
    "learn",
    "learn_rows",
    "learn_sparse",
    "learn_sparse_rows",
    "predict",
    "predict_rows",
    "predict_sparse",
    "predict_sparse_rows",
    "prequential_rows",
    "prequential_sparse_rows",
]


@fused
def predict(x, out, work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation):
    """out (K,) = sigmoid or softmax of the scores; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    m = gather(x, cells, stats, sample)
    project(m, cells, run[GAIN], directions, phases, work)
    look(work, weights, phases.shape[0], scale)
    # Learning usually follows with the same row: what was found here holds while the clock stands still.
    for j in range(x.shape[0]):
        cells[0, j] = x[j]
    cells[3, 0] = run[CLOCK] + 1.0
    cells[3, 1] = m
    return into_probabilities(work[SCORES], weights.shape[0], out)


@fused
def learn(x, y, w, work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation):
    """The step of core_kernels.correct on x, scaled by statistics that include it; 0, or -1 if x is not finite."""
    if not finite(x):
        return -1
    n = phases.shape[0]
    changed = note(x, stats, sample)
    same = not changed and cells[3, 0] == run[CLOCK] + 1.0
    if same:
        for j in range(x.shape[0]):
            same &= cells[0, j] == x[j]
    if same:
        m = int(cells[3, 1])
    else:
        m = gather(x, cells, stats, sample)
        project(m, cells, run[GAIN], directions, phases, work)
        look(work, weights, n, scale)
    norm = squared(m, cells)
    h = correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
    if h != 0.0:
        turn(m, cells, h / run[GAIN], work[GRADIENT, :n], directions)
    if run[FIXED] == 0.0:
        follow(m, cells, norm, run, sample)
    return 0


@fused
def renew(m, now, waiting, before, step, gain, directions, phases, g, z, work):
    """Do the waiting turn and project the row in `now`: in one pass over U where both rows are full."""
    d = now.shape[1]
    if step != 0.0 and m == d and waiting == d:
        copy(phases, z)
        turn_and_project(now, before, step, gain, directions, g, z)
    else:
        if step != 0.0:
            turn(waiting, before, step, g, directions)
        project(m, now, gain, directions, phases, work)


@fused
def run_rows(X, y, w, predicting, winners, out, *state):
    """Learn each row of X (n, d), after predicting it if asked to.

    The turn of the directions that a row calls for waits for the next projection, and both are one pass over U.
    """
    work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation = state
    d = X.shape[1]
    n = phases.shape[0]
    cells[3, 0] = 0.0
    z, g = work[Z, :n], work[GRADIENT, :n]
    now, before = np.empty((4, d)), np.empty((4, d))
    step, waiting = 0.0, d - d  # a plain 0 would be a type of its own to the compiler
    for t in range(X.shape[0]):
        # Two looks at a row that is predicted, if noting it changes how it is scaled; else one.
        m = -1
        if predicting:
            m = gather(X[t], now, stats, sample)
            renew(m, now, waiting, before, step, run[GAIN], directions, phases, g, z, work)
            step = 0.0
            look(work, weights, n, scale)
            winners[t] = into_probabilities(work[SCORES], weights.shape[0], out[t])
        if note(X[t], stats, sample) or m < 0:
            m = gather(X[t], now, stats, sample)
            renew(m, now, waiting, before, step, run[GAIN], directions, phases, g, z, work)
            look(work, weights, n, scale)
        norm = squared(m, now)
        h = correct(y[t], w[t], norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
        step = h / run[GAIN]
        waiting = m
        if run[FIXED] == 0.0:
            follow(m, now, norm, run, sample)
        now, before = before, now
    if step != 0.0:
        turn(waiting, before, step, g, directions)


@fused
def predict_each(X, winners, out, *state):
    """predict for each row of X (n, d) into winners (n,) and out (n, K)."""
    for t in range(X.shape[0]):
        winners[t] = predict(X[t], out[t], *state)


def _in_blocks(X: np.ndarray, phases: np.ndarray, eta2: float) -> bool:
    """Whether blocks are the faster way; measured. Without turns of the directions there is nothing to fuse."""
    return X.shape[1] >= (16 if eta2 == 0.0 else 64 if phases.itemsize == 8 else 200)


def learn_rows(X: np.ndarray, y: np.ndarray, w: np.ndarray, *state: Any) -> None:
    """learn for each row of X (n, d), y (n,), w (n,): in blocks or row by row, whichever is faster for the shape."""
    (run_blocked if _in_blocks(X, state[5], state[10]) else run_rows)(X, y, w, False, y, X, *state)


def prequential_rows(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, winners: np.ndarray, out: np.ndarray, *state: Any
) -> None:
    """predict, then learn, each row of X (n, d)."""
    (run_blocked if _in_blocks(X, state[5], state[10]) else run_rows)(X, y, w, True, winners, out, *state)


def predict_rows(X: np.ndarray, winners: np.ndarray, out: np.ndarray, *state: Any) -> None:
    """predict for each row of X (n, d) into winners (n,) and out (n, K)."""
    (predict_blocked if _in_blocks(X, state[5], 0.0) else predict_each)(X, winners, out, *state)
