"""The samples of a certified monitor: those that joined and left, the reference among them, and their state."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit.monitor import Monitor, Verdict
from onlinekit.schema import Schema

from . import losses
from .monitor_input import sign_of
from .monitor_rows import Row, key_of, parted, row_of, scaled, stacked
from .row_store import RowStore
from .rows import digests, keys
from .storage import refusing
from .tracker import Tracker

_BATCH = 256


class SampleMonitor(Monitor):
    """Base of the certified monitors: the data as they are now, in a tracker, and a reference of the latest samples.

    A feature that comes later gets a spare column. A subclass has the parameters `intercept`, `reference` and
    `min_samples`, calls `_start` when it has them, and gives `rebase` and `verdict`; `_memo` is its answer to the
    present data.
    """

    keeps_rows = False
    intercept: bool
    reference: int
    min_samples: int

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

    def _begin(self, tracker: Tracker, columns: list[Any], rows: Any, signs: np.ndarray) -> None:
        """Follow a new fit: its tracker, and its rows (n, width) for these features with signs (n,)."""
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
        with refusing(type(self).__name__):
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
