"""Batches of an ArrayClassifier: rows of a frame, array or sparse matrix, run through its nopython loops.

A batch means the loop of learn_one and predict_one over its rows. Rows that change the shape of the state or are not
valid go through those doors themselves; all between two such rows is one nopython loop.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from scipy import sparse

from onlinekit import frames
from onlinekit.labels import BinaryLabels, plain
from onlinekit.schema import bad_value, distinct, read_batch

# Beyond it the rounding of one step outweighs what was learned: of a covariance, say, that should shrink to 1 / w.
LARGEST_WEIGHT = 1e12
CHUNK = 1024  # rows of a sparse matrix made dense at a time


def is_sparse(entries: Any, features: Any) -> Any:
    """Whether rows with so many entries, when so many features are known, go to the sparse kernels."""
    return (features >= 256) & (8 * entries <= features)


def valid_weight(w: Any) -> float:
    """A sample weight as a float; ValueError or TypeError naming it when it is no number from 0 to LARGEST_WEIGHT."""
    if not isinstance(w, (numbers.Real, np.bool_)) or isinstance(w, np.timedelta64):
        raise TypeError(f"weight w is {w!r}; a number is needed")
    try:
        value = float(w)
    except OverflowError:  # of an integer too large to show
        value = math.inf
    if not 0.0 <= value <= LARGEST_WEIGHT:
        raise ValueError(f"weight w is {value!r}; it must be from 0 to {LARGEST_WEIGHT:g}")
    return value


def run(model: Any, X: Any, y: Any, w: Any, predict: bool) -> np.ndarray:
    """Learn the rows in order, after predicting each if asked to; the predicted labels."""
    lenient = model.on_invalid == "skip"
    rows = _rows(model, X, lenient)
    n = rows.n
    labels = y if isinstance(y, np.ndarray) and y.ndim == 1 else frames.column(y)
    if len(labels) != n:
        raise ValueError(f"X has {n} rows and y {len(labels)}")
    good = rows.finite(lenient)
    # Weights first: a class that came with a bad weight in a skipped row is not known by that.
    weights = np.ones(n) if w is None else _weights(w, good, lenient)
    codes = _codes(model, labels, good, lenient)
    winners = np.full(n, -1, dtype=np.int64)
    # A row without a label teaches no features, as it has no class that the model could come to know.
    teaches = good & ((codes < len(model._labels)) | model._labels.growing)
    halts = ~good | rows.halts(teaches, predict)
    new = np.flatnonzero(good & (codes >= len(model._labels)))
    halts[new[np.unique(codes[new], return_index=True)[1]]] = True

    def loops(start: int, stop: int) -> int:
        """Run the rows from start on in nopython loops; the first row refused, or stop."""
        for part, (learn, prequential, data) in rows.segments(start, stop):
            labelled = (*data, codes[part], weights[part])
            known, args = len(model._labels), model._take().args
            if predict and known >= 2:
                told = prequential(*labelled, winners[part], np.empty((part.stop - part.start, known)), *args)
            else:
                winners[part] = known - 1  # nothing to choose from: the one class known, or none
                told = learn(*labelled, *args)
            if told is not None and told > 0:
                return part.start + told - 1
        return stop

    def door(t: int, predicted: bool) -> None:
        """Run one row as the loop of learn_one does, with its errors and its counting."""
        x = rows.row(t)
        if predict and not predicted:
            label = model.predict_one(x)
            winners[t] = -1 if label is None else model._labels.index[label]
        model.learn_one(x, labels[t], float(weights[t]))

    t = 0
    for stop in (*np.flatnonzero(halts).tolist(), n):
        while t < stop and (t := loops(t, stop)) < stop:
            door(t, predicted=True)  # the loop had come as far
            t += 1
        if stop < n:
            door(stop, predicted=False)
        t = stop + 1
    if not predict:
        return winners
    if isinstance(model._labels, BinaryLabels):
        return winners == 1
    result = np.empty(n, dtype=object)
    result[:] = [None if k < 0 else model._labels.names[k] for k in winners]
    return result


def predict(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """(class index (n,), probabilities (n, number of classes)) of the rows."""
    lenient = model.on_invalid == "skip"
    rows = _rows(model, X, lenient)
    rows.admit_for_prediction(lenient)
    known = len(model._labels)
    winners = np.zeros(rows.n, dtype=np.int64)
    out = np.ones((rows.n, known))
    if known >= 2:
        args = model._take().args
        for part, kernel, data in rows.predictions():
            # Plain slices are written in place; picked rows are not views, so they are written back.
            some, probabilities = winners[part], out[part]
            kernel(*data, some, probabilities, *args)
            winners[part], out[part] = some, probabilities
        if (winners < 0).any():
            raise ValueError(f"row {int(np.argmax(winners < 0))}: the score of the sample is not finite")
    return winners, out


def _rows(model: Any, X: Any, lenient: bool) -> _Dense | _Sparse:
    if model.sparse and sparse.issparse(X):
        return _Sparse(model, X)
    rows, features = _Dense(model, X, lenient), model.n_features
    d = len(rows.columns)
    if not model.sparse or features + d < 256:
        return rows
    # Rows that are few of the features go the way of such dicts, which scales without centring.
    known = d - len(model._schema.unknown(rows.columns))
    few = is_sparse(known, features) or is_sparse(d, features + d - known)
    if few or (lenient and not rows.finite(True).all()):  # dicts that predict lose their bad values
        entries = (rows.values.ravel(), np.tile(np.arange(d), rows.n), np.arange(rows.n + 1) * d)
        return _Sparse(model, sparse.csr_array(entries, shape=(rows.n, d)), rows.columns)
    return rows


class _Dense:
    """A batch that names all its columns in every row."""

    def __init__(self, model: Any, X: Any, lenient: bool) -> None:
        self.model = model
        self.values, self.columns = read_batch(X, lenient)
        self.n = len(self.values)

    def finite(self, lenient: bool) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            if math.isfinite(self.values.sum()):  # the usual batch; finite values can also sum to infinity
                return np.ones(self.n, dtype=bool)
        good = np.isfinite(self.values).all(axis=1)
        if not lenient and not good.all():
            self._complain(~np.isfinite(self.values))
        return good

    def _complain(self, bad: np.ndarray) -> None:
        t, j = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"row {t}: {bad_value(self.columns[j], float(self.values[t, j]))}")

    def halts(self, teaches: np.ndarray, predict: bool) -> np.ndarray:
        """Rows up to the first that teaches, where it brings features that are not neutral before they are known."""
        result = np.zeros(self.n, dtype=bool)
        if not self.model._neutral and self.model._schema.unknown(self.columns):
            result[: np.argmax(teaches) + 1 if teaches.any() else self.n] = True
        return result

    def row(self, t: int) -> dict[Any, float]:
        return dict(zip(self.columns, self.values[t].tolist(), strict=True))

    def segments(self, start: int, stop: int) -> Iterator[tuple[slice, Any]]:
        self.model._grow_features(self.model._schema.unknown(self.columns))
        kernels = self.model.kernels
        rows = self.model._schema.matrix(self.values[start:stop], self.columns)
        yield slice(start, stop), (kernels.learn_rows, kernels.prequential_rows, (rows,))

    def admit_for_prediction(self, lenient: bool) -> None:
        known = [name in self.model._schema.index for name in self.columns]
        bad = ~np.isfinite(self.values) & np.asarray(known, dtype=bool)
        if bad.any():
            if not lenient:
                self._complain(bad)
            self.values = np.where(np.isfinite(self.values), self.values, 0.0)

    def predictions(self) -> Iterator[tuple[slice, Any, tuple[np.ndarray, ...]]]:
        rows = self.model._schema.matrix(self.values, self.columns)
        yield slice(0, self.n), self.model.kernels.predict_rows, (rows,)


class _Sparse:
    """A scipy sparse matrix: each row is the dict column -> value of its stored entries."""

    def __init__(self, model: Any, X: Any, names: list[Any] | None = None) -> None:
        self.model = model
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, it has {X.ndim}")
        matrix = sparse.csr_array(X, dtype=np.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        self.data, self.indptr, self.indices = matrix.data, matrix.indptr.astype(np.int64), matrix.indices
        self.n = matrix.shape[0]
        self.entries = np.diff(self.indptr)
        self.names = names  # of the matrix's columns; None: their numbers
        # The model's own column of each entry, -1 where it does not know the feature.
        if names is None:
            self.column = model._schema.columns(self.indices)
        else:
            known = map(model._schema.index.get, names, repeat(-1))
            self.column = np.fromiter(known, np.int64, len(names))[self.indices]

    def name(self, j: int) -> Any:
        """The name of a column of the matrix."""
        return int(j) if self.names is None else self.names[j]

    def finite(self, lenient: bool) -> np.ndarray:
        bad = np.flatnonzero(~np.isfinite(self.data))
        good = np.ones(self.n, dtype=bool)
        if len(bad):
            rows = np.searchsorted(self.indptr, bad, side="right") - 1
            if not lenient:
                problem = bad_value(self.name(self.indices[bad[0]]), float(self.data[bad[0]]))
                raise ValueError(f"row {rows[0]}: {problem}")
            good[rows] = False
        return good

    def halts(self, teaches: np.ndarray, predict: bool) -> np.ndarray:
        """Rows whose prediction takes another way than their learning, or whose features are not neutral."""
        self.unknown = np.flatnonzero(self.column < 0)
        rows = np.repeat(np.arange(self.n), self.entries)[self.unknown]
        self.unknown_names, self.which = distinct(self.indices[self.unknown])
        self.admitted = np.full(len(self.unknown_names), -1)  # the column that each gets
        fresh = np.flatnonzero(teaches[rows])
        first = np.full(len(self.unknown_names), -1)
        first[self.which[fresh[::-1]]] = fresh[::-1]  # the earliest is written last
        # New features in the order they come, and the row that brings each.
        self.new = np.argsort(first, kind="stable")[np.count_nonzero(first < 0) :]
        self.new_rows = rows[first[self.new]]
        brought = np.bincount(self.new_rows, minlength=self.n)
        after = self.model.n_features + np.cumsum(brought)
        self.kind = is_sparse(self.entries, after)
        if not self.model._neutral:
            return (np.bincount(rows, minlength=self.n) > 0) & ~teaches | (brought > 0)
        if predict:
            # A row with a new column may hold others that are new to the model as well, known by now.
            return self.kind != is_sparse(self.entries - brought, after - brought)
        return np.zeros(self.n, dtype=bool)

    def row(self, t: int) -> dict[int, float]:
        part = slice(self.indptr[t], self.indptr[t + 1])
        names = map(self.name, self.indices[part])
        return dict(zip(names, self.data[part].tolist(), strict=True))

    def _admit(self, stop: int) -> None:
        """Let in the new features of the rows before `stop`."""
        last = int(np.searchsorted(self.new_rows, stop))
        if last:
            schema, new = self.model._schema, self.new[:last]
            numbers = self.unknown_names[new]
            names = [self.name(j) for j in numbers]
            self.model._grow_features(schema.unknown(names))
            given = schema.columns(numbers) if self.names is None else [schema.index[name] for name in names]
            self.admitted[new] = given
            self.new, self.new_rows = self.new[last:], self.new_rows[last:]

    def _columns(self, lo: int, hi: int) -> np.ndarray:
        """The model's columns of the entries lo..hi, once all their features are let in."""
        some = slice(*np.searchsorted(self.unknown, (lo, hi)))
        self.column[self.unknown[some]] = self.admitted[self.which[some]]
        return self.column[lo:hi]

    def segments(self, start: int, stop: int) -> Iterator[tuple[slice, Any]]:
        kernels = self.model.kernels
        edges = start + 1 + np.flatnonzero(np.diff(self.kind[start:stop]))
        for low, high in zip((start, *edges.tolist()), (*edges.tolist(), stop), strict=True):
            if self.kind[low]:
                self._admit(high)
                lo, hi = self.indptr[low], self.indptr[high]
                rows = (self.indptr[low : high + 1] - lo, self._columns(lo, hi), self.data[lo:hi])
                yield slice(low, high), (kernels.learn_sparse_rows, kernels.prequential_sparse_rows, rows)
                continue
            for begin in range(low, high, CHUNK):
                end = min(begin + CHUNK, high)
                self._admit(end)
                yield slice(begin, end), (kernels.learn_rows, kernels.prequential_rows, (self._dense(begin, end),))

    def _dense(self, start: int, stop: int) -> np.ndarray:
        rows = np.zeros((stop - start, self.model.n_features))
        lo, hi = self.indptr[start], self.indptr[stop]
        at = np.repeat(np.arange(stop - start), self.entries[start:stop])
        rows[at, self._columns(lo, hi)] = self.data[lo:hi]
        return rows

    def admit_for_prediction(self, lenient: bool) -> None:
        """Keep the entries of known columns that are finite."""
        keep = self.column >= 0
        bad = keep & ~np.isfinite(self.data)
        if bad.any():
            if not lenient:
                self.finite(False)
            keep &= ~bad
        total = np.concatenate(([0], np.cumsum(keep)))
        self.indptr = total[self.indptr]
        self.entries = np.diff(self.indptr)
        self.column, self.data = self.column[keep], self.data[keep]

    def predictions(self) -> Iterator[tuple[Any, Any, tuple[np.ndarray, ...]]]:
        kernels = self.model.kernels
        kind = is_sparse(self.entries, self.model.n_features)
        matrix = sparse.csr_array((self.data, self.column, self.indptr), shape=(self.n, self.model.n_features))
        thin, full = np.flatnonzero(kind), np.flatnonzero(~kind)
        if len(thin):
            part = matrix[thin]
            rows = (part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data)
            yield thin, kernels.predict_sparse_rows, rows
        for begin in range(0, len(full), CHUNK):
            some = full[begin : begin + CHUNK]
            yield some, kernels.predict_rows, (matrix[some].toarray(),)


def _codes(model: Any, labels: Any, good: np.ndarray, lenient: bool) -> np.ndarray:
    """Class indices of the good rows, new classes numbered on as they come; rows with a bad label become not good."""
    known = model._labels
    if isinstance(labels, np.ndarray) and labels.dtype == bool and isinstance(known, BinaryLabels):
        return labels.astype(np.int64)
    codes = np.zeros(len(labels), dtype=np.int64)
    new: dict[Any, int] = {}
    for t in np.flatnonzero(good).tolist():
        label = labels[t]
        try:
            k = known.find(label)
            if k < 0:
                if not known.growing:
                    raise ValueError(f"label {label!r} is not one of {known.names!r}")
                k = new.setdefault(plain(label), len(known) + len(new))
            codes[t] = k
        except (TypeError, ValueError) as error:
            if not lenient:
                raise type(error)(f"row {t}: {error}") from None
            good[t] = False
    return codes


def _weights(w: Any, good: np.ndarray, lenient: bool) -> np.ndarray:
    """Sample weights; a bad one makes its row not good where that is allowed."""
    n = len(good)
    values = [w] * n if isinstance(w, numbers.Number) else frames.column(w)
    if len(values) != n:
        raise ValueError(f"X has {n} rows and w {len(values)}")
    weights = np.full(n, np.nan)
    for t, value in enumerate(values):
        try:
            weights[t] = valid_weight(value)
        except (TypeError, ValueError) as error:
            if not lenient:
                raise type(error)(f"row {t}: {error}") from None
            good[t] = False
    return weights
