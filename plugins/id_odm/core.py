"""ExactCore: one change of the stored samples, done on the engine, the samples and the scale together or not at all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from onlinekit.scaling import finite, fresh, watch
from onlinekit.schema import Schema
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, RBF
from onlinekit_plugins.id_odm.memory import announce
from onlinekit_plugins.id_odm.primal import PrimalEngine
from onlinekit_plugins.id_odm.rows import ScaledRows
from onlinekit_plugins.id_odm.samples import Samples, digest_of
from onlinekit_plugins.id_odm.scaling_kernels import tally, tally_slots

COUNTS = ("exchanges", "blocks", "refinements", "rebuilds", "fallbacks", "evaluations")
SMALL = 64  # up to so many features a linear kernel is always solved in the primal
NO_SLOTS = np.empty(0, dtype=np.int64)
TOO_LARGE = 1e13  # k(x, x) lambda w beyond which float64 has no digits left for the solution


class ExactCore(ScaledRows):
    """The state of a KernelMachine and its changes. Engine and samples agree after every method."""

    lam: float
    kernel: str
    gamma: float | None
    coef0: float
    window: int | None
    max_samples: int | None
    standardize: bool
    tol: float
    last_key: Hashable
    _calibration: Any
    _schema: Schema

    _engine: Engine | PrimalEngine

    # -- what a subclass says ------------------------------------------------------------------------------

    def _outputs(self) -> int:
        """Number of problems over the samples."""
        return 1

    @property
    def _single(self) -> bool:
        """Whether answers are plain numbers."""
        return True

    def _names(self) -> Sequence[Any]:
        """Names of the outputs where answers are dicts."""
        return ()

    def _read_target(self, y: Any) -> float:
        raise NotImplementedError

    def _interval(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _signs(self, codes: np.ndarray) -> np.ndarray:
        return np.ones((1, len(codes)))

    def _spread(self, f: np.ndarray) -> np.ndarray:
        """One column a name from f (n, outputs)."""
        return f

    def _answers(self, told: list[Any]) -> np.ndarray:
        return np.array(told)

    def _admit_targets(self, codes: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
        """Make room for new classes among valid targets (code < 0); all codes."""
        return codes

    def _drop_targets(self) -> None:
        """Remove what no stored sample stands for any more."""

    # -- engine --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._samples = Samples()
        self._stats, self._base = fresh(4, self.standardize), fresh(4, self.standardize)
        self._raw: dict[int, np.ndarray] = {}  # rows before scaling, if there is any
        self._counts = np.zeros(0, dtype=np.int64)  # samples in which a feature is not 0, for the RBF
        self._all_used = True
        self._past = dict.fromkeys(COUNTS, 0)
        self._engine = self._new_engine()
        self._room = 0
        self._calibration = None

    def _width(self) -> float:
        return float(self.gamma) if self.gamma is not None else 1.0 / max(1, int((self._counts > 0).sum()))

    def _wants_primal(self, now: bool) -> bool:
        """Explicit features where they are fewer than the samples, with some inertia."""
        d, n = len(self._schema), len(self._samples)
        return self.kernel == "linear" and d > 0 and (d <= SMALL or n >= d or (now and 2 * n >= d))

    def _new_engine(self) -> Engine | PrimalEngine:
        d = len(self._schema)
        if self._wants_primal(False):
            return PrimalEngine(float(self.coef0), d, self._outputs(), float(self.tol))
        kind = LINEAR if self.kernel == "linear" else RBF
        return Engine(kind, self._width(), self.coef0, d, self._outputs(), self.tol)

    def _problem(self, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Intervals (outputs, m) and inverse weights 1 / (lambda w); weight 0 has the whole line and 1."""
        lo, hi = self._interval(codes)
        if len(weights) == 1 and self.lam * weights[0] > 1e-300:
            return lo, hi, 1.0 / (self.lam * weights)  # without the microseconds of errstate
        with np.errstate(divide="ignore", over="ignore"):
            il = 1.0 / (self.lam * weights)
        if not finite(il):
            none = ~np.isfinite(il)
            lo, hi, il = np.where(none, -np.inf, lo), np.where(none, np.inf, hi), np.where(none, 1.0, il)
        return lo, hi, il

    def _build(self, rows: np.ndarray, handles: Sequence[int]) -> None:
        """A new engine over stored samples, whose rows (m, d) are given in order of arrival."""
        counts = np.zeros(len(self._schema), dtype=np.int64)
        all_used = tally(rows, 1, counts) == len(self._schema)
        before = self._counts, self._all_used
        self._counts, self._all_used = counts, all_used
        engine = self._new_engine()
        try:
            at = engine.update(
                rows, *self._problem(self._samples.codes(handles), self._samples.weights(handles)), NO_SLOTS
            )
        except MemoryError:
            self._counts, self._all_used = before
            raise
        self._replace_engine(engine)
        self._samples.slot.update(zip(handles, at.tolist(), strict=True))

    def _replace_engine(self, engine: Engine | PrimalEngine) -> None:
        for name, count in self._engine.counts.items():
            self._past[name] += count
        self._engine = engine

    def _exchange(self, handles: list[int], rows: np.ndarray, slots: np.ndarray) -> None:
        """Rows (m, d) of stored samples, the handles (m,), in place of all that is in some slots."""
        problem = self._problem(self._samples.codes(handles), self._samples.weights(handles))
        try:
            if self.kernel == "rbf":
                self._count(rows, slots)
            at = self._engine.update(rows, *problem, slots)
        except ArithmeticError:
            self._build_again()
            raise
        self._samples.slot.update(zip(handles, at.tolist(), strict=True))

    def _build_again(self) -> None:
        """The engine anew over all stored samples."""
        self._build(self._rows(), list(self._samples))

    def _rows(self) -> np.ndarray:
        """The stored rows (n, d) as the engine has them, in order of arrival."""
        return np.ascontiguousarray(self._engine.rows(self._samples.slots(self._samples)))

    def _check_size(self, rows: np.ndarray, weights: np.ndarray) -> None:
        if self.kernel == "linear" and len(rows):
            squares = (rows * rows).sum(axis=1) + self.coef0
            worst = int((squares * weights).argmax())
            if not squares[worst] * weights[worst] * self.lam <= TOO_LARGE:
                raise ValueError(
                    f"the squared length of x is {squares[worst]:.3g}: at lam={self.lam!r} and weight "
                    f"{float(weights[worst])!r} float64 cannot hold the exact solution; scale the features or lower lam"
                )

    # -- changes -------------------------------------------------------------------------------------------

    def _change(
        self, new: list[Any], rows: np.ndarray, codes: np.ndarray, weights: np.ndarray, keys: list[Hashable],
        labels: list[Any], gone: list[int],
    ) -> list[Hashable]:  # fmt: skip
        """Insert valid rows (m, known + new features) and delete handles; the keys of the inserted ones."""
        samples = self._samples
        after = len(samples) - len(gone) + len(rows)
        lost = over = 0  # rows that the window drops before they are stored, and stored samples that it drops
        if self.window is not None:
            lost = max(0, len(rows) - self.window)
            over = max(0, after - lost - self.window)
        if self.max_samples is not None and after - lost - over > self.max_samples:
            raise MemoryError(
                f"{after - lost - over} samples are more than max_samples={self.max_samples}; nothing was changed "
                "(a window would drop the oldest instead)"
            )
        peak = len(samples) + len(rows) - lost
        if peak > self._room:
            announce(self._engine.bytes_needed(peak), peak)
            self._room = peak + peak // 4 + 64
        dropped = samples.oldest(over, gone)
        codes = self._admitted(codes, labels)[lost:]
        explicit = len(gone) > 0
        if self.standardize and gone:
            self._replay(gone)
            gone = []
        weights, keys = weights[lost:], keys[lost:]
        if new:
            self._schema.extend(new)
            if not len(samples) and self._wants_primal(False) != isinstance(self._engine, PrimalEngine):
                self._replace_engine(self._new_engine())
            self._engine.widen(len(self._schema))
        before = self._stats, self._base
        fed = self._scale_new(rows, lost)
        rows = rows[lost:]
        leaving = gone + dropped
        slots = samples.slots(leaving) if leaving else NO_SLOTS
        try:
            if self.kernel == "rbf":
                self._count(fed, slots)
            at = self._engine.update(fed, *self._problem(codes, weights), slots)
        except ArithmeticError:
            self._stats, self._base = before
            self._build_again()
            self._drop_targets()
            raise
        if explicit and isinstance(self._engine, Engine):
            self._engine.fold()
        for handle in dropped if self.standardize else []:
            watch(self._raw[handle], self._base)  # a later replay starts where the window starts
        for handle in leaving:
            samples.remove(handle)
            if self.standardize:
                self._raw.pop(handle)[:] = 0.0
        made = []
        for i, slot in enumerate(at.tolist()):
            handle = samples.add(slot, keys[i], float(codes[i]), float(weights[i]))
            samples.index(handle, rows[i])
            if self.standardize:
                self._raw[handle] = rows[i].copy()
            made.append(samples.key[handle])
        if made:
            self.last_key = made[-1]
        self._settle()
        return made

    def _admitted(self, codes: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
        try:
            return self._admit_targets(codes, labels)
        except (MemoryError, ArithmeticError):
            self._drop_targets()
            raise

    def _settle(self) -> None:
        """After every change: calibration is stale, classes may be empty, another engine may be better."""
        self._calibration = None
        self._drop_targets()
        if self.kernel == "linear":
            now = isinstance(self._engine, PrimalEngine)
            if self._wants_primal(now) != now or not len(self._samples):
                self._build_again()

    def _count(self, fed: np.ndarray, slots: np.ndarray) -> None:
        """Which features are in use by the samples that will be there, and gamma = 1 / d for those."""
        missing = len(self._schema) - len(self._counts)
        if missing:
            self._counts = np.concatenate((self._counts, np.zeros(missing, dtype=np.int64)))
        used = tally(fed, 1, self._counts)
        assert isinstance(self._engine, Engine)
        if len(slots):
            used = tally_slots(self._engine.X, slots, -1, self._counts)
        self._all_used = used == len(self._schema)
        if self.gamma is None and self._engine.gamma != 1.0 / max(1, used):
            self._engine.rescale(1.0 / max(1, used))

    def _relabel(self, handles: list[int], code: float, label: Any) -> None:
        codes = np.full(len(handles), self._admitted(np.array([code]), [label])[0])
        slots = self._samples.slots(handles)
        try:
            self._engine.retarget(slots, *self._problem(codes, self._samples.weights(handles)))
        except ArithmeticError:
            self._build_again()
            self._drop_targets()
            raise
        for handle in handles:
            self._samples.code[handle] = float(codes[0])
        self._samples.unindex()
        self._settle()

    def _find(self, row: np.ndarray, code: float) -> int:
        """The oldest sample with this row (d,) and target; -1 if there is none."""
        samples = self._samples
        if samples.digest is None:
            samples.digest = {}
            rows = self._rows() if not self.standardize else None
            for i, handle in enumerate(samples):
                samples.index(handle, self._raw[handle] if rows is None else rows[i])
        for handle in samples.by_digest.get(digest_of(row, code), []):
            stored = self._raw[handle] if self.standardize else self._engine.rows(samples.slots([handle]))[0]
            d = len(stored)
            if samples.code[handle] == code and (stored == row[:d]).all() and not row[d:].any():
                return handle
        return -1

    # -- answers -------------------------------------------------------------------------------------------

    def _decide(self, rows: np.ndarray) -> np.ndarray:
        """f (n, outputs) at rows (n, d) of the known features.

        A feature that is 0 in all stored samples is as one never seen: it does not count.
        """
        rows = self._scaled(rows)
        if not self._all_used and self.kernel == "rbf":
            rows = np.where(self._counts > 0, rows, 0.0)
        return self._engine.decision(rows)

    def _by_key(self, values: np.ndarray) -> dict[Hashable, Any]:
        """Key -> value of its sample from values (top, names), a list where samples share the key."""
        columns, single, names = values.tolist(), self._single, self._names()
        found: dict[Hashable, list[Any]] = {}
        for handle, slot in self._samples.slot.items():
            column = columns[slot]
            value = column[0] if single else dict(zip(names, column, strict=True))
            found.setdefault(self._samples.key[handle], []).append(value)
        return {key: same[0] if len(same) == 1 else same for key, same in found.items()}

    # -- state ---------------------------------------------------------------------------------------------

    def _stored_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "samples": self._samples.get_state(), "primal": isinstance(self._engine, PrimalEngine),
            "engine": self._engine.get_state(),
        }  # fmt: skip
        if self.standardize:
            state["raw"], state["stats"], state["base"] = self._padded(list(self._samples)), self._stats, self._base
        return state

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._samples = Samples.from_state(state["samples"])
        self._engine = (PrimalEngine if state["primal"] else Engine).from_state(state["engine"])
        self._stats = self._base = fresh(4, False)
        self._raw = {}
        if self.standardize:
            self._raw = dict(zip(self._samples, state["raw"].copy(), strict=True))
            self._stats, self._base = state["stats"], state["base"]
        self._room, self._calibration = 0, None
