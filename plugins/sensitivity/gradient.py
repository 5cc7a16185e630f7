"""Margins and sums of loss gradients, each with a bound of its rounding error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .gradient_kernels import loss_terms, margins_dense, margins_sparse, sum_dense, sum_sparse
from .losses import UNIT
from .rows import unsigned

# Gradients (d,) are carried in long double: 64 bits on x86, and no worse than double anywhere.
LONG = np.longdouble
UNIT_LONG = max(float(np.finfo(LONG).eps) / 2, 2.0**-64)


@dataclass
class LossSum:
    """Sum_i phi'(z_i) x_i (long double, (d,)) with its error (d,); z, its error, phi'(z) (n,), and sum phi(z_i)."""

    gradient: np.ndarray
    error: np.ndarray
    z: np.ndarray
    z_error: np.ndarray
    slope: np.ndarray
    value: float
    value_error: float


def margins(rows: Any, w: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z_i = sign_i x_i.w of rows (n, d), dense or CSR; size_i = sum_j |x_ij w_j|; a bound of z's error; (n,) each."""
    z, size, off = np.empty((3, rows.shape[0]))
    if sp.issparse(rows):
        margins_sparse(unsigned(rows.indptr), unsigned(rows.indices), rows.data, sign, w, UNIT, z, size, off)
    else:
        margins_dense(np.ascontiguousarray(rows), sign, w, UNIT, z, size, off)
    return z, size, off


def loss_sum(loss: str, rows: Any, w: np.ndarray, sign: np.ndarray | None = None) -> LossSum:
    """The sum over the rows sign_i rows_i (n, d), dense or CSR, at w (d,), without a copy of the rows.

    Blocks of rows are summed plainly and their sums with compensation: error_j is some tens of units of
    sum |x_ij| (|phi'| + beta sum |x_ik w_k|) for any n and d.
    """
    n, d = rows.shape
    sign = np.ones(n) if sign is None else sign
    z, _, off = margins(rows, w, sign)
    # A block's end costs d: many features with few non-zeros need longer blocks.
    block = 64 if not sp.issparse(rows) else max(64, d * n // (rows.nnz + 1))
    (slope, along, doubt), total = np.empty((3, n)), np.zeros(3)
    # A product and at most ``block`` sums are rounded.
    more = (min(block, n) + 4) * UNIT
    hinge = loss == "squared_hinge"
    # NumPy's exp and log1p take many values at a time.
    decay = z if hinge else np.exp(-np.abs(z))
    log = z if hinge else np.log1p(decay)
    loss_terms(hinge, z, off, decay, log, sign, more, UNIT, slope, along, doubt, total)
    high, low = np.zeros((2, d))
    sums = np.zeros((d, 2))
    if sp.issparse(rows):
        indptr, indices = unsigned(rows.indptr), unsigned(rows.indices)
        sum_sparse(indptr, indices, rows.data, along, doubt, block, high, low, sums)
    else:
        sum_dense(np.ascontiguousarray(rows), along, doubt, block, high, low, sums)
    # The compensation and the error's own sum are rounded as well, n times.
    error = sums[:, 1] * (1 + 8 * UNIT * (n + 8)) + UNIT_LONG * np.abs(high)
    value, vague = float(total[0] + total[1]), float(total[2])
    return LossSum(high.astype(LONG) + low, error, z, off, slope, value, vague * (1 + 1e-9) + 64 * UNIT * value)
