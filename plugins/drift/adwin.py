"""ADWIN as a monitor."""

from __future__ import annotations

from typing import Any

from river.drift import ADWIN

from onlinekit_plugins.drift.base import SignalMonitor


class ADWINMonitor(SignalMonitor):
    """River's ADWIN: alarm when two parts of the window have means further apart than chance (delta) allows.

    Parameters
    ----------
    delta
        Significance level.
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
    >>> ADWINMonitor().verdict().decision
    'undecided'
    """

    def __init__(
        self, delta: float = 0.002, signal: Any = None, min_samples: int = 30, on_invalid: str = "raise"
    ) -> None:
        self.delta = delta
        super().__init__(signal, min_samples, on_invalid)

    def _new(self) -> Any:
        return ADWIN(delta=self.delta)
