"""What a retrain would at least and at most change, from bounds of the new scores or coefficients."""

from __future__ import annotations

import numpy as np

from .decide import flips, validation_interval
from .losses import UNIT

Interval = tuple[float, float]


def coefficient_change(lower: np.ndarray, upper: np.ndarray, w0: np.ndarray) -> Interval:
    """max_j |w1_j - w0_j| for lower <= w1 <= upper, all (d,)."""
    least = np.maximum(0.0, np.maximum(lower - w0, w0 - upper))
    return float(least.max()), float(np.maximum(upper - w0, w0 - lower).max())


def flip_share(lower: np.ndarray, upper: np.ndarray, score0: np.ndarray) -> Interval:
    """Share of rows whose label (score > 0) changes, from bounds (m,) of the new scores."""
    certain, possible = flips(lower, upper, score0)
    return certain / len(score0), possible / len(score0)


def loss_saved(lower: np.ndarray, upper: np.ndarray, score0: np.ndarray, y: np.ndarray, loss: str) -> Interval:
    """Fall of the mean loss on rows with labels y (m,) in {-1, +1}, from bounds (m,) of the new scores."""
    found = validation_interval(lower, upper, score0, y, loss)
    slack = 8 * UNIT * (len(y) + 8) * found.loss_now
    return found.loss_now - found.loss[1] - slack, found.loss_now - found.loss[0] + slack
