"""When a matrix made of dicts is kept as CSR."""

from __future__ import annotations

SPARSE_FEATURES, SPARSE_SHARE = 64, 0.25


def holds_few(entries: int, rows: int, features: int) -> bool:
    """Whether rows with so many entries in all hold at most a quarter of 64 or more features.

    Parameters
    ----------
    entries
        Number of values that the rows hold together.
    rows, features
        Shape of the matrix.

    Examples
    --------
    >>> holds_few(entries=300, rows=10, features=1000), holds_few(entries=300, rows=10, features=60)
    (True, False)
    """
    return features >= SPARSE_FEATURES and entries <= SPARSE_SHARE * rows * features
