"""What the linear learners share: their state and their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit.schema import is_finite_number
from onlinekit_plugins.linear import kernels


def check_step(name: str, value: Any, zero: bool = False) -> None:
    """Raise a ValueError that names a parameter that is no positive finite number, or 0 where that is allowed."""
    if not is_finite_number(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'0 or more' if zero else 'positive'} and finite, not {value!r}")


class LinearClassifier(ArrayClassifier):
    """f_k = w_k . x + b_k. A learner of the family names its rule of plugins/linear/rules.py."""

    arrays = {"weights": ("outputs", "features"), "intercept": ("outputs",)}
    kernels = kernels
    sparse = True

    def _rule(self) -> tuple[float, ...]:
        """The rule, lr, intercept_lr, l2 and C."""
        raise NotImplementedError

    def _hyper(self) -> tuple[np.ndarray]:
        return (np.asarray(self._rule(), dtype=np.float64),)
