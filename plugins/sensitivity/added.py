"""The added rows of a tracker, and how much curvature they can lose or gain on the way to w1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .curvature import kink_distance, third_derivative
from .gradient import margins
from .kernels import add_few, add_outer, quadratic_rows
from .losses import UNIT
from .row_store import RowStore
from .rows import unsigned
from .triangular import half_rows

if TYPE_CHECKING:
    from .summary import FitSummary


def whiten(fit: FitSummary, rows: Any) -> np.ndarray:
    """L^-1 x for each row (m, d), dense or CSR, M = L L'."""
    return np.asarray(rows @ fit.whitener) if sp.issparse(rows) else half_rows(fit.factor.T, rows)


def add_whitened(
    fit: FitSummary, total: np.ndarray | None, rows: Any, weights: np.ndarray, T: np.ndarray | None, sign: int
) -> tuple[np.ndarray, float, float]:
    """Total + sign L^-1 (sum_i weights_i x_i x_i') L^-T in place, with the trace of that sum and its rounding.

    ``total`` (d, d), None for zero; weights (m,) >= 0. ``T`` holds L^-1 x_i when that is known; else the sum is made in
    the coordinates of the rows. The rounding is bounded in the order of symmetric matrices.
    """
    m, d = rows.shape
    if T is not None:
        trace = float(weights @ np.einsum("ij,ij->i", T, T))
        if m <= 8:
            total = np.zeros((d, d)) if total is None else total
            add_few(np.ascontiguousarray(T), sign * weights, total)
            return total, trace, 8 * UNIT * (m + d + 8) * trace
        white, dust = losses.weighted_gram(T, weights), 8 * UNIT * (m + d + 8) * trace
    else:
        plain = gram_of(rows, weights)
        # |sum_i weights_i x_ij x_ik| <= s_j s_k with s the root of its diagonal.
        reach = float(np.sqrt(np.diag(plain)) @ fit.inverse_root)
        white = whiten(fit, whiten(fit, plain).T)
        trace, dust = float(np.trace(white)), 8 * UNIT * (m + 2 * d + 8) * reach * reach
    if total is None:
        total = white if sign > 0 else -white
    elif sign > 0:
        total += white
    else:
        total -= white
    return total, trace, dust


def gram_of(rows: Any, weights: np.ndarray) -> np.ndarray:
    """sum_i weights_i x_i x_i', (d, d), weights >= 0."""
    if not sp.issparse(rows):
        return losses.weighted_gram(rows, weights)
    out = np.zeros((rows.shape[1], rows.shape[1]))
    add_outer(unsigned(rows.indptr), unsigned(rows.indices), rows.data, weights, out)
    return out


class AddedRows:
    """Rows (n, d) found by key, dense or CSR, with the margin z_i at w0, its slack, and q_i >= |x_i|_{M^-1}.

    ``average`` and ``pointwise`` are those of CurvatureBound. The logistic sums are kept up to date, O(d^2) a row; for
    the squared hinge only the rows that can reach the kink within rho are summed.
    """

    def __init__(self, fit: FitSummary) -> None:
        self._fit = fit
        self.store: RowStore | None = None
        # Logistic: sums of third_i t_i t_i' and fourth_i t_i t_i', t_i = L^-1 x_i.
        self._sums: list[np.ndarray] = []
        self._dust = 0.0
        self._constants: tuple[float, float, float] | None = None
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
        T = self._white(rows)
        if T is None:
            inside, wide = np.empty(len(z)), margins(rows, self._fit.inverse_root, np.ones(len(z)))[1]
            quadratic_rows(unsigned(rows.indptr), unsigned(rows.indices), rows.data, self._fit.inverse, inside)
            # What rounding can do to x.M^-1 x is measured in the length that cannot cancel.
            rough = 4 * self._fit.eps + 32 * UNIT * (self._fit.d + 8)
            q = np.sqrt(np.maximum(inside, 0.0) + rough * wide * wide)
        else:
            q = np.sqrt(np.einsum("ij,ij->i", T, T)) * self._fit.safety
        numbers = np.stack([z, slack, q], axis=1)
        self.store.add(keys, rows, numbers)
        self._accumulate(rows, numbers, T, 1)

    def pop(self, keys: list[bytes], rows: Any) -> np.ndarray:
        """Drop these rows; the margins (k,) that they were added with."""
        assert self.store is not None
        numbers = self.store.pop(keys)
        self._accumulate(rows, numbers, self._white(rows), -1)
        return numbers[:, 0]

    def _white(self, rows: Any) -> np.ndarray | None:
        """L^-1 x of each row, None when CSR rows are better served without."""
        few = self._fit.loss == "logistic" and rows.shape[0] <= 2 * self._fit.d
        if sp.issparse(rows) and not few and np.isfinite(self._fit.eps):
            return None
        return whiten(self._fit, rows)

    def _accumulate(self, rows: Any, numbers: np.ndarray, T: np.ndarray | None, sign: int) -> None:
        self._constants = self._kink = None
        if self._fit.loss != "logistic" or not len(numbers):
            return
        if not self.n:
            self._sums, self._dust = [], 0.0
            return
        z, slack, q = numbers.T
        before: list[Any] = list(self._sums) if self._sums else [None, None]
        self._sums = []
        for total, weights in zip(before, (third_derivative(z, slack) * q, q * q / 8), strict=True):
            total, _, dust = add_whitened(self._fit, total, rows, weights, T, sign)
            self._sums.append(total)
            # What rounding may leave in the sums after any number of additions and removals.
            self._dust += dust + 2 * UNIT * float(np.trace(total))

    def constants(self, enough: float) -> tuple[float, float]:
        """m3 and m4 of the logistic loss over the added rows; a looser m3 or m4 will do when at most ``enough``."""
        if not self.n:
            return 0.0, 0.0
        if self._constants is None or self._constants[0] != enough:
            one, two = (losses.eigenvalue_bound(k, enough) + self._dust for k in self._sums)
            self._constants = enough, one * self._fit.safety, two * self._fit.safety
        return self._constants[1:]

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
            "sums": self._sums,
            "dust": self._dust,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take what __getstate__ gave."""
        if state["store"] is not None:
            self.store = object.__new__(RowStore)
            self.store.__setstate__(state["store"])
        self._sums, self._dust = state["sums"], state["dust"]
