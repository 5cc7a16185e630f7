"""The interval-loss engine for explicit features: cost and memory by the number of features, not of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onlinekit_plugins.id_odm import primal_heap as place_of
from onlinekit_plugins.id_odm import primal_kernels as part
from onlinekit_plugins.id_odm.loo import without
from onlinekit_plugins.id_odm.memory import announce
from onlinekit_plugins.id_odm.primal_resolve import update as update_kernel

COUNTS = ("exchanges", "blocks", "refinements", "rebuilds", "fallbacks", "evaluations")
STATE = ("_spec", "_place", "_heap", "_mats", "_vecs", "_num", "_count")  # arrays with one row an output
FORCE = {"": 0, "fallback": 1, "rebuild": 2}


class PrimalEngine:
    """Exact inserts, deletes and changes: w = argmin 1/2 |w|^2 + sum_i dist(f_i, [lo_i, hi_i])^2 / (2 il_i).

    f_i = w'phi_i with phi = (x, sqrt(coef0)): the same model as the dual engine's with k(x, z) = x'z + coef0, at
    O(d^2) a sample that changes sides and O(n d + d^2) memory. A sample is evaluated again only when w has moved as
    far as the sample was from its edge (an expiry heap), so the cost of an update hardly depends on n. Rows may be
    any explicit feature map, such as random Fourier features.

    Parameters
    ----------
    coef0
        Constant added to the linear kernel, >= 0: a regularised intercept.
    dim
        Columns of X.
    outputs
        Problems over the same rows, each with intervals of its own.
    tol
        How far, in units of f, a sample may be on the wrong side of its edge.

    Raises
    ------
    ValueError
        coef0 is negative.
    MemoryError
        From `update`, before anything changed: the machine has not the memory that the samples need.
    ArithmeticError
        Features or weights have too large a range for an exact solution in float64.

    Examples
    --------
    >>> import numpy as np
    >>> engine = PrimalEngine(coef0=0.0, dim=1)
    >>> X, edge = np.array([[0.1], [1.2]]), np.array([[1.0, 1.0]])
    >>> slots = engine.update(X, edge - 0.1, edge + 0.1, np.array([0.1, 0.1]), np.zeros(0, dtype=np.int64))
    >>> engine.coef().round(8).tolist()
    [[8.18181818, 0.0]]

    References
    ----------
    G. Cauwenberghs, T. Poggio, Incremental and decremental support vector machine learning, NIPS 2000.
    D. Sun, J. Han, Newton and quasi-Newton methods for a class of nonsmooth equations, SIAM J. Optim. 7 (1997).
    """

    def __init__(self, coef0: float, dim: int, outputs: int = 1, tol: float = 1e-10) -> None:
        if not coef0 >= 0.0:
            raise ValueError(f"coef0 must be >= 0 for explicit features, not {coef0!r}")
        self.coef0, self.dim, self.outputs, self.tol = float(coef0), dim, outputs, float(tol)
        self.force = ""
        self.top = 0
        self._free: list[int] = []
        self._allocate(0, self._columns)
        self._mats[:] = np.eye(self._columns)
        self._num[:, [part.TRACE, part.PEAK]] = self._columns

    @property
    def _columns(self) -> int:
        return self.dim + (self.coef0 != 0.0)

    def _allocate(self, cap: int, d: int) -> None:
        c = self.outputs
        self._samples = np.zeros((cap, d))
        self._spec, self._place = np.zeros((c, cap, 5)), np.full((c, cap, 2), -1, dtype=np.int64)
        self._place[:, :, place_of.SIDE] = 0
        self._heap = np.full((c, cap), -1, dtype=np.int64)
        self._mats, self._vecs = np.zeros((c, 2, d, d)), np.zeros((c, 5, d))
        self._num, self._count = np.zeros((c, 4)), np.zeros((c, 9), dtype=np.int64)
        self._todo = np.zeros((cap, 2), dtype=np.int64)

    # -- size ----------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Samples stored."""
        return self.top - len(self._free)

    @property
    def counts(self) -> dict[str, int]:
        """What was done so far: exchanges, blocks, refinements, rebuilds, fallbacks, evaluations of f."""
        first = place_of.EXCHANGES
        return {name: int(self._count[:, first + k].sum()) for k, name in enumerate(COUNTS)}

    def live(self) -> np.ndarray:
        """Slots in use, ascending (n,)."""
        return np.setdiff1d(np.arange(self.top), self._free)

    def bytes_needed(self, n: int) -> int:
        """What a store of n samples takes while it grows to that size."""
        cap = self._capacity(n)
        row = 8 * (self._columns + 2 + 8 * self.outputs)
        return row * (cap + (len(self._todo) if cap > len(self._todo) else 0)) + 24 * self.outputs * self._columns**2

    def _capacity(self, n: int) -> int:
        cap = len(self._todo)
        return cap if n <= cap else max(n, 16, cap + cap // 2)

    def _reserve(self, n: int) -> None:
        cap = self._capacity(n)
        if cap > len(self._todo):
            announce(self.bytes_needed(n), n)
            self._resize(cap, self._columns)

    def _resize(self, cap: int, d: int) -> None:
        old = (self._samples, self._spec, self._place, self._heap, self._mats, self._vecs, self._num, self._count)
        k, e = old[0].shape
        self._allocate(cap, d)
        self._samples[:k, :e] = old[0]
        self._spec[:, :k], self._place[:, :k], self._heap[:, :k] = old[1:4]
        self._mats[:] = np.eye(d)
        self._mats[:, :, :e, :e] = old[4]
        self._vecs[:, :, :e] = old[5]
        self._num[:], self._count[:] = old[6:]
        self._num[:, [part.TRACE, part.PEAK]] += d - e

    # -- changes -------------------------------------------------------------------------------------------

    def update(self, X: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray, forget: np.ndarray) -> np.ndarray:
        """Insert the rows X (m, dim) and delete the slots forget (q,) in one exchange; the new slots (m,).

        Parameters
        ----------
        X
            Rows (m, dim).
        lo, hi
            Intervals (outputs, m), infinite where there is no edge.
        il
            Slopes (m,) > 0: a smaller one weighs more.
        forget
            Distinct slots in use.
        """
        forget = np.ascontiguousarray(forget, dtype=np.int64)
        m = len(X)
        reused = min(m, len(self._free))
        self._reserve(self.top + m - reused)
        slots = np.empty(m, dtype=np.int64)
        for k in range(m):
            slots[k] = self._free.pop() if k < reused else self.top + k - reused
        self.top += m - reused
        if m:
            self._samples[slots, : self.dim] = X
            if self.coef0 != 0.0:
                self._samples[slots, -1] = self.coef0**0.5
        self._run(forget, slots, lo, hi, il)
        self._free.extend(forget.tolist())
        return slots

    def retarget(self, slots: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None:
        """Other intervals (outputs, m) and slopes (m,) for stored samples (m,), in one exchange."""
        self._run(np.zeros(0, dtype=np.int64), np.ascontiguousarray(slots, dtype=np.int64), lo, hi, il)

    def _run(self, forget: np.ndarray, slots: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None:
        lo, hi, il = (np.ascontiguousarray(a, dtype=np.float64) for a in (lo, hi, il))
        code = update_kernel(
            forget, slots, lo, hi, il, self.tol, FORCE[self.force], self._todo, self._samples, self._spec, self._place,
            self._heap, self._mats, self._vecs, self._num, self._count,
        )  # fmt: skip
        if code < 0:
            raise ArithmeticError(
                f"no exact solution within tol={self.tol!r}: features or weights of too large a range"
            )

    def add_output(self, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None:
        """One more problem over the stored rows: intervals (n,) and slopes (n,) in the order of `live()`."""
        fresh = PrimalEngine(self.coef0, self.dim, 1, self.tol)
        fresh._resize(len(self._todo), self._columns)
        fresh._samples, fresh.top, fresh.force = self._samples, self.top, self.force
        fresh.retarget(self.live(), lo[None, :], hi[None, :], il)
        for name in STATE:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(fresh, name)]))
        self.outputs += 1

    def drop_output(self, c: int) -> None:
        """Problem c goes; later ones move up."""
        for name in STATE:
            setattr(self, name, np.delete(getattr(self, name), c, axis=0))
        self.outputs -= 1

    def widen(self, dim: int) -> None:
        """More columns, zero in the stored rows: w and its inverse are as they were, with a border."""
        grown = dim - self.dim
        self.dim = dim
        self._resize(len(self._todo), self._columns)
        if self.coef0 != 0.0:  # the constant stays the last column
            order = np.r_[: dim - grown, self._columns - grown : self._columns, dim - grown]
            self._samples = np.ascontiguousarray(self._samples[:, order])
            self._vecs = np.ascontiguousarray(self._vecs[:, :, order])
            self._mats = np.ascontiguousarray(self._mats[:, :, order[:, None], order])

    # -- answers -------------------------------------------------------------------------------------------

    def weights(self) -> np.ndarray:
        """w of each output (outputs, columns)."""
        return self._vecs[:, part.W].copy()

    def rows(self, slots: np.ndarray) -> np.ndarray:
        """The stored rows (m, dim), a copy."""
        return self._samples[slots, : self.dim].copy()

    def decision(self, X: np.ndarray) -> np.ndarray:
        """f at the rows X (k, dim): (k, outputs)."""
        w = self._vecs[:, part.W]
        f = X @ w[:, : self.dim].T
        return f + self.coef0**0.5 * w[:, -1] if self.coef0 != 0.0 else f

    def values(self) -> np.ndarray:
        """f at the stored samples (outputs, top), 0 in free slots."""
        return self._vecs[:, part.W] @ self._samples[: self.top].T

    def coef(self) -> np.ndarray:
        """b (outputs, top) = (t - f) / il, 0 inside the interval: w = sum_i b_i phi_i."""
        lo, hi, il = self._intervals()
        side = self._place[:, : self.top, place_of.SIDE]
        target = np.where(side < 0, lo, np.where(side > 0, hi, 0.0))
        return np.where(side != 0, (target - self.values()) / il, 0.0)

    def exact_loo(self) -> np.ndarray:
        """Leave-one-out values (outputs, top), whatever others do when the sample goes: each is tried on a copy."""
        out, twin = self.values(), PrimalEngine.from_state(self.get_state())
        for i in np.flatnonzero((self._place[:, : self.top, place_of.SIDE] != 0).any(axis=0)):
            out[:, i] = without(twin, i)
        return out

    def intervals(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """lo, hi (outputs, m) and il (m,) of stored samples."""
        spec = self._spec[:, slots]
        return spec[:, :, place_of.LO], spec[:, :, place_of.HI], spec[0, :, place_of.IL]

    def _intervals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        spec = self._spec[:, : self.top]
        il = np.where(self._place[:, : self.top, place_of.POS] >= 0, spec[:, :, place_of.IL], 1.0)
        return spec[:, :, place_of.LO], spec[:, :, place_of.HI], il

    def loo(self) -> np.ndarray:
        """Leave-one-out values f^-i(x_i) (outputs, top): t - (t - f) / (1 - phi'M phi / il) in S, f outside.

        Exact where leaving the sample out moves no other sample over an edge.
        """
        f, b = self.values(), self.coef()
        _, _, il = self._intervals()
        phi = self._samples[: self.top]
        leverage = np.stack([np.einsum("ij,ij->i", phi @ mats[1], phi) for mats in self._mats])
        left = np.where(b != 0.0, 1.0 - leverage / il, 1.0)
        return np.where(b != 0.0, f + il * b - il * b / left, f)

    def kkt(self) -> float:
        """max_i |il b - (clip(f) - f)| with f = sum_j b_j k(x_j, .): the optimality error in units of f."""
        lo, hi, il = self._intervals()
        b, phi = self.coef(), self._samples[: self.top]
        f = (b @ phi) @ phi.T
        used = self._place[:, : self.top, place_of.POS] >= 0
        return float(np.max(np.abs(il * b - (np.clip(f, lo, hi) - f)) * used, initial=0.0))

    def objective(self) -> np.ndarray:
        """1/2 |w|^2 + sum_i dist(f_i, [lo_i, hi_i])^2 / (2 il_i) of each output (outputs,)."""
        lo, hi, il = self._intervals()
        f, w = self.values(), self._vecs[:, part.W]
        return 0.5 * (w * w).sum(axis=1) + ((f - np.clip(f, lo, hi)) ** 2 / (2.0 * il)).sum(axis=1)

    # -- state ---------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Plain values and arrays, without spare capacity or scratch."""
        top = self.top
        return {
            "kind": "primal", "coef0": self.coef0, "dim": self.dim, "outputs": self.outputs, "tol": self.tol,
            "force": self.force, "top": top, "free": list(self._free), "samples": self._samples[:top].copy(),
            "spec": self._spec[:, :top].copy(), "place": self._place[:, :top].copy(),
            "heap": self._heap[:, :top].copy(), "mats": self._mats.copy(), "vecs": self._vecs[:, : part.V].copy(),
            "num": self._num.copy(), "count": self._count.copy(),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> PrimalEngine:
        """An engine that goes on bit for bit where `get_state` was taken."""
        engine = cls(state["coef0"], state["dim"], state["outputs"], state["tol"])
        top = state["top"]
        engine.force, engine.top, engine._free = state["force"], top, list(state["free"])
        engine._allocate(top, engine._columns)
        engine._samples[:] = state["samples"]
        for name in ("spec", "place", "heap", "mats", "num", "count"):
            getattr(engine, f"_{name}")[:] = state[name]
        engine._vecs[:, : part.V] = state["vecs"]
        return engine
