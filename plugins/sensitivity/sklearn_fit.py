"""The objective that a fitted scikit-learn model minimised, in this package's terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_LOSSES = {"log_loss": "logistic", "squared_hinge": "squared_hinge"}


def sklearn_objective(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray, float, str]:
    """Rows (with the column of a penalised intercept), labels as bool, w0, C and loss; ValueError when refused."""
    name = type(model).__name__
    if name not in ("LogisticRegression", "LinearSVC", "SGDClassifier"):
        raise ValueError(f"from_sklearn takes LogisticRegression, LinearSVC or SGDClassifier, not {name}")
    if not hasattr(model, "classes_"):
        raise ValueError(f"the {name} is not fitted")
    if len(model.classes_) != 2 or getattr(model, "class_weight", None) is not None:
        raise ValueError("from_sklearn needs a model of two classes without class_weight")
    wanted = {"LogisticRegression": "log_loss"}.get(name) or model.loss
    if wanted not in _LOSSES:
        raise ValueError(f"from_sklearn needs loss 'log_loss' or 'squared_hinge', not {wanted!r}")
    ratio = getattr(model, "l1_ratio", None) if name == "LogisticRegression" else None
    if getattr(model, "penalty", "l2") not in ("l2", "deprecated") or ratio:
        raise ValueError("from_sklearn needs the l2 penalty alone")
    C = float(model.alpha) if name == "SGDClassifier" else 1.0 / (model.C * np.shape(X)[0])
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"from_sklearn needs a penalised model, got C = {C:g}")
    w0, rows = np.ravel(model.coef_), X if sp.issparse(X) else np.asarray(X, dtype=float)
    if model.fit_intercept:
        if name == "SGDClassifier" or (name == "LogisticRegression" and model.solver != "liblinear"):
            how = "SGDClassifier" if name == "SGDClassifier" else f"solver {model.solver!r}"
            raise ValueError(
                f"{how} does not penalise the intercept: fit with fit_intercept=False and a column of ones"
                + ("" if name == "SGDClassifier" else ", or with solver='liblinear'")
            )
        scale = float(model.intercept_scaling)
        column = np.full((rows.shape[0], 1), scale)
        rows = sp.hstack([rows, column], format="csr") if sp.issparse(rows) else np.hstack([rows, column])
        w0 = np.append(w0, model.intercept_ / scale)
    labels = np.asarray(y)
    if not np.isin(labels, model.classes_).all():
        raise ValueError(f"y holds labels other than the model's {model.classes_.tolist()}")
    return rows, labels == model.classes_[1], w0, C, _LOSSES[wanted]
