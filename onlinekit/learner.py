"""ArrayClassifier: a plugin author writes kernels, users get a River classifier."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from river import base

from onlinekit import frames
from onlinekit.labels import BinaryLabels, ClassLabels, plain
from onlinekit.schema import Schema, bad_value, read_batch


class ArrayClassifier(base.MiniBatchClassifier):
    """A River classifier whose state is a few arrays and whose work is done by nopython kernels.

    It owns features, labels, validation, batching and pickling. A subclass names its state and its kernels:

    - `arrays`: array name -> axes, each "features", "outputs" or an integer. Zero-filled; the features axis has
      spare capacity, the outputs axis is 1 for two classes and the number of classes beyond.
    - `kernels`: a module with the functions below, each decorated with `onlinekit.kernel`. After their own
      arguments all take `stats`, the arrays in declared order, and the numbers of `_hyper()`.

    ============================================== ==========================================================
    learn(x, y, w, ...)                            learn one row; 0, or -1 when x is not finite (no change)
    predict(x, out, ...)                           fill out with probabilities; the class index, or -1
    learn_rows(X, y, w, ...)                       the loop of learn
    predict_rows(X, winners, out, ...)             the loop of predict
    prequential_rows(X, y, w, winners, out, ...)   predict, then learn, row by row
    ============================================== ==========================================================

    x is float64 (d,) with exactly the known features, y a class index, out (number of classes,), at least 2.

    Parameters
    ----------
    classes
        (False, True): a binary learner, labels True/False or 1/0. None: any hashable labels, found as they come.
        A sequence: those labels, known in advance.
    standardize
        Scale features by their running mean and deviation (onlinekit.scaling).
    on_invalid
        "raise" on a bad value, label or weight, or "skip" the row and count it in `n_skipped`. When skipping, a
        bad value counts as absent (0.0) in predictions.

    Raises
    ------
    ValueError
        A value is NaN or infinite, a label or weight is not valid; nothing was changed.
    TypeError
        A value is no number; nothing was changed.
    """

    arrays: ClassVar[Mapping[str, tuple[str | int, ...]]] = {}
    kernels: ClassVar[ModuleType]

    def __init__(
        self,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        if on_invalid not in ("raise", "skip"):
            raise ValueError(f"on_invalid must be 'raise' or 'skip', not {on_invalid!r}")
        self.classes = classes
        self.standardize = standardize
        self.on_invalid = on_invalid
        self.n_skipped = 0
        self._schema = Schema()
        self._labels = self._make_labels(())
        self._capacity = 4
        self._arrays = {name: np.zeros(self._shape(axes)) for name, axes in self.arrays.items()}
        self._stats = np.zeros((4, self._capacity if standardize else 0))
        self._refresh()

    def _hyper(self) -> tuple[float, ...]:
        """The parameters that the kernels take after the arrays."""
        return ()

    # -- state ---------------------------------------------------------------------------------------------

    def _make_labels(self, names: Sequence[Hashable]) -> BinaryLabels | ClassLabels:
        if self.classes is None:
            return ClassLabels(names)
        if list(self.classes) == [False, True] and all(isinstance(c, (bool, np.bool_)) for c in self.classes):
            return BinaryLabels()
        if len(self.classes) < 2:
            raise ValueError(f"classes must be None or name two labels at least, not {self.classes!r}")
        return ClassLabels(names or self.classes)

    @property
    def n_features(self) -> int:
        """Number of features known."""
        return len(self._schema)

    @property
    def _multiclass(self) -> bool:
        return not isinstance(self._labels, BinaryLabels)

    def _outputs(self) -> int:
        return 1 if len(self._labels) <= 2 else len(self._labels)

    def _shape(self, axes: tuple[str | int, ...]) -> tuple[int, ...]:
        size = {"features": self._capacity, "outputs": self._outputs()}
        return tuple(size[axis] if isinstance(axis, str) else axis for axis in axes)

    def _refresh(self) -> None:
        """Gather what kernel calls need; after every change of shape."""
        self._args = (self._stats, *self._arrays.values(), *self._hyper())
        # Buffers are taken and given back, never shared: list.pop and append are atomic, so threads may predict.
        self._pool: list[tuple[np.ndarray, np.ndarray]] = []

    def _take(self) -> tuple[np.ndarray, np.ndarray]:
        try:
            return self._pool.pop()
        except IndexError:
            return np.empty(len(self._schema)), np.empty(max(2, len(self._labels)))

    def _grow_features(self, names: Sequence[Any]) -> None:
        self._schema.extend(names)
        if len(self._schema) > self._capacity:
            while self._capacity < len(self._schema):
                self._capacity *= 2
            for name, axes in self.arrays.items():
                self._arrays[name] = _enlarged(self._arrays[name], self._shape(axes))
            if self.standardize:
                self._stats = _enlarged(self._stats, (4, self._capacity))
        self._refresh()

    def _add_class(self, label: Any) -> int:
        assert isinstance(self._labels, ClassLabels)
        if not self._labels.growing:
            raise ValueError(f"label {label!r} is not one of the declared classes {self._labels.names!r}")
        index = self._labels.add(label)
        for name, axes in self.arrays.items():
            old = self._arrays[name]
            new = _enlarged(old, self._shape(axes))
            if index == 2 and "outputs" in axes:
                # One output w for two classes becomes rows -w/2 and +w/2: no score difference jumps.
                to, first = (
                    np.moveaxis(new, axes.index("outputs"), 0),
                    np.moveaxis(old, axes.index("outputs"), 0),
                )
                to[0], to[1] = -0.5 * first[0], 0.5 * first[0]
            self._arrays[name] = new
        self._refresh()
        return index

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        for derived in ("_args", "_pool", "_schema", "_labels"):
            del state[derived]
        state["_features"] = list(self._schema.names)
        state["_class_names"] = list(self._labels.names)
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        own = dict(state)
        self._schema = Schema(own.pop("_features"))
        names = own.pop("_class_names")
        self.__dict__.update(own)
        self._labels = self._make_labels(names)
        self._refresh()

    # -- one by one ----------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample: features x, label y, weight w >= 0."""
        try:
            k = self._labels.find(y)
            if w != 1.0:
                w = _weight(w)
            row, out = self._take()
            if self._schema.pack(x, row) or k < 0:
                row, out, k = self._admit(x, y, k)
            if self.kernels.learn(row, k, w, *self._args) < 0:
                raise self._schema.complaint(x) or ValueError("a value of x is not finite")
        except (TypeError, ValueError):
            if self.on_invalid == "raise":
                raise
            self.n_skipped += 1
            return
        self._pool.append((row, out))

    def _admit(self, x: dict[Any, Any], y: Any, k: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Let new features and a new class in, once the whole sample is known to be valid."""
        problem = self._schema.complaint(x)
        if problem is not None:
            raise problem
        if k < 0:
            k = self._add_class(y)
        unknown = self._schema.unknown(x)
        if unknown:
            self._grow_features(unknown)
        row, out = self._take()
        self._schema.pack(x, row)
        return row, out, k

    def _predict(self, x: dict[Any, Any]) -> tuple[int, np.ndarray, np.ndarray]:
        row, out = self._take()
        try:
            self._schema.pack(x, row)
            winner = self.kernels.predict(row, out, *self._args)
            if winner < 0:
                raise self._schema.complaint(x) or ValueError("a value of x is not finite")
        except (TypeError, ValueError):
            if self.on_invalid == "raise" or not isinstance(x, Mapping):
                raise
            self._schema.pack_valid(x, row)
            winner = self.kernels.predict(row, out, *self._args)
        return winner, row, out

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The most probable label; None before any label is known."""
        known = len(self._labels)
        if known < 2:
            return self._labels.names[0] if known else None
        winner, row, out = self._predict(x)
        self._pool.append((row, out))
        return self._labels.names[winner]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Label -> probability; {} before any label is known."""
        known = len(self._labels)
        if known < 2:
            return {name: 1.0 for name in self._labels.names}
        _, row, out = self._predict(x)
        result = dict(zip(self._labels.names, out.tolist(), strict=True))
        self._pool.append((row, out))
        return result

    # -- batches -------------------------------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame or array in order: exactly the loop of learn_one."""
        self._run(X, y, w, predict=False)

    def prequential_many(self, X: Any, y: Any, w: Any = None) -> np.ndarray:
        """Predict each row, then learn it; the predicted labels (None before any label was known)."""
        return self._run(X, y, w, predict=True)

    def _run(self, X: Any, y: Any, w: Any, predict: bool) -> np.ndarray:
        lenient = self.on_invalid == "skip"
        values, columns = read_batch(X, lenient)
        n = values.shape[0]
        labels = y if isinstance(y, np.ndarray) and y.ndim == 1 else frames.column(y)
        if len(labels) != n:
            raise ValueError(f"X has {n} rows and y {len(labels)}")
        codes, good = self._codes(labels, lenient)
        weights = np.ones(n) if w is None else np.asarray([_weight(v) for v in _spread(w, n)])
        finite = np.isfinite(values).all(axis=1)
        if not lenient and not finite.all():
            t = int(np.argmin(finite))
            j = int(np.argmin(np.isfinite(values[t])))
            raise ValueError(f"row {t}: {bad_value(columns[j], float(values[t, j]))}")
        good &= finite
        winners = np.full(n, -1, dtype=np.int64)
        names: list[Any] = list(self._labels.names)
        t = 0
        while t < n:
            # Up to the next row that is bad or brings a new class, everything is one nopython loop.
            halts = np.flatnonzero(~good[t:] | (codes[t:] >= len(self._labels)))
            stop = t + int(halts[0]) if len(halts) else n
            if stop > t:
                self._grow_features(self._schema.unknown(columns))
                rows = self._schema.matrix(values, columns)[t:stop]
                part = (rows, codes[t:stop], weights[t:stop])
                if predict and len(self._labels) >= 2:
                    out = np.empty((stop - t, len(self._labels)))
                    self.kernels.prequential_rows(*part, winners[t:stop], out, *self._args)
                else:
                    if predict and len(self._labels) == 1:
                        winners[t:stop] = 0
                    self.kernels.learn_rows(*part, *self._args)
            if stop < n:
                if predict:
                    usable = np.where(np.isfinite(values[stop]), values[stop], 0.0)
                    label = self.predict_one(dict(zip(columns, usable.tolist(), strict=True)))
                    if label is not None:
                        winners[stop] = names.index(label)
                if not good[stop]:
                    self.n_skipped += 1
                else:
                    self._add_class(labels[stop])
                    names = list(self._labels.names)
                    self._grow_features(self._schema.unknown(columns))
                    row = self._schema.matrix(values[stop : stop + 1], columns)
                    end = stop + 1
                    self.kernels.learn_rows(row, codes[stop:end], weights[stop:end], *self._args)
                stop += 1
            t = stop
        if isinstance(self._labels, BinaryLabels):
            return winners == 1
        result = np.empty(n, dtype=object)
        result[:] = [None if k < 0 else self._labels.names[k] for k in winners]
        return result

    def _codes(self, labels: Any, lenient: bool) -> tuple[np.ndarray, np.ndarray]:
        """Class indices, new classes numbered on in order of appearance, and which labels are valid."""
        if isinstance(labels, np.ndarray) and labels.dtype == bool and isinstance(self._labels, BinaryLabels):
            return labels.astype(np.int64), np.ones(len(labels), dtype=bool)
        codes = np.zeros(len(labels), dtype=np.int64)
        good = np.ones(len(labels), dtype=bool)
        new: dict[Any, int] = {}
        for t, label in enumerate(labels):
            try:
                k = self._labels.find(label)
                if k < 0:
                    if not self._labels.growing:
                        raise ValueError(f"label {label!r} is not one of {self._labels.names!r}")
                    k = new.setdefault(plain(label), len(self._labels) + len(new))
                codes[t] = k
            except (TypeError, ValueError) as error:
                if not lenient:
                    raise type(error)(f"row {t}: {error}") from None
                good[t] = False
        return codes, good

    def _predict_batch(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        values, columns = read_batch(X, self.on_invalid == "skip")
        known = [name in self._schema.index for name in columns]
        bad = ~np.isfinite(values) & np.asarray(known, dtype=bool)
        if bad.any():
            if self.on_invalid == "raise":
                t, j = (int(i) for i in np.argwhere(bad)[0])
                raise ValueError(f"row {t}: {bad_value(columns[j], float(values[t, j]))}")
            values = np.where(np.isfinite(values), values, 0.0)
        n, known_classes = values.shape[0], len(self._labels)
        winners = np.zeros(n, dtype=np.int64)
        if known_classes < 2:
            return winners, np.ones((n, known_classes))
        out = np.empty((n, known_classes))
        self.kernels.predict_rows(self._schema.matrix(values, columns), winners, out, *self._args)
        return winners, out

    def predict_many(self, X: Any) -> Any:
        """The most probable label of each row, in the caller's own kind of column."""
        winners, _ = self._predict_batch(X)
        names = self._labels.names
        return frames.series(X, [names[k] for k in winners] if names else [None] * len(winners))

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities (rows x labels), in the caller's own kind of frame."""
        _, out = self._predict_batch(X)
        return frames.frame(X, out, list(self._labels.names))


def _enlarged(old: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array with room for more, new cells zero."""
    if old.shape == shape:
        return old
    new = np.zeros(shape)
    new[tuple(slice(size) for size in old.shape)] = old
    return new


def _spread(w: Any, n: int) -> list[Any]:
    values = [w] * n if isinstance(w, numbers.Number) else frames.column(w)
    if len(values) != n:
        raise ValueError(f"X has {n} rows and w {len(values)}")
    return values


def _weight(w: Any) -> float:
    """A sample weight as a float; ValueError or TypeError naming it when it is not a finite number >= 0."""
    if isinstance(w, (str, bytes)) or not isinstance(w, (numbers.Real, np.generic)):
        raise TypeError(f"weight w is {w!r}; a number is needed")
    value = float(w)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError(f"weight w is {w!r}; it must be finite and not negative")
    return value
