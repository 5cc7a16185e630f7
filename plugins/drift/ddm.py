"""DDM as a monitor."""

from __future__ import annotations

from typing import Any

from river.drift.binary import DDM

from onlinekit_plugins.drift.base import SignalMonitor


class DDMMonitor(SignalMonitor):
    """River's DDM on a 0/1 error: alarm when p + s > p_min + drift_threshold * s_min.

    Parameters
    ----------
    drift_threshold
        Standard deviations to an alarm.
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
    >>> DDMMonitor().verdict().decision
    'undecided'
    """

    binary = True

    def __init__(
        self,
        drift_threshold: float = 3.0,
        signal: Any = None,
        min_samples: int = 30,
        on_invalid: str = "raise",
    ) -> None:
        self.drift_threshold = drift_threshold
        super().__init__(signal, min_samples, on_invalid)

    def _new(self) -> Any:
        return DDM(warm_start=self.min_samples, drift_threshold=self.drift_threshold)
