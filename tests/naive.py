"""Slow, obvious references that the kernels are compared with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


# bayes-logistic
class NaiveBayesLogistic:
    """Equations (2.17)-(2.30) with whole matrices: P = inflate(Sigma), then the rank-1 step, nothing fused."""

    def __init__(self, prior_var: float = 1.0, drift: str | None = "uncertainty", c: float = 0.1,
                 alpha: float = 0.9, bounded: bool = True, update: str = "newton", intercept: bool = True,
                 c_by_feature: dict[Any, float] | None = None, diag: bool = False) -> None:  # fmt: skip
        self.prior_var, self.drift, self.c, self.alpha = prior_var, drift, c, alpha
        self.bounded, self.update, self.intercept, self.diag = bounded, update, intercept, diag
        self.c_by_feature = c_by_feature or {}
        self.order: list[Any] = []
        self.mu, self.Sigma = np.zeros(0), np.zeros((0, 0))
        self.N, self.average = 0.0, 0.0
        if intercept:
            self._add("__intercept__")

    def _add(self, name: Any) -> None:
        d = len(self.order)
        self.order.append(name)
        self.mu = np.append(self.mu, 0.0)
        grown = np.eye(d + 1) * self.prior_var
        grown[:d, :d] = self.Sigma
        self.Sigma = grown

    @property
    def v(self) -> float:
        return {None: 0.0, "constant": 1.0}.get(self.drift, max(self.average, 0.0))

    def inflated(self, old: int) -> np.ndarray:
        # A new weight is at its prior: it does not drift before its first step.
        cs = np.array([self.c_by_feature.get(n, self.c) * (j < old) for j, n in enumerate(self.order)])
        if not self.bounded:
            return self.Sigma + self.v * np.diag(cs)
        rho = np.minimum(1.0, self.v * cs / self.prior_var)
        R = np.diag(np.sqrt(1.0 - rho))
        return R @ self.Sigma @ R + np.diag(rho * self.prior_var)

    def step(self, features: dict[Any, float], y: int | None) -> tuple[float, float, float]:
        """Learn one sample; (a, s2, p) from before it."""
        old = len(self.order)
        for name in features if y is not None else ():
            if name not in self.order:
                self._add(name)
        x = np.array([1.0 if n == "__intercept__" else features.get(n, 0.0) for n in self.order])
        P = self.inflated(old)
        unseen = sum(value**2 for name, value in features.items() if name not in self.order)
        a, s2 = float(self.mu @ x), float(x @ P @ x) + self.prior_var * unseen
        K = 1.0 / math.sqrt(1.0 + math.pi * s2 / 8.0)
        p = 1.0 / (1.0 + math.exp(-K * a))
        if y is None:
            self.N *= self.alpha
            return a, s2, p
        w, Px = p * (1.0 - p), P @ x
        gain, push = (K * K * w, K * (y - p)) if self.update == "adf" else (
            w / (1.0 + w * s2), (y - p) / (1.0 + w * s2))  # fmt: skip
        self.Sigma = P - gain * np.outer(Px, Px)
        if self.diag:
            self.Sigma = np.diag(np.diag(self.Sigma))
        self.mu = self.mu + push * Px
        a2, s22 = a + s2 * push, s2 - gain * s2 * s2
        p2 = 1.0 / (1.0 + math.exp(-a2 / math.sqrt(1.0 + math.pi * s22 / 8.0)))
        G = min(p2, 1.0 - p2) - min(p, 1.0 - p)
        self.N = self.alpha * self.N + 1.0
        self.average += ((max(G, 0.0) if self.drift == "uncertainty" else G) - self.average) / self.N
        return a, s2, p
