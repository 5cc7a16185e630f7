"""Certified intervals of eta.w1, w1 the optimum of the changed data, without solving for w1."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import bounds as intervals
from . import losses
from .decide import Decision, Rule, ValidationInterval, decided, statistic, validation_interval
from .gradient import LONG, UNIT_LONG, loss_sum
from .losses import UNIT
from .refine import Point, refined_points
from .rows import digests, fingerprint, keys, pack_counter, unpack_counter
from .segment import certified_segment, published_segment
from .streaming import HessianMetric
from .summary import FitSummary

LEVELS = ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "newton", "auto")


class Tracker:
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
    >>> fit = FitSummary.from_fit(np.array([[1.0], [2.0]]), [1, 1], np.array([0.5]), C=1.0, loss="squared_hinge")
    >>> tracker = Tracker(fit)
    >>> tracker.add([[1.5]], [1])
    >>> bool(tracker.coef_bounds()[0][0] <= 0.5)
    True
    """

    def __init__(self, summary: FitSummary) -> None:
        self.summary = summary
        self.n1 = summary.n0
        self._G = summary.R0.astype(LONG) + summary.R0_rest
        self._error = summary.R0_error.copy()
        self._value, self._value_error = summary.value, summary.value_error
        # Sums of the loss gradients at w0 over the rows that were added and that were removed.
        self._moved = np.zeros((2, summary.d))
        self._mark = summary.fingerprint.copy()
        self._added: Counter[bytes] = Counter()
        self._removed: Counter[bytes] = Counter()
        self._removed_rows: dict[bytes, list[np.ndarray]] = {}
        self._added_norm = 0.0
        self._metric = HessianMetric(summary) if summary.matrices else None
        self._points: list[Point] = []

    @property
    def G(self) -> np.ndarray:
        """grad F1(w0), (d,)."""
        return self._G.astype(float)

    @property
    def n_added(self) -> int:
        """Rows in the data that the fit did not have."""
        return self._added.total()

    @property
    def n_removed(self) -> int:
        """Rows of the fit that are no longer in the data."""
        return self._removed.total()

    def _changed(self) -> None:
        self._points = []

    def _rows(self, X: Any, y: Any) -> Any:
        if self._metric is not None and sp.issparse(X):
            X = X.toarray()
        return losses.signed_rows(X, y, self.summary.d)

    # -- rows join and leave --------------------------------------------------------------------------------------

    def add(self, X: Any, y: Any) -> None:
        """Rows (m, d), dense or CSR, or one row (d,), joined the data. O(d^2) a row, less a row in a batch."""
        rows = self._rows(X, y)
        if rows.shape[0]:
            table = digests(rows)
            self._add(rows, keys(table), fingerprint(table))

    def _add(self, rows: Any, names: list[bytes], mark: np.ndarray) -> None:
        # A removed row that comes back undoes its removal.
        left, back = self._removed.copy() if self._removed else Counter(), np.zeros(len(names), dtype=bool)
        for i, key in enumerate(names if left else ()):
            if left[key] > 0:
                left[key] -= 1
                back[i] = True
        z = self._shift(rows, mark, 1, ~back, back)
        for key, again in zip(names, back, strict=True):
            if again:
                self._removed[key] -= 1
                if self._removed_rows:
                    self._removed_rows[key].pop()
            else:
                self._added[key] += 1
        if self._metric is None:
            new = rows[~back]
            self._added_norm += float(losses.row_norms(new) @ losses.row_norms(new)) * (1 + 1e-9)
            return
        if not back.all():
            self._metric.add([k for k, again in zip(names, back, strict=True) if not again], rows[~back], z[~back])
        if back.any():
            self._metric.lose(rows[back], z[back], back=True)

    def remove(self, X: Any, y: Any) -> None:
        """Rows left the data; ValueError for one that is not in it or for the last row. Added rows leave first."""
        rows = self._rows(X, y)
        if not rows.shape[0]:
            return
        table = digests(rows)
        names = keys(table)
        for key, count in Counter(names).items():
            if count > self._added[key] + self.summary.keys[key] - self._removed[key]:
                raise ValueError("a row to remove is neither a fit row nor an added one (or was removed before)")
        if rows.shape[0] >= self.n1:
            raise ValueError("cannot remove every row: no data would be left")
        left, mine = Counter({key: self._added[key] for key in names}), np.zeros(len(names), dtype=bool)
        for i, key in enumerate(names):
            if left[key] > 0:
                left[key] -= 1
                mine[i] = True
        z = self._shift(rows, fingerprint(table), -1, mine, ~mine)
        for i, key in enumerate(names):
            if mine[i]:
                self._added[key] -= 1
                if not self._added[key]:
                    del self._added[key]
            else:
                self._removed[key] += 1
                if self._metric is not None:
                    self._removed_rows.setdefault(key, []).append(rows[i])
        if self._metric is None:
            return
        if mine.any():
            self._metric.take([key for key, own in zip(names, mine, strict=True) if own])
        if not mine.all():
            self._metric.lose(rows[~mine], z[~mine])

    def _shift(self, rows: Any, mark: np.ndarray, sign: int, added: np.ndarray, removed: np.ndarray) -> np.ndarray:
        """Move the gradient, its error, n1 and the fingerprint by the rows; their margins."""
        s, m = self.summary, rows.shape[0]
        change = loss_sum(s.loss, rows, s.w0)
        self._G = self._G + sign * (m * LONG(s.C) * s.w0 + change.gradient)
        self._error += change.error + UNIT_LONG * (8 * m * s.C * np.abs(s.w0) + 4 * np.abs(self.G))
        self._value += sign * change.value
        self._value_error += change.value_error + 2 * UNIT * (abs(self._value) + change.value)
        self.n1 += sign * m
        for which, (chosen, way) in enumerate(((added, sign), (removed, -sign))):
            self._moved[which] += way * np.asarray(rows[chosen].T @ change.slope[chosen])
        with np.errstate(over="ignore"):
            self._mark = self._mark + mark if sign > 0 else self._mark - mark
        self._changed()
        return change.z

    def merge(self, other: Tracker) -> None:
        """Take in what another tracker saw: the changes of a disjoint shard of the data; the sums add.

        Both may follow one fit, or each its own shard of the fit's rows, summarised at the same w0, C and loss.
        Raises ValueError, before anything changes, when the shards do not fit together.
        """
        mine, theirs = self.summary, other.summary
        if (mine.d, mine.C, mine.loss) != (theirs.d, theirs.C, theirs.loss) or not np.array_equal(mine.w0, theirs.w0):
            raise ValueError("trackers can be merged only when w0, C, loss and the number of features are the same")
        same = np.array_equal(mine.fingerprint, theirs.fingerprint) and mine.n0 == theirs.n0
        trial = Tracker(mine if same else mine.merge(theirs))
        if self._metric is None or other._metric is None:
            trial._sum((self, other))
        else:
            for part in (self._metric, other._metric):
                trial.add(part.added.X, np.ones(part.added.n))
            for rows in (self._removed_rows, other._removed_rows):
                gone = [row for equal in rows.values() for row in equal]
                trial.remove(np.array(gone).reshape(-1, mine.d), np.ones(len(gone)))
        self.__dict__.update(trial.__dict__)

    def _sum(self, parts: tuple[Tracker, Tracker]) -> None:
        """Add what the parts saw to a fresh tracker, without their rows."""
        for part in parts:
            s = part.summary
            start = s.R0.astype(LONG) + s.R0_rest
            self._G = self._G + (part._G - start)
            self._error = self._error + part._error + 4 * UNIT_LONG * (np.abs(part.G) + np.abs(s.R0) + np.abs(self.G))
            self._value += part._value - s.value
            self._value_error += part._value_error + 4 * UNIT * (part._value + s.value + self._value)
            self.n1 += part.n1 - s.n0
            self._moved = self._moved + part._moved
            with np.errstate(over="ignore"):
                self._mark = self._mark + (part._mark - s.fingerprint)
            self._added, self._removed = self._added + part._added, self._removed + part._removed
            self._added_norm += part._added_norm
        if any(count > self.summary.keys[key] for key, count in self._removed.items()):
            raise ValueError("the shards are not disjoint: both removed the same row of the fit")

    # -- intervals ------------------------------------------------------------------------------------------------

    @property
    def _mu(self) -> float:
        return self.n1 * self.summary.C

    @property
    def _L(self) -> float:
        more = self._metric.added_norm if self._metric is not None else self._added_norm
        return (self._mu + losses.smoothness(self.summary.loss) * (self.summary.lambda_max + more)) * (1 + 8 * UNIT)

    def _dG(self) -> np.ndarray:
        return self._error + 2 * UNIT * np.abs(self.G)

    def _answer(self) -> dict[str, Any]:
        if self._metric is None:
            return {"usable": False, "crossed": False}
        return self._metric.answer(self.n1 - self.summary.n0, self.G, self._dG())

    def bounds(self, eta: Any, level: str = "auto") -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Return lower, upper (k,) of eta.w1 for eta (k, d) or (d,), and info.

        sphere: Okumura's ball; smooth-sphere: eta.q -+ r|eta|, q = w0 - (1/mu+1/L)G/2, r = (1/mu-1/L)|G|/2;
        matrix-sphere: with L replaced by a matrix; ellipsoid: eta.(w0 - k0 N^-1 G) -+ k1 gamma |eta|_{N^-1};
        newton: the same about the points of ``refine``. Each of the last three is intersected with the ones before.
        info: level (the tightest that held: "ellipsoid" falls back to "matrix-sphere" when the change is too large),
        centre (d,) and radius of the ball before the widening for rounding, and with the ellipsoid gamma, rho, a, b,
        kappa and slack (the part of gamma's scale that is rounding).
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
            return *found[0], info
        info["level"] = "smooth-sphere"
        if self._metric is not None:
            # The exact spectrum costs O(d^3) a change; beside a good ellipsoid that of the fit's rows will do.
            out: dict[str, Any] = self._answer() if level != "matrix-sphere" else {"crossed": False}
            quick = out["crossed"] and out["a"] > 0.5
            lam, V = self._metric.spectrum(exact=not quick)
            found.append(intervals.matrix_sphere(E, s.w0, G, dG, mu, lam, V))
            info["level"] = "matrix-sphere"
            sizes = self._metric.sizes(E, out) if out["crossed"] else None
            if sizes is not None:
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
        """Certain labels +1 / -1 of w1 on X_ref (m, d); 0 where the interval holds both signs."""
        lower, upper, _ = self.bounds(X_ref, level)
        return np.where(lower > 0, 1, np.where(upper < 0, -1, 0))

    def validation_interval(self, X_ref: Any, y_ref: Any, level: str = "auto") -> ValidationInterval:
        """What a retrained model can reach on labelled rows: intervals of its mean loss, accuracy and flips."""
        losses.signed_rows(X_ref, y_ref, self.summary.d)
        lower, upper, _ = self.bounds(X_ref, level)
        return validation_interval(lower, upper, X_ref @ self.summary.w0, losses.signs(y_ref), self.summary.loss)

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
        """KEEP when the upper bound of the rule's criterion is within its tolerance, RETRAIN when the lower is beyond.

        Otherwise REFINE; given the changed data X1, y1 it takes one pass itself, and then says RETRAIN (certified only
        if the lower bound is beyond the tolerance).
        """
        found = decided(rule, *statistic(self, rule, level), level)
        if found.decision != "refine" or X1 is None:
            return found
        self.refine(X1, y1)
        return decided(rule, *statistic(self, rule, "newton"), "newton", last=True)

    # -- state ------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["summary"] = self.summary.__getstate__()
        high = self.G
        state["_G"] = (high, (self._G - high).astype(float))
        state["_added"], state["_removed"] = pack_counter(self._added), pack_counter(self._removed)
        state["_removed_rows"] = np.array([r for rows in self._removed_rows.values() for r in rows])
        state["_metric"] = None if self._metric is None else self._metric.__getstate__()
        state["_points"] = [p.state() for p in self._points]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.summary = object.__new__(FitSummary)
        self.summary.__setstate__(state["summary"])
        high, low = state["_G"]
        self._G = high.astype(LONG) + low
        self._added, self._removed = unpack_counter(*state["_added"]), unpack_counter(*state["_removed"])
        gone = np.asarray(state["_removed_rows"]).reshape(-1, self.summary.d)
        self._removed_rows = {}
        for key, row in zip(keys(digests(gone)), gone, strict=True):
            self._removed_rows.setdefault(key, []).append(row)
        if state["_metric"] is not None:
            self._metric = HessianMetric.restored(self.summary, state["_metric"])
        self._points = [Point(**p) for p in state["_points"]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tracker to one .npz file without anything executable."""
        from .storage import write

        write(path, "Tracker", self.__getstate__())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tracker:
        """Read what ``save`` wrote. Raises ValueError for another file."""
        from .storage import read

        out = object.__new__(cls)
        out.__setstate__(read(path, "Tracker"))
        return out
