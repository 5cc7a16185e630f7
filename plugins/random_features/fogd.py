"""Fourier online gradient descent."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from onlinekit_plugins.random_features.base import RandomFeatureClassifier


class FOGDClassifier(RandomFeatureClassifier):
    """Online kernel classification on fixed random Fourier features (FOGD): hinge loss, gradient descent.

    phi = sqrt(2 / D) cos(U x + b), or (cos U x, sin U x) / sqrt(D), so that E[phi . phi'] = exp(-|x - x'|^2 / 2
    sigma^2); f = w . phi; w += alpha y phi when 1 - y f > 0. With K > 2 classes w_y += alpha phi and w_s -= alpha phi
    for the best rival s, when 1 - (f_y - f_s) > 0.

    Scaling, sparse rows and probabilities are those of MPUFOGDClassifier.

    Parameters
    ----------
    n_components
        D, the number of random directions.
    alpha
        Step of the weights.
    sigma
        Kernel width: a number, "auto" or "median", see MPUFOGDClassifier.
    features
        "cos" for D features cos(u . x + b), "sincos" for 2 D features cos(u . x), sin(u . x).
    standardize
        Scale features by their running mean and deviation. Without it they should be of order 1.
    dtype
        "float64" or "float32", the type of weights, directions and phases.
    seed
        Of the random draws. The draw of a feature depends on the seed and the feature's name alone.
    directions
        (u, b), u (D, d) for the columns 0 .. d-1 of arrays and b (D,): uses these instead of draws.
    classes
        (False, True) for a binary learner, None for any labels found as they come, or the labels.
    on_invalid
        "raise" or "skip" rows with bad values, labels or weights.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> from onlinekit_plugins.random_features import FOGDClassifier
    >>> model = FOGDClassifier(n_components=50)
    >>> for t in range(400):
    ...     a, b = (-1) ** t, (-1) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a == b)
    >>> [model.predict_one({"a": a, "b": b}) for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]]
    [True, False, False, True]

    References
    ----------
    Lu, Hoi, Wang, Zhao, Liu, Large scale online kernel learning, JMLR 17, 2016, algorithm FOGD.
    """

    def __init__(
        self,
        n_components: int = 200,
        alpha: float = 0.5,
        sigma: float | str = "auto",
        features: str = "cos",
        standardize: bool = True,
        dtype: str = "float64",
        seed: int = 1,
        directions: tuple[Any, Any] | None = None,
        classes: Sequence[Hashable] | None = (False, True),
        on_invalid: str = "raise",
    ) -> None:
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha must be positive, not {alpha!r}")
        self.alpha = alpha
        super().__init__(n_components, sigma, features, standardize, dtype, seed, directions, classes, on_invalid)

    def _hyper(self) -> tuple[float, ...]:
        scale = math.sqrt((2.0 if self.features == "cos" else 1.0) / self.n_components)
        return (scale, float(self.alpha), 0.0, 0.0, math.inf)
