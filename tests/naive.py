"""Slow, obvious references that the kernels are compared with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from river import datasets


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
        p = self.sigm(K * a)
        if y is None:
            self.N *= self.alpha
            return a, s2, p
        q = self.update_probability(a, p)
        w, Px = q * (1.0 - q), P @ x
        gain, push = (K * K * w, K * (y - q)) if self.update == "adf" else (
            w / (1.0 + w * s2), (y - q) / (1.0 + w * s2))  # fmt: skip
        self.Sigma = P - gain * np.outer(Px, Px)
        if self.diag:
            self.Sigma = np.diag(np.diag(self.Sigma))
        self.mu = self.mu + push * Px
        a2, s22 = a + s2 * push, s2 - gain * s2 * s2
        p2 = self.sigm(a2 / math.sqrt(1.0 + math.pi * s22 / 8.0))
        G = min(p2, 1.0 - p2) - min(p, 1.0 - p)
        self.N = self.alpha * self.N + 1.0
        self.average += ((max(G, 0.0) if self.drift == "uncertainty" else G) - self.average) / self.N
        return a, s2, p

    @staticmethod
    def sigm(a: float) -> float:
        return 1.0 / (1.0 + math.exp(-min(max(a, -700.0), 700.0)))

    def update_probability(self, a: float, p: float) -> float:
        """The probability that the update takes for the prediction: the moderated one."""
        return p


class NaiveBayesAuto:
    """Five models of constant drift, mixed by fading predictive likelihood."""

    def __init__(self, **params: Any) -> None:
        self.models = [NaiveBayesLogistic(drift="constant", c=c, **params) for c in (0.0, 1e-4, 1e-3, 1e-2, 1e-1)]
        self.log_weights = np.zeros(5)

    def step(self, features: dict[Any, float], y: int) -> float:
        """Learn one sample; p(y = 1) from before it."""
        share = np.exp(self.log_weights - self.log_weights.max())
        ps = np.array([model.step(features, y)[2] for model in self.models])
        self.log_weights = 0.99 * self.log_weights + np.log(ps if y else 1.0 - ps)
        return float(share @ ps / share.sum())


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
        if interval_kkt(K, lo, hi, il, new) < 1e-13 * (100.0 + np.max(np.abs(K) @ np.abs(new), initial=0.0)):
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

    def scaled(self, x: np.ndarray) -> np.ndarray:
        mean, inverse = self.scale()
        return (x - mean) * inverse

    def near(self, v: np.ndarray, points: list[np.ndarray], sigma: float) -> np.ndarray:
        return np.array([math.exp(-np.sum((v - p) ** 2) / (2 * sigma**2)) for p in points])

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
        return self.near(self.scaled(x), self.cores, self.sigma) @ np.array(self.votes) / (self.l2 * self.W)

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        signs = self.signs(self.scores(x), k)
        self.W += w
        if not signs.any():
            return
        v = self.scaled(x)
        near = self.near(v, self.cores, self.sigma)
        distances = [float(np.linalg.norm(v - p)) for p in self.cores]
        if self.cores and min(distances) <= self.delta * self.sigma:
            self.votes[int(np.argmin(distances))] += w * signs
        elif len(self.cores) < self.budget:
            self.cores.append(v)
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
            return self.w @ (self.map @ self.near(self.scaled(x), self.points, self.sigma))
        if not self.points:
            return np.zeros(self.K)
        return self.near(self.scaled(x), self.points, self.sigma) @ np.array(self.coefs)

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        signs = self.signs(self.scores(x), k)
        if not signs.any():
            return
        if self.map is not None:
            self.w += self.lr * w * np.outer(signs, self.map @ self.near(self.scaled(x), self.points, self.sigma))
            return
        self.points.append(self.scaled(x))
        self.coefs.append(self.lr * w * signs)
        if len(self.points) == self.budget:
            values, vectors = np.linalg.eigh(np.array([self.near(p, self.points, self.sigma) for p in self.points]))
            keep = [i for i in np.argsort(-values)[: self.rank] if values[i] > 1e-10 * values.max()]
            self.map = (vectors[:, keep] / np.sqrt(values[keep])).T
            self.w = np.array(self.coefs).T @ np.linalg.pinv(self.map)


class NaiveRRF(Margins):
    """z = x (exp(gamma) E) / sigma, phi = D^(-1/2) (cos z, sin z); one gradient step of w and of gamma on a loss."""

    def __init__(self, classes: int, E: np.ndarray, lr: float, width_lr: float, l2: float, max_change: float,
                 sigma: float, standardize: bool) -> None:  # fmt: skip
        super().__init__(classes, standardize)
        self.E, self.lr, self.width_lr, self.l2, self.max_change = E, lr, width_lr, l2, max_change
        self.sigma = sigma
        self.gamma = np.zeros(E.shape[0])
        self.w = np.zeros((self.K, 2 * E.shape[1]))

    def features(self, x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        z = self.scaled(x) @ (np.exp(gamma)[:, None] * self.E) / self.sigma
        return np.concatenate([np.cos(z), np.sin(z)]) / math.sqrt(self.E.shape[1])

    def scores(self, x: np.ndarray) -> np.ndarray:
        return self.w @ self.features(x, self.gamma)

    def gamma_gradient(self, x: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """d (signs . f) / d gamma_j = sum over i of (d f / d z_i) E_ji exp(gamma_j) x_j / sigma."""
        D = self.E.shape[1]
        phi = self.features(x, self.gamma)
        along, across = signs @ self.w[:, :D], signs @ self.w[:, D:]
        by_z = across * phi[:D] - along * phi[D:]
        return (self.E @ by_z) * np.exp(self.gamma) * self.scaled(x) / self.sigma

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        signs = self.signs(self.scores(x), k)
        phi = self.features(x, self.gamma)
        change = self.width_lr * w * self.gamma_gradient(x, signs)
        largest = np.abs(change).max()
        self.w *= 1.0 - self.lr * self.l2 * w
        self.w += self.lr * w * np.outer(signs, phi)
        self.gamma += change * (self.max_change / largest if largest > self.max_change else 1.0)


class NaivePAMO(Margins):
    """f = D^(-1/2) w . max(U g(x, 1), V g(x, 1)); w, U and V each projected onto y f >= 1 from their old values."""

    def __init__(self, U: np.ndarray, V: np.ndarray, C: float, C_units: float, gain: float, standardize: bool) -> None:
        super().__init__(2, standardize)
        self.U, self.V, self.C, self.C_units, self.gain = U.copy(), V.copy(), C, C_units, gain
        self.w = np.zeros(len(U))

    def inputs(self, x: np.ndarray) -> np.ndarray:
        return self.gain * np.append(self.scaled(x), 1.0)

    def scores(self, x: np.ndarray) -> np.ndarray:
        a = self.inputs(x)
        return np.array([self.w @ np.maximum(self.U @ a, self.V @ a) / math.sqrt(len(self.w))])

    def learn(self, x: np.ndarray, k: int, w: float = 1.0) -> None:
        self.rows.append(x)
        y, f, a = 2.0 * k - 1.0, self.scores(x)[0], self.inputs(x)
        loss = 1.0 - y * f
        if loss <= 0.0:
            return
        D, u, v = len(self.w), self.U @ a, self.V @ a
        slopes = [
            np.maximum(u, v) / math.sqrt(D),  # by w
            np.outer(np.where(u >= v, self.w, 0.0), a) / math.sqrt(D),  # by U
            np.outer(np.where(u >= v, 0.0, self.w), a) / math.sqrt(D),  # by V
        ]
        for part, slope, cap in zip((self.w, self.U, self.V), slopes, (self.C, *[self.C_units] * 2), strict=True):
            size = np.sum(slope**2)
            if size > 1e-30:
                part += y * min(w * cap, loss / size) * slope


# sensitivity monitors
def change_by_retraining(rule: str, X0: np.ndarray, y0: np.ndarray, X1: np.ndarray, y1: np.ndarray,
                         X_ref: np.ndarray, y_ref: np.ndarray, C: float, loss: str) -> float:  # fmt: skip
    """What retraining on (X1, y1) changes of the model fitted to (X0, y0), by scipy's minimiser."""
    from scipy.optimize import minimize

    def phi(z: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - z) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -z)

    def slope(z: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(0.0, 1.0 - z) if loss == "squared_hinge" else -1.0 / (1.0 + np.exp(z))

    def with_bias(X: np.ndarray) -> np.ndarray:
        return np.hstack([X, np.ones((len(X), 1))])

    def objective(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        signs = np.where(y, 1.0, -1.0)
        z = signs * (with_bias(X) @ w)
        return C / 2 * w @ w + phi(z).mean(), C * w + with_bias(X).T @ (signs * slope(z)) / len(X)

    def fit(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        start, options = np.zeros(X.shape[1] + 1), {"maxiter": 500, "gtol": 1e-10, "ftol": 0.0}
        return minimize(objective, start, (X, y), "L-BFGS-B", jac=True, options=options).x

    w0, w1 = fit(X0, y0), fit(X1, y1)
    if rule == "coefficients":
        return float(np.abs(w1 - w0).max())
    if rule == "gap":
        return objective(w0, X1, y1)[0] - objective(w1, X1, y1)[0]
    score0, score1, signs = with_bias(X_ref) @ w0, with_bias(X_ref) @ w1, np.where(y_ref, 1.0, -1.0)
    if rule == "flips":
        return float(np.mean((score0 > 0) != (score1 > 0)))
    return float(np.mean(phi(signs * score0) - phi(signs * score1)))


# sensitivity
def _linear(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b for A > 0 by Cholesky, in whatever number type A has (LAPACK knows no long double)."""
    A, d = A.copy(), len(b)
    for k in range(d):
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        for j in range(k + 1, d):
            A[j:, j] -= A[j:, k] * A[j, k]
    x = b.copy()
    for k in range(d):
        x[k] = (x[k] - A[k, :k] @ x[:k]) / A[k, k]
    for k in range(d - 1, -1, -1):
        x[k] = (x[k] - A[k + 1 :, k] @ x[k + 1 :]) / A[k, k]
    return x


def optimum_long(X: np.ndarray, y: np.ndarray, C: float, loss: str, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The minimiser of n C/2 |w|^2 + sum phi(y_i x_i.w) by damped Newton steps in long double, and how far off (d,).

    The second part bounds |w_j - truth_j| by |H^-1| times the gradient that is left and its rounding, H the Hessian.
    """
    long = np.longdouble
    rows = X.astype(long) * y.astype(long)[:, None]
    w, n, best, waited = w.astype(long), len(y), None, 0

    def objective(v: np.ndarray) -> Any:
        z = (rows * v).sum(axis=1)
        phi = np.logaddexp(long(0), -z) if loss == "logistic" else np.maximum(0, 1 - z) ** 2
        return n * long(C) / 2 * (v @ v) + phi.sum()

    for _ in range(100):
        z = (rows * w).sum(axis=1)
        if loss == "logistic":
            slope = -1 / (1 + np.exp(z))
            curvature = -slope * (1 + slope)
        else:
            slope, curvature = -2 * np.maximum(0, 1 - z), 2 * (z < 1).astype(long)
        grad = n * long(C) * w + (rows * slope[:, None]).sum(axis=0)
        size = float(np.abs(grad).max())
        H = (rows * curvature[:, None]).T @ rows + n * long(C) * np.eye(len(w), dtype=long)
        if best is None or size < best[0]:
            best = (size, w, H, np.abs(grad) + 1e-19 * n * (np.abs(rows * slope[:, None]).mean(axis=0) + C * np.abs(w)))
            waited = 0
        else:
            waited += 1  # nothing but rounding is left, or a step onto the hinge's kink raised the gradient
            if waited > 3:
                break
        step, here, damping = _linear(H, grad), objective(w), long(1)
        while objective(w - damping * step) > here * (1 + long(1e-17)) and damping > 1e-9:
            damping /= 2
        w = w - damping * step
    assert best is not None
    _, w, H, left = best
    inverse = np.array([_linear(H, e) for e in np.eye(len(w), dtype=long)])
    return w, 4 * np.abs(inverse) @ left


def optimum_exact(X: np.ndarray, y: np.ndarray, C: float, loss: str, w: np.ndarray, digits: int = 50) -> list[Any]:
    """The same minimiser with mpmath, from a w that is right to some digits."""
    import mpmath as mp

    with mp.workdps(digits):
        rows = [[mp.mpf(float(v)) * int(s) for v in row] for row, s in zip(X, y, strict=True)]
        n, d = len(rows), len(w)
        at = [mp.mpf(int(v * 2**60)) / 2**60 if abs(v) < 8 else mp.mpf(float(v)) for v in w]
        for _ in range(60):
            H = mp.matrix(d, d)
            grad = mp.matrix([n * mp.mpf(C) * v for v in at])
            for j in range(d):
                H[j, j] = n * mp.mpf(C)
            for row in rows:
                z = mp.fsum(a * b for a, b in zip(row, at, strict=True))
                if loss == "logistic":
                    slope = -1 / (1 + mp.exp(z))
                    curvature = -slope * (1 + slope)
                else:
                    slope, curvature = -2 * max(mp.mpf(0), 1 - z), mp.mpf(2 if z < 1 else 0)
                for j in range(d):
                    grad[j] += slope * row[j]
                    if curvature:
                        for k in range(j, d):
                            H[j, k] += curvature * row[j] * row[k]
            for j in range(d):
                for k in range(j):
                    H[j, k] = H[k, j]
            if mp.norm(grad) <= n * mp.mpf(C) * mp.mpf(10) ** (-digits + 15):
                return at
            step = mp.lu_solve(H, grad)
            at = [a - s for a, s in zip(at, step, strict=True)]
    raise RuntimeError("no solution")


def optimum_damped(X: np.ndarray, y: np.ndarray, C: float, loss: str, digits: int = 90) -> list[Any]:
    """The same minimiser with mpmath from zero, by damped Newton steps: for any scale of columns and any C."""
    import mpmath as mp

    with mp.workdps(digits):
        rows = [[mp.mpf(float(v)) * int(s) for v in row] for row, s in zip(X, y, strict=True)]
        n, d, C = len(rows), X.shape[1], mp.mpf(float(C))
        w = [mp.mpf(0)] * d

        def objective(v: list[Any]) -> Any:
            z = [mp.fsum(a * b for a, b in zip(row, v, strict=True)) for row in rows]
            if loss == "logistic":
                phi = [mp.log1p(mp.exp(-abs(t))) + max(-t, mp.mpf(0)) for t in z]
            else:
                phi = [max(mp.mpf(0), 1 - t) ** 2 for t in z]
            return n * C / 2 * mp.fsum(a * a for a in v) + mp.fsum(phi)

        here = objective(w)
        for _ in range(400):
            grad, H = [n * C * v for v in w], n * C * mp.eye(d)
            for row in rows:
                z = mp.fsum(a * b for a, b in zip(row, w, strict=True))
                if loss == "logistic":
                    slope = -1 / (1 + mp.exp(z))
                    curvature = -slope * (1 + slope)
                else:
                    slope, curvature = -2 * max(mp.mpf(0), 1 - z), mp.mpf(2 if z < 1 else 0)
                for j in range(d):
                    grad[j] += slope * row[j]
                    for k in range(d):
                        H[j, k] += curvature * row[j] * row[k]
            step = mp.lu_solve(H, mp.matrix(grad))
            fall = mp.fsum(a * b for a, b in zip(step, grad, strict=True))
            if fall <= mp.mpf(10) ** (-digits - 10) * here:
                return w
            size = mp.mpf(1)
            while objective([a - size * s for a, s in zip(w, step, strict=True)]) > here - size * fall / 1000:
                size /= 2
                if size < mp.mpf(10) ** -60:  # nothing but rounding is left
                    return w
            w = [a - size * s for a, s in zip(w, step, strict=True)]
            here = objective(w)
    raise RuntimeError("no solution")


# mpu-fogd
class NaiveMPUFOGD:
    """Equations (5)-(7) row by row on dense arrays: z = u x + b, phi = a cos z (or a (cos z, sin z)), whole gradients.

    y is a class index; two classes have one w. `sigma` None: .4 sqrt(2 mean |x|^2) over the rows learned so far.
    """

    def __init__(self, u: np.ndarray, b: np.ndarray, eta1: float, eta2: float, eta3: float, scale: float,
                 classes: int = 2, pairs: bool = False, rotation: float = math.inf, sigma: float | None = 1.0,
                 standardize: bool = False) -> None:  # fmt: skip
        D, d = u.shape
        self.u, self.b = u.astype(float).copy(), b.astype(float).copy()
        self.eta1, self.eta2, self.eta3, self.scale = eta1, eta2, eta3, scale
        self.pairs, self.rotation, self.standardize = pairs, rotation, standardize
        self.w = np.zeros((classes if classes > 2 else 1, 2 * D if pairs else D))
        self.auto, self.sigma = sigma is None, 1.0 if sigma is None else sigma
        self.learned: list[np.ndarray] = []
        self.seen: list[np.ndarray] = []

    def scaled(self, x: np.ndarray) -> np.ndarray:
        if not self.standardize:
            nonzero = np.any(np.array(self.seen) != 0.0, axis=0) if self.seen else np.zeros(len(x), bool)
            return np.where(nonzero, x, 0.0)
        if not self.seen:
            return np.zeros(len(x))
        mean, sd = np.mean(self.seen, axis=0), np.std(self.seen, axis=0)
        value = np.where(sd > 0.0, (x - mean) / np.where(sd > 0.0, sd, 1.0), 0.0)
        return np.clip(value, -5.0, 5.0) if len(self.seen) > 26 else value

    def map(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self.u @ x / self.sigma + self.b
        cos, sin = self.scale * np.cos(z), self.scale * np.sin(z)
        return (np.append(cos, sin), np.append(-sin, cos)) if self.pairs else (cos, -sin)

    def scores(self, x: np.ndarray) -> np.ndarray:
        return self.w @ self.map(self.scaled(x))[0]

    def loss(self, x: np.ndarray, y: int) -> float:
        """The hinge loss of a row that is scaled already."""
        f = self.w @ self.map(x)[0]
        if len(self.w) == 1:
            return 1.0 - (f[0] if y == 1 else -f[0])
        return 1.0 - f[y] + max(f[r] for r in range(len(f)) if r != y)

    def learn(self, x: np.ndarray, y: int, weight: float = 1.0) -> bool:
        self.seen.append(x)
        x = self.scaled(x)
        phi, slope = self.map(x)
        f = self.w @ phi
        if len(self.w) == 1:
            moves = [(0, 1.0 if y == 1 else -1.0)]
        else:
            rivals = np.where(np.arange(len(f)) == y, -np.inf, f)
            moves = [(y, 1.0), (int(np.argmax(rivals)), -1.0)]
        update = bool(1.0 - sum(sign * f[k] for k, sign in moves) > 0.0)
        if update:
            v = sum(sign * self.w[k] for k, sign in moves)
            g = -(v * slope)
            g = g[: len(self.b)] + g[len(self.b) :] if self.pairs else g
            h, steep = self.eta2 * weight, np.abs(g).max() * (x @ x)
            if steep * h > self.rotation:
                h = self.rotation / steep
            for k, sign in moves:
                self.w[k] += sign * weight * self.eta1 * phi
            # u is kept in units of 1 / sigma.
            self.u -= h * self.sigma * np.outer(g, x)
            self.b -= self.eta3 * weight * g
        if self.auto and x @ x > 0.0:
            self.learned.append(x)
            self.sigma = 0.4 * math.sqrt(2.0 * np.mean([row @ row for row in self.learned]))
        return update


# kernel-experts
class NaiveExperts:
    """The five experts with whole matrices and lists, and the vote; rows must be standardised, y is a class index."""

    def __init__(self, u: np.ndarray, eta1: float, eta2: float, scale: float, classes: int, rotation: float,
                 few: int, forgetting: float, window: int) -> None:  # fmt: skip
        self.window, self.rows = window, []
        self.mpu = NaiveMPUFOGD(u, np.zeros(len(u)), eta1, eta2, 0.0, scale, classes, True, rotation, None, True)
        outputs = len(self.mpu.w)
        self.few, self.forgetting, self.scale = few, forgetting, scale
        self.recursive, self.inverse = np.zeros((outputs, 2 * few)), np.eye(2 * few) / 0.1
        self.linear, self.intercept = np.zeros((outputs, 2, u.shape[1])), np.zeros((outputs, 2))
        self.trust = np.full(5, 0.5)

    def scores(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        phi = self.mpu.map(x)[0]
        half = len(phi) // 2
        part = np.append(phi[: self.few], phi[half : half + self.few]) / self.scale / math.sqrt(self.few)
        lines = self.linear @ x + self.intercept
        return part, [self.mpu.w @ phi, self.recursive @ part, lines[:, 0], lines[:, 1]]

    def softmax(self, f: np.ndarray) -> np.ndarray:
        f = np.array([0.0, f[0]]) if len(f) == 1 else f
        return np.exp(f - f.max()) / np.exp(f - f.max()).sum()

    def neighbours(self, x: np.ndarray) -> np.ndarray:
        """Shares of the classes among the five nearest of the last rows, the newest first at a tie."""
        say = np.zeros(max(2, len(self.linear)))
        newest_first = [(math.dist(x, row), w, y) for row, w, y in reversed(self.rows[-self.window :])]
        for distance, w, y in sorted(newest_first, key=lambda entry: round(entry[0], 9))[:5]:
            say[y] += w / (1e-9 + distance)
        return say / say.sum() if self.rows else np.full(len(say), 1.0 / len(say))

    def proba(self, x: np.ndarray) -> np.ndarray:
        x = self.mpu.scaled(x)
        _, scores = self.scores(x)
        share = np.exp(20.0 * self.trust)
        scores[1] = scores[1] * (3.0 if len(self.linear) == 1 else 6.0)
        parts = [*(self.softmax(f) for f in scores), self.neighbours(x)]
        return share / share.sum() @ np.array(parts)

    def learn(self, x: np.ndarray, y: int, w: float = 1.0) -> None:
        raw = x
        seen = [*self.mpu.seen, raw]
        kept, self.mpu.seen = self.mpu.seen, seen
        x = self.mpu.scaled(raw)
        phi, scores = self.scores(x)
        self.mpu.seen = kept
        self.mpu.learn(raw, y, w)
        outputs = len(self.linear)
        signs = np.array([1.0 if y == 1 else -1.0]) if outputs == 1 else np.where(np.arange(outputs) == y, 1.0, -1.0)
        winners = [int(f[0] > 0) if outputs == 1 else int(np.argmax(f)) for f in scores]
        winners.append(int(np.argmax(self.neighbours(x))))
        self.rows.append((x, w, y))
        self.trust += 0.01 * (np.array(winners) == y) - 0.01 * self.trust
        v = self.inverse @ phi
        c = self.forgetting / w + phi @ v
        self.recursive += np.outer((signs if outputs == 1 else 0.5 * signs) - scores[1], v) / c
        shrunk = self.inverse - np.outer(v, v) / c
        grown = shrunk / self.forgetting
        self.inverse = grown if np.trace(grown) <= len(v) / 0.1 else shrunk
        if outputs == 1:
            moves = [(0, signs[0])]
        else:
            rivals = np.where(np.arange(outputs) == y, -np.inf, scores[2])
            moves = [(y, 1.0), (int(np.argmax(rivals)), -1.0)]
        loss, norm = 1.0 - sum(sign * scores[2][k] for k, sign in moves), len(moves) * (x @ x)
        if loss > 0.0 and norm > 0.0:
            for k, sign in moves:
                self.linear[k, 0] += sign * w * min(1.0, loss / norm) * x
                self.intercept[k, 0] += sign * w * min(1.0, loss / norm)
        errors = np.eye(max(2, outputs))[y] - self.softmax(scores[3])
        step = w * min(0.02, 1.0 / (x @ x) if x @ x else 1.0) * errors[-outputs:]
        self.linear[:, 1] += np.outer(step, x)
        self.intercept[:, 1] += step


# sparse rows ----------------------------------------------------------------------------------------------------------


class SparseScaler:
    """Divides by the population deviation of all rows so far, zeros included, without centring; keeps every row."""

    def __init__(self, width):
        self.rows, self.width = [], width

    def learn(self, x):
        row = np.zeros(self.width)
        for j, value in x.items():
            row[j] = value
        self.rows.append(row)

    def scaled(self, x):
        deviation = np.std(self.rows, axis=0)
        return {j: value / deviation[j] if deviation[j] > 0 else 0.0 for j, value in x.items()}


# streams for tests ----------------------------------------------------------------------------------------------------


def wavy(n=120, d=4, seed=0, classes=2):
    """X (n, d) uniform on [-1, 1] and classes (n,) that no line separates."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, (np.floor(classes * (np.abs(np.sin(3 * X[:, 0]) * X[:, 1 % d]) % 1))).astype(int)


def bundled(name):
    """X (n, d) and labels (n,) of a data set that ships with River."""
    rows = list(getattr(datasets, name)())
    keys = list(rows[0][0])
    return np.array([[float(x[k]) for k in keys] for x, _ in rows]), np.array([label for _, label in rows])


def proba(model, X):
    """The probabilities (n, classes) of the rows of X, one by one."""
    return np.array([list(model.predict_proba_one(dict(enumerate(x))).values()) for x in X.tolist()])
