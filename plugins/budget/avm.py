"""Approximation vector machine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.budget import avm_kernels
from onlinekit_plugins.linear.base import check_step
from onlinekit_plugins.random_features.gaussian import checked_width


class AVMClassifier(ArrayClassifier):
    """Approximation vector machine: a kernel SVM by stochastic gradient whose support vectors are core points.

    Minimizes (l2 / 2) |f|^2 + mean hinge loss with steps 1 / (l2 t), so that

        f_t(x) = (1 / (l2 t)) sum_i v_i k(p_i, x),  k(p, x) = exp(-|x - p|^2 / (2 sigma^2)).

    A sample with a positive hinge loss adds its label's sign to the votes v_i of a core point p_i within
    delta sigma, or becomes a core point when there is none. Several classes have one vote vector each; the right
    class gains and its best rival loses, margin f_y - max f_r. Cost of a row: O(budget d).

    Certain (published algorithm and its authors' code, cover by spheres, beta = 0, last iterate): the objective, the
    steps, both losses, the substitution by the nearest core point within delta. Decisions here: a sample without loss
    becomes no core point (it has no vote to give); delta counts in widths; with the budget used up the nearest core
    point stands in for a new point with k(p, x) of its vote, the projection of x on it in feature space (the
    authors' code drops the sample); a sample of weight w casts w votes and t is the total weight.

    Parameters
    ----------
    budget
        Largest number of core points.
    l2
        Regularization; the step is 1 / (l2 t). Every vote counts the same for ever, so on a drifting stream an old
        one fades only as 1 / t.
    delta
        Radius of a core point in widths; 0 makes every row with a loss a core point, until the budget is used up.
    sigma
        Width of the Gaussian kernel; "auto": .4 sqrt(2 m), m the mean |x|^2 of the scaled rows so far.
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
    >>> from onlinekit_plugins.budget import AVMClassifier
    >>> model = AVMClassifier(budget=50)
    >>> for t in range(200):
    ...     a, b = (-1.0) ** t, (-1.0) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a * b > 0)
    >>> model.predict_one({"a": 0.9, "b": -1.1}), model.predict_one({"a": -1.0, "b": -0.8})
    (False, True)

    References
    ----------
    Le, Nguyen, Nguyen and Phung, Approximation vector machines for large-scale online learning, JMLR 18, 2017.
    """

    arrays = {
        "cores": ("features", "budget"),
        "votes": ("outputs", "budget"),
        "counts": (2,),
        "seen": ("features",),
        "extent": (2,),
    }
    kernels = avm_kernels

    def __init__(
        self,
        budget: int = 500,
        l2: float = 1e-4,
        delta: float = 0.5,
        sigma: float | str = "auto",
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = True,
        on_invalid: str = "raise",
    ) -> None:
        if not (isinstance(budget, int) and budget >= 1):
            raise ValueError(f"budget must be a whole number of at least 1, not {budget!r}")
        check_step("l2", l2)
        check_step("delta", delta, zero=True)
        checked_width(sigma)
        self.budget = budget
        self.l2 = l2
        self.delta = delta
        self.sigma = sigma
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _sizes(self) -> dict[str, int]:
        return {"budget": self.budget}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        return (np.empty(self._capacity), np.empty(self.budget), np.empty(max(2, len(self._labels))))

    def _hyper(self) -> tuple[float, ...]:
        return (float(self.l2), float(self.delta), checked_width(self.sigma))

    @property
    def n_cores(self) -> int:
        """Number of core points in use."""
        return int(self._arrays["counts"][0])
