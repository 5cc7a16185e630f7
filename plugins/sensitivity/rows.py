"""Digests of rows: a removed row must be one of the data, and a refinement must see exactly the data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from .kernels import digest_dense, digest_sparse


def digests(rows: Any, sign: np.ndarray | None = None) -> np.ndarray:
    """128-bit digests (n, 2) uint64 of the rows sign_i rows_i (n, d), the same for dense and CSR rows."""
    n, d = rows.shape
    out, flip = np.empty((n, 2), dtype=np.uint64), np.zeros(n, dtype=np.uint64)
    if sign is not None:
        flip[sign < 0] = np.uint64(1 << 63)
    # One random odd multiplier a column, the same in every process.
    odd = _mixed(np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    if sp.issparse(rows):
        digest_sparse(rows.indptr, rows.indices, rows.data.view(np.uint64), odd, flip, out)
    else:
        digest_dense(np.ascontiguousarray(rows).view(np.uint64), odd, flip, out)
    return out


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(table: np.ndarray) -> list[bytes]:
    """The digests as dictionary keys."""
    raw = table.tobytes()
    return [raw[i : i + 16] for i in range(0, len(raw), 16)]


def fingerprint(table: np.ndarray) -> np.ndarray:
    """A sum (2,) uint64 over the rows, in any order: two equal sums mean the same multiset of rows."""
    return np.asarray(_mixed(table + np.uint64(0x5851F42D4C957F2D)).sum(axis=0, dtype=np.uint64))


def pack_counter(counter: Counter[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """A counter of keys as arrays: (m, 16) uint8 and counts (m,)."""
    kept = {k: v for k, v in counter.items() if v}
    return (
        np.frombuffer(b"".join(kept), dtype=np.uint8).reshape(-1, 16).copy(),
        np.array(list(kept.values()), dtype=np.int64),
    )


def unpack_counter(table: np.ndarray, counts: np.ndarray) -> Counter[bytes]:
    """The inverse of pack_counter."""
    return Counter({row.tobytes(): int(count) for row, count in zip(table, counts, strict=True)})
