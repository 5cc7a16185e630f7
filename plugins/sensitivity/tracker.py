"""Certified intervals of eta.w1, w1 the optimum of the changed data, without solving for w1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from . import losses
from .curvature import CurvatureBound
from .losses import UNIT
from .summary import FitSummary, row_keys

LEVELS = ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "newton", "auto")
_TRIES = (1.0001, 1.001, 1.01, 1.03, 1.1, 1.2, 1.35, 1.5, 2, 3, 5, 8, 12, 20, 35, 60, 100)


class Tracker:
    """Follow rows that join and leave the data of a fit, and bound what a retrained model could be.

    G = grad F1(w0) costs O(d) a row; the matrices of the modified rows are built once a query, O(m d^2 + d^3).

    >>> import numpy as np
    >>> fit = FitSummary.from_fit(np.array([[1.0], [2.0]]), [1, 1], np.array([0.5]), C=1.0, loss="squared_hinge")
    >>> tracker = Tracker(fit)
    >>> tracker.add([[1.5]], [1])
    >>> bool(tracker.coef_bounds()[0][0] <= 0.5)
    True
    """

    def __init__(self, summary: FitSummary) -> None:
        self.summary = summary
        self.n1, self.G = summary.n0, summary.R0.copy()
        self._ops = summary.n0
        self._abs, self._sq = summary.abs_sum.copy(), summary.column_sq.copy()
        self._added: dict[bytes, list[np.ndarray]] = {}
        self._removed: list[np.ndarray] = []
        self._removed_keys: Counter[bytes] = Counter()
        self._changed()

    def _changed(self) -> None:
        self._ell: dict[str, Any] | None = None
        self._spectrum: tuple[np.ndarray, np.ndarray] | None = None
        self._points: list[tuple[np.ndarray, np.ndarray, np.ndarray, float, float]] = []

    def _rows(self, X: Any, y: Any) -> np.ndarray:
        X = X.toarray() if sp.issparse(X) else X
        return losses.signed_rows(X, y, self.summary.d)

    def _shift(self, rows: np.ndarray, sign: int) -> None:
        s = self.summary
        first = losses.slope(s.loss, rows @ s.w0)
        self.G += sign * (len(rows) * s.C * s.w0 + rows.T @ first)
        self.n1 += sign * len(rows)
        self._ops += 2 * len(rows)
        self._abs += losses.column_sums(rows, np.abs(first))
        self._sq += losses.column_sums(rows, np.ones(len(rows)), 2)
        self._changed()

    def add(self, X: Any, y: Any) -> None:
        """Rows (m, d), or one row (d,), joined the data. Raises ValueError before anything changes."""
        rows = self._rows(X, y)
        for key, row in zip(row_keys(rows), rows, strict=False):
            if self._removed_keys[key]:  # it comes back: undo the removal
                self._removed_keys[key] -= 1
                self._removed.pop(next(i for i, r in enumerate(self._removed) if np.array_equal(r, row)))
            else:
                self._added.setdefault(key, []).append(row.copy())
        self._shift(rows, 1)

    def remove(self, X: Any, y: Any) -> None:
        """Rows left the data. ValueError, before anything changes, for one that is not in it or for the last row."""
        rows = self._rows(X, y)
        keys = row_keys(rows)
        for key, count in Counter(keys).items():
            have = len(self._added.get(key, ())) + self.summary.keys[key] - self._removed_keys[key]
            if count > have:
                raise ValueError("a row to remove is neither a fit row nor an added one (or was removed before)")
        if len(rows) >= self.n1:
            raise ValueError("cannot remove every row: no data would be left")
        for key, row in zip(keys, rows, strict=False):
            if self._added.get(key):
                self._added[key].pop()
            else:
                self._removed_keys[key] += 1
                self._removed.append(row.copy())
        self._shift(rows, -1)

    def _modified(self) -> tuple[np.ndarray, np.ndarray]:
        d = self.summary.d
        added = [r for rows in self._added.values() for r in rows]
        return np.array(added).reshape(-1, d), np.array(self._removed).reshape(-1, d)

    def _rounding(self, w: np.ndarray, abs_sum: np.ndarray, terms: int) -> np.ndarray:
        """Bound of the rounding error of a gradient at w, one number a coordinate."""
        d, c = self.summary.d, np.sqrt(self._sq)
        beta = losses.smoothness(self.summary.loss)
        sums = 2 * UNIT * (terms + d + 16) * (self.summary.C * terms * np.abs(w) + abs_sum)
        return sums + 4 * UNIT * ((d + 8) * beta * c * (c @ np.abs(w)) + 4 * np.sqrt(terms) * c)

    def _constants(self) -> tuple[float, float]:
        A, _ = self._modified()
        beta = losses.smoothness(self.summary.loss)
        mu = self.n1 * self.summary.C
        return mu, mu + beta * (self.summary.lambda_max + float((A * A).sum()) * (1 + 1e-12))

    def _ball(self, E: np.ndarray, w: np.ndarray, g: np.ndarray, dg: np.ndarray, L: float) -> Any:
        mu = self._constants()[0]
        norm, size = np.linalg.norm(E, axis=1), float(np.linalg.norm(g))
        middle = E @ (w - 0.5 * (1 / mu + 1 / L) * g)
        fl = 4 * UNIT * (self.summary.d + 8) * norm * (np.linalg.norm(w) + size / mu)
        half = 0.5 * (1 / mu - 1 / L) * size * norm + norm * np.linalg.norm(dg) / mu + fl
        return middle - half, middle + half

    def _matrix(self, E: np.ndarray, dg: np.ndarray) -> Any:
        s, mu = self.summary, self._constants()[0]
        if self._spectrum is None:
            A, _ = self._modified()
            H = losses.smoothness(s.loss) * (s.gram + A.T @ A)
            lam, V = np.linalg.eigh(H)
            # Enlarging the upper matrix keeps it valid and covers the error of H and of its spectrum.
            self._spectrum = np.maximum(lam, 0) + 4 * UNIT * (self._ops + s.d + 16) * np.trace(H), V
        lam, V = self._spectrum
        g, e = V.T @ self.G, E @ V
        D = 0.5 * lam / (mu * (mu + lam))
        norm = np.linalg.norm(E, axis=1)
        middle = E @ s.w0 - e @ (g * 0.5 * (1 / mu + 1 / (mu + lam)))
        fl = 16 * UNIT * (s.d + 8) * norm * (np.linalg.norm(s.w0) + np.linalg.norm(g) / mu)
        half = np.sqrt((e * e) @ D) * np.sqrt((g * g) @ D) + norm * np.linalg.norm(dg) / mu + fl
        return middle - half, middle + half

    def _ellipsoid(self) -> dict[str, Any]:
        """N, gamma, rho, a, b of the Hessian ellipsoid; ``used`` is False when no crossing was found."""
        if self._ell is not None:
            return self._ell
        s, (A, S) = self.summary, self._modified()
        out: dict[str, Any] = {"used": False}
        self._ell = out
        zA = A @ s.w0
        GA = losses.weighted_gram(A, losses.curvature(s.loss, zA))
        N = s.M + GA - losses.weighted_gram(S, losses.curvature(s.loss, S @ s.w0))
        N[np.diag_indices(s.d)] += (len(A) - len(S)) * s.C
        half = solve_triangular(s.factor, N, lower=True)
        low = float(np.linalg.eigvalsh(solve_triangular(s.factor, half.T, lower=True))[0]) * (1 - 1e-9) - 1e-10
        if low <= 1e-6:
            return out
        kappa = 1 / low
        factor = cho_factor(N, lower=True)
        diag = np.diag(cho_solve(factor, np.eye(s.d)))
        eps = 8 * s.d * UNIT * (self._ops + s.d + 16) * float(np.sum(np.diag(s.M + GA) * diag))
        if eps > 0.05:
            return out
        dg = self._rounding(s.w0, self._abs, self._ops)
        dgamma = float(dg @ np.sqrt(diag))
        gamma = float(np.linalg.norm(solve_triangular(factor[0], self.G, lower=True))) * (1 + eps) + dgamma
        T = solve_triangular(s.factor, A.T, lower=True).T
        slack = 4 * UNIT * (s.d + 8) * (losses.row_norms(A) * np.linalg.norm(s.w0) + 1)
        parts = (s.curvature, CurvatureBound(s.loss, T, zA, slack))

        def e(rho: float, gained: bool, point: bool = False) -> float:
            r = np.sqrt(kappa) * rho
            return kappa * sum(p.pointwise(r, gained) if point else p.average(r, gained) for p in parts) + eps

        out.update(factor=factor, eps=eps, gamma=gamma, dgamma=dgamma, diag=diag, e=e, low=low)
        for t in _TRIES:
            rho = max(gamma * t, 1e-300)
            if e(rho, False) < 1 and rho * (1 - e(rho, False)) > gamma:
                for _ in range(60):
                    rho = min(rho, gamma / (1 - e(rho, False)) * (1 + 4 * UNIT))
                out.update(used=True, rho=rho, a=1 - e(rho, False), b=1 + e(rho, True))
                break
        return out

    def _metric(
        self, E: np.ndarray, w: np.ndarray, g: np.ndarray, gamma: float, dgamma: float, a: float, b: float
    ) -> Any:
        """eta.(w - k0 N^-1 g) -+ k1 gamma |eta|_{N^-1}, with the rounding of every step."""
        ell, d = self._ellipsoid(), self.summary.d
        k0, k1 = 0.5 * (1 / a + 1 / b), 0.5 * (1 / a - 1 / b)
        step = cho_solve(ell["factor"], g)
        size = np.linalg.norm(solve_triangular(ell["factor"][0], E.T, lower=True), axis=0) * (1 + ell["eps"])
        norm = np.linalg.norm(E, axis=1)
        fl = 4 * UNIT * (d + 8) * norm * (np.linalg.norm(w) + np.linalg.norm(step))
        half = size * (k1 * gamma + (dgamma + ell["eps"] * gamma) / a) + fl
        middle = E @ (w - k0 * step)
        return middle - half, middle + half

    def bounds(self, eta: Any, level: str = "auto") -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Return lower, upper (k,) of eta.w1 for eta (k, d) or (d,), and info: level used, the ball's
        centre (d,) and radius before the widening for rounding, and gamma, rho, a, b of the ellipsoid.

        sphere: Okumura's ball; smooth-sphere: eta.q -+ r|eta|, q = w0 - (1/mu+1/L)G/2, r = (1/mu-1/L)|G|/2;
        matrix-sphere: with L replaced by a matrix; ellipsoid: the Hessian's metric; newton: about the points of
        ``refine``. Each of the
        last three is intersected with the ones before. info["level"] names the tightest that held.
        """
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        E = np.atleast_2d(np.asarray(eta, dtype=float))
        if E.ndim != 2 or E.shape[1] != self.summary.d or not np.all(np.isfinite(E)):
            raise ValueError(f"eta must be rows of {self.summary.d} finite numbers")
        if level == "newton" and not self._points:
            raise ValueError("level 'newton' needs refine(X1, y1) first, and again after the data changed")
        s = self.summary
        dg = self._rounding(s.w0, self._abs, self._ops)
        L = np.inf if level == "sphere" else self._constants()[1]
        found = [self._ball(E, s.w0, self.G, dg, L)]
        mu = self._constants()[0]
        info: dict[str, Any] = {
            "level": level,
            "centre": s.w0 - 0.5 * (1 / mu + 1 / L) * self.G,
            "radius": 0.5 * (1 / mu - 1 / L) * float(np.linalg.norm(self.G)),
        }
        if level not in ("sphere", "smooth-sphere"):
            found.append(self._matrix(E, dg))
            info["level"] = "matrix-sphere"
        if level in ("ellipsoid", "newton", "auto"):
            ell = self._ellipsoid()
            if ell["used"]:
                info.update(level="ellipsoid", gamma=ell["gamma"], rho=ell["rho"], a=ell["a"], b=ell["b"])
                found.append(self._metric(E, s.w0, self.G, ell["gamma"], ell["dgamma"], ell["a"], ell["b"]))
        if level in ("newton", "auto") and self._points:
            info["level"] = "newton"
            found += [interval for point in self._points for interval in self._around(E, point)]
        lower = np.max([low for low, _ in found], axis=0)
        upper = np.min([up for _, up in found], axis=0)
        return lower, upper, info

    def _around(self, E: np.ndarray, point: Any) -> list[Any]:
        w, g, dg, a, b = point
        out = [self._ball(E, w, g, dg, self._constants()[1])]
        if a > 0:
            ell = self._ellipsoid()
            dgamma = float(dg @ np.sqrt(ell["diag"]))
            gamma = float(np.linalg.norm(solve_triangular(ell["factor"][0], g, lower=True))) * (1 + ell["eps"]) + dgamma
            out.append(self._metric(E, w, g, gamma, dgamma, a, b))
        return out

    def coef_bounds(self, level: str = "auto") -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (d,) of every coefficient of w1."""
        return self.bounds(np.eye(self.summary.d), level)[:2]

    def labels(self, X_ref: Any, level: str = "auto") -> np.ndarray:
        """Certain labels +1 / -1 of w1 on X_ref (m, d); 0 where the interval holds both signs."""
        lower, upper, _ = self.bounds(X_ref.toarray() if sp.issparse(X_ref) else X_ref, level)
        return np.where(lower > 0, 1, np.where(upper < 0, -1, 0))

    def check(self, w1: Any, level: str = "auto") -> bool:
        """True when w1 (d,), the exact optimum of the changed data, lies in every coefficient interval."""
        lower, upper = self.coef_bounds(level)
        return bool(np.all((lower <= w1) & (w1 <= upper)))

    def refine(self, X1: Any, y1: Any, passes: int = 1) -> None:
        """Level "newton": ``passes`` passes over all of the changed data, shape (n1, d), each with its exact gradient.

        Raises ValueError when the rows are not the tracked ones. Needs the ellipsoid; without it, the warm point is a
        gradient step and only the ball about it is used.
        """
        rows = self._rows(X1, y1)
        expected = self.summary.keys + Counter({k: len(v) for k, v in self._added.items()})
        expected.subtract(self._removed_keys)
        if passes < 1 or Counter(row_keys(rows)) != +expected:
            raise ValueError("refine needs passes >= 1 and exactly the rows of the changed data")
        s, ell, L = self.summary, self._ellipsoid(), self._constants()[1]

        def step(g: np.ndarray) -> np.ndarray:
            return cho_solve(ell["factor"], g) if "factor" in ell else 2 * g / (self._constants()[0] + L)

        w = s.w0 - step(self.G)
        points = []
        for _ in range(passes):
            first = losses.slope(s.loss, rows @ w)
            g = self.n1 * s.C * w + rows.T @ first
            dg = self._rounding(w, losses.column_sums(rows, np.abs(first)), self._ops)
            a = b = 0.0
            if ell["used"]:
                rho = max(ell["rho"], self._length(w - s.w0))
                a, b = 1 - ell["e"](rho, False, True), 1 + ell["e"](rho, True, True)
            points.append((w, g, dg, a, b))
            w = w - step(g)
        self._points = points

    def _length(self, u: np.ndarray) -> float:
        """|u|_N from the factor's lower triangle, with its rounding."""
        ell = self._ellipsoid()
        return float(np.linalg.norm(np.tril(ell["factor"][0]).T @ u)) * (1 + ell["eps"])
