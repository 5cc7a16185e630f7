"""The class users get: parameters and state. The arithmetic is in kernels.py."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from onlinekit.learner import ArrayClassifier
from template_learner import kernels


class TemplateLearner(ArrayClassifier):
    """Logistic (two classes) or softmax regression by gradient steps: W <- W - rate * w * (p - onehot(y)) x.

    Parameters
    ----------
    rate
        Step size, > 0.
    classes
        (False, True) for a binary learner; None for any labels, found as they come; or a sequence of labels.
    on_invalid
        "raise" on a bad value or label, or "skip" the sample and count it in `n_skipped`.

    Raises
    ------
    ValueError
        If `rate` is not positive.

    Examples
    --------
    >>> model = TemplateLearner()
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.predict_one({"a": 1.0})
    True
    """

    # Name -> axes; zero-filled and grown by onlinekit. Kernels get the arrays in this order.
    arrays = {"weights": ("outputs", "features"), "intercept": ("outputs",)}
    kernels = kernels

    def __init__(
        self,
        rate: float = 0.1,
        classes: Sequence[Hashable] | None = (False, True),
        on_invalid: str = "raise",
    ) -> None:
        if not rate > 0:
            raise ValueError(f"rate must be positive, not {rate!r}")
        self.rate = rate
        super().__init__(classes=classes, on_invalid=on_invalid)

    def _hyper(self) -> tuple[float, ...]:
        return (float(self.rate),)
