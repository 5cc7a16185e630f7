"""Monitors say whether retraining could change a model; RetrainingClassifier acts on what they say."""

from __future__ import annotations

import abc
import copy
import time
from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from river import base

from onlinekit.schema import Schema

__all__ = ["Monitor", "RetrainingClassifier", "Verdict"]


@dataclass(frozen=True)
class Verdict:
    """A monitor's answer: decision in {"keep", "retrain", "undecided"}, and what it rests on.

    Parameters
    ----------
    decision
        "keep", "retrain" or "undecided" (too little is known; `reason` says why).
    certified
        True only when a proof stands behind the decision.
    statistic, threshold, level
        The number compared, what it is compared with, and the tolerance or significance level.
    n_added, n_removed
        Samples that joined and left since the last rebase.
    reason
        One sentence for people.

    Raises
    ------
    ValueError
        If the decision is none of the three.

    Examples
    --------
    >>> Verdict("undecided", reason="no samples").certified
    False
    """

    decision: str
    certified: bool = False
    statistic: float | None = None
    threshold: float | None = None
    level: float | None = None
    n_added: int = 0
    n_removed: int = 0
    reason: str = ""

    def __post_init__(self) -> None:
        if self.decision not in ("keep", "retrain", "undecided"):
            raise ValueError(f"decision is {self.decision!r}; it is 'keep', 'retrain' or 'undecided'")


class Monitor(base.Base, abc.ABC):
    """Base of monitors: drift_detected = (verdict().decision == "retrain").

    `forgets` is False for monitors that cannot take a sample back; their `revert` raises NotImplementedError.
    """

    forgets: bool = True

    @abc.abstractmethod
    def update(self, x: Mapping[Any, Any], y: Any) -> None:
        """A sample joined the data; ValueError naming a bad value before anything changed."""

    @abc.abstractmethod
    def revert(self, x: Mapping[Any, Any], y: Any) -> None:
        """A sample left the data; an error, and no change, if it was never there."""

    @abc.abstractmethod
    def verdict(self) -> Verdict:
        """The present answer; asking changes nothing."""

    @abc.abstractmethod
    def rebase(self, *args: Any, **kwargs: Any) -> None:
        """Start anew after a retrain."""

    @property
    def drift_detected(self) -> bool:
        """Whether the decision is "retrain"."""
        return self.verdict().decision == "retrain"


class RetrainingClassifier(base.Classifier):
    """Serves a batch-trained model; retrains it on the last `window` samples when a monitor says "retrain".

    Rows are scaled as z = (x - mean) / std, with mean and std of the window frozen at each retrain. The monitor
    gets z by `update`, and by `revert` when a row leaves the window, if it forgets. A monitor whose `signal` is
    "error" gets x = {"error": 0.0 or 1.0}, the deployed model's error on the sample before it is learned.
    After a retrain, `rebase()` is called: the scaled data changed, so the window is then fed again to a monitor
    that forgets.

    Parameters
    ----------
    model
        An estimator with fit(X, y) and predict_proba(X) or predict(X); copied at each retrain.
    monitor
        A Monitor.
    window
        Number of latest samples kept.
    check_every
        Samples between two questions to the monitor.
    min_samples
        Samples before the first training, which also needs two classes.
    delay
        Samples a "retrain" must stand before it is acted on. An alarm on errors comes when the window is still
        full of the old concept; a delay near `window` lets it fill with the new one first.

    Raises
    ------
    ValueError
        If window, check_every or min_samples is not positive, delay is negative, or min_samples exceeds window.

    Examples
    --------
    >>> RetrainingClassifier(LogisticRegression(), ADWINMonitor(signal="error"), window=500)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        monitor: Any,
        window: int = 1000,
        check_every: int = 1,
        min_samples: int = 50,
        delay: int = 0,
    ) -> None:
        for name, value in (("window", window), ("check_every", check_every), ("min_samples", min_samples)):
            if value < 1:
                raise ValueError(f"{name} is {value!r}; it must be at least 1")
        if min_samples > window:
            raise ValueError(f"min_samples is {min_samples}; it must not exceed window, {window}")
        if delay < 0:
            raise ValueError(f"delay is {delay!r}; it must not be negative")
        self.model = model
        self.delay = delay
        self._alarm_at: int | None = None
        self.monitor = monitor
        self.window = window
        self.check_every = check_every
        self.min_samples = min_samples
        self.n_seen = self.n_checks = self.n_retrains = 0
        self.retrain_seconds = 0.0
        self.verdicts: list[tuple[int, Verdict]] = []
        self._rows: deque[tuple[dict, Any]] = deque()
        self._fitted: Any = None
        self._schema = Schema()
        self._mean = np.zeros(0)
        self._scale = np.ones(0)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def last_verdict(self) -> Verdict | None:
        """The latest verdict, None before the first check."""
        return self.verdicts[-1][1] if self.verdicts else None

    def _scaled(self, x: Mapping[Any, Any]) -> np.ndarray:
        row = np.zeros(len(self._schema))
        self._schema.pack(x, row)
        return (row - self._mean) / self._scale

    def _named(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        return dict(zip(self._schema.names, self._scaled(x).tolist(), strict=True))

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Probabilities of the deployed model; {} before the first training."""
        complaint = self._schema.complaint(x)
        if complaint is not None:
            raise complaint
        if self._fitted is None:
            return {}
        row = self._scaled(x)[None, :]
        if not hasattr(self._fitted, "predict_proba"):
            return {np.asarray(self._fitted.predict(row))[0].item(): 1.0}
        p = self._fitted.predict_proba(row)[0]
        labels = np.asarray(self._fitted.classes_).tolist()
        return dict(zip(labels, p.tolist(), strict=True))

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Take one sample into the window, tell the monitor and retrain if it says so.

        Raises ValueError or TypeError naming a bad feature, before anything changed.
        """
        complaint = self._schema.complaint(x)
        if complaint is not None:
            raise complaint
        if y is None or y != y:
            raise ValueError(f"label is {y!r}; a label is needed")
        if self._fitted is not None:
            if getattr(self.monitor, "signal", None) == "error":
                self.monitor.update({"error": float(self.predict_one(x) != y)}, y)
            else:
                self.monitor.update(self._named(x), y)
        self._rows.append((dict(x), y))
        self.n_seen += 1
        if len(self._rows) > self.window:
            old_x, old_y = self._rows.popleft()
            if self._fitted is not None and getattr(self.monitor, "forgets", True):
                self.monitor.revert(self._named(old_x), old_y)
        if self._fitted is None:
            if len(self._rows) >= self.min_samples:
                self._train()
        elif self.n_seen % self.check_every == 0:
            verdict = self.monitor.verdict()
            self.n_checks += 1
            self.verdicts.append((self.n_seen, verdict))
            if verdict.decision != "retrain":
                self._alarm_at = None
                return
            if self._alarm_at is None:
                self._alarm_at = self.n_seen
            if self.n_seen - self._alarm_at >= self.delay and self._train():
                self.n_retrains += 1
                self._alarm_at = None

    def _train(self) -> bool:
        labels = [y for _, y in self._rows]
        if len(set(labels)) < 2:
            return False  # no classifier can be fitted to one class; asked again at the next check
        start = time.perf_counter()
        schema = Schema(dict.fromkeys(name for x, _ in self._rows for name in x))
        X = np.zeros((len(self._rows), len(schema)))
        for row, (x, _) in zip(X, self._rows, strict=True):
            schema.pack(x, row)
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0.0] = 1.0
        fitted = copy.deepcopy(self.model)
        fitted.fit((X - mean) / scale, np.asarray(labels))
        self._fitted, self._schema, self._mean, self._scale = fitted, schema, mean, scale
        self.retrain_seconds += time.perf_counter() - start
        self.monitor.rebase()
        if getattr(self.monitor, "forgets", True):
            for x, y in self._rows:
                self.monitor.update(self._named(x), y)
        return True
