"""What the exact engines are measured against: retraining solvers, data sets, and the machine's description."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

import numba
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from onlinekit.jit import kernel

FAST = ("reassoc", "contract", "nsz", "arcp")
NAMES = ("heart", "ionosphere", "breast_cancer_scale", "diabetes", "fourclass", "splice", "svmguide3", "madelon", "a2a")


@kernel(fastmath=FAST)
def rbf(X: np.ndarray, gamma: float, K: np.ndarray) -> None:
    """K (n, n) = exp(-gamma |x_i - x_j|^2)."""
    for i in range(X.shape[0]):
        for j in range(i + 1):
            s = 0.0
            for k in range(X.shape[1]):
                s += (X[i, k] - X[j, k]) * (X[i, k] - X[j, k])
            K[i, j] = K[j, i] = np.exp(-gamma * s)


@kernel(fastmath=FAST)
def dcd(
    K: np.ndarray, y: np.ndarray, lam: float, theta: float, tol: float, seed: int, b: np.ndarray, f: np.ndarray
) -> int:
    """Dual coordinate descent for the ODM: min 1/2 b'(K + I/lam)b - y'b + theta |b|_1; epochs done.

    Random permutations; f = Kb is kept, O(n) a step; stops when no coordinate's projected gradient exceeds tol.
    b and f (n,) are the start (zeros: cold) and the result.
    """
    np.random.seed(seed)
    n = y.shape[0]
    order = np.arange(n)
    for epoch in range(1, 100001):
        np.random.shuffle(order)
        worst = 0.0
        for i in order:
            q = K[i, i] + 1.0 / lam
            g = f[i] + b[i] / lam - y[i]
            if b[i] > 0.0:
                violation = abs(g + theta)
            elif b[i] < 0.0:
                violation = abs(g - theta)
            else:
                violation = max(abs(g) - theta, 0.0)
            worst = max(worst, violation)
            if violation > 0.0:
                u = q * b[i] - g
                new = (u - theta) / q if u > theta else ((u + theta) / q if u < -theta else 0.0)
                step = new - b[i]
                b[i] = new
                for j in range(n):
                    f[j] += step * K[i, j]
        if worst <= tol:
            return epoch
    return -1


def retrain(K: np.ndarray, y: np.ndarray, lam: float, theta: float, tol: float = 1e-3) -> np.ndarray:
    """A cold dual coordinate descent; f at the samples."""
    b, f = np.zeros(len(y)), np.zeros(len(y))
    if dcd(K, y, lam, theta, tol, 0, b, f) < 0:
        raise ArithmeticError("dual coordinate descent did not end")
    return f


def newton_dual(K: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray, b: np.ndarray) -> tuple:
    """Exact refit from b by active-set Newton with a Cholesky factor a step; (b, steps)."""
    f, steps = K @ b, 0
    while steps < 100:
        steps += 1
        t = np.clip(f, lo, hi)
        S = np.flatnonzero(f != t) if b.any() else np.arange(len(lo))
        Q = K[np.ix_(S, S)]
        Q[np.diag_indices(len(S))] += il[S]
        new = np.zeros(len(lo))
        new[S] = cho_solve(cho_factor(Q, lower=True, overwrite_a=True), np.where(f[S] < lo[S], lo[S], hi[S]))
        g = K @ new
        same = np.array_equal(np.sign(g - np.clip(g, lo, hi)), np.sign(f - t))
        b, f = new, g
        if same:
            break
    return b, steps


def newton_primal(X: np.ndarray, lo: np.ndarray, hi: np.ndarray, lam: float, w: np.ndarray) -> tuple:
    """Exact refit of w from w by Newton steps with whole matrices (equal weights); (w, steps)."""
    f = X @ w
    side = np.sign(f - np.clip(f, lo, hi))
    for step in range(1, 101):
        S = side != 0
        XS, t = X[S], np.where(side[S] < 0, lo[S], hi[S])
        w = cho_solve(cho_factor(np.eye(X.shape[1]) + lam * (XS.T @ XS)), lam * (XS.T @ t))
        f = X @ w
        new = np.sign(f - np.clip(f, lo, hi))
        if np.array_equal(new, side):
            return w, step
        side = new
    raise ArithmeticError("Newton did not end")


def data_folder(given: str | None) -> Path | None:
    """The folder of the data sets: the option, else ONLINEKIT_DATA."""
    folder = given or os.environ.get("ONLINEKIT_DATA")
    return Path(folder) if folder else None


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """X scaled to [0, 1] by columns, y in {-1, 1}; rows in a fixed random order."""
    sys.path.insert(0, str(folder))
    from load import load

    raw = load(name, dtype=np.float64)
    X, y = raw["X"], np.where(raw["y"] > 0, 1.0, -1.0)
    low, span = X.min(axis=0), np.ptp(X, axis=0)
    order = np.random.default_rng(0).permutation(len(y))
    return np.ascontiguousarray(((X - low) / np.where(span > 0, span, 1.0))[order]), y[order]


def cpu(work, *args):
    """CPU seconds of a call, and its result."""
    start = time.process_time()
    result = work(*args)
    return time.process_time() - start, result


def geomean(values) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def machine() -> str:
    """Versions and processor, for the head of a table."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}; {model}"
