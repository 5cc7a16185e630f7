"""What a dual engine tells: decision values, coefficients, leave-one-out values, optimality."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm import sample_kernels as one
from onlinekit_plugins.id_odm.sharing import SharedInverse


class Answers(SharedInverse):
    """Answers of an engine; nothing here changes it."""

    kind: int
    gamma: float
    coef0: float
    dim: int
    X: np.ndarray
    alive: np.ndarray

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.P)

    def live(self) -> np.ndarray:
        """The slots of the stored samples, ascending."""
        return np.flatnonzero(self.alive[: self.top])

    def _kernel(self) -> tuple[int, float, float]:
        return self.kind, self.gamma, self.coef0

    def decision(self, X: np.ndarray) -> np.ndarray:
        """f (k, outputs) at rows X (k, dim)."""
        out = np.empty((len(X), self.outputs))
        k.decide(self.X, self.V, self.top, X, out, *self._kernel())
        return out

    def coef(self) -> np.ndarray:
        """b (outputs, top), 0 outside S."""
        return self.V[:, k.B, : self.top]

    def values(self) -> np.ndarray:
        """f (outputs, top) at the stored samples, evaluated afresh."""
        return self.coef() @ self.K[: self.top, : self.top]

    def loo(self) -> np.ndarray:
        """(outputs, top): f at each stored sample if it had been left out (exact if no other one changes sets)."""
        top = self.top
        out = np.zeros((self.outputs, top))
        for c in range(self.outputs):
            idle = np.flatnonzero(self.M[c, k.STATUS, :top] == k.IDLE)
            out[c, idle] = self.K[idle, :top] @ self.V[c, k.B, :top]
            one.left_out(*self._arrays(c)[1:], out[c])
        return out

    def kkt(self) -> float:
        """Largest |il b - (clip(f, lo, hi) - f)| over samples and outputs: 0 at the exact minimiser."""
        at = self.live()
        if not len(at) or not self.outputs:
            return 0.0
        f, V = self.values()[:, at], self.V[:, :, at]
        return float(np.abs(V[:, k.IL] * V[:, k.B] - np.clip(f, V[:, k.LO], V[:, k.HI]) + f).max())

    def objective(self) -> np.ndarray:
        """The minimum (outputs,)."""
        at = self.live()
        f, V = self.values()[:, at], self.V[:, :, at]
        gap = f - np.clip(f, V[:, k.LO], V[:, k.HI])
        return 0.5 * (V[:, k.B] * f + gap * gap / V[:, k.IL]).sum(axis=1)

    def rows(self, slots: np.ndarray) -> np.ndarray:
        """Stored rows (m, dim)."""
        return self.X[slots, : self.dim]

    def intervals(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """lo, hi (outputs, m) and il (m,) of stored samples."""
        V = self.V[:, :, slots]
        return V[:, k.LO], V[:, k.HI], V[0, k.IL]
