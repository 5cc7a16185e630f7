"""The state of an array learner: its arrays, which grow with features and classes, and their copies."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np
from river import base

from onlinekit.labels import BinaryLabels, ClassLabels
from onlinekit.scaling import fresh
from onlinekit.schema import Schema

# The way of the usual sample while there is none: no sample has -1 features.
NO_WAY: Any = (-1, None, None, None, None, None)


class Buffer:
    """What one call writes to: a row, the probabilities, scratch (in the arguments of every kernel call).

    asked and lessons are whole arguments, of predict and, class by class with weight 1, of learn: putting them together
    would take a fifth of the time of a small call.
    """

    __slots__ = ("args", "asked", "lessons", "out", "row", "values")

    def __init__(self, features: int, classes: int, args: tuple[Any, ...]) -> None:
        self.row = np.empty(features)
        self.out = np.empty(classes)
        self.args = args
        self.asked = (self.row, self.out, *args)
        self.lessons = [(self.row, k, 1.0, *args) for k in range(classes)]
        self.values: tuple[Any, ...] | None = None  # what the row was packed from

    def fill(self, index: np.ndarray, value: np.ndarray) -> None:
        self.values = None
        self.row[:] = 0.0
        self.row[index] = value


class ArrayState(base.MiniBatchClassifier):
    """What onlinekit.learner.ArrayClassifier, which documents it, knows and keeps."""

    arrays: ClassVar[Mapping[str, tuple[str | int, ...]]] = {}
    kernels: ClassVar[ModuleType]
    sparse: ClassVar[bool] = False
    _dtype: Any = np.float64
    classes: Sequence[Hashable] | None
    standardize: bool
    _n: int
    _few: int
    _pool: list[Buffer]
    _learning: Any
    _predicting: Any

    def _begin(self) -> None:
        """The state before any sample, once the parameters are set."""
        self._schema = Schema()
        self._labels = self._make_labels(())
        self._capacity = 4
        self._arrays = {name: np.zeros(self._shape(axes), self._dtype) for name, axes in self.arrays.items()}
        self._stats = fresh(self._capacity, self.standardize)
        self._refresh()

    def _hyper(self) -> tuple[Any, ...]:
        """The parameters that the kernels take after the arrays: numbers, or one array of them."""
        return ()

    def _sizes(self) -> dict[str, int]:
        """The sizes of further axes that `arrays` names."""
        return {}

    def _scratch(self) -> tuple[np.ndarray, ...]:
        """Arrays a kernel call may write to and find again as it left them, or fresh: never state."""
        return ()

    def _features_added(self, names: Sequence[Any], start: int) -> None:
        """Fill the array cells of new features, columns start on, that are not to be zero."""

    def _make_labels(self, names: Sequence[Hashable]) -> BinaryLabels | ClassLabels:
        if self.classes is None:
            return ClassLabels(names)
        if list(self.classes) == [False, True] and all(isinstance(c, (bool, np.bool_)) for c in self.classes):
            return BinaryLabels()
        if isinstance(self.classes, str):
            raise ValueError(f"classes must be None or a sequence of labels, not the text {self.classes!r}")
        if len(self.classes) < 2:
            raise ValueError(f"classes must be None or name two labels at least, not {self.classes!r}")
        return ClassLabels(names or self.classes)

    @property
    def n_features(self) -> int:
        """Number of features known."""
        return len(self._schema)

    @property
    def _neutral(self) -> bool:
        """Whether a feature never learned leaves every prediction as it was: so where its cells are zero."""
        return type(self)._features_added is ArrayState._features_added

    @property
    def _plain(self) -> bool:
        """Whether kernels need nothing whose size follows the number of features, beside the arrays."""
        return type(self)._scratch is ArrayState._scratch

    @property
    def _multiclass(self) -> bool:
        return not isinstance(self._labels, BinaryLabels)

    def _outputs(self) -> int:
        return 1 if len(self._labels) <= 2 else len(self._labels)

    def _shape(self, axes: tuple[str | int, ...]) -> tuple[int, ...]:
        size = {"features": self._capacity, "outputs": self._outputs(), **self._sizes()}
        return tuple(size[axis] if isinstance(axis, str) else axis for axis in axes)

    def _refresh(self) -> None:
        """Gather what every call needs; after every change of shape."""
        self._args = (self._stats, *self._arrays.values(), *self._hyper())
        self._thin: list[Buffer] = []  # buffers without a row, for sparse ones
        self._refresh_features()

    def _refresh_features(self) -> None:
        """Gather what depends on the number of features alone."""
        n = len(self._schema.names)
        # By the dict itself: text may bring features with every sample, and __setattr__ takes its time.
        self.__dict__.update(
            _n=n,
            # Entries of a row that goes to the sparse kernels, at most.
            _few=n // 8 if self.sparse and n >= 256 else -1,
            # Buffers are taken and given back, never shared: list.pop and append are atomic, so threads may predict.
            _pool=[],
            # What the way of the usual sample needs, gathered by the first sample that has gone the general way.
            _learning=NO_WAY,
            _predicting=NO_WAY,
        )

    def _take(self, thin: bool = False) -> Buffer:
        try:
            return self._thin.pop() if thin else self._pool.pop()
        except IndexError:
            return Buffer(0 if thin else self._n, max(2, len(self._labels)), (*self._scratch(), *self._args))

    def _give_back(self, buffer: Buffer) -> None:
        pool = self._pool if len(buffer.row) == self._n else self._thin
        pool.append(buffer)

    def _is_sparse(self, entries: int) -> bool:
        """Whether a row with so many entries goes to the sparse kernels."""
        return entries <= self._few

    def _grow_features(self, names: Sequence[Any]) -> None:
        start = self._n
        self._schema.extend(names)
        if len(self._schema) <= self._capacity and self._neutral and self._plain:
            self._refresh_features()  # a stream of sparse rows may bring some with every row
            return
        if len(self._schema) > self._capacity:
            while self._capacity < len(self._schema):
                self._capacity *= 2
            for name, axes in self.arrays.items():
                self._arrays[name] = _enlarged(self._arrays[name], self._shape(axes))
            self._stats = (
                _enlarged(self._stats, (5, self._capacity)) if self.standardize else fresh(self._capacity, False)
            )
        self._features_added(names, start)
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

    def __setattr__(self, name: str, value: Any) -> None:
        # The kernels' arguments and the shapes were made from the parameters: a new value would count in part or never.
        if "_args" in self.__dict__ and name in self.__dict__ and name in _parameters(type(self)):
            raise AttributeError(
                f"{name} is a parameter and fixed once the model exists; a model with it that has learned as much is "
                f"model.clone({{{name!r}: {value!r}}}, include_attributes=True)"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        for derived in ("_args", "_pool", "_thin", "_schema", "_labels", "_n", "_few", "_learning", "_predicting"):
            del state[derived]
        if not self.standardize:
            del state["_stats"]  # says nothing then
        state["_features"] = list(self._schema.names)
        state["_class_names"] = list(self._labels.names)
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        own = dict(state)
        self._schema = Schema(own.pop("_features"))
        names = own.pop("_class_names")
        self.__dict__.update(own)
        self._labels = self._make_labels(names)
        if not self.standardize:
            self._stats = fresh(self._capacity, False)
        self._refresh()

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A fresh model with the same parameters, or, with the attributes included, one that has learned as much."""
        twin = super().clone(new_params)
        if include_attributes:
            # By the state as a whole: some attributes share arrays.
            params = self._get_params()
            learned = {name: value for name, value in self.__getstate__().items() if name not in params}
            twin.__setstate__({**twin.__getstate__(), **copy.deepcopy(learned)})
            if twin.standardize != self.standardize:
                raise ValueError("what was learned stands for standardize as it was; leave it or the attributes out")
            twin._check_arrays()  # other parameters can ask for other arrays as well
        return twin

    def _check_arrays(self) -> None:
        """Raise ValueError unless the arrays have the sizes that the kernels, which do not check bounds, rely on."""
        names = self._schema.names
        if len(self._schema.index) != len(names) or not len(names) <= self._capacity:
            raise ValueError(f"{len(names)} features do not fit: a name twice, or a capacity of {self._capacity}")
        start = type(self)(**self._get_params())
        wanted = {name: (self._shape(axes), start._arrays[name].dtype) for name, axes in self.arrays.items()}
        if self.standardize:
            wanted["_stats"] = ((start._stats.shape[0], self._capacity), start._stats.dtype)
        if self._arrays.keys() != self.arrays.keys():
            raise ValueError(f"the arrays are {list(self._arrays)}, not {list(self.arrays)}")
        for name, (shape, dtype) in wanted.items():
            array = self._stats if name == "_stats" else self._arrays[name]
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
                raise ValueError(f"array {name!r} is not of type {dtype} and shape {shape}")


@cache
def _parameters(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


def _enlarged(old: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array with room for more, new cells zero."""
    if old.shape == shape:
        return old
    new = np.zeros(shape, old.dtype)
    new[tuple(slice(size) for size in old.shape)] = old
    return new
