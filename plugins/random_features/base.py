"""What the learners on random Fourier features share: directions drawn by feature name, their width, their state."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.random_features import draws, kernels
from onlinekit_plugins.random_features.core_kernels import COLLAPSED, FIXED, GAIN, RUN_SIZE, SCORES, STUCK, UPDATES
from onlinekit_plugins.random_features.sigma_kernels import AUTO

WARM_UP = 100  # rows that sigma="median" is found from


class RandomFeatureClassifier(ArrayClassifier):
    """Base of the learners with scores f = w . phi(x), phi = scale cos(U x + b) or scale (cos U x, sin U x).

    A subclass gives `_hyper()`: scale, eta1, eta2, eta3 and the largest rotation (core_kernels.correct), and hands
    on the parameters below.
    """

    arrays = {
        "weights": ("outputs", "width"),
        "directions": ("features", "components"),
        "phases": ("components",),
        "run": (RUN_SIZE,),
        "sample": ("features", "kept"),
    }
    kernels = kernels
    sparse = True

    def __init__(
        self,
        n_components: int,
        sigma: float | str,
        features: str,
        standardize: bool,
        dtype: str,
        seed: int,
        directions: tuple[Any, Any] | None,
        classes: Sequence[Hashable] | None,
        on_invalid: str,
    ) -> None:
        check_whole("n_components", n_components, 1)
        if sigma not in ("auto", "median") and not (_is_number(sigma) and 0 < float(sigma) < math.inf):
            raise ValueError(f"sigma must be 'auto', 'median' or a positive number, not {sigma!r}")
        if features not in ("cos", "sincos"):
            raise ValueError(f"features must be 'cos' or 'sincos', not {features!r}")
        if dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
        check_whole("seed", seed, 0)
        self.n_components = n_components
        self.sigma = sigma
        self.features = features
        self.dtype = dtype
        self.seed = seed
        self._start = directions
        self._told = 0.0
        self._u: np.ndarray = np.zeros((n_components, 0))
        super().__init__(classes=classes, standardize=standardize, on_invalid=on_invalid)
        run = self._arrays["run"]
        run[GAIN] = 1.0
        if directions is not None:
            self._u, b = _checked_directions(directions, n_components)
            self._arrays["phases"][:] = b
            run[FIXED] = 1.0
        else:
            if features == "cos":
                self._arrays["phases"][:] = draws.phases(seed, n_components)
            if _is_number(sigma):
                run[GAIN] = 1.0 / float(sigma)
                run[FIXED] = 1.0

    # The parameter `directions` is the start, the property the state: clone and repr are to see the start.
    def _get_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._get_params()
        if "directions" in params:
            params["directions"] = self._start
        return params

    def __repr__(self) -> str:
        params = self._get_params()
        if params.get("directions") is not None:
            params["directions"] = "(u, b) as given"
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in params.items())})"

    @property
    def _dtype(self) -> Any:  # type: ignore[override]
        return np.dtype(self.dtype)

    def _sizes(self) -> dict[str, int]:
        return {
            "components": self.n_components,
            "width": self.n_components * (2 if self.features == "sincos" else 1),
            "kept": 1 + (WARM_UP if self.sigma == "median" and self._start is None else 0),
        }

    def _scratch(self) -> tuple[np.ndarray, ...]:
        work = np.zeros((SCORES + 1, max(self.n_components, self._outputs())), self._dtype)
        return work, np.zeros((4, self._capacity))

    @property
    def _neutral(self) -> bool:
        # `gather` takes a drawn feature that has never varied as 0; given directions count from the start.
        return self._start is None

    def _features_added(self, names: Sequence[Any], start: int) -> None:
        rows = self._arrays["directions"]
        given = self._u.shape[1]
        # Given directions are in their own units, so what is drawn beside them is divided by sigma here.
        factor = 1.0
        if self._start is not None:
            factor = 1.0 / (float(self.sigma) if _is_number(self.sigma) else AUTO * math.sqrt(2.0 * max(given, 1)))
        for j, name in enumerate(names, start):
            if isinstance(name, numbers.Integral) and 0 <= int(name) < given:
                rows[j] = self._u[:, int(name)]
                self._arrays["sample"][j, 0] = 1.0
            else:
                rows[j] = factor * draws.direction(self.seed, name, self.n_components)

    # -- what a user may look at ---------------------------------------------------------------------------

    @property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """(u, b): u of shape (D, d) with a row per component, in the order the features came, and b (D,)."""
        u = self._arrays["run"][GAIN] * self._arrays["directions"][: self.n_features].T.astype(np.float64)
        return np.ascontiguousarray(u), self._arrays["phases"].astype(np.float64)

    @property
    def weights(self) -> np.ndarray:
        """w: (D,) for two classes, (K, D) for more; 2 D with features="sincos", cosines first."""
        w = self._arrays["weights"].astype(np.float64)
        return w[0] if w.shape[0] == 1 else w

    @property
    def sigma_used(self) -> float:
        """The kernel width in force: k(x, y) = exp(-|x - y|^2 / (2 sigma^2)); NaN with given directions."""
        return math.nan if self._start is not None else 1.0 / float(self._arrays["run"][GAIN])

    @property
    def n_updates(self) -> int:
        """How many samples have changed the weights."""
        return int(self._arrays["run"][UPDATES])

    # -- learning ------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample: features x, label y, weight w >= 0."""
        super().learn_one(x, y, w)
        if self._arrays["run"][COLLAPSED] != self._told:
            self._tell()

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame, array or scipy sparse matrix in order: the loop of learn_one."""
        super().learn_many(X, y, w)
        self._tell()

    def prequential_many(self, X: Any, y: Any, w: Any = None) -> np.ndarray:
        """Predict each row, then learn it; the predicted labels (None before any label was known)."""
        result = super().prequential_many(X, y, w)
        self._tell()
        return result

    def _tell(self) -> None:
        collapsed = float(self._arrays["run"][COLLAPSED])
        if collapsed and not self._told:
            what = (
                "changed its weights on more than 90 % of 1,000 samples in a row: it has learned next to nothing yet"
                if collapsed == STUCK
                else "was no better than the most frequent class on 1,000 samples in a row, while its steps turned "
                "directions by more than a radian: each undoes what was learned before"
            )
            warnings.warn(
                f"{type(self).__name__} {what}. Check the scale of the features and sigma, and keep max_rotation "
                "finite",
                RuntimeWarning,
                stacklevel=3,
            )
        self._told = collapsed


def check_whole(name: str, value: Any, least: int) -> None:
    if not (isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _checked_directions(directions: tuple[Any, Any], n_components: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        u, b = (np.array(part, dtype=np.float64) for part in directions)
    except (TypeError, ValueError):
        raise ValueError("directions must be a pair (u, b) of arrays of numbers") from None
    if u.ndim != 2 or u.shape[0] != n_components or b.shape != (n_components,):
        raise ValueError(
            f"directions must be (u, b) of shapes ({n_components}, d) and ({n_components},), "
            f"not {u.shape} and {b.shape}"
        )
    if not (np.isfinite(u).all() and np.isfinite(b).all()):
        raise ValueError("directions holds a value that is not finite")
    return u, b
