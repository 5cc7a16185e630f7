"""The rows that joined and left the data of a fit: the gradient, the Hessian and the keys that follow them."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import compress
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .gradient import LONG, UNIT_LONG, LossSum, loss_sum
from .losses import UNIT
from .refine import Point
from .row_store import RowStore
from .rows import digests, fingerprint, keys, pack_counter, unpack_counter
from .storage import refusing
from .streaming import HessianMetric
from .summary import FitSummary


class ChangedData:
    """The state of a Tracker: what is known of F1 at w0, without the rows of the fit."""

    def __init__(self, summary: FitSummary) -> None:
        self.summary = summary
        self.n1 = summary.n0
        self._G = summary.R0.astype(LONG) + summary.R0_rest
        self._error = summary.R0_error.copy()
        self._value, self._value_error = summary.value, summary.value_error
        # Sums of the loss gradients at w0 over the rows that were added and that were removed.
        self._moved = np.zeros((2, summary.d))
        self._mark = summary.fingerprint.copy()
        self._added: Counter[bytes] = Counter()
        self._removed: Counter[bytes] = Counter()
        self._removed_rows: RowStore | None = None
        self._added_norm = 0.0
        self._metric = HessianMetric(summary) if summary.matrices else None
        self._points: list[Point] = []

    @property
    def G(self) -> np.ndarray:
        """grad F1(w0), (d,)."""
        return self._G.astype(float)

    @property
    def n_added(self) -> int:
        """Rows in the data that the fit did not have."""
        return self._added.total()

    @property
    def n_removed(self) -> int:
        """Rows of the fit that are no longer in the data."""
        return self._removed.total()

    def forget_points(self) -> None:
        """Drop what ``refine`` found: level "newton" needs it anew."""
        self._points = []

    def add(self, X: Any, y: Any) -> None:
        """Rows (m, d), dense or CSR, or one row (d,), joined the data. O(d^2) a row, less a row in a batch.

        Labels y (m,) in {-1, +1} (or bool), whatever names a scikit-learn model has for them: y == model.classes_[1].
        Raises ValueError for bad rows or labels.
        """
        rows = losses.signed_rows(X, y, self.summary.d)
        if rows.shape[0]:
            table = digests(rows)
            self._add(rows, keys(table), fingerprint(table))

    def _add(self, rows: Any, names: list[bytes], mark: np.ndarray) -> None:
        # A removed row that comes back undoes its removal.
        back = _first(names, self._removed)
        (new, fresh), (returned, again) = _parted(rows, names, back)
        change = self._shift(rows, mark, 1, ((0, fresh, ~back, 1), (1, again, back, -1)))
        _take(self._removed, returned)
        self._added.update(new)
        if self._metric is None:
            self._added_norm += losses.square_sum(fresh) * (1 + 1e-9) if new else 0.0
            return
        if new:
            self._metric.add(new, fresh, change.z[~back], change.z_error[~back])
        if returned:
            assert self._removed_rows is not None
            self._metric.regain(again, change.z[back], self._removed_rows.pop(returned))

    def remove(self, X: Any, y: Any) -> None:
        """Rows (m, d) or one row (d,) left the data, with the labels they had, as in ``add``. Added rows leave first.

        A row is known by its values alone, so they must be the very ones of the fit, a column of ones or a scaling
        included. Raises ValueError for a row that is not in the data with this label, and for the last one.
        """
        rows = losses.signed_rows(X, y, self.summary.d)
        if not rows.shape[0]:
            return
        table = digests(rows)
        names = keys(table)
        fit, added, removed = self.summary.keys, self._added, self._removed
        before = bool(removed) and not removed.keys().isdisjoint(names)
        for key, count in Counter(names).items():
            held = fit.get(key, 0)
            if (before or count > held) and count > held + added.get(key, 0) - removed.get(key, 0):
                raise ValueError("a row to remove is neither a fit row nor an added one (or was removed before)")
        if rows.shape[0] >= self.n1:
            raise ValueError("cannot remove every row: no data would be left")
        mine = _first(names, self._added)
        (own, back), (gone, lost) = _parted(rows, names, ~mine)
        change = self._shift(rows, fingerprint(table), -1, ((0, back, mine, -1), (1, lost, ~mine, 1)))
        _take(self._added, own)
        self._removed.update(gone)
        if self._metric is None:
            return
        if own:
            self._metric.take(own, back)
        if gone:
            if self._removed_rows is None or not self._removed_rows.n:
                self._removed_rows = RowStore(self.summary.d, sp.issparse(lost), 1)
            self._removed_rows.add(gone, lost, self._metric.lose(lost, change.z[~mine]))

    def _shift(self, rows: Any, mark: np.ndarray, sign: int, parts: Any) -> LossSum:
        """Move the gradient, its error, n1 and the fingerprint by the rows; their sums at w0.

        ``parts`` are the rows that count as added (0) and as removed (1): which, rows, their places, the way they go.
        """
        s, m = self.summary, rows.shape[0]
        change = loss_sum(s.loss, rows, s.w0)
        self._G = self._G + sign * (m * LONG(s.C) * s.w0 + change.gradient)
        self._error += change.error + UNIT_LONG * (8 * m * s.C * np.abs(s.w0) + 4 * np.abs(self.G))
        self._value += sign * change.value
        self._value_error += change.value_error + 2 * UNIT * (abs(self._value) + change.value)
        self.n1 += sign * m
        for which, chosen, places, way in parts:
            if chosen is rows:
                self._moved[which] += way * change.gradient.astype(float)
            elif chosen is not None:
                self._moved[which] += way * losses.combined(chosen, change.slope[places])
        self._mark = self._mark + mark if sign > 0 else self._mark - mark
        self.forget_points()
        return change

    def merge(self, other: ChangedData) -> None:
        """Take in what another tracker saw: the changes of a disjoint shard of the data; the sums add.

        Both may follow one fit (one summary, or copies of it), or each its own shard of the fit's rows, summarised at
        the same w0, C and loss. Raises ValueError, before anything changes, when the shards do not fit together.
        """
        mine, theirs = self.summary, other.summary
        if (mine.d, mine.C, mine.loss) != (theirs.d, theirs.C, theirs.loss) or not np.array_equal(mine.w0, theirs.w0):
            raise ValueError("trackers can be merged only when w0, C, loss and the number of features are the same")
        same = mine.name == theirs.name
        if not same and np.array_equal(mine.fingerprint, theirs.fingerprint):
            raise ValueError("two summaries of equal rows: copy one summary to follow one fit with both trackers")
        trial = type(self)(mine if same else mine.merge(theirs))
        if self._metric is None or other._metric is None:
            trial._sum((self, other))
        else:
            for metric in (self._metric, other._metric):
                trial.add(metric.added.X, np.ones(metric.added.n))
            for part in (self, other):
                if part._removed_rows is not None:
                    trial.remove(part._removed_rows.rows, np.ones(part._removed_rows.n))
        self.__dict__.update(trial.__dict__)

    def _sum(self, parts: tuple[ChangedData, ChangedData]) -> None:
        """Add what the parts saw to a fresh tracker, without their rows."""
        for part in parts:
            s = part.summary
            start = s.R0.astype(LONG) + s.R0_rest
            self._G = self._G + (part._G - start)
            self._error = self._error + part._error + 4 * UNIT_LONG * (np.abs(part.G) + np.abs(s.R0) + np.abs(self.G))
            self._value += part._value - s.value
            self._value_error += part._value_error + 4 * UNIT * (part._value + s.value + self._value)
            self.n1 += part.n1 - s.n0
            self._moved = self._moved + part._moved
            self._mark = self._mark + (part._mark - s.fingerprint)
            self._added, self._removed = self._added + part._added, self._removed + part._removed
            self._added_norm += part._added_norm
        if any(count > self.summary.keys[key] for key, count in self._removed.items()):
            raise ValueError("the shards are not disjoint: both removed the same row of the fit")

    def __copy__(self) -> Any:
        # Two trackers with arrays in common would change each other's certificates.
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["summary"] = self.summary.__getstate__()
        high = self.G
        state["_G"] = (high, (self._G - high).astype(float))
        state["_added"], state["_removed"] = pack_counter(self._added), pack_counter(self._removed)
        state["_removed_rows"] = None if self._removed_rows is None else self._removed_rows.__getstate__()
        state["_metric"] = None if self._metric is None else self._metric.__getstate__()
        state["_points"] = [p.state() for p in self._points]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        with refusing(type(self).__name__):
            self.__dict__.update(state)
            self.summary = object.__new__(FitSummary)
            self.summary.__setstate__(state["summary"])
            high, low = state["_G"]
            self._G = high.astype(LONG) + low
            self._added, self._removed = unpack_counter(*state["_added"]), unpack_counter(*state["_removed"])
            if state["_removed_rows"] is not None:
                self._removed_rows = object.__new__(RowStore)
                self._removed_rows.__setstate__(state["_removed_rows"])
            if state["_metric"] is not None:
                self._metric = HessianMetric.restored(self.summary, state["_metric"])
            self._points = [Point(**p) for p in state["_points"]]


def _first(names: list[bytes], held: Counter[bytes]) -> np.ndarray:
    """Which rows are held, each key at most as often as it is held, (n,) bool."""
    found = np.zeros(len(names), dtype=bool)
    shared = held.keys() & names if held else set()
    if shared:
        left = {key: held[key] for key in shared}
        for i, key in enumerate(names):
            if key in shared:
                found[i] = left[key] > 0
                left[key] -= 1
    return found


def _parted(rows: Any, names: list[bytes], apart: np.ndarray) -> list[tuple[list[bytes], Any]]:
    """Keys and rows (None without any) of those that are not ``apart`` (n,) bool, and of those that are."""
    if not apart.any() or apart.all():
        return [([], None), (names, rows)] if apart.any() else [(names, rows), ([], None)]
    one, two = losses.split(rows, apart)
    return [(list(compress(names, ~apart)), one), (list(compress(names, apart)), two)]


def _take(held: Counter[bytes], names: list[bytes]) -> None:
    for key in names:
        held[key] -= 1
        if not held[key]:
            del held[key]
