"""Certified leave-one-out scores: what the model would say of each row had that row not been in its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from . import losses
from .curvature import margin_slack
from .losses import UNIT
from .rows import digests, fingerprint
from .summary import FitSummary


def loo_certificates(summary: FitSummary, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of the score x_i.w^(-i), w^(-i) the optimum without row i, for every row of the fit at once.

    With N_i = M - phi''_i x_i x_i', G_i = R0 - C w0 - phi'_i x_i and e-(rho) = kappa eps-(sqrt(kappa) rho) + 1/n0:
    z_i - k0 x_i.N_i^-1 G_i -+ k1 |x_i|_{N_i^-1} |G_i|_{N_i^-1}, intersected with the smooth sphere. O(n d^2).

    Parameters
    ----------
    summary
        Of the fit, with at most 1500 features.
    X, y
        The rows of the fit (n, d), dense or CSR, and their labels, in any order.

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
    rows = losses.signed_rows(X, y, s.d)
    if not np.array_equal(fingerprint(digests(rows)), s.fingerprint) or rows.shape[0] != s.n0:
        raise ValueError("leave-one-out needs exactly the rows of the fit")
    if s.n0 < 2:
        raise ValueError("leave-one-out needs at least two rows")
    if not s.matrices:
        raise ValueError(f"leave-one-out takes at most 1500 features, got {s.d}")
    z = np.asarray(rows @ s.w0)
    slack = margin_slack(rows, s.w0)
    first, second = losses.slope(s.loss, z), losses.curvature(s.loss, z)
    # phi' is 1/4- or 2-Lipschitz, so the rounding of z moves it by at most this.
    first_error = losses.smoothness(s.loss) * slack + 4 * UNIT * np.abs(first)
    u = s.R0 - s.C * s.w0
    du = s.R0_error + 4 * UNIT * (np.abs(s.R0) + np.abs(u))
    norm = losses.row_norms(rows)

    lower, upper = _sphere(s, rows, z, norm, first, first_error, u, du)
    if s.eps <= 0.05:
        dense = rows.toarray() if sp.issparse(rows) else rows
        T = np.asarray(solve_triangular(s.factor, dense.T, lower=True)).T
        low, up = _ellipsoid(s, T, z, first, first_error, second, u, du)
        lower, upper = np.fmax(lower, low), np.fmin(upper, up)
    lower, upper = lower - slack, upper + slack
    sign = np.where(losses.signs(y) > 0, 1.0, -1.0)
    lower, upper = np.where(sign > 0, lower, -upper), np.where(sign > 0, upper, -lower)
    return lower, upper, np.where(lower > 0, 1, np.where(upper < 0, -1, 0))


def _sphere(
    s: FitSummary, rows: Any, z: np.ndarray, norm: np.ndarray, first: np.ndarray, first_error: np.ndarray,
    u: np.ndarray, du: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The smooth sphere about w0 for each row's own objective, as bounds of the margin."""
    mu = (s.n0 - 1) * s.C
    L = mu + losses.smoothness(s.loss) * s.lambda_max
    cross = np.asarray(rows @ u)
    along = cross - first * norm * norm
    # |u - phi' x|^2 expanded; the slack keeps a cancellation from making it too small.
    reach = float(np.linalg.norm(u)) + np.abs(first) * norm
    size = np.sqrt(
        np.maximum(float(u @ u) - 2 * first * cross + (first * norm) ** 2, 0.0) + 16 * UNIT * (s.d + 8) * reach**2
    )
    error = float(np.linalg.norm(du)) + first_error * norm
    half = norm * (0.5 * (1 / mu - 1 / L) * size + error / mu) + 8 * UNIT * (s.d + 8) * (norm * reach / mu + np.abs(z))
    middle = z - 0.5 * (1 / mu + 1 / L) * along
    return middle - half, middle + half


def _ellipsoid(
    s: FitSummary, T: np.ndarray, z: np.ndarray, first: np.ndarray, first_error: np.ndarray, second: np.ndarray,
    u: np.ndarray, du: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The Hessian's metric for each row's own objective, as bounds of the margin; NaN where no crossing was found."""
    white = np.asarray(solve_triangular(s.factor, u, lower=True))
    g = white - first[:, None] * T
    q2 = (T * T).sum(axis=1)
    h = second * q2 * s.safety
    kappa = np.where(h < 0.95, 1 / (1 - np.minimum(h, 0.95)) * s.safety, np.nan)
    t = (T * g).sum(axis=1)
    # Relative error of every product in the metric, measured in lengths that cannot cancel.
    eps = (4 * s.eps + 16 * UNIT * (s.d + 8)) * kappa
    reach = float(np.linalg.norm(white)) + np.abs(first) * np.sqrt(q2)
    q = np.sqrt(q2 * kappa) * s.safety
    error = (float(du @ s.inverse_root) * s.safety + first_error * np.sqrt(q2) + eps * reach) * np.sqrt(kappa)
    gamma = np.sqrt((g * g).sum(axis=1) + second * t * t * kappa) * s.safety + error

    def lost(rho: np.ndarray) -> np.ndarray:
        inside = np.maximum(np.sqrt(kappa) * rho, 1e-300)
        return kappa * s.curvature.average(inside, False) + (1 + 8 * UNIT) / s.n0

    rho, done = np.maximum(gamma * 1.0001, 1e-300), np.zeros(len(z), dtype=bool)
    for _ in range(60):
        e = lost(rho)
        done = (e < 1) & (rho * (1 - e) * (1 - 8 * UNIT) > gamma)
        again = ~done & (e < 1)
        if not again.any():
            break
        rho = np.where(again, np.maximum(rho, gamma / (1 - np.where(again, e, 0.0))) * 1.003, rho)
    rho = np.where(done, rho, np.nan)
    for _ in range(4):
        rho = np.minimum(rho, gamma / (1 - lost(rho)) * (1 + 8 * UNIT))
    a = (1 - lost(rho)) * (1 - 4 * UNIT)
    b = 1 + kappa * s.curvature.average(np.maximum(np.sqrt(kappa) * rho, 1e-300), True) * (1 + 8 * UNIT)
    k0, k1 = 0.5 * (1 / a + 1 / b), 0.5 * (1 / a - 1 / b)
    half = q * (k1 * gamma + k0 * (error + eps * (gamma + reach * np.sqrt(kappa)))) * (1 + 64 * UNIT)
    half += 8 * UNIT * (s.d + 8) * (np.abs(z) + k0 * np.abs(t) * kappa + k0 * q * gamma)
    middle = z - k0 * t * kappa
    return middle - half, middle + half
