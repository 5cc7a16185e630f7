"""The latest samples as rows in which an absent feature is told from a zero."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from onlinekit.schema import Schema


class Window:
    """Samples in the order they came: rows in the order of `names`, NaN where a feature is absent, class indices.

    A row is as long as the features known when it came; what follows is absent.
    """

    def __init__(self) -> None:
        self.seen = Schema()
        self.rows: deque[np.ndarray] = deque()
        self.labels: deque[int] = deque()

    def __len__(self) -> int:
        return len(self.rows)

    def push(self, x: Mapping[Any, Any], label: int) -> None:
        """Take a sample whose values are known to be good."""
        unknown = self.seen.unknown(x)
        if unknown:
            self.seen.extend(unknown)
        row = np.full(len(self.seen), np.nan)
        index = self.seen.index
        row[[index[name] for name in x]] = [float(value) for value in x.values()]
        self.rows.append(row)
        self.labels.append(label)

    def pop(self) -> tuple[np.ndarray, int]:
        """The oldest sample, taken out."""
        return self.rows.popleft(), self.labels.popleft()

    def matrix(self) -> np.ndarray:
        """All rows (n, len(seen)), NaN where absent."""
        out = np.full((len(self.rows), len(self.seen)), np.nan)
        for to, row in zip(out, self.rows, strict=True):
            to[: len(row)] = row
        return out

    def keep(self, columns: np.ndarray) -> None:
        """Forget all features but these columns (m,), which become the first."""
        matrix = self.matrix()[:, columns]
        names = [self.seen.names[j] for j in columns]
        self.seen = Schema(names)
        self.rows = deque(matrix)

    def state(self) -> dict[str, Any]:
        """Plain values and arrays."""
        lengths = np.array([len(row) for row in self.rows], dtype=np.int64)
        labels = np.array(self.labels, dtype=np.int64)
        return {"names": list(self.seen.names), "matrix": self.matrix(), "lengths": lengths, "labels": labels}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Window:
        """The window that `state` describes."""
        made = cls()
        made.seen = Schema(state["names"])
        made.rows = deque(row[:n].copy() for row, n in zip(state["matrix"], state["lengths"], strict=True))
        made.labels = deque(state["labels"].tolist())
        return made
