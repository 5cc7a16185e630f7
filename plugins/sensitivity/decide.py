"""Rules: what a retrain must at least change to be worth it, and the decision that intervals allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import losses
from .bounds import directions
from .losses import UNIT

if TYPE_CHECKING:
    from .tracker import Tracker

CRITERIA = ("flips", "coefficients", "gap", "validation")

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """Keep the model while the criterion is at most ``tolerance``.

    Parameters
    ----------
    criterion
        "flips": share of the rows X_ref whose label changes; "coefficients": max_j |w1_j - w0_j|; "gap": f1(w0) -
        f1(w1) on the changed data; "validation": fall of the mean loss on X_ref, y_ref by a retrain.
    tolerance
        A finite number, at least 0, in the units of the criterion.
    X_ref, y_ref
        Reference rows (m, d), dense or CSR, and labels in {-1, +1}, where the criterion needs them.

    Raises
    ------
    ValueError
        For an unknown criterion, a bad tolerance, or missing reference rows.

    Examples
    --------
    >>> Rule("coefficients", 0.1).tolerance
    0.1
    """

    criterion: str
    tolerance: float
    X_ref: Any = None
    y_ref: Any = None

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, not {self.criterion!r}")
        if not (np.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ValueError(f"tolerance must be a finite number of at least 0, not {self.tolerance!r}")
        if self.criterion in ("flips", "validation") and (self.X_ref is None or not np.shape(self.X_ref)[0]):
            raise ValueError(f"criterion {self.criterion!r} needs reference rows X_ref")
        if self.criterion == "validation" and self.y_ref is None:
            raise ValueError("criterion 'validation' needs reference labels y_ref")


@dataclass(frozen=True)
class Decision:
    """What to do, and the interval of the criterion that says so.

    Parameters
    ----------
    decision
        "keep", "retrain", or "refine": a pass over the changed data may decide.
    certified
        Whether the interval proves it: upper <= tolerance for "keep", lower > tolerance for "retrain".
    lower, upper, tolerance
        Bounds of the criterion for the exact optimum of the changed data, and what they are compared with.
    criterion, level
        The rule's criterion, and the level of the bounds.

    Examples
    --------
    >>> decided(Rule("gap", 0.1), 0.01, 0.05, "ellipsoid").decision
    'keep'
    """

    decision: str
    certified: bool
    lower: float
    upper: float
    tolerance: float
    criterion: str
    level: str


@dataclass(frozen=True)
class ValidationInterval:
    """What w1 can reach on labelled rows: [lower, upper] of mean loss and accuracy, beside the values of w0 now.

    ``certain_flips`` and ``possible_flips`` count the rows whose label changes surely, and at most.
    """

    loss: tuple[float, float]
    accuracy: tuple[float, float]
    loss_now: float
    accuracy_now: float
    certain_flips: int
    possible_flips: int


def flips(lower: np.ndarray, upper: np.ndarray, score0: np.ndarray) -> tuple[int, int]:
    """Rows whose label (score > 0) flips: surely, and at most."""
    positive = score0 > 0
    return int(np.where(positive, upper <= 0, lower > 0).sum()), int(np.where(positive, lower <= 0, upper > 0).sum())


def validation_interval(
    lower: np.ndarray, upper: np.ndarray, score0: np.ndarray, y: np.ndarray, loss: str
) -> ValidationInterval:
    """From bounds (m,) of the new scores; phi never increases, so its extremes are at the ends."""
    worst, best = np.where(y > 0, lower, -upper), np.where(y > 0, upper, -lower)
    slack = 1 + 8 * UNIT * (len(y) + 8)
    low, high = float(losses.value(loss, best).mean()) / slack, float(losses.value(loss, worst).mean()) * slack
    # The label is +1 when the score is above 0, so a row of y = -1 is right at 0.
    sure = np.where(y > 0, lower > 0, upper <= 0)
    maybe = np.where(y > 0, upper > 0, lower <= 0)
    return ValidationInterval(
        (low, high),
        (float(sure.mean()), float(maybe.mean())),
        float(losses.value(loss, y * score0).mean()),
        float(np.where(y > 0, score0 > 0, score0 <= 0).mean()),
        *flips(lower, upper, score0),
    )


def coefficient_change(lower: np.ndarray, upper: np.ndarray, w0: np.ndarray) -> Interval:
    """max_j |w1_j - w0_j| for lower <= w1 <= upper, all (d,)."""
    least = np.maximum(0.0, np.maximum(lower - w0, w0 - upper))
    return float(least.max()), float(np.maximum(upper - w0, w0 - lower).max())


def reference_rows(rule: Rule, d: int) -> tuple[Any, np.ndarray | None]:
    """The rule's rows (m, d) and, where its criterion needs them, labels (m,), checked."""
    if rule.criterion == "validation":
        return losses.checked_rows(rule.X_ref, rule.y_ref, d)
    return directions(rule.X_ref, d), None


def reference_change(
    criterion: str, lower: np.ndarray, upper: np.ndarray, score0: np.ndarray, y: Any, loss: str
) -> Interval:
    """The criterion "flips" or "validation" on rows with labels y (m,), from bounds (m,) of the new scores."""
    if criterion == "flips":
        certain, possible = flips(lower, upper, score0)
        return certain / len(lower), possible / len(lower)
    found = validation_interval(lower, upper, score0, y, loss)
    slack = 8 * UNIT * (len(lower) + 8) * found.loss_now
    return found.loss_now - found.loss[1] - slack, found.loss_now - found.loss[0] + slack


def statistic(tracker: Tracker, rule: Rule, level: str) -> Interval:
    """Lower and upper bound of the rule's criterion."""
    w0 = tracker.summary.w0
    if rule.criterion == "gap":
        return tracker.training_gap(level)
    if rule.criterion == "coefficients":
        return coefficient_change(*tracker.coef_bounds(level), w0)
    X, y = reference_rows(rule, tracker.summary.d)
    lower, upper, _ = tracker.bounds(X, level)
    return reference_change(rule.criterion, lower, upper, np.asarray(X @ w0), y, tracker.summary.loss)


def decided(rule: Rule, lower: float, upper: float, level: str, last: bool = False) -> Decision:
    """The decision that an interval of the criterion allows; undecided means "refine", or "retrain" when last."""
    if upper <= rule.tolerance:
        name, certified = "keep", True
    elif lower > rule.tolerance:
        name, certified = "retrain", True
    else:
        name, certified = ("retrain" if last else "refine"), False
    return Decision(name, certified, lower, upper, rule.tolerance, rule.criterion, level)
