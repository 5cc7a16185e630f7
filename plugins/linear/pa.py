"""Passive-aggressive classification."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from onlinekit_plugins.linear.base import LinearClassifier, check_step
from onlinekit_plugins.linear.rules import PA_I, PA_II


class PAClassifier(LinearClassifier):
    """Passive-aggressive classification, PA-I and PA-II.

    w += tau y x with tau = min(C, loss / |x|^2) (mode 1) or loss / (|x|^2 + 1 / 2C) (mode 2), loss =
    max(0, 1 - y f). With equal parameters the numbers of River's PAClassifier. Probabilities are the sigmoid of
    f: not calibrated.

    Parameters
    ----------
    C
        Largest step (mode 1) or the softness of the step (mode 2).
    mode
        1 for PA-I, 2 for PA-II.
    fit_intercept
        Move the intercept with the weights.
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
    >>> from onlinekit_plugins.linear import PAClassifier
    >>> model = PAClassifier()
    >>> for _ in range(20):
    ...     model.learn_one({"a": 1.0}, True)
    ...     model.learn_one({"a": -1.0}, False)
    >>> model.predict_one({"a": 2.0})
    True

    References
    ----------
    Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.
    """

    def __init__(
        self,
        C: float = 1.0,
        mode: int = 1,
        fit_intercept: bool = True,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        if C != math.inf:  # the hard margin
            check_step("C", C)
        if mode not in (1, 2):
            raise ValueError(f"mode must be 1 or 2, not {mode!r}")
        self.C = C
        self.mode = mode
        self.fit_intercept = fit_intercept
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _rule(self) -> tuple[float, ...]:
        return PA_I if self.mode == 1 else PA_II, 1.0, float(self.fit_intercept), 0.0, float(self.C)
