"""Kernel functions of the interval-loss engine: Gram rows, decision values, and the layout of its arrays.

Samples live in slots 0..top-1; a free slot holds zeros.

- X (capacity, columns >= dim): rows; K (capacity, capacity): Gram matrix in slot order; alive (capacity,): 1 or 0
- V (rows, capacity), one for each output: the slot vectors named below
- M (3, capacity): MEMBER = slots of the active set S in its order, POS = position in S, STATUS
- C (16,): sizes, path length and counts of one output
- P (capacity (capacity + 1) / 2,), U (ROOM, capacity), sign (ROOM,): P + sum_a sign_a u_a u_a' over the terms that wait
  is (K_SS + diag(il))^-1 in the order of S; P is its lower triangle, row i at i (i + 1) / 2
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel

# Long sums may be reordered (SIMD); their rounding is bounded by the refinement. NaN and infinity stay values.
FAST = ("reassoc", "contract", "nsz", "arcp")

LINEAR, RBF = range(2)

# V: coefficient b, interval, 1 / (lambda w), f at the last evaluation and the path length then, target, sqrt(k_ii)
B, LO, HI, IL, F, LAST, T, RK = range(8)
V_ROWS = 8
MEMBER, POS, STATUS = range(3)
FREE, IDLE, AT_LO, AT_HI = range(4)  # IDLE: set C (inside its interval); AT_LO, AT_HI: set S, b > 0 and b < 0
SIZE, PATH, GAP, SINCE, TURN, FOUND, NOISE, EXCHANGES, BLOCKS, REFINEMENTS, REBUILDS, FALLBACKS, EVALUATIONS = range(13)
SPAN = 13  # sum of |db| since the residual was last looked at
WAITING = 14  # terms of P that wait for a pass
C_SIZE = 16
ROOM = 32  # terms that can wait, a multiple of 4


@kernel(fastmath=FAST)
def similarity(x: np.ndarray, z: np.ndarray, dim: int, kind: int, gamma: float, coef0: float) -> float:
    """k(x, z) of two rows: x'z + coef0 or exp(-gamma |x - z|^2) + coef0.

    The RBF takes differences (not |x|^2 + |z|^2 - 2 x'z), so that duplicates give exactly 1.
    """
    total = 0.0
    if kind == RBF:
        for j in range(dim):
            total += (x[j] - z[j]) * (x[j] - z[j])
        return math.exp(-gamma * total) + coef0
    for j in range(dim):
        total += x[j] * z[j]
    return total + coef0


@kernel
def place(
    X: np.ndarray, K: np.ndarray, alive: np.ndarray, top: int, rows: np.ndarray, slots: np.ndarray,
    kind: int, gamma: float, coef0: float,
) -> None:  # fmt: skip
    """Put rows (m, dim) into slots (m,), with their Gram rows and columns against all living slots."""
    dim = rows.shape[1]
    for a in range(slots.shape[0]):
        i = slots[a]
        for j in range(dim):
            X[i, j] = rows[a, j]
        alive[i] = 1
        for j in range(top):
            if alive[j]:
                value = similarity(X[i], X[j], dim, kind, gamma, coef0)
                K[i, j] = value
                K[j, i] = value


@kernel
def gram(
    X: np.ndarray, K: np.ndarray, alive: np.ndarray, top: int, dim: int,
    kind: int, gamma: float, coef0: float,
) -> None:  # fmt: skip
    """All of K anew, after the kernel changed."""
    for i in range(top):
        for j in range(i + 1):
            if alive[i] and alive[j]:
                value = similarity(X[i], X[j], dim, kind, gamma, coef0)
                K[i, j] = value
                K[j, i] = value


@kernel
def wipe(X: np.ndarray, K: np.ndarray, alive: np.ndarray, top: int, slots: np.ndarray) -> None:
    """Zero everything that the shared arrays hold of these slots."""
    for i in slots:
        alive[i] = 0
        X[i, :] = 0.0
        K[i, :top] = 0.0
        for j in range(top):
            K[j, i] = 0.0


@kernel
def decide(
    X: np.ndarray, V: np.ndarray, top: int, rows: np.ndarray, out: np.ndarray,
    kind: int, gamma: float, coef0: float,
) -> None:  # fmt: skip
    """out (k, outputs): f_c(x) = sum_j b_cj k(x_j, x) for rows (k, dim); V (outputs, rows, capacity)."""
    outputs, dim = V.shape[0], rows.shape[1]
    out[:] = 0.0
    for j in range(top):
        used = False
        for c in range(outputs):
            used = used or V[c, B, j] != 0.0
        if used:
            for i in range(rows.shape[0]):
                value = similarity(rows[i], X[j], dim, kind, gamma, coef0)
                for c in range(outputs):
                    out[i, c] += V[c, B, j] * value
