"""Certified score intervals of a retrained kernel machine, by the ball that needs no feature vectors."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from . import losses
from .bounds import ball_parts, directions
from .rows import digests, keys
from .summary import LARGEST_DENSE


class KernelTracker:
    """Follow rows that join and leave the data of a kernel machine, and bound the scores of the retrained one.

    The machine f0(x) = <w0, phi(x)>, w0 = sum_i alpha_i phi(x_i), is meant to minimise C/2 |w|^2 + (1/n0) sum_i
    loss(y_i f(x_i)). With mu = n1 C, L = mu + beta (lambda_max(K) + sum of k(x, x) over the added rows), beta =
    sup loss'', and the gradient of the changed sum at w0,

        G = R0 + (n1 - n0) C w0 + sum_added loss'(z) y phi(x) - sum_removed loss'(z) y phi(x),
        R0 = n0 C w0 + sum_fit loss'(z) y phi(x),  z = y f0(x),

    the retrained score f1(x) is within (1/mu - 1/L)/2 |G| sqrt(k(x, x)) of f0(x) - (1/mu + 1/L)/2 <G, phi(x)>. |G|^2
    takes O(m n_sv + m^2) for m changed rows and n_sv rows with a coefficient in w0 or R0. Every interval is widened for
    rounding: |G|^2 is a sum that can cancel, so |G| counts as some 1e-7 of the sum of its parts' norms at least.
    It certifies how far the optimum of the training objective moves, and nothing about generalisation.

    Parameters
    ----------
    X, y, alpha
        The fit's rows (n0, d), labels (n0,) in {-1, +1} (or bool) and coefficients (n0,), the label's sign included,
        from any solver and tolerance. This makes arrays (n0, n0), not kept.
    C, loss
        Strength of the penalty, above 0 (C_svm = 1/(C n0)), and "logistic" or "squared_hinge".
    kernel, gamma
        "rbf", exp(-gamma |x - z|^2), or a positive semidefinite function of rows (a, d) and (b, d) that gives (a, b),
        right to 4 (d + 8) 2^-53 sqrt(k(x, x) k(z, z)): dot products and their powers up to the fourth are. A constant
        added to it is a penalised intercept.

    Raises
    ------
    ValueError
        By every method before anything changes: for bad rows, labels or parameters, a kernel that is not symmetric and
        finite, and for a removed row that is not in the data. A RuntimeWarning says that alpha is not near the optimum.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0]])  # w0 = 0.5 minimises |w|^2/2 + the mean of the squared hinge losses
    >>> tracker = KernelTracker(X, [1, 1], [0.5, 0.0], 1.0, "squared_hinge", kernel=lambda a, b: a @ b.T)
    >>> tracker.add([[1.5]], [1])
    >>> lower, upper = tracker.bounds([[1.0]])
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.514], [0.583])
    >>> tracker.labels([[1.0], [-1.0]]).tolist(), tracker.n1
    ([1, -1], 3)

    References
    ----------
    Okumura, Suzuki, Takeuchi: Quick sensitivity analysis for incremental data modification, KDD 2015 (L = inf).
    Nesterov: Introductory Lectures on Convex Optimization, Theorem 2.1.12 (the ball for finite L).
    """

    def __init__(
        self, X: Any, y: Any, alpha: Any, C: float, loss: str, kernel: Any = "rbf", gamma: float = 1.0
    ) -> None:
        self.C, self.loss = losses.check_c(C), losses.check_loss(loss)
        self.kernel, self.gamma = kernel, gamma
        if not (callable(kernel) or kernel == "rbf" and np.isfinite(gamma) and gamma > 0):
            raise ValueError(f"kernel must be a function or 'rbf' with a finite gamma above 0: {kernel!r}, {gamma!r}")
        rows, sign = losses.checked_rows(_dense(X), y)
        (self.n0, self.d), self.n1 = rows.shape, rows.shape[0]
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
        self._keys = Counter(_names(rows, sign))
        # Rows more (> 0) or less (< 0) often in the data than in the fit, each as x, y and ``_scores``.
        self._net: dict[bytes, int] = {}
        self._rows: dict[bytes, np.ndarray] = {}
        if self._residual_square > (self.n0 * (0.05 * self.C * np.sqrt(max(self._square, 0.0)) + 1e-8)) ** 2:
            warnings.warn(
                "alpha is not near the optimum: check C, loss, kernel, signs (bounds hold)", RuntimeWarning, 2
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

    def add(self, X: Any, y: Any) -> None:
        """Rows (m, d) or one row (d,) joined the data. O(n_sv) a row."""
        self._shift(X, y, 1)

    def remove(self, X: Any, y: Any) -> None:
        """Rows left the data; ValueError for one that is not in it or for the last one. O(n_sv) a row."""
        self._shift(X, y, -1)

    def _shift(self, X: Any, y: Any, way: int) -> None:
        rows, sign = losses.checked_rows(_dense(X), y, self.d)
        change = Counter(names := _names(rows, sign))
        if way < 0 and any(count > self._keys[key] + self._net.get(key, 0) for key, count in change.items()):
            raise ValueError("a row to remove is neither a fit row nor an added one (or was removed before)")
        if self.n1 + way * len(rows) < 1:
            raise ValueError("cannot remove every row: no data would be left")
        self._rows.update(zip(names, np.column_stack([rows, sign, self._scores(rows)]), strict=True))
        for key, count in change.items():
            self._net[key] = self._net.get(key, 0) + way * count
            if not self._net[key]:
                del self._net[key], self._rows[key]
        self.n1 += way * len(rows)

    def bounds(self, X_ref: Any, level: str = "smooth-sphere") -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (m,) of the retrained scores of X_ref (m, d); level "sphere", L = inf, is wider."""
        if level not in ("sphere", "smooth-sphere"):
            raise ValueError(f"level must be sphere or smooth-sphere, not {level!r}")
        E = directions(_dense(X_ref), self.d)
        net = np.array(list(self._net.values()), dtype=float)
        table = np.array([self._rows[key] for key in self._net]).reshape(len(net), self.d + 4)
        rows, (y, f, r, root) = table[:, : self.d], table[:, self.d :].T
        slope, off = self._slopes(f, y, root, e := self._unit(self.n0 + len(net)))
        # G = R0 + T w0 + sum t phi, in norms no larger than ``whole``.
        t, T = net * slope, (self.n1 - self.n0) * self.C
        whole = self._residual_size + (size := abs(T) * self._size + float(np.abs(t) @ root))
        error = self._residual_error + (float((np.abs(net) * off) @ root) + 4 * losses.UNIT * size) * (1 + e)
        moved = T * T * self._square + float(2 * T * (t @ f) + t @ (self._kernel(rows, rows) @ t))
        both = self._residual_square + 2 * (T * self._cross + float(t @ r)) + moved
        # A square is off by at most 4 e scale^2 whatever cancels in it, which its root must keep.
        squares, scales = np.array([both, moved, self._residual_square]), np.array([whole, size, self._residual_size])
        norms = np.sqrt(np.maximum(squares, 0.0) + 4 * e * scales**2)
        norm = min(norms[0], norms[1] + norms[2])
        mu, more = self.n1 * self.C, self._lambda_max + float(np.maximum(net, 0.0) @ root**2)
        L = np.inf if level == "sphere" else (mu + losses.smoothness(self.loss) * more) * (1 + 2 * e)
        score, residual, length = self._scores(E).T
        slant = residual + T * score + self._kernel(E, rows) @ t
        middle, radius = ball_parts(score, slant, mu, L)[0], ball_parts(np.zeros(1), np.array([norm]), mu, L)[1]
        half = length * (radius + error / mu + e * (self._size + whole / mu)) * (1 + e)
        if not np.isfinite(middle + half).all():
            raise ValueError("the scores overflow: scale the kernel")
        return middle - half, middle + half

    def labels(self, X_ref: Any, level: str = "smooth-sphere") -> np.ndarray:
        """Certain labels +1 / -1 of the retrained machine on X_ref (m, d); 0 where the interval holds both signs."""
        lower, upper = self.bounds(X_ref, level)
        return np.where(lower > 0, 1, np.where(upper < 0, -1, 0))


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _names(rows: np.ndarray, sign: np.ndarray) -> list[bytes]:
    """Keys of labelled rows; (-x, -y) is another one than (x, y), unlike for a linear model."""
    return keys(digests(np.column_stack([rows, sign])))
