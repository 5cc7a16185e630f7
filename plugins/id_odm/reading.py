"""Parameters and batches of the exact learners, checked before anything changes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from onlinekit import frames
from onlinekit.batches import valid_weight
from onlinekit.schema import Schema, bad_value, read_batch


def check_parameters(
    lam: float, kernel: str, gamma: float | None, coef0: float, window: int | None, max_samples: int | None, tol: float,
    on_invalid: str,
) -> None:  # fmt: skip
    """ValueError naming the parameter that is out of its range."""
    if not (lam > 0.0 and math.isfinite(lam)):
        raise ValueError(f"lam must be positive and finite, not {lam!r}")
    if kernel not in ("rbf", "linear"):
        raise ValueError(f"kernel must be 'rbf' or 'linear', not {kernel!r}")
    if gamma is not None and not (gamma > 0.0 and math.isfinite(gamma)):
        raise ValueError(f"gamma must be None or positive and finite, not {gamma!r}")
    if not (coef0 >= 0.0 and math.isfinite(coef0)):
        raise ValueError(f"coef0 must be finite and not negative, not {coef0!r}")
    for name, value in (("window", window), ("max_samples", max_samples)):
        if value is not None and not (isinstance(value, numbers.Integral) and value >= 1):
            raise ValueError(f"{name} must be None or an integer of at least 1, not {value!r}")
    if not (tol > 0.0 and math.isfinite(tol)):
        raise ValueError(f"tol must be positive and finite, not {tol!r}")
    if on_invalid not in ("raise", "skip"):
        raise ValueError(f"on_invalid must be 'raise' or 'skip', not {on_invalid!r}")


def check_key(key: Hashable) -> None:
    """TypeError for a key that cannot be hashed, ValueError for one that is not equal to itself (NaN)."""
    try:
        hash(key)
    except TypeError:
        raise TypeError(f"key {key!r} is not hashable") from None
    if key != key:
        raise ValueError(f"key {key!r} is not equal to itself, so it could never be found again")


def column(values: Any) -> list[Any]:
    """A column of a frame, or any sequence, as a list."""
    return list(values) if isinstance(values, np.ndarray) and values.ndim == 1 else frames.column(values)


def spread(w: Any, n: int) -> list[Any]:
    """n weights from None, one weight, or a column."""
    if w is None:
        return [1.0] * n
    values = [w] * n if isinstance(w, numbers.Number) else frames.column(w)
    if len(values) != n:
        raise ValueError(f"X has {n} rows and w {len(values)}")
    return values


def read(
    target: Callable[[Any], float], X: Any, y: Any, w: Any, keys: Sequence[Hashable] | None, lenient: bool
) -> tuple[np.ndarray, list[Any], np.ndarray, np.ndarray, list[Any], list[Hashable], int]:
    """(values (m, columns), column names, targets (m,), weights (m,), labels, keys, rows passed over) of a batch.

    A bad row raises an error that names it, or is passed over if `lenient`.
    """
    values, columns = read_batch(X, lenient)
    n = len(values)
    labels, weights = column(y), spread(w, n)
    if len(labels) != n:
        raise ValueError(f"X has {n} rows and y {len(labels)}")
    named: list[Hashable] = [None] * n if keys is None else list(keys)
    if len(named) != n:
        raise ValueError(f"X has {n} rows and keys {len(named)}")
    codes, good = np.zeros(n), np.isfinite(values).all(axis=1)
    if not lenient and not good.all():
        t, j = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"row {t}: {bad_value(columns[j], float(values[t, j]))}")
    for t in np.flatnonzero(good).tolist():
        try:
            codes[t] = target(labels[t])
            weights[t] = valid_weight(weights[t])
            check_key(named[t])
        except (TypeError, ValueError) as error:
            if not lenient:
                raise type(error)(f"row {t}: {error}") from None
            good[t] = False
    kept = np.flatnonzero(good).tolist()
    return (
        values[good], columns, codes[good], np.array([weights[t] for t in kept], dtype=np.float64),
        [labels[t] for t in kept], [named[t] for t in kept], n - len(kept),
    )  # fmt: skip


def rows_to_predict(X: Any, schema: Schema, lenient: bool) -> np.ndarray:
    """Rows (n, d) of the known features; a value that is not finite raises an error or, if `lenient`, is absent."""
    values, columns = read_batch(X, lenient)
    known = np.array([name in schema.index for name in columns], dtype=bool)
    bad = ~np.isfinite(values) & known
    if bad.any():
        if not lenient:
            t, j = (int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"row {t}: {bad_value(columns[j], float(values[t, j]))}")
        values = np.where(np.isfinite(values), values, 0.0)
    return np.ascontiguousarray(schema.matrix(values, columns))
