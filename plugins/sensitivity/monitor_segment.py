"""The segment test as a monitor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .decide import Interval
from .monitor_base import SensitivityMonitor


class SegmentTest(SensitivityMonitor):
    """Monitor by a ball cut by a half-space: the valid one, certified, or as published, which is no bound.

    Okumura's sphere and n.w1 <= n.wC, n the unit gradient of the new sum at wC = w0 - G / mu, taken exactly over the
    rows of the window. As wC is on the sphere and psi <= 0 there, the half-space cuts off less than half
    the ball: the intervals are hardly shorter than the sphere's. The rule "gap" is the sphere's.

    `published=True` uses the half-space of the paper's Theorem 2, which rests on a truncated expansion and a wrong
    sign and can exclude w1; it is here to be compared with, and its verdicts have certified=False.

    It certifies how far the optimum of the training objective moved, and nothing about generalisation: a drift detector
    answers another question. `RetrainingClassifier(monitor=SegmentTest())` tells it of all that joins and leaves; by
    itself it is given the data of a fit by `rebase`, then `update`, `revert` and, for the answer, `verdict`.

    Parameters
    ----------
    rule
        What must not change: "flips" (share of reference rows whose label changes), "coefficients" (largest
        change of one), "gap" (training objective lost by not retraining), "validation" (mean loss on the
        reference rows that retraining would save).
    tolerance
        Largest change at which the model is kept.
    loss
        "logistic" or "squared_hinge".
    C
        Strength of the penalty, C/2 |w|^2 + mean loss.
    intercept
        Whether the model has one, a penalised column of ones.
    reference
        Number of reference rows: the latest samples that joined and have not left.
    min_samples
        Without a `rebase`, the fit is made on so many first samples.
    spare
        Columns kept for features that come later.
    unsure
        The decision between the two proofs: "undecided" or "retrain".
    published
        Whether to use the paper's half-space in place of the valid one.

    Raises
    ------
    ValueError
        For a parameter out of its domain.

    Examples
    --------
    >>> monitor = SegmentTest(rule="coefficients", tolerance=0.5, C=1.0, published=True)
    >>> monitor.rebase([{"a": 1.0}, {"a": 2.0}], [True, True])
    >>> monitor.update({"a": 1.5}, True)
    >>> monitor.verdict().certified
    False

    References
    ----------
    Zhou, Song, Huang, Wu, Zhou, Tighter bound estimation of sensitivity analysis for incremental and decremental
    data modification, Theorems 1 to 3.
    """

    keeps_rows = True

    def __init__(
        self,
        rule: str = "flips",
        tolerance: float = 0.01,
        loss: str = "logistic",
        C: float = 0.01,
        intercept: bool = True,
        reference: int = 200,
        min_samples: int = 50,
        spare: int = 8,
        unsure: str = "undecided",
        published: bool = False,
    ) -> None:
        self.published = published
        super().__init__(rule, tolerance, loss, C, intercept, reference, min_samples, spare, unsure)

    @property
    def certified(self) -> bool:  # type: ignore[override]
        """Whether a proof stands behind the bounds: not behind the published ones."""
        return not self.published

    def _level(self) -> str:
        return "sphere"

    def _decide(self) -> tuple[Interval, str]:
        name = "the published segment, which is no bound" if self.published else "segment"
        return self._change(self._tracker, self._level()), name

    def _bounds(self, tracker: Any, E: np.ndarray, level: str) -> tuple[np.ndarray, np.ndarray]:
        if self.published:
            lower, upper, _ = tracker.published_segment(E)
            # 0/0, as after additions alone: the formula says nothing.
            return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
        assert self._store is not None
        rows = self._store.rows
        lower, upper, _ = tracker.segment(E, rows, np.ones(rows.shape[0]))
        return lower, upper
