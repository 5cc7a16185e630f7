"""The latest samples, each kept as the entries it had."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit.schema import Schema

Entries = tuple[np.ndarray, np.ndarray]


class Window:
    """Samples in the order they came: (columns (m,), values (m,)) of their m features, and class indices.

    Memory is that of the entries; rows of the same features in the same order share their columns.
    """

    def __init__(self) -> None:
        self.seen = Schema()
        self.rows: deque[Entries] = deque()
        self.labels: deque[int] = deque()

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, x: Any) -> Entries:
        """The entries of a dict, column len(seen) where the feature is not known.

        Raises ValueError or TypeError naming a value that is no finite number.
        """
        columns, values, _ = self.seen.read(x)
        if not all(np.isfinite(values).tolist()):  # for a short row three times as fast as the array's own all()
            raise self.seen.complaint(x) or ValueError("a value of x is not finite")
        return columns, values

    def push(self, x: Mapping[Any, Any], label: int) -> None:
        """Take a sample whose values are known to be good."""
        unknown = self.seen.unknown(x)
        if unknown:
            self.seen.extend(unknown)
        columns, values, _ = self.seen.read(x)
        self.rows.append((columns, values))
        self.labels.append(label)

    def pop(self) -> tuple[Entries, int]:
        """The oldest sample, taken out."""
        return self.rows.popleft(), self.labels.popleft()

    def names(self, columns: np.ndarray) -> list[Any]:
        """The features of these columns."""
        names = self.seen.names
        return [names[j] for j in columns.tolist()]

    def matrix(self) -> sp.csr_matrix:
        """All rows (n, len(seen)); a zero that a row holds is stored, an absent feature is not."""
        ends = np.cumsum([0, *(len(values) for _, values in self.rows)])
        columns = np.concatenate([np.empty(0, dtype=np.int64), *(columns for columns, _ in self.rows)])
        values = np.concatenate([np.empty(0), *(values for _, values in self.rows)])
        out = sp.csr_matrix((values, columns, ends), shape=(len(self.rows), len(self.seen)))
        out.sort_indices()
        return out

    def keep(self, kept: np.ndarray) -> None:
        """Forget all features but these rising columns (m,), among which is every one that a row holds."""
        if len(kept) == len(self.seen):
            return
        place = np.zeros(len(self.seen), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        moved: dict[int, np.ndarray] = {}
        self.rows = deque((moved.setdefault(id(columns), place[columns]), values) for columns, values in self.rows)
        self.seen = Schema(self.names(kept))

    def state(self) -> dict[str, Any]:
        """Plain values and arrays; each distinct row of columns is there once."""
        orders: dict[bytes, int] = {}
        which = [orders.setdefault(columns.tobytes(), len(orders)) for columns, _ in self.rows]
        return {
            "names": list(self.seen.names),
            "lengths": np.array([len(order) // 8 for order in orders], dtype=np.int64),
            "columns": np.frombuffer(b"".join(orders), dtype=np.int64).copy(),
            "which": np.array(which, dtype=np.int64),
            "values": np.concatenate([np.empty(0), *(values for _, values in self.rows)]),
            "labels": np.array(self.labels, dtype=np.int64),
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Window:
        """The window that `state` describes; ValueError when its rows hold other features than it has names for."""
        made = cls()
        if ((state["columns"] < 0) | (state["columns"] >= len(state["names"]))).any():
            raise ValueError("a row of the window has a feature without a name")
        made.seen = Schema(state["names"])
        orders = np.split(state["columns"], np.cumsum(state["lengths"])[:-1]) if len(state["lengths"]) else []
        at = 0
        for k in state["which"].tolist():
            columns = orders[k]
            made.rows.append((columns, state["values"][at : at + len(columns)].copy()))
            at += len(columns)
        made.labels = deque(state["labels"].tolist())
        return made
