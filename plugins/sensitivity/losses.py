"""The two losses as functions of the margin z = y x.w, and checked input rows (dense or CSR)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from .kernels import gather_rows, is_canonical, signed_values, split_rows

UNIT = 2.0**-53
LOSSES = ("logistic", "squared_hinge")


def check_loss(loss: str) -> str:
    """Return ``loss`` or raise ValueError naming the known losses."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {loss!r}")
    return loss


def check_c(C: float) -> float:
    """Return C as a float; C must be finite and above zero."""
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a finite number above 0, not {C!r}")
    return float(C)


def smoothness(loss: str) -> float:
    """beta = sup phi'': 2 (squared hinge) or 1/4 (logistic)."""
    return 2.0 if loss == "squared_hinge" else 0.25


def value(loss: str, z: np.ndarray) -> np.ndarray:
    """phi(z) = max(0, 1-z)^2 or log(1 + exp(-z))."""
    return np.maximum(0.0, 1.0 - z) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -z)


def slope(loss: str, z: np.ndarray) -> np.ndarray:
    """phi'(z)."""
    return -2.0 * np.maximum(0.0, 1.0 - z) if loss == "squared_hinge" else -expit(-z)


def curvature(loss: str, z: np.ndarray) -> np.ndarray:
    """phi''(z); at the kink of the squared hinge the value from the right, 0."""
    return 2.0 * (z < 1.0) if loss == "squared_hinge" else expit(z) * expit(-z)


def signs(y: Any) -> np.ndarray:
    """Labels as floats, (n,): booleans become -1 and +1, numbers stay."""
    labels = np.atleast_1d(np.asarray(y))
    if labels.dtype == bool:
        return np.where(labels, 1.0, -1.0)
    try:
        return labels.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"labels must be -1 or +1 (or bool), got {labels.ravel()[:5].tolist()}") from None


def checked_rows(X: Any, y: Any, d: int | None = None) -> tuple[Any, np.ndarray]:
    """Return the rows (float64, dense or canonical CSR, (n, d)) and the labels as -1.0 and +1.0, (n,).

    Raises ValueError for a label other than -1, +1 (or bool), for NaN or inf, a wrong shape, or CSR indices that do not
    fit it.
    """
    labels = signs(y)
    rows: Any = canonical(X) if sp.issparse(X) else np.asarray(X, dtype=float)
    if rows.ndim == 1:
        rows = rows[None, :]
    if rows.ndim != 2 or labels.ndim != 1 or rows.shape[0] != labels.shape[0]:
        raise ValueError(f"X and y must have as many rows, got shapes {rows.shape} and {labels.shape}")
    if d is not None and rows.shape[1] != d:
        raise ValueError(f"rows must have {d} features, got {rows.shape[1]}")
    if not np.all(np.abs(labels) == 1.0):
        raise ValueError(f"labels must be -1 or +1 (or bool), got {np.unique(labels)[:5].tolist()}")
    values = rows.data if sp.issparse(rows) else rows
    # The sum tells nearly always, in a third of the time.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise ValueError("X holds NaN or infinity")
    return rows, labels


def canonical(X: Any) -> sp.csr_matrix:
    """A sparse matrix as float64 CSR rows, each with rising indices; ValueError for indices that do not fit it.

    The values may be the caller's: they are copied only when entries have to be sorted or added up.
    """
    rows = sp.csr_matrix(X, dtype=float)
    if _fits(rows) and is_canonical(rows.indptr, rows.indices, rows.shape[1]):
        rows.has_canonical_format = True
        return rows
    rows.check_format(full_check=True)
    rows = rows.copy()
    rows.sum_duplicates()
    return rows


def _fits(X: sp.csr_matrix) -> bool:
    """Whether the arrays of a CSR matrix have the lengths and the types that kernels take for granted."""
    return (
        X.indptr.shape == (X.shape[0] + 1,)
        and X.indices.shape == X.data.shape == (X.indptr[-1],)
        and X.indptr.dtype == X.indices.dtype
        and X.indices.dtype in (np.int32, np.int64)
    )


def signed_rows(X: Any, y: Any, d: int | None = None) -> Any:
    """Return the rows y_i x_i (float64, dense or CSR), shape (n, d), a copy; raises as ``checked_rows``."""
    if isinstance(X, sp.csr_matrix) and X.dtype == np.float64 and _fits(X):
        # Small changes come often: rows without fault in one pass, others by the checks that can name it.
        labels, data = signs(y), np.empty_like(X.data)
        fits = labels.shape == (X.shape[0],) and d in (None, X.shape[1])
        if fits and signed_values(X.indptr, X.indices, X.data, labels, X.shape[1], data):
            return _own(X, data)
    rows, labels = checked_rows(X, y, d)
    if not sp.issparse(rows):
        return rows * labels[:, None]
    return _own(rows, rows.data * spread(rows, labels))


def _own(X: Any, data: np.ndarray) -> Any:
    """CSR rows with a copy of the pattern of X: what the caller writes to X later must not reach rows that wait."""
    out = with_data(X, data)
    out.indices, out.indptr, out.has_canonical_format = X.indices.copy(), X.indptr.copy(), True
    return out


def spread(X: Any, weights: np.ndarray) -> np.ndarray:
    """The weight of its row for each stored value of CSR rows."""
    return np.repeat(weights, np.diff(X.indptr))


def with_data(X: Any, data: np.ndarray) -> Any:
    """CSR rows with the pattern of X and other values."""
    out = copy.copy(X)
    out.data = data
    return out


def taken(X: Any, chosen: np.ndarray) -> Any:
    """The rows of X at these places or where this mask is true; for canonical CSR rows a tenth of SciPy's time."""
    if not sp.issparse(X):
        return X[chosen]
    places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    place = np.empty((len(places), 2), dtype=np.int64)
    place[:, 0] = X.indptr[places]
    np.subtract(X.indptr[places + 1], place[:, 0], out=place[:, 1])
    return gathered(place, X.indices, X.data, X.shape[1])


def split(X: Any, apart: np.ndarray) -> tuple[Any, Any]:
    """The rows of X (n, d), dense or canonical CSR, that are not ``apart`` (n,) bool, and those that are."""
    if not sp.issparse(X):
        return X[~apart], X[apart]
    n, behind = len(apart), int(np.count_nonzero(apart))
    one, two = np.empty(n - behind + 1, X.indptr.dtype), np.empty(behind + 1, X.indptr.dtype)
    index, value = np.empty_like(X.indices), np.empty_like(X.data)
    at = split_rows(X.indptr, X.indices, X.data, apart, one, two, index, value)
    return _csr(one, index[:at], value[:at], X.shape[1]), _csr(two, index[at:], value[at:], X.shape[1])


def _csr(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, d: int) -> Any:
    out = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, d), copy=False)
    out.has_canonical_format = True
    return out


def gathered(place: np.ndarray, index: np.ndarray, value: np.ndarray, d: int) -> Any:
    """CSR rows (n, d) out of stored ones: row i is place[i] = (start, length) of ``index`` and ``value``."""
    indptr = np.zeros(len(place) + 1, dtype=index.dtype)
    np.cumsum(place[:, 1], out=indptr[1:])
    indices, data = np.empty(indptr[-1], dtype=index.dtype), np.empty(indptr[-1])
    gather_rows(place, indptr, index, value, indices, data)
    return _csr(indptr, indices, data, d)


def combined(X: Any, weights: np.ndarray) -> np.ndarray:
    """Sum_i weights_i x_i, (d,)."""
    if sp.issparse(X):
        return np.bincount(X.indices, X.data * spread(X, weights), X.shape[1])
    return np.asarray(weights @ X)


def weighted_gram(X: Any, weights: np.ndarray) -> np.ndarray:
    """Sum_i weights_i x_i x_i' as a dense (d, d) array."""
    if sp.issparse(X):
        # C-ordered as every copy of it: the last bits of a product depend on the order.
        return np.asarray((X.T @ with_data(X, X.data * spread(X, weights))).toarray(order="C"))
    # A product of a matrix with itself costs half of another.
    scaled = X * np.sqrt(weights)[:, None]
    return np.asarray(scaled.T @ scaled)


def column_squares(X: Any, weights: np.ndarray) -> np.ndarray:
    """Sum_i weights_i x_ij^2, shape (d,)."""
    if sp.issparse(X):
        return np.bincount(X.indices, X.data * X.data * spread(X, weights), X.shape[1])
    return np.asarray(weights @ (X * X))


def refuse_overflow(rows: Any) -> None:
    """ValueError for rows whose squares overflow, or nearly: no Hessian and no bound could be computed of them."""
    if not square_sum(rows) < 1e280:
        raise ValueError("the squares of X overflow: scale the features")


def square_sum(X: Any) -> float:
    """The sum of all squares."""
    values = X.data if sp.issparse(X) else np.ravel(X)
    return float(values @ values)


def row_norms(X: Any) -> np.ndarray:
    """Euclidean norm of each row, shape (n,); above it where the squares would underflow."""
    if sp.issparse(X):
        norm = np.sqrt(with_data(X, X.data * X.data) @ np.ones(X.shape[1]))
    else:
        norm = np.sqrt(np.einsum("ij,ij->i", X, X))
    return not_below(norm, X, np.ones(X.shape[1]))


def not_below(size: np.ndarray, X: Any, scale: np.ndarray) -> np.ndarray:
    """Sizes (n,) of rows, those from squares that may have underflowed replaced by sum_j |x_ij| scale_j, in place."""
    small = np.flatnonzero(size < 1e-140)
    if len(small):
        size[small] = abs(X[small]) @ scale
    return size


def largest_eigenvalue(T: np.ndarray, weights: np.ndarray, enough: float = 0.0) -> float:
    """An upper bound of lambda_max(sum_i weights_i t_i t_i'), weights >= 0; see eigenvalue_bound."""
    keep = weights > 0
    if not keep.any():
        return 0.0
    rows = T[keep] * np.sqrt(weights[keep])[:, None]
    if float((rows * rows).sum()) <= enough:
        return float((rows * rows).sum()) * (1 + 1e-9)
    gram = rows @ rows.T if rows.shape[0] < rows.shape[1] else rows.T @ rows
    # The products are off by at most a small multiple of the trace.
    return eigenvalue_bound(gram, enough) + 8 * UNIT * (sum(rows.shape) + 8) * float(np.trace(gram))


def eigenvalue_bound(K: np.ndarray, enough: float = 0.0) -> float:
    """An upper bound of lambda_max(K) for K >= 0, tight to rounding unless a looser one is at most ``enough``.

    The Frobenius norm costs O(d^2), (tr K^4)^(1/4) a product, (tr K^8)^(1/8) two, the eigenvalue itself the most.
    """
    slack = 8 * UNIT * (len(K) + 8) * float(np.trace(K))
    loose = float(np.linalg.norm(K)) + slack
    if loose <= enough or loose == slack:
        return loose
    if not loose < np.inf:  # overflowed, perhaps to NaN
        return np.inf
    if enough > 0:
        square = K @ K.T
        loose = float(np.sqrt(np.linalg.norm(square))) * (1 + 1e-9) + slack
        if loose > enough:
            loose = float(np.sqrt(np.sqrt(np.linalg.norm(square @ square.T)))) * (1 + 1e-9) + slack
        if loose <= enough:
            return loose
    return float(np.linalg.eigvalsh(K)[-1]) + slack


def spectral_bound(X: Any, steps: int = 30) -> float:
    """An upper bound of lambda_max(X'X), X (n, d) dense or CSR, without a (d, d) matrix.

    The least of the trace, of lambda_max(XX') when n <= 500, and of max_j (Bv)_j / v_j with B = |X|'|X| and any v > 0
    (Collatz-Wielandt), v from ``steps`` power iterations: tight when X is non-negative.
    """
    n, d = X.shape
    found = [float(row_norms(X) @ row_norms(X))]
    if n <= 500:
        gram = X @ X.T
        gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
        found.append(float(np.linalg.eigvalsh(gram)[-1]) + 8 * UNIT * (n + d + 8) * found[0])
    size = abs(X)
    v = np.ones(d)
    for _ in range(steps):
        image = np.asarray(size.T @ (size @ v))
        live = image > 0
        if not live.any():
            return 0.0
        found.append(float((image[live] / v[live]).max()))
        # A column of zeros has no part in B; a floor keeps v positive, which is all the bound needs.
        v = np.maximum(image / image.max(), 1e-12)
    return min(found) * (1 + 8 * UNIT * (n + d + 8))
