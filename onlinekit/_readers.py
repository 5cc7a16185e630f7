"""Readers of the kinds of source that `onlinekit.streams` knows."""

from __future__ import annotations

import csv
import difflib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

Sample = tuple[dict[Any, Any], Any]
Skip = Callable[[str], None]


class StreamError(ValueError):
    """A stream cannot be opened or breaks off; one line names the file and the cause."""


class Source(NamedTuple):
    """`rows(skip)` gives the samples and calls skip(reason) for a row that cannot be used; `n` rows if known."""

    rows: Callable[[Skip], Iterable[Sample]]
    n: int | None = None


def hint(name: str, names: Iterable[Any]) -> str:
    """What may have been meant by a name that is not there."""
    known = [str(n) for n in names]
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(known[:30])}"


def river(name: str) -> Source:
    """A classification data set that ships with River."""
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
        raise StreamError(f"river:{name}: no such bundled data set{hint(name, known)}")
    dataset: Any = known[name]()  # type: ignore[call-arg]
    if dataset.task not in (datasets.base.BINARY_CLF, datasets.base.MULTI_CLF):
        raise StreamError(f"river:{name}: its task is {dataset.task.lower()}, and labels to classify are needed")

    def rows(skip: Skip) -> Iterator[Sample]:
        for x, y in dataset:
            for feature, value in x.items():
                if not isinstance(value, (int, float, np.number)):
                    kind = type(value).__name__
                    raise StreamError(f"river:{name}: feature {feature!r} is of type {kind}, numbers are needed")
            yield dict(x), y

    return Source(rows, dataset.n_samples)


def _target(path: str, columns: list[str], target: str | None) -> str:
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise StreamError(f"{path}: there are two columns {twice!r}")
    if target is None:
        return columns[-1]
    if target not in columns:
        raise StreamError(f"{path}: there is no column {target!r}{hint(target, columns)}")
    return target


TRUTHS = {"true": True, "false": False}


def _label(text: str) -> Any:
    if text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def _sample(cells: dict[str, Any], label: str, skip: Skip) -> Sample | None:
    y = cells.pop(label)
    y = _label(y.strip()) if isinstance(y, str) else y
    if y is None or y == "" or y != y:
        skip("label missing")
        return None
    x = {}
    for name, cell in cells.items():
        try:
            x[name] = float(TRUTHS.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell)
        except (TypeError, ValueError):
            skip(f"{name}: missing or not a number")
            return None
        if not math.isfinite(x[name]):
            skip(f"{name}: not finite")
            return None
    return x, y


def read_csv(path: str, target: str | None) -> Source:
    """Comma-separated values below a header; UTF-8."""

    def lines() -> Iterator[tuple[int, list[str]]]:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            try:
                for row in reader:
                    if row:
                        yield reader.line_num, row
            except (csv.Error, UnicodeDecodeError) as error:
                raise StreamError(f"{path}: broken after line {reader.line_num}: {error}") from error

    columns = next(lines(), (0, []))[1]
    if not columns:
        raise StreamError(f"{path}: the file is empty")
    if len(columns) == 1:
        raise StreamError(f"{path}: its header names one column, {columns[0]!r}; cells are parted by commas")
    label = _target(path, columns, target)

    def rows(skip: Skip) -> Iterator[Sample]:
        number = 0
        for number, row in itertools.islice(lines(), 1, None):
            if len(row) != len(columns):
                raise StreamError(f"{path}: line {number} has {len(row)} cells instead of {len(columns)}")
            sample = _sample(dict(zip(columns, row, strict=True)), label, skip)
            if sample is not None:
                yield sample
        if not number:
            raise StreamError(f"{path}: there are no rows below the header")

    return Source(rows)


def read_parquet(path: str, target: str | None) -> Source:
    """A Parquet file, a batch at a time."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise StreamError(f"{path}: Parquet needs pyarrow; pip install pyarrow") from error
    try:
        with parquet.ParquetFile(path) as file:
            columns, n = list(file.schema_arrow.names), file.metadata.num_rows
    except (pyarrow.ArrowException, OSError) as error:
        raise StreamError(f"{path}: no intact Parquet file: {str(error).splitlines()[0]}") from error
    if not n or not columns:
        raise StreamError(f"{path}: there are no rows in it")
    label = _target(path, columns, target)

    def rows(skip: Skip) -> Iterator[Sample]:
        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    for cells in batch.to_pylist():
                        sample = _sample(cells, label, skip)
                        if sample is not None:
                            yield sample
        except (pyarrow.ArrowException, OSError) as error:
            raise StreamError(f"{path}: broken: {str(error).splitlines()[0]}") from error

    return Source(rows, n)


def read_svmlight(path: str, target: str | None) -> Source:
    """Lines "label index:value ... # comment"; only the entries that are there go into x."""
    if target is not None:
        raise StreamError(f"{path}: svmlight lines begin with the label, there is no column {target!r}")

    def rows(skip: Skip) -> Iterator[Sample]:
        seen = False
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                seen = True
                try:
                    float(words[0])
                    pairs = [w.split(":") for w in words[1:] if not w.startswith("qid:")]
                    x = {int(i): float(v) for i, v in pairs}
                except ValueError as error:
                    raise StreamError(f"{path}: line {number} is broken: {error}") from error
                if len(x) < len(pairs):
                    raise StreamError(f"{path}: line {number} has a feature twice")
                y = _label(words[0])
                if y != y:
                    skip("label missing")
                elif all(map(math.isfinite, x.values())):
                    yield x, y
                else:
                    skip("a value is not finite")
        if not seen:
            raise StreamError(f"{path}: there are no rows in it")

    return Source(rows)


def read_npz(path: str, target: str | None) -> Source:
    """Arrays X (n, d), or X_data, X_indices, X_indptr and X_shape of a CSR matrix, and y (n,)."""
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
    # zlib.error and struct.error come out of damaged archives as they are.
    except Exception as error:
        raise StreamError(f"{path}: no intact .npz file: {' '.join(str(error).split())}") from error
    label = "y" if target is None else target
    sparse = "X" not in parts and "X_data" in parts
    for name in (label, *(("X_data", "X_indices", "X_indptr", "X_shape") if sparse else ("X",))):
        if name not in parts:
            raise StreamError(f"{path}: there is no array {name!r}{hint(name, parts)}")
    y, X = parts[label], parts["X_data" if sparse else "X"]
    if y.ndim != 1 or X.ndim != (1 if sparse else 2) or X.dtype.kind not in "biuf":
        raise StreamError(
            f"{path}: X must be a table of numbers and {label} a column, not {X.dtype} {X.shape}, {y.shape}"
        )
    if sparse:
        _check_csr(path, *(parts[f"X_{name}"] for name in ("data", "indices", "indptr", "shape")))
    n = len(parts["X_indptr"]) - 1 if sparse else len(X)
    if n != len(y):
        raise StreamError(f"{path}: X has {n} rows and {label} {len(y)}")
    if not n:
        raise StreamError(f"{path}: there are no rows in it")

    def rows(skip: Skip) -> Iterator[Sample]:
        for t, truth in enumerate(y.tolist()):
            if sparse:
                part = slice(*parts["X_indptr"][t : t + 2])
                values, keys = X[part], parts["X_indices"][part].tolist()
            else:
                values, keys = X[t], range(X.shape[1])
            if truth != truth:
                skip("label missing")
            elif np.isfinite(values).all():
                yield dict(zip(keys, values.tolist(), strict=True)), truth
            else:
                skip("a value is not finite")

    return Source(rows, n)


def _check_csr(path: str, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> None:
    """Raise StreamError unless the arrays are a CSR matrix without double entries."""

    def refuse(cause: str) -> None:
        raise StreamError(f"{path}: no valid CSR matrix: {cause}")

    for name, part in (("X_indices", indices), ("X_indptr", indptr), ("X_shape", shape)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            refuse(f"{name} must be a list of whole numbers")
    if len(shape) != 2 or len(indptr) != shape[0] + 1:
        refuse(f"X_indptr has {len(indptr)} numbers and X_shape is {shape.tolist()}")
    if len(data) != len(indices):
        refuse(f"X_data has {len(data)} numbers and X_indices {len(indices)}")
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        refuse(f"X_indptr must rise from 0 to {len(data)}")
    if len(indices) and not (0 <= indices.min() and indices.max() < shape[1]):
        refuse(f"X_indices must lie in 0 .. {shape[1] - 1}")
    rows = np.repeat(np.arange(len(indptr) - 1), [b - a for a, b in itertools.pairwise(indptr.tolist())])
    order = np.lexsort((indices, rows))
    double = (rows[order][1:] == rows[order][:-1]) & (indices[order][1:] == indices[order][:-1])
    if double.any():
        refuse(f"row {rows[order][np.argmax(double)]} has a column twice")


READERS: dict[str, Callable[[str, str | None], Source]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
    ".npz": read_npz,
}
