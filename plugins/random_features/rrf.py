"""Online learning with reparameterized random features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.random_features import rrf_kernels
from onlinekit_plugins.random_features.base import check_whole
from onlinekit_plugins.random_features.draws import direction
from onlinekit_plugins.random_features.gaussian import checked_width


class RRFClassifier(ArrayClassifier):
    """Reparameterized random features: hinge-loss steps on the weights and on a kernel width for each feature.

    With fixed noise E ~ N(0, 1) of shape (d, D) and learned gamma (d,),

        z_i = sum_j exp(gamma_j) E_ji x_j / sigma,  phi(x) = D^(-1/2) (cos z, sin z),  f(x) = w . phi(x),

    whose inner product approximates exp(-sum_j exp(2 gamma_j) (x_j - x'_j)^2 / (2 sigma^2)). On a positive hinge
    loss both follow their gradient: w += lr y phi, gamma_j += width_lr y df/dgamma_j. Several classes have a vector
    each; the right one gains and the best rival loses. Cost of a row: O(d D), about twice that on a loss.

    Certain (published algorithm and its authors' code, hinge loss): the features, the two gradients, one step of each
    a row with its own constant rate, weight decay lr l2 w. Decisions here: phi has length 1 (the authors' code leaves
    it at sqrt(D), so its lr is ours / D); w starts at 0 instead of small noise; one row changes gamma by
    `max_change` at most, which keeps a width from running away on an outlier; the noise is drawn by feature name.

    Parameters
    ----------
    n_components
        Number D of random directions; phi has 2 D features.
    lr
        Step size of the weights.
    width_lr
        Step size of gamma; 0 keeps the widths, which is Fourier online gradient descent.
    l2
        Weight decay a row.
    max_change
        Largest |change of gamma_j| by one row; float("inf") as published.
    sigma
        Starting width; "auto": .4 sqrt(2 m), m the mean |x|^2 of the scaled rows so far.
    seed
        Seed of the noise.
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
    >>> from onlinekit_plugins.random_features.rrf import RRFClassifier
    >>> model = RRFClassifier(n_components=50)
    >>> for t in range(200):
    ...     a, b = (-1.0) ** t, (-1.0) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a * b > 0)
    >>> model.predict_one({"a": 0.9, "b": -1.1}), model.predict_one({"a": -1.0, "b": -0.8})
    (False, True)

    References
    ----------
    Nguyen, Le, Bui and Phung, Large-scale online kernel learning with random feature reparameterization, IJCAI 2017.
    """

    arrays = {
        "noise": ("features", "components"),
        "scales": ("features",),
        "weights": ("outputs", "pairs"),
        "seen": ("features",),
        "extent": (2,),
    }
    kernels = rrf_kernels

    def __init__(
        self,
        n_components: int = 200,
        lr: float = 0.5,
        width_lr: float = 0.01,
        l2: float = 0.0,
        max_change: float = 0.01,
        sigma: float | str = "auto",
        seed: int = 0,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = True,
        on_invalid: str = "raise",
    ) -> None:
        check_whole("n_components", n_components, 1)
        if not lr > 0:
            raise ValueError(f"lr must be positive, not {lr!r}")
        if not width_lr >= 0:
            raise ValueError(f"width_lr must not be negative, it is {width_lr!r}")
        if not 0 <= l2 * lr < 1:
            raise ValueError(f"l2 must lie in [0, 1 / lr), it is {l2!r}")
        if not max_change > 0:
            raise ValueError(f"max_change must be positive, not {max_change!r}")
        check_whole("seed", seed, 0)
        checked_width(sigma)
        self.n_components = n_components
        self.lr = lr
        self.width_lr = width_lr
        self.l2 = l2
        self.max_change = max_change
        self.sigma = sigma
        self.seed = seed
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)

    def _sizes(self) -> dict[str, int]:
        return {"components": self.n_components, "pairs": 2 * self.n_components}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        return (
            np.empty(self._capacity),
            np.empty((4, self.n_components)),
            np.empty(max(2, len(self._labels))),
        )

    def _features_added(self, names: Sequence[Any], start: int) -> None:
        for j, name in enumerate(names, start):
            self._arrays["noise"][j] = direction(self.seed, name, self.n_components)
            self._arrays["scales"][j] = 1.0

    def _hyper(self) -> tuple[Any, ...]:
        width = checked_width(self.sigma)
        return (np.array([self.lr, self.width_lr, self.l2, self.max_change, width], dtype=np.float64),)

    @property
    def scales(self) -> dict[Any, float]:
        """Feature -> exp(gamma): above 1 where the kernel has become narrower than it started, below where wider."""
        return dict(zip(self._schema.names, self._arrays["scales"].tolist(), strict=False))
