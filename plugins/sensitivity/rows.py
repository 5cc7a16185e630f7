"""Digests of rows: a removed row must be one of the data, and a refinement must see exactly the data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from .kernels import digest_dense, digest_sparse


def digests(rows: Any) -> np.ndarray:
    """128-bit digests (n, 2) uint64 of signed rows (n, d), the same for dense and CSR rows."""
    out = np.empty((rows.shape[0], 2), dtype=np.uint64)
    # + 0.0 turns -0.0 into 0.0, so that equal rows have equal bits.
    if sp.issparse(rows):
        bits = (rows.data + 0.0).view(np.uint64)
        digest_sparse(rows.indptr.astype(np.int64), rows.indices.astype(np.int64), bits, out)
    else:
        digest_dense((np.ascontiguousarray(rows) + 0.0).view(np.uint64), out)
    return out


def keys(table: np.ndarray) -> list[bytes]:
    """The digests as dictionary keys."""
    raw = table.tobytes()
    return [raw[i : i + 16] for i in range(0, len(raw), 16)]


def fingerprint(table: np.ndarray) -> np.ndarray:
    """A sum (2,) uint64 over the rows, in any order: two equal sums mean the same multiset of rows."""
    with np.errstate(over="ignore"):
        x = table + np.uint64(0x5851F42D4C957F2D)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray((x ^ (x >> np.uint64(31))).sum(axis=0, dtype=np.uint64))


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
