"""Certified leave-one-out scores: what the model would say of each row had that row not been in its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from . import losses
from .curvature import margin_slack
from .kernels import quadratic_rows
from .losses import UNIT
from .rows import digests, fingerprint, unsigned
from .summary import FitSummary


@dataclass
class _Rows:
    """The signed rows x_i at w0: z, |x_i|, phi', its error, phi'', (n,) each; u = R0 - C w0 and its error (d,)."""

    z: np.ndarray
    norm: np.ndarray
    first: np.ndarray
    first_error: np.ndarray
    second: np.ndarray
    u: np.ndarray
    du: np.ndarray
    slack: np.ndarray


def loo_certificates(summary: FitSummary, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of the score x_i.w^(-i), w^(-i) the optimum without row i, for every row of the fit at once.

    With N_i = M - phi''_i x_i x_i', G_i = R0 - C w0 - phi'_i x_i and e-(rho) = kappa eps-(sqrt(kappa) rho) + 1/n0:
    z_i - k0 x_i.N_i^-1 G_i -+ k1 |x_i|_{N_i^-1} |G_i|_{N_i^-1}, intersected with the smooth sphere. O(n d^2) for dense
    rows, O(sum of squared non-zeros of a row) for CSR rows.

    Parameters
    ----------
    summary
        Of the fit, with at most 1500 features.
    X, y
        The rows of the fit (n, d), dense or CSR, and their labels in {-1, +1} (or bool), in any order.

    Returns
    -------
    lower, upper (n,) of the score x_i.w^(-i), and label (n,): +1 or -1 where it is certain, 0 where it is not.

    Raises
    ------
    ValueError
        If the rows are not those of the fit, there is but one, or there are more than 1500 features.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinekit_plugins.sensitivity import FitSummary, solve
    >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, 1, -1])
    >>> fit = FitSummary.from_fit(X, y, solve(X, y, 0.1, "squared_hinge"), 0.1, "squared_hinge")
    >>> loo_certificates(fit, X, y)[2].tolist()
    [1, 1, -1]
    """
    s = summary
    rows, sign = losses.checked_rows(X, y, s.d)
    if rows.shape[0] != s.n0 or not np.array_equal(fingerprint(digests(rows, sign)), s.fingerprint):
        raise ValueError("leave-one-out needs exactly the rows of the fit")
    if s.n0 < 2:
        raise ValueError("leave-one-out needs at least two rows")
    if not s.matrices:
        raise ValueError(f"leave-one-out takes at most 1500 features, got {s.d}")
    z, slack = sign * np.asarray(rows @ s.w0), margin_slack(rows, s.w0)
    first = losses.slope(s.loss, z)
    u = s.R0 - s.C * s.w0
    at = _Rows(
        z,
        losses.row_norms(rows),
        first,
        # phi' is beta-Lipschitz, so the rounding of z moves it by at most beta slack.
        losses.smoothness(s.loss) * slack + 4 * UNIT * np.abs(first),
        losses.curvature(s.loss, z),
        u,
        s.R0_error + 4 * UNIT * (np.abs(s.R0) + np.abs(u)),
        slack,
    )
    lower, upper = _sphere(s, at, sign * np.asarray(rows @ u))
    if s.eps <= 0.05:
        low, up = _ellipsoid(s, at, *_products(s, rows, sign, u))
        lower, upper = np.fmax(lower, low), np.fmin(upper, up)
    lower, upper = lower - slack, upper + slack
    lower, upper = np.where(sign > 0, lower, -upper), np.where(sign > 0, upper, -lower)
    return lower, upper, np.where(lower > 0, 1, np.where(upper < 0, -1, 0))


def _sphere(s: FitSummary, at: _Rows, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smooth sphere about w0 for each row's own objective, as bounds of the margin; cross = x_i.u."""
    mu = (s.n0 - 1) * s.C
    L = mu + losses.smoothness(s.loss) * s.lambda_max
    along = cross - at.first * at.norm**2
    # |u - phi' x|^2 expanded; the slack keeps a cancellation from making it too small.
    reach = float(np.linalg.norm(at.u)) + np.abs(at.first) * at.norm
    square = np.maximum(float(at.u @ at.u) - 2 * at.first * cross + (at.first * at.norm) ** 2, 0.0)
    size = np.sqrt(square + 16 * UNIT * (s.d + 8) * reach**2)
    error = float(np.linalg.norm(at.du)) + at.first_error * at.norm
    fl = 8 * UNIT * (s.d + 8) * (at.norm * reach / mu + np.abs(at.z))
    half = at.norm * (0.5 * (1 / mu - 1 / L) * size + error / mu) + fl
    middle = at.z - 0.5 * (1 / mu + 1 / L) * along
    return middle - half, middle + half


def _products(s: FitSummary, rows: Any, sign: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """x_i.M^-1 x_i, x_i.M^-1 u, a length q_i >= |x_i|_{M^-1} that rounding is measured in, (n,) each; |u|_{M^-1}^2."""
    white = np.asarray(solve_triangular(s.factor, u, lower=True))
    c = np.asarray(solve_triangular(s.factor, white, lower=True, trans="T"))
    q2 = np.empty(s.n0)
    if sp.issparse(rows):
        quadratic_rows(unsigned(rows.indptr), unsigned(rows.indices), rows.data, s.inverse, q2)
        q2 = np.maximum(q2, 0.0)
    else:
        T = np.asarray(solve_triangular(s.factor, rows.T, lower=True))
        np.einsum("ij,ij->j", T, T, out=q2)
    return q2, sign * np.asarray(rows @ c), np.asarray(abs(rows) @ s.inverse_root), white @ white


def _ellipsoid(
    s: FitSummary, at: _Rows, q2: np.ndarray, cross: np.ndarray, wide: np.ndarray, u2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The Hessian's metric for each row's own objective, as bounds of the margin; NaN where no crossing was found."""
    # Relative error of a product in the metric, with ``wide`` and ``reach`` for lengths: those cannot cancel.
    eps = 4 * s.eps + 32 * UNIT * (s.d + 8)
    q2_high = q2 + eps * wide**2
    h = at.second * q2_high
    kappa = np.where(h < 0.95, 1 / (1 - np.minimum(h, 0.95)), np.nan)
    t = cross - at.first * q2
    # kappa = 1/(1-h) multiplies the error of h, which is eps phi'' wide^2.
    grow = (kappa * (1 + at.second * wide**2)) ** 2
    reach = float(np.sqrt(u2)) * s.safety + np.abs(at.first) * wide
    q = np.sqrt(q2_high * kappa)
    error = (float(at.du @ s.inverse_root) * s.safety + at.first_error * wide) * np.sqrt(kappa)
    square = np.maximum(u2 - 2 * at.first * cross + at.first**2 * q2, 0.0)
    gamma = np.sqrt(square + at.second * t * t * kappa + 4 * eps * grow * reach**2) + error
    # What rounding can do to x.N_i^-1 G_i.
    off = q * error + 4 * eps * grow * wide * reach

    def lost(rho: np.ndarray) -> np.ndarray:
        inside = np.maximum(np.sqrt(kappa) * rho, 1e-300)
        return kappa * s.curvature.average(inside, False) + (1 + 8 * UNIT) / s.n0

    rho, done = np.maximum(gamma * 1.0001, 1e-300), np.zeros(s.n0, dtype=bool)
    for _ in range(60):
        e = lost(rho)
        done = (e < 1) & (rho * (1 - e) * (1 - 8 * UNIT) > gamma)
        again = ~done & (e < 1)
        if not again.any():
            break
        rho = np.where(again, np.maximum(rho, gamma / (1 - np.where(again, e, 0.0))) * 1.003, rho)
    rho = np.where(done, rho, np.nan)
    for _ in range(2):
        rho = np.minimum(rho, gamma / (1 - lost(rho)) * (1 + 8 * UNIT))
    a = (1 - lost(rho)) * (1 - 4 * UNIT)
    b = 1 + kappa * s.curvature.average(np.maximum(np.sqrt(kappa) * rho, 1e-300), True) * (1 + 8 * UNIT)
    k0, k1 = 0.5 * (1 / a + 1 / b), 0.5 * (1 / a - 1 / b)
    half = (q * k1 * gamma + k0 * off) * (1 + 64 * UNIT)
    half += 8 * UNIT * (s.d + 8) * (np.abs(at.z) + k0 * np.abs(t) * kappa + k0 * q * gamma)
    middle = at.z - k0 * t * kappa
    return middle - half, middle + half
