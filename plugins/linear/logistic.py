"""Online logistic regression."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from onlinekit_plugins.linear.base import LinearClassifier, check_step
from onlinekit_plugins.linear.rules import LOGISTIC


class LogisticRegression(LinearClassifier):
    """Online logistic regression by stochastic gradient descent, log loss or softmax cross-entropy.

    w -= lr ((p - y) x + l2 w), b -= intercept_lr (p - y), p = sigmoid(w.x + b). With equal parameters the
    numbers of River's LogisticRegression.

    Parameters
    ----------
    lr
        Step size of the weights.
    intercept_lr
        Step size of the intercept.
    l2
        Strength of the quadratic penalty on the weights (not the intercept).
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
    >>> from onlinekit_plugins.linear import LogisticRegression
    >>> model = LogisticRegression()
    >>> for _ in range(20):
    ...     model.learn_one({"a": 1.0}, True)
    ...     model.learn_one({"a": -1.0}, False)
    >>> model.predict_one({"a": 2.0})
    True

    References
    ----------
    Bottou, Large-scale machine learning with stochastic gradient descent, COMPSTAT 2010.
    """

    def __init__(
        self,
        lr: float = 0.01,
        intercept_lr: float = 0.01,
        l2: float = 0.0,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        check_step("lr", lr)
        check_step("intercept_lr", intercept_lr, zero=True)
        check_step("l2", l2, zero=True)
        self.lr = lr
        self.intercept_lr = intercept_lr
        self.l2 = l2
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _rule(self) -> tuple[float, ...]:
        return LOGISTIC, float(self.lr), float(self.intercept_lr), float(self.l2), 0.0
