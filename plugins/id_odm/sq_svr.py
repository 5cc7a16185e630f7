"""Support vector regression with the squared epsilon-insensitive loss, exact under inserts and deletes."""

from __future__ import annotations

import math

import numpy as np

from onlinekit_plugins.id_odm.regressor import ExactRegressor


class SquaredSVRegressor(ExactRegressor):
    """Online support vector regression with squared epsilon-insensitive loss, exact after every insert and delete.

    min_w 1/2 ||w||^2 + lam/2 sum_i w_i max(0, |y_i - f(x_i)| - epsilon)^2, f = <w, phi>: after any history of learning
    and unlearning f is that of a fit from scratch on the samples stored, up to rounding. With a linear kernel it is
    scikit-learn's LinearSVR(loss="squared_epsilon_insensitive", C=lam / 2, fit_intercept=False).

    Cost O(s^2 + n) a sample for s samples with an error beyond epsilon, and up to 12 n^2 bytes for n samples; with
    kernel="linear" and fewer features d than samples O(d^2) a change of side. Bound n by `window`.

    Parameters
    ----------
    lam
        Weight lambda > 0 of the losses against 1/2 ||w||^2.
    epsilon
        Errors up to this cost nothing, >= 0.
    kernel
        "rbf", exp(-gamma |x - z|^2) + coef0, or "linear", x'z + coef0.
    gamma
        Width of the RBF; None: 1 / d.
    coef0
        Constant of the kernel: a regularised intercept.
    window
        Keep the last so many samples.
    max_samples
        More are refused by a MemoryError.
    standardize
        Scale features by their running mean and deviation when they are learned (unlearning an early sample is then
        O(n^3)).
    tol
        Largest violation of the optimality conditions that is left alone, in units of f.
    on_invalid
        "raise" on a bad value, target or weight, or "skip" the row and count it in `n_skipped`.

    Raises
    ------
    ValueError, TypeError
        A parameter, value, target or weight is not valid; nothing was changed.
    KeyError
        From unlearning: no such sample; nothing was changed.
    MemoryError
        More samples than `max_samples` or the machine's memory allow; nothing was changed.

    Examples
    --------
    >>> from onlinekit_plugins.id_odm.sq_svr import SquaredSVRegressor
    >>> model = SquaredSVRegressor(lam=4.0, epsilon=0.5, kernel="linear")
    >>> model.learn_one({"a": 1.0}, 2.0)
    >>> round(model.predict_one({"a": 1.0}), 12)  # (2 - .5) * 4 / (1 + 4)
    1.2

    References
    ----------
    C.-H. Ho, C.-J. Lin, Large-scale linear support vector regression, JMLR 13 (2012).
    """

    def __init__(
        self,
        lam: float = 1.0,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        gamma: float | None = None,
        coef0: float = 0.0,
        window: int | None = None,
        max_samples: int | None = None,
        standardize: bool = False,
        tol: float = 1e-10,
        on_invalid: str = "raise",
    ) -> None:
        if not (epsilon >= 0.0 and math.isfinite(epsilon)):
            raise ValueError(f"epsilon must be finite and not negative, not {epsilon!r}")
        self.epsilon = epsilon
        super().__init__(
            lam=lam, kernel=kernel, gamma=gamma, coef0=coef0, window=window, max_samples=max_samples,
            standardize=standardize, tol=tol, on_invalid=on_invalid,
        )  # fmt: skip

    def _interval(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return codes[None, :] - self.epsilon, codes[None, :] + self.epsilon
