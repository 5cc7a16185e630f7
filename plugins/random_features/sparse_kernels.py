"""Kernels of random-feature learners for rows given by their entries: O(m D) for m entries. Arrays as in kernels."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.random_features.core_kernels import FIXED, GAIN, GRADIENT, correct, decide, look, project, turn
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather_sparse, note_sparse, squared
from onlinekit_plugins.random_features.sigma_kernels import SPARSE, follow


@fused
def predict_sparse(
    index: np.ndarray,
    value: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> int:
    """predict for a row given by its entries, index (m,) and value (m,): O(m D)."""
    cells[3, 0] = 0.0
    m = gather_sparse(index, value, cells, stats, sample)
    project(m, cells, run[GAIN], directions, phases, work)
    look(work, weights, phases.shape[0], scale)
    return decide(work, weights, out)


@fused
def run_sparse(
    index: np.ndarray,
    value: np.ndarray,
    y: int,
    w: float,
    predicting: bool,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> int:
    """Learn a row given by its entries, after predicting it if asked to; the winner's index, or 0."""
    n = phases.shape[0]
    cells[3, 0] = 0.0
    m, winner = -1, 0
    if predicting:
        m = gather_sparse(index, value, cells, stats, sample)
        project(m, cells, run[GAIN], directions, phases, work)
        look(work, weights, n, scale)
        winner = decide(work, weights, out)
    if note_sparse(index, value, stats, sample) or m < 0:
        m = gather_sparse(index, value, cells, stats, sample)
        project(m, cells, run[GAIN], directions, phases, work)
        look(work, weights, n, scale)
    norm = squared(m, cells)
    h = correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
    if h != 0.0:
        turn(m, cells, h / run[GAIN], work[GRADIENT, :n], directions)
    if run[FIXED] == 0.0:
        # Not so where rows are not scaled: there a row is the same row however it is given.
        follow(m, cells, norm * (SPARSE if stats[4, 2] == 0.0 else 1.0), run, sample)
    return winner


@fused
def learn_sparse(
    index: np.ndarray,
    value: np.ndarray,
    y: int,
    w: float,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> int:
    """learn for a row given by its entries, index (m,) and value (m,): O(m D)."""
    args = (work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation)
    return run_sparse(index, value, y, w, False, value, *args)


@fused
def learn_sparse_rows(
    indptr: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> None:
    """learn_sparse for each of the n rows; row t has the entries indptr[t] .. indptr[t + 1]."""
    args = (work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation)
    for t in range(y.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        run_sparse(index[part], value[part], y[t], w[t], False, value, *args)


@fused
def predict_sparse_rows(
    indptr: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> None:
    """predict_sparse for each of the n rows into winners (n,) and out (n, K)."""
    args = (work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation)
    for t in range(winners.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = predict_sparse(index[part], value[part], out[t], *args)


@fused
def prequential_sparse_rows(
    indptr: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    sample: np.ndarray,
    scale: float,
    eta1: float,
    eta2: float,
    eta3: float,
    rotation: float,
) -> None:
    """predict, then learn, each of the n rows."""
    args = (work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation)
    for t in range(y.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = run_sparse(index[part], value[part], y[t], w[t], True, out[t], *args)
