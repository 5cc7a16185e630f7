"""The exact Hessian N of the changed objective at w0 and its factor, kept up to date row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri

from . import losses
from .added import AddedRows
from .curvature import margin_slack
from .kernels import change_factor
from .losses import UNIT
from .summary import FitSummary

_LARGEST_ERROR = 0.05


class HessianMetric:
    """N = n1 C I + sum phi''(z_i) x_i x_i' over the changed data, at w0, and R'R = N.

    A few rows are rank-1 changes of R, O(d^2) each; a batch, or a net change of the number of rows by more than 0.1 %
    (it moves C I), marks R for one new factorisation at the next question. The half-width that rounding adds is
    measured from the residual of each solve, so an older factor costs nothing in tightness.
    """

    def __init__(self, summary: FitSummary) -> None:
        self.summary = summary
        d = summary.d
        self._N = summary.M.copy()
        self._R = np.array(summary.factor.T, order="C")  # its own: the kernels write to it
        self._shift, self._rank_ops, self._terms, self._stale = 0, 0, 0, False
        self._zmax = summary.margin_max
        self._scale_sq = np.diag(summary.M).copy()
        self._lost = np.zeros((d, d))
        self._lost_size = 0.0
        self.added = AddedRows(summary.loss, d, summary.safety)
        self.added_norm = 0.0
        self._answer: dict[str, Any] | None = None
        self._spectrum: tuple[np.ndarray, np.ndarray] | None = None

    def whiten(self, rows: np.ndarray) -> np.ndarray:
        """L^-1 x for each row, M = L L', (m, d)."""
        return np.asarray(solve_triangular(self.summary.factor, rows.T, lower=True, check_finite=False)).T

    def add(self, keys: list[bytes], rows: np.ndarray, z: np.ndarray) -> None:
        """New rows joined the data."""
        T, slack = self.whiten(rows), margin_slack(rows, self.summary.w0)
        self.added.extend(keys, rows, T, z, slack)
        self.added_norm += float((rows * rows).sum()) * (1 + 1e-12)
        self._change(rows, losses.curvature(self.summary.loss, z), True)

    def take(self, keys: list[bytes]) -> np.ndarray:
        """Added rows left again; returns them."""
        rows, z = self.added.pop(keys)
        left = self.added_norm * (1 + 8 * UNIT) - float((rows * rows).sum()) * (1 - 1e-12)
        self.added_norm = left if self.added.n else 0.0
        self._change(rows, losses.curvature(self.summary.loss, z), False)
        return rows

    def lose(self, rows: np.ndarray, z: np.ndarray, back: bool = False) -> None:
        """Rows of the fit left the data, or came back."""
        weights = losses.curvature(self.summary.loss, z)
        change = self._change(rows, weights, back)
        sign = -1 if back else 1
        if change is None:
            T = self.whiten(rows)
            white = losses.weighted_gram(T, weights)
        else:
            white = self.whiten(self.whiten(change).T)
        self._lost += sign * white
        self._lost_size += float(np.trace(white)) * (1 + 1e-9)

    def _change(self, rows: np.ndarray, weights: np.ndarray, add: bool) -> np.ndarray | None:
        """Move N by the rows; their part of it, (d, d), when they are so many that it is worth passing on."""
        self._answer = self._spectrum = None
        self._terms += len(rows)
        kept = weights > 0
        if not kept.any():
            return None
        scaled = rows[kept] * np.sqrt(weights[kept])[:, None]
        part = scaled.T @ scaled
        self._N += (1 if add else -1) * part
        if add:
            self._scale_sq += (scaled * scaled).sum(axis=0) * (1 + 1e-9)
        # More rank-1 changes than this cost as much as a new factor.
        few = len(scaled) <= max(1, self.summary.d // 40)
        if self._stale or not few or change_factor(self._R, scaled, add) < len(scaled):
            self._stale = True
        else:
            self._rank_ops += len(scaled)
        return part if len(scaled) > self.summary.d else None

    def _refactor(self, net: int) -> bool:
        N = self._N.copy()
        N[np.diag_indices(len(N))] += net * self.summary.C
        try:
            self._R = np.ascontiguousarray(cholesky(N, lower=True, check_finite=False).T)
        except np.linalg.LinAlgError:
            return False
        self._shift, self._rank_ops, self._stale = net, 0, False
        return True

    def answer(self, net: int, G: np.ndarray, dG: np.ndarray) -> dict[str, Any]:
        """What a query needs: usable, R, eps, gamma, kappa, step, residual and, after a first crossing, rho, a, b.

        ``net`` = n1 - n0; G = grad F1(w0) with error at most dG a coordinate.
        """
        if self._answer is None:
            self._answer = self._find(net, G, dG)
        return self._answer

    def _kappa(self, net: int) -> float:
        """kappa with M <= kappa N, inf when rounding hides it."""
        s = self.summary
        error = self._unit() * float(self._scale(net) @ s.inverse_root) ** 2 + s.eps
        lost = 0.0
        if self._lost_size:
            dust = 8 * UNIT * (self._terms + s.d + 8) * self._lost_size
            lost = losses.eigenvalue_bound(self._lost, 0.02 if s.d <= 64 else 0.06) + dust
        theta = lost * s.safety + max(0, -net) / s.n0 + error
        if theta <= 0.02 or (theta <= 0.1 and s.d > 64):
            return 1 / (1 - theta)
        N = self._N.copy()
        N[np.diag_indices(s.d)] += net * s.C
        half = solve_triangular(s.factor, N, lower=True, check_finite=False)
        white = solve_triangular(s.factor, half.T, lower=True, check_finite=False)
        low = float(np.linalg.eigvalsh((white + white.T) / 2)[0]) * (1 - s.eps) - error
        return 1 / low if low > 1e-6 else np.inf

    def _scale(self, net: int) -> np.ndarray:
        """s (d,) with |N_jk| <= s_j s_k, also for every N since the fit."""
        return np.sqrt(self._scale_sq + max(net, 0) * self.summary.C)

    def _unit(self) -> float:
        """|N as stored - N|_jk <= unit s_j s_k, the products with N included."""
        s = self.summary
        return 2 * UNIT * (s.n0 + 2 * self._terms + 4 * s.d + 32 + self._zmax)

    def _find(self, net: int, G: np.ndarray, dG: np.ndarray) -> dict[str, Any]:
        s = self.summary
        failed = {"usable": False, "crossed": False}
        if s.eps > _LARGEST_ERROR:
            return failed
        kappa = self._kappa(net)
        if not np.isfinite(kappa):
            return failed
        scale = self._scale(net)
        # (N^-1)_jj <= kappa (M^-1)_jj
        inverse_root = np.sqrt(kappa) * s.inverse_root
        total = float(scale @ inverse_root)
        base = s.n0 + self._shift
        old = self._stale or abs(net - self._shift) > 1e-3 * base
        while True:
            if old and not self._refactor(net):
                return failed
            eps = (self._unit() + UNIT * (4 * s.d + 32 + 32 * (s.d + 8) * self._rank_ops)) * total**2
            if eps <= _LARGEST_ERROR or not self._rank_ops:
                break
            old = True
        if eps > _LARGEST_ERROR:
            return failed
        # R'R leaves out (net - shift) C I, at most this share of it.
        apart = abs(net - self._shift) / (s.n0 + self._shift)
        out: dict[str, Any] = {
            "usable": True, "crossed": False, "kappa": kappa, "inverse_root": inverse_root, "scale": scale,
            "total": total, "net": net, "grow": float((1 + eps) / np.sqrt(1 - apart)), "grow_up": 1 + eps + apart,
        }  # fmt: skip
        out["gamma"], out["step"], out["residual"] = self.solve(out, G, dG)
        self._cross(out)
        return out

    def solve(self, out: dict[str, Any], g: np.ndarray, dg: np.ndarray) -> tuple[float, np.ndarray, float]:
        """gamma >= |g|_{N^-1}, step close to N^-1 g, and residual >= |g - N step|_{N^-1}, for a g off by <= dg."""
        gamma = float(np.linalg.norm(self._half(g))) * out["grow"] + float(dg @ out["inverse_root"])
        step, rest = np.zeros_like(g), g
        for _ in range(2):
            step = step + solve_triangular(self._R, self._half(rest), lower=False, check_finite=False)
            rest = g - self._N @ step - out["net"] * self.summary.C * step
        rounding = (self._unit() * float(out["scale"] @ np.abs(step))) * out["total"]
        rounding += float((dg + 4 * UNIT * np.abs(g)) @ out["inverse_root"])
        return gamma, step, float(np.linalg.norm(self._half(rest))) * out["grow"] + rounding

    def _half(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(solve_triangular(self._R, v, lower=False, trans="T", check_finite=False))

    def sizes(self, E: Any, out: dict[str, Any]) -> np.ndarray:
        """Upper bounds of |eta|_{N^-1} for the rows of E, (k,); all coefficients when E is None."""
        if E is None:
            inverse, _ = dtrtri(self._R.T, lower=1)
            return np.sqrt((np.tril(inverse) ** 2).sum(axis=0)) * out["grow"]
        dense = E if isinstance(E, np.ndarray) else E.toarray()
        half = self._half(dense.T)
        return np.sqrt((half * half).sum(axis=0)) * out["grow"]

    def whiten_now(self, rows: np.ndarray, out: dict[str, Any]) -> np.ndarray:
        """Rows t_i (m, d) with |t_i . v| sums at least those of N^-1/2 x_i: R^-T x, enlarged for rounding."""
        return self._half(rows.T).T * out["grow"]

    def length(self, u: np.ndarray, out: dict[str, Any]) -> float:
        """An upper bound of |u|_N, u with a relative rounding error of some units."""
        return float(np.linalg.norm(self._R @ u)) * out["grow_up"]

    def change(self, rho: float, gained: bool, pointwise: bool, kappa: float) -> float:
        """e-(rho) or e+(rho): how far the Hessian can move, in units of N, within |u|_N <= rho."""
        s = self.summary
        r = float(np.sqrt(kappa) * rho) * (1 + 8 * UNIT)
        fit = float(s.curvature.pointwise(r, gained) if pointwise else s.curvature.average(r, gained))
        if s.loss == "logistic":
            m3, m4 = self.added.constants((0.02 if s.d <= 64 else 0.05) * s.curvature.m3)
            more = m3 * r + m4 * r * r / 2 if pointwise else m3 * r / 2 + m4 * r * r / 6
        else:
            more = self.added.squared_hinge(r, gained, pointwise, 0.02 * fit)
        return kappa * (fit + more) * (1 + 8 * UNIT)

    def _cross(self, out: dict[str, Any]) -> None:
        """The radius by first crossing: any rho with e-(rho) < 1 and rho (1 - e-(rho)) > gamma exceeds |w1 - w0|_N."""
        gamma, kappa = out["gamma"], out["kappa"]
        rho = max(gamma * 1.0001, 1e-300)
        for _ in range(60):
            lost = self.change(rho, False, False, kappa)
            if lost >= 1:
                return
            if rho * (1 - lost) * (1 - 8 * UNIT) > gamma:
                break
            rho = max(rho, gamma / (1 - lost)) * 1.003
        else:
            return
        for _ in range(4):
            smaller = gamma / (1 - lost) * (1 + 8 * UNIT)
            if smaller >= rho * (1 - 1e-5):
                break
            rho = smaller
            lost = self.change(rho, False, False, kappa)
        out.update(crossed=True, rho=rho, a=(1 - lost) * (1 - 4 * UNIT))
        out["b"] = (1 + self.change(rho, True, False, kappa)) * (1 + 4 * UNIT)

    def spectrum(self, exact: bool) -> tuple[np.ndarray, np.ndarray]:
        """lam (d,), V with beta (X0'X0 + XA'XA) <= V diag(lam) V': of that sum, or in the basis of X0'X0 alone."""
        s = self.summary
        beta = losses.smoothness(s.loss)
        if not exact or not self.added.n:
            return beta * (s.spectrum + self.added_norm) * (1 + 8 * UNIT), s.basis
        if self._spectrum is None:
            X = self.added.X
            total = s.gram + X.T @ X
            lam, V = np.linalg.eigh(total)
            slack = 4 * UNIT * (s.n0 + len(X) + s.d + 16) * float(np.trace(total))
            self._spectrum = beta * (np.maximum(lam, 0) + slack) * (1 + 8 * UNIT), V
        return self._spectrum

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("summary", "added", "_answer", "_spectrum")}
        state["added"] = self.added.__getstate__()
        return state

    @classmethod
    def restored(cls, summary: FitSummary, state: dict[str, Any]) -> HessianMetric:
        """From what __getstate__ gave."""
        out = object.__new__(cls)
        out.__dict__.update(state, summary=summary, _answer=None, _spectrum=None)
        out.added = object.__new__(AddedRows)
        out.added.__setstate__(state["added"])
        return out
