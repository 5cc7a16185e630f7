"""Bayesian logistic regression whose posterior widens when the concept drifts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from onlinekit.batches import valid_weight
from onlinekit.labels import BinaryLabels
from onlinekit.scaling import finite
from onlinekit.schema import bad_value, is_finite_number, read_batch
from onlinekit_plugins.bayes_logistic import kernels
from onlinekit_plugins.bayes_logistic import shared_kernels as layout
from onlinekit_plugins.bayes_logistic.parameters import AUTO_RATES, MODES, PartialLabels, validate
from onlinekit_plugins.bayes_logistic.posterior import INTERCEPT, Posterior


class BayesianLogisticRegression(Posterior):
    """Online Bayesian logistic regression with a Gaussian posterior N(mu, Sigma) over the weights.

    A labelled step, for x (d,) with a leading 1 for the intercept and y in {0, 1}:

        P   = inflate(Sigma, v)                                 (2.22), Sigma + v diag(c) if not `bounded`
        a   = mu'x,  s2 = x'Px                                  (2.18), (2.19)
        p   = sigm(K a),  K = (1 + pi s2 / 8)^(-1/2)            (2.17), (2.20): what predict_proba_one returns
        Sigma = P - q / (1 + q s2) Px (Px)',  q = p (1 - p)     (2.21), (2.22)
        mu    = mu + Px (y - p) / (1 + q s2)
        N   = alpha N + 1,  v = v + (max(G, 0) - v) / N         (2.29), (2.30)

    and an unlabelled one, learn_one(x, None): N = alpha N, nothing else.

    Readings that are ours, where the text is silent or ambiguous:

    - The discrepancy G, whose equation (2.23) is missing: min(p', 1 - p') - min(p, 1 - p), the uncertainty (2.24) after
      the label less that before, as an expectation under the predictive distribution; p' is (2.25)-(2.28). With the
      label observed in its place G would never be positive.
    - (2.29) as a fading mean over the labelled steps, so v lies in [0, 1/2] and no gap without labels gives 0 / 0.
    - The step inflates with the v of the step before; a new weight is at its prior and does not drift in its first.
    - `bounded`: P = R Sigma R + diag(rho) prior_var with rho = min(1, v c / prior_var), R = diag(sqrt(1 - rho)). The
      additive (2.22) winds up: the variance of a silent feature passed 3000 in 300,000 steps at c = 1. Bounded, no
      eigenvalue exceeds the prior, and a feature absent so far is the same as one that was 0; additive, it is not.
    - update="adf", matching the moments of the probit form: K^2 q for q / (1 + q s2), and K (y - p) for (y - p) / (1 +
      q s2). The intervals of (2.21) are too narrow: of 90 % intervals, 71 % held the weight on well-specified
      stationary data (d = 10, n = 100), with "adf" 90 %. Calibration is claimed for "adf" on such data only.

    Which mode: on synthetic streams (8 seeds, d = 10, n = 8000; accuracy / log loss) the paper's "uncertainty" reached
    .853 / .332 under abrupt drift and .860 / .315 on stationary data, where the plain model has .705 / .569 and .867 /
    .299. "constant" is as good under drift (.851 / .335). "auto" is better in both (.855 / .326, .866 / .301) at five
    times the work: it alone pays next to nothing when nothing drifts. On real streams the paper's mode is no winner
    either: on elec2 .875 / .299 against .921 / .208 of "auto" and .895 / .291 of plain SGD(.1); on weather_noaa .794 /
    .437 against .795 / .434 and .782 / .458; on sea_big .877 / .426, where not drifting at all gives .895 / .423.

    The drift modes are not scale-equivariant: give features of like scale, or `standardize=True`. A rule of thumb at
    unit variance and d features: c = 1 / d for "uncertainty", 3 / d for "uncertainty_mean", .03 / d^2 for "constant".
    Features never seen widen s2 by prior_var x_j^2 in predictions (not with `standardize`: they have no scale yet).

    Parameters
    ----------
    prior_var
        Prior variance of each weight, up to 1e100.
    drift
        None (stationary), "uncertainty" (the paper's), "uncertainty_mean" (averaged, then clipped at 0),
        "constant" (v = 1), "auto" (five constant models, c = 0 to .1, mixed by fading likelihood; ignores `c`).
    c
        Drift constant: the variance that a step at v = 1 adds to each weight.
    alpha
        Fading factor of v, in [0, 1].
    bounded
        Shrink towards the prior while inflating; False is the additive (2.22), which winds up on silent features.
    update
        "newton" (2.21), or "adf" (moments matched, as above).
    covariance
        "full", O(d^2) a step; or "diag", O(d), and on rows with few entries O(entries).
    intercept
        Whether to have a weight for the constant 1.
    c_by_feature
        Drift constants of single features, "__intercept__" for the intercept; the others have `c`.
    standardize
        Scale features inside the learner by running mean and variance (sparse rows by the deviation only).
    on_invalid
        "raise" or "skip".

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression
    >>> model = BayesianLogisticRegression()
    >>> for _ in range(20):
    ...     model.learn_one({"a": 1.0}, True)
    ...     model.learn_one({"a": -1.0}, False)
    >>> model.predict_one({"a": 1.0})
    True
    >>> low, high = model.proba_interval({"a": 1.0}, level=0.9)
    >>> low < model.predict_proba_one({"a": 1.0})[True] < high
    True
    >>> model.learn_one({"a": 1.0}, None)  # no label

    References
    ----------
    S. Mohamad, Active learning for data streams, PhD thesis, Bournemouth 2017, chapter 2 (the equation numbers).
    S. Mohamad, A. Bouchachia, M. Sayed-Mouchaweh, A bi-criteria active learning algorithm for dynamic data streams,
    IEEE TNNLS 29(1), 2018.
    W. Penny, S. Roberts, Dynamic logistic regression, IJCNN 1999.
    """

    kernels = kernels

    def __init__(
        self,
        prior_var: float = 1.0,
        drift: str | None = "uncertainty",
        c: float = 0.1,
        alpha: float = 0.9,
        bounded: bool = True,
        update: str = "newton",
        covariance: str = "full",
        intercept: bool = True,
        c_by_feature: dict[Any, float] | None = None,
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        validate(prior_var, drift, c, alpha, update, covariance, c_by_feature)
        self.prior_var, self.drift, self.c, self.alpha = prior_var, drift, c, alpha
        self.bounded, self.update, self.intercept, self.c_by_feature = bounded, update, intercept, c_by_feature
        self._form = covariance  # the parameter `covariance` shares its name with the method
        super().__init__(standardize=standardize, on_invalid=on_invalid)
        groups, state = self._groups(), self._arrays["state"]
        state[:, layout.STARTED] = 1.0  # the intercept is there from the start
        state[:, layout.STEPS] = 1.0
        state[:, layout.RATES :: 2] = np.transpose([AUTO_RATES]) if drift == "auto" else groups
        self._arrays["cov"][:, 0] = prior_var
        self._arrays["weights"][:, layout.GROUP, 0] = groups.index(self._rate(INTERCEPT))

    # -- state ---------------------------------------------------------------------------------------------

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """Whether rows with few entries cost only what they hold: so with a diagonal covariance."""
        return self._diagonal

    @property
    def _diagonal(self) -> bool:  # type: ignore[override]
        return self._form == "diag"

    @property
    def arrays(self) -> Mapping[str, tuple[str | int, ...]]:  # type: ignore[override]
        """The shapes of the state; see shared_kernels."""
        m = len(AUTO_RATES) if self.drift == "auto" else 1
        return {
            "weights": (m, 3, "columns"),
            "cov": (m, "cells"),
            "state": (m, layout.RATES + 2 * len(self._groups())),
        }

    def _sizes(self) -> dict[str, int]:
        columns = self._capacity + 1
        return {"columns": columns, "cells": columns if self._diagonal else columns * (columns + 1) // 2}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        work = np.empty((2 + 3 * len(self._arrays["state"]), len(self._schema) + layout.SPARE))
        work[layout.Z, -2] = 0.0  # of no step: they are counted from 1
        return (work,)

    def _hyper(self) -> tuple[Any, ...]:
        numbers = (self.prior_var, self.alpha, MODES[self.drift], self.bounded, self.update == "adf",
                   self._diagonal, self.intercept)  # fmt: skip
        return (np.array(numbers, dtype=np.float64),)

    def _rate(self, name: Any) -> float:
        return 0.0 if self.drift == "auto" else float((self.c_by_feature or {}).get(name, self.c))

    def _groups(self) -> list[float]:
        """The distinct drift constants, `c` first ("auto": one place, in which each model has its own)."""
        rates = [] if self.drift == "auto" else [float(self.c), *map(float, (self.c_by_feature or {}).values())]
        return list(dict.fromkeys(rates or [0.0]))

    def _grow_features(self, names: Sequence[Any]) -> None:
        if self.intercept and INTERCEPT in names:
            raise ValueError(f"feature {INTERCEPT!r} has the name of the intercept; rename it or use intercept=False")
        super()._grow_features(names)

    def _features_added(self, names: Sequence[Any], start: int) -> None:
        weights, state, columns = (
            self._arrays["weights"],
            self._arrays["state"],
            slice(start + 1, len(self._schema) + 1),
        )
        groups = self._groups()
        g = (
            [groups.index(self._rate(name)) for name in names]
            if len(groups) > 1
            else np.zeros(len(names), dtype=np.int64)
        )
        weights[:, layout.GROUP, columns] = g
        weights[:, layout.SINCE, columns] = state[:, layout.RATES + 1 :: 2][:, g]
        k = np.arange(columns.start, columns.stop)
        self._arrays["cov"][:, k if self._diagonal else k * (k + 3) // 2] = self.prior_var

    def _make_labels(self, names: Sequence[Any]) -> BinaryLabels:
        return PartialLabels()

    def _get_params(self) -> dict[str, Any]:
        return {**super()._get_params(), "covariance": self._form}

    def __repr__(self) -> str:
        # River's form reads every parameter by getattr and would find the method covariance.
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._get_params().items())})"

    # -- learning and predicting -----------------------------------------------------------------------------

    def _learn(self, x: dict[Any, Any], y: Any, w: float) -> None:
        if y is not None:
            super()._learn(x, y, w)
            return
        valid_weight(w)
        _, value = self._schema.entries(x)
        if kernels.unlabelled(value, self._arrays["state"], self._args[-1]) < 0:
            raise self._schema.complaint(x) or ValueError("a value of x is not finite")

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """{False: 1 - p, True: p} with p of (2.17), the numbers of the step before an update."""
        if len(x) == self._n:
            buffer = self._take_packed(x)
            if buffer is not None:
                p = kernels.probability(buffer.row, *buffer.args)
                if p >= 0.0:
                    self._pool.append(buffer)
                    return {False: 1.0 - p, True: p}
        return super().predict_proba_one(x)

    def _entries(self, x: dict[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
        """The entries of a dict to predict for, features never seen in the columns behind the known ones."""
        if self.standardize:  # by no statistics such a feature is 0
            return super()._entries(x)
        try:
            index, value = self._schema.entries(x)
            if not finite(value):
                raise self._schema.complaint(x) or ValueError("a value of x is not finite")
        except (TypeError, ValueError):
            if self.on_invalid == "raise" or not isinstance(x, Mapping):
                raise
            index, value = self._schema.entries({k: v for k, v in x.items() if is_finite_number(v)})
        new = np.flatnonzero(index < 0)
        index[new] = self._n + np.arange(len(new))
        return index, value

    def _predict(self, x: dict[Any, Any]) -> tuple[int, Any]:
        if len(x) == self._n:
            buffer = self._take_packed(x)
            if buffer is not None:
                winner = kernels.predict(buffer.row, buffer.out, *buffer.args)
                if winner >= 0:
                    return winner, buffer
        index, value = self._entries(x)
        buffer = self._take()
        if self._is_sparse(len(index)):
            winner = kernels.predict_sparse(index, value, buffer.out, *buffer.args)
        else:
            row = np.zeros(max(self._n, int(index.max(initial=-1)) + 1))
            row[index] = value
            winner = kernels.predict(row, buffer.out, *buffer.args)
        if winner < 0:
            raise ValueError("the logit of x is not finite")
        return winner, buffer

    def _predict_batch(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.standardize:
            return super()._predict_batch(X)
        if self.sparse and sparse.issparse(X):
            # A feature never seen is one at its prior.
            columns = np.unique(X.tocoo().coords[1]).tolist()
            unknown = self._schema.unknown(columns)
            if not unknown:
                return super()._predict_batch(X)
            grown = copy.deepcopy(self)
            grown._grow_features(unknown)
            return grown._predict_batch(X)
        values, columns = read_batch(X, self.on_invalid == "skip")
        bad = ~np.isfinite(values)
        if bad.any():
            if self.on_invalid == "raise":
                t, j = (int(i) for i in np.argwhere(bad)[0])
                raise ValueError(f"row {t}: {bad_value(columns[j], float(values[t, j]))}")
            values = np.where(bad, 0.0, values)
        rows = self._schema.matrix(values, columns)
        new = [j for j, name in enumerate(columns) if name not in self._schema.index]
        if new:
            rows = np.hstack((rows, values[:, new]))
        winners, out = np.zeros(len(rows), dtype=np.int64), np.empty((len(rows), 2))
        kernels.predict_rows(rows, winners, out, *self._take().args)
        if (winners < 0).any():
            raise ValueError(f"row {int(np.argmin(winners))}: the logit is not finite")
        return winners, out
