"""The exact Hessian N of the changed objective at w0 and its factor, kept up to date row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .added import AddedRows
from .kernels import add_outer, change_factor
from .losses import UNIT
from .rows import unsigned
from .summary import FitSummary
from .triangular import back, factor, half, half_rows, inverse_diagonal
from .whitened import WhitenedSum, gram_of, sizes, whiten

_LARGEST_ERROR = 0.05


class HessianMetric:
    """N = n1 C I + sum phi''(z_i) x_i x_i' over the changed data, at w0, and R'R = N.

    A few rows are rank-1 changes of R, O(d^2) each; a batch, or a net change of the number of rows by more than 0.1 %
    (it moves C I), marks R for one new factorisation at the next question. The half-width that rounding adds is
    measured from the residual of each solve, so an older factor costs nothing in tightness.
    """

    def __init__(self, summary: FitSummary) -> None:
        self.summary = summary
        # The fit's own until they change.
        self._N, self._R = summary.M, summary.factor.T
        self._shift, self._rank_ops, self._terms, self._stale = 0, 0, 0, False
        self._zmax = summary.margin_max
        self._scale_sq = np.diag(summary.M).copy()
        # Of the rows of the fit that left.
        self._lost = WhitenedSum(summary)
        self.added = AddedRows(summary)
        self.added_norm = 0.0
        self._answer: dict[str, Any] | None = None
        self._spectrum: tuple[np.ndarray, np.ndarray] | None = None

    def add(self, keys: list[bytes], rows: Any, z: np.ndarray, slack: np.ndarray) -> None:
        """New rows (m, d), dense or CSR, joined the data; their margins at w0 are z -+ slack."""
        self.added.extend(keys, rows, z, slack)
        self.added_norm += losses.square_sum(rows) * (1 + 1e-12)
        self._change(rows, losses.curvature(self.summary.loss, z), True)

    def take(self, keys: list[bytes], rows: Any) -> None:
        """Added rows left again."""
        z = self.added.pop(keys, rows)
        left = self.added_norm * (1 + 8 * UNIT) - losses.square_sum(rows) * (1 - 1e-12)
        self.added_norm = left if self.added.n else 0.0
        self._change(rows, losses.curvature(self.summary.loss, z), False)

    def lose(self, rows: Any, z: np.ndarray) -> np.ndarray:
        """Rows of the fit left the data; what `regain` needs of them, (m, 1)."""
        q = sizes(self.summary, rows)
        self._lose(rows, z, q, 1)
        return q[:, None]

    def regain(self, rows: Any, z: np.ndarray, numbers: np.ndarray) -> None:
        """Rows of the fit came back; ``numbers`` (m, 1) are what `lose` said of them."""
        self._lose(rows, z, numbers[:, 0], -1)

    def _lose(self, rows: Any, z: np.ndarray, q: np.ndarray, sign: int) -> None:
        weights = losses.curvature(self.summary.loss, z)
        self._change(rows, weights, sign < 0)
        self._lost.move(rows, weights, q, sign)

    def _change(self, rows: Any, weights: np.ndarray, add: bool) -> None:
        """Move N by the rows."""
        self._answer = self._spectrum = None
        self._terms += rows.shape[0]
        if self._N is self.summary.M:
            self._N = self._N.copy()
        way = 1.0 if add else -1.0
        if sp.issparse(rows):
            add_outer(unsigned(rows.indptr), unsigned(rows.indices), rows.data, way * weights, self._N)
        else:
            self._N += way * gram_of(rows, weights)
        if add:
            self._scale_sq += losses.column_squares(rows, weights) * (1 + 1e-9)
        # More rank-1 changes than this cost as much as a new factor.
        if self._stale or rows.shape[0] > max(1, self.summary.d // 40):
            self._stale = True
            return
        if self._rank_ops == 0:
            self._R = np.array(self._R, order="C")  # the kernels write to it
        scaled = (rows.toarray() if sp.issparse(rows) else rows)[weights > 0] * np.sqrt(weights[weights > 0])[:, None]
        if change_factor(self._R, scaled, add) < len(scaled):
            self._stale = True
        self._rank_ops += len(scaled)

    def _refactor(self, net: int) -> bool:
        N = self._N.copy()
        N.ravel()[:: len(N) + 1] += net * self.summary.C
        R = factor(N)
        if R is None:
            return False
        self._R = R
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
        if not np.isfinite(error):
            return np.inf
        lost = self._lost.bound(0.02 if s.d <= 64 else 0.06)
        theta = lost * s.safety + max(0, -net) / s.n0 + error
        if theta <= 0.02 or (theta <= 0.1 and s.d > 64):
            return 1 / (1 - theta)
        N = self._N.copy()
        N.ravel()[:: s.d + 1] += net * s.C
        white = whiten(s, whiten(s, N).T)
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
        white = half(self._R, g)
        gamma = float(np.linalg.norm(white)) * out["grow"] + float(dg @ out["inverse_root"])
        step = back(self._R, white)
        rest = self._rest(g, step, out)
        step = step + back(self._R, half(self._R, rest))
        rest = self._rest(g, step, out)
        rounding = (self._unit() * float(out["scale"] @ np.abs(step))) * out["total"]
        rounding += float((dg + 4 * UNIT * np.abs(g)) @ out["inverse_root"])
        return gamma, step, float(np.linalg.norm(half(self._R, rest))) * out["grow"] + rounding

    def _rest(self, g: np.ndarray, step: np.ndarray, out: dict[str, Any]) -> np.ndarray:
        return np.asarray(g - self._N @ step - out["net"] * self.summary.C * step)

    def sizes(self, E: Any, out: dict[str, Any]) -> np.ndarray:
        """Upper bounds of |eta|_{N^-1} for the rows of E, (k,); all coefficients when E is None."""
        if E is None:
            return np.sqrt(inverse_diagonal(self._R)) * out["grow"]
        white = half_rows(self._R, E if isinstance(E, np.ndarray) else E.toarray())
        return losses.not_below(np.sqrt(np.einsum("ij,ij->i", white, white)) * out["grow"], E, out["inverse_root"])

    def whiten_now(self, rows: np.ndarray, out: dict[str, Any]) -> np.ndarray:
        """Rows t_i (m, d) with |t_i . v| sums at least those of N^-1/2 x_i: R^-T x, enlarged for rounding."""
        return half_rows(self._R, rows) * out["grow"]

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
        before: tuple[float, float] | None = None
        for _ in range(60):
            lost = self.change(rho, False, False, kappa)
            if lost >= 1:
                return
            short = gamma - rho * (1 - lost) * (1 - 8 * UNIT)
            if short < 0:
                break
            further = max(rho, gamma / (1 - lost))
            # rho (1 - e-(rho)) is concave, so the secant through two points before the crossing ends before it as well.
            if before is not None and before[1] > short:
                further = max(further, rho + short * (rho - before[0]) / (before[1] - short))
            before, rho = (rho, short), further * 1.003
        else:
            return
        if before is not None:
            # The chord to a point before the crossing lies below, so its zero is a crossing too, and next to the first.
            nearer = (rho + short * (rho - before[0]) / (before[1] - short)) * (1 + 1e-7)
            less = self.change(nearer, False, False, kappa)
            if nearer * (1 - less) * (1 - 8 * UNIT) > gamma:
                rho, lost = nearer, less
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
        if not exact or not self.added.n or not self.added_norm < 1e280:
            return beta * (s.spectrum + self.added_norm) * (1 + 8 * UNIT), s.basis
        if self._spectrum is None:
            n = self.added.n
            total = s.gram + gram_of(self.added.X, np.ones(n))
            lam, V = np.linalg.eigh(total)
            slack = 4 * UNIT * (s.n0 + n + s.d + 16) * float(np.trace(total))
            self._spectrum = beta * (np.maximum(lam, 0) + slack) * (1 + 8 * UNIT), V
        return self._spectrum

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("summary", "_answer", "_spectrum")}
        state["added"], state["_lost"] = self.added.__getstate__(), self._lost.__getstate__()
        return state

    @classmethod
    def restored(cls, summary: FitSummary, state: dict[str, Any]) -> HessianMetric:
        """From what __getstate__ gave."""
        out = object.__new__(cls)
        out.__dict__.update(state, summary=summary, _answer=None, _spectrum=None)
        out.added, out._lost = AddedRows(summary), WhitenedSum(summary)
        out.added.restore(state["added"])
        out._lost.restore(state["_lost"])
        return out
