"""Newton's method for C/2 |w|^2 + (1/n) sum_i phi(y_i x_i.w)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from . import losses


def solve(X: Any, y: Any, C: float, loss: str, w0: Any = None, tol: float = 1e-10, max_iter: int = 200) -> np.ndarray:
    """Return w, shape (d,), with |grad f(w)| <= tol, f(w) = C/2 |w|^2 + (1/n) sum phi(y_i x_i.w).

    X is dense or CSR, shape (n, d); y in {-1, +1}; w0 is a warm start. Raises ValueError for bad input and
    RuntimeError when ``max_iter`` damped Newton steps do not reach ``tol``.

    >>> import numpy as np
    >>> solve(np.array([[1.0], [2.0]]), [1, 1], C=1.0, loss="squared_hinge").round(4).tolist()
    [0.5]
    """
    losses.check_loss(loss), losses.check_c(C)
    rows = losses.signed_rows(X, y)
    n, d = rows.shape
    if n == 0:
        raise ValueError("solve needs at least one row")
    w = np.zeros(d) if w0 is None else np.array(w0, dtype=float)
    if w.shape != (d,) or not np.all(np.isfinite(w)):
        raise ValueError(f"w0 must be {d} finite numbers")

    def objective(v: np.ndarray, z: np.ndarray) -> float:
        return float(0.5 * C * v @ v + losses.value(loss, z).mean())

    z = rows @ w
    for _ in range(max_iter):
        grad = C * w + rows.T @ losses.slope(loss, z) / n
        if np.linalg.norm(grad) <= tol:
            return w
        hess = losses.weighted_gram(rows, losses.curvature(loss, z) / n)
        hess[np.diag_indices(d)] += C
        step = cho_solve(cho_factor(hess), grad)
        here, size, fall = objective(w, z), 1.0, float(step @ grad)
        # Near the optimum the decrease drowns in rounding, hence the small allowance.
        while objective(w - size * step, rows @ (w - size * step)) > here - 1e-4 * size * fall + 1e-15 * abs(here):
            size *= 0.5
            if size < 1e-12:
                raise RuntimeError(f"Newton's method stalled at |grad| = {np.linalg.norm(grad):.3g}")
        w = w - size * step
        z = rows @ w
    raise RuntimeError(f"no solution with |grad| <= {tol:g} in {max_iter} Newton steps")
