"""Nystroem online gradient descent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.random_features import nogd_kernels
from onlinekit_plugins.random_features.base import check_whole
from onlinekit_plugins.random_features.gaussian import checked_width


class NOGDClassifier(ArrayClassifier):
    """Nystroem online gradient descent: hinge-loss steps on features made of the first points with a loss.

    Until `budget` points are taken, kernel gradient descent: each row with a positive hinge loss becomes a point,
    f(x) += lr y k(p, x). Then the points' Gram matrix G = V L V' gives the map of the `rank` largest eigenvalues,

        phi(x) = L_r^(-1/2) V_r' (k(p_1, x), ..., k(p_B, x)),  w = L_r^(1/2) V_r' coefs,  f(x) = w . phi(x),

    and every later loss moves w by lr y phi(x). f is kept as its coefficients on the B points, so predicting costs
    O(B d) without the map; an update costs O(B (d + rank)). Several classes have a vector each; the right one gains
    and the best rival loses.

    Certain (published algorithm): the two phases, the hinge loss, the rank-r map from the first B points with a
    loss, the start of w by the projection of the kernel expansion. Decisions here: eigenvalues below 1e-10 of the
    largest are left out; a weight multiplies the step.

    Parameters
    ----------
    budget
        Number of points B.
    rank
        Number of eigenvectors kept; None: budget / 5, as in the experiments of the paper.
    lr
        Step size.
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
    >>> from onlinekit_plugins.random_features.nogd import NOGDClassifier
    >>> model = NOGDClassifier(budget=10, rank=4)
    >>> for t in range(200):
    ...     a, b = (-1.0) ** t, (-1.0) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a * b > 0)
    >>> model.predict_one({"a": 0.9, "b": -1.1}), model.predict_one({"a": -1.0, "b": -0.8})
    (False, True)

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, Large scale online kernel learning, JMLR 17, 2016, algorithm NOGD.
    """

    arrays = {
        "points": ("features", "budget"),
        "coefs": ("outputs", "budget"),
        "nystroem": ("rank", "budget"),
        "counts": (2,),
        "seen": ("features",),
        "extent": (2,),
    }
    kernels = nogd_kernels

    def __init__(
        self,
        budget: int = 400,
        rank: int | None = None,
        lr: float = 0.5,
        sigma: float | str = "auto",
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = True,
        on_invalid: str = "raise",
    ) -> None:
        check_whole("budget", budget, 1)
        if rank is not None and not (isinstance(rank, int) and 1 <= rank <= budget):
            raise ValueError(f"rank must be None or a whole number from 1 to the budget {budget}, not {rank!r}")
        if not lr > 0:
            raise ValueError(f"lr must be positive, not {lr!r}")
        checked_width(sigma)
        self.budget = budget
        self.rank = rank
        self.lr = lr
        self.sigma = sigma
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _sizes(self) -> dict[str, int]:
        return {"budget": self.budget, "rank": max(1, self.budget // 5) if self.rank is None else self.rank}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        sizes = self._sizes()
        return (
            np.empty(self._capacity),
            np.empty(sizes["budget"]),
            np.empty(sizes["rank"]),
            np.empty(max(2, len(self._labels))),
        )

    def _hyper(self) -> tuple[float, ...]:
        return (float(self.lr), checked_width(self.sigma))

    @property
    def n_points(self) -> int:
        """Number of points taken; the map is in use once it equals the budget."""
        return int(self._arrays["counts"][0])
