"""What the adapters of River's drift detectors share: reading the signal, counting, latching, state."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from river import stats

from onlinekit.monitor import Monitor, Verdict


class SignalMonitor(Monitor):
    """Feeds one number a sample, s = x[signal] or s = y if signal is None, to a detector.

    An alarm stands until `rebase()`. Detectors cannot forget: `revert` raises NotImplementedError.
    """

    forgets = False
    alarms_early = True
    binary = False

    def __init__(self, signal: Any, min_samples: int, on_invalid: str) -> None:
        if on_invalid not in ("raise", "skip"):
            raise ValueError(f"on_invalid is {on_invalid!r}; it is 'raise' or 'skip'")
        if min_samples < 1:
            raise ValueError(f"min_samples is {min_samples!r}; it must be at least 1")
        self.signal = signal
        self.min_samples = min_samples
        self.on_invalid = on_invalid
        self.n_added = 0
        self.n_skipped = 0
        self.alarm_at: int | None = None
        self._detector = self._new()

    def _new(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} makes no detector")

    def _read(self, x: Mapping[Any, Any], y: Any) -> float:
        name = "y" if self.signal is None else f"signal {self.signal!r}"
        if self.signal is not None and self.signal not in x:
            raise ValueError(f"{name} is missing from x")
        value = y if self.signal is None else x[self.signal]
        if not isinstance(value, (bool, int, float, np.bool_, np.number)) or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}; a finite number is needed")
        if self.binary and value not in (0, 1):
            raise ValueError(f"{name} is {value!r}; {type(self).__name__} takes only 0 and 1")
        return float(value)

    def update(self, x: Mapping[Any, Any], y: Any) -> None:
        """Feed one sample; a bad value raises ValueError naming it, or is counted in n_skipped ("skip")."""
        try:
            value = self._read(x, y)
        except ValueError:
            if self.on_invalid == "raise":
                raise
            self.n_skipped += 1
            return
        self._feed(value)
        self.n_added += 1
        if self.alarm_at is None and self._alarm():
            self.alarm_at = self.n_added

    def _feed(self, value: float) -> None:
        self._detector.update(bool(value) if self.binary else value)

    def _alarm(self) -> bool:
        return bool(self._detector.drift_detected)

    def revert(self, x: Mapping[Any, Any], y: Any) -> None:
        """Always NotImplementedError: a detector cannot take a sample back; nothing changes."""
        raise NotImplementedError(f"{type(self).__name__} cannot revert a sample; call rebase() to start anew")

    def rebase(self, *args: Any, **kwargs: Any) -> None:
        """Start anew with a fresh detector; arguments of other monitors are of no use here."""
        self._detector = self._new()
        self.n_added = 0
        self.alarm_at = None

    def verdict(self) -> Verdict:
        """ "retrain" from the alarm to the next rebase, "undecided" under min_samples, else "keep"."""
        n = self.n_added
        if self.alarm_at is not None:
            return Verdict("retrain", n_added=n, reason=f"the alarm was raised at sample {self.alarm_at}")
        if n < self.min_samples:
            return Verdict("undecided", n_added=n, reason=f"not enough data: {n} of {self.min_samples} samples")
        return Verdict("keep", n_added=n, reason=f"no alarm in {n} samples; this is not a proof")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        detector = state.pop("_detector")
        state["detector"] = {} if detector is None else _plain(detector)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        plain = state.pop("detector")
        self.__dict__.update(state)
        self._detector = self._new()
        for name, value in plain.items():
            self._restore(name, value)

    def _restore(self, name: str, value: Any) -> None:
        now = getattr(self._detector, name)
        if isinstance(now, stats.Mean):
            now.n, now._mean = value
        elif isinstance(now, random.Random):
            now.setstate((value[0], tuple(value[1].tolist()), value[2]))
        elif isinstance(now, deque):
            now.clear()
            now.extend(value.tolist())
        elif isinstance(value, np.ndarray):
            now.__setstate__(value.tobytes())
        else:
            setattr(self._detector, name, value)


def _plain(detector: Any) -> dict[str, Any]:
    """A River detector's attributes as plain values and arrays; bound methods are left out."""
    out: dict[str, Any] = {}
    for name, value in vars(detector).items():
        if isinstance(value, stats.Mean):
            out[name] = [value.n, value._mean]
        elif isinstance(value, random.Random):
            version, words, gauss = value.getstate()
            out[name] = [version, np.array(words, dtype=np.uint32), gauss]
        elif isinstance(value, deque):
            out[name] = np.array(value, dtype=float)
        elif value is None or isinstance(value, (bool, int, float, str)):
            out[name] = value
        elif isinstance(value, np.generic):
            out[name] = value.item()
        elif not callable(value):
            # ADWIN's compiled window hands out its whole state as bytes.
            out[name] = np.frombuffer(value.__getstate__(), dtype=np.uint8).copy()
    return out
