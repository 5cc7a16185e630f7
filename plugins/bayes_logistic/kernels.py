"""Kernels of the drift-aware Bayesian logistic regression.

M models (1, or 5 for drift="auto") share one row of F features; the intercept is kept apart:

- stats (4, F): see onlinekit.scaling, used if `standardize`
- mean (M, F), cov (M, F, F) or (M, F, 1) if `diag`, cross (M, F): covariance of each weight with the intercept
- state (M, 7): drift level, label count, intercept mean, its variance, log weight, features started + 1, its c
- rates (M, F): drift constants c_j

F is the length of the row; the arrays may have spare columns behind it.
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit.scaling import watch

LEVEL, COUNT, MEAN0, VAR0, LOGW, STARTED, RATE0 = range(7)
NONE, UNCERTAINTY, UNCERTAINTY_MEAN, CONSTANT, AUTO = range(5)
FADING = 0.99  # of the log weights of the models that "auto" mixes
P_MIN, P_MAX = 1e-300, 1.0 - 2.0**-53  # a float64 sigmoid would round to exactly 0 or 1


@kernel
def sigmoid(a: float) -> float:
    """1 / (1 + exp(-a)), kept inside the open interval (0, 1)."""
    if a >= 0.0:
        return min(1.0 / (1.0 + math.exp(-a)), P_MAX)
    e = math.exp(a)
    return max(e / (1.0 + e), P_MIN)


@kernel
def moderated(a: float, s2: float) -> float:
    """E sigm(N(a, s2)) by the probit approximation (2.17), (2.20): sigm(a / sqrt(1 + pi s2 / 8))."""
    return sigmoid(a / math.sqrt(1.0 + math.pi * s2 / 8.0))


@kernel
def level(state: np.ndarray, m: int, mode: int) -> float:
    """The drift level v that the next step inflates with."""
    if mode == NONE:
        return 0.0
    if mode >= CONSTANT:
        return 1.0
    return max(state[m, LEVEL], 0.0)


@kernel
def scaled(x: np.ndarray, stats: np.ndarray, standardize: bool) -> np.ndarray:
    """The row (F) as the weights see it: (x - mean) / sd if `standardize`; a constant feature gives 0."""
    z = x.copy()
    if standardize:
        for j in range(x.shape[0]):
            z[j] = (x[j] - stats[1, j]) * stats[3, j]
    return z


@kernel
def inflation(cj: float, v: float, prior_var: float, bounded: bool) -> tuple[float, float]:
    """(r, add): the inflated variance of one weight is r^2 * variance + add."""
    if bounded:
        rho = min(1.0, v * cj / prior_var)
        return math.sqrt(1.0 - rho), rho * prior_var
    return 1.0, v * cj


@kernel
def project(
    m: int, x: np.ndarray, u: np.ndarray, r: np.ndarray, add: np.ndarray, mean: np.ndarray,
    cov: np.ndarray, cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float, mode: int,
    bounded: bool, diag: bool, intercept: bool,
) -> tuple[float, float]:  # fmt: skip
    """a = mu'x, s2 = x'Px and u = Px (F + 1, the intercept last); r and add (F + 1) describe P = R S R + add."""
    n = x.shape[0]
    v = level(state, m, mode)
    started = int(state[m, STARTED]) - 1
    r0, add0 = inflation(state[m, RATE0], v, prior_var, bounded)
    var0 = state[m, VAR0]
    a = 0.0
    for j in range(n):
        u[j] = 0.0
        if j < started:
            r[j], add[j] = inflation(rates[m, j], v, prior_var, bounded)
        else:
            add[j] = 0.0
            r[j] = 1.0  # a new weight is at its prior, which does not drift before its first step
        a += mean[m, j] * x[j]
    u0 = 0.0
    for k in range(n):
        z = r[k] * x[k]
        if z == 0.0:
            continue
        if k >= started:
            u[k] += prior_var * z
        elif diag:
            u[k] += cov[m, k, 0] * z
        else:
            for j in range(n):
                u[j] += cov[m, k, j] * z
        u0 += cross[m, k] * z
    s2 = 0.0
    for j in range(n):
        if intercept:
            u[j] += cross[m, j] * r0
        u[j] = r[j] * u[j] + add[j] * x[j]
        s2 += x[j] * u[j]
    if intercept:
        u[n] = r0 * (u0 + var0 * r0) + add0
        a += state[m, MEAN0]
        s2 += u[n]  # type: ignore[assignment]
    r[n] = r0
    add[n] = add0
    return a, max(s2, 0.0)


@kernel
def start(m: int, n: int, cov: np.ndarray, state: np.ndarray, prior_var: float, diag: bool) -> None:
    """Put the features that are new at their prior."""
    for j in range(max(int(state[m, STARTED]) - 1, 0), n):
        cov[m, j, 0 if diag else j] = prior_var
    state[m, STARTED] = n + 1


@kernel
def absorb(
    m: int, u: np.ndarray, r: np.ndarray, add: np.ndarray, gain: float, step: float, mean: np.ndarray,
    cov: np.ndarray, cross: np.ndarray, state: np.ndarray, diag: bool, intercept: bool,
) -> None:  # fmt: skip
    """Sigma = P - gain u u', mu += step u in one pass; h = sqrt(gain) u keeps Sigma bitwise symmetric."""
    n = u.shape[0] - 1
    root = math.sqrt(gain)
    h0 = root * u[n]
    for j in range(n):
        h = root * u[j]
        if diag:
            cov[m, j, 0] = r[j] * r[j] * cov[m, j, 0] + add[j] - h * h
        else:
            for k in range(n):
                cov[m, j, k] = (r[j] * r[k]) * cov[m, j, k] - h * (root * u[k])
            cov[m, j, j] += add[j]
            if intercept:
                cross[m, j] = (r[j] * r[n]) * cross[m, j] - h * h0
        mean[m, j] += step * u[j]
    if intercept:
        state[m, VAR0] = r[n] * r[n] * state[m, VAR0] + add[n] - h0 * h0
        state[m, MEAN0] += step * u[n]


@kernel
def shares(state: np.ndarray) -> np.ndarray:
    """The weights (M) of the mixed models: softmax of their log weights."""
    out = np.exp(state[:, LOGW] - state[:, LOGW].max())
    return out / out.sum()


@kernel
def learn(
    x: np.ndarray, y: int, w: float, stats: np.ndarray, mean: np.ndarray, cov: np.ndarray,
    cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float, alpha: float, mode: int,
    bounded: bool, adf: bool, diag: bool, intercept: bool, standardize: bool,
) -> int:  # fmt: skip
    """One labelled step, y in {0, 1}, w the sample weight; -1 if the row, or what follows from it, is not finite."""
    n, models = x.shape[0], mean.shape[0]
    new = stats.copy() if standardize else stats
    for j in range(n):
        if not math.isfinite(x[j]):
            return -1
    if standardize:
        watch(x, new)
    z = scaled(x, new, standardize)
    u, r, add = np.zeros((models, n + 1)), np.ones((models, n + 1)), np.zeros((models, n + 1))
    a, s2 = np.empty(models), np.empty(models)
    for m in range(models):
        a[m], s2[m] = project(m, z, u[m], r[m], add[m], mean, cov, cross, state, rates,
                              prior_var, mode, bounded, diag, intercept)  # fmt: skip
        if not (math.isfinite(a[m]) and math.isfinite(s2[m])):
            return -1
    if standardize:
        stats[:] = new
    for m in range(models):
        start(m, n, cov, state, prior_var, diag)
        p = moderated(a[m], s2[m])
        pq = p * (1.0 - p)
        if adf:
            k = 1.0 / math.sqrt(1.0 + math.pi * s2[m] / 8.0)
            share = w / (1.0 + (w - 1.0) * k * k * pq * s2[m])
            gain, step = k * k * pq * share, k * (y - p) * share
        else:
            share = w / (1.0 + w * pq * s2[m])
            gain, step = pq * share, (y - p) * share
        absorb(m, u[m], r[m], add[m], gain, step, mean, cov, cross, state, diag, intercept)
        after = moderated(a[m] + s2[m] * step, max(s2[m] - gain * s2[m] * s2[m], 0.0))
        g = min(after, 1.0 - after) - min(p, 1.0 - p)
        if mode == UNCERTAINTY:
            g = max(g, 0.0)
        state[m, COUNT] = alpha * state[m, COUNT] + 1.0
        state[m, LEVEL] += (g - state[m, LEVEL]) / state[m, COUNT]
        if models > 1:
            state[m, LOGW] = FADING * state[m, LOGW] + math.log(p if y == 1 else 1.0 - p)
    return 0


@kernel
def logits(
    x: np.ndarray, extra: float, a: np.ndarray, s2: np.ndarray, stats: np.ndarray, mean: np.ndarray,
    cov: np.ndarray, cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float,
    alpha: float, mode: int, bounded: bool, adf: bool, diag: bool, intercept: bool, standardize: bool,
) -> int:  # fmt: skip
    """Fill a and s2 (M) with the mean and variance of the logit; `extra` is the variance of unseen features."""
    n = x.shape[0]
    z = scaled(x, stats, standardize)
    u, r, add = np.zeros(n + 1), np.ones(n + 1), np.zeros(n + 1)
    for m in range(mean.shape[0]):
        a[m], s2[m] = project(m, z, u, r, add, mean, cov, cross, state, rates,
                              prior_var, mode, bounded, diag, intercept)  # fmt: skip
        s2[m] += extra
        if not (math.isfinite(a[m]) and math.isfinite(s2[m])):
            return -1
    return 0


@kernel
def predict_extra(
    x: np.ndarray, extra: float, out: np.ndarray, stats: np.ndarray, mean: np.ndarray, cov: np.ndarray,
    cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float, alpha: float, mode: int,
    bounded: bool, adf: bool, diag: bool, intercept: bool, standardize: bool,
) -> int:  # fmt: skip
    """out (2) = probabilities of False and True; the winner, or -1 if the row is not finite."""
    a, s2 = np.empty(mean.shape[0]), np.empty(mean.shape[0])
    if logits(x, extra, a, s2, stats, mean, cov, cross, state, rates,
              prior_var, alpha, mode, bounded, adf, diag, intercept, standardize) < 0:  # fmt: skip
        return -1
    p = moderated(a[0], s2[0])
    if mean.shape[0] > 1:
        share = shares(state)
        p = 0.0
        for m in range(mean.shape[0]):
            p += share[m] * moderated(a[m], s2[m])
        p = min(max(p, P_MIN), P_MAX)
    out[0], out[1] = 1.0 - p, p
    return 1 if p > 0.5 else 0


@kernel
def predict(
    x: np.ndarray, out: np.ndarray, stats: np.ndarray, mean: np.ndarray, cov: np.ndarray,
    cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float, alpha: float, mode: int,
    bounded: bool, adf: bool, diag: bool, intercept: bool, standardize: bool,
) -> int:  # fmt: skip
    """predict_extra without features never seen."""
    return predict_extra(x, 0.0, out, stats, mean, cov, cross, state, rates,
                         prior_var, alpha, mode, bounded, adf, diag, intercept, standardize)  # fmt: skip


@kernel
def learn_rows(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, stats: np.ndarray, mean: np.ndarray, cov: np.ndarray,
    cross: np.ndarray, state: np.ndarray, rates: np.ndarray, prior_var: float, alpha: float, mode: int,
    bounded: bool, adf: bool, diag: bool, intercept: bool, standardize: bool,
) -> None:  # fmt: skip
    """learn row by row."""
    for t in range(X.shape[0]):
        learn(X[t], y[t], w[t], stats, mean, cov, cross, state, rates,
              prior_var, alpha, mode, bounded, adf, diag, intercept, standardize)  # fmt: skip


@kernel
def predict_rows(
    X: np.ndarray, extra: np.ndarray, winners: np.ndarray, out: np.ndarray, stats: np.ndarray,
    mean: np.ndarray, cov: np.ndarray, cross: np.ndarray, state: np.ndarray, rates: np.ndarray,
    prior_var: float, alpha: float, mode: int, bounded: bool, adf: bool, diag: bool, intercept: bool,
    standardize: bool,
) -> None:  # fmt: skip
    """predict_extra row by row."""
    for t in range(X.shape[0]):
        winners[t] = predict_extra(X[t], extra[t], out[t], stats, mean, cov, cross, state, rates,
                                   prior_var, alpha, mode, bounded, adf, diag, intercept, standardize)  # fmt: skip


@kernel
def prequential_rows(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, winners: np.ndarray, out: np.ndarray, stats: np.ndarray,
    mean: np.ndarray, cov: np.ndarray, cross: np.ndarray, state: np.ndarray, rates: np.ndarray,
    prior_var: float, alpha: float, mode: int, bounded: bool, adf: bool, diag: bool, intercept: bool,
    standardize: bool,
) -> None:  # fmt: skip
    """predict, then learn, row by row."""
    for t in range(X.shape[0]):
        winners[t] = predict_extra(X[t], 0.0, out[t], stats, mean, cov, cross, state, rates,
                                   prior_var, alpha, mode, bounded, adf, diag, intercept, standardize)  # fmt: skip
        learn(X[t], y[t], w[t], stats, mean, cov, cross, state, rates,
              prior_var, alpha, mode, bounded, adf, diag, intercept, standardize)  # fmt: skip
