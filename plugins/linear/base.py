"""What the linear learners share: their state and their kernels."""

from __future__ import annotations

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.linear import kernels


class LinearClassifier(ArrayClassifier):
    """f_k = w_k . x + b_k. A learner of the family names its rule of plugins/linear/rules.py."""

    arrays = {"weights": ("outputs", "features"), "intercept": ("outputs",)}
    kernels = kernels
    sparse = True
