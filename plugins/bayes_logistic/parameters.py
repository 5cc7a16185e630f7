"""The parameters of the Bayesian logistic regression, and the labels it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onlinekit.labels import BinaryLabels
from onlinekit.schema import is_finite_number
from onlinekit_plugins.bayes_logistic import shared_kernels as layout

MODES = {
    None: layout.NONE,
    "uncertainty": layout.UNCERTAINTY,
    "uncertainty_mean": layout.UNCERTAINTY_MEAN,
    "constant": layout.CONSTANT,
    "auto": layout.AUTO,
}
AUTO_RATES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
PRIOR_MAX = 1e100  # beyond it a finite row can have an infinite logit variance


class PartialLabels(BinaryLabels):
    """The two classes, and None for a sample without a label (class index 2)."""

    def find(self, label: Any) -> int:
        """The class index of a label; ValueError when it is neither True nor False nor None."""
        return 2 if label is None else super().find(label)


def validate(
    prior_var: Any, drift: Any, c: Any, alpha: Any, update: Any, covariance: Any, c_by_feature: Mapping[Any, Any] | None
) -> None:
    """Raise a ValueError that names the first parameter out of its range."""
    if not (is_finite_number(prior_var) and 0 < prior_var <= PRIOR_MAX):
        raise ValueError(f"prior_var must be a positive number up to {PRIOR_MAX}, not {prior_var!r}")
    if not (drift is None or isinstance(drift, str)) or drift not in MODES:
        raise ValueError(f"drift must be one of {list(MODES)}, not {drift!r}")
    if not (is_finite_number(alpha) and 0 <= alpha <= 1):
        raise ValueError(f"alpha must lie in [0, 1], not {alpha!r}")
    if update not in ("newton", "adf"):
        raise ValueError(f"update must be 'newton' or 'adf', not {update!r}")
    if covariance not in ("full", "diag"):
        raise ValueError(f"covariance must be 'full' or 'diag', not {covariance!r}")
    if c_by_feature is not None and drift == "auto":
        raise ValueError("c_by_feature has no meaning with drift='auto', which tries its own constants")
    for name, value in [("c", c), *((f"c_by_feature[{k!r}]", v) for k, v in (c_by_feature or {}).items())]:
        if not (is_finite_number(value) and value >= 0):
            raise ValueError(f"{name} must be a number >= 0, not {value!r}")
