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

    @property
    def v(self) -> float:
        """Drift level that the next step inflates with, in [0, 1/2] for the uncertainty modes (2.29)."""
        return float(layout.level(0, self._arrays["state"], self._args[-1]))

    @property
    def n_labeled(self) -> float:
        """Fading count of labels, N (2.30)."""
        return float(self._arrays["state"][0, layout.COUNT])

    def _moments(self) -> tuple[list[Any], np.ndarray, np.ndarray, np.ndarray]:
        """Names (d), shares of the models (M), their means (M, d), and variances (M, d) or covariances (M, d, d)."""
        i, k = int(not self.intercept), len(self._schema) + 1
        state, weights = self._arrays["state"], self._arrays["weights"]
        hyper: Any = self._args[-1]
        names: list[Any] = [INTERCEPT, *self._schema.names]
        share = layout.shares(state)
        means = weights[:, layout.MEAN, i:k].copy()
        if hyper[layout.DIAG]:
            cov, weights, state = self._arrays["cov"].copy(), weights.copy(), state.copy()
            for m in range(len(share)):
                diag_kernels.settle(m, k, weights, cov, state, hyper)
            return names[i:], share, means, cov[:, i:k]
        covs = np.zeros((len(share), k, k))
        rows, columns = np.tril_indices(k)
        covs[:, rows, columns] = covs[:, columns, rows] = self._arrays["cov"][:, : len(rows)]
        return names[i:], share, means, covs[:, i:, i:]

    @property
    def mean(self) -> dict[Any, float]:
        """Feature -> posterior mean of its weight, "__intercept__" first; with "auto" that of the mixture."""
        names, share, means, _ = self._moments()
        return dict(zip(names, (share @ means).tolist(), strict=True))

    weights = mean

    def covariance(self) -> tuple[list[Any], np.ndarray]:
        """(features, Sigma): the posterior covariance (d, d), not inflated; with "auto" that of the mixture."""
        names, share, means, covs = self._moments()
        if covs.ndim == 2:
            covs = covs[:, :, None] * np.eye(len(names))
        off = means - share @ means
        return names, (share[:, None, None] * (covs + off[:, :, None] * off[:, None, :])).sum(axis=0)

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
        names, share, means, covs = self._moments()
        m = int(rng.choice(len(share), p=share)) if len(share) > 1 else 0
        noise = rng.standard_normal(len(names))
        if covs.ndim == 2:
            draw = means[m] + np.sqrt(covs[m]) * noise
        else:
            values, vectors = np.linalg.eigh(covs[m])
            draw = means[m] + vectors @ (np.sqrt(np.maximum(values, 0.0)) * noise)
        return dict(zip(names, draw.tolist(), strict=True))

    def entropy(self, x: dict[Any, Any]) -> float:
        """Entropy of the predicted label, in nats."""
        return float(layout.entropy(self.predict_proba_one(x)[True]))

    def mutual_information(self, x: dict[Any, Any]) -> float:
        """Information of the label about the weights, H(E p) - E H(p) in nats, by 40-point Gauss-Hermite."""
        a, s2 = self.logit_dist(x)
        return float(layout.information(a, s2, NODES, SHARES))
