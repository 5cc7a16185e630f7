"""Online gradient descent on the hinge loss."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from onlinekit_plugins.linear.base import LinearClassifier, check_step
from onlinekit_plugins.linear.rules import HINGE


class OGDClassifier(LinearClassifier):
    """Online gradient descent on the hinge loss, max(0, 1 - y f) with f = w.x + b.

    If y f <= 1: w += lr y x, b += intercept_lr y. With equal parameters the numbers of River's
    LogisticRegression(loss=Hinge()). Probabilities are the sigmoid of f: not calibrated.

    Parameters
    ----------
    lr
        Step size of the weights.
    intercept_lr
        Step size of the intercept.
    classes
        (False, True) for a binary learner, None for any labels found as they come, or the labels.
    standardize
        Scale features by their running mean and deviation.
    on_invalid
        "raise" or "skip" rows with bad values, labels or weights.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> from onlinekit_plugins.linear import OGDClassifier
    >>> model = OGDClassifier()
    >>> for _ in range(20):
    ...     model.learn_one({"a": 1.0}, True)
    ...     model.learn_one({"a": -1.0}, False)
    >>> model.predict_one({"a": 2.0})
    True

    References
    ----------
    Zinkevich, Online convex programming and generalized infinitesimal gradient ascent, ICML 2003.
    """

    def __init__(
        self,
        lr: float = 0.01,
        intercept_lr: float = 0.01,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        check_step("lr", lr)
        check_step("intercept_lr", intercept_lr, zero=True)
        self.lr = lr
        self.intercept_lr = intercept_lr
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _rule(self) -> tuple[float, ...]:
        return HINGE, float(self.lr), float(self.intercept_lr), 0.0, 0.0
