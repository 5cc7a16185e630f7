"""Single rows of a monitor, dense or sparse, and matrices of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onlinekit.schema import Schema

from .rows import digests, keys


class SparseRow(NamedTuple):
    """The non-zeros of one row: rising columns (m,) int32 and their values (m,)."""

    columns: np.ndarray
    values: np.ndarray


Row = np.ndarray | SparseRow


def scaled(row: Row, sign: float) -> Row:
    """sign times the row; + 0.0 turns -0.0 into 0.0, so that equal rows have equal bytes."""
    return SparseRow(row.columns, sign * row.values) if isinstance(row, SparseRow) else sign * row + 0.0


def stacked(rows: Iterable[Any], width: int, sparse: bool) -> Any:
    """The rows as a matrix (n, width), dense or CSR."""
    rows = list(rows)
    if not sparse:
        return np.array(rows, dtype=float).reshape(len(rows), width)
    indptr = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row.values) for row in rows], out=indptr[1:])
    index = np.concatenate([row.columns for row in rows]) if rows else np.zeros(0, dtype=np.int32)
    value = np.concatenate([row.values for row in rows]) if rows else np.zeros(0)
    return sp.csr_matrix((value, index, indptr), shape=(len(rows), width))


def parted(matrix: Any) -> list[Row]:
    """The rows of a matrix, each with memory of its own."""
    if not sp.issparse(matrix):
        return list(matrix.copy())
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return [SparseRow(matrix.indices[a:b].astype(np.int32), matrix.data[a:b].copy()) for a, b in ends]


def key_of(row: Row, width: int) -> bytes:
    """The digest by which a tracker knows a signed row."""
    return keys(digests(stacked([row], width, isinstance(row, SparseRow))))[0]


def row_of(x: Mapping[Any, Any], schema: Schema, width: int, intercept: bool, sparse: bool) -> Row:
    """A dict of known features as a row (width,), 1 in the last column with ``intercept``."""
    index, value = schema.entries(x)
    if not sparse:
        row = np.zeros(width)
        row[index] = value + 0.0
        if intercept:
            row[-1] = 1.0
        return row
    order = np.argsort(index)
    index, value = index[order].astype(np.int32), value[order]
    if intercept:
        index, value = np.append(index, np.int32(width - 1)), np.append(value, 1.0)
    return SparseRow(index, value)


def widened(matrix: Any, spare: int, intercept: bool) -> Any:
    """The matrix (n, d) with ``spare`` columns of zeros and, with ``intercept``, one of ones behind it."""
    n = matrix.shape[0]
    if sp.issparse(matrix):
        more = [sp.csr_matrix((n, spare)), *([np.ones((n, 1))] if intercept else [])]
        return sp.hstack([matrix, *more], format="csr")
    return np.hstack([matrix + 0.0, np.zeros((n, spare)), np.ones((n, int(intercept)))])
