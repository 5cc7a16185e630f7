"""Digests of rows: a removed row must be one of the data, and a refinement must see exactly the data."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from .kernels import digest_dense, digest_sparse, sum_mixed


def unsigned(index: np.ndarray) -> np.ndarray:
    """A view of CSR's indices that kernels read without asking for negative ones: twice as fast."""
    return index.view(np.uint32 if index.itemsize == 4 else np.uint64)


def digests(rows: Any, sign: np.ndarray | None = None) -> np.ndarray:
    """128-bit digests (n, 2) uint64 of the rows sign_i rows_i (n, d), the same for dense and CSR rows."""
    n, d = rows.shape
    out, flip = np.empty((n, 2), dtype=np.uint64), np.zeros(n, dtype=np.uint64)
    if sign is not None:
        flip[sign < 0] = np.uint64(1 << 63)
    odd = _multipliers(d)
    if sp.issparse(rows):
        bits = rows.data.view(np.uint64)
        digest_sparse(unsigned(rows.indptr), unsigned(rows.indices), bits, odd, flip, out)
    else:
        digest_dense(np.ascontiguousarray(rows).view(np.uint64), odd, flip, out)
    return out


@lru_cache(maxsize=16)
def _multipliers(d: int) -> np.ndarray:
    """One random odd multiplier a column, the same in every process, (d,) uint64."""
    return _mixed(np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(table: np.ndarray) -> list[bytes]:
    """The digests as dictionary keys."""
    return table.view("V16").ravel().tolist()


def fingerprint(table: np.ndarray) -> np.ndarray:
    """A sum (2,) uint64 over the rows, in any order: two equal sums mean the same multiset of rows."""
    out = np.zeros(2, dtype=np.uint64)
    sum_mixed(table, out)
    return out


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
