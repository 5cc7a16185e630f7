"""The base of monitors and their answer."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from river import base


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
    `wants_window` is True for those whose `rebase(X, y, names, model)` takes the data of a fit and the fitted model.
    `alarms_early` is True for those that speak up while most of the window is still from before the change.
    `two_classes` is True for those that know only the labels False and True.
    """

    forgets: bool = True
    wants_window: bool = False
    alarms_early: bool = False
    two_classes: bool = False

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
