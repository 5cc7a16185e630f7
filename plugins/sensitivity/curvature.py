"""How much the loss's curvature can change within a distance of w0: the functions eps-(rho), eps+(rho)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import losses


class CurvatureBound:
    """Bounds of the change of sum_i phi''(z_i) x_i x_i', in units of M, over moves u with |u|_M <= rho.

    ``T`` (n, d) holds L^-1 x_i with M = L L'; ``z`` the margins at w0; ``slack`` their rounding error.
    Logistic: m3 rho/2 + m4 rho^2/6 on average over the path, m3 rho + m4 rho^2/2 at a point.
    Squared hinge: row i can change side only when rho >= |1-z_i|/q_i; exact values on a ladder of such rho.
    """

    def __init__(self, loss: str, T: np.ndarray, z: np.ndarray, slack: np.ndarray) -> None:
        self.loss = loss
        q = np.sqrt((T * T).sum(axis=1)) * (1 + 1e-12)
        if loss == "logistic":
            phi3 = losses.curvature(loss, z) * np.abs(np.tanh(z / 2))
            self.m3 = losses.largest_eigenvalue(T, (phi3 + slack / 8) * q)
            self.m4 = losses.largest_eigenvalue(T, q * q / 8)
            return
        distance = np.abs(1 - z) - slack
        with np.errstate(divide="ignore", invalid="ignore"):
            tau = np.where(q > 0, np.maximum(distance, 0.0) / q, np.inf)
        near = distance <= 0
        # A row on the kink may lose or gain its curvature: it belongs to both ladders.
        self.ladders = [_ladder(T, tau, (z < 1) | near), _ladder(T, tau, (z >= 1) | near)]

    def average(self, rho: float, gained: bool) -> float:
        """eps of the curvature averaged over the path, lost (gained=False) or gained."""
        if self.loss == "logistic":
            return self.m3 * rho / 2 + self.m4 * rho * rho / 6
        taus, areas, _, total = self.ladders[gained]
        if not len(taus) or rho <= taus[0]:
            return 0.0
        # rho * eps(rho) is convex, so a chord lies above it; past the end its slope is at most ``total``.
        area = areas[-1] + total * (rho - taus[-1]) if rho > taus[-1] else np.interp(rho, taus, areas)
        return float(min(area / rho, total))

    def pointwise(self, rho: float, gained: bool) -> float:
        """eps of the curvature at any single point of the ball."""
        if self.loss == "logistic":
            return self.m3 * rho + self.m4 * rho * rho / 2
        taus, _, steps, total = self.ladders[gained]
        if not len(taus) or rho < taus[0]:
            return 0.0
        at = int(np.searchsorted(taus, rho, side="left"))
        return float(steps[at]) if at < len(steps) else total


def _ladder(T: np.ndarray, tau: np.ndarray, chosen: np.ndarray) -> tuple[Any, Any, Any, float]:
    chosen = chosen & np.isfinite(tau)
    T, tau = T[chosen], tau[chosen]
    order = np.sort(tau)
    ranks, rank = [], 1
    while rank <= len(order):
        ranks.append(rank - 1)
        rank = rank + 1 if rank < 16 else int(rank * 1.4)
    taus = np.unique(order[ranks]) if ranks else np.zeros(0)
    areas = np.array([losses.largest_eigenvalue(T, 2 * np.maximum(t - tau, 0.0)) for t in taus])
    steps = np.array([losses.largest_eigenvalue(T, 2.0 * (tau <= t)) for t in taus])
    return taus, areas, steps, losses.largest_eigenvalue(T, np.full(len(tau), 2.0))
