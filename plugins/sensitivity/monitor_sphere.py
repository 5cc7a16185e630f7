"""The sphere test as a monitor."""

from __future__ import annotations

from .monitor_base import SensitivityMonitor


class SphereTest(SensitivityMonitor):
    """Certified monitor by a ball that holds w1: eta.q -+ r |eta|, O(d) a row, no access to the old data.

    level "sphere": q = w0 - G/(2 mu), r = |G|/(2 mu) with G the gradient of the new sum at w0 and mu = n1 C
    (Okumura et al.); "smooth-sphere": q = w0 - (1/mu + 1/L) G/2, r = (1/mu - 1/L) |G|/2, never wider;
    "matrix-sphere": an ellipsoid with a matrix in place of L.

    It certifies how far the optimum of the training objective moved, and nothing about generalisation: a drift detector
    answers another question. `RetrainingClassifier(monitor=SphereTest())` tells it of all that joins and leaves; by
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
    level
        "sphere", "smooth-sphere" or "matrix-sphere".

    Raises
    ------
    ValueError
        For a parameter out of its domain.

    Examples
    --------
    >>> monitor = SphereTest(rule="coefficients", tolerance=0.5, C=1.0)
    >>> monitor.rebase([{"a": 1.0}, {"a": 2.0}], [True, True])
    >>> monitor.update({"a": 1.5}, True)
    >>> verdict = monitor.verdict()
    >>> verdict.decision, verdict.certified
    ('keep', True)

    References
    ----------
    Okumura, Suzuki, Takeuchi, Quick sensitivity analysis for incremental data modification, KDD 2015.
    Nesterov, Introductory lectures on convex optimization, Theorem 2.1.12 (the smooth ball).
    """

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
        level: str = "smooth-sphere",
    ) -> None:
        if level not in ("sphere", "smooth-sphere", "matrix-sphere"):
            raise ValueError(f"level is {level!r}; it is 'sphere', 'smooth-sphere' or 'matrix-sphere'")
        self.level = level
        super().__init__(rule, tolerance, loss, C, intercept, reference, min_samples, spare, unsure)

    def _level(self) -> str:
        return self.level
