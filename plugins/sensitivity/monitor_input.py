"""What a certified monitor is given: labels and rows of data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit.schema import Schema
from onlinekit.sparse import holds_few

from .monitor_rows import row_of, stacked


def sign_of(y: Any) -> int:
    """+1 or -1 for True/False, 1/0 and +1/-1; ValueError naming any other label."""
    if isinstance(y, (bool, int, float, np.bool_, np.number)):
        if y == 1:
            return 1
        if y == 0 or y == -1:
            return -1
    raise ValueError(f"label {y!r} is not binary: True/False, 1/0 and +1/-1 are")


def matrix_of(X: Any, names: Any) -> tuple[Any, list[Any]]:
    """(n, d) float64 and the names of the columns, of a list of dicts, a frame, an array or CSR rows.

    CSR rows stay CSR, and dicts with few of many features become CSR. ValueError or TypeError for a bad value, a wrong
    number of names or a name twice.
    """
    if isinstance(X, list) and (not X or isinstance(X[0], Mapping)):
        schema = Schema(dict.fromkeys(name for x in X for name in x))
        for x in X:
            complaint = schema.complaint(x)
            if complaint is not None:
                raise complaint
        d = len(schema)
        sparse = holds_few(sum(map(len, X)), len(X), d)
        return stacked([row_of(x, schema, d, False, sparse) for x in X], d, sparse), schema.names
    matrix = sp.csr_matrix(X, dtype=float) if sp.issparse(X) else np.asarray(X, dtype=float)
    if matrix.ndim != 2:
        raise ValueError(f"X must have two dimensions, it has {matrix.ndim}")
    if names is None:
        names = getattr(X, "columns", range(matrix.shape[1]))
    columns = list(names)
    if len(columns) != matrix.shape[1] or len(set(columns)) != len(columns):
        raise ValueError(f"X has {matrix.shape[1]} columns and there are {len(set(columns))} different names")
    return matrix, columns
