"""Page-Hinkley as a monitor."""

from __future__ import annotations

from typing import Any

from river.drift import PageHinkley

from onlinekit_plugins.drift.base import SignalMonitor


class PageHinkleyMonitor(SignalMonitor):
    """River's Page-Hinkley: alarm when the summed deviation from the mean exceeds the threshold.

    Parameters
    ----------
    threshold
        Alarm level.
    delta
        Deviation that is allowed.
    signal
        The key of x whose number is watched ("error" in a RetrainingClassifier); None watches y.
    min_samples
        Fewer samples than this are "undecided".
    on_invalid
        "raise": ValueError naming the value; "skip": counted in `n_skipped`.

    Raises
    ------
    ValueError
        For a parameter or a signal out of its domain.

    Examples
    --------
    >>> PageHinkleyMonitor().verdict().decision
    'undecided'
    """

    def __init__(
        self,
        threshold: float = 50.0,
        delta: float = 0.005,
        signal: Any = None,
        min_samples: int = 30,
        on_invalid: str = "raise",
    ) -> None:
        self.threshold = threshold
        self.delta = delta
        super().__init__(signal, min_samples, on_invalid)

    def _new(self) -> Any:
        return PageHinkley(min_instances=self.min_samples, threshold=self.threshold, delta=self.delta)
