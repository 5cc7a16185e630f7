"""Sums of loss gradients, compensated, each coordinate with a bound of its rounding error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .gradient_kernels import sum_dense, sum_sparse
from .losses import UNIT

# Gradients (d,) are carried in long double: 64 bits on x86, and no worse than double anywhere.
LONG = np.longdouble
UNIT_LONG = max(float(np.finfo(LONG).eps) / 2, 2.0**-64)


@dataclass
class LossSum:
    """Sum_i phi'(z_i) x_i (long double, (d,)) with its error (d,); z, phi'(z) (n,), and sum phi(z_i)."""

    gradient: np.ndarray
    error: np.ndarray
    z: np.ndarray
    slope: np.ndarray
    value: float
    value_error: float


def loss_sum(loss: str, rows: Any, w: np.ndarray, sign: np.ndarray | None = None) -> LossSum:
    """The sum over the rows sign_i rows_i (n, d), dense or CSR, at w (d,), in one pass without a copy.

    The sums are compensated: error_j is a few units of sum |x_ij| (|phi'| + beta sum |x_ik w_k|) for any n and d.
    """
    n, d = rows.shape
    sign = np.ones(n) if sign is None else sign
    high, low, error = np.zeros((3, d))
    z, slope, terms = np.empty(n), np.empty(n), np.zeros(6)
    squared = loss == "squared_hinge"
    if sp.issparse(rows):
        sum_sparse(
            rows.indptr, rows.indices, rows.data, sign, w, squared, high, low, error, z, slope, terms
        )  # fmt: skip
    else:
        rows = np.ascontiguousarray(rows)
        sum_dense(rows, sign, w, squared, high, low, error, z, slope, terms)
    # The compensation and the error's own sum are rounded as well, n times.
    error *= 1 + 8 * UNIT * (n + 8)
    error += UNIT_LONG * np.abs(high)
    return LossSum(high.astype(LONG) + low, error, z, slope, float(terms[0]), float(terms[1]))
