"""KSWIN as a monitor."""

from __future__ import annotations

from typing import Any

from river.drift import KSWIN

from onlinekit_plugins.drift.base import SignalMonitor


class KSWINMonitor(SignalMonitor):
    """River's KSWIN: alarm when a Kolmogorov-Smirnov test tells the latest samples from the window.

    Parameters
    ----------
    alpha
        Significance level.
    window_size
        Window.
    seed
        Seed.
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
    >>> KSWINMonitor().verdict().decision
    'undecided'
    """

    def __init__(
        self,
        alpha: float = 0.005,
        window_size: int = 100,
        seed: int = 1,
        signal: Any = None,
        min_samples: int = 100,
        on_invalid: str = "raise",
    ) -> None:
        self.alpha = alpha
        self.window_size = window_size
        self.seed = seed
        super().__init__(signal, min_samples, on_invalid)

    def _new(self) -> Any:
        return KSWIN(alpha=self.alpha, window_size=self.window_size, seed=self.seed)
