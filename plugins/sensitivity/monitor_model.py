"""The batch model whose retraining the monitors speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from river import base
from scipy.special import expit

from . import losses
from .monitor_rows import widened
from .solve import solve


class LinearModel(base.Classifier):
    """L2-regularised linear classifier, w = argmin C/2 |w|^2 + (1/n) sum phi(y_i x_i.w), by Newton's method.

    The intercept is a column of ones and is penalised like the others. A batch model for RetrainingClassifier and for
    arrays: it cannot learn one by one.

    Parameters
    ----------
    loss
        "logistic" or "squared_hinge".
    C
        Strength of the penalty.
    intercept
        Whether there is one.

    Raises
    ------
    ValueError
        For an unknown loss, C <= 0, bad values or labels.

    Examples
    --------
    >>> import numpy as np
    >>> model = LinearModel(C=0.1).fit(np.array([[0.0], [1.0]]), np.array([False, True]))
    >>> model.predict(np.array([[3.0]])).tolist()
    [True]
    """

    def __init__(self, loss: str = "logistic", C: float = 0.01, intercept: bool = True) -> None:
        losses.check_loss(loss), losses.check_c(C)
        self.loss = loss
        self.C = C
        self.intercept = intercept
        self.coef_ = np.zeros((1, 0))
        self.intercept_ = np.zeros(1)
        self.classes_ = np.array([False, True])

    def fit(self, X: Any, y: Any) -> LinearModel:
        """Fit rows X (n, d), dense or CSR, with labels y (n,), True/False or 1/0; ||gradient|| <= 1e-10."""
        rows, labels = X if sp.issparse(X) else np.asarray(X, dtype=float), np.asarray(y)
        if not np.isin(labels, (0, 1)).all():
            raise ValueError(f"labels must be True/False or 1/0, got {np.unique(labels)[:5].tolist()}")
        if self.intercept:
            rows = widened(rows, 0, True)
        w = solve(rows, labels.astype(bool), self.C, self.loss)
        self.coef_ = w[None, :-1].copy() if self.intercept else w[None, :]
        self.intercept_ = w[-1:].copy() if self.intercept else np.zeros(1)
        return self

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Always NotImplementedError: `fit` trains on a batch; RetrainingClassifier makes a stream learner of it."""
        raise NotImplementedError("LinearModel is trained by fit(X, y); put it in a RetrainingClassifier for a stream")

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Probabilities of a row given as {column: value}; an absent column is 0."""
        row = np.zeros((1, self.coef_.shape[1]))
        for j, value in x.items():
            row[0, j] = value
        p = float(self.predict_proba(row)[0, 1])
        return {False: 1.0 - p, True: p}

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores X @ coef + intercept, shape (n,)."""
        rows = X if sp.issparse(X) else np.asarray(X, dtype=float)
        return np.asarray(rows @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, 2): 1 / (1 + exp(-score)) for True; calibrated for the logistic loss only."""
        p = expit(self.decision_function(X))
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """score > 0, shape (n,)."""
        return self.decision_function(X) > 0
