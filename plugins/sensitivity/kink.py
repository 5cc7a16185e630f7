"""Squared hinge, after a pass over the data: which rows are, or can come to be, on the other side of the kink."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .gradient import margins
from .losses import UNIT
from .streaming import HessianMetric


class KinkRows:
    """The rows (n, d) with labels ``sign`` at w0, seen from points near w1.

    N counts the rows that are active at w0. From w, with v = w1 - w, the Hessian's average along w + t v loses at most
    the counted rows with z_i(w) + |x_i|_{N^-1} r >= 1 and gains at most the others with z_i(w) - |x_i|_{N^-1} r <= 1,
    for any r >= |v|_N; r by first crossing, as for the ellipsoid. Only few rows have moved: far less than could have.
    """

    def __init__(self, metric: HessianMetric, answer: dict[str, Any], rows: Any, sign: np.ndarray) -> None:
        self._metric, self._answer, self._rows, self._sign = metric, answer, rows, sign
        z, _, slack = margins(rows, metric.summary.w0, sign)
        # On the kink to rounding: N may count such a row or not.
        self._counted, self._left_out = z <= 1 + slack, z >= 1 - slack
        # |x_i|_{N^-1} <= sum_j |x_ij| sqrt((N^-1)_jj), which costs no solve.
        self._wide = margins(rows, answer["inverse_root"], sign)[1] * (1 + 1e-9)

    def constants(self, z: np.ndarray, slack: np.ndarray, gamma: float) -> tuple[float, float] | None:
        """a, b with a N <= average Hessian from w to w1 <= b N; None when no crossing is found.

        z (n,) are the margins at w, off by at most ``slack``; gamma >= |g|_{N^-1}.
        """
        rho = max(gamma * 1.001, 1e-300)
        for _ in range(12):
            lost = self._change(z, slack, rho, False)
            if lost >= 1:
                return None
            if rho * (1 - lost) * (1 - 8 * UNIT) > gamma:
                break
            rho = max(rho, gamma / (1 - lost)) * 1.01
        else:
            return None
        rho = min(rho, gamma / (1 - lost) * (1 + 8 * UNIT))
        a = (1 - self._change(z, slack, rho, False)) * (1 - 4 * UNIT)
        return a, (1 + self._change(z, slack, rho, True)) * (1 + 4 * UNIT)

    def _change(self, z: np.ndarray, slack: np.ndarray, rho: float, gained: bool) -> float:
        """lambda_max of the lost or gained rows' part of the Hessian, in units of N."""
        away = 1 - z if gained else z - 1  # where the row would have to be: above 0
        chosen = np.flatnonzero((self._left_out if gained else self._counted) & (away + slack + self._wide * rho >= 0))
        if not len(chosen):
            return 0.0
        rows = losses.taken(self._rows, chosen)
        T = self._metric.whiten_now(rows.toarray() if sp.issparse(rows) else rows, self._answer)
        q = np.sqrt(np.einsum("ij,ij->i", T, T)) * (1 + 1e-9)
        able = away[chosen] + slack[chosen] + q * rho >= 0
        return losses.largest_eigenvalue(T[able], np.full(int(able.sum()), 2.0))
