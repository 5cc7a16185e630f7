"""The added rows of a tracker, and how much curvature they can lose or gain on the way to w1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .curvature import kink_distance, third_derivative
from .row_store import RowStore
from .whitened import WhitenedSum, sizes, whiten

if TYPE_CHECKING:
    from .summary import FitSummary


class AddedRows:
    """Rows (n, d) found by key, dense or CSR, with the margin z_i at w0, its slack, and q_i >= |x_i|_{M^-1}.

    ``average`` and ``pointwise`` are those of CurvatureBound. The logistic sums are kept up to date, O(d^2) a row; for
    the squared hinge only the rows that can reach the kink within rho are summed.
    """

    def __init__(self, fit: FitSummary) -> None:
        self._fit = fit
        self.store: RowStore | None = None
        # Logistic: sums of |phi'''| q_i t_i t_i' and q_i^2/8 t_i t_i', t_i = L^-1 x_i.
        self._third, self._fourth = WhitenedSum(fit), WhitenedSum(fit)
        # Squared hinge: distances to the kink, and which rows may lose and gain curvature.
        self._kink: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return 0 if self.store is None else self.store.n

    @property
    def X(self) -> Any:
        """The signed rows, (n, d), dense or CSR."""
        return np.zeros((0, self._fit.d)) if self.store is None else self.store.rows

    def extend(self, keys: list[bytes], rows: Any, z: np.ndarray, slack: np.ndarray) -> None:
        """Take rows with their margins at w0, off by at most ``slack``."""
        if self.store is None or not self.store.n:
            self.store = RowStore(self._fit.d, sp.issparse(rows), 3)
        numbers = np.stack([z, slack, sizes(self._fit, rows)], axis=1)
        self.store.add(keys, rows, numbers)
        self._move(rows, numbers, 1)

    def pop(self, keys: list[bytes], rows: Any) -> np.ndarray:
        """Drop these rows; the margins (k,) that they were added with."""
        assert self.store is not None
        numbers = self.store.pop(keys)
        self._move(rows, numbers, -1)
        return numbers[:, 0]

    def _move(self, rows: Any, numbers: np.ndarray, sign: int) -> None:
        self._kink = None
        if self._fit.loss != "logistic":
            return
        if not self.n:
            self._third, self._fourth = WhitenedSum(self._fit), WhitenedSum(self._fit)
            return
        z, slack, q = numbers.T
        self._third.move(rows, third_derivative(z, slack) * q, q, sign)
        self._fourth.move(rows, q * q / 8, q, sign)

    def constants(self, enough: float) -> tuple[float, float]:
        """m3 and m4 of the logistic loss over the added rows; a looser m3 or m4 will do when at most ``enough``."""
        return self._third.bound(enough) * self._fit.safety, self._fourth.bound(enough) * self._fit.safety

    def squared_hinge(self, rho: float, gained: bool, pointwise: bool, enough: float) -> float:
        """eps of the squared hinge over the added rows, on average over the path or at a point."""
        if self.store is None or not self.n:
            return 0.0
        if self._kink is None:
            self._kink = kink_distance(*self.store.numbers.T)
        tau, lost, gain = self._kink
        near = np.flatnonzero((gain if gained else lost) & (tau <= rho))
        if not len(near):
            return 0.0
        weights = np.full(len(near), 2.0) if pointwise else 2 * (1 - tau[near] / rho)
        q = self.store.numbers[near, 2]
        trace = float(weights @ (q * q)) * (1 + 1e-9)
        if trace <= enough:
            return trace
        T = whiten(self._fit, self.store.take(near))
        return losses.largest_eigenvalue(T, weights, enough) * self._fit.safety

    def __getstate__(self) -> dict[str, Any]:
        return {
            "store": None if self.store is None else self.store.__getstate__(),
            "sums": [self._third.__getstate__(), self._fourth.__getstate__()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take what __getstate__ gave."""
        if state["store"] is not None:
            self.store = object.__new__(RowStore)
            self.store.__setstate__(state["store"])
        for K, saved in zip((self._third, self._fourth), state["sums"], strict=True):
            K.restore(saved)
