"""Rows in blocks: the same steps in the same order as row by row, with matrix products in place of passes over U."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.random_features.core_kernels import (
    GAIN,
    GRADIENT,
    Z,
    combine,
    correct,
    decide,
    gather,
    look,
    squared,
)
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.sigma_kernels import settle

BLOCK = 64  # rows a block
BLOCK_FROM = 200  # features from which blocks win
TILE = 64  # features a piece of U that is updated at once


@fused
def spread(m: int, cells: np.ndarray, row: np.ndarray) -> None:
    """row (d,) from the m entries in cells."""
    row[:] = 0.0
    for e in range(m):
        row[int(cells[2, e])] = cells[1, e]


@fused
def run_blocked(
    X: np.ndarray,
    y: np.ndarray,
    w: np.ndarray,
    predicting: bool,
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
    """Learn each row of X (n, d), after predicting it if asked to; equal to row by row up to rounding.

    With U as it was before the block, row t of it has z_t = U x_t + b - sum_s h_s g_s (x_s . x_t) over the rows
    s < t that learned: one product gives U x_t of all rows, the Gram matrix the rest, and the turns of all rows
    are one product at the end. The rotation clip needs |x_t|^2 and g_t alone, so it is exact here too.
    """
    d, n = X.shape[1], phases.shape[0]
    cells[3, 0] = 0.0
    rows = np.zeros((BLOCK, d), phases.dtype)
    norms, gains = np.empty(BLOCK), np.empty(BLOCK)
    turned = np.empty((BLOCK, d), phases.dtype)  # h x / gain of the rows that learned ...
    slopes = np.empty((BLOCK, n), phases.dtype)  # ... their g ...
    steps, which = np.empty(BLOCK), np.empty(BLOCK, np.int64)  # ... h / gain and place in the block
    order = np.arange(BLOCK).astype(np.float64)
    correction = np.empty(BLOCK)
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        for t in range(size):
            x = X[start + t]
            m = gather(x, cells, stats)
            spread(m, cells, rows[t])
            norms[t] = squared(m, cells)
            gains[t] = run[GAIN]
            # Scaling does not depend on what is learned, so it may run ahead.
            settle(x, norms[t], stats, run, sample)
        part = rows[:size]
        projections = np.dot(part, directions[:d])
        gram = np.dot(part, part.T)
        learned = 0
        for t in range(size):
            z = work[Z, :n]
            gain = gains[t]
            for i in range(n):
                z[i] = phases[i] + phases.dtype.type(gain) * projections[t, i]
            for e in range(learned):
                correction[e] = -gain * steps[e] * gram[t, which[e]]
            combine(learned, correction, order, slopes, z)
            look(work, weights, n, scale)
            if predicting:
                winners[start + t] = decide(work, weights, out[start + t])
            h = correct(
                y[start + t], w[start + t], norms[t], work, weights, phases, run, scale, eta1, eta2, eta3, rotation
            )
            if h != 0.0:
                slopes[learned] = work[GRADIENT, :n]
                steps[learned] = h / gain
                which[learned] = t
                factor = phases.dtype.type(h / gain)
                for j in range(d):
                    turned[learned, j] = factor * rows[t, j]
                learned += 1
        if learned > 0:
            for j in range(0, d, TILE):
                stop = min(j + TILE, d)
                left = np.ascontiguousarray(turned[:learned, j:stop].T)
                change = np.dot(left, slopes[:learned])
                for r in range(j, stop):
                    for i in range(n):
                        directions[r, i] -= change[r - j, i]


@fused
def predict_blocked(
    X: np.ndarray,
    winners: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
    cells: np.ndarray,
    stats: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray,
    phases: np.ndarray,
    run: np.ndarray,
    scale: float,
) -> None:
    """predict for each row of X (n, d) into winners (n,) and out (n, K), one product a block."""
    d, n = X.shape[1], phases.shape[0]
    gain = phases.dtype.type(run[GAIN])
    rows = np.zeros((BLOCK, d), phases.dtype)
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        for t in range(size):
            spread(gather(X[start + t], cells, stats), cells, rows[t])
        projections = np.dot(rows[:size], directions[:d])
        for t in range(size):
            z = work[Z, :n]
            for i in range(n):
                z[i] = phases[i] + gain * projections[t, i]
            look(work, weights, n, scale)
            winners[start + t] = decide(work, weights, out[start + t])
