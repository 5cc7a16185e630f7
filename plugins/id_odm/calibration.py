"""Probabilities from leave-one-out margins."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.id_odm.platt_kernels import fit

ENOUGH = 20  # samples below which the share of a class is told instead


class Calibration:
    """Platt scaling of every output on the margins its samples would have if left out, or the share of each class.

    p_c = 1 / (1 + exp(a_c f_c + b_c)), beyond two classes divided by their sum. Margins of stored samples would be too
    good, those of samples left out are as those of new ones. Below 20 samples, or with a single class, the smoothed
    share (N_c + 1) / (N + C) is told; without any sample 1 / C.

    Parameters
    ----------
    margins
        (outputs, n) leave-one-out margins.
    positive
        (outputs, n) 1.0 where the sample is of the output's class, else 0.0.
    weights
        (n,) sample weights.
    """

    def __init__(self, margins: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> None:
        outputs, n = margins.shape
        share = positive @ weights
        total = weights.sum()
        self.prior = (share + 1.0) / (total + max(2, outputs))
        used = np.flatnonzero(weights > 0.0)
        classes = int((share > 0.0).sum()) if outputs > 1 else int(0.0 < share[0]) + int(share[0] < total)
        self.fitted = len(used) >= ENOUGH and classes > 1
        self.ab = np.zeros((outputs, 2))
        if self.fitted:
            for c in range(outputs):
                fit(
                    np.ascontiguousarray(margins[c, used]),
                    np.ascontiguousarray(positive[c, used]),
                    np.ascontiguousarray(weights[used]),
                    self.ab[c],
                )

    def __call__(self, f: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes, at least 2) of decision values f (n, outputs)."""
        if self.fitted:
            p = 0.5 * (1.0 - np.tanh(0.5 * (f * self.ab[:, 0] + self.ab[:, 1])))
        else:
            p = np.tile(self.prior, (len(f), 1))
        if f.shape[1] == 1:
            return np.column_stack((1.0 - p[:, 0], p[:, 0]))
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), 1.0 / f.shape[1])
