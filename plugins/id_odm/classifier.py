"""ODMClassifier: the optimal margin distribution machine that inserts and deletes exactly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from onlinekit_plugins.id_odm.margin import MarginClassifier


class ODMClassifier(MarginClassifier):
    """Optimal margin distribution machine: margins gather around 1, and any sample can be unlearned exactly.

    min over w of 1/2 ||w||^2 + lambda/2 sum_i w_i (xi_i^2 + eps_i^2)
    with 1 - theta - xi_i <= y_i f(x_i) <= 1 + theta + eps_i and f(x) = <w, phi(x)> = sum_i alpha_i y_i k(x_i, x),
    y_i = +-1 and sample weights w_i. After every call the model is the exact minimiser over the stored samples
    (optimality conditions to within about `tol`): what was unlearned was never there. The inserts and deletes of a call
    are one exchange of the active set, O(s^2) for s samples outside the strip, instead of a training.

    The published path following (Algorithm 1 of the paper) is exact for one sample at a time but wrong for batches:
    it fixes the side of each new sample at the start. This class exchanges whole blocks and checks every sample.

    Memory: 8 n^2 bytes for n samples and 4 n^2 for every f (one for two labels, else one a class; at theta = 0 once for
    all), or O(n d + d^2) with kernel="linear" and few features.

    Parameters
    ----------
    lam
        Weight lambda > 0 of the losses.
    theta
        Half width of the strip in which margins cost nothing, 0 <= theta < 1; 0 is kernel ridge regression on +-1,
        where all classes share one inverse.
    kernel
        "rbf", exp(-gamma |x - z|^2) + coef0, or "linear", x'z + coef0.
    gamma
        Width of the RBF; None: 1 / d, d the features that are not 0 in every stored sample (when d changes, all is
        solved anew).
    coef0
        Constant >= 0 of the kernel: a regularised intercept.
    window
        Keep the last so many samples; the oldest leaves in the exchange in which a new one enters.
    max_samples
        More are refused by a MemoryError before anything is taken.
    standardize
        Scale by the running mean and deviation as they are when a row is learned (River's StandardScaler in a
        pipeline). Unlearning is then still as if never seen, but every later row is scaled anew: up to an eighth of
        the samples are exchanged, O(n^2) each, more are solved anew, O(n^3): of 1000 samples the last goes in 1 ms,
        the first in 80 ms. Without a scale any goes in O(n^2), here .3 ms.
    tol
        Largest violation of the optimality conditions, in units of f, that is left alone. Where k(x, x) lam w is
        beyond about 1e7, rounding may leave more: see `kkt_residual`.
    classes
        (False, True): labels True/False or 1/0. None: any labels, new ones at any time, a class goes with its last
        sample; solved one-vs-rest on one kernel matrix. A sequence: those labels.
    on_invalid
        "raise" on a bad value, label or weight, or "skip" the row and count it in `n_skipped`.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> model = ODMClassifier(lam=10.0, gamma=0.5)
    >>> rows = [({"a": 0.0, "b": 0.1}, False), ({"a": 0.2, "b": 0.0}, False), ({"a": 2.0, "b": 2.1}, True)]
    >>> for person, (x, y) in enumerate(rows):
    ...     model.learn_one(x, y, key=person)
    >>> model.predict_one({"a": 1.9, "b": 2.0})
    True
    >>> model.unlearn(2)
    >>> model.keys(), model.predict_one({"a": 1.9, "b": 2.0})
    ([0, 1], False)
    >>> model.kkt_residual() < 1e-8
    True

    References
    ----------
    L.-J. Chen, T. Zhang, X. Shi, H. Jin, Incremental and decremental optimal margin distribution learning, IJCAI 2023,
    eq. (1), (2), (12). T. Zhang, Z.-H. Zhou, Optimal margin distribution machine, IEEE TKDE 32 (2020).
    J. Platt, Probabilistic outputs for support vector machines, 1999.
    """

    def __init__(
        self,
        lam: float = 1.0,
        theta: float = 0.1,
        kernel: str = "rbf",
        gamma: float | None = None,
        coef0: float = 0.0,
        window: int | None = None,
        max_samples: int | None = None,
        standardize: bool = False,
        tol: float = 1e-10,
        classes: Sequence[Hashable] | None = (False, True),
        on_invalid: str = "raise",
    ) -> None:
        if not 0.0 <= theta < 1.0:
            raise ValueError(f"theta must be at least 0 and below 1 (f would stay 0 from there), not {theta!r}")
        self.theta = theta
        super().__init__(
            lam, kernel, gamma, coef0, window, max_samples, standardize, tol, classes, on_invalid
        )  # fmt: skip

    def _edges(self, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return sign - self.theta, sign + self.theta
