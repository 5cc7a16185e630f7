"""Kernels of kernel-experts: one call predicts or learns. The arrays are those of experts_core_kernels."""

from __future__ import annotations

import numpy as np

from onlinekit.scaling import finite
from onlinekit_plugins.random_features.experts_core_kernels import consider, teach, vote
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather, note


@fused
def predict(
    x: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> int:
    """out (classes,) = the mixture of the experts' probabilities; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    m = gather(x, cells, stats, sample)
    consider(
        m, cells, work, votes, squares, winners, weights, directions, phases, run, recursive, linear, intercept, scale
    )
    return vote(votes, trust, weights.shape[0], out)


@fused
def learn(
    x: np.ndarray,
    y: int,
    w: float,
    work: np.ndarray,
    cells: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> int:
    """Every expert learns x, scaled by statistics that include it; 0, or -1 when x is not finite."""
    if not finite(x):
        return -1
    note(x, stats, sample)
    m = gather(x, cells, stats, sample)
    consider(
        m, cells, work, votes, squares, winners, weights, directions, phases, run, recursive, linear, intercept, scale
    )
    teach(
        m, cells, y, w, work, votes, squares, winners, weights, directions, phases, run, sample, recursive, inverse,
        linear, intercept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
    )  # fmt: skip
    return 0


@fused
def learn_rows(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> None:
    """learn for each row of X (n, d), y (n,), w (n,)."""
    args = (
        work, cells, votes, squares, winners, stats, weights, directions, phases, run, sample, recursive, inverse,
        linear, intercept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
    )  # fmt: skip
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], *args)


@fused
def predict_rows(
    X: np.ndarray,
    chosen: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> None:
    """predict for each row of X (n, d) into chosen (n,) and out (n, classes)."""
    args = (
        work, cells, votes, squares, winners, stats, weights, directions, phases, run, sample, recursive, inverse,
        linear, intercept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
    )  # fmt: skip
    for t in range(X.shape[0]):
        chosen[t] = predict(X[t], out[t], *args)


@fused
def prequential_rows(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    chosen: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    votes: np.ndarray,
    squares: np.ndarray,
    winners: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    recursive: np.ndarray,
    inverse: np.ndarray,
    linear: np.ndarray,
    intercept: np.ndarray,
    trust: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
    forgetting: float,
) -> None:
    """predict, then learn, each row of X (n, d)."""
    args = (
        work, cells, votes, squares, winners, stats, weights, directions, phases, run, sample, recursive, inverse,
        linear, intercept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
    )  # fmt: skip
    for t in range(X.shape[0]):
        chosen[t] = predict(X[t], out[t], *args)
        learn(X[t], y[t], w[t], *args)
