"""Factors and triangular solves by LAPACK and BLAS directly: on small matrices SciPy's checks cost more than they."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import dtrmm, dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf, dtrtri


def factor(A: np.ndarray) -> np.ndarray | None:
    """Upper R (d, d), C-ordered with zeros below, R'R = A, in the place of A; None when A is not positive definite."""
    L, info = dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    return None if info else np.asarray(L.T)


def half(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R^-T v, (d,)."""
    return np.asarray(dtrsv(R.T, v, lower=1))


def back(R: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R^-1 v, (d,)."""
    return np.asarray(dtrsv(R.T, v, lower=1, trans=1))


def half_rows(R: np.ndarray, rows: Any) -> np.ndarray:
    """R^-T x for each row x of an array (m, d), C-ordered (m, d)."""
    return np.asarray(dtrsm(1.0, R.T, rows.T, lower=1)).T


def inverse_diagonal(R: np.ndarray) -> np.ndarray:
    """diag((R'R)^-1), (d,)."""
    inverse = _inverse(R.T)
    # The columns of L^-1, zeros above its diagonal, lie one behind the other.
    return np.einsum("ij,ij->i", inverse.T, inverse.T)


def _inverse(L: np.ndarray) -> np.ndarray:
    """L^-1 (d, d), Fortran-ordered with zeros above, by halves: a matrix product does most of it, in half the time."""
    d = len(L)
    if d <= 96:
        return np.asarray(dtrtri(L, lower=1)[0])
    h = d // 2
    out = np.zeros((d, d), order="F")
    out[:h, :h], out[h:, h:] = _inverse(L[:h, :h]), _inverse(L[h:, h:])
    out[h:, :h] = -dtrmm(1.0, out[h:, h:], dtrmm(1.0, out[:h, :h], L[h:, :h], side=1, lower=1), lower=1)
    return out
