"""Single samples of one output: in, out, another target, their leave-one-out values; arrays as in `kernels`."""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.exchange_kernels import diagonal, shift
from onlinekit_plugins.id_odm.kernels import (
    AT_HI,
    AT_LO,
    FREE,
    HI,
    IDLE,
    IL,
    LAST,
    LO,
    MEMBER,
    POS,
    RK,
    SIZE,
    STATUS,
    B,
    T,
)


@kernel
def retarget(
    P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    slot: int, lo: float, hi: float, il: float,
) -> bool:  # fmt: skip
    """Another interval for a sample in place where S allows it; False when it must leave S first.

    Its leave-one-out value f = t - z_j / P_jj says on which side of the new interval it stands.
    """
    if M[STATUS, slot] < AT_LO:
        V[LO, slot], V[HI, slot], V[IL, slot] = lo, hi, il
        V[LAST, slot] = -np.inf
        return True
    p = M[POS, slot]
    without = V[T, slot] - V[B, slot] / diagonal(P, C, U, sign, p)
    if il != V[IL, slot] or lo <= without <= hi:
        return False
    V[LO, slot], V[HI, slot] = lo, hi
    if without < lo:
        shift(P, V, M, C, U, sign, slot, lo)
        M[STATUS, slot] = AT_LO
    else:
        shift(P, V, M, C, U, sign, slot, hi)
        M[STATUS, slot] = AT_HI
    return True


@kernel
def left_out(
    P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray, out: np.ndarray
) -> None:  # fmt: skip
    """out (>= top,): f at each member of S without it, t_i - z_i / P_ii, exact if no set changes; else untouched."""
    for p in range(int(C[SIZE])):
        j = M[MEMBER, p]
        out[j] = V[T, j] - V[B, j] / diagonal(P, C, U, sign, p)


@kernel
def admit(
    V: np.ndarray, M: np.ndarray, K: np.ndarray, slots: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray
) -> None:  # fmt: skip
    """New samples (m,) begin idle and unevaluated, with intervals and 1 / (lambda w)."""
    for a in range(slots.shape[0]):
        j = slots[a]
        V[:, j] = 0.0
        V[LO, j], V[HI, j], V[IL, j] = lo[a], hi[a], il[a]
        V[LAST, j] = -np.inf
        V[RK, j] = math.sqrt(max(K[j, j], 0.0))
        M[STATUS, j] = IDLE
        M[POS, j] = -1


@kernel
def clear(V: np.ndarray, M: np.ndarray, slots: np.ndarray) -> None:
    """Zero what one output holds of these slots."""
    for j in slots:
        V[:, j] = 0.0
        M[STATUS, j] = FREE
        M[POS, j] = 0
