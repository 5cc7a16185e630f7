"""What a fit leaves behind so that later changes of its data can be judged without the data."""

from __future__ import annotations

import os
import uuid
import warnings
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri

from . import losses
from .curvature import CurvatureBound, margin_slack
from .gradient import loss_sum
from .losses import UNIT
from .rows import digests, fingerprint, keys, pack_counter, unpack_counter
from .sklearn_fit import sklearn_objective
from .storage import read, refusing, write

LARGEST_DENSE = 1500


class FitSummary:
    """State of F0(w) = n0 C/2 |w|^2 + sum_i phi(y_i x_i.w) at w0, which may come from any solver and tolerance.

    Attributes: n0, d, C, loss, w0 (d,), R0 = grad F0(w0) (d,), lambda_max >= lambda_max(X'X), keys (digests of the
    rows). Up to 1500 features (``matrices`` is True) also gram = X'X (d, d), M = n0 C I + sum phi'' x x' with its
    lower factor L, whitener = L'^-1 and inverse, and curvature (eps- and eps+); beyond, no (d, d) array is made and CSR
    rows stay CSR.

    Raises
    ------
    ValueError
        For labels other than -1, +1 (or bool), NaN or infinity, C <= 0, an unknown loss, or a wrong shape.

    Examples
    --------
    >>> import numpy as np
    >>> FitSummary.from_fit(np.array([[1.0], [2.0]]), [1, 1], np.array([0.5]), C=1.0, loss="squared_hinge").n0
    2
    """

    def __init__(self, rows: Any, w0: np.ndarray, C: float, loss: str) -> None:
        self.n0, self.d = rows.shape
        losses.refuse_overflow(rows)
        # Tells a copy of this fit from another fit of equal rows.
        self.name = uuid.uuid4().hex
        self.w0, self.C, self.loss = w0, C, loss
        at = loss_sum(loss, rows, w0)
        residual = self.n0 * np.longdouble(C) * w0 + at.gradient
        self.R0 = residual.astype(float)
        if not np.isfinite(self.R0).all():
            raise ValueError("the margins y_i x_i.w0 overflow: scale the features or w0")
        # The part of R0 below double precision.
        self.R0_rest = (residual - self.R0).astype(float)
        self.R0_error = at.error + 8 * 2.0**-64 * self.n0 * C * np.abs(w0) + UNIT * UNIT * np.abs(self.R0)
        # Sum of the losses at w0 and its rounding.
        self.value, self.value_error = at.value, at.value_error
        self.margin_max = float(np.abs(at.z).max())
        table = digests(rows)
        self.keys, self.fingerprint = Counter(keys(table)), fingerprint(table)
        self.matrices = self.d <= LARGEST_DENSE
        if self.matrices:
            self._find_matrices(rows, at.z)
        else:
            self.lambda_max = losses.spectral_bound(rows)
        if np.linalg.norm(self.R0) / self.n0 > 0.05 * C * np.linalg.norm(w0) + 1e-8:
            warnings.warn(
                "w0 is not near the optimum of this objective: check C, the loss, the bias column and the order of "
                "the solver's labels (bounds stay valid, but wide)",
                RuntimeWarning,
                stacklevel=3,
            )

    def _find_matrices(self, rows: Any, z: np.ndarray) -> None:
        self.gram = losses.weighted_gram(rows, np.ones(self.n0))
        self.M = losses.weighted_gram(rows, losses.curvature(self.loss, z))
        self.M[np.diag_indices(self.d)] += self.n0 * self.C
        self._finish()
        dense = rows.toarray() if sp.issparse(rows) else rows
        T = np.asarray(solve_triangular(self.factor, dense.T, lower=True)).T
        self.curvature = CurvatureBound(self.loss, T, z, margin_slack(rows, self.w0), self.safety)

    def _finish(self) -> None:
        """The spectrum of the Gram matrix, the factor of M and their rounding errors."""
        lam, self.basis = np.linalg.eigh(self.gram)
        # Enlarging the upper matrix keeps it valid and covers the error of the products and of the spectrum.
        self.gram_slack = 4 * UNIT * (self.n0 + self.d + 16) * float(np.trace(self.gram))
        self.spectrum = np.maximum(lam, 0) + self.gram_slack
        self.lambda_max = float(self.spectrum[-1]) * (1 + 8 * UNIT)
        size = np.sqrt(np.diag(self.M))
        try:
            self.factor = cholesky(self.M, lower=True)
        except np.linalg.LinAlgError:
            # Singular to rounding: no level that needs the Hessian is used, and the factor stands for none.
            self.factor, self.inverse_root, self.eps, self.safety = np.diag(size), 1 / size, np.inf, 1.0
            self.whitener, self.inverse = np.diag(1 / size), np.diag(1 / size**2)
            return
        self.whitener = np.ascontiguousarray(np.tril(dtrtri(self.factor, lower=1)[0]).T)
        self.inverse = self.whitener @ self.whitener.T
        root = np.sqrt((self.whitener**2).sum(axis=1))
        # Relative error of M, of its factor and of solves with it, in the order of symmetric matrices.
        self.eps = 2 * UNIT * (self.n0 + 4 * self.d + 32 + self.margin_max) * float(size @ root) ** 2
        self.inverse_root = root * (1 + 2 * self.eps)
        self.safety = 1 + 3 * self.eps

    @classmethod
    def from_fit(cls, X: Any, y: Any, w0: Any, C: float, loss: str) -> FitSummary:
        """Summarise a fit of C/2 |w|^2 + (1/n) sum phi(y_i x_i.w), which may come from any solver and tolerance.

        Parameters
        ----------
        X, y
            Rows (n, d), dense or CSR, and labels (n,) in {-1, +1} (or bool). A bias is a column of X, penalised as the
            others.
        w0
            The fitted coefficients (d,). scikit-learn's C is 1/(C n) in these terms: see ``from_sklearn``.
        C
            Strength of the penalty, above 0.
        loss
            "logistic": phi(z) = log(1 + exp(-z)), or "squared_hinge": phi(z) = max(0, 1 - z)^2.

        Raises
        ------
        ValueError
            For bad input, naming it.

        Warns (RuntimeWarning) when |R0|/n0 is not small beside C |w0|: a wrong C or loss, a missing bias column, or a
        solver that put its labels in the other order. Bounds then still hold, but are wide.

        Examples
        --------
        >>> import numpy as np
        >>> from onlinekit_plugins.sensitivity import FitSummary, solve
        >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, 1, -1])
        >>> fit = FitSummary.from_fit(X, y, solve(X, y, 0.1, "logistic"), 0.1, "logistic")
        >>> fit.n0, bool(abs(fit.R0[0]) < 1e-9)
        (3, True)
        """
        losses.check_loss(loss)
        rows = losses.signed_rows(X, y)
        w = np.array(w0, dtype=float)
        if rows.shape[0] == 0:
            raise ValueError("a fit summary needs at least one row")
        if w.shape != (rows.shape[1],) or not np.all(np.isfinite(w)):
            raise ValueError(f"w0 must be {rows.shape[1]} finite numbers")
        return cls(rows, w, losses.check_c(C), loss)

    @classmethod
    def from_sklearn(cls, model: Any, X: Any, y: Any) -> FitSummary:
        """Summarise a fitted binary LogisticRegression (l2), LinearSVC or SGDClassifier on its training data.

        C = 1/(C_sk n), or alpha of SGDClassifier (loss "log_loss" or "squared_hinge"). A penalised intercept
        (LinearSVC, liblinear) becomes an appended column of intercept_scaling: append it to further rows as well. An
        unpenalised one is another objective and is refused, as is every other model: fit with fit_intercept=False and
        a column of ones. A retrain on n rows keeps this objective with C_sk = 1/(C n). Labels y are the model's own;
        further rows have -1 and +1 (or bool): y == model.classes_[1].

        Raises
        ------
        ValueError
            For another model or objective, a model that is not fitted, or labels that it does not know.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from onlinekit_plugins.sensitivity import FitSummary
        >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array(["in", "in", "out"])
        >>> model = LogisticRegression(fit_intercept=False, tol=1e-9).fit(X, y)
        >>> round(FitSummary.from_sklearn(model, X, y).C, 4)
        0.3333
        """
        rows, labels, w0, C, loss = sklearn_objective(model, X, y)
        return cls.from_fit(rows, labels, w0, C, loss)

    def merge(self, other: FitSummary) -> FitSummary:
        """The summary of the rows of both: shards of one data set, each summarised at the same w0, C and loss.

        Sums add; eps- and eps+ are at most the larger ones. Raises ValueError when w0, C, loss or d differ.
        """
        if (self.d, self.C, self.loss) != (other.d, other.C, other.loss) or not np.array_equal(self.w0, other.w0):
            raise ValueError("shards can be merged only when w0, C, loss and the number of features are the same")
        out = object.__new__(FitSummary)
        out.__dict__.update(self.__dict__)
        out.n0, out.name = self.n0 + other.n0, f"{self.name}+{other.name}"
        long = np.longdouble
        total = self.R0.astype(long) + self.R0_rest + other.R0 + other.R0_rest
        out.R0 = total.astype(float)
        out.R0_rest = (total - out.R0).astype(float)
        size = np.abs(self.R0) + np.abs(other.R0)
        out.R0_error = self.R0_error + other.R0_error + 4 * 2.0**-64 * size
        out.value, out.margin_max = self.value + other.value, max(self.margin_max, other.margin_max)
        out.value_error = self.value_error + other.value_error + UNIT * out.value
        out.keys = self.keys + other.keys
        with np.errstate(over="ignore"):
            out.fingerprint = self.fingerprint + other.fingerprint
        out.lambda_max = (self.lambda_max + other.lambda_max) * (1 + 4 * UNIT)
        if self.matrices:
            out.gram, out.M = self.gram + other.gram, self.M + other.M
            out._finish()
            out.eps = max(self.eps, other.eps, out.eps)
            out.curvature = CurvatureBound.worst(self.curvature, other.curvature)
        return out

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["keys"] = pack_counter(self.keys)
        if self.matrices:
            state["curvature"] = dict(self.curvature.__dict__)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        with refusing(type(self).__name__):
            self.__dict__.update(state)
            self.keys = unpack_counter(*state["keys"])
            if self.matrices:
                self.curvature = object.__new__(CurvatureBound)
                self.curvature.__dict__.update(state["curvature"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to one .npz file without anything executable."""
        write(path, "FitSummary", self.__getstate__())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FitSummary:
        """Read what ``save`` wrote. Raises ValueError for another file."""
        out = object.__new__(cls)
        out.__setstate__(read(path, "FitSummary"))
        return out
