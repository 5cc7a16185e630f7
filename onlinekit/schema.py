"""Features: dicts, frames and arrays to float64 rows in one fixed column order."""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np


def bad_value(name: Any, value: Any) -> Exception:
    """The error for a value that is no finite number: ValueError for NaN and inf, else TypeError."""
    if isinstance(value, int) and not isinstance(value, bool):  # too large; its digits could fill the screen
        return ValueError(f"feature {name!r} is an integer of {value.bit_length()} bits; beyond the largest float")
    if isinstance(value, (float, np.floating)):
        return ValueError(f"feature {name!r} is {value!r}; a finite number is needed")
    return TypeError(f"feature {name!r} is {value!r}; a number is needed")


def is_finite_number(value: Any) -> bool:
    """Whether a value can stand in a row: a finite number, a bool, or a NumPy scalar of either."""
    try:
        return math.isfinite(struct.unpack("d", struct.pack("d", value))[0])
    except (struct.error, OverflowError, TypeError, ValueError):
        return False


def distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of whole numbers >= 0, ascending, and the place of each value among them."""
    top = int(values.max(initial=-1)) + 1
    if top > 16 * len(values) + 1024:
        return np.unique(values, return_inverse=True)
    place = np.zeros(top, dtype=np.int64)  # a table; sorting takes ten times as long
    place[values] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[values]


class Schema:
    """The features a model knows, in the order they first came.

    A row is float64 of exactly `len(schema)` values; a feature that a dict lacks is 0.0. The usual dict (the
    known keys, in any order) is packed by one `struct` call; other dicts take a slower, equally right way.
    """

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        self.names: list[Any] = list(names)
        self.index = {name: j for j, name in enumerate(self.names)}
        self._packers: dict[int, tuple[Any, Any]] = {}  # entries -> pack_into of columns, of values
        self._last: tuple[list[Any], int, np.ndarray, bool] = ([], 0, np.empty(0, dtype=np.int64), True)
        self._columns = np.empty(0, dtype=np.int64)  # integer name -> column as far as looked up, -1 elsewhere

    # These two take time of the order of all features, so they are made when first asked for: a stream of sparse rows
    # that brings new features all the time never does.
    @cached_property
    def values(self) -> Any:
        """The values of a dict in the order of the features; KeyError when one is missing."""
        # itemgetter of one key returns the bare value, so a row of one or none goes the general way.
        return itemgetter(*self.names) if len(self.names) > 1 else None

    @cached_property
    def pack_into(self) -> Any:
        """struct's pack_into for a row."""
        return struct.Struct(f"{len(self.names)}d").pack_into

    def __len__(self) -> int:
        return len(self.names)

    def unknown(self, names: Iterable[Any]) -> list[Any]:
        """The names not known yet, in their order."""
        index = self.index
        return [name for name in names if name not in index]

    def extend(self, names: Iterable[Any]) -> None:
        """Add new features behind the known ones."""
        for name in names:
            self.index[name] = len(self.names)
            self.names.append(name)
        self.__dict__.pop("values", None)
        self.__dict__.pop("pack_into", None)

    def pack(self, x: Mapping[Any, Any], row: Any) -> bool:
        """Fill `row` (length len(self)) from a dict; True when the dict has a feature not known yet.

        Raises TypeError naming the feature whose value is no number. Finiteness is the kernels' to check.
        """
        if type(x) is dict:  # a defaultdict or Counter makes up the values it lacks
            try:
                self.pack_into(row, 0, *self.values(x))
                return len(x) > len(self.names)
            except (KeyError, TypeError, struct.error, OverflowError):
                pass
        if not isinstance(x, Mapping) or 4 * len(x) < len(self.names):
            index, value = self.entries(x)
            known = index >= 0
            row[:] = 0.0
            row[index[known]] = value[known]
            return not known.all()
        try:
            self.pack_into(row, 0, *map(x.get, self.names, repeat(0.0)))
        except (TypeError, struct.error, OverflowError):
            raise self.complaint(x) or TypeError("x holds a value that is not a number") from None
        return not x.keys() <= self.index.keys()

    def entries(self, x: Mapping[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
        """(column (m,) int64, value (m,) float64) of a dict's m entries in their order; column -1 if not known.

        Raises TypeError naming the feature whose value is no number. Finiteness is the kernels' to check.
        """
        index, value, all_known = self.read(x)
        return (index.copy() if all_known else np.where(index < len(self.names), index, -1)), value

    def read(self, x: Mapping[Any, Any]) -> tuple[np.ndarray, np.ndarray, bool]:
        """(columns (m,), values (m,), whether all features are known); column len(self) if not known.

        Columns are not to be changed: learning usually follows predicting, and then they are not looked up again.
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, not {type(x).__name__}")
        m, known = len(x), len(self.names)
        try:
            pack_columns, pack_values = self._packers[m]
        except KeyError:
            pack_columns, pack_values = struct.Struct(f"{m}q").pack_into, struct.Struct(f"{m}d").pack_into
            self._packers[m] = pack_columns, pack_values
        value: Any = np.empty(m)
        try:
            pack_values(value, 0, *x.values())
        except (TypeError, struct.error, OverflowError):
            raise self.complaint(x) or TypeError("x holds a value that is not a number") from None
        names = [*x]
        last_names, last_known, index, all_known = self._last
        if names != last_names or known != last_known:
            index = np.empty(m, dtype=np.int64)
            columns = [*map(self.index.get, names, repeat(known))]
            pack_columns(index, 0, *columns)
            all_known = known not in columns
            self._last = names, known, index, all_known
        return index, value, all_known

    def columns(self, names: np.ndarray) -> np.ndarray:
        """The column of each of many integer names >= 0, -1 where it is not known, (n,) int64.

        A name is looked up in `index` once and kept in an array, which costs a tenth of the dict. The array ends
        where it would be mostly empty: names beyond are looked up anew.
        """
        table = self._columns  # another thread that predicts may replace it
        if len(table) and names.max(initial=0) < len(table):
            found = table[names]
        else:
            found = np.full(len(names), -1)
            within = names < len(table)
            found[within] = table[names[within]]
        missing = np.flatnonzero(found < 0)
        if len(missing):
            some, which = distinct(names[missing])
            columns = np.fromiter(map(self.index.get, some.tolist(), repeat(-1)), np.int64, len(some))
            found[missing] = columns[which]
            keep = (columns >= 0) & (some < 32 * len(self.names))
            if keep.any():
                last = int(some[keep][-1])
                if last >= len(table):
                    room = np.full(max(last + 1, 2 * len(table)) - len(table), -1)
                    table = np.concatenate((table, room))
                table[some[keep]] = columns[keep]
                self._columns = table
        return found

    def pack_valid(self, x: Mapping[Any, Any], row: np.ndarray) -> None:
        """Fill `row`, taking a value that is no finite number as absent (0.0)."""
        for j, name in enumerate(self.names):
            value = x.get(name, 0.0)
            row[j] = value if is_finite_number(value) else 0.0

    def complaint(self, x: Mapping[Any, Any]) -> Exception | None:
        """The error for the first bad value of a dict, None when there is none."""
        for name, value in x.items():
            if not is_finite_number(value):
                return bad_value(name, value)
        return None

    def matrix(self, X: np.ndarray, columns: list[Any]) -> np.ndarray:
        """Rows of the known features, C-ordered, from an array with these columns; unknown columns drop out."""
        if columns == self.names:
            rows = np.ascontiguousarray(X)
            return rows if rows.flags.writeable else rows.copy()  # read-only rows would be compiled for anew
        rows = np.zeros((X.shape[0], len(self.names)))
        for j, name in enumerate(columns):
            to = self.index.get(name)
            if to is not None:
                rows[:, to] = X[:, j]
        return rows


def read_batch(X: Any, lenient: bool = False) -> tuple[np.ndarray, list[Any]]:
    """A batch as (float64 array, column names): pandas, polars, pyarrow, CSR or a 2-D array (names 0..d-1).

    Raises TypeError naming the first column and row whose value is no number; `lenient` makes it NaN instead,
    for callers that pass over such rows.
    """
    values, names = _read(X, lenient)
    if len(set(names)) < len(names):
        twice = next(name for j, name in enumerate(names) if name in names[:j])
        raise ValueError(f"X has the column {twice!r} twice")
    return values, names


def _read(X: Any, lenient: bool) -> tuple[np.ndarray, list[Any]]:
    if isinstance(X, np.ma.MaskedArray) and X.mask.any():
        values = np.array(X.data, dtype=object)
        values[X.mask] = None
        X = values
    if isinstance(X, np.ndarray) or isinstance(X, list):
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, it has {array.ndim}")
        return _floats(array, list(range(array.shape[1])), lenient), list(range(array.shape[1]))
    if hasattr(X, "toarray"):
        dense = X.toarray()
        return np.asarray(dense, dtype=np.float64), list(range(dense.shape[1]))
    if hasattr(X, "column_names"):  # pyarrow
        names = list(X.column_names)
        parts = [np.asarray(X.column(j).to_pylist(), dtype=object) for j in range(len(names))]
        array = np.column_stack(parts) if parts else np.zeros((X.num_rows, 0))
        return _floats(array, names, lenient), names
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # pandas, polars
        names = list(X.columns)
        return _floats(X.to_numpy(), names, lenient), names
    raise TypeError(f"X must be a frame or a 2-D array, not {type(X).__name__}")


def _floats(array: np.ndarray, names: list[Any], lenient: bool) -> np.ndarray:
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    out = np.empty(array.shape)
    if array.dtype.kind in "mM":  # some of their units would pass for numbers, others not
        array = array.astype(str)
    for t, row in enumerate(array):
        for j, value in enumerate(row):
            try:
                out[t, j] = struct.unpack("d", struct.pack("d", value))[0]
            except (struct.error, OverflowError, TypeError):
                # None becomes NaN so that "skip" can pass over the row; the caller names it.
                if value is None or lenient:
                    out[t, j] = np.nan
                else:
                    error = bad_value(names[j], value)
                    raise type(error)(f"row {t}: {error}") from None
    return out
