"""How much the loss's curvature can change within a distance of w0: the functions eps-(rho), eps+(rho)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import losses
from .losses import UNIT


def margin_slack(rows: Any, w: np.ndarray) -> np.ndarray:
    """More than the rounding error of the margins of rows (n, d) at w, (n,)."""
    return 4 * UNIT * (len(w) + 8) * (losses.row_norms(rows) * float(np.linalg.norm(w)) + 1)


def third_derivative(z: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """|phi'''(z)| of the logistic loss, enlarged for an error of z of at most ``slack`` (|phi''''| <= 1/8)."""
    return losses.curvature("logistic", z) * np.abs(np.tanh(z / 2)) + slack / 8


def kink_distance(z: np.ndarray, slack: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """tau = |1-z|/q, and which rows may lose and which may gain curvature (on the kink: both)."""
    distance = np.abs(1 - z) - slack
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.where(q > 0, np.maximum(distance, 0.0) / q, np.inf)
    near = distance <= 0
    return tau, (z < 1) | near, (z >= 1) | near


class CurvatureBound:
    """Bounds of the change of sum_i phi''(z_i) x_i x_i', in units of M, over moves u with |u|_M <= rho.

    ``T`` (n, d) holds L^-1 x_i with M = L L'; ``z`` the margins at w0; ``slack`` their rounding error; ``safety`` >= 1
    covers the rounding of T. Logistic: m3 rho/2 + m4 rho^2/6 on average over the path, m3 rho + m4 rho^2/2 at a point.
    Squared hinge: row i can change side only when rho >= |1-z_i|/q_i; exact values on a ladder of such rho.
    """

    def __init__(self, loss: str, T: np.ndarray, z: np.ndarray, slack: np.ndarray, safety: float) -> None:
        self.loss = loss
        q = np.sqrt((T * T).sum(axis=1)) * safety
        if loss == "logistic":
            self.m3 = losses.largest_eigenvalue(T, third_derivative(z, slack) * q) * safety
            self.m4 = losses.largest_eigenvalue(T, q * q / 8) * safety
            return
        tau, lost, gained = kink_distance(z, slack, q)
        self.ladders = [_ladder(T, tau, lost, safety), _ladder(T, tau, gained, safety)]

    def average(self, rho: Any, gained: bool) -> Any:
        """eps of the curvature averaged over the path, lost (gained=False) or gained; rho > 0, number or array."""
        if self.loss == "logistic":
            return self.m3 * rho / 2 + self.m4 * rho * rho / 6
        taus, areas, _, total = self.ladders[gained]
        if not len(taus):
            return rho * 0.0
        # rho * eps(rho) is convex, so a chord lies above it; past the end its slope is at most ``total``.
        area = np.where(rho > taus[-1], areas[-1] + total * (rho - taus[-1]), np.interp(rho, taus, areas))
        return np.where(rho <= taus[0], 0.0, np.minimum(area / rho, total))

    def pointwise(self, rho: Any, gained: bool) -> Any:
        """eps of the curvature at any single point of the ball."""
        if self.loss == "logistic":
            return self.m3 * rho + self.m4 * rho * rho / 2
        taus, _, steps, total = self.ladders[gained]
        if not len(taus):
            return rho * 0.0
        at = np.searchsorted(taus, rho, side="left")
        return np.where(rho < taus[0], 0.0, np.append(steps, total)[at])

    @staticmethod
    def worst(one: CurvatureBound, two: CurvatureBound) -> CurvatureBound:
        """A bound for the rows of both, in units of the sum of their matrices M.

        |u| in either M is at most |u| in their sum, and eps_1 M_1 + eps_2 M_2 <= max(eps_1, eps_2) (M_1 + M_2).
        """
        out = object.__new__(CurvatureBound)
        out.loss = one.loss
        if one.loss == "logistic":
            out.m3, out.m4 = max(one.m3, two.m3), max(one.m4, two.m4)
            return out
        out.ladders = []
        for gained in (False, True):
            taus = np.union1d(one.ladders[gained][0], two.ladders[gained][0])
            # At tau itself the averages are exact or above; the chord of a maximum of convex functions is above it.
            areas = np.array([t * max(float(p.average(t, gained)) for p in (one, two)) if t > 0 else 0.0 for t in taus])
            steps = np.array([max(float(p.pointwise(t, gained)) for p in (one, two)) for t in taus])
            out.ladders.append((taus, areas, steps, max(one.ladders[gained][3], two.ladders[gained][3])))
        return out


def _ladder(T: np.ndarray, tau: np.ndarray, chosen: np.ndarray, safety: float) -> tuple[Any, Any, Any, float]:
    chosen = chosen & np.isfinite(tau)
    T, tau = T[chosen], tau[chosen]
    order = np.sort(tau)
    ranks, rank, growth = [], 1, 1.4 if T.shape[1] <= 400 else 2.0
    while rank <= len(order):
        ranks.append(rank - 1)
        rank = rank + 1 if rank < 16 else int(rank * growth)
    taus = np.unique(order[ranks]) if ranks else np.zeros(0)
    areas = np.array([losses.largest_eigenvalue(T, 2 * np.maximum(t - tau, 0.0)) for t in taus]) * safety
    steps = np.array([losses.largest_eigenvalue(T, 2.0 * (tau <= t)) for t in taus]) * safety
    return taus, areas, steps, losses.largest_eigenvalue(T, np.full(len(tau), 2.0)) * safety
