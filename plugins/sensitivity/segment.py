"""The sphere cut by a half-space: with the exact gradient (certified), and as published (not a bound)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bounds import Interval, lengths, project, reach
from .losses import UNIT


def cut_ball(E: Any, centre: np.ndarray, radius: float, normal: np.ndarray, psi: float) -> Interval:
    """Range of eta.w over |w - centre| <= radius, normal.(w - centre) <= -psi radius, |normal| = 1, -1 <= psi < 1.

    Zhou et al., (44) and (45), with t = normal.eta and sqrt(|eta|^2 - t^2) = |eta - t normal|.
    """
    t, norm = project(E, normal), lengths(E, len(centre))
    if isinstance(E, np.ndarray):
        across = np.linalg.norm(E - t[:, None] * normal, axis=1)
    else:
        # Not made dense; what a cancellation may hide is added.
        square = (norm - np.abs(t)) * (norm + np.abs(t)) + 8 * UNIT * (len(centre) + 8) * norm * norm
        across = np.sqrt(np.maximum(square, 0.0))
    across = np.where(norm < 1e-140, norm, across)  # the squares of a tiny direction underflow
    middle, psi = project(E, centre), max(psi, -1.0)
    edge = radius * np.sqrt((1 - psi) * (1 + psi)) * across
    lower = np.where(t > psi * norm, middle - radius * norm, middle - psi * radius * t - edge)
    upper = np.where(t < -psi * norm, middle + radius * norm, middle - psi * radius * t + edge)
    return lower, upper


def certified_segment(
    E: Any, centre: np.ndarray, radius: float, at: np.ndarray, g: np.ndarray, dg: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The ball cut by {w: g.(w - at) <= 0}, g = grad F1(at) -+ dg, by convexity; lower, upper, psi.

    ``radius`` already covers the rounding of the ball. Raises ValueError when nothing is left: the rows cannot then be
    those of the ball.
    """
    d, size = len(centre), float(np.linalg.norm(g))
    fl = 8 * UNIT * (d + 8) * (reach(E, centre) + radius * lengths(E, d))
    if radius == 0.0 or size == 0.0:
        normal, psi = np.zeros(d), -1.0
        half = radius * lengths(E, d)
        lower, upper = project(E, centre) - half, project(E, centre) + half
    else:
        normal = g / size
        # The true normal is off by dg and the products by their rounding: both move the plane outwards.
        far = radius + float(np.linalg.norm(centre - at))
        slack = float(np.linalg.norm(dg)) / size * far
        slack += 8 * UNIT * (d + 8) * (float(np.abs(normal) @ (np.abs(centre) + np.abs(at))) + far)
        psi = (float(normal @ (centre - at)) - slack) / radius
        if psi >= 1.0:
            raise ValueError("the half-space leaves nothing of the sphere: the rows are not those of the tracker")
        lower, upper = cut_ball(E, centre, radius, normal, psi)
    return lower - fl, upper + fl, max(psi, -1.0)


def published_segment(
    E: Any, w0: np.ndarray, C: float, n0: int, n1: int, added: np.ndarray, removed: np.ndarray, equation: str
) -> tuple[np.ndarray, np.ndarray, float]:
    """(17), (18), (31)-(33) and (43)-(45) as printed, with the loss gradients summed over added and removed rows.

    equation "(40)" takes the normal from (40) as printed, without its lost factor 1/n1. NaN when the normal is 0/0.
    """
    change = (n1 - n0) / (2 * n1) * w0 + (added - removed) / (2 * C * n1)
    centre = (n0 + n1) / (2 * n1) * w0 - (added - removed) / (2 * C * n1)
    far = n0 / n1 * w0 - (added - removed) / (C * n1)
    both = added + removed
    normal = (both - (added - removed)) / n1 if equation == "(31)" else C * far - C * n0 / n1 * w0 + both
    radius, size = float(np.linalg.norm(change)), float(np.linalg.norm(normal))
    k = len(w0) if E is None else E.shape[0]
    # What is left of an exact cancellation is noise, not a direction.
    if radius == 0.0 or size <= 8 * UNIT * float(np.linalg.norm(np.abs(added) + np.abs(removed))) / n1:
        return np.full(k, np.nan), np.full(k, np.nan), float("nan")
    psi = float(normal @ change) / (size * radius)
    lower, upper = cut_ball(E, centre, radius, normal / size, min(max(psi, -1.0), 1.0))
    return lower, upper, psi
