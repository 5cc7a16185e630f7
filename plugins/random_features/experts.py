"""Experts on one map of random features, linear ones, the nearest of the last rows, and a vote by recent success."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from onlinekit_plugins.random_features import experts_kernels
from onlinekit_plugins.random_features.base import RandomFeatureClassifier, check_whole
from onlinekit_plugins.random_features.core_kernels import COLLAPSED
from onlinekit_plugins.random_features.experts_core_kernels import EXPERTS, RIDGE
from onlinekit_plugins.random_features.neighbours_kernels import NEAREST

LEAST_SQUARES = 100  # directions that the least-squares expert uses at most


class KernelExpertsClassifier(RandomFeatureClassifier):
    """Online kernel classification by experts on random Fourier features and on the last rows (our own combination).

    The experts, each strong where the others are weak, learn every sample:

    - mpu-fogd on phi = (cos U x, sin U x), whose steps move U as well: follows nonlinear classes at any width;
    - recursive least squares with forgetting on the first 100 directions of the same phi, targets +-1: finds in a few
      hundred samples what gradient steps need thousands for; O(R^2), R <= 200, most of the time at few features;
    - passive-aggressive on x itself: the fastest to follow, and right where the classes are near to linear;
    - logistic (softmax) regression on x, steps min(0.02, 1 / |x|^2): right where they are near to linear and noisy;
    - the 5 nearest of the last `window` rows, each with the say w / distance: right where classes are many small
      clusters or where what was true a while ago is not any more; O(window d), most of the time from some 30 features.

    p(y | x) = sum_h v_h p_h(y | x), v_h ~ exp(20 a_h), a_h the share of right answers of expert h with weight 0.99^age,
    p_h the sigmoid or softmax of its scores (three times those of the least squares, six times with more than two
    classes), or the shares of the neighbours' say. The probabilities are mixtures of uncalibrated ones.

    The least squares keep P = inverse of the weighted Gram matrix, starting as I / 0.1. Where dividing it by the
    forgetting factor would make its trace larger than at the start, that is left out, so directions that the data do
    not excite cannot wind up. Standardised values are clipped at 5 deviations, as in mpu-fogd. Rows are kept scaled as
    they were when learned, so the memory is 8 (window + n_components) bytes a feature. Rows with few entries cost what
    full ones do, since every distance takes all features; and models cannot be merged, since inverses and rows kept
    have no average.

    Parameters
    ----------
    n_components
        D, the number of random directions.
    alpha
        Step of the weights of mpu-fogd.
    beta
        Step of the directions; 0 keeps them fixed.
    max_rotation
        Largest change of any u_i . x by one step, in radians.
    forgetting
        Of the least squares, a sample: 0.999 remembers about 1,000 samples, 1 all.
    window
        Number of last rows that the nearest are looked for in.
    sigma
        Kernel width: a number, "auto" or "median", see MPUFOGDClassifier.
    standardize
        Scale features by their running mean and deviation. Without it they should be of order 1.
    seed
        Of the random draws. The draw of a feature depends on the seed and the feature's name alone.
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
    >>> from onlinekit_plugins.random_features import KernelExpertsClassifier
    >>> model = KernelExpertsClassifier(n_components=50)
    >>> for t in range(400):
    ...     a, b = (-1) ** t, (-1) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a == b)
    >>> [model.predict_one({"a": a, "b": b}) for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]]
    [True, False, False, True]
    >>> sorted(model.trust)
    ['least-squares', 'logistic', 'mpu-fogd', 'nearest', 'passive-aggressive']

    References
    ----------
    Littlestone, Warmuth, The weighted majority algorithm, Information and Computation 108, 1994.
    Engel, Mannor, Meir, The kernel recursive least-squares algorithm, IEEE Transactions on Signal Processing 52, 2004.
    Dudani, The distance-weighted k-nearest-neighbor rule, IEEE Transactions on Systems, Man, and Cybernetics 6, 1976.
    """

    arrays = {
        **RandomFeatureClassifier.arrays,
        "recursive": ("outputs", "few"),
        "inverse": ("few", "few"),
        "linear": ("outputs", 2, "features"),
        "intercept": ("outputs", 2),
        "memory": ("features", "window"),
        "marks": (2, "window"),
        "kept": (1,),
        "trust": (EXPERTS,),
    }
    kernels = experts_kernels
    sparse = False

    def __init__(
        self,
        n_components: int = 200,
        alpha: float = 0.5,
        beta: float = 1e-3,
        max_rotation: float = 0.1,
        forgetting: float = 0.999,
        window: int = 1000,
        sigma: float | str = "auto",
        standardize: bool = True,
        seed: int = 1,
        classes: Sequence[Hashable] | None = (False, True),
        on_invalid: str = "raise",
    ) -> None:
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha must be positive, not {alpha!r}")
        if not 0 <= beta < math.inf:
            raise ValueError(f"beta must be 0 or more, not {beta!r}")
        if not max_rotation > 0:
            raise ValueError(f"max_rotation must be positive (inf for no limit), not {max_rotation!r}")
        if not 0.5 <= forgetting <= 1.0:
            raise ValueError(f"forgetting must be between 0.5 and 1, not {forgetting!r}")
        check_whole("window", window, 1)
        self.alpha = alpha
        self.beta = beta
        self.max_rotation = max_rotation
        self.forgetting = forgetting
        self.window = window
        super().__init__(n_components, sigma, "sincos", standardize, "float64", seed, None, classes, on_invalid)
        inverse = self._arrays["inverse"]
        inverse[:] = np.eye(len(inverse)) / RIDGE
        self._arrays["trust"][:] = 0.5

    @property
    def trust(self) -> dict[str, float]:
        """Expert -> running share of right answers, by which it has its say."""
        names = ("mpu-fogd", "least-squares", "passive-aggressive", "logistic", "nearest")
        return dict(zip(names, self._arrays["trust"].tolist(), strict=True))

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "few": 2 * min(self.n_components, LEAST_SQUARES), "window": self.window}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        votes = np.zeros((EXPERTS + 2, max(2, self._outputs())))
        squares, winners = np.zeros((2, self._sizes()["few"])), np.zeros(EXPERTS, np.int64)
        return (*super()._scratch(), votes, squares, winners, np.zeros((3, max(self.window, NEAREST))))

    def _hyper(self) -> tuple[float, ...]:
        d = self.n_components
        steps = (float(self.alpha) * d, float(self.beta) * d, 0.0, float(self.max_rotation))
        return (1.0 / d, *steps, float(self.forgetting))

    def _tell(self) -> None:
        # One expert that has learned nothing is what the others are there for.
        self._told = float(self._arrays["run"][COLLAPSED])
