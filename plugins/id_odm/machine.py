"""KernelMachine: what all exact learners share - features, keys, windows, unlearning - whatever their targets are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onlinekit.batches import valid_weight
from onlinekit.scaling import finite
from onlinekit.schema import Schema, is_finite_number, read_batch
from onlinekit_plugins.id_odm import reading
from onlinekit_plugins.id_odm.core import ExactCore

NOTHING = np.empty((0, 0))


class KernelMachine(ExactCore):
    """Learners f = sum_i b_i k(x_i, .) that insert and delete samples exactly, as a mixin beside a River base class.

    A subclass says what its targets mean: `_read_target(y)` gives a float or raises, `_signs(codes)` (outputs, m) the
    signs between b and the dual variable it shows, `_interval(codes)` the intervals (outputs, m) of the loss.

    Parameters
    ----------
    lam
        Weight lambda > 0 of the losses against 1/2 ||w||^2.
    kernel
        "rbf", exp(-gamma |x - z|^2) + coef0, or "linear", x'z + coef0.
    gamma
        Width of the RBF; None: 1 / d with d the features that are not 0 in every stored sample (a change of d
        builds the model anew).
    coef0
        Constant of the kernel, a regularised intercept.
    window
        Keep the last so many samples; the oldest leaves in the exchange in which a new one enters.
    max_samples
        More are refused by a MemoryError.
    standardize
        Scale by the running mean and deviation as they are when a row is learned, as River's StandardScaler in a
        pipeline. Unlearning then scales all later rows anew: few are exchanged, many are solved anew (O(n^3)).
    tol
        Largest violation of the optimality conditions, in units of f, that is left alone.
    on_invalid
        "raise" on a bad value, target or weight, or "skip" the row and count it in `n_skipped`.
    """

    def __init__(
        self,
        lam: float = 1.0,
        kernel: str = "rbf",
        gamma: float | None = None,
        coef0: float = 0.0,
        window: int | None = None,
        max_samples: int | None = None,
        standardize: bool = False,
        tol: float = 1e-10,
        on_invalid: str = "raise",
    ) -> None:
        reading.check_parameters(lam, kernel, gamma, coef0, window, max_samples, tol, on_invalid)
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.window = window
        self.max_samples = max_samples
        self.standardize = standardize
        self.tol = tol
        self.on_invalid = on_invalid
        self.n_skipped = 0
        self.last_key: Hashable = None
        self._schema = Schema()
        self._begin()

    # -- learning ------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0, key: Hashable = None) -> None:
        """Learn one sample under a key (several may share one); without a key it gets one, `last_key`.

        Raises
        ------
        ValueError, TypeError
            A value, target, weight or key is not valid; nothing was changed.
        MemoryError
            One sample more than `max_samples` or the machine allows; nothing was changed.
        """
        try:
            code = self._read_target(y)
            if w != 1.0:
                w = valid_weight(w)
            reading.check_key(key)
            row, new = np.empty((1, len(self._schema))), []
            if self._schema.pack(x, row[0]):
                new = self._schema.unknown(x)
                index, value = self._schema.entries(x)
                row = np.concatenate((row, value[None, index < 0]), axis=1)
            if not finite(row[0]):
                raise self._schema.complaint(x) or ValueError("a value of x is not finite")
            row += 0.0  # no -0.0: equal contents have equal bytes
            weight = np.array([w], dtype=np.float64)
            self._check_size(row, weight)
        except (TypeError, ValueError):
            if self.on_invalid == "raise":
                raise
            self.n_skipped += 1
            return
        self._change(new, row, np.array([code]), weight, [key], [y], [])

    def update_many(
        self, X: Any, y: Any, keys: Sequence[Hashable] | None = None, forget: Iterable[Hashable] = (), w: Any = None
    ) -> list[Hashable]:
        """Insert the rows of a frame or array and delete the samples under the keys `forget`, in one exchange.

        Returns
        -------
        list
            The keys of the rows learned: those given, or new ones.

        Raises
        ------
        ValueError, TypeError
            A row, target, weight or key is not valid, or `forget` has a key twice; nothing was changed.
        KeyError
            No sample is stored under a key of `forget`; nothing was changed.
        MemoryError
            More samples than `max_samples` or the machine allows; nothing was changed.
        """
        gone = self._samples.under(forget)
        values, columns, codes, weights, labels, named, skipped = self._read(X, y, w, keys)
        if not len(values) and not gone:
            self.n_skipped += skipped
            return []
        new = self._schema.unknown(columns) if len(values) else []
        rows = np.zeros((len(values), len(self._schema) + len(new)))
        at = {name: len(self._schema) + i for i, name in enumerate(new)}
        for j, name in enumerate(columns if len(values) else []):
            rows[:, at[name] if name in at else self._schema.index[name]] = values[:, j] + 0.0
        self._check_size(rows, weights)
        made = self._change(new, rows, codes, weights, named, labels, gone)
        self.n_skipped += skipped
        return made

    def learn_many(self, X: Any, y: Any, w: Any = None, keys: Sequence[Hashable] | None = None) -> None:
        """Learn the rows of a frame or array, in one exchange: the result of the loop of learn_one."""
        self.update_many(X, y, keys, (), w)

    def prequential_many(self, X: Any, y: Any, w: Any = None) -> np.ndarray:
        """Predict each row, then learn it; the predictions."""
        labels = reading.column(y)
        self._read(X, labels, w, None)  # refuses a bad batch as a whole
        values, columns = read_batch(X, self.on_invalid == "skip")
        weights = reading.spread(w, len(values))
        told = []
        for row, label, weight in zip(values.tolist(), labels, weights, strict=True):
            x = dict(zip(columns, row, strict=True))
            told.append(self.predict_one(x))  # type: ignore[attr-defined]
            self.learn_one(x, label, weight)
        return self._answers(told)

    def update(self, x: dict[Any, Any], y: Any) -> None:
        """learn_one, by the name that river.utils.Rolling calls."""
        self.learn_one(x, y)

    # -- unlearning ----------------------------------------------------------------------------------------

    def revert(self, x: dict[Any, Any], y: Any) -> None:
        """unlearn_one, by the name that river.utils.Rolling calls."""
        self.unlearn_one(x, y)

    def unlearn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Unlearn the oldest stored sample with these contents; KeyError if there is none, nothing changed then."""
        code = self._read_target(y)
        index, value = self._schema.entries(x)
        row = np.zeros(len(self._schema))
        row[index[index >= 0]] = value[index >= 0] + 0.0
        handle = -1 if (value[index < 0] != 0.0).any() else self._find(row, code)
        if handle < 0:
            raise KeyError(f"no stored sample has the label {y!r} and these features: {x!r:.200}")
        self._change([], NOTHING, np.empty(0), np.empty(0), [], [], [handle])

    def unlearn(self, key: Hashable) -> None:
        """Unlearn every sample learned under the key; KeyError if there is none, nothing changed then."""
        self.unlearn_many([key])

    def unlearn_many(self, keys: Iterable[Hashable]) -> None:
        """Unlearn all samples under these keys in one exchange.

        Raises
        ------
        KeyError
            No sample is stored under one of the keys; nothing was changed.
        ValueError
            A key is there twice; nothing was changed.
        """
        gone = self._samples.under(keys)
        if gone:
            self._change([], NOTHING, np.empty(0), np.empty(0), [], [], gone)

    def relabel(self, key: Hashable, y: Any) -> None:
        """Give every sample under the key another target; KeyError if there is none, nothing changed then."""
        code = self._read_target(y)
        self._relabel(self._samples.under([key]), code, y)

    # -- answers -------------------------------------------------------------------------------------------

    def keys(self) -> list[Hashable]:
        """The keys of the stored samples, in the order of their first sample."""
        return list(dict.fromkeys(self._samples.key[handle] for handle in self._samples))

    @property
    def n_samples(self) -> int:
        """Number of stored samples."""
        return len(self._samples)

    @property
    def n_features(self) -> int:
        """Number of features known."""
        return len(self._schema)

    def decision_function(self, X: Any) -> np.ndarray:
        """f at the rows of a frame or array: (n,), or (n, classes) beyond two classes."""
        f = self._decide(self._rows_to_predict(X))
        return f[:, 0] if self._single else self._spread(f)

    def loo_decision(self, exact: bool = False) -> dict[Hashable, Any]:
        """Key -> f(x) of its sample as if it had not been learned (a list where samples share the key).

        f^-i(x_i) = t_i - b_i / P_ii for samples outside their interval, else f(x_i): O(n), exact where leaving the
        sample out moves no other one over an edge. Beyond two classes each value is a dict label -> f. With a running
        scale the other rows stay scaled as they are.

        Parameters
        ----------
        exact
            Follow the others over their edges too: the values of n models retrained without one sample, O(n^3) and
            24 n^2 bytes for all together.

        Raises
        ------
        MemoryError
            `exact` needs more than the machine has.
        """
        values = self._engine.exact_loo() if exact else self._engine.loo()
        return self._by_key(self._spread(values.T))

    def dual_coef(self) -> dict[Hashable, Any]:
        """Key -> dual variable alpha of its sample, 0 inside the interval (shaped as in `loo_decision`)."""
        alpha = self._engine.coef()
        handles = list(self._samples)
        signs = np.zeros_like(alpha)
        signs[:, self._samples.slots(handles)] = self._signs(self._samples.codes(handles))
        # Two labels that share a problem have b and its sign turned round together.
        return self._by_key(self._spread(alpha.T) * self._spread(signs.T))

    def objective(self) -> float:
        """The minimum 1/2 ||w||^2 + sum of losses (summed over classes beyond two)."""
        return float(self._engine.objective().sum()) if len(self._samples) else 0.0

    def kkt_residual(self) -> float:
        """Largest violation of the optimality conditions, in units of f: 0 at the exact solution."""
        return self._engine.kkt()

    def stats(self) -> dict[str, int]:
        """How much was done: exchanges, blocks, refinements, rebuilds, fallbacks, evaluations of f."""
        return {name: count + self._past[name] for name, count in self._engine.counts.items()}

    # -- rows ----------------------------------------------------------------------------------------------

    def _pack(self, x: dict[Any, Any]) -> np.ndarray:
        """The row (1, d) to predict for."""
        row = np.zeros((1, len(self._schema)))
        if isinstance(x, Mapping) and not x.keys() <= self._schema.index.keys():
            x = {name: value for name, value in x.items() if name in self._schema.index}
        try:
            self._schema.pack(x, row[0])
            if not finite(row[0]):
                raise self._schema.complaint(x) or ValueError("a value of x is not finite")
        except (TypeError, ValueError):
            if self.on_invalid == "raise" or not isinstance(x, Mapping):
                raise
            self._schema.pack_valid({n: v for n, v in x.items() if is_finite_number(v)}, row[0])
        return row

    def _rows_to_predict(self, X: Any) -> np.ndarray:
        return reading.rows_to_predict(X, self._schema, self.on_invalid == "skip")

    def _read(
        self, X: Any, y: Any, w: Any, keys: Sequence[Hashable] | None
    ) -> tuple[np.ndarray, list[Any], np.ndarray, np.ndarray, list[Any], list[Hashable], int]:
        return reading.read(self._read_target, X, y, w, keys, self.on_invalid == "skip")

    # -- state ---------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[misc]
        for name in ("_schema", "_samples", "_engine", "_calibration", "_raw", "_room", "_stats", "_base"):
            del state[name]
        return {**state, "_features": list(self._schema.names), "_stored": self._stored_state()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        own = dict(state)
        self._schema = Schema(own.pop("_features"))
        stored = own.pop("_stored")
        self.__dict__.update(own)
        self._restore(stored)
