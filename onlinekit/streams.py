"""Streams of (x, y) from a URI: CSV, Parquet, svmlight, .npz, or a data set that ships with River."""

from __future__ import annotations

import csv
import difflib
import itertools
import math
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["Stream", "StreamError", "open_stream"]

Sample = tuple[dict[Any, Any], Any]


class StreamError(ValueError):
    """A stream cannot be opened or breaks off; one line names the file and the cause."""


class Stream:
    """Iterates over (x, y); each iteration starts again. Rows that cannot be used are skipped and counted.

    Parameters
    ----------
    name
        What to call it in a report.
    rows
        Takes a function that counts a skipped row by its reason; returns the samples.
    limit
        At most this many samples.

    Raises
    ------
    StreamError
        While iterating, if the source turns out to be damaged or empty.
    """

    def __init__(
        self, name: str, rows: Callable[[Callable[[str], None]], Iterable[Sample]], limit: int | None = None
    ) -> None:
        self.name = name
        self.limit = limit
        self.skipped_reasons: Counter[str] = Counter()
        self._rows = rows

    @property
    def n_skipped(self) -> int:
        """Number of rows skipped in the latest iteration."""
        return sum(self.skipped_reasons.values())

    def _skip(self, reason: str) -> None:
        self.skipped_reasons[reason] += 1

    def __iter__(self) -> Iterator[Sample]:
        self.skipped_reasons.clear()
        return itertools.islice(iter(self._rows(self._skip)), self.limit)


def open_stream(uri: str | os.PathLike[str], target: str | None = None, limit: int | None = None) -> Stream:
    """Open a source: a path to .csv, .parquet, .svm/.svmlight/.libsvm, .npz, or "river:NAME".

    Parameters
    ----------
    target
        The label's column, for CSV and Parquet (default: the last one).
    limit
        At most this many samples.

    Raises
    ------
    StreamError
        If the source is missing, empty or of an unknown kind, or lacks the target column.

    Examples
    --------
    >>> x, y = next(iter(open_stream("river:Phishing", limit=1)))
    >>> len(x), y
    (9, True)
    """
    if limit is not None and limit < 0:
        raise StreamError(f"limit must not be negative, not {limit}")
    path = os.fspath(uri)
    if path.startswith("river:"):
        return Stream(path, _river(path[6:]), limit)
    if not os.path.isfile(path):
        raise StreamError(f"{path}: there is no such file")
    if os.path.getsize(path) == 0:
        raise StreamError(f"{path}: the file is empty")
    reader = _READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        raise StreamError(f"{path}: unknown kind of file; known are {', '.join(_READERS)} and river:NAME")
    return Stream(os.path.basename(path), reader(path, target), limit)


def _river(name: str) -> Any:
    from river import datasets

    # Remote data sets would download; only what ships with River is offered.
    known: dict[str, Any] = {
        n: c
        for n in datasets.__all__
        if isinstance(c := getattr(datasets, n), type)
        and not issubclass(c, datasets.base.RemoteDataset)
        and issubclass(c, datasets.base.FileDataset)
    }
    if name not in known:
        raise StreamError(f"river:{name}: no such bundled data set{_hint(name, known)}")
    dataset: Any = known[name]()  # type: ignore[call-arg]
    return lambda skip: ((dict(x), y) for x, y in dataset)


def _hint(name: str, names: Iterable[str]) -> str:
    names = [str(n) for n in names]
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(names[:30])}"


def _target(path: str, columns: list[str], target: str | None) -> str:
    if target is None:
        return columns[-1]
    if target not in columns:
        raise StreamError(f"{path}: there is no column {target!r}{_hint(target, columns)}")
    return target


def _label(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _sample(cells: dict[str, Any], label: str, skip: Callable[[str], None]) -> Sample | None:
    y = cells.pop(label)
    if y is None or y == "" or (isinstance(y, float) and math.isnan(y)):
        skip("label missing")
        return None
    x = {}
    for name, cell in cells.items():
        try:
            x[name] = float(cell)
        except (TypeError, ValueError):
            skip(f"{name}: missing or not a number")
            return None
        if not math.isfinite(x[name]):
            skip(f"{name}: not finite")
            return None
    return x, _label(y) if isinstance(y, str) else y


def _csv(path: str, target: str | None) -> Any:
    def lines() -> Iterator[tuple[int, list[str]]]:
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                reader = csv.reader(file, strict=True)
                for row in reader:
                    if row:
                        yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise StreamError(f"{path}: broken at line {reader.line_num}: {error}") from error

    columns = next(lines(), (0, []))[1]
    if not columns:
        raise StreamError(f"{path}: the file is empty")
    label = _target(path, columns, target)

    def rows(skip: Callable[[str], None]) -> Iterator[Sample]:
        number = 0
        for number, row in itertools.islice(lines(), 1, None):
            if len(row) != len(columns):
                raise StreamError(f"{path}: line {number} has {len(row)} cells instead of {len(columns)}")
            sample = _sample(dict(zip(columns, row, strict=True)), label, skip)
            if sample is not None:
                yield sample
        if not number:
            raise StreamError(f"{path}: there are no rows below the header")

    return rows


def _parquet(path: str, target: str | None) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise StreamError(f"{path}: Parquet needs pyarrow; pip install pyarrow") from error
    try:
        columns = list(parquet.read_schema(path).names)
    except (pyarrow.ArrowException, OSError) as error:
        raise StreamError(f"{path}: no intact Parquet file: {str(error).splitlines()[0]}") from error
    label = _target(path, columns, target)

    def rows(skip: Callable[[str], None]) -> Iterator[Sample]:
        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    for cells in batch.to_pylist():
                        sample = _sample(cells, label, skip)
                        if sample is not None:
                            yield sample
        except (pyarrow.ArrowException, OSError) as error:
            raise StreamError(f"{path}: broken: {str(error).splitlines()[0]}") from error

    return rows


def _svmlight(path: str, target: str | None) -> Any:
    def rows(skip: Callable[[str], None]) -> Iterator[Sample]:
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                try:
                    pairs = [w.split(":") for w in words[1:] if not w.startswith("qid:")]
                    x = {int(i): float(v) for i, v in pairs}
                except ValueError as error:
                    raise StreamError(f"{path}: line {number} is broken: {error}") from error
                if all(map(math.isfinite, x.values())):
                    yield x, _label(words[0])
                else:
                    skip("a value is not finite")

    return rows


def _npz(path: str, target: str | None) -> Any:
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise StreamError(f"{path}: no intact .npz file: {error}") from error
    sparse = "X_data" in parts
    needed = ["y", *(("X_data", "X_indices", "X_indptr", "X_shape") if sparse else ("X",))]
    for name in needed:
        if name not in parts:
            raise StreamError(f"{path}: there is no array {name!r}{_hint(name, parts)}")
    y = parts["y"].tolist()
    n = len(parts["X_indptr"]) - 1 if sparse else len(parts["X"])
    if n != len(y):
        raise StreamError(f"{path}: X has {n} rows and y {len(y)}")

    def rows(skip: Callable[[str], None]) -> Iterator[Sample]:
        for t, label in enumerate(y):
            if sparse:
                part = slice(*parts["X_indptr"][t : t + 2])
                values, keys = parts["X_data"][part], parts["X_indices"][part].tolist()
            else:
                values = parts["X"][t]
                keys = range(len(values))
            if np.isfinite(values).all():
                yield dict(zip(keys, values.tolist(), strict=True)), label
            else:
                skip("a value is not finite")

    return rows


_READERS = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".svm": _svmlight,
    ".svmlight": _svmlight,
    ".libsvm": _svmlight,
    ".npz": _npz,
}
