"""Sums of rows in the coordinates where the fit's Hessian M = L L' is the identity, t_i = L^-1 x_i."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .gradient import margins
from .kernels import add_few, add_outer, quadratic_rows, whiten_rows
from .losses import UNIT
from .rows import unsigned
from .triangular import half_rows

if TYPE_CHECKING:
    from .summary import FitSummary


def whiten(fit: FitSummary, rows: Any, scale: np.ndarray | None = None) -> np.ndarray:
    """scale_i L^-1 x_i for each row (m, d), dense or CSR, without the rows whose scale is 0."""
    if not sp.issparse(rows):
        if scale is None:
            return half_rows(fit.factor.T, rows)
        return half_rows(fit.factor.T, rows[scale != 0] * scale[scale != 0, None])
    scale = np.ones(rows.shape[0]) if scale is None else scale
    out = np.zeros((np.count_nonzero(scale), rows.shape[1]))
    whiten_rows(unsigned(rows.indptr), unsigned(rows.indices), rows.data, scale, fit.whitener, out)
    return out


def sizes(fit: FitSummary, rows: Any) -> np.ndarray:
    """q_i >= |x_i|_{M^-1} for each row (m, d), dense or CSR."""
    if not sp.issparse(rows) or not np.isfinite(fit.eps):
        T = whiten(fit, rows)
        return np.sqrt(np.einsum("ij,ij->i", T, T)) * fit.safety
    n = rows.shape[0]
    inside, wide = np.empty(n), margins(rows, fit.inverse_root, np.ones(n))[1]
    quadratic_rows(unsigned(rows.indptr), unsigned(rows.indices), rows.data, fit.inverse, inside)
    # What rounding can do to x.M^-1 x is measured in the length that cannot cancel.
    rough = 4 * fit.eps + 32 * UNIT * (fit.d + 8)
    return np.sqrt(np.maximum(inside, 0.0) + rough * wide * wide)


def gram_of(rows: Any, weights: np.ndarray) -> np.ndarray:
    """sum_i weights_i x_i x_i', (d, d), weights >= 0."""
    if not sp.issparse(rows):
        return losses.weighted_gram(rows, weights)
    out = np.zeros((rows.shape[1], rows.shape[1]))
    add_outer(unsigned(rows.indptr), unsigned(rows.indices), rows.data, weights, out)
    return out


class WhitenedSum:
    """K = sum_i weights_i t_i t_i' over rows that came and have not left, weights >= 0, and a bound of its norm.

    The trace is always known, a row for O(non-zeros^2); rows wait, and join the matrix, O(d^2) each, when the trace
    will not do or when they are more than 2 d.
    """

    def __init__(self, fit: FitSummary) -> None:
        self._fit = fit
        self._trace = self._moved = self._dust = 0.0
        self._count, self._pending = 0, 0
        self._matrix: np.ndarray | None = None
        self._waiting: list[tuple[Any, np.ndarray, int]] = []
        self._found: tuple[float, float] | None = None

    def move(self, rows: Any, weights: np.ndarray, q: np.ndarray, sign: int) -> None:
        """Rows (m, d) with their weights (m,) and q_i >= |t_i| came (sign 1) or left (-1), the same as they came."""
        part = float(weights @ (q * q))
        self._found = None
        self._trace += sign * part
        self._moved += part
        self._count += len(q)
        self._pending += len(q)
        self._waiting.append((rows, weights, sign))
        if self._pending > 2 * self._fit.d:
            self._settle()

    def bound(self, enough: float) -> float:
        """An upper bound of lambda_max(K); tight to rounding unless a looser one is at most ``enough``."""
        if not self._count:
            return 0.0
        if self._found is None or self._found[0] != enough:
            self._found = enough, self._find(enough)
        return self._found[1]

    def _find(self, enough: float) -> float:
        trace = self._trace * (1 + 1e-9) + 4 * UNIT * (self._count + 8) * self._moved
        # The trace can be many times the norm: it is taken where even that is next to nothing.
        if trace <= enough / 5:
            return trace
        self._settle()
        assert self._matrix is not None
        return losses.eigenvalue_bound(self._matrix, enough) + self._dust

    def _settle(self) -> None:
        for rows, weights, sign in self._waiting:
            self._add(rows, weights, sign)
        self._waiting, self._pending = [], 0

    def _add(self, rows: Any, weights: np.ndarray, sign: int) -> None:
        """K += sign * the sum over the rows; what rounding may do, in the order of symmetric matrices, to the dust."""
        fit, (m, d) = self._fit, rows.shape
        if m <= 2 * d:
            T = whiten(fit, rows, np.sqrt(weights))
            reach = float(np.einsum("ij,ij->", T, T))
            if len(T) <= 8:
                if self._matrix is None:
                    self._matrix = np.zeros((d, d))
                add_few(T, np.full(len(T), float(sign)), self._matrix)
            else:
                self._matrix = _moved(self._matrix, T.T @ T, sign)
        else:
            plain = gram_of(rows, weights)
            # |sum_i weights_i x_ij x_ik| <= s_j s_k with s the root of its diagonal.
            reach = float(np.sqrt(np.diag(plain)) @ fit.inverse_root) ** 2
            self._matrix = _moved(self._matrix, whiten(fit, whiten(fit, plain).T), sign)
        self._dust += 8 * UNIT * (m + 2 * d + 8) * reach + 2 * UNIT * self._moved

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        numbers = [self._trace, self._moved, self._dust]
        return {"numbers": numbers, "count": self._count, "matrix": self._matrix}

    def restore(self, state: dict[str, Any]) -> None:
        """Take what __getstate__ gave."""
        self._trace, self._moved, self._dust = state["numbers"]
        self._count, self._matrix = state["count"], state["matrix"]


def _moved(K: np.ndarray | None, by: np.ndarray, sign: int) -> np.ndarray:
    """K + sign by, K None for zero."""
    if K is None:
        return by if sign > 0 else -by
    return np.add(K, by, out=K) if sign > 0 else np.subtract(K, by, out=K)
