"""The Newton test as a monitor."""

from __future__ import annotations

import numpy as np

from .decide import Interval
from .monitor_base import SensitivityMonitor


class NewtonTest(SensitivityMonitor):
    """Certified monitor that looks at all rows of the window only when the ellipsoid cannot tell.

    Each pass w <- w - N^-1 g, with the exact gradient g at w, narrows the intervals 10 to 100 times; after a change
    too large for the metric at w0 the passes are damped Newton steps with the ball |w1 - w| <= |g| / mu. They
    go on, 1, 2, 4, ... up to `passes`, until the rule is decided, so nearly every question is answered with a proof.

    It certifies how far the optimum of the training objective moved, and nothing about generalisation: a drift detector
    answers another question. `RetrainingClassifier(monitor=NewtonTest())` tells it of all that joins and leaves; by
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
    passes
        Most passes over the rows; as many as a refit has iterations decide all but exact ties.

    Raises
    ------
    ValueError
        For a parameter out of its domain.

    Examples
    --------
    >>> monitor = NewtonTest(rule="coefficients", tolerance=1e-3, C=1.0)
    >>> monitor.rebase([{"a": 1.0}, {"a": 2.0}], [True, True])
    >>> monitor.update({"a": 1.5}, False)
    >>> monitor.verdict().decision
    'retrain'

    References
    ----------
    Nesterov, Introductory lectures on convex optimization, section 4.1 (bounds in the Hessian's metric).
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
        passes: int = 8,
    ) -> None:
        if passes < 1:
            raise ValueError(f"passes is {passes!r}; it must be at least 1")
        self.passes = passes
        super().__init__(rule, tolerance, loss, C, intercept, reference, min_samples, spare, unsure)

    def _level(self) -> str:
        assert self._tracker is not None
        return "ellipsoid" if self._tracker.summary.matrices else "smooth-sphere"

    def _decide(self) -> tuple[Interval, str]:
        assert self._store is not None and self._tracker is not None
        tracker, rows, level = self._tracker, self._store.rows, self._level()
        found, passes = self._change(tracker, level), 0
        while passes < self.passes and not (found[1] <= self.tolerance or found[0] > self.tolerance):
            passes = min(self.passes, max(1, 2 * passes))
            tracker.refine(rows, np.ones(rows.shape[0]), passes)
            better = self._change(tracker, "newton")
            found = max(found[0], better[0]), min(found[1], better[1])
            level = f"newton with {passes} passes"
        # The points of a refinement belong to this question alone.
        tracker.forget_points()
        return found, level
