"""A kernel machine as it was fitted: its scores, and what of the gradient there is known without its rows."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from . import losses
from .rows import digests, keys
from .summary import LARGEST_DENSE


class KernelFit:
    """The machine w0 = sum_i alpha_i phi(x_i) and R0 = n0 C w0 + sum_fit loss'(z) y phi(x), as rows with coefficients.

    Parameters and errors are those of ``KernelTracker``. Norms, squares and products of w0 and R0 are kept with bounds
    of their rounding errors, and lambda_max >= lambda_max(K).
    """

    def __init__(
        self, X: Any, y: Any, alpha: Any, C: float, loss: str, kernel: Any = "rbf", gamma: float = 1.0
    ) -> None:
        self.C, self.loss = losses.check_c(C), losses.check_loss(loss)
        self.kernel, self.gamma = kernel, gamma
        if not (callable(kernel) or kernel == "rbf" and np.isfinite(gamma) and gamma > 0):
            raise ValueError(f"kernel must be a function or 'rbf' with a finite gamma above 0: {kernel!r}, {gamma!r}")
        rows, sign = losses.checked_rows(dense(X), y)
        self.n0, self.d = rows.shape
        a = np.array(alpha, dtype=float)
        if self.n0 == 0 or a.shape != (self.n0,) or not np.all(np.isfinite(a)):
            raise ValueError(f"alpha must be finite numbers, one for each of at least one row, got {self.n0} rows")
        K = self._kernel(rows, rows)
        root, e = self._root(np.diag(K)), self._unit(self.n0)
        slack = self._unit(0) * float(np.trace(K))
        if np.any(np.abs(K - K.T) > slack):
            raise ValueError("the kernel must be symmetric")
        # Norms of sums of |coefficient| sqrt(k): every rounding error is some units of them.
        self._size = float(np.abs(a) @ root)
        f = K @ a
        slope, off = self._slopes(f, sign, root, e)
        b = self.n0 * self.C * a + slope
        self._residual_size = float(np.abs(b) @ root)
        self._residual_error = float((off + 4 * losses.UNIT * (np.abs(slope) + np.abs(b - slope))) @ root) * (1 + e)
        self._square, self._cross, self._residual_square = float(a @ f), float(b @ f), float(b @ (K @ b))
        live = (a != 0) | (b != 0)
        self._support, self._coefficients = rows[live], np.column_stack([a, b])[live]
        # Many rows: the Frobenius norm, as the spectrum would cost too much.
        self._lambda_max = losses.eigenvalue_bound(K, 0.0 if self.n0 <= LARGEST_DENSE else np.inf) + slack
        self._keys = Counter(names_of(rows, sign))
        if self._residual_square > (self.n0 * (0.05 * self.C * np.sqrt(max(self._square, 0.0)) + 1e-8)) ** 2:
            warnings.warn(
                "alpha is not near the optimum: check C, loss, kernel, signs (bounds hold)", RuntimeWarning, 3
            )

    def _unit(self, n: int) -> float:
        """Relative error of a sum of n products with kernel values."""
        return 2 * losses.UNIT * (n + 4 * (self.d + 8) + 16)

    def _kernel(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        # Differences, not the expanded square: that would cancel.
        K = self.kernel(A, B) if callable(self.kernel) else np.exp(-self.gamma * cdist(A, B, "sqeuclidean"))
        K = np.asarray(K, dtype=float)
        if K.shape != (len(A), len(B)) or not np.all(np.isfinite(K)):
            raise ValueError(f"the kernel must give a finite array of shape {(len(A), len(B))}")
        return K

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        """f0(x), <R0, phi(x)> and a bound of sqrt(k(x, x)) for the rows, (n, 3)."""
        parts = [rows[i : i + 16] for i in range(0, len(rows), 16)]
        root = self._root(np.concatenate([np.empty(0), *(np.diag(self._kernel(part, part)) for part in parts)]))
        return np.column_stack([self._kernel(rows, self._support) @ self._coefficients, root])

    def _root(self, diagonal: np.ndarray) -> np.ndarray:
        if np.any(diagonal < 0):
            raise ValueError("the kernel must be positive semidefinite")
        return np.sqrt(diagonal) * (1 + self._unit(0))

    def _slopes(self, f: np.ndarray, y: np.ndarray, root: np.ndarray, e: float) -> tuple[np.ndarray, np.ndarray]:
        """y loss'(y f) and a bound of its error, (n,) each, for scores f off by at most e |alpha| sqrt(k)."""
        slope = losses.slope(self.loss, y * f)
        return y * slope, losses.smoothness(self.loss) * e * self._size * root + 16 * losses.UNIT * np.abs(slope)


def dense(X: Any) -> Any:
    """Rows as an array, from CSR too."""
    return losses.canonical(X).toarray() if sp.issparse(X) else X


def names_of(rows: np.ndarray, sign: np.ndarray) -> list[bytes]:
    """Keys of labelled rows; (-x, -y) is another one than (x, y), unlike for a linear model."""
    return keys(digests(np.column_stack([rows, sign])))
