"""Prequential evaluation: predict each sample, then learn it once its label is known."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from onlinekit.result import Result

__all__ = ["Result", "prequential"]

# For so many samples a copy of the model goes ahead untimed, so that its kernels are compiled before they are timed.
WARM_UP = 100


def prequential(
    model: Any,
    data: Any,
    metrics: Any = None,
    monitor: Any = None,
    delay: int | None = None,
    progress: bool = True,
) -> Result:
    """Test-then-train: accuracy = mean of [prediction_i == y_i], each made before y_i is learned.

    The timings leave compilation out: a deep copy of the model sees the first 100 samples before the model does. A
    model that cannot be copied is timed with its first calls, and the result says so.

    Parameters
    ----------
    model
        A River classifier; it learns. The verdicts of a RetrainingClassifier's own monitor are recorded.
    data
        A stream of (x, y) or (x, y, {"w": weight}), or a pair (X, y) with X a 2-D array, CSR matrix or frame of
        pandas, polars or pyarrow. Never changed.
    metrics
        A River metric or several (copied; default Accuracy).
    monitor
        Gets `update(x, y)` of every revealed sample, or x = {"error": 0.0 or 1.0} if its `signal` is "error". Each
        "retrain" is recorded and followed by `rebase()`, so that the next one is an event of its own.
    delay
        Samples between a prediction and its label.
    progress
        Whether to show a progress bar with the metrics; never shown when stderr is no terminal.

    Raises
    ------
    ValueError
        If delay is not a non-negative integer, X and y differ in length, or a metric does not fit the model or is
        not one number.
    TypeError
        If data holds something else than samples.

    Examples
    --------
    >>> from river import dummy
    >>> prequential(dummy.NoChangeClassifier(), [({}, True)] * 3, progress=False).n_samples
    3
    """
    if delay is not None and (isinstance(delay, bool) or not isinstance(delay, int) or delay < 0):
        raise ValueError(f"delay must be a non-negative integer, not {delay!r}")
    run = _Run(model, _metrics(metrics, model), monitor)
    run.bar = _bar(data, type(model).__name__) if progress and sys.stderr.isatty() else None
    try:
        return run.go(_samples(data), delay or 0)
    finally:
        if run.bar is not None:
            run.show(last=True)
            run.bar.close()


def _metrics(given: Any, model: Any) -> dict[str, Any]:
    """Name -> a fresh copy of each metric that was asked for."""
    from river import metrics

    if given is None:
        given = metrics.Accuracy()
    chosen: dict[str, Any] = {}
    # A River `Metrics` is a list too.
    for metric in deepcopy(list(given) if isinstance(given, (list, tuple, metrics.base.Metrics)) else [given]):
        kind = type(metric).__name__
        if not isinstance(metric, metrics.base.Metric):
            raise TypeError(f"metrics must be River metrics, not {metric!r}")
        if not metric.works_with(model):
            raise ValueError(f"metric {kind} does not fit {type(model).__name__}")
        try:
            float(metric.get())
        except (TypeError, NotImplementedError):
            raise ValueError(f"metric {kind} is not one number") from None
        name, n = kind, 1
        while name in chosen:
            n += 1
            name = f"{kind}{n}"
        chosen[name] = metric
    return chosen


class _Run:
    def __init__(self, model: Any, metrics: dict[str, Any], monitor: Any) -> None:
        self.model, self.metrics, self.monitor = model, metrics, monitor
        self.result = Result(name=type(model).__name__)
        try:
            self.twin = deepcopy(model)
        except (TypeError, NotImplementedError):  # it holds a lock, a file or the like
            self.twin, self.result.warmed_up = None, False
        self.gives_proba = hasattr(model, "predict_proba_one")
        self.seen: Counter[Any] = Counter()
        self.last: Any = None
        # One byte a sample: whether the model, the no-change rule and the majority rule were right.
        self.hits = (bytearray(), bytearray(), bytearray())
        self.n_retrains = getattr(model, "n_retrains", 0)
        self.bar: Any = None
        self.shown = 0.0

    def go(self, data: Iterable[Any], delay: int) -> Result:
        waiting: deque[Any] = deque()
        for x, y, *extra in data:
            while waiting and len(waiting) >= delay > 0:
                self.answer(*waiting.popleft())
            waiting.append((x, y, dict(extra[0]) if extra else {}, *self.ask(x)))
            if not delay:
                self.answer(*waiting.popleft())
        while waiting:
            self.answer(*waiting.popleft())
        return self.finish()

    def ask(self, x: Any) -> tuple[Any, Any, Any, Any]:
        timings = self.result.timings
        if self.twin is not None:
            self.twin.predict_one(x)
            self.proba(self.twin, x)
        start = time.perf_counter()
        guess = self.model.predict_one(x)
        middle = time.perf_counter()
        proba = self.proba(self.model, x)
        timings["predict"] += middle - start
        timings["proba"] += time.perf_counter() - middle
        # The baselines know only the labels revealed by now, as the model does.
        return guess, proba, self.last, max(self.seen, key=self.seen.__getitem__, default=None)

    def proba(self, model: Any, x: Any) -> Any:
        if self.gives_proba:
            try:
                return model.predict_proba_one(x)
            except NotImplementedError:  # River's way of saying that a classifier has none
                self.gives_proba = False
        return None

    def answer(self, x: Any, y: Any, extra: dict, guess: Any, proba: Any, last: Any, top: Any) -> None:
        out = self.result
        for metric in self.metrics.values():
            shown = guess if metric.requires_labels else proba
            if shown is not None and shown != {}:
                metric.update(y, shown)
        out.predictions.append(guess)
        out.truths.append(y)
        out.confidences.append(proba.get(guess, math.nan) if proba else math.nan)
        for column, label in zip(self.hits, (guess, last, top), strict=True):
            column.append(bool(label == y))
        if self.twin is not None:
            self.twin.learn_one(x, y, **extra)
        start = time.perf_counter()
        self.model.learn_one(x, y, **extra)
        now = time.perf_counter()
        out.timings["learn"] += now - start
        self.seen[y] += 1
        self.last = y
        out.n_samples += 1
        if out.n_samples >= WARM_UP:
            self.twin = None
        if self.monitor is not None:
            self.watch(x, y, guess)
        elif hasattr(self.model, "n_retrains"):
            self.overhear()
        if self.bar is not None:
            self.bar.update()
            if now - self.shown > 0.2:
                self.shown = now
                self.show()

    def watch(self, x: Any, y: Any, guess: Any) -> None:
        """Tell the monitor of a sample and record what it says."""
        # A detector set to watch errors gets them; the others see the sample itself.
        watched = {"error": float(guess != y)} if getattr(self.monitor, "signal", None) == "error" else x
        self.monitor.update(watched, y)
        verdict = self.monitor.verdict()
        self.record(verdict, verdict.decision == "retrain")
        if verdict.decision == "retrain":
            self.monitor.rebase()

    def overhear(self) -> None:
        """Record what a RetrainingClassifier's monitor said; "retrain" counts when it is followed."""
        followed = self.model.n_retrains > self.n_retrains
        self.n_retrains = self.model.n_retrains
        verdict = self.model.last_verdict
        if verdict is not None and (followed or verdict.decision != "retrain"):
            self.record(verdict, followed)

    def record(self, verdict: Any, event: bool) -> None:
        verdicts = self.result.verdicts
        if event or not verdicts or verdicts[-1][1].decision != verdict.decision:
            verdicts.append((self.result.n_samples, verdict))

    def show(self, last: bool = False) -> None:
        values = {name: f"{metric.get():.4f}" for name, metric in self.metrics.items()}
        if self.result.retrains:
            values["retrains"] = str(len(self.result.retrains))
        self.bar.set_postfix(values, refresh=last)

    def finish(self) -> Result:
        out, n = self.result, self.result.n_samples
        for name, metric in self.metrics.items():
            out.metrics[name] = float(metric.get())
        if n:
            out.metrics["NoChange"] = sum(self.hits[1]) / n
            out.metrics["Majority"] = sum(self.hits[2]) / n
        # About 60 windows, but where that leaves enough of them at least 50 samples in each: fewer show noise.
        width = max(math.ceil(n / 60), min(50, math.ceil(n / 8)), 1)
        starts = list(range(0, n, width))
        if len(starts) > 1 and n - starts[-1] < width / 2:
            starts.pop()  # a short rest belongs to the last window
        for start, end in itertools.pairwise([*starts, n]):
            answered = end - start - out.predictions[start:end].count(None)
            model, no_change, majority = (sum(column[start:end]) for column in self.hits)
            share = model / answered if answered else math.nan
            out.curve.append((end, share, no_change / (end - start), majority / (end - start)))
        return out


def _samples(data: Any) -> Iterator[Any]:
    """(x, y, ...) with x a dict of its own, so that no model can change the caller's data."""
    if not (isinstance(data, tuple) and len(data) == 2 and hasattr(data[0], "shape")):
        for t, sample in enumerate(data):
            if not (isinstance(sample, tuple | list) and len(sample) >= 2 and isinstance(sample[0], Mapping)):
                raise TypeError(
                    f"sample {t} of data is no (x, y) with a dict x; a pair (X, y) is a tuple of an array, a CSR "
                    "matrix or a frame and its labels"
                )
            yield (dict(sample[0]), *sample[1:])
        return
    from onlinekit import frames

    X, y = data
    labels = y.tolist() if hasattr(y, "tolist") else frames.column(y)
    if X.shape[0] != len(labels):
        raise ValueError(f"X has {X.shape[0]} rows and y has {len(labels)} labels")
    yield from zip(_rows(X), labels, strict=True)


def _rows(X: Any) -> Iterator[dict[Any, Any]]:
    if hasattr(X, "indptr"):
        X = X.tocsr()
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield dict(zip(X.indices[start:end].tolist(), X.data[start:end].tolist(), strict=True))
    elif hasattr(X, "iter_rows"):  # polars
        yield from X.iter_rows(named=True)
    elif hasattr(X, "to_batches"):  # pyarrow
        for batch in X.to_batches():
            yield from batch.to_pylist()
    elif hasattr(X, "itertuples"):  # pandas
        names = list(X.columns)
        for row in X.itertuples(index=False, name=None):
            yield dict(zip(names, row, strict=True))
    else:
        for row in X:
            yield dict(enumerate(row.tolist()))


def _bar(data: Any, name: str) -> Any:
    from tqdm import tqdm

    total = getattr(data, "n_samples", None)
    if total is None and isinstance(data, tuple) and len(data) == 2 and hasattr(data[0], "shape"):
        total = data[0].shape[0]
    elif total is None and hasattr(data, "__len__"):
        total = len(data)
    return tqdm(desc=name, total=total, unit=" samples", mininterval=0.2)
