"""Certified intervals of eta.w1, w1 the optimum of the changed data, without solving for w1."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import bounds as intervals
from . import losses
from .changes import ChangedData
from .decide import Decision, Rule, ValidationInterval, decided, statistic, validation_interval
from .gradient import loss_sum
from .losses import UNIT
from .plot import interval_history, plot_intervals
from .refine import refined_points
from .rows import digests, fingerprint
from .segment import certified_segment, published_segment
from .storage import read, write

LEVELS = ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "newton", "auto")


class Tracker(ChangedData):
    """Follow rows that join and leave the data of a fit, and bound what a retrained model could be.

    F1(w) = n1 C/2 |w|^2 + sum_i phi(y_i x_i.w) over the changed data has its optimum at w1. A row costs O(d) in the
    gradient G = grad F1(w0) and O(d^2) in the factor of the Hessian; a question costs the same for any n0. It certifies
    how far the optimum moved, and nothing about generalisation or drift.

    Parameters
    ----------
    summary
        Of the fit at w0. Beyond 1500 features only the spheres, and "newton" by conjugate gradients, are there.

    Raises
    ------
    ValueError
        By every method before anything changes: for bad rows or labels, and for a removed row that is not in the data.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinekit_plugins.sensitivity import FitSummary, Tracker
    >>> fit = FitSummary.from_fit(np.array([[1.0], [2.0]]), [1, 1], np.array([0.5]), C=1.0, loss="squared_hinge")
    >>> tracker = Tracker(fit)
    >>> tracker.add([[1.5]], [1])
    >>> lower, upper = tracker.coef_bounds()
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.514], [0.583])

    References
    ----------
    Okumura, Suzuki, Takeuchi: Quick sensitivity analysis for incremental data modification and its application to
    leave-one-out CV in linear classification problems, KDD 2015 (the sphere).
    Zhou et al.: Tighter Bound Estimation of Sensitivity Analysis for Incremental and Decremental Data Modification
    (the published segment; Theorem 3).
    Nesterov: Introductory Lectures on Convex Optimization, Theorem 2.1.12 (the smooth sphere).
    """

    @property
    def _mu(self) -> float:
        return self.n1 * self.summary.C

    @property
    def _L(self) -> float:
        more = self._metric.added_norm if self._metric is not None else self._added_norm
        return (self._mu + losses.smoothness(self.summary.loss) * (self.summary.lambda_max + more)) * (1 + 8 * UNIT)

    def _dG(self) -> np.ndarray:
        # The squares of anything smaller than the last term underflow.
        return self._error + 2 * UNIT * np.abs(self.G) + 1e-150

    def _answer(self) -> dict[str, Any]:
        if self._metric is None:
            return {"usable": False, "crossed": False}
        return self._metric.answer(self.n1 - self.summary.n0, self.G, self._dG())

    def bounds(self, eta: Any, level: str = "auto") -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Lower and upper bounds (k,) of eta.w1, and how they were found.

        Parameters
        ----------
        eta
            Directions (k, d) or (d,), dense or CSR: rows to score, or differences of coefficients.
        level
            "sphere": Okumura's ball, L = inf in the next; "smooth-sphere": eta.q -+ r|eta|, q = w0 - (1/mu + 1/L) G/2,
            r = (1/mu - 1/L)|G|/2, mu = n1 C; "matrix-sphere": with L replaced by a matrix; "ellipsoid":
            eta.(w0 - k0 N^-1 G) -+ k1 gamma |eta|_{N^-1} with gamma = |G|_{N^-1}, k0 = (1/a + 1/b)/2 and
            k1 = (1/a - 1/b)/2; "newton": the same about the points of ``refine``; "auto": all that there is. Each of
            the last four is intersected with the ones before.

        Returns
        -------
        lower, upper, info: info["level"] is the tightest that held ("ellipsoid" falls back to "matrix-sphere" when the
        change is too large for it); centre (d,) and radius of the ball before its widening for rounding; and with the
        ellipsoid gamma, rho >= |w1 - w0|_N, a, b, kappa and slack, the part of gamma that is rounding.

        Raises
        ------
        ValueError
            For an unknown level, "newton" before ``refine``, or directions that are not finite rows of d numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from onlinekit_plugins.sensitivity import FitSummary, Tracker, solve
        >>> X, y = np.array([[1.0, 0.2], [0.4, -1.0], [-0.8, 0.1]]), np.array([1, -1, -1])
        >>> tracker = Tracker(FitSummary.from_fit(X, y, solve(X, y, 0.5, "logistic"), 0.5, "logistic"))
        >>> tracker.add([0.9, 0.4], [1])
        >>> lower, upper, info = tracker.bounds([1.0, 1.0])
        >>> info["level"], bool(lower[0] > 0)
        ('ellipsoid', True)
        """
        return self._bounds(intervals.directions(eta, self.summary.d), level)

    def _bounds(self, E: Any, level: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        if level == "newton" and not self._points:
            raise ValueError("level 'newton' needs refine(X1, y1) first, and again after the data changed")
        if self._metric is None and level in ("matrix-sphere", "ellipsoid"):
            raise ValueError(f"level {level!r} needs at most 1500 features, got {self.summary.d}")
        s, mu, G, dG = self.summary, self._mu, self.G, self._dG()
        L = np.inf if level == "sphere" else self._L
        centre, radius = intervals.ball_parts(s.w0, G, mu, L)
        info: dict[str, Any] = {"level": level, "centre": centre, "radius": radius, "certified": True}
        found, sizes = [intervals.ball(E, s.w0, G, dG, mu, L)], None
        if level in ("sphere", "smooth-sphere"):
            return *intervals.intersect(found), info
        info["level"] = "smooth-sphere"
        if self._metric is not None:
            # The exact spectrum costs O(d^3) a change; beside a good ellipsoid that of the fit's rows will do.
            out: dict[str, Any] = self._answer() if level != "matrix-sphere" else {"crossed": False}
            quick = out["crossed"] and out["a"] > 0.5
            lam, V = self._metric.spectrum(exact=not quick)
            found.append(intervals.matrix_sphere(E, s.w0, G, dG, mu, lam, V))
            info["level"] = "matrix-sphere"
            about = self._points if level in ("newton", "auto") else []
            if out["crossed"] or any(p.a > 0 for p in about):
                sizes = self._metric.sizes(E, out)
            if out["crossed"] and sizes is not None:
                info.update({k: out[k] for k in ("gamma", "rho", "a", "b", "kappa")}, level="ellipsoid")
                info["slack"] = out["residual"]
                args = (out["step"], out["gamma"], out["residual"], out["a"], out["b"])
                found.append(intervals.hessian(E, sizes, s.w0, *args))
        if self._points and level in ("newton", "auto"):
            info["level"] = "newton"
            for p in self._points:
                found.append(intervals.ball(E, p.w, p.g, p.dg, mu, self._L))
                if p.a > 0 and sizes is not None:
                    found.append(intervals.hessian(E, sizes, p.w, p.step, p.gamma, p.residual, p.a, p.b))
        return *intervals.intersect(found), info

    def coef_bounds(self, level: str = "auto") -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (d,) of every coefficient of w1."""
        return self._bounds(None, level)[:2]

    def labels(self, X_ref: Any, level: str = "auto") -> np.ndarray:
        """Certain labels +1 / -1 of w1 on X_ref (m, d), +1 for classes_[1]; 0 where the interval holds both signs."""
        lower, upper, _ = self.bounds(X_ref, level)
        return np.where(lower > 0, 1, np.where(upper < 0, -1, 0))

    def validation_interval(self, X_ref: Any, y_ref: Any, level: str = "auto") -> ValidationInterval:
        """What a retrained model can reach on labelled rows: intervals of its mean loss, accuracy and flips.

        X_ref (m, d), dense or CSR; y_ref (m,) in {-1, +1} (or bool). The loss falls in the margin, so its extremes are
        at the ends of the score intervals.
        """
        rows, sign = losses.checked_rows(X_ref, y_ref, self.summary.d)
        lower, upper, _ = self._bounds(rows, level)
        return validation_interval(lower, upper, np.asarray(rows @ self.summary.w0), sign, self.summary.loss)

    def training_gap(self, level: str = "auto") -> tuple[float, float]:
        """Lower and upper bound of f1(w0) - f1(w1), what the training objective loses by keeping w0.

        |G|^2/(2 L n1) and gamma^2/(2 b n1) from below, |G|^2/(2 mu n1) and gamma^2/(2 a n1) from above, and after
        ``refine`` f1(w0) - f1(w) from below and that + |g|^2/(2 mu n1) from above.
        """
        info = self._bounds(np.zeros((1, self.summary.d)), level)[2]
        size, error = float(np.linalg.norm(self.G)), float(np.linalg.norm(self._dG()))
        low = max(size - error, 0.0) ** 2 / (2 * self._L)
        high = (size + error) ** 2 / (2 * self._mu)
        if "gamma" in info:
            out = self._answer()
            # gamma is an upper bound; twice its excess over |G|_{N^-1} is below this.
            least = info["gamma"] / out["grow"] ** 2 - 2 * float(self._dG() @ out["inverse_root"])
            low = max(low, max(least, 0.0) ** 2 / (2 * info["b"]))
            high = min(high, info["gamma"] ** 2 / (2 * info["a"]))
        low, high = low * (1 - 64 * UNIT), high * (1 + 64 * UNIT)
        if level in ("newton", "auto"):
            for p in self._points:
                low = max(low, p.fall - p.fall_error)
                high = min(high, p.fall + p.fall_error + p.reach**2 / (2 * self._mu) * (1 + 64 * UNIT))
        return float(max(low, 0.0) / self.n1 * (1 - 4 * UNIT)), float(high / self.n1 * (1 + 4 * UNIT))

    def check(self, w1: Any, level: str = "auto") -> bool:
        """True when w1 (d,), the exact optimum of the changed data, lies in every coefficient interval."""
        lower, upper = self.coef_bounds(level)
        return bool(np.all((lower <= w1) & (w1 <= upper)))

    # -- passes over the changed data -------------------------------------------------------------------------------

    def _data(self, X1: Any, y1: Any) -> tuple[Any, np.ndarray]:
        rows, sign = losses.checked_rows(X1, y1, self.summary.d)
        if rows.shape[0] != self.n1 or not np.array_equal(fingerprint(digests(rows, sign)), self._mark):
            raise ValueError("the rows must be exactly those of the changed data")
        return rows, sign

    def refine(self, X1: Any, y1: Any, passes: int = 1) -> None:
        """Level "newton": ``passes`` passes over all of the changed data (n1, d), each with its exact gradient.

        The points are w0 - N^-1 G and the Newton steps after it with the same N; without a crossing, or beyond 1500
        features, damped Newton steps on the data itself (by conjugate gradients beyond), with the ball about each.
        Dense or CSR, in any order; O(passes nnz). Raises ValueError when they are not the tracked rows.
        """
        if passes < 1:
            raise ValueError(f"passes must be at least 1, got {passes}")
        rows, sign = self._data(X1, y1)
        self._points = refined_points(
            self.summary, self._metric, self._answer(), self.G, (self._value, self._value_error), rows, sign, passes
        )

    def segment(self, eta: Any, X1: Any, y1: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """The valid segment test: Okumura's sphere cut by the half-space of the exact gradient at w0 - G/mu.

        Certified, but next to no tighter than the sphere (psi <= 0). ValueError when they are not the tracked rows.
        """
        E, (rows, sign) = intervals.directions(eta, self.summary.d), self._data(X1, y1)
        s, mu, G, dG = self.summary, self._mu, self.G, self._dG()
        centre, radius = intervals.ball_parts(s.w0, G, mu, np.inf)
        at = s.w0 - G / mu
        there = loss_sum(s.loss, rows, at, sign)
        g = (mu * at + there.gradient).astype(float)
        dg = there.error + 4 * UNIT * (mu * np.abs(at) + np.abs(g))
        wide = radius * (1 + 8 * UNIT * (s.d + 8)) + float(np.linalg.norm(dG)) / mu
        lower, upper, psi = certified_segment(E, centre, wide, at, g, dg)
        return lower, upper, {"level": "segment", "centre": centre, "radius": radius, "psi": psi, "certified": True}

    def published_segment(self, eta: Any, equation: str = "(31)") -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """The segment test as published (Zhou et al., Theorem 3 with (31) or (40)): NOT a bound, for comparison alone.

        Its half-space rests on a truncated gradient with a wrong sign: it can exclude the truth, and is NaN (0/0) when
        rows were only added. info["certified"] is False, and no decision of this package uses it.
        """
        if equation not in ("(31)", "(40)"):
            raise ValueError(f"equation must be '(31)' or '(40)', not {equation!r}")
        E, s = intervals.directions(eta, self.summary.d), self.summary
        lower, upper, psi = published_segment(E, s.w0, s.C, s.n0, self.n1, self._moved[0], self._moved[1], equation)
        return lower, upper, {"level": "published-segment", "psi": psi, "certified": False}

    def decide(self, rule: Rule, X1: Any = None, y1: Any = None, level: str = "auto") -> Decision:
        """What the interval of the rule's criterion says of the model of the fit.

        "keep" when the upper bound is within the tolerance, "retrain" when the lower is beyond, otherwise "refine".
        Given all of the changed data X1 (n1, d), y1 it then takes one pass itself and says "keep" or "retrain"
        (certified only if the lower bound is beyond). After a retrain, track the new fit by a new Tracker.
        """
        found = decided(rule, *statistic(self, rule, level), level)
        if found.decision != "refine" or X1 is None:
            return found
        self.refine(X1, y1)
        return decided(rule, *statistic(self, rule, "newton"), "newton", last=True)

    def plot(self, j: int, changes: Any, levels: Any = ("smooth-sphere", "ellipsoid"), ax: Any = None) -> Any:
        """Draw the interval of coefficient j by level while changes, ("add" or "remove", X, y) each, are applied.

        The tracker itself does not change. Returns the matplotlib axes; raises ValueError for a bad change.
        """
        history = interval_history(self, j, changes, levels)
        return plot_intervals(history, float(self.summary.w0[j]), f"coefficient {j}", ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tracker to one .npz file without anything executable."""
        write(path, "Tracker", self.__getstate__())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tracker:
        """Read what ``save`` wrote. Raises ValueError for another file."""
        out = object.__new__(cls)
        out.__setstate__(read(path, "Tracker"))
        return out
