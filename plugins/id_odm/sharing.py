"""One inverse for all outputs of a dual engine while every interval is a point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm import packed_kernels as packed
from onlinekit_plugins.id_odm.bulk import BulkSolver
from onlinekit_plugins.id_odm.exchange_kernels import flush
from onlinekit_plugins.id_odm.memory import announce
from onlinekit_plugins.id_odm.polish_kernels import polish


def are_points(lo: np.ndarray, hi: np.ndarray) -> bool:
    """Whether all intervals are points, but for those of samples without a say."""
    return bool(((lo == hi) | (lo == -np.inf) & (hi == np.inf)).all())


class SharedInverse(BulkSolver):
    """Where lo = hi for every sample (ridge regression on labels), S is all samples, whatever the targets are.

    Then P = (K + diag(il))^-1 is the same for every output, and only b = P t is not: output 0 exchanges samples, the
    others take its inverse, the very same arrays, and solve for their targets in one pass over it.
    """

    points: bool
    sign: list[np.ndarray]

    def _arrays(self, c: int) -> tuple[Any, ...]:
        """What the kernels of one output take first."""
        return self.K, self.P[c], self.V[c], self.M[c], self.C[c], self.U[c], self.sign[c]

    @property
    def shared(self) -> bool:
        """Whether the outputs have one inverse."""
        return self.points and len(self.P) > 1

    def _share(self) -> None:
        """An empty engine: one inverse for all, until an interval is none."""
        self.points = True
        for arrays in (self.P, self.U, self.sign):
            arrays[:] = arrays[:1] * len(arrays)

    def _announce_parting(self) -> None:
        if self.shared:
            announce((len(self.P) - 1) * self.P[0].nbytes, int(self.C[0, k.SIZE]))

    def _part(self) -> None:
        """To each output its own inverse."""
        self.points = False
        for arrays in (self.P, self.U, self.sign):
            arrays[1:] = [arrays[0].copy() for _ in arrays[1:]]

    def _follow(self, outputs: Iterable[int]) -> None:
        """b of some outputs from the inverse of output 0 and their targets."""
        outputs = list(outputs)
        for _ in range(3):
            s, waiting, top = int(self.C[0, k.SIZE]), int(self.C[0, k.WAITING]), self.top
            members = self.M[0, k.MEMBER, :s].copy()
            T = np.zeros((len(outputs) + len(outputs) % 2, s))  # `times` takes rows by twos
            T[: len(outputs)] = self.V[outputs, k.LO][:, members]
            Z = np.empty_like(T)
            packed.times(self.P[0], s, T, Z)
            U = self.U[0][:waiting, :s]
            Z += (T @ U.T * self.sign[0][:waiting]) @ U
            fresh = True
            for c, t, z in zip(outputs, T, Z, strict=False):
                self.M[c] = self.M[0]
                self.C[c, [k.SIZE, k.WAITING]] = self.C[0, [k.SIZE, k.WAITING]]
                V = self.V[c]
                V[k.B, :top] = V[k.T, :top] = 0.0
                V[k.B, members], V[k.T, members] = z, t
                fresh = fresh and polish(*self._arrays(c), top, self.tol) != 2
                self.C[:, k.WAITING] = self.C[c, k.WAITING]
            if fresh:
                return
            self._rebuild(0)
        raise ArithmeticError("the kernel matrix is too large for its regularisation; scale the features or lower lam")

    def fold(self) -> None:
        """Put the terms that wait into P, so that nothing of a deleted sample is left in parts of the sum."""
        for c in range(len(self.P)):
            flush(self.P[c], self.C[c], self.U[c], self.sign[c])
            if self.shared:
                self.C[:, k.WAITING] = 0.0
