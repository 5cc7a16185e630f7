"""What a fit leaves behind so that later changes of its data can be judged without the data."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from . import losses
from .curvature import CurvatureBound


def row_keys(rows: Any) -> list[bytes]:
    """A digest of each signed row: a removed row must be one of the fit or added rows."""
    if sp.issparse(rows):
        rows = rows.toarray()
    # + 0.0 turns -0.0 into 0.0, so that equal rows have equal bytes.
    return [hashlib.blake2b(np.ascontiguousarray(r + 0.0).tobytes(), digest_size=16).digest() for r in rows]


class FitSummary:
    """State of F0(w) = n0 C/2 |w|^2 + sum_i phi(y_i x_i.w) at w0, which may come from any solver and tolerance.

    Attributes: n0, d, w0 (d,), R0 = grad F0(w0) (d,), gram = X'X (d, d), lambda_max, M = n0 C I + sum phi'' x x' and
    its lower factor, curvature (eps- and eps+), keys (digests of the rows).

    >>> import numpy as np
    >>> FitSummary.from_fit(np.array([[1.0], [2.0]]), [1, 1], np.array([0.5]), C=1.0, loss="squared_hinge").n0
    2
    """

    def __init__(self, rows: Any, w0: np.ndarray, C: float, loss: str) -> None:
        self.n0, self.d = rows.shape
        self.w0, self.C, self.loss = w0, C, loss
        z = np.asarray(rows @ w0)
        first = losses.slope(loss, z)
        self.R0 = self.n0 * C * w0 + rows.T @ first
        self.abs_sum = losses.column_sums(rows, np.abs(first))
        self.column_sq = losses.column_sums(rows, np.ones(self.n0), 2)
        self.gram = losses.weighted_gram(rows, np.ones(self.n0))
        scale = 8 * losses.UNIT * (self.n0 + self.d + 8) * float(np.trace(self.gram))
        self.lambda_max = float(np.linalg.eigvalsh(self.gram)[-1]) + scale
        self.M = losses.weighted_gram(rows, losses.curvature(loss, z))
        self.M[np.diag_indices(self.d)] += self.n0 * C
        self.factor = cholesky(self.M, lower=True)
        dense = rows.toarray() if sp.issparse(rows) else rows
        T = solve_triangular(self.factor, dense.T, lower=True).T
        slack = 4 * losses.UNIT * (self.d + 8) * (losses.row_norms(rows) * np.linalg.norm(w0) + 1)
        self.curvature = CurvatureBound(loss, T, z, slack)
        self.keys = Counter(row_keys(rows))
        if np.linalg.norm(self.R0) / self.n0 > 0.05 * C * np.linalg.norm(w0) + 1e-8:
            warnings.warn(
                "w0 is not near the optimum of this objective: check C, the loss, the bias column and the order of "
                "the solver's labels (bounds stay valid, but wide)",
                RuntimeWarning,
                stacklevel=3,
            )

    @classmethod
    def from_fit(cls, X: Any, y: Any, w0: Any, C: float, loss: str) -> FitSummary:
        """Summarise a fit: X (n, d) dense or CSR, y in {-1, +1}, w0 (d,). Raises ValueError for bad input.

        The work and memory are those of dense (d, d) matrices, so d is limited to 1500.
        """
        losses.check_loss(loss)
        rows = losses.signed_rows(X, y)
        w = np.array(w0, dtype=float)
        if rows.shape[0] == 0:
            raise ValueError("a fit summary needs at least one row")
        if rows.shape[1] > 1500:
            raise ValueError(f"at most 1500 features are supported, got {rows.shape[1]}")
        if w.shape != (rows.shape[1],) or not np.all(np.isfinite(w)):
            raise ValueError(f"w0 must be {rows.shape[1]} finite numbers")
        return cls(rows, w, losses.check_c(C), loss)

    @classmethod
    def from_sklearn(cls, model: Any, X: Any, y: Any) -> FitSummary:
        """Summarise a fitted binary LogisticRegression (l2) or LinearSVC (squared hinge): C = 1/(C_sk n).

        A penalised intercept (LinearSVC, liblinear with intercept_scaling=1) becomes an appended column of ones.
        An unpenalised one is another objective and is refused with ValueError, as is every other model.
        """
        name = type(model).__name__
        if name not in ("LogisticRegression", "LinearSVC"):
            raise ValueError(f"from_sklearn takes LogisticRegression or LinearSVC, not {name}")
        if len(model.classes_) != 2 or getattr(model, "class_weight", None) is not None:
            raise ValueError("from_sklearn needs a model of two classes without class_weight")
        if name == "LinearSVC" and model.loss != "squared_hinge":
            raise ValueError(f"from_sklearn needs LinearSVC with loss='squared_hinge', not {model.loss!r}")
        if getattr(model, "penalty", "l2") not in ("l2", "deprecated") or getattr(model, "l1_ratio", None):
            raise ValueError("from_sklearn needs the l2 penalty alone")
        w0 = np.ravel(model.coef_)
        if model.fit_intercept:
            if name == "LogisticRegression" and model.solver != "liblinear":
                raise ValueError(
                    f"solver {model.solver!r} does not penalise the intercept: fit with "
                    "fit_intercept=False and a column of ones, or with solver='liblinear'"
                )
            if model.intercept_scaling != 1:
                raise ValueError("from_sklearn needs intercept_scaling=1")
            ones = np.ones((np.shape(X)[0], 1))
            X = sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([np.asarray(X, float), ones])
            w0 = np.append(w0, model.intercept_)
        loss = "logistic" if name == "LogisticRegression" else "squared_hinge"
        labels = np.asarray(y)
        if not np.isin(labels, model.classes_).all():
            raise ValueError(f"y holds labels other than the model's {list(model.classes_)}")
        return cls.from_fit(X, labels == model.classes_[1], w0, 1.0 / (model.C * np.shape(X)[0]), loss)
