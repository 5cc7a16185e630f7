"""Exact incremental and decremental minimiser of interval losses, in the dual.

For every output c (its own f, the same samples x_i):

    min over w_c of  1/2 ||w_c||^2 + sum_i 1 / (2 il_ci) dist(f_c(x_i), [lo_ci, hi_ci])^2,   f_c(x) = <w_c, phi(x)>

There is no bias (a constant in the kernel, coef0, is a regularised one). The dual solution is b,
f = sum_j b_j k(x_j, .): zero for samples inside their interval; on the others, S, it solves
(K_SS + diag(il)) b = t with t = lo where b > 0 and t = hi where b < 0.

API (shared with `primal.PrimalEngine`): samples live in integer slots; the engine knows no keys, labels or names.

- `update(X, lo, hi, il, forget) -> slots`: inserts and deletes in one resolve; `retarget(slots, lo, hi, il)`
- `decision(X)`, `values()`, `coef()`, `loo()`, `exact_loo()`, `kkt()`, `objective()`, `counts`, `live()`, `rows(slots)`
- `add_output(lo, hi, il)`, `drop_output(c)`, `widen(dim)`, `bytes_needed(n)`, `get_state()`, `from_state(state)`
- `force`: "" or, for tests, "fallback" (no block pivoting) or "rebuild" (P anew after every resolve)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm import packed_kernels as packed
from onlinekit_plugins.id_odm import resolve_kernels as rk
from onlinekit_plugins.id_odm import sample_kernels as one
from onlinekit_plugins.id_odm.answers import Answers
from onlinekit_plugins.id_odm.exchange_kernels import exchange
from onlinekit_plugins.id_odm.fallback import descend
from onlinekit_plugins.id_odm.loo import left_out_exactly, without
from onlinekit_plugins.id_odm.memory import announce, fits
from onlinekit_plugins.id_odm.sharing import are_points

BULK = 64  # from so many changes on (and a third of S) a new Cholesky factor is cheaper than exchanges
START = 64  # slots of an empty engine
NONE = np.empty(0, dtype=np.int64)


class Engine(Answers):
    """The dual engine: Gram matrix K of all samples, and for every output the inverse P of its active part.

    Memory: 8 n^2 bytes for K, 4 n^2 for each output (for all together where lo = hi everywhere), and 8 n^2 while P is
    built anew.

    Parameters
    ----------
    kind, gamma, coef0
        The kernel: LINEAR x'z + coef0, RBF exp(-gamma |x - z|^2) + coef0.
    dim
        Number of feature columns.
    outputs
        Number of outputs.
    tol
        Samples are infeasible beyond this, in units of f.
    """

    def __init__(self, kind: int, gamma: float, coef0: float, dim: int, outputs: int = 1, tol: float = 1e-10) -> None:
        self.kind, self.gamma, self.coef0 = int(kind), float(gamma), float(coef0)
        self.dim, self.tol, self.force = int(dim), float(tol), ""
        self.n = self.top = 0
        self.free: list[int] = []
        self.X = np.zeros((START, max(1, dim)))
        self.K = np.zeros((START, START))
        self.alive = np.zeros(START, dtype=np.uint8)
        self.V = np.zeros((outputs, k.V_ROWS, START))
        self.M = np.zeros((outputs, 3, START), dtype=np.int64)
        self.C = np.zeros((outputs, k.C_SIZE))
        self.P = [np.zeros(START * (START + 1) // 2)] * outputs
        self.U = [np.zeros((k.ROOM, START))] * outputs
        self.sign = [np.zeros(k.ROOM)] * outputs
        self.points = True  # so far: every interval is a point

    # -- sizes ---------------------------------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        """Samples exchanged, blocks, refinements, rebuilds, fallbacks and evaluations of f, since the start."""
        total = self.C.sum(axis=0)
        names = ("exchanges", "blocks", "refinements", "rebuilds", "fallbacks", "evaluations")
        return {name: int(total[k.EXCHANGES + i]) for i, name in enumerate(names)}

    def bytes_needed(self, n: int) -> int:
        """Bytes that n samples take at the peak: K, P of every output, X, and the workspace of a rebuild."""
        inverses = 1 if self.points and self.n else self.outputs
        return 8 * n * (2 * n + self.X.shape[1] + inverses * (n // 2 + k.ROOM) + self.outputs * (k.V_ROWS + 3))

    def reserve(self, n: int, exact: bool = False) -> None:
        """Room for n samples; MemoryError before anything changed when the machine has not enough."""
        if n <= len(self.alive):
            return
        announce(self.bytes_needed(n), n)
        size = n if exact else max(n, len(self.alive) + len(self.alive) // 4)
        if not fits(self.bytes_needed(size)):
            size = n
        old, top = len(self.alive), self.top
        X, K = np.zeros((size, self.X.shape[1])), np.zeros((size, size))
        alive = np.zeros(size, dtype=np.uint8)
        V, M = np.zeros((self.outputs, k.V_ROWS, size)), np.zeros((self.outputs, 3, size), dtype=np.int64)
        X[:old], K[:top, :top], alive[:old] = self.X, self.K[:top, :top], self.alive
        V[:, :, :old], M[:, :, :old] = self.V, self.M
        P, U = [], []
        for c in range(1 if self.shared else self.outputs):
            used = self._size(c) * (self._size(c) + 1) // 2
            P.append(np.zeros(size * (size + 1) // 2))
            P[c][:used] = self.P[c][:used]
            U.append(np.concatenate((self.U[c], np.zeros((k.ROOM, size - old))), axis=1))
        if self.shared:
            P, U = P * self.outputs, U * self.outputs
        self.X, self.K, self.alive, self.V, self.M, self.P, self.U = X, K, alive, V, M, P, U

    def widen(self, dim: int) -> None:
        """More feature columns; the stored samples have 0 there, so that K stays."""
        if dim > self.X.shape[1]:
            X = np.zeros((len(self.alive), max(dim, 2 * self.X.shape[1])))
            X[:, : self.dim] = self.X[:, : self.dim]
            self.X = X
        self.dim = max(dim, self.dim)

    def _size(self, c: int) -> int:
        return int(self.C[c, k.SIZE])

    # -- changes -------------------------------------------------------------------------------------------

    def update(
        self, X: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray, forget: np.ndarray = NONE
    ) -> np.ndarray:
        """Insert rows and delete slots in one resolve.

        Parameters
        ----------
        X
            (m, dim) rows.
        lo, hi, il
            (outputs, m) intervals; (m,) inverse weights 1 / (lambda w). A sample of weight 0 has the interval
            (-inf, inf) and any il.
        forget
            (q,) slots to delete; all they held is zeroed.

        Returns
        -------
        numpy.ndarray
            (m,) slots of the new samples.

        Raises
        ------
        MemoryError
            Before anything changed.
        """
        m, q = len(X), len(forget)
        parting = self.points and not are_points(lo, hi)
        if parting:
            self._announce_parting()
        self.reserve(self.n + m)
        if parting:
            self._part()
        slots = np.empty(m, dtype=np.int64)
        for a in range(m):
            if self.free:
                slots[a] = self.free.pop()
            else:
                slots[a] = self.top
                self.top += 1
        if m:
            X = np.ascontiguousarray(X, dtype=np.float64)
            k.place(self.X, self.K, self.alive, self.top, X, slots, *self._kernel())
        for c in range(self.outputs if m else 0):
            one.admit(self.V[c], self.M[c], self.K, slots, lo[c], hi[c], il)
        for c in range(1 if self.shared else self.outputs):
            if m + q > max(BULK, self._size(c) // 3):
                self._bulk(c, forget)
                self._solve(c, NONE)
            else:
                self._solve(c, forget, q)
        if self.shared:
            self._follow(range(1, self.outputs))
        if q:
            for c in range(self.outputs):
                one.clear(self.V[c], self.M[c], forget)
            k.wipe(self.X, self.K, self.alive, self.top, forget)
            self.free.extend(forget.tolist())
        self.n += m - q
        if self.n == 0:  # nothing of the past remains, not even the order of the slots
            self.top, self.free = 0, []
            self.C[:, : k.EXCHANGES] = 0.0
            self.fold()
            self._share()
        return slots

    def retarget(self, slots: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None:
        """Give stored samples (m,) other intervals (outputs, m) and inverse weights (m,), in one resolve."""
        one_by_one = not are_points(lo, hi) or not (self.V[:, k.IL, slots] == il).all()
        if self.shared and not one_by_one and np.isfinite(lo).all() and np.isfinite(self.V[:, k.LO, slots]).all():
            self.V[:, k.LO, slots], self.V[:, k.HI, slots] = lo, hi
            self._follow(range(self.outputs))
            return
        if self.shared or (self.points and not are_points(lo, hi)):
            self._announce_parting()
            self._part()
        for c in range(self.outputs):
            K, *rest = self._arrays(c)
            for a, slot in enumerate(slots.tolist()):
                if not one.retarget(*rest, slot, lo[c, a], hi[c, a], il[a]):
                    exchange(K, *rest, self.top, slots[a : a + 1], NONE, NONE)
                    one.retarget(*rest, slot, lo[c, a], hi[c, a], il[a])
            self._solve(c, NONE)

    def rescale(self, gamma: float) -> None:
        """Another gamma: K and every output anew."""
        self.gamma = float(gamma)
        k.gram(self.X, self.K, self.alive, self.top, self.dim, *self._kernel())
        for c in range(self.outputs):
            self.V[c, k.RK, : self.top] = np.sqrt(np.maximum(self.K.diagonal()[: self.top], 0.0))
        for c in range(1 if self.shared else self.outputs):
            self._bulk(c, NONE)
            self._solve(c, NONE)
        if self.shared:
            self._follow(range(1, self.outputs))

    def add_output(self, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None:
        """One more output with these intervals (n,) and inverse weights (n,) of the live slots, ascending.

        MemoryError before anything changed when the machine has not enough.
        """
        size, points = len(self.alive), are_points(lo, hi)
        if not points:
            self._announce_parting()
        if not (self.points and points and self.outputs):
            announce(4 * size * (size + 1) + 8 * self.n * self.n, self.n)
        if self.points and not points:
            self._part()
        V, M, C = np.zeros((1, k.V_ROWS, size)), np.zeros((1, 3, size), dtype=np.int64), np.zeros((1, k.C_SIZE))
        one.admit(V[0], M[0], self.K, self.live(), lo, hi, il)
        self.V, self.M, self.C = np.concatenate((self.V, V)), np.concatenate((self.M, M)), np.concatenate((self.C, C))
        if self.points and len(self.P):
            for arrays in (self.P, self.U, self.sign):
                arrays.append(arrays[0])
            self._follow([self.outputs - 1])
            return
        self.P.append(np.zeros(size * (size + 1) // 2))
        self.U.append(np.zeros((k.ROOM, size)))
        self.sign.append(np.zeros(k.ROOM))
        self._bulk(self.outputs - 1, NONE)
        self._solve(self.outputs - 1, NONE)

    def drop_output(self, c: int) -> None:
        """Output c goes; later ones move up."""
        self.V, self.M, self.C = (np.delete(array, c, axis=0) for array in (self.V, self.M, self.C))
        del self.P[c], self.U[c], self.sign[c]

    # -- solving -------------------------------------------------------------------------------------------

    def _solve(self, c: int, forced: np.ndarray, dying: int = 0) -> None:
        state = *self._arrays(c), self.top
        stalls = -1 if self.force == "fallback" else rk.STALLS
        tol, falls, rebuilds = self.tol, 0, 0
        while rebuilds < 5:
            told = rk.resolve(*state, forced, dying, tol, stalls)
            forced, dying = NONE, 0
            if told == rk.STALLED and falls < 3 and descend(*state, max(tol, self.C[c, k.NOISE])):
                falls += 1
                continue
            if told == rk.SOLVED and (self.force != "rebuild" or rebuilds):
                return
            self._rebuild(c)
            tol *= 10.0 if rebuilds else 1.0
            rebuilds += 1
        raise ArithmeticError(
            f"no exact solution to within {self.tol:g}: the kernel matrix is too large for its regularisation; "
            "scale the features or lower lam"
        )

    def exact_loo(self) -> np.ndarray:
        """(outputs, top): f at each stored sample as if it had never been there, whatever others do then."""
        slots, twin = self.live(), None
        out = np.zeros((self.outputs, self.top))
        for c in range(self.outputs):
            out[c, slots] = left_out_exactly(self, c, slots)
            for i in slots[np.isnan(out[c, slots])]:
                twin = twin or type(self).from_state(self.get_state())
                out[c, i] = without(twin, i)[c]
        return out

    # -- state ---------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Plain values and arrays, without spare room."""
        top = self.top
        K = np.empty(top * (top + 1) // 2)
        packed.pack(self.K[:top, :top], K)
        sizes = [self._size(c) for c in range(1 if self.shared else self.outputs)]
        return {
            "kernel": self._kernel(),
            "dim": self.dim,
            "tol": self.tol,
            "force": self.force,
            "n": self.n,
            "top": top,
            "free": list(self.free),
            "X": self.X[:top, : self.dim].copy(),
            "K": K,
            "alive": self.alive[:top].copy(),
            "V": self.V[:, :, :top].copy(),
            "M": self.M[:, :, :top].copy(),
            "C": self.C.copy(),
            "P": [self.P[c][: s * (s + 1) // 2].copy() for c, s in enumerate(sizes)],
            "U": [self.U[c][: int(self.C[c, k.WAITING]), :s].copy() for c, s in enumerate(sizes)],
            "sign": [sign.copy() for sign in self.sign[: len(sizes)]],
            "points": self.points,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The engine that `get_state` described; it continues bit for bit."""
        kind, gamma, coef0 = state["kernel"]
        outputs, top = len(state["V"]), state["top"]
        engine = cls(kind, gamma, coef0, state["dim"], outputs, state["tol"])
        if not state["points"]:
            engine._part()
        engine.n = state["n"]
        engine.reserve(top, exact=True)
        engine.top, engine.free, engine.force = top, list(state["free"]), state["force"]
        engine.X[:top, : engine.dim] = state["X"]
        packed.unpack(state["K"], engine.K[:top, :top])
        engine.alive[:top], engine.V[:, :, :top] = state["alive"], state["V"]
        engine.M[:, :, :top], engine.C = state["M"], state["C"].copy()
        for c, (P, U, sign) in enumerate(zip(state["P"], state["U"], state["sign"], strict=True)):
            engine.sign[c][:] = sign
            engine.P[c][: len(P)] = P
            engine.U[c][: U.shape[0], : U.shape[1]] = U
        return engine
