"""Kernel ridge regression that inserts and deletes samples exactly."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.id_odm.regressor import ExactRegressor


class KernelRidgeRegressor(ExactRegressor):
    """Online kernel ridge regression (least-squares SVM without intercept), exact after every insert and delete.

    min_w 1/2 ||w||^2 + lam/2 sum_i w_i (y_i - f(x_i))^2, f = <w, phi>: after any history of learning and unlearning
    f is that of a fit from scratch on the samples stored, up to rounding. It is scikit-learn's
    KernelRidge(alpha=1 / lam) with sample weights w_i.

    Cost O(n^2) a sample and 12 n^2 bytes for n samples; with kernel="linear" and fewer features d than samples O(d^2) a
    sample. Bound n by `window`. `loo_decision` gives exact leave-one-out predictions.

    Parameters
    ----------
    lam
        Weight lambda > 0 of the squared errors against 1/2 ||w||^2.
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
    >>> from onlinekit_plugins.id_odm.krr import KernelRidgeRegressor
    >>> model = KernelRidgeRegressor(lam=4.0, kernel="linear")
    >>> model.learn_one({"a": 1.0}, 2.0, key="first")
    >>> model.learn_one({"a": 2.0}, 9.0, key="second")
    >>> model.unlearn("second")
    >>> round(model.predict_one({"a": 1.0}), 12)  # 2 * 4 / (1 + 4)
    1.6

    References
    ----------
    C. Saunders, A. Gammerman, V. Vovk, Ridge regression learning algorithm in dual variables, ICML 1998.
    """

    def _interval(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return codes[None, :], codes[None, :]
