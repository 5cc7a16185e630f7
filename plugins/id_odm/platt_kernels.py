"""Platt scaling: p = 1 / (1 + exp(a f + b)), fitted by Newton's method."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel


@kernel
def likelihood(f: np.ndarray, t: np.ndarray, w: np.ndarray, a: float, b: float) -> float:
    """sum_i w_i (-t_i log p_i - (1 - t_i) log(1 - p_i)), without overflow."""
    total = 0.0
    for i in range(f.shape[0]):
        z = a * f[i] + b
        if z >= 0.0:
            total += w[i] * (t[i] * z + math.log1p(math.exp(-z)))
        else:
            total += w[i] * ((t[i] - 1.0) * z + math.log1p(math.exp(z)))
    return total


@kernel
def fit(f: np.ndarray, positive: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """out (2,) = (a, b), a <= 0, for margins f (n,), 1 or 0 positive (n,) and weights w (n,).

    Targets are smoothed, (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that separable margins keep p from 0 and 1.
    a > 0 would turn the order of the margins around; then a = 0 and p is the smoothed share.
    """
    n = f.shape[0]
    up = down = 0.0
    for i in range(n):
        up += w[i] * positive[i]
        down += w[i] * (1.0 - positive[i])
    t = np.empty(n)
    for i in range(n):
        t[i] = (up + 1.0) / (up + 2.0) if positive[i] > 0.5 else 1.0 / (down + 2.0)
    a, b = 0.0, math.log((down + 1.0) / (up + 1.0))
    now = likelihood(f, t, w, a, b)
    for _ in range(100):
        ga = gb = 0.0
        haa, hab, hbb = 1e-12, 0.0, 1e-12
        for i in range(n):
            z = a * f[i] + b
            p = math.exp(-z) / (1.0 + math.exp(-z)) if z >= 0.0 else 1.0 / (1.0 + math.exp(z))
            d, h = w[i] * (t[i] - p), w[i] * p * (1.0 - p)
            ga += f[i] * d
            gb += d
            haa += f[i] * f[i] * h
            hab += f[i] * h
            hbb += h
        det = haa * hbb - hab * hab
        if not det > 0.0:
            break
        da, db = -(hbb * ga - hab * gb) / det, -(haa * gb - hab * ga) / det
        slope = ga * da + gb * db
        step = 1.0
        while step > 1e-10:
            value = likelihood(f, t, w, a + step * da, b + step * db)
            if value < now + 1e-4 * step * slope or abs(step * da) + abs(step * db) < 1e-9:
                break
            step *= 0.5
        a, b = a + step * da, b + step * db
        now = likelihood(f, t, w, a, b)
        if abs(da) + abs(db) < 1e-11 * (1.0 + abs(a) + abs(b)):
            break
    if not a <= 0.0:
        a, b = 0.0, math.log((down + 1.0) / (up + 1.0))
    out[0], out[1] = a, b
