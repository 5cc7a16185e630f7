"""Exact leave-one-out values: all of a dual engine's output at once, or one by one of any engine."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm.bulk import BulkSolver
from onlinekit_plugins.id_odm.loo_kernels import leave_each_out, mirror
from onlinekit_plugins.id_odm.memory import announce


def left_out_exactly(engine: BulkSolver, c: int, slots: np.ndarray) -> np.ndarray:
    """f_c (n,) at the stored samples `slots` if each had never been there; NaN where the short way does not do.

    One factor of Q = K_SS + diag(il) gives the tableau of all exchanges from the present sets,
    [[Q^-1, -Q^-1 K_SI], [K_IS Q^-1, K_II - K_IS Q^-1 K_SI + diag(il)]]; leaving a sample out then moves few others
    over an edge, and costs O(m n) for those m. O(n^3) once, 24 n^2 bytes.
    """
    V, M = engine.V[c], engine.M[c]
    n, tol = len(slots), max(engine.tol, float(engine.C[c, k.NOISE]))
    announce(24 * n * n, n)
    rank = np.argsort(M[k.STATUS, slots] < k.AT_LO, kind="stable")  # members of S first
    order = slots[rank]
    s, out = int(engine.C[c, k.SIZE]), np.empty(n)
    S, idle = order[:s], order[s:]
    T, base = np.empty((n, n)), np.zeros(n)
    il = V[k.IL, order]
    if s:
        factor, base[:s] = engine._factor(c, S, V[k.T, S])
        cross = engine.K[np.ix_(idle, S)]
        base[s:] = cross @ base[:s]
        reach = np.empty((s, 0))
        if len(idle):
            reach, _ = lapack.dpotrs(factor, cross.T, lower=0)
        inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
        mirror(inverse.T, T)
        T[:s, s:], T[s:, :s] = reach, -reach.T
        T[s:, s:] = engine.K[np.ix_(idle, idle)] - cross @ reach
        T[s:, s:] += np.diag(il[s:])
    values = np.empty(n)
    leave_each_out(
        T, base, M[k.STATUS, order], V[k.LO, order], V[k.HI, order], il, V[k.T, order], tol, values
    )  # fmt: skip
    out[rank] = values
    return out


class Retargeting(Protocol):
    """What an engine must offer for `without`."""

    def intervals(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
    def retarget(self, slots: np.ndarray, lo: np.ndarray, hi: np.ndarray, il: np.ndarray) -> None: ...
    def rows(self, slots: np.ndarray) -> np.ndarray: ...
    def decision(self, X: np.ndarray) -> np.ndarray: ...


def without(engine: Retargeting, slot: int) -> np.ndarray:
    """f (outputs,) at a stored sample while its interval is the whole line; then it is put back."""
    at = np.array([slot])
    lo, hi, il = engine.intervals(at)
    engine.retarget(at, np.full_like(lo, -np.inf), np.full_like(hi, np.inf), il)
    f = engine.decision(engine.rows(at))[0]
    engine.retarget(at, lo, hi, il)
    return f
