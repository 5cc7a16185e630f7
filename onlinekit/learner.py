"""ArrayClassifier: a plugin author writes kernels, users get a River classifier."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from onlinekit import batches, frames
from onlinekit.arrays import NO_WAY, ArrayState, Buffer
from onlinekit.batches import valid_weight
from onlinekit.jit import direct
from onlinekit.scaling import finite
from onlinekit.schema import Schema, is_finite_number

# What the way of the usual sample stumbles over in any other.
UNUSUAL = (ArithmeticError, IndexError, KeyError, TypeError, ValueError, struct.error)
# Values of these types cannot change under a buffer that keeps them; arrays and tensors of one number can.
LASTING = frozenset((float, int, bool, np.float64))


class ArrayClassifier(ArrayState):
    """A River classifier whose state is a few arrays and whose work is done by nopython kernels.

    It owns features, labels, validation, batching and pickling. A subclass names its state and its kernels:

    - `arrays`: array name -> axes, each "features", "outputs", a name of `_sizes()` or an integer. Zero-filled; the
      features axis has spare capacity, the outputs axis is 1 for two classes and the number of classes beyond.
    - `kernels`: a module with the functions below, each decorated with `onlinekit.kernel`. After their own
      arguments all take the arrays of `_scratch()`, `stats`, the arrays in declared order and the numbers of
      `_hyper()`.
    - `sparse`: True when the module has the sparse functions as well. They get the columns and values of a row that
      holds at most 1/8 of the 256 or more features known, so that its cost is that of what it holds.

    ============================================== ==========================================================
    learn(x, y, w, ...)                            learn one row; 0, or -1 when x is not finite (no change)
    predict(x, out, ...)                           fill out with probabilities; the class index, or -1
    learn_rows(X, y, w, ...)                       the loop of learn
    predict_rows(X, winners, out, ...)             the loop of predict
    prequential_rows(X, y, w, winners, out, ...)   winner, then learn, row by row; out is room it may use
    learn_sparse(index, value, y, w, ...)          learn, from the entries of a row
    predict_sparse(index, value, out, ...)         predict, from the entries of a row
    learn_sparse_rows(indptr, index, value, y, w, ...), predict_sparse_rows(indptr, index, value, winners, out, ...),
    prequential_sparse_rows(indptr, index, value, y, w, winners, out, ...)     the loops, from compressed rows
    ============================================== ==========================================================

    x is float64 (d,) with exactly the known features, y a class index, out (number of classes,), at least 2;
    index int64 (m,) and value float64 (m,) the entries of a row.

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

    def __init__(
        self,
        classes: Sequence[Hashable] | None = (False, True),
        standardize: bool = False,
        on_invalid: str = "raise",
    ) -> None:
        if on_invalid not in ("raise", "skip"):
            raise ValueError(f"on_invalid must be 'raise' or 'skip', not {on_invalid!r}")
        if not isinstance(standardize, bool | np.bool_):
            raise ValueError(f"standardize must be True or False, not {standardize!r}")
        self.classes = classes
        self.standardize = standardize
        self.on_invalid = on_invalid
        self.n_skipped = 0
        self._begin()

    # -- one by one ----------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample: features x, label y, weight w from 0 to 1e12."""
        # The usual sample, exactly the known features and a known label, costs one kernel call and little else; any
        # other, and every error, is left to _learn.
        try:
            n, getter, pack_into, code, learn, pool = self._learning
            if len(x) == n and type(x) is dict:  # a defaultdict or Counter makes up the values it lacks
                k, buffer, values = code[y], pool.pop(), getter(x)
                # Learning usually follows predicting the same values: then the row is packed already.
                if values != buffer.values:
                    buffer.values = None
                    pack_into(buffer.row, 0, *values)
                    if type(values[0]) in LASTING and type(values[-1]) in LASTING:
                        buffer.values = values
                lesson = buffer.lessons[k] if w == 1.0 else (buffer.row, k, valid_weight(w), *buffer.args)
                if learn(*lesson) >= 0:
                    pool.append(buffer)
                    return
        except UNUSUAL:
            pass
        try:
            self._learn(x, y, w)
        except (TypeError, ValueError):
            if self.on_invalid == "raise":
                raise
            self.n_skipped += 1

    def _take_packed(self, x: dict[Any, Any]) -> Buffer | None:
        """A buffer that holds the row of the usual dict, one with exactly the known features; None for any other."""
        try:
            if len(x) != self._n or type(x) is not dict:
                return None
            buffer = self._take()
            values = self._schema.values(x)  # type: ignore[misc]
            if values != buffer.values:
                buffer.values = None
                self._schema.pack_into(buffer.row, 0, *values)  # type: ignore[arg-type]
                if type(values[0]) in LASTING and type(values[-1]) in LASTING:
                    buffer.values = values
        except UNUSUAL:
            return None
        return buffer

    def _learn(self, x: dict[Any, Any], y: Any, w: float) -> None:
        """Learn a sample of any kind; new features and a new class come in once all of it is known to be valid."""
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, not {type(x).__name__}")
        k = self._labels.find(y)
        w = 1.0 if w == 1.0 else valid_weight(w)
        known, kept = self._n, None
        if k < 0 or len(x) <= self._few or self._schema.pack(x, (buffer := self._take_row()).row):
            index, value, all_known = self._schema.read(x)
            if k < 0:
                kept = (self._capacity, dict(self._arrays), self._stats)
            if k < 0 or not all_known:
                if not finite(value):
                    raise self._schema.complaint(x) or ValueError("a value of x is not finite")
                if k < 0:
                    k = self._add_class(y)
                if not all_known:
                    index = self._let_in(x, index)
            if len(x) <= self._few:
                buffer = self._take(thin=True)
                if self.kernels.learn_sparse(index, value, k, w, *buffer.args) < 0:
                    self._refuse(x, known, kept)
                self._thin.append(buffer)
                return
            buffer = self._take_row()
            buffer.fill(index, value)
        arguments = (buffer.row, k, w, *buffer.args)
        if self.kernels.learn(*arguments) < 0:
            self._refuse(x, known, kept)
        if self._learning is NO_WAY:
            schema, code, learn = self._schema, self._labels.index, direct(self.kernels.learn, arguments)
            self._learning = (self._n, schema.values, schema.pack_into, code, learn, self._pool)
        self._give_back(buffer)

    def _take_row(self) -> Buffer:
        """A buffer to pack a row into."""
        buffer = self._take()
        buffer.values = None
        return buffer

    def _let_in(self, x: Mapping[Any, Any], index: np.ndarray) -> np.ndarray:
        """The columns of a valid sample, `index` as read, once its new features are known."""
        known = self._n
        self._grow_features(self._schema.unknown(x))
        index = index.copy()
        index[index == known] = np.arange(known, self._n)
        return index

    def _refuse(self, x: Mapping[Any, Any], known: int, kept: tuple[Any, ...] | None) -> None:
        """Raise the error for a sample that the kernel did not learn.

        Its new features are forgotten, and its new class, with what was there before it: capacity, arrays, statistics.
        """
        if kept is not None:
            self._labels = self._make_labels(self._labels.names[:-1])
            self._capacity, self._arrays, self._stats = kept
        if self._n > known:
            self._schema = Schema(self._schema.names[:known])
        if kept is not None or self._n > known:
            self._refresh()
        raise self._schema.complaint(x) or ValueError(
            "the sample would make the state infinite or NaN; nothing was learned from it"
        )

    def _predict(self, x: dict[Any, Any]) -> tuple[int, Buffer]:
        """(class index, buffer with the probabilities) for a sample of any kind."""
        buffer = self._take_packed(x)
        if buffer is None and self._few < 0 and isinstance(x, Mapping):
            buffer = self._take_row()
            try:
                self._schema.pack(x, buffer.row)
            except (TypeError, ValueError):
                buffer.fill(*self._entries(x))
        elif buffer is None:
            index, value = self._entries(x)
            if self._is_sparse(len(index)):
                buffer = self._take(thin=True)
                winner = self.kernels.predict_sparse(index, value, buffer.out, *buffer.args)
                if winner < 0:
                    raise ValueError("the score of the sample is not finite")
                return winner, buffer
            buffer = self._take()
            buffer.fill(index, value)
        winner = self.kernels.predict(*buffer.asked)
        if winner < 0:  # packed, but not finite
            buffer.fill(*self._entries(x))
            winner = self.kernels.predict(*buffer.asked)
        if winner < 0:
            raise ValueError("the score of the sample is not finite")
        if self._predicting is NO_WAY:
            schema, names, predict = self._schema, self._labels.names, direct(self.kernels.predict, buffer.asked)
            self._predicting = (self._n, schema.values, schema.pack_into, names, predict, self._pool)
        return winner, buffer

    def _entries(self, x: dict[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
        """The known entries of a dict to predict for; when skipping, the valid ones."""
        try:
            index, value, all_known = self._schema.read(x)
            if not all_known:
                known = index < self._n
                index, value = index[known], value[known]
            if finite(value):
                return index, value
        except (TypeError, ValueError):
            if not isinstance(x, Mapping):
                raise
        # Features not known say nothing, whatever their values.
        x = {name: value for name, value in x.items() if name in self._schema.index}
        problem = self._schema.complaint(x)
        if problem is not None:
            if self.on_invalid == "raise":
                raise problem
            x = {name: value for name, value in x.items() if is_finite_number(value)}
        return self._schema.entries(x)

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """The most probable label; None before any label is known."""
        try:
            n, getter, pack_into, names, predict, pool = self._predicting
            if len(x) == n and type(x) is dict:
                buffer, values = pool.pop(), getter(x)
                if values != buffer.values:
                    buffer.values = None
                    pack_into(buffer.row, 0, *values)
                    if type(values[0]) in LASTING and type(values[-1]) in LASTING:
                        buffer.values = values
                winner = predict(*buffer.asked)
                if winner >= 0:
                    pool.append(buffer)
                    return names[winner]
            elif len(x) <= self._few:
                index, value, all_known = self._schema.read(x)
                # The column of all that is not known is one without a feature, where every cell is 0.
                if all_known or (self._neutral and self._plain and self._n < self._capacity):
                    buffer, names = self._take(thin=True), self._labels.names
                    winner = self.kernels.predict_sparse(index, value, buffer.out, *buffer.args)
                    if winner >= 0 and len(names) > 1:
                        self._thin.append(buffer)
                        return names[winner]
        except UNUSUAL:
            pass
        names = self._labels.names
        if len(names) < 2:
            return names[0] if names else None
        winner, buffer = self._predict(x)
        self._give_back(buffer)
        return names[winner]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Label -> probability; {} before any label is known."""
        names = self._labels.names
        if len(names) < 2:
            return {name: 1.0 for name in names}
        _, buffer = self._predict(x)
        result = dict(zip(names, buffer.out.tolist(), strict=True))
        self._give_back(buffer)
        return result

    # -- batches -------------------------------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame, array or scipy sparse matrix in order: exactly the loop of learn_one."""
        batches.run(self, X, y, w, predict=False)

    def prequential_many(self, X: Any, y: Any, w: Any = None) -> np.ndarray:
        """Predict each row, then learn it; the predicted labels (None before any label was known)."""
        return batches.run(self, X, y, w, predict=True)

    def predict_many(self, X: Any) -> Any:
        """The most probable label of each row, in the caller's own kind of column."""
        winners, _ = self._predict_batch(X)
        names = self._labels.names
        return frames.series(X, [names[k] for k in winners] if names else [None] * len(winners))

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities (rows x labels), in the caller's own kind of frame."""
        _, out = self._predict_batch(X)
        return frames.frame(X, out, list(self._labels.names))

    def _predict_batch(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(class index (n,), probabilities (n, number of classes)) of the rows of a batch."""
        return batches.predict(self, X)
