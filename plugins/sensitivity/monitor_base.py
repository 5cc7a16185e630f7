"""What the certified monitors share: features, rows that join and leave, the rule, the verdict, the state."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit.monitor import Monitor, Verdict
from onlinekit.schema import Schema

from . import losses
from .decide import CRITERIA
from .monitor_input import matrix_of, sign_of
from .monitor_model import LinearModel
from .monitor_rows import Row, key_of, parted, row_of, scaled, stacked, widened
from .monitor_rules import Interval, coefficient_change, flip_share, loss_saved
from .row_store import RowStore
from .rows import digests, keys
from .summary import FitSummary
from .tracker import Tracker

_BATCH = 256


class SensitivityMonitor(Monitor):
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
    keeps_rows = False
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

    def _start(self) -> None:
        self.n_added = self.n_removed = 0
        self._early: list[tuple[dict, int]] = []
        self._homeless: list[tuple[dict, int]] = []
        self._schema = Schema()
        self._width = 0
        self._sparse = False
        self._tracker: Tracker | None = None
        # Rows that the tracker has yet to be told of: in a batch they cost it much less than one by one.
        self._joined: list[Row] = []
        self._left: list[Row] = []
        self._net: Counter[bytes] = Counter()
        self._store: RowStore | None = None
        # The reference: (key, row, sign) of the latest samples that joined and are still there.
        self._latest: deque[tuple[bytes, Row, int]] = deque(maxlen=self.reference)
        self._memo: Verdict | None = None

    # -- samples -------------------------------------------------------------------------------------------

    def _checked(self, x: Mapping[Any, Any], y: Any) -> int:
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, not {type(x).__name__}")
        complaint = self._schema.complaint(x)
        if complaint is not None:
            raise complaint
        return sign_of(y)

    def _row(self, x: Mapping[Any, Any], grow: bool) -> Row | None:
        """x as a row (width,); None when it has features for which there is no column."""
        unknown = self._schema.unknown(x)
        if unknown:
            if not grow or len(self._schema) + len(unknown) > self._width - self.intercept:
                return None
            self._schema.extend(unknown)
        return row_of(x, self._schema, self._width, self.intercept, self._sparse)

    def update(self, x: Mapping[Any, Any], y: Any) -> None:
        """A sample joined the data: x a dict of numbers, y True/False, 1/0 or +1/-1.

        Without a `rebase` the first `min_samples` samples are the fit. ValueError or TypeError naming a bad
        feature or label, before anything changed.
        """
        sign = self._checked(x, y)
        if self._tracker is None and len(self._early) + 1 >= self.min_samples:
            early = [*self._early, (dict(x), sign)]
            self.rebase([x for x, _ in early], [sign for _, sign in early])
            return
        self._memo = None
        self.n_added += 1
        if self._tracker is None:
            self._early.append((dict(x), sign))
            return
        row = self._row(x, grow=True)
        if row is None:
            self._homeless.append((dict(x), sign))
            return
        signed = scaled(row, sign)
        key = key_of(signed, self._width)
        self._joined.append(signed)
        self._net[key] += 1
        if self._store is not None:
            self._store.add([key], stacked([signed], self._width, self._sparse))
        self._latest.append((key, row, sign))
        if len(self._joined) + len(self._left) >= _BATCH:
            self._settle()

    def revert(self, x: Mapping[Any, Any], y: Any) -> None:
        """A sample left the data; ValueError, and no change, when it is not in it or is the last one."""
        sign = self._checked(x, y)
        row = None if self._tracker is None else self._row(x, grow=False)
        if row is None:
            held = self._early if self._tracker is None else self._homeless
            if (dict(x), sign) not in held:
                raise ValueError(f"the sample {dict(x)!r:.200} with label {y!r} is not in the data")
            held.remove((dict(x), sign))
        else:
            assert self._tracker is not None
            signed = scaled(row, sign)
            key = key_of(signed, self._width)
            if self._count(key) + self._net[key] < 1:
                raise ValueError(f"the sample {dict(x)!r:.200} with label {y!r} is not in the data")
            if self._tracker.n1 + len(self._joined) - len(self._left) < 2:
                raise ValueError("the last sample of the data cannot leave it")
            self._left.append(signed)
            self._net[key] -= 1
            if self._store is not None:
                self._store.pop([key])
            for i, (other, _, _) in enumerate(self._latest):
                if other == key:
                    del self._latest[i]
                    break
            if len(self._joined) + len(self._left) >= _BATCH:
                self._settle()
        self._memo = None
        self.n_removed += 1

    def _count(self, key: bytes) -> int:
        tracker = self._tracker
        assert tracker is not None
        return tracker._added[key] + tracker.summary.keys[key] - tracker._removed[key]

    def _settle(self) -> None:
        """Tell the tracker of the rows that joined and left."""
        if self._tracker is None:
            return
        for rows, tell in ((self._joined, self._tracker.add), (self._left, self._tracker.remove)):
            if rows:
                tell(stacked(rows, self._width, self._sparse), np.ones(len(rows)))
        self._joined, self._left, self._net = [], [], Counter()

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
        self._start()
        self._schema = Schema(columns)
        self._width = rows.shape[1]
        self._tracker = tracker
        self._sparse = sp.issparse(rows)
        if self.keeps_rows:
            signed = losses.signed_rows(rows, signs)
            self._store = RowStore(self._width, self._sparse)
            self._store.add(keys(digests(signed)), signed)
        self._refer(rows[-self.reference :], signs[-self.reference :])

    def _refer(self, rows: Any, signs: np.ndarray) -> None:
        """Make these rows (m, width) and signs (m,) the reference."""
        rows, _ = losses.checked_rows(rows, signs)
        names = keys(digests(rows, signs))
        self._latest = deque(zip(names, parted(rows), signs.astype(int).tolist(), strict=True), maxlen=self.reference)

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

    # -- the answer ----------------------------------------------------------------------------------------

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
        if self.rule == "flips":
            return flip_share(*bounds, score0)
        return loss_saved(*bounds, score0, np.array([float(sign) for _, _, sign in self._latest]), self.loss)

    # -- state ---------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        state = dict(self.__dict__)
        for derived in ("_memo", "_schema", "_tracker", "_store", "_joined", "_left", "_net", "_latest"):
            del state[derived]
        state["features"] = list(self._schema.names)
        if self._tracker is not None:
            self._tracker._answer()  # brings the factor of the Hessian up to date, as a question would
        state["tracker"] = None if self._tracker is None else self._tracker.__getstate__()
        latest = RowStore(self._width, self._sparse)
        latest.add(
            [key for key, _, _ in self._latest], stacked([r for _, r, _ in self._latest], self._width, self._sparse)
        )
        state["latest"] = latest.__getstate__()
        state["latest_signs"] = np.array([sign for _, _, sign in self._latest], dtype=np.int64)
        state["rows"] = None if self._store is None else self._store.__getstate__()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = dict(state)
        self._schema = Schema(own.pop("features"))
        tracker, rows = own.pop("tracker"), own.pop("rows")
        latest, signs = own.pop("latest"), own.pop("latest_signs")
        self._tracker = None
        if tracker is not None:
            self._tracker = object.__new__(Tracker)
            self._tracker.__setstate__(tracker)
        self._store = None if rows is None else _store_of(rows)
        self._memo = None
        self._joined, self._left, self._net = [], [], Counter()
        self.__dict__.update(own)
        self._refer(_store_of(latest).rows, signs.astype(float))


def _store_of(state: dict[str, Any]) -> RowStore:
    out = object.__new__(RowStore)
    out.__setstate__(state)
    return out
