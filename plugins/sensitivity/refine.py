"""Level 2: reference points near w1 from passes over the changed data, each with its exact gradient."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import losses
from .gradient import loss_sum
from .kink import KinkRows
from .losses import UNIT
from .solve import line_search, newton_direction
from .streaming import HessianMetric
from .summary import FitSummary

_CG_STEPS, _CG_ACCURACY = 25, 1e-4


@dataclass
class Point:
    """A reference point w (d,), g = grad F1(w) -+ dg, and the constants of the Hessian's metric about it.

    ``fall`` = F1(w0) - F1(w) with its rounding ``fall_error``; ``reach`` >= |g|; a = 0 when only the ball holds.
    """

    w: np.ndarray
    g: np.ndarray
    dg: np.ndarray
    fall: float
    fall_error: float
    reach: float
    step: np.ndarray
    gamma: float = 0.0
    residual: float = 0.0
    a: float = 0.0
    b: float = 0.0

    def state(self) -> dict[str, Any]:
        """As plain values and arrays."""
        return asdict(self)


def refined_points(
    s: FitSummary,
    metric: HessianMetric | None,
    answer: dict[str, Any],
    G: np.ndarray,
    start: tuple[float, float],
    rows: Any,
    sign: np.ndarray,
    passes: int,
) -> list[Point]:
    """``passes`` points: w0 - N^-1 G and chord-Newton steps, or damped Newton steps where the chord cannot contract.

    G = grad F1(w0); ``start`` is the sum of the losses at w0 with its rounding.
    """
    n1 = rows.shape[0]
    chord = metric is not None and answer["crossed"]
    first = 0.5 * n1 * s.C * float(s.w0 @ s.w0) + start[0]
    w = s.w0 - answer["step"] if chord else _newton(s, rows, sign, s.w0, G)
    points: list[Point] = []
    usable = metric is not None and answer["usable"] and s.loss == "squared_hinge"
    kink = KinkRows(metric, answer, rows, sign) if usable and metric is not None else None
    for i in range(passes):
        there = loss_sum(s.loss, rows, w, sign)
        g = (n1 * np.longdouble(s.C) * w + there.gradient).astype(float)
        dg = there.error + 4 * UNIT * np.abs(g) + 16 * 2.0**-64 * n1 * s.C * np.abs(w)
        here = 0.5 * n1 * s.C * float(w @ w) + there.value
        fall_error = start[1] + there.value_error + 8 * UNIT * (s.d + 8) * (first + here)
        point = Point(w, g, dg, first - here, fall_error, float(np.linalg.norm(np.abs(g) + dg)) * (1 + 1e-12), g)
        points.append(point)
        if chord and metric is not None:
            # Both w and w1 lie in the ball |u|_N <= rho about w0, and so does the path between them.
            moved = metric.length(w - s.w0, answer) + 4 * UNIT * float(answer["scale"] @ (np.abs(w) + np.abs(s.w0)))
            rho = max(answer["rho"], moved)
            a = 1 - metric.change(rho, False, True, answer["kappa"])
            point.gamma, point.step, point.residual = metric.solve(answer, g, dg)
            if a > 0:
                point.a = a * (1 - 4 * UNIT)
                point.b = (1 + metric.change(rho, True, True, answer["kappa"])) * (1 + 4 * UNIT)
            chord = a > 0.3
        if kink is not None and metric is not None:
            if not point.gamma:
                point.gamma, point.step, point.residual = metric.solve(answer, g, dg)
            found = kink.constants(there.z, there.z_error, point.gamma)
            if found is not None and (point.a <= 0 or found[1] - found[0] < point.b - point.a):
                point.a, point.b = found
        if i + 1 < passes:
            w = w - point.step if chord else _newton(s, rows, sign, w, g)
    return points


def _newton(s: FitSummary, rows: Any, sign: np.ndarray, w: np.ndarray, g: np.ndarray) -> np.ndarray:
    rows = losses.signed_rows(rows, sign)
    n1, z = rows.shape[0], np.asarray(rows @ w)
    step = newton_direction(rows, z, g / n1, s.C, s.loss, _CG_ACCURACY, _CG_STEPS)
    return w - line_search(rows, w, z, step, s.C, s.loss, float(step @ g) / n1) * step
