"""The added rows of a tracker, and how much curvature they can lose or gain on the way to w1."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import losses
from .curvature import kink_distance, third_derivative
from .losses import UNIT


class AddedRows:
    """Rows (n, d) found by key, with t_i = L^-1 x_i, the margin z_i at w0 and its slack.

    ``average`` and ``pointwise`` are those of CurvatureBound. The logistic sums are kept up to date, O(d^2) a row; for
    the squared hinge only the rows that can reach the kink within rho are summed.
    """

    def __init__(self, loss: str, d: int, safety: float) -> None:
        self.loss, self.safety, self.n = loss, safety, 0
        self._fields = [np.zeros((8, d)), np.zeros((8, d)), np.zeros(8), np.zeros(8)]
        self._where: dict[bytes, list[int]] = {}
        self._keys: list[bytes] = []
        self._third, self._fourth = np.zeros((2, d, d)) if loss == "logistic" else np.zeros((2, 0, 0))
        self._dust = 0.0
        self._constants: tuple[float, float, float] | None = None

    @property
    def X(self) -> np.ndarray:
        """The signed rows, (n, d)."""
        return self._fields[0][: self.n]

    @property
    def keys(self) -> list[bytes]:
        """Their keys, in the same order."""
        return self._keys

    def count(self, key: bytes) -> int:
        """How often the row of this key is among them."""
        return len(self._where.get(key, ()))

    def extend(self, keys: list[bytes], X: np.ndarray, T: np.ndarray, z: np.ndarray, slack: np.ndarray) -> None:
        """Take rows."""
        need = self.n + len(keys)
        if need > len(self._fields[2]):
            more = max(need, 2 * self.n) - self.n
            self._fields = [np.concatenate([f[: self.n], np.zeros((more, *f.shape[1:]))]) for f in self._fields]
        for field, new in zip(self._fields, (X, T, z, slack), strict=True):
            field[self.n : need] = new
        for i, key in enumerate(keys, self.n):
            self._where.setdefault(key, []).append(i)
        self._keys.extend(keys)
        self.n = need
        self._accumulate(T, z, slack, 1)

    def pop(self, keys: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Drop one row for each key; their rows (k, d) and the margins (k,) they were added with."""
        gone = [np.empty((len(keys), *f.shape[1:])) for f in self._fields]
        for out, key in enumerate(keys):
            places = self._where[key]
            i, last = places.pop(), self.n - 1
            if not places:
                del self._where[key]
            for field, kept in zip(self._fields, gone, strict=True):
                kept[out] = field[i]
                field[i] = field[last]
            tail = self._keys.pop()
            if i != last:
                moved = self._where[tail]
                moved[moved.index(last)] = i
                self._keys[i] = tail
            self.n = last
        self._accumulate(gone[1], gone[2], gone[3], -1)
        return gone[0], gone[2]

    def _accumulate(self, T: np.ndarray, z: np.ndarray, slack: np.ndarray, sign: int) -> None:
        if self.loss != "logistic" or not len(z):
            return
        self._constants = None
        q = np.sqrt(np.einsum("ij,ij->i", T, T)) * self.safety
        third, fourth = third_derivative(z, slack) * q, q * q / 8
        self._third += sign * losses.weighted_gram(T, third)
        self._fourth += sign * losses.weighted_gram(T, fourth)
        # What rounding may leave in the sums after any number of additions and removals.
        size = float(third @ (q * q)) + float(fourth @ (q * q))
        self._dust += 8 * UNIT * (len(z) + len(T[0]) + 8) * size
        if not self.n:
            self._third[:], self._fourth[:], self._dust = 0.0, 0.0, 0.0

    def constants(self, enough: float) -> tuple[float, float]:
        """m3 and m4 of the logistic loss over the added rows; a looser m3 or m4 will do when at most ``enough``."""
        if not self.n:
            return 0.0, 0.0
        if self._constants is None or self._constants[0] != enough:
            one, two = (losses.eigenvalue_bound(k, enough) + self._dust for k in (self._third, self._fourth))
            self._constants = enough, one * self.safety, two * self.safety
        return self._constants[1:]

    def squared_hinge(self, rho: float, gained: bool, pointwise: bool, enough: float) -> float:
        """eps of the squared hinge over the added rows, on average over the path or at a point."""
        if not self.n:
            return 0.0
        T, z, slack = (f[: self.n] for f in self._fields[1:])
        tau, lost, gain = kink_distance(z, slack, np.sqrt((T * T).sum(axis=1)) * self.safety)
        with np.errstate(invalid="ignore"):
            weights = 2.0 * (tau <= rho) if pointwise else 2 * np.maximum(1 - tau / rho, 0.0)
        weights = np.where(gain if gained else lost, weights, 0.0)
        return losses.largest_eigenvalue(T, weights, enough) * self.safety

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_where", "_constants")}
        state["_fields"] = [f[: self.n].copy() for f in self._fields]
        state["_keys"] = np.frombuffer(b"".join(self._keys), dtype=np.uint8).copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _constants=None)
        self._fields = list(state["_fields"])
        raw = state["_keys"].tobytes()
        self._keys = [raw[i : i + 16] for i in range(0, len(raw), 16)]
        self._where = {}
        for i, key in enumerate(self._keys):
            self._where.setdefault(key, []).append(i)
