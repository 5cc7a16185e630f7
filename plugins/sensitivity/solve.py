"""Newton's method for C/2 |w|^2 + (1/n) sum_i phi(y_i x_i.w)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from . import losses

_LARGEST_DENSE = 1500


def solve(X: Any, y: Any, C: float, loss: str, w0: Any = None, tol: float = 1e-10, max_iter: int = 200) -> np.ndarray:
    """Minimise f(w) = C/2 |w|^2 + (1/n) sum phi(y_i x_i.w) by damped Newton steps until |grad f(w)| <= tol.

    The Newton systems are solved by Cholesky up to 1500 features and by conjugate gradients beyond.

    Parameters
    ----------
    X, y
        Rows (n, d), dense or CSR, and labels (n,) in {-1, +1} (or bool).
    C, loss
        Strength of the penalty, above 0, and "logistic" or "squared_hinge".
    w0
        A warm start (d,).
    tol, max_iter
        Where to stop, and when to give up.

    Raises
    ------
    ValueError
        For bad input.
    RuntimeError
        When ``max_iter`` steps do not reach ``tol``.

    Examples
    --------
    >>> import numpy as np
    >>> solve(np.array([[1.0], [2.0]]), [1, 1], C=1.0, loss="squared_hinge").round(4).tolist()
    [0.5]
    """
    losses.check_loss(loss), losses.check_c(C)
    rows = losses.signed_rows(X, y)
    n, d = rows.shape
    if n == 0:
        raise ValueError("solve needs at least one row")
    losses.refuse_overflow(rows)
    w = np.zeros(d) if w0 is None else np.array(w0, dtype=float)
    if w.shape != (d,) or not np.all(np.isfinite(w)):
        raise ValueError(f"w0 must be {d} finite numbers")
    z = rows @ w
    for _ in range(max_iter):
        grad = C * w + rows.T @ losses.slope(loss, z) / n
        if np.linalg.norm(grad) <= tol:
            return w
        step = newton_direction(rows, z, grad, C, loss)
        size = line_search(rows, w, z, step, C, loss, float(step @ grad))
        if size == 0.0:
            raise RuntimeError(f"Newton's method stalled at |grad| = {np.linalg.norm(grad):.3g}")
        w = w - size * step
        z = rows @ w
    raise RuntimeError(f"no solution with |grad| <= {tol:g} in {max_iter} Newton steps")


def newton_direction(
    rows: Any, z: np.ndarray, grad: np.ndarray, C: float, loss: str, accuracy: float = 1e-6, steps: int = 1000
) -> np.ndarray:
    """H^-1 grad with H = C I + (1/n) sum phi''(z_i) x_i x_i', shape (d,).

    Beyond 1500 features, or where H is singular to rounding, by at most ``steps`` conjugate-gradient steps, to a
    relative residual of ``accuracy``.
    """
    n, d = rows.shape
    weights = losses.curvature(loss, z) / n
    if d <= _LARGEST_DENSE:
        hess = losses.weighted_gram(rows, weights)
        hess[np.diag_indices(d)] += C
        try:
            return np.asarray(cho_solve(cho_factor(hess), grad))
        except np.linalg.LinAlgError:
            pass
    x, rest = np.zeros(d), grad.copy()
    direction, size = rest.copy(), float(rest @ rest)
    target = size * accuracy * accuracy
    for _ in range(steps):
        if size <= target:
            break
        image = C * direction + rows.T @ (weights * (rows @ direction))
        length = size / float(direction @ image)
        x += length * direction
        rest -= length * image
        size, before = float(rest @ rest), size
        direction = rest + (size / before) * direction
    return x


def line_search(rows: Any, w: np.ndarray, z: np.ndarray, step: np.ndarray, C: float, loss: str, fall: float) -> float:
    """The first of 1, 1/2, 1/4, ... that lowers f(w - size step) enough, 0 when none above 1e-12 does."""

    def objective(v: np.ndarray, margins: np.ndarray) -> float:
        return float(0.5 * C * v @ v + losses.value(loss, margins).mean())

    here, image, size = objective(w, z), rows @ step, 1.0
    # Near the optimum the decrease drowns in rounding, hence the small allowance.
    while objective(w - size * step, z - size * image) > here - 1e-4 * size * fall + 1e-15 * abs(here):
        size *= 0.5
        if size < 1e-12:
            return 0.0
    return size
