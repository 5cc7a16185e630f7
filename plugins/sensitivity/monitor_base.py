"""What the certified monitors share: the deployed model, the rule and the verdict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit.monitor import Verdict

from . import losses
from .decide import CRITERIA, Interval, coefficient_change, reference_change
from .monitor_input import matrix_of, sign_of
from .monitor_model import LinearModel
from .monitor_rows import stacked, widened
from .monitor_samples import SampleMonitor
from .summary import FitSummary
from .tracker import Tracker


class SensitivityMonitor(SampleMonitor):
    """Base of the certified monitors; a subclass bounds the scores of a retrained model in `_bounds`.

    w0 are the deployed coefficients, w1 minimises C/2 |w|^2 + (1/n1) sum phi(y_i x_i.w) over the data as it is
    now. This certifies how far the optimum of the training objective moved and nothing about generalisation: a drift
    detector answers another question. The rule gives an interval [certain, possible] of what retraining would
    change; "keep" needs possible <= tolerance, "retrain" needs certain > tolerance. Both are proofs; between
    them the verdict is `unsure`.
    A feature that comes later gets a spare column, where w0 is 0. CSR rows stay CSR, and dicts with few of many
    features are kept so: a row then costs its non-zeros, and beyond 1500 features no (d, d) matrix is made.
    """

    wants_window = True
    two_classes = True
    certified = True

    def __init__(
        self,
        rule: str = "flips",
        tolerance: float = 0.01,
        loss: str = "logistic",
        C: float = 0.01,
        intercept: bool = True,
        reference: int = 200,
        min_samples: int = 50,
        spare: int = 8,
        unsure: str = "undecided",
    ) -> None:
        if rule not in CRITERIA:
            raise ValueError(f"rule is {rule!r}; it is one of {', '.join(CRITERIA)}")
        if not (math.isfinite(tolerance) and tolerance >= 0):
            raise ValueError(f"tolerance is {tolerance!r}; it must be a finite number from 0 on")
        if unsure not in ("undecided", "retrain"):
            raise ValueError(f"unsure is {unsure!r}; it is 'undecided' or 'retrain'")
        for name, value, least in (("reference", reference, 1), ("min_samples", min_samples, 1), ("spare", spare, 0)):
            if value < least:
                raise ValueError(f"{name} is {value!r}; it must be at least {least}")
        losses.check_loss(loss), losses.check_c(C)
        self.rule = rule
        self.tolerance = tolerance
        self.loss = loss
        self.C = C
        self.intercept = intercept
        self.reference = reference
        self.min_samples = min_samples
        self.spare = spare
        self.unsure = unsure
        self._start()

    def rebase(self, X: Any = None, y: Any = None, names: Any = None, model: Any = None) -> None:
        """Start anew: X, y are the data of the present fit, and model the deployed one.

        Parameters
        ----------
        X
            Dicts, a frame, or an array (n, d), dense or CSR, with columns `names` (default 0..d-1); None starts without
            data.
        y
            Labels True/False, 1/0 or +1/-1.
        names
            Names of an array's columns.
        model
            Has `coef_` and `intercept_` for those columns, its positive class second; None: solved for here.

        Raises
        ------
        ValueError
            For a bad value or label, or coefficients that do not fit; nothing changed.
        """
        if X is None:
            self._start()
            return
        matrix, columns = matrix_of(X, names)
        signs = np.array([sign_of(label) for label in (y.tolist() if hasattr(y, "tolist") else y)], dtype=float)
        rows = widened(matrix, self.spare, self.intercept)
        coef, bias = self._coefficients(model, matrix, signs)
        w0 = np.zeros(rows.shape[1])
        w0[: len(columns)] = coef
        if self.intercept:
            w0[-1] = bias
        tracker = Tracker(FitSummary.from_fit(rows, signs, w0, self.C, self.loss))
        self._begin(tracker, columns, rows, signs)

    def _coefficients(self, model: Any, matrix: Any, signs: np.ndarray) -> tuple[np.ndarray, float]:
        if model is None:
            model = self.model().fit(matrix, signs > 0)
        if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
            raise ValueError(
                f"{type(model).__name__} has no coef_ and intercept_: the certificates are for linear models"
            )
        coef, bias = np.ravel(model.coef_), np.ravel(model.intercept_)
        if coef.size != matrix.shape[1] or bias.size != 1:
            have = f"{coef.size} coefficients for {matrix.shape[1]} features"
            raise ValueError(f"the model has {have}; it must be linear and binary")
        if not self.intercept and bias[0] != 0.0:
            raise ValueError("the model has an intercept and the monitor intercept=False")
        return coef, float(bias[0])

    def model(self) -> LinearModel:
        """A fresh model of the objective that this monitor certifies: what to deploy beside it."""
        return LinearModel(self.loss, self.C, self.intercept)

    def verdict(self) -> Verdict:
        """ "keep" or "retrain" with a proof; else `unsure`, or "undecided" while there is no fit."""
        if self._memo is None:
            self._memo = self._answer()
        return self._memo

    def _answer(self) -> Verdict:
        counts: dict[str, Any] = {"n_added": self.n_added, "n_removed": self.n_removed}
        if self._tracker is None:
            have = f"{len(self._early)} of {self.min_samples} samples, and no rebase()"
            return Verdict("undecided", reason=f"not enough data: {have}", **counts)
        if self._homeless:
            new = self._schema.unknown(self._homeless[0][0])
            reason = f"{len(self._homeless)} samples have features that the fit does not know, as {new[0]!r}: no proof"
            return Verdict("retrain", reason=reason, **counts)
        (certain, possible), how = self.interval()
        what = f"{self.rule} between {certain:.3g} and {possible:.3g} by {how}, tolerance {self.tolerance:g}"
        if possible <= self.tolerance:
            return Verdict("keep", self.certified, possible, self.tolerance, reason=what, **counts)
        if certain > self.tolerance:
            return Verdict("retrain", self.certified, certain, self.tolerance, reason=what, **counts)
        return Verdict(self.unsure, False, possible, self.tolerance, reason=f"not decided: {what}", **counts)

    def interval(self) -> tuple[Interval, str]:
        """(certain, possible): what retraining now would at least and at most change; and which bound says so.

        Raises ValueError while there is no fit.
        """
        if self._tracker is None:
            raise ValueError("no fit: call rebase(X, y), or update until there are min_samples samples")
        self._settle()
        return self._decide()

    def _decide(self) -> tuple[Interval, str]:
        """The interval of the rule, and the name of the bound it comes from."""
        level = self._level()
        return self._change(self._tracker, level), level

    def _level(self) -> str:
        """The tracker's level that this monitor stands for."""
        raise NotImplementedError

    def _bounds(self, tracker: Any, E: Any, level: str) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (k,) of E @ w1 for rows E (k, width), dense or CSR."""
        lower, upper, _ = tracker.bounds(E, level)
        return lower, upper

    def _change(self, tracker: Any, level: str) -> Interval:
        if self.rule == "gap":
            return tracker.training_gap(level)
        if self.rule == "coefficients":
            used = np.r_[0 : len(self._schema), self._width - self.intercept : self._width]
            every = sp.identity(self._width, format="csr") if self._sparse else np.eye(self._width)
            bounds = self._bounds(tracker, every[used], level)
            return coefficient_change(*bounds, tracker.summary.w0[used])
        if not self._latest:
            return 0.0, math.inf  # nothing to compare on
        seen = stacked([row for _, row, _ in self._latest], self._width, self._sparse)
        bounds, score0 = self._bounds(tracker, seen, level), seen @ tracker.summary.w0
        signs = np.array([float(sign) for _, _, sign in self._latest])
        return reference_change(self.rule, *bounds, score0, signs, self.loss)
