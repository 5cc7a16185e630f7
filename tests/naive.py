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


# id-odm
def odm_kernel(X: np.ndarray, Z: np.ndarray, kernel: str = "rbf", gamma: float = 1.0, coef0: float = 0.0) -> np.ndarray:
    """k(x, z) = exp(-gamma |x - z|^2) or x'z, each plus coef0, by direct differences; (n, m)."""
    if kernel == "linear":
        return X @ Z.T + coef0
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)) + coef0


def odm_intervals(y: np.ndarray, theta: float, lam: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ODM as intervals: lo, hi = y -+ theta with y in {-1, 1}, il = 1 / lam (one number or one a sample)."""
    return y - theta, y + theta, np.broadcast_to(1.0 / np.asarray(lam, dtype=float), y.shape).copy()


def interval_objective(K: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray, b: np.ndarray) -> float:
    """1/2 b'Kb + sum_i dist(f_i, [lo_i, hi_i])^2 / (2 il_i) with f = Kb."""
    f = K @ b
    return float(0.5 * b @ f + np.sum((f - np.clip(f, lo, hi)) ** 2 / (2.0 * il)))


def interval_kkt(K: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray, b: np.ndarray) -> float:
    """max_i |il_i b_i - (clip(f_i, lo_i, hi_i) - f_i)|: zero exactly at the optimum."""
    f = K @ b
    return float(np.max(np.abs(il * b - (np.clip(f, lo, hi) - f)), initial=0.0))


def interval_solve(K: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> np.ndarray:
    """b that minimises `interval_objective`: Newton steps with an exact line search, whole matrices, no state.

    The objective is convex, piecewise quadratic and C1, so the search is a walk over the sorted breakpoints to the
    point where the slope changes sign, and finitely many steps reach the minimum.
    """
    n = len(lo)
    b = np.zeros(n)
    for _ in range(1000):
        f = K @ b
        t = np.clip(f, lo, hi)
        S = f != t
        new = np.zeros(n)
        new[S] = np.linalg.solve(K[np.ix_(S, S)] + np.diag(il[S]), t[S])
        if interval_kkt(K, lo, hi, il, new) < 1e-11:
            return new
        p, Kp = new - b, K @ (new - b)

        def slope(s: float, b: Any = b, f: Any = f, p: Any = p, Kp: Any = Kp) -> float:
            g = f + s * Kp
            return float((b + s * p) @ Kp + np.sum((g - np.clip(g, lo, hi)) / il * Kp))

        moving = np.abs(Kp) > 1e-300
        edges = np.concatenate([((e - f)[moving] / Kp[moving]) for e in (lo, hi)])
        knots = [0.0, *np.sort(edges[(edges > 0) & np.isfinite(edges)])]
        left = max(s for s in knots if slope(s) <= 0.0 or s == 0.0)
        right = min((s for s in knots if s > left), default=left + 1.0)
        a, c = slope(left), slope(right)
        b = b + (left - a * (right - left) / (c - a) if c != a else left) * p
    raise AssertionError("the reference solver did not converge")


def published_update(
    H: np.ndarray, alpha: np.ndarray, lam: float, theta: float, E: list[int], drop: list[int]
) -> np.ndarray:
    """Algorithm 1 as published: insert E and delete `drop` along one path; alpha afterwards (0 for the deleted).

    H_ij = y_i y_j k(x_i, x_j) over the old and the new samples, alpha signed, 0 for E. Each inserted sample's goal is
    fixed by the side of the strip where it starts and is not watched on the way, which is wrong for more than one.
    """
    alpha = alpha.copy()
    low, high = 1.0 - theta, 1.0 + theta
    g = H @ alpha
    E = [k for k in E if not low <= g[k] <= high]  # the others join C as they are
    d = {k: low if g[k] < low else high for k in E}
    S = [i for i in np.flatnonzero(alpha) if i not in drop]
    C = [i for i in range(len(alpha)) if i not in S and i not in E and i not in drop]
    for _ in range(10000):
        A = E + drop
        Q = H[np.ix_(S, S)] + np.eye(len(S)) / lam
        T = -np.linalg.solve(Q, H[np.ix_(S, A)])
        T_E, T_I = T[:, : len(E)], T[:, len(E) :]
        step_I = -alpha[drop]
        left = H[np.ix_(E, E)] + np.eye(len(E)) / lam + H[np.ix_(E, S)] @ T_E
        right = np.array([d[k] for k in E]) - g[E] - alpha[E] / lam
        right = right - (H[np.ix_(E, drop)] + H[np.ix_(E, S)] @ T_I) @ step_I
        step = np.zeros(len(alpha))
        step[E], step[drop] = np.linalg.solve(left, right), step_I
        step[S] = T @ step[A]
        dg = H @ step
        eta, event = 1.0, None
        for i in S:  # alpha_i reaches 0
            if step[i] * alpha[i] < 0 and -alpha[i] / step[i] < eta:
                eta, event = -alpha[i] / step[i], i
        for i in C:  # the margin reaches the edge of the strip
            edge = high if dg[i] > 0 else low
            if dg[i] != 0 and max(0.0, (edge - g[i]) / dg[i]) < eta:
                eta, event = max(0.0, (edge - g[i]) / dg[i]), i
        alpha, g = alpha + eta * step, g + eta * dg
        if event is None:
            alpha[drop] = 0.0
            return alpha
        if event in S:
            alpha[event] = 0.0
            S.remove(event)
            C.append(event)
        else:
            C.remove(event)
            S.append(event)
    raise AssertionError("Algorithm 1 did not end")


# avm, nogd, rrf, pamo
class Margins:
    """What these learners share: a scaler that keeps every row, K rows of scores, the hinge loss and its rival."""

    def __init__(self, classes: int, standardize: bool) -> None:
        self.classes, self.standardize = classes, standardize
        self.K = 1 if classes == 2 else classes
        self.rows: list[np.ndarray] = []

    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and 1 / deviation of the rows so far, 0 where the deviation is."""
        if not self.standardize:
            return np.zeros(1), np.ones(1)
        seen = np.array(self.rows) if self.rows else np.zeros((1, 1))
        sd = seen.std(axis=0)
        return seen.mean(axis=0), np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)

    def near(self, x: np.ndarray, points: list[np.ndarray], sigma: float) -> np.ndarray:
        _, inverse = self.scale()
        return np.array([math.exp(-np.sum(((x - p) * inverse) ** 2) / (2 * sigma**2)) for p in points])

    def signs(self, f: np.ndarray, k: int) -> np.ndarray:
        """-(d loss / d f): +-1 for two classes, +1 at k and -1 at the best rival for more; zeros without a loss."""
        out = np.zeros(self.K)
        if self.K == 1:
            sign = 1.0 if k == 1 else -1.0
            out[0] = sign if 1.0 - sign * f[0] > 0 else 0.0
            return out
        rival = max((r for r in range(self.K) if r != k), key=lambda r: (f[r], -r))
        if 1.0 - f[k] + f[rival] > 0:
            out[k], out[rival] = 1.0, -1.0
        return out


class NaiveAVM(Margins):
    """f = sum of votes k(core, x) / (l2 W), from the list of core points and their votes."""

    def __init__(self, classes: int, budget: int, l2: float, delta: float, sigma: float, standardize: bool) -> None:
        super().__init__(classes, standardize)
        self.budget, self.l2, self.delta, self.sigma = budget, l2, delta, sigma
        self.cores: list[np.ndarray] = []
        self.votes: list[np.ndarray] = []
        self.W = 0.0

    def scores(self, x: np.ndarray) -> np.ndarray:
        if not self.cores:
            return np.zeros(self.K)
        return self.near(x, self.cores, self.sigma) @ np.array(self.votes) / (self.l2 * self.W)

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        signs = self.signs(self.scores(x), k)
        self.W += w
        if not signs.any():
            return
        near = self.near(x, self.cores, self.sigma)
        _, inverse = self.scale()
        distances = [float(np.linalg.norm((x - p) * inverse)) for p in self.cores]
        if self.cores and min(distances) <= self.delta * self.sigma:
            self.votes[int(np.argmin(distances))] += w * signs
        elif len(self.cores) < self.budget:
            self.cores.append(x)
            self.votes.append(w * signs)
        else:
            self.votes[int(np.argmin(distances))] += w * signs * max(near)


class NaiveNOGD(Margins):
    """Kernel gradient descent until the budget is full, then a vector w in the space of the Nystroem map."""

    def __init__(self, classes: int, budget: int, rank: int, lr: float, sigma: float, standardize: bool) -> None:
        super().__init__(classes, standardize)
        self.budget, self.rank, self.lr, self.sigma = budget, rank, lr, sigma
        self.points: list[np.ndarray] = []
        self.coefs: list[np.ndarray] = []
        self.map: np.ndarray | None = None
        self.w = np.zeros((self.K, 0))

    def scores(self, x: np.ndarray) -> np.ndarray:
        if self.map is not None:
            return self.w @ (self.map @ self.near(x, self.points, self.sigma))
        if not self.points:
            return np.zeros(self.K)
        return self.near(x, self.points, self.sigma) @ np.array(self.coefs)

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        signs = self.signs(self.scores(x), k)
        if not signs.any():
            return
        if self.map is not None:
            self.w += self.lr * w * np.outer(signs, self.map @ self.near(x, self.points, self.sigma))
            return
        self.points.append(x)
        self.coefs.append(self.lr * w * signs)
        if len(self.points) == self.budget:
            values, vectors = np.linalg.eigh(np.array([self.near(p, self.points, self.sigma) for p in self.points]))
            keep = [i for i in np.argsort(-values)[: self.rank] if values[i] > 1e-10 * values.max()]
            self.map = (vectors[:, keep] / np.sqrt(values[keep])).T
            self.w = np.array(self.coefs).T @ np.linalg.pinv(self.map)
