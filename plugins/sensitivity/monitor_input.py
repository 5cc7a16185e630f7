"""What a certified monitor is given: labels, rows of data, and the digest of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onlinekit.schema import Schema

from .rows import digests, keys


def key_of(signed: np.ndarray) -> bytes:
    """The digest by which a tracker knows a signed row (d,)."""
    return keys_of(signed[None, :])[0]


def keys_of(signed: np.ndarray) -> list[bytes]:
    """The digests of signed rows (n, d)."""
    return keys(digests(signed))


def sign_of(y: Any) -> int:
    """+1 or -1 for True/False, 1/0 and +1/-1; ValueError naming any other label."""
    if isinstance(y, (bool, int, float, np.bool_, np.number)):
        if y == 1:
            return 1
        if y == 0 or y == -1:
            return -1
    raise ValueError(f"label {y!r} is not binary: True/False, 1/0 and +1/-1 are")


def matrix_of(X: Any, names: Any) -> tuple[np.ndarray, list[Any]]:
    """(n, d) float64 and the names of the columns, of a list of dicts, a frame or an array.

    ValueError or TypeError for a bad value, a wrong number of names or a name twice.
    """
    if isinstance(X, list) and (not X or isinstance(X[0], Mapping)):
        schema = Schema(dict.fromkeys(name for x in X for name in x))
        for x in X:
            complaint = schema.complaint(x)
            if complaint is not None:
                raise complaint
        matrix = np.zeros((len(X), len(schema)))
        for row, x in zip(matrix, X, strict=True):
            schema.pack(x, row)
        return matrix, schema.names
    matrix = np.asarray(X, dtype=float)
    if matrix.ndim != 2:
        raise ValueError(f"X must have two dimensions, it has {matrix.ndim}")
    if names is None:
        names = getattr(X, "columns", range(matrix.shape[1]))
    columns = list(names)
    if len(columns) != matrix.shape[1] or len(set(columns)) != len(columns):
        raise ValueError(f"X has {matrix.shape[1]} columns and there are {len(set(columns))} different names")
    return matrix, columns
