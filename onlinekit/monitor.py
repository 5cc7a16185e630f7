"""Monitors say whether retraining could change a model; RetrainingClassifier acts on what they say."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from river import base

from onlinekit._deployed import Deployed, deploy
from onlinekit._monitor_base import Monitor, Verdict
from onlinekit._window import Entries, Window
from onlinekit.labels import BinaryLabels, ClassLabels
from onlinekit.schema import is_finite_number

__all__ = ["Monitor", "RetrainingClassifier", "Verdict"]


class RetrainingClassifier(base.Classifier):
    """Serves a batch-trained model and trains it anew on the latest samples when a monitor says "retrain".

    Rows are scaled as z = (x - mean) / std, with mean and std of the window frozen at each retrain, or taken as they
    are (`standardize`); a feature that comes later is passed on to the monitor as it is and is served from the next
    retrain on. The monitor gets z by `update`, and by `revert` when a row leaves the window, if it forgets; one whose
    `signal` is "error" gets x = {"error": 0.0 or 1.0}, the deployed model's error on the sample before it joins. After
    a retrain a monitor that `wants_window` is rebased on the window and the fitted model; any other is rebased without
    arguments and, if it forgets, fed the window. Before the first training the shares of the labels seen are served.

    Parameters
    ----------
    model
        Copied and trained at each retrain: by fit(X, y), with predict_proba(X) or predict(X) (scikit-learn's), or
        by learn_many of a frame, learn_one where there is none (a River or onlinekit classifier). None: the monitor's
        own `model()`, of which a certified monitor speaks. With scikit-learn's models the whole can be pickled, but
        not `save`d.
    monitor
        A Monitor; None never retrains after the first training.
    window
        Number of latest samples kept; None keeps all (a growing window).
    check_every
        Samples between two questions to the monitor.
    min_samples
        Samples before the first training, which also needs two classes and a feature.
    delay
        Samples a "retrain" must stand before it is followed. None: 0, but the whole window for a monitor that
        `alarms_early` (`min_samples` if it grows), so that the refit is not made on the old concept.
    classes
        (False, True), None for any labels, or the labels.
    history
        Number of latest verdicts kept in `verdicts`.
    on_invalid
        "raise" on a bad value or label, or "skip" the sample and count it in `n_skipped`.
    standardize
        Scale the rows; a scaled row has no zeros, so it costs all d features, and so do the n rows of a training n d.
        False: rows are served and trained on as they are, absent = 0.0. Then, of 64 features or more, model and
        monitor get CSR where the rows hold at most a quarter of the n d values, and a sample costs what it holds (but
        not with a scikit-learn model whose tags refuse CSR); a model without `fit` gets dicts by learn_one. Where new
        features never end, a certified monitor needs much `spare`: beyond it each new feature is a reason to retrain.

    Raises
    ------
    ValueError
        If standardize is no bool, a number is out of its range, min_samples exceeds window, model is None and the
        monitor has none, or the monitor's certificates are for two classes and `classes` names others.

    Examples
    --------
    >>> from river import linear_model
    >>> model = RetrainingClassifier(linear_model.LogisticRegression(), min_samples=4)
    >>> for value in (1.0, -1.0, 2.0, -2.0):
    ...     model.learn_one({"a": value}, value > 0)
    >>> model.predict_one({"a": 3.0})
    True
    """

    def __init__(
        self,
        model: Any = None,
        monitor: Any = None,
        window: int | None = 1000,
        check_every: int = 50,
        min_samples: int = 50,
        delay: int | None = None,
        classes: Sequence[Hashable] | None = (False, True),
        history: int = 1000,
        on_invalid: str = "raise",
        standardize: bool = True,
    ) -> None:
        for name, value in (("check_every", check_every), ("min_samples", min_samples), ("history", history)):
            if value < 1:
                raise ValueError(f"{name} is {value!r}; it must be at least 1")
        if window is not None and window < 1:
            raise ValueError(f"window is {window!r}; it must be at least 1, or None")
        if window is not None and min_samples > window:
            raise ValueError(f"min_samples is {min_samples}; it must not exceed window, {window}")
        if delay is not None and delay < 0:
            raise ValueError(f"delay is {delay!r}; it must not be negative")
        if on_invalid not in ("raise", "skip"):
            raise ValueError(f"on_invalid must be 'raise' or 'skip', not {on_invalid!r}")
        if not isinstance(standardize, bool | np.bool_):
            raise ValueError(f"standardize must be True or False, not {standardize!r}")
        if isinstance(monitor, str):
            raise ValueError(f"monitor is the text {monitor!r}; onlinekit.create('monitor', {monitor!r}) makes one")
        if model is None and not hasattr(monitor, "model"):
            raise ValueError("model is None, and the monitor has no model() of its own")
        if model is not None and getattr(monitor, "wants_window", False) and not hasattr(model, "fit"):
            raise ValueError(
                f"{type(monitor).__name__} needs a linear batch model with fit; {type(model).__name__} has none"
            )
        if getattr(monitor, "two_classes", False) and (classes is None or list(classes) != [False, True]):
            raise ValueError(f"classes is {classes!r}; {type(monitor).__name__} takes (False, True) alone")
        self.model = model
        self.monitor = monitor
        self.window = window
        self.check_every = check_every
        self.min_samples = min_samples
        self.delay = delay
        self.classes = classes
        self.history = history
        self.on_invalid = on_invalid
        self.standardize = standardize
        self.n_seen = self.n_skipped = self.n_checks = self.n_retrains = 0
        self.retrain_seconds = self.monitor_seconds = 0.0
        self.retrained_at: list[int] = []
        self.verdicts: deque[tuple[int, Verdict]] = deque(maxlen=history)
        self._alarm_at: int | None = None
        self._labels = self._make_labels(())
        self._data = Window()
        self._deployed: Deployed | None = None

    def _unit_test_skips(self) -> set[str]:
        return {"standardize_is_rivers"}  # which runs on, while this one is frozen at each retrain

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river.linear_model import LogisticRegression

        yield {"model": LogisticRegression(), "min_samples": 10}

    def _make_labels(self, names: Sequence[Hashable]) -> BinaryLabels | ClassLabels:
        if self.classes is None:
            return ClassLabels(names)
        if list(self.classes) == [False, True]:
            return BinaryLabels()
        return ClassLabels(self.classes, growing=False)

    @property
    def _multiclass(self) -> bool:
        return not isinstance(self._labels, BinaryLabels)

    @property
    def last_verdict(self) -> Verdict | None:
        """The latest verdict, None before the first check."""
        return self.verdicts[-1][1] if self.verdicts else None

    @property
    def wait(self) -> int:
        """Samples a "retrain" must stand before it is followed: `delay`, or what stands for None."""
        if self.delay is not None:
            return self.delay
        if not getattr(self.monitor, "alarms_early", False):
            return 0
        return self.min_samples if self.window is None else self.window

    # -- serving -------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Probabilities of the deployed model; before the first training the shares of the labels seen."""
        try:
            entries = self._data.read(x)
        except (TypeError, ValueError):
            if self.on_invalid == "raise" or not isinstance(x, Mapping):
                raise
            entries = self._data.read({name: value for name, value in x.items() if is_finite_number(value)})
        names = self._labels.names
        if self._deployed is None:
            counts = np.bincount(np.array(self._data.labels, dtype=np.int64), minlength=len(names))
            total = int(counts.sum())
            return dict(zip(names, (counts / total if total else np.full(len(names), 0.5)).tolist(), strict=True))
        out = dict.fromkeys(names, 0.0)
        out.update((names[k], p) for k, p in self._deployed.answer(*entries).items())
        return out

    # -- learning ------------------------------------------------------------------------------------------

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Take one sample into the window, tell the monitor, and retrain if it says so.

        Raises ValueError or TypeError naming a bad feature or label, before anything changed.
        """
        try:
            k = self._labels.find(y)
            entries = self._data.read(x)
            if k < 0 and not self._labels.growing:
                raise ValueError(f"label {y!r} is not one of the declared classes {list(self._labels.names)!r}")
        except (TypeError, ValueError):
            if self.on_invalid == "raise":
                raise
            self.n_skipped += 1
            return
        if self._deployed is not None and self.monitor is not None:
            self._tell(x, y, self._deployed, entries)
        if k < 0:
            assert isinstance(self._labels, ClassLabels)
            k = self._labels.add(y)
        self._data.push(x, k)
        self.n_seen += 1
        if self.window is not None and len(self._data) > self.window:
            self._drop()
        if self._deployed is None:
            if len(self._data) >= self.min_samples:
                self._train()
        elif self.monitor is not None and self.n_seen % self.check_every == 0:
            self._check()

    def _tell(self, x: Mapping[Any, Any], y: Any, deployed: Deployed, entries: Entries) -> None:
        start = time.perf_counter()
        if getattr(self.monitor, "signal", None) == "error":
            error = float(self.predict_one(dict(x)) != y)
            self.monitor.update({"error": error}, y)
        else:
            self.monitor.update(deployed.told(list(x), *entries), y)
        self.monitor_seconds += time.perf_counter() - start

    def _drop(self) -> None:
        (columns, values), k = self._data.pop()
        if self._deployed is not None and getattr(self.monitor, "forgets", False):
            start = time.perf_counter()
            row = self._deployed.told(self._data.names(columns), columns, values)
            self.monitor.revert(row, self._labels.names[k])
            self.monitor_seconds += time.perf_counter() - start

    def _check(self) -> None:
        start = time.perf_counter()
        verdict = self.monitor.verdict()
        self.monitor_seconds += time.perf_counter() - start
        self.n_checks += 1
        self.verdicts.append((self.n_seen, verdict))
        if verdict.decision != "retrain":
            self._alarm_at = None
            return
        if self._alarm_at is None:
            self._alarm_at = self.n_seen
        if self.n_seen - self._alarm_at >= self.wait and self._train():
            self.n_retrains += 1
            self.retrained_at.append(self.n_seen)
            self._alarm_at = None

    def _train(self) -> bool:
        """Fit on the window; False when it holds one class only or no feature: asked again at the next check."""
        labels = np.array(self._data.labels, dtype=np.int64)
        if labels.min() == labels.max() or not any(len(values) for _, values in self._data.rows):
            return False
        start = time.perf_counter()
        y = labels if self._multiclass else labels == 1
        model = self.monitor.model() if self.model is None else self.model
        deployed, Z, held = deploy(model, self._data, y, self.standardize)
        middle = time.perf_counter()
        wants_window = getattr(self.monitor, "wants_window", False)
        if wants_window:
            self.monitor.rebase(Z, [self._labels.names[k] for k in labels], deployed.names, deployed.model)
        elif self.monitor is not None:
            self.monitor.rebase()
        self._data.keep(held)
        self._deployed = deployed
        if not wants_window and getattr(self.monitor, "forgets", False):
            for (columns, values), k in zip(self._data.rows, self._data.labels, strict=True):
                row = deployed.told(self._data.names(columns), columns, values)
                self.monitor.update(row, self._labels.names[k])
        self.retrain_seconds += middle - start
        self.monitor_seconds += time.perf_counter() - middle
        return True

    # -- state ---------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # The monitor first: reading it back makes the class of its own model known.
        state: dict[str, Any] = {"monitor": self.monitor, **self.__dict__}
        for derived in ("_deployed", "_labels", "_data"):
            del state[derived]
        state["verdicts"] = [(n, *astuple(verdict)) for n, verdict in self.verdicts]
        state["class_names"] = list(self._labels.names)
        state["data"] = self._data.state()
        state["deployed"] = None if self._deployed is None else self._deployed.state()
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        own = dict(state)
        if "deployed" not in own:
            raise ValueError("this RetrainingClassifier was pickled by an earlier version of onlinekit; train it anew")
        verdicts, names, deployed = own.pop("verdicts"), own.pop("class_names"), own.pop("deployed")
        self._deployed = None if deployed is None else Deployed.restored(deployed)
        self._data = Window.restored(own.pop("data"))
        self.__dict__.update(own)
        self.verdicts = deque(((n, Verdict(*rest)) for n, *rest in verdicts), maxlen=self.history)
        self._labels = self._make_labels(names)
