"""The ellipsoid test as a monitor."""

from __future__ import annotations

from .monitor_base import SensitivityMonitor


class EllipsoidTest(SensitivityMonitor):
    """Certified monitor by an ellipsoid in the metric of the Hessian N at w0; no access to the old data.

    eta.w1 in eta.(w0 - k0 N^-1 G) -+ k1 gamma |eta|_{N^-1}, gamma = |G|_{N^-1}: the width falls with the square of
    the change of the data. Where the change is too large for it, the balls of `SphereTest` are what is left.

    It certifies how far the optimum of the training objective moved, and nothing about generalisation: a drift detector
    answers another question. `RetrainingClassifier(monitor=EllipsoidTest())` tells it of all that joins and leaves; by
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

    Raises
    ------
    ValueError
        For a parameter out of its domain.

    Examples
    --------
    >>> monitor = EllipsoidTest(rule="coefficients", tolerance=0.1, C=1.0)
    >>> monitor.rebase([{"a": 1.0}, {"a": 2.0}], [True, True])
    >>> monitor.update({"a": 1.5}, True)
    >>> monitor.verdict().decision
    'keep'

    References
    ----------
    Nesterov, Introductory lectures on convex optimization, section 4.1 (bounds in the Hessian's metric).
    """

    def _level(self) -> str:
        assert self._tracker is not None
        return "ellipsoid" if self._tracker.summary.matrices else "smooth-sphere"
