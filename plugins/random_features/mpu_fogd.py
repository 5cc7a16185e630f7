"""Multi-parameter updating Fourier online gradient descent."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from onlinekit_plugins.random_features.base import RandomFeatureClassifier


class MPUFOGDClassifier(RandomFeatureClassifier):
    """Online kernel classification whose random Fourier features learn as well (MPU-FOGD).

    phi_i = a cos(u_i . x + b_i), a = sqrt(2) / D, f = w . phi; on a row with loss = 1 - y f > 0, all from the old
    state, with eta1 = alpha D, eta2 = beta D and g_i = a y w_i sin(u_i . x + b_i)::

        w += eta1 y phi          u_i -= h g_i x          b_i -= eta3 g_i
        h = min(eta2, max_rotation / (max_i |g_i| |x|^2))

    With K > 2 classes w has K rows, loss = 1 - (f_y - f_s) for the best rival s, w_y += eta1 phi, w_s -= eta1 phi,
    and g_i = a (w_y,i - w_s,i) sin. u starts as draws of N(0, I / sigma^2), for k(x, x') = exp(-|x - x'|^2 / 2
    sigma^2); E[phi . phi'] is k / D, so steps are given as alpha = eta1 / D and beta = eta2 / D and mean the same at
    every D. With beta = eta3 = 0 this is FOGD with step alpha.

    The limit on the rotation is not in the paper. Without it (max_rotation=inf) the learner can turn useless while
    all its numbers stay finite: it does where |x|^2 is large, as with hundreds of dense features. A warning is given
    when more than 90 % of 1,000 samples in a row change the weights, and, with two classes, when more than half do,
    turn some direction by more than a radian on the average, and the answers are no better than always the more
    frequent class. With max_rotation below 1 the second cannot be: noisy data alone do not bring it about.

    Standardised values are clipped at 5 deviations. Rows given by few entries are scaled without centring. A feature
    that was 0 in every row learned counts as 0 in predictions, as one not known. Probabilities are the sigmoid or
    softmax of hinge scores: not calibrated.

    Parameters
    ----------
    n_components
        D, the number of random directions.
    alpha
        Step of the weights, eta1 / D.
    beta
        Step of the directions, eta2 / D; 0 keeps them fixed.
    eta3
        Step of the phases.
    max_rotation
        Largest change of any u_i . x by one step, in radians; inf for none.
    sigma
        Kernel width. "auto": 0.4 sqrt(2 m), m the mean |x|^2 of the scaled rows so far, which is near the number
        of features; a standardised row given by few entries counts with 4 |x|^2, for twice the width. "median":
        half the median distance of the first 100 scaled rows, "auto" until they are there.
    features
        "cos" for D features cos(u . x + b), "sincos" for 2 D features cos(u . x), sin(u . x), a = 1 / D.
    standardize
        Scale features by their running mean and deviation. Without it they should be of order 1.
    dtype
        "float64" or "float32", the type of weights, directions and phases.
    seed
        Of the random draws. The draw of a feature depends on the seed and the feature's name alone.
    directions
        (u, b), u (D, d) for the columns 0 .. d-1 of arrays and b (D,): starts from these instead of draws.
    classes
        (False, True) for a binary learner, None for any labels found as they come, or the labels. With two labels
        the two-class rule holds; at a third the one w becomes the rows -w/2 and w/2, so no score jumps.
    on_invalid
        "raise" or "skip" rows with bad values, labels or weights.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> from onlinekit_plugins.random_features import MPUFOGDClassifier
    >>> model = MPUFOGDClassifier(n_components=50)
    >>> for t in range(400):
    ...     a, b = (-1) ** t, (-1) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a == b)
    >>> [model.predict_one({"a": a, "b": b}) for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]]
    [True, False, False, True]

    References
    ----------
    Multi-parameter updating Fourier online gradient descent algorithm for large-scale nonlinear classification,
    equations (5)-(7). Rahimi, Recht, Random features for large-scale kernel machines, NIPS 2007.
    """

    def __init__(
        self,
        n_components: int = 200,
        alpha: float = 0.5,
        beta: float = 1e-3,
        eta3: float = 0.0,
        max_rotation: float = 0.1,
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
        for name, value in (("beta", beta), ("eta3", eta3)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be 0 or more, not {value!r}")
        if not max_rotation > 0:
            raise ValueError(f"max_rotation must be positive (inf for no limit), not {max_rotation!r}")
        self.alpha = alpha
        self.beta = beta
        self.eta3 = eta3
        self.max_rotation = max_rotation
        super().__init__(n_components, sigma, features, standardize, dtype, seed, directions, classes, on_invalid)

    @classmethod
    def paper(
        cls,
        n_components: int,
        sigma: float,
        update: str = "u",
        eta3: float = 0.01,
        features: str = "cos",
        dtype: str = "float64",
        seed: int = 1,
        classes: Sequence[Hashable] | None = (False, True),
    ) -> MPUFOGDClassifier:
        """The settings of the paper: eta1 = 100, eta2 = 0.1, no limit on the rotation, no scaling.

        Parameters
        ----------
        update
            "u" for MPU-FOGDU, "ub" for MPU-FOGDUB, whose phases move by `eta3` (not given in the paper).

        Examples
        --------
        >>> from onlinekit_plugins.random_features import MPUFOGDClassifier
        >>> model = MPUFOGDClassifier.paper(400, sigma=0.5, update="ub")
        >>> model.alpha * model.n_components, model.max_rotation
        (100.0, inf)
        """
        if update not in ("u", "ub"):
            raise ValueError(f"update must be 'u' or 'ub', not {update!r}")
        return cls(
            n_components=n_components,
            alpha=100.0 / n_components,
            beta=0.1 / n_components,
            eta3=eta3 if update == "ub" else 0.0,
            max_rotation=math.inf,
            sigma=sigma,
            features=features,
            standardize=False,
            dtype=dtype,
            seed=seed,
            classes=classes,
        )

    def _hyper(self) -> tuple[float, ...]:
        d = self.n_components
        scale = (math.sqrt(2.0) if self.features == "cos" else 1.0) / d
        return (scale, float(self.alpha) * d, float(self.beta) * d, float(self.eta3), float(self.max_rotation))
