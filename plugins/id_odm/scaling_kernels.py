"""Rows as the engine sees them: scaled by running statistics as they stood when each row was learned."""

from __future__ import annotations

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import scaled, watch


@kernel
def learn_scaled(rows: np.ndarray, stats: np.ndarray, out: np.ndarray) -> None:
    """Watch each of the rows (m, d), then write it scaled into out (m, d): River's scaler in a pipeline."""
    for i in range(rows.shape[0]):
        watch(rows[i], stats)
        for j in range(rows.shape[1]):
            out[i, j] = scaled(rows[i], stats, j)


@kernel
def apply_scale(rows: np.ndarray, stats: np.ndarray, out: np.ndarray) -> None:
    """Rows (m, d) scaled into out (m, d)."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = scaled(rows[i], stats, j)


@kernel
def tally(rows: np.ndarray, sign: int, counts: np.ndarray) -> int:
    """Add rows (m, d) to, or take them from, the counts (>= d,) of non-zero values; how many features have any."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] != 0.0:
                counts[j] += sign
    used = 0
    for j in range(counts.shape[0]):
        if counts[j] > 0:
            used += 1
    return used


@kernel
def tally_slots(X: np.ndarray, slots: np.ndarray, sign: int, counts: np.ndarray) -> int:
    """`tally` of the rows X[slots], of which the first len(counts) columns count."""
    for i in slots:
        for j in range(counts.shape[0]):
            if X[i, j] != 0.0:
                counts[j] += sign
    used = 0
    for j in range(counts.shape[0]):
        if counts[j] > 0:
            used += 1
    return used
