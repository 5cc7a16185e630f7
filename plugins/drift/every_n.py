"""A clock as a monitor."""

from __future__ import annotations

from typing import Any

from onlinekit_plugins.drift.base import SignalMonitor


class EveryNMonitor(SignalMonitor):
    """Says "retrain" once n samples have come, whatever they are: the dummy to score monitors beside.

    Parameters
    ----------
    n
        Samples between two retrains.
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
    >>> EveryNMonitor().verdict().decision
    'undecided'
    """

    alarms_early = False  # a clock knows nothing of a change

    def __init__(self, n: int = 1000, signal: Any = None, min_samples: int = 30, on_invalid: str = "raise") -> None:
        if n < 1:
            raise ValueError(f"n is {n!r}; it must be at least 1")
        self.n = n
        super().__init__(signal, min_samples, on_invalid)

    def _new(self) -> Any:
        return None

    def _feed(self, value: float) -> None:
        pass  # only the count matters

    def _alarm(self) -> bool:
        return self.n_added >= self.n
