"""Passive-aggressive learning with max-out units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.budget import pamo_kernels
from onlinekit_plugins.linear.base import check_step
from onlinekit_plugins.random_features.draws import direction


class PAMOClassifier(ArrayClassifier):
    """Passive-aggressive learning with max-out: a binary classifier whose nonlinear features learn too.

    Each of D units is the larger of two linear functions of g (x, 1), g = (m + 1)^(-1/2):

        h_i(x) = max(u_i . g(x, 1), v_i . g(x, 1)),  f(x) = D^(-1/2) w . h(x).

    On a positive hinge loss three problems are solved, each with the other two held at their old values: the nearest
    w, the nearest u and the nearest v with y f(x) >= 1 (PA-I), so w += tau y D^(-1/2) h with tau =
    min(C, loss D / |h|^2), and u_i += tau_u y D^(-1/2) w_i g (x, 1) for the units where u is the larger, tau_u =
    min(C_units, loss D / (g^2 |(x, 1)|^2 sum of their w_i^2)); v likewise where it is the larger. A sample's weight
    multiplies C and C_units, so no weight overshoots. Starts at w = 0 and random u, v. Cost of a row: O(d D). More
    than two classes: River's OneVsRestClassifier around it.

    Certain (the paper's abstract and title): binary, nonlinear maps learned online, max-out, a non-convex problem
    split into three convex ones, each solved by passive-aggressive steps. The paper's text was not at hand, so the
    rest is a reconstruction and decided here: that the three are w, u and v; that all three steps start from the old
    values (in one-at-a-time order the first step leaves no loss for the others); that a step holds fixed which piece
    is the larger; two caps; the weights; the scalings by D and m; normal random starts, drawn by feature name.

    Parameters
    ----------
    n_units
        Number D of max-out units.
    C
        Largest step of the output weights; math.inf for the hard margin.
    C_units
        Largest step of the units' pieces; 0 keeps them as they were drawn, math.inf sets no limit.
    gain
        Factor g of the inputs; "auto": (m + 1)^(-1/2), m the mean |x|^2 of the scaled rows so far.
    seed
        Seed of the starting pieces.
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
    >>> from onlinekit_plugins.budget import PAMOClassifier
    >>> model = PAMOClassifier(n_units=50)
    >>> for t in range(400):
    ...     a, b = (-1.0) ** t, (-1.0) ** (t // 2)
    ...     model.learn_one({"a": a, "b": b}, a * b > 0)
    >>> model.predict_one({"a": 0.9, "b": -1.1}), model.predict_one({"a": -1.0, "b": -0.8})
    (False, True)

    References
    ----------
    Jorge and Paredes, Passive-aggressive online learning with nonlinear embeddings, Pattern Recognition 79, 2018.
    """

    arrays = {
        "planes": ("features", "pieces"),
        "offsets": ("pieces",),
        "output": ("units",),
        "seen": ("features",),
        "extent": (2,),
    }
    kernels = pamo_kernels

    def __init__(
        self,
        n_units: int = 200,
        C: float = 0.3,
        C_units: float = 0.1,
        gain: float | str = "auto",
        seed: int = 0,
        standardize: bool = True,
        on_invalid: str = "raise",
    ) -> None:
        if not (isinstance(n_units, int) and n_units >= 1):
            raise ValueError(f"n_units must be a whole number of at least 1, not {n_units!r}")
        if C != math.inf:  # the hard margin
            check_step("C", C)
        if C_units != math.inf:
            check_step("C_units", C_units, zero=True)
        if gain != "auto":
            check_step("gain", gain)
        if not (isinstance(seed, int) and seed >= 0):
            raise ValueError(f"seed must be a whole number of at least 0, not {seed!r}")
        self.n_units = n_units
        self.C = C
        self.C_units = C_units
        self.gain = gain
        self.seed = seed
        super().__init__(standardize=standardize, on_invalid=on_invalid)
        self._arrays["offsets"][:] = direction(seed, ("offsets of the units",), 2 * n_units)

    def _sizes(self) -> dict[str, int]:
        return {"units": self.n_units, "pieces": 2 * self.n_units}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        return (np.empty(self._capacity), np.empty(2 * self.n_units), np.empty(2 * self.n_units))

    def _features_added(self, names: Sequence[Any], start: int) -> None:
        for j, name in enumerate(names, start):
            self._arrays["planes"][j] = direction(self.seed, name, 2 * self.n_units)

    def _hyper(self) -> tuple[float, ...]:
        return (float(self.C), float(self.C_units), 0.0 if isinstance(self.gain, str) else float(self.gain))
