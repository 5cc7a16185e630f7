"""L2SVMClassifier: the squared-hinge support vector machine that inserts and deletes exactly."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.id_odm.margin import MarginClassifier


class L2SVMClassifier(MarginClassifier):
    """Support vector machine with squared hinge loss and without bias, on the engine of `ODMClassifier`.

    min over w of 1/2 ||w||^2 + lambda/2 sum_i w_i max(0, 1 - y_i f(x_i))^2: margins beyond 1 cost nothing, so that only
    samples short of 1 are in the active set. With C = lambda / 2 it is scikit-learn's LinearSVC(fit_intercept=False)
    with its default loss. Everything about unlearning, keys, windows and memory is as in `ODMClassifier`.

    Parameters
    ----------
    lam
        Weight lambda > 0 of the losses.
    kernel, gamma, coef0, window, max_samples, standardize, tol, classes, on_invalid
        As in `ODMClassifier`.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> model = L2SVMClassifier(kernel="linear", coef0=1.0)
    >>> for x, y in [(-2.0, False), (-1.0, False), (1.5, True), (9.0, True)]:
    ...     model.learn_one({"x": x}, y, key=x)
    >>> model.predict_one({"x": 2.0}), model.dual_coef()[9.0]  # far on its own side: no support vector
    (True, 0.0)

    References
    ----------
    C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20 (1995).
    G. Cauwenberghs, T. Poggio, Incremental and decremental support vector machine learning, NIPS 2000.
    """

    def _edges(self, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(sign > 0.0, 1.0, -np.inf), np.where(sign > 0.0, np.inf, -1.0)
