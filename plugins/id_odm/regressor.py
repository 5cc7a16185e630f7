"""What the exact regressors share: targets are numbers, answers are f."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from river import base

from onlinekit import frames
from onlinekit_plugins.id_odm.machine import KernelMachine


class ExactRegressor(KernelMachine, base.MiniBatchRegressor):
    """A KernelMachine as a River regressor: predicts f(x) = sum_i b_i k(x_i, x), 0 before anything was learned.

    There is no intercept beyond `coef0`, so targets far from 0 should be centred.
    """

    def _read_target(self, y: Any) -> float:
        if isinstance(y, (str, bytes)) or not isinstance(y, (numbers.Real, np.generic)):
            raise TypeError(f"target y is {y!r}; a number is needed")
        value = float(y)
        if not math.isfinite(value):
            raise ValueError(f"target y is {y!r}; a finite number is needed")
        return value

    def _answers(self, told: list[Any]) -> np.ndarray:
        return np.array(told, dtype=np.float64)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """f(x)."""
        return float(self._decide(self._pack(x))[0, 0])

    def predict_many(self, X: Any) -> Any:
        """f of each row, in the caller's own kind of column."""
        f = self._decide(self._rows_to_predict(X))[:, 0]
        return f if isinstance(X, (np.ndarray, list)) else frames.series(X, f.tolist())
