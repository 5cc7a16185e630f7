"""Many changes at once, or P built anew: Cholesky factors from LAPACK instead of exchanges."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm import packed_kernels as packed
from onlinekit_plugins.id_odm.resolve_kernels import STALLS


class BulkSolver:
    """What the dual engine does by whole factors; the arrays are the engine's."""

    K: np.ndarray
    V: np.ndarray
    M: np.ndarray
    C: np.ndarray
    P: list[np.ndarray]
    U: list[np.ndarray]
    top: int
    tol: float

    def _factor(self, c: int, members: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Upper Cholesky factor of Q = K_SS + diag(il) in Fortran order, and z = Q^-1 t."""
        Q = self.K[np.ix_(members, members)]
        Q.flat[:: len(Q) + 1] += self.V[c, k.IL, members]
        factor, info = lapack.dpotrf(Q.T, lower=0, overwrite_a=1)
        if info != 0:
            raise ArithmeticError(
                "the kernel matrix is numerically not positive definite; scale the features or lower lam"
            )
        z, _ = lapack.dpotrs(factor, t, lower=0)
        return factor, z

    def _install(self, c: int, members: np.ndarray, factor: np.ndarray | None, z: np.ndarray) -> None:
        """P, b and the order of S from a factor."""
        V, M, C, s = self.V[c], self.M[c], self.C[c], len(members)
        if factor is not None:
            inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
            packed.pack(inverse.T, self.P[c])
        self.P[c][s * (s + 1) // 2 :] = 0.0
        V[k.B, : self.top] = 0.0
        V[k.B, members] = z
        V[k.LAST, : self.top] = -np.inf
        M[k.MEMBER, : self.top] = 0
        M[k.MEMBER, :s] = members
        M[k.POS, : self.top] = -1
        M[k.POS, members] = np.arange(s)
        self.U[c][:] = 0.0
        C[k.WAITING] = 0.0
        C[k.SIZE], C[k.PATH], C[k.GAP], C[k.SINCE], C[k.FOUND] = s, 0.0, 0.0, 0.0, 0.0
        C[k.REBUILDS] += 1.0

    def _rebuild(self, c: int) -> None:
        """P and z of the present S by a Cholesky factor."""
        members = self.M[c, k.MEMBER, : int(self.C[c, k.SIZE])].copy()
        factor, z = None, np.empty(0)
        if len(members):
            factor, z = self._factor(c, members, self.V[c, k.T, members])
        self._install(c, members, factor, z)

    def _bulk(self, c: int, forget: np.ndarray) -> None:
        """Block pivoting with a new factor each round: for many changes at once. `resolve` ends what it leaves."""
        V, M, top = self.V[c], self.M[c], self.top
        V[k.B, forget] = 0.0
        M[k.STATUS, forget] = k.FREE
        status, lo, hi, il = M[k.STATUS, :top].copy(), V[k.LO, :top], V[k.HI, :top], V[k.IL, :top]
        best, stalls = top + 1, 0
        while True:
            members = np.flatnonzero(status >= k.AT_LO)
            t = np.where(status[members] == k.AT_LO, lo[members], hi[members])
            factor, z = self._factor(c, members, t) if len(members) else (None, np.empty(0))
            b = np.zeros(top)
            b[members] = z
            f = self.K[:top, :top] @ b
            low, high = status == k.AT_LO, status == k.AT_HI
            wrong = ((low & (b < 0.0)) | (high & (b > 0.0))) & (il * np.abs(b) > self.tol) & (lo != hi)
            value = np.where(low, lo, np.where(high, hi, f)) - il * b
            idle = (status == k.IDLE) | wrong
            below, above = idle & ((value < lo - self.tol) | (lo == hi)), idle & (lo != hi) & (value > hi + self.tol)
            count = int((wrong | below | above).sum())
            best, stalls = (count, 0) if count < best else (best, stalls + 1)
            if count == 0 or stalls > STALLS:
                break
            status[wrong] = k.IDLE
            status[below], status[above] = k.AT_LO, k.AT_HI
        M[k.STATUS, :top] = status
        V[k.T, :top] = 0.0
        V[k.T, members] = t
        self._install(c, members, factor, z)
