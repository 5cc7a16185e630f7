"""Symmetric matrices as packed lower triangles: row i at i (i + 1) / 2."""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel


@kernel
def pack(A: np.ndarray, P: np.ndarray) -> None:
    """P (at least s (s + 1) / 2,) = lower triangle of A (s, s)."""
    at = 0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            P[at + j] = A[i, j]
        at += i + 1


@kernel
def unpack(P: np.ndarray, A: np.ndarray) -> None:
    """The symmetric A (s, s) of a packed P."""
    at = 0
    for i in range(A.shape[0]):
        for j in range(i + 1):
            A[i, j] = P[at + j]
            A[j, i] = P[at + j]
        at += i + 1
