"""Rows kept in memory, dense or CSR, found and taken out by their keys."""

from __future__ import annotations

from bisect import insort
from typing import Any

import numpy as np
import scipy.sparse as sp

from .losses import gathered


class RowStore:
    """A multiset of rows (n, d), each with a key of 16 bytes and some numbers of its own.

    Adding costs the row's length (its non-zeros when ``sparse``), and so does taking out: the last row moves in.

    Parameters
    ----------
    d
        Length of a row.
    sparse
        Whether CSR rows are kept; what comes in the other form is converted.
    columns
        How many numbers each row has beside it.

    Raises
    ------
    ValueError
        By `pop` of a key that is not there; nothing changed.

    Examples
    --------
    >>> import numpy as np
    >>> store = RowStore(2)
    >>> store.add([b"a" * 16, b"b" * 16], np.eye(2))
    >>> store.pop([b"a" * 16]).shape
    (1, 0)
    >>> store.rows.tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, d: int, sparse: bool = False, columns: int = 0) -> None:
        self.sparse, self.n = sparse, 0
        self._numbers = np.empty((0, columns))
        self._body: _Dense | _Sparse = _Sparse(d) if sparse else _Dense(d)
        self._keys: list[bytes] = []
        # Where each key's rows are; made when first asked for.
        self._where: dict[bytes, list[int]] | None = None

    @property
    def rows(self) -> Any:
        """The rows now, (n, d), a view where it can be one."""
        return self._body.take(self.n, None)

    @property
    def numbers(self) -> np.ndarray:
        """The numbers beside the rows, (n, columns), a view."""
        return self._numbers[: self.n]

    @property
    def keys(self) -> list[bytes]:
        """The keys in the order of the rows."""
        return self._keys

    def take(self, chosen: np.ndarray) -> Any:
        """The rows at these places."""
        return self._body.take(self.n, chosen)

    def _places(self) -> dict[bytes, list[int]]:
        if self._where is None:
            self._where = {}
            for i, key in enumerate(self._keys):
                self._where.setdefault(key, []).append(i)
        return self._where

    def add(self, keys: list[bytes], rows: Any, numbers: np.ndarray | None = None) -> None:
        """Take rows (k, d), dense or CSR, with their keys and numbers (k, columns)."""
        if self._where is not None:
            for i, key in enumerate(keys, self.n):
                self._where.setdefault(key, []).append(i)
        self._body.extend(self.n, rows)
        self._numbers = _grown(self._numbers, self.n, len(keys))
        if numbers is not None:
            self._numbers[self.n : self.n + len(keys)] = numbers
        self._keys.extend(keys)
        self.n += len(keys)

    def pop(self, keys: list[bytes]) -> np.ndarray:
        """Drop one row for each key; the numbers that were beside them, (k, columns)."""
        where = self._places()
        wanted: dict[bytes, int] = {}
        for key in keys:
            wanted[key] = wanted.get(key, 0) + 1
        if any(len(where.get(key, ())) < count for key, count in wanted.items()):
            raise ValueError("the row is not among those kept")
        gone = np.empty((len(keys), self._numbers.shape[1]))
        for out, key in enumerate(keys):
            places = where[key]
            i, last = places.pop(), self.n - 1
            if not places:
                del where[key]
            gone[out] = self._numbers[i]
            self._numbers[i] = self._numbers[last]
            self._body.move(last, i)
            tail = self._keys.pop()
            if i != last:
                # Places rise, as after loading: it is then the same one of equal rows that leaves next.
                moved = where[tail]
                moved.pop()
                insort(moved, i)
                self._keys[i] = tail
            self.n = last
        self._body.shrink(self.n)
        return gone

    def __getstate__(self) -> dict[str, Any]:
        rows = self.rows
        parts = (rows.indptr, rows.indices, rows.data) if self.sparse else (rows,)
        return {
            "d": rows.shape[1],
            "sparse": self.sparse,
            "rows": [part.copy() for part in parts],
            "numbers": self.numbers.copy(),
            "keys": np.frombuffer(b"".join(self._keys), dtype=np.uint8).copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts, raw = state["rows"], state["keys"].tobytes()
        self.__init__(state["d"], state["sparse"], state["numbers"].shape[1])  # type: ignore[misc]
        indptr, *rest = parts
        rows = sp.csr_matrix((rest[1], rest[0], indptr), shape=(len(indptr) - 1, state["d"])) if rest else indptr
        if rest:
            rows.check_format()  # products with CSR do not check that the indices are within
        self.add([raw[i : i + 16] for i in range(0, len(raw), 16)], rows, state["numbers"])


def _grown(buffer: np.ndarray, n: int, more: int) -> np.ndarray:
    """A buffer with room for ``more`` behind the first n; its size doubles when it is renewed, but for the first."""
    if n + more <= len(buffer):
        return buffer
    out = np.empty((n + more if n == 0 else max(n + more, 2 * n), *buffer.shape[1:]), dtype=buffer.dtype)
    out[:n] = buffer[:n]
    return out


class _Dense:
    """Rows one under the other."""

    def __init__(self, d: int) -> None:
        self._buffer = np.empty((0, d))

    def extend(self, n: int, rows: Any) -> None:
        dense = rows.toarray() if sp.issparse(rows) else rows
        self._buffer = _grown(self._buffer, n, len(dense))
        self._buffer[n : n + len(dense)] = dense

    def move(self, source: int, to: int) -> None:
        self._buffer[to] = self._buffer[source]

    def shrink(self, n: int) -> None:
        pass

    def take(self, n: int, chosen: np.ndarray | None) -> np.ndarray:
        return self._buffer[:n] if chosen is None else self._buffer[:n][chosen]


class _Sparse:
    """Non-zeros one behind the other; row i are ``length[i]`` of them from ``start[i]`` on."""

    def __init__(self, d: int) -> None:
        self._d, self._used = d, 0
        self._place = np.empty((0, 2), dtype=np.int64)
        self._index, self._value = np.empty(0, dtype=np.int32), np.empty(0)

    def extend(self, n: int, rows: Any) -> None:
        rows = rows if sp.issparse(rows) else sp.csr_matrix(rows)
        k, size = rows.shape[0], rows.nnz
        self._place = _grown(self._place, n, k)
        self._place[n : n + k, 0] = rows.indptr[:-1]
        self._place[n : n + k, 0] += self._used - rows.indptr[0]
        self._place[n : n + k, 1] = np.diff(rows.indptr)
        self._index, self._value = _grown(self._index, self._used, size), _grown(self._value, self._used, size)
        self._index[self._used : self._used + size] = rows.indices
        self._value[self._used : self._used + size] = rows.data
        self._used += size

    def move(self, source: int, to: int) -> None:
        self._place[to] = self._place[source]

    def shrink(self, n: int) -> None:
        """Drop what no row uses, when it is most of the room."""
        if self._used > 1024 + 2 * int(self._place[:n, 1].sum()):
            rows = self.take(n, None)
            self._used = 0
            self.extend(0, rows)

    def take(self, n: int, chosen: np.ndarray | None) -> sp.csr_matrix:
        place = self._place[:n] if chosen is None else self._place[:n][chosen]
        return gathered(np.ascontiguousarray(place), self._index, self._value, self._d)
