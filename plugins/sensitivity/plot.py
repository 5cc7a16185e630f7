"""A picture of the intervals of one coefficient, by level, while the data change."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .tracker import Tracker


def interval_history(
    tracker: Tracker, j: int, changes: Iterable[tuple[str, Any, Any]], levels: Sequence[str]
) -> dict[str, np.ndarray]:
    """Lower and upper bound (steps + 1, 2) of coefficient j at each level, before and after each change, on a copy."""
    twin = copy.deepcopy(tracker)
    eta = np.zeros(twin.summary.d)
    eta[j] = 1.0
    found: dict[str, list[tuple[float, float]]] = {level: [] for level in levels}

    def note() -> None:
        for level in levels:
            lower, upper, _ = twin.bounds(eta, level)
            found[level].append((float(lower[0]), float(upper[0])))

    note()
    for what, X, y in changes:
        if what not in ("add", "remove"):
            raise ValueError(f"a change is 'add' or 'remove', not {what!r}")
        (twin.add if what == "add" else twin.remove)(X, y)
        note()
    return {level: np.array(pairs) for level, pairs in found.items()}


def plot_intervals(history: dict[str, np.ndarray], w0: float, name: str, ax: Any = None) -> Any:
    """Draw what interval_history found, one band a level, on matplotlib axes (new ones when None); returns them."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install matplotlib") from error
        ax = plt.subplots(figsize=(6, 3.5), layout="constrained")[1]
    for at, (level, pairs) in enumerate(history.items()):
        steps = np.arange(len(pairs))
        ax.fill_between(steps, pairs[:, 0], pairs[:, 1], step="post", alpha=0.3, color=f"C{at}", label=level)
        ax.step(steps, pairs, where="post", color=f"C{at}", linewidth=0.8)
    ax.axhline(w0, color="black", linewidth=0.8, linestyle="--", label="now")
    ax.set_xlabel("changes of the data")
    ax.set_ylabel(f"{name} of a retrained model")
    ax.legend(fontsize="small")
    return ax
