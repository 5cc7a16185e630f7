"""Prequential evaluation: predict each sample, then learn it once its label is known."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Result", "prequential"]


@dataclass
class Result:
    """What an evaluation saw.

    Parameters
    ----------
    n_samples
        Samples whose label was revealed.
    metrics
        Name -> value, with "NoChange" and "Majority": the accuracies of the two baselines.
    curve
        Rows (samples so far, model, no-change, majority): accuracies within one window each.
    predictions, truths
        In the order in which labels arrived.
    probabilities
        One dict a sample; empty if the model gives none.
    timings
        Seconds spent in "predict" and "learn".
    verdicts
        Pairs (samples so far, verdict), one each time the monitor's decision changed.
    """

    n_samples: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    curve: list[tuple[int, float, float, float]] = field(default_factory=list)
    predictions: list[Any] = field(default_factory=list)
    truths: list[Any] = field(default_factory=list)
    probabilities: list[dict[Any, float]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=lambda: {"predict": 0.0, "learn": 0.0})
    verdicts: list[tuple[int, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields as a plain dict; verdicts as (samples, decision)."""
        out = dict(vars(self))
        out["verdicts"] = [(n, v.decision) for n, v in self.verdicts]
        return out

    def to_html(self, path: Any) -> None:
        """Write the report to `path` as one self-contained HTML file."""
        from pathlib import Path

        from onlinekit.report import to_html

        Path(path).write_text(to_html(self), encoding="utf-8")


def prequential(
    model: Any,
    data: Any,
    metrics: Any = None,
    monitor: Any = None,
    delay: int | None = None,
    progress: bool = True,
) -> Result:
    """Test-then-train: accuracy = mean of [prediction_i == y_i], each made before y_i is learned.

    Parameters
    ----------
    model
        A River classifier; it learns.
    data
        A stream of (x, y) or (x, y, {"w": weight}), or a pair of arrays (X, y). Never changed.
    metrics
        A River metric or a list of them (copied; default Accuracy).
    monitor
        Gets `update(x, y)` of every revealed sample.
    delay
        Samples between a prediction and its label.
    progress
        Whether to show a progress bar; never shown when stderr is no terminal.

    Raises
    ------
    ValueError
        If delay is not a non-negative integer, X and y differ in length, or a metric does not fit the model.

    Examples
    --------
    >>> from river import dummy
    >>> prequential(dummy.NoChangeClassifier(), [({}, True)] * 3, progress=False).n_samples
    3
    """
    from river import metrics as river_metrics

    if delay is not None and (isinstance(delay, bool) or not isinstance(delay, int) or delay < 0):
        raise ValueError(f"delay must be a non-negative integer, not {delay!r}")
    chosen = [river_metrics.Accuracy()] if metrics is None else metrics
    chosen = deepcopy(list(chosen) if isinstance(chosen, list | tuple) else [chosen])
    for metric in chosen:
        if not metric.works_with(model):
            raise ValueError(f"metric {type(metric).__name__} does not fit {type(model).__name__}")
    return _Run(model, chosen, monitor).go(_bar(_samples(data), progress), delay or 0)


class _Run:
    def __init__(self, model: Any, metrics: list[Any], monitor: Any) -> None:
        import inspect

        self.model, self.metrics, self.monitor = model, metrics, monitor
        self.result = Result()
        self.weighted = "w" in inspect.signature(model.learn_one).parameters
        self.gives_proba = hasattr(model, "predict_proba_one")
        self.seen: Counter[Any] = Counter()
        self.last: Any = None
        self.hits: list[tuple[bool, bool, bool]] = []

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
        start = time.perf_counter()
        guess = self.model.predict_one(x)
        self.result.timings["predict"] += time.perf_counter() - start
        proba = None
        if self.gives_proba:
            try:
                proba = self.model.predict_proba_one(x)
            except NotImplementedError:  # River's way of saying that a classifier has none
                self.gives_proba = False
        # The baselines know only the labels revealed by now, as the model does.
        return guess, proba, self.last, max(self.seen, key=self.seen.__getitem__, default=None)

    def answer(self, x: Any, y: Any, extra: dict, guess: Any, proba: Any, last: Any, top: Any) -> None:
        out = self.result
        for metric in self.metrics:
            shown = guess if metric.requires_labels else proba
            if shown is not None and shown != {}:
                metric.update(y, shown)
        out.predictions.append(guess)
        out.truths.append(y)
        if proba is not None:
            out.probabilities.append(proba)
        self.hits.append((guess == y, last == y, top == y))
        start = time.perf_counter()
        w = extra.get("w")
        if w is not None and self.weighted:
            self.model.learn_one(x, y, w=w)
        else:
            self.model.learn_one(x, y)
        out.timings["learn"] += time.perf_counter() - start
        self.seen[y] += 1
        self.last = y
        out.n_samples += 1
        if self.monitor is not None:
            # A detector set to watch errors gets them; the others see the sample itself.
            watched = {"error": float(guess != y)} if getattr(self.monitor, "signal", None) == "error" else x
            self.monitor.update(watched, y)
            verdict = self.monitor.verdict()
            if not out.verdicts or out.verdicts[-1][1].decision != verdict.decision:
                out.verdicts.append((out.n_samples, verdict))

    def finish(self) -> Result:
        out, n = self.result, len(self.hits)
        for metric in self.metrics:
            out.metrics[type(metric).__name__] = float(metric.get())
        if n:
            for column, name in ((1, "NoChange"), (2, "Majority")):
                out.metrics[name] = sum(hit[column] for hit in self.hits) / n
        width = max(1, n // 50)
        for start in range(0, n, width):
            part = self.hits[start : start + width]
            a, b, c = (sum(hit[i] for hit in part) / len(part) for i in range(3))
            out.curve.append((start + len(part), a, b, c))
        return out


def _samples(data: Any) -> Iterator[Any]:
    if isinstance(data, tuple) and len(data) == 2 and hasattr(data[0], "shape"):
        X, y = data
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows and y has {len(y)} labels")
        if hasattr(X, "to_dict"):
            rows = iter(X.to_dict(orient="records"))
        else:
            rows = (dict(enumerate(row.tolist())) for row in X)
        labels = y.tolist() if hasattr(y, "tolist") else y
        yield from zip(rows, labels, strict=True)
        return
    for x, y, *extra in data:
        yield (dict(x), y, *extra)


def _bar(samples: Iterable[Any], progress: bool) -> Iterable[Any]:
    if not progress or not sys.stderr.isatty():
        return samples
    try:
        from tqdm import tqdm
    except ImportError:  # the bar is the extra onlinekit[progress]
        return samples
    return tqdm(samples, unit=" samples")
