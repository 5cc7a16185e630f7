"""What the posterior of the Bayesian logistic regression says; shared by its forms."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from onlinekit.learner import ArrayClassifier
from onlinekit_plugins.bayes_logistic import diag_kernels
from onlinekit_plugins.bayes_logistic import shared_kernels as layout

INTERCEPT = "__intercept__"
NODES, SHARES = np.polynomial.hermite_e.hermegauss(40)  # E f(N(0, 1)) = sum of SHARES f(NODES)
SHARES = SHARES / SHARES.sum()


class Posterior(ArrayClassifier):
    """Read-outs of a Gaussian posterior over the weights, or of a mixture of such; the state is in shared_kernels."""

    intercept: bool
    _diagonal: bool

    @property
    def v(self) -> float:
        """Drift level that the next step inflates with, in [0, 1/2] for the uncertainty modes (2.29)."""
        return float(layout.level(0, self._arrays["state"], self._args[-1]))

    @property
    def n_labeled(self) -> float:
        """Fading count of labels, N (2.30)."""
        return float(self._arrays["state"][0, layout.COUNT])

    def _names(self) -> list[Any]:
        return [INTERCEPT, *self._schema.names] if self.intercept else list(self._schema.names)

    def _mixture(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the models (M,) and their means (M, d)."""
        first, last = int(not self.intercept), len(self._schema) + 1
        return layout.shares(self._arrays["state"]), self._arrays["weights"][:, layout.MEAN, first:last]

    def _spread(self) -> np.ndarray:
        """Variances (M, d) or covariances (M, d, d) of the models, not inflated."""
        first, last = int(not self.intercept), len(self._schema) + 1
        cov, hyper = self._arrays["cov"], self._args[-1]
        if self._diagonal:
            cov, weights, state = cov.copy(), self._arrays["weights"].copy(), self._arrays["state"].copy()
            for m in range(len(cov)):
                diag_kernels.settle(m, last, weights, cov, state, hyper)
            return cov[:, first:last]
        square = np.zeros((len(cov), last, last))
        rows, columns = np.tril_indices(last)
        square[:, rows, columns] = square[:, columns, rows] = cov[:, : len(rows)]
        return square[:, first:, first:]

    @property
    def mean(self) -> dict[Any, float]:
        """Feature -> posterior mean of its weight, "__intercept__" first; with "auto" that of the mixture."""
        share, means = self._mixture()
        return dict(zip(self._names(), (share @ means).tolist(), strict=True))

    weights = mean

    def covariance(self) -> tuple[list[Any], np.ndarray]:
        """(features, Sigma): the posterior covariance (d, d), not inflated; with "auto" that of the mixture."""
        (share, means), covs = self._mixture(), self._spread()
        if self._diagonal:
            covs = covs[:, :, None] * np.eye(covs.shape[1])
        off = means - share @ means
        return self._names(), (share[:, None, None] * (covs + off[:, :, None] * off[:, None, :])).sum(axis=0)

    def logit_dist(self, x: dict[Any, Any]) -> tuple[float, float]:
        """Mean a and variance s2 of the logit w'x (2.18), (2.19), inflated as for a prediction (2.22)."""
        _, buffer = self._predict(x)
        work, n = buffer.args[0], self._n
        a, s2 = work[layout.R + 2 :: 3, n + 1], work[layout.R + 2 :: 3, n + 2] + work[layout.RZ, n + 1]
        share = layout.shares(self._arrays["state"])
        mean = float(share @ a)
        variance = float(share @ (s2 + (a - mean) ** 2))
        self._pool.append(buffer)
        return mean, variance

    def proba_interval(self, x: dict[Any, Any], level: float = 0.9) -> tuple[float, float]:
        """Central credible interval of p(y = 1 | x, w): sigm(a -+ z sqrt(s2)); ValueError unless 0 < level < 1."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        a, s2 = self.logit_dist(x)
        half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(s2)
        return float(layout.sigmoid(a - half)), float(layout.sigmoid(a + half))

    def sample_weights(self, rng: np.random.Generator) -> dict[Any, float]:
        """One draw of the weights from the posterior, or with "auto" from the mixture (for Thompson sampling)."""
        (share, means), covs = self._mixture(), self._spread()
        m = int(rng.choice(len(share), p=share)) if len(share) > 1 else 0
        noise = rng.standard_normal(means.shape[1])
        if self._diagonal:
            draw = means[m] + np.sqrt(covs[m]) * noise
        else:
            values, vectors = np.linalg.eigh(covs[m])
            draw = means[m] + vectors @ (np.sqrt(np.maximum(values, 0.0)) * noise)
        return dict(zip(self._names(), draw.tolist(), strict=True))

    def entropy(self, x: dict[Any, Any]) -> float:
        """Entropy of the predicted label, in nats."""
        return float(layout.entropy(self.predict_proba_one(x)[True]))

    def mutual_information(self, x: dict[Any, Any]) -> float:
        """Information of the label about the weights, H(E p) - E H(p) in nats, by 40-point Gauss-Hermite."""
        a, s2 = self.logit_dist(x)
        return float(layout.information(a, s2, NODES, SHARES))
