"""Intervals of eta.w1 from a ball, from a matrix sphere and from a Hessian's metric, widened for rounding.

``E`` holds the directions eta as rows (k, d), dense or CSR; None stands for the identity.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .losses import UNIT

Interval = tuple[np.ndarray, np.ndarray]


def project(E: Any, v: np.ndarray) -> np.ndarray:
    """E v, (k,)."""
    return v if E is None else np.asarray(E @ v)


def reach(E: Any, v: np.ndarray) -> np.ndarray:
    """|E| |v|, (k,): what rounding errors are measured in."""
    return np.abs(v) if E is None else np.asarray(abs(E) @ np.abs(v))


def lengths(E: Any, d: int) -> np.ndarray:
    """Euclidean norms of the rows of E, (k,)."""
    return np.ones(d) if E is None else losses.row_norms(E)


def ball_parts(w: np.ndarray, g: np.ndarray, mu: float, L: float) -> tuple[np.ndarray, float]:
    """Centre w - (1/mu + 1/L) g / 2 and radius (1/mu - 1/L)|g| / 2; L = inf gives Okumura's sphere."""
    return w - 0.5 * (1 / mu + 1 / L) * g, 0.5 * (1 / mu - 1 / L) * float(np.linalg.norm(g))


def ball(E: Any, w: np.ndarray, g: np.ndarray, dg: np.ndarray, mu: float, L: float) -> Interval:
    """The ball that holds w1 when F1 is mu-strongly convex and L-smooth with gradient g -+ dg at w.

    (g(w) - 0).(w - w1) >= mu L/(mu+L) |w - w1|^2 + |g|^2/(mu+L) (Nesterov, 2.1.12), the square completed.
    """
    d = len(w)
    centre, radius = ball_parts(w, g, mu, L)
    middle, norm = project(E, centre), lengths(E, d)
    half = (radius + float(np.linalg.norm(dg)) / mu) * norm
    half = half * (1 + 4 * UNIT * (d + 8)) + 4 * UNIT * (d + 8) * (reach(E, w) + reach(E, g) / mu)
    return middle - half, middle + half


def matrix_sphere(
    E: Any, w: np.ndarray, g: np.ndarray, dg: np.ndarray, mu: float, lam: np.ndarray, V: np.ndarray
) -> Interval:
    """The same with L replaced by mu I + V diag(lam) V': K0 = (1/mu + 1/(mu+lam))/2, D = (1/mu - 1/(mu+lam))/2."""
    d = len(w)
    e = V if E is None else np.asarray(E @ V)
    h = V.T @ g
    D = 0.5 * (lam / (mu + lam)) / mu
    middle = project(E, w) - e @ (h * 0.5 * (1 / mu + 1 / (mu + lam)))
    norm = lengths(E, d)
    fl = 16 * UNIT * (d + 8) * (reach(E, w) + norm * float(np.linalg.norm(g)) / mu)
    size = np.sqrt((e * e) @ D)
    if (norm < 1e-140).any():  # the squares underflow
        size = np.where(norm < 1e-140, norm * np.sqrt(D.max()), size)
    half = size * np.sqrt((h * h) @ D) + norm * float(np.linalg.norm(dg)) / mu + fl
    return middle - half, middle + half


def hessian(
    E: Any, size: np.ndarray, w: np.ndarray, step: np.ndarray, gamma: float, residual: float, a: float, b: float
) -> Interval:
    """eta.(w - k0 step) -+ (k1 gamma + k0 residual)|eta|_{N^-1} when a N <= average Hessian <= b N.

    ``step`` is N^-1 g up to ``residual`` >= |g - N step|_{N^-1}; ``size`` (k,) holds |eta|_{N^-1}; gamma >= |g|_{N^-1};
    k0 = (1/a + 1/b)/2, k1 = (1/a - 1/b)/2.
    """
    d = len(w)
    k0, k1 = 0.5 * (1 / a + 1 / b), 0.5 * (1 / a - 1 / b)
    middle = project(E, w - k0 * step)
    fl = 4 * UNIT * (d + 8) * (reach(E, w) + k0 * reach(E, step))
    half = size * (k1 * gamma + k0 * residual) * (1 + 64 * UNIT) + 4 * UNIT * k0 * gamma * size + fl
    return middle - half, middle + half


def intersect(found: list[Interval]) -> Interval:
    """The tightest of several intervals, each of which holds the truth; one that overflowed to NaN says nothing."""
    low, up = reduce(np.fmax, (low for low, _ in found)), reduce(np.fmin, (up for _, up in found))
    return np.fmax(low, -np.inf), np.fmin(up, np.inf)


def directions(eta: Any, d: int) -> Any:
    """Check directions: rows (k, d) or one row (d,), dense or CSR, finite. Raises ValueError."""
    # An entry stored in parts would have too short a norm.
    E = losses.canonical(eta) if sp.issparse(eta) else np.atleast_2d(np.asarray(eta, dtype=float))
    if E.ndim != 2 or E.shape[1] != d or not np.all(np.isfinite(E.data if sp.issparse(E) else E)):
        raise ValueError(f"eta must be rows of {d} finite numbers")
    return E
