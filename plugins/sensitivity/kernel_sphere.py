"""Certified score intervals of a retrained kernel machine, by the ball that needs no feature vectors."""

from __future__ import annotations

import copy
import os
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from . import losses
from .bounds import ball_parts, directions
from .decide import (
    Decision,
    Interval,
    Rule,
    ValidationInterval,
    decided,
    reference_change,
    reference_rows,
    validation_interval,
)
from .kernel_fit import KernelFit, dense, names_of
from .rows import pack_counter, unpack_counter
from .storage import read, write

# Rows of the fit whose scores a saved tracker knows its kernel by.
_SAMPLE = 16


class _Gradient(NamedTuple):
    """G = R0 + T w0 + sum t phi: its terms, bounds of its norm, and the constants of the changed sum.

    ``rows`` (m, d), ``t`` (m,), ``T``; low <= |G| <= high up to ``error``; ``whole``, the sum of its terms' norms; mu,
    L, and ``unit``, the relative error of sums.
    """

    rows: np.ndarray
    t: np.ndarray
    T: float
    low: float
    high: float
    error: float
    whole: float
    mu: float
    L: float
    unit: float


class KernelTracker(KernelFit):
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
    >>> tracker.decide(Rule("flips", 0.0, [[1.0], [-1.0]])).decision
    'keep'

    References
    ----------
    Okumura, Suzuki, Takeuchi: Quick sensitivity analysis for incremental data modification, KDD 2015 (L = inf).
    Nesterov: Introductory Lectures on Convex Optimization, Theorem 2.1.12 (the ball for finite L).
    """

    def __init__(
        self, X: Any, y: Any, alpha: Any, C: float, loss: str, kernel: Any = "rbf", gamma: float = 1.0
    ) -> None:
        super().__init__(X, y, alpha, C, loss, kernel, gamma)
        self.n1 = self.n0
        # Rows more (> 0) or less (< 0) often in the data than in the fit, each as x, y and ``_scores``.
        self._net: Counter[bytes] = Counter()
        self._rows: dict[bytes, np.ndarray] = {}

    def add(self, X: Any, y: Any) -> None:
        """Rows (m, d) or one row (d,) joined the data. O(n_sv) a row."""
        self._shift(X, y, 1)

    def remove(self, X: Any, y: Any) -> None:
        """Rows left the data; ValueError for one that is not in it or for the last one. O(n_sv) a row."""
        self._shift(X, y, -1)

    def _shift(self, X: Any, y: Any, way: int) -> None:
        rows, sign = losses.checked_rows(dense(X), y, self.d)
        change = Counter(names := names_of(rows, sign))
        if way < 0 and any(count > self._keys[key] + self._net[key] for key, count in change.items()):
            raise ValueError("a row to remove is neither a fit row nor an added one (or was removed before)")
        if self.n1 + way * len(rows) < 1:
            raise ValueError("cannot remove every row: no data would be left")
        self._rows.update(zip(names, np.column_stack([rows, sign, self._scores(rows)]), strict=True))
        for key, count in change.items():
            self._net[key] += way * count
            if not self._net[key]:
                del self._net[key], self._rows[key]
        self.n1 += way * len(rows)

    def _table(self) -> np.ndarray:
        """The rows of ``_net`` in its order, (m, d + 4)."""
        return np.array([self._rows[key] for key in self._net]).reshape(len(self._net), self.d + 4)

    def _gradient(self) -> _Gradient:
        net, table = np.array(list(self._net.values()), dtype=float), self._table()
        rows, (y, f, r, root) = table[:, : self.d], table[:, self.d :].T
        slope, off = self._slopes(f, y, root, e := self._unit(self.n0 + len(net)))
        t, T = net * slope, (self.n1 - self.n0) * self.C
        whole = self._residual_size + (size := abs(T) * self._size + float(np.abs(t) @ root))
        error = self._residual_error + (float((np.abs(net) * off) @ root) + 4 * losses.UNIT * size) * (1 + e)
        moved = T * T * self._square + float(2 * T * (t @ f) + t @ (self._kernel(rows, rows) @ t))
        both = self._residual_square + 2 * (T * self._cross + float(t @ r)) + moved
        # A square is off by at most 4 e scale^2 whatever cancels in it, which its root must keep.
        squares, scales = np.array([both, moved, self._residual_square]), np.array([whole, size, self._residual_size])
        norms = np.sqrt(np.maximum(squares, 0.0) + 4 * e * scales**2)
        low, high = float(np.sqrt(max(both - 4 * e * whole**2, 0.0))), float(min(norms[0], norms[1] + norms[2]))
        mu, more = self.n1 * self.C, self._lambda_max + float(np.maximum(net, 0.0) @ root**2)
        L = (mu + losses.smoothness(self.loss) * more) * (1 + 2 * e)
        return _Gradient(rows, t, T, low, high, error, whole, mu, L, e)

    def bounds(self, X_ref: Any, level: str = "smooth-sphere") -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (m,) of the retrained scores of X_ref (m, d); level "sphere", L = inf, is wider."""
        return self._bounds(directions(dense(X_ref), self.d), level)[:2]

    def _bounds(self, E: np.ndarray, level: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``bounds`` and the scores of w0, (m,) each."""
        _check_level(level)
        G = self._gradient()
        L = np.inf if level == "sphere" else G.L
        score, residual, length = self._scores(E).T
        slant = residual + G.T * score + self._kernel(E, G.rows) @ G.t
        middle = ball_parts(score, slant, G.mu, L)[0]
        radius = ball_parts(np.zeros(1), np.array([G.high]), G.mu, L)[1]
        half = length * (radius + G.error / G.mu + G.unit * (self._size + G.whole / G.mu)) * (1 + G.unit)
        if not np.isfinite(middle + half).all():
            raise ValueError("the scores overflow: scale the kernel")
        return middle - half, middle + half, score

    def labels(self, X_ref: Any, level: str = "smooth-sphere") -> np.ndarray:
        """Certain labels +1 / -1 of the retrained machine on X_ref (m, d); 0 where the interval holds both signs."""
        lower, upper = self.bounds(X_ref, level)
        return np.where(lower > 0, 1, np.where(upper < 0, -1, 0))

    def validation_interval(self, X_ref: Any, y_ref: Any, level: str = "smooth-sphere") -> ValidationInterval:
        """What a retrained machine can reach on rows X_ref (m, d) with labels y_ref (m,) in {-1, +1} (or bool)."""
        rows, sign = losses.checked_rows(dense(X_ref), y_ref, self.d)
        return validation_interval(*self._bounds(rows, level), sign, self.loss)

    def training_gap(self) -> Interval:
        """|G|^2/(2 L n1) and |G|^2/(2 mu n1), between which is f1(w0) - f1(w1), the objective lost by keeping w0."""
        G = self._gradient()
        low = max(G.low - G.error, 0.0) ** 2 / (2 * G.L * self.n1) * (1 - G.unit)
        return low, (G.high + G.error) ** 2 / (2 * G.mu * self.n1) * (1 + G.unit)

    def decide(self, rule: Rule, level: str = "smooth-sphere") -> Decision:
        """KEEP when the upper bound of the rule's criterion is within its tolerance, else RETRAIN.

        That is certified when the lower bound is beyond the tolerance: no pass over the data narrows these intervals.
        The criteria are "flips", "validation" and "gap"; ValueError for "coefficients", which linear models have.
        """
        _check_level(level)
        if rule.criterion == "coefficients":
            raise ValueError("criterion 'coefficients' is for linear models: take 'flips', 'validation' or 'gap'")
        if rule.criterion == "gap":
            return decided(rule, *self.training_gap(), level, last=True)
        X, y = reference_rows(rule, self.d)
        found = reference_change(rule.criterion, *self._bounds(dense(X), level), y, self.loss)
        return decided(rule, *found, level, last=True)

    def check(self, X_ref: Any, scores: Any, level: str = "smooth-sphere") -> bool:
        """True when scores (m,) on X_ref (m, d), of the exact optimum of the changed data, lie in every interval."""
        lower, upper = self.bounds(X_ref, level)
        found = np.asarray(scores, dtype=float)
        if found.shape != lower.shape:
            raise ValueError(f"scores must be {len(lower)} numbers, one for each row, got shape {found.shape}")
        return bool(np.all((lower <= found) & (found <= upper)))

    def __copy__(self) -> KernelTracker:
        # Two trackers with rows in common would change each other's certificates.
        return copy.deepcopy(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tracker to one .npz file without anything executable: a kernel that is a function stays out."""
        state = dict(self.__dict__, _keys=pack_counter(self._keys), _net=pack_counter(self._net), _rows=self._table())
        state["kernel"] = None if callable(self.kernel) else self.kernel
        write(path, "KernelTracker", {**state, "sample": self._scores(self._support[:_SAMPLE])})

    @classmethod
    def load(cls, path: str | os.PathLike[str], kernel: Any = None) -> KernelTracker:
        """Read what ``save`` wrote, with the ``kernel`` once more if it is a function.

        Raises ValueError for another file, without that function, and for one that gives other scores for some rows of
        the fit than the tracker's own did.
        """
        state = read(path, "KernelTracker")
        if callable(kernel) != (state["kernel"] is None):
            raise ValueError("kernel must be the function that the saved tracker had, and None if it had none")
        sample = state.pop("sample")
        out = object.__new__(cls)
        out.__dict__.update(state, kernel=kernel if callable(kernel) else state["kernel"])
        out._keys, out._net = unpack_counter(*state["_keys"]), unpack_counter(*state["_net"])
        out._rows = dict(zip(out._net, state["_rows"], strict=True))
        found = out._scores(out._support[:_SAMPLE])
        sizes = np.array([out._size, out._residual_size, 1.0])
        if np.any(np.abs(found - sample) > 2 * out._unit(len(out._support)) * sample[:, 2:] * sizes):
            raise ValueError("kernel is not the one that the saved tracker had: it gives other scores")
        return out


def _check_level(level: str) -> None:
    if level not in ("sphere", "smooth-sphere"):
        raise ValueError(f"level must be sphere or smooth-sphere, not {level!r}")
