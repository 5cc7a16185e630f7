"""Answers in the caller's own kind of frame: pandas, polars, pyarrow or NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def column(values: Any) -> list[Any]:
    """A column (list, array, Series, ChunkedArray) as a list."""
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"a column of one dimension is needed, not of {values.ndim}")
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _package(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def series(like: Any, values: list[Any]) -> Any:
    """A column of values of the same kind as the frame `like`; the pandas index is kept."""
    package = _package(like)
    if package == "pandas":
        import pandas

        return pandas.Series(values, index=like.index)
    if package == "polars":
        import polars

        return polars.Series(values)
    if package == "pyarrow":
        import pyarrow

        return pyarrow.array(values)
    if all(isinstance(value, bool) for value in values):
        return np.asarray(values, dtype=bool)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def frame(like: Any, values: np.ndarray, names: list[Any]) -> Any:
    """A frame of the same kind as `like` with these columns (a plain array for a plain array)."""
    package = _package(like)
    if package == "pandas":
        import pandas

        return pandas.DataFrame(values, index=like.index, columns=names)
    # These two know column names as text only.
    text = {str(name): values[:, k] for k, name in enumerate(names)}
    if package == "polars":
        import polars

        return polars.DataFrame(text)
    if package == "pyarrow":
        import pyarrow

        return pyarrow.table(text)
    return values
