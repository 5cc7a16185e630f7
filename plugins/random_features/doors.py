"""The doors of a learner for whole batches, from its one loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NO_WEIGHTS = np.zeros(0)


def doors(run: Callable[..., None]) -> tuple[Callable[..., None], Callable[..., None], Callable[..., None]]:
    """learn_rows, predict_rows, prequential_rows from run(X, y, w, predicting, learning, winners, out, *state).

    One loop compiled instead of three, each with everything in it. What a door does not need is there by type only.
    """

    def learn_rows(X: np.ndarray, y: np.ndarray, w: np.ndarray, *state: Any) -> None:
        """learn for each row of X (n, d), y (n,), w (n,)."""
        run(X, y, w, False, True, y, X, *state)

    def predict_rows(X: np.ndarray, winners: np.ndarray, out: np.ndarray, *state: Any) -> None:
        """predict for each row of X (n, d) into winners (n,) and out (n, classes)."""
        run(X, winners, NO_WEIGHTS, True, False, winners, out, *state)

    def prequential_rows(
        X: np.ndarray, y: np.ndarray, w: np.ndarray, winners: np.ndarray, out: np.ndarray, *state: Any
    ) -> None:
        """predict, then learn, each row of X (n, d)."""
        run(X, y, w, True, True, winners, out, *state)

    return learn_rows, predict_rows, prequential_rows
