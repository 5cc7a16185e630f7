"""Streams of (x, y) from a URI: CSV, Parquet, svmlight, .npz, or River's bundled data; predictions back to a file."""

from __future__ import annotations

import csv
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onlinekit._readers import READERS, Sample, Source, StreamError, river

__all__ = ["Stream", "StreamError", "open_stream", "write_predictions"]


class Stream:
    """Iterates over (x, y); each iteration starts again. Rows that cannot be used are skipped and counted.

    Parameters
    ----------
    name
        What to call it in a report.
    source
        Where the rows come from.
    limit
        At most this many samples.
    labels
        Label -> the label to give out instead; others stay as they are.

    Raises
    ------
    StreamError
        While iterating, if the source turns out to be damaged or empty.
    """

    def __init__(
        self, name: str, source: Source, limit: int | None = None, labels: Mapping[Any, Any] | None = None
    ) -> None:
        self.name = name
        self.limit = limit
        self.labels = dict(labels or {})
        self.skipped_reasons: Counter[str] = Counter()
        self._source = source

    @property
    def n_samples(self) -> int | None:
        """Rows that may come, None if that is not known before they do."""
        n = self._source.n
        return n if n is None or self.limit is None else min(n, self.limit)

    @property
    def n_skipped(self) -> int:
        """Number of rows skipped in the latest iteration."""
        return sum(self.skipped_reasons.values())

    def _skip(self, reason: str) -> None:
        self.skipped_reasons[reason] += 1

    def __iter__(self) -> Iterator[Sample]:
        self.skipped_reasons.clear()
        limit = self.limit if self.limit is None else min(self.limit, sys.maxsize)  # islice takes no more
        rows = itertools.islice(iter(self._source.rows(self._skip)), limit)
        return ((x, self.labels.get(y, y)) for x, y in rows) if self.labels else rows


def open_stream(uri: str | os.PathLike[str], target: str | None = None, limit: int | None = None) -> Stream:
    """Open a source: a path to .csv, .parquet, .svm/.svmlight/.libsvm, .npz, or "river:NAME".

    Rows of svmlight files and of CSR matrices in .npz files (X_data, X_indices, X_indptr, X_shape) keep only the
    entries that are stored.

    Parameters
    ----------
    target
        The label's column in CSV and Parquet (default: the last one), or its array in .npz (default: y).
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
        if target is not None:
            raise StreamError(f"{path}: its label is given, there is no column {target!r} to choose")
        return Stream(path, river(path[6:]), limit)
    if not os.path.isfile(path):
        raise StreamError(f"{path}: there is no such file")
    reader = READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        raise StreamError(f"{path}: unknown kind of file; known are {', '.join(READERS)} and river:NAME")
    if os.path.getsize(path) == 0:
        raise StreamError(f"{path}: the file is empty")
    return Stream(os.path.basename(path), reader(path, target), limit)


def write_predictions(path: str | os.PathLike[str], rows: Iterable[tuple[Any, Any, float]]) -> None:
    """Write (truth, prediction, confidence) of each sample to a .csv or .jsonl file.

    Parameters
    ----------
    path
        Of the file, which is replaced.
    rows
        One a sample, in order; a confidence of NaN (none) is left empty.

    Raises
    ------
    StreamError
        If the file's kind is not known.

    Examples
    --------
    >>> write_predictions("predictions.csv", [(True, False, 0.7)])  # doctest: +SKIP
    """
    kind = os.path.splitext(os.fspath(path))[1].lower()
    if kind not in (".csv", ".jsonl"):
        raise StreamError(f"{os.fspath(path)}: predictions are written to .csv or .jsonl")
    names = ("truth", "prediction", "confidence")
    with open(path, "w", newline="", encoding="utf-8") as file:
        if kind == ".csv":
            table = csv.writer(file)
            table.writerow(names)
            table.writerows((y, p, None if c != c else c) for y, p, c in rows)
        else:
            for y, p, c in rows:
                line = dict(zip(names, (y, p, None if c != c else c), strict=True))
                file.write(json.dumps(line) + "\n")
