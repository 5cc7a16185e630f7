"""What the linear learners share: their state and their kernels."""

from __future__ import annotations

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.linear import kernels


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
