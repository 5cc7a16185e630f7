"""Sums of loss gradients in extended precision, each coordinate with a bound of its rounding error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import losses
from .losses import UNIT

LONG = np.longdouble
# 2^-64 on x86; 2^-53 where long double is double: the bounds below hold with either.
UNIT_LONG = max(float(np.finfo(LONG).eps) / 2, 2.0**-64)
_BLOCK = 256
_EXACT_SIZE = 2_000_000


@dataclass
class LossSum:
    """Sum_i phi'(z_i) x_i (long double, (d,)) with its error (d,); z, phi'(z) (n,); sum phi(z_i); sum x_ij^2 (d,)."""

    gradient: np.ndarray
    error: np.ndarray
    z: np.ndarray
    slope: np.ndarray
    value: float
    value_error: float
    squares: np.ndarray


def loss_sum(loss: str, rows: Any, w: np.ndarray, always_long: bool = False) -> LossSum:
    """The sum over signed rows (n, d) at w (d,).

    Long double for CSR rows and up to 2e6 dense values (or always); else blocks of 256 rows in double, whose sums are
    added in long double. |error_j| <= 2v(T+16) sum|phi' x_ij| + 2v((d+8) beta c_j sum_k c_k|w_k| + 4 sqrt(n) c_j),
    c_j the column norms, v the unit roundoff used and T the longest plain sum.
    """
    n, d = rows.shape
    exact = always_long or sp.issparse(rows) or n * d <= _EXACT_SIZE
    block = (n or 1) if sp.issparse(rows) else max(1, 200_000 // d) if exact else _BLOCK
    unit, terms = (UNIT_LONG, n) if exact else (UNIT, _BLOCK)
    kind: Any = LONG if exact else float
    w_kind = w.astype(kind)
    total = np.zeros(d, dtype=LONG)
    absolute, squares = np.zeros(d), np.zeros(d)
    z, slope, value = np.empty(n), np.empty(n), LONG(0)
    for at in range(0, n, block):
        part = rows[at : at + block]
        if sp.issparse(part):
            part_kind = losses.with_data(part, part.data.astype(kind))
            z_part = part_kind @ w_kind
            s_part = losses.slope(loss, z_part)
            total += part_kind.T @ s_part
        else:
            part_kind = part.astype(kind)
            z_part = (part_kind * w_kind).sum(axis=1) if exact else part @ w_kind
            s_part = losses.slope(loss, z_part)
            total += (part_kind * s_part[:, None]).sum(axis=0) if exact else part.T @ s_part
        z[at : at + block], slope[at : at + block] = z_part, s_part
        value += losses.value(loss, z_part).sum(dtype=LONG)
        absolute += losses.column_sums(part, np.abs(slope[at : at + block]))
        squares += losses.column_sums(part, np.ones(part.shape[0]), 2)
    absolute, squares = absolute * (1 + 1e-9), squares * (1 + 1e-9)
    c = np.sqrt(squares)
    spread = (d + 8) * losses.smoothness(loss) * float(c @ np.abs(w))
    error = 2 * unit * ((terms + 16) * absolute + (spread + 4 * np.sqrt(n)) * c)
    # |phi(z) - phi(z')| <= |phi'| |z - z'| + beta |z - z'|^2 / 2, and |z_i| <= |x_i| |w|.
    shift = 2 * unit * (d + 8) * float(np.sqrt(squares.sum()) * np.linalg.norm(w)) * (1 + float(np.linalg.norm(slope)))
    value_error = 8 * UNIT * float(value) + 2 * unit * (terms + 16) * float(value) + shift
    return LossSum(total, error, z, slope, float(value), value_error, squares)
