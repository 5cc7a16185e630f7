"""The rows of a window, dense in memory, found and taken out by their contents."""

from __future__ import annotations

import numpy as np


class RowStore:
    """A multiset of rows (n, d): O(d) to add, and to remove one equal row.

    Parameters
    ----------
    rows
        The rows to begin with, (n, d).

    Raises
    ------
    ValueError
        By `remove` of a row that is not there; nothing changed.

    Examples
    --------
    >>> import numpy as np
    >>> store = RowStore(np.eye(2))
    >>> store.remove(np.array([1.0, 0.0]))
    >>> store.rows.tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, rows: np.ndarray) -> None:
        self._buffer = np.array(rows, dtype=float)
        self._n = len(rows)
        self._where: dict[bytes, list[int]] = {}
        for i, row in enumerate(self._buffer):
            self._where.setdefault(row.tobytes(), []).append(i)

    @property
    def rows(self) -> np.ndarray:
        """The rows now, (n, d); a view."""
        return self._buffer[: self._n]

    def add(self, row: np.ndarray) -> None:
        """Take one row (d,)."""
        if self._n == len(self._buffer):
            more = np.empty((max(16, self._n), self._buffer.shape[1]))
            self._buffer = np.vstack([self._buffer, more])
        self._buffer[self._n] = row
        self._where.setdefault(row.tobytes(), []).append(self._n)
        self._n += 1

    def remove(self, row: np.ndarray) -> None:
        """Drop one row equal to `row`; the last one takes its place."""
        places = self._where.get(row.tobytes())
        if not places:
            raise ValueError("the row is not in the window")
        i, last = places.pop(), self._n - 1
        if not places:
            del self._where[row.tobytes()]
        if i != last:
            moved = self._where[self._buffer[last].tobytes()]
            moved[moved.index(last)] = i
            self._buffer[i] = self._buffer[last]
        self._n = last
