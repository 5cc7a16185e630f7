"""The finite way to the minimiser, for the few times when block pivoting does not get on; arrays as in `kernels`."""

from __future__ import annotations

import numpy as np

from onlinekit_plugins.id_odm import kernels as k
from onlinekit_plugins.id_odm.exchange_kernels import exchange
from onlinekit_plugins.id_odm.resolve_kernels import evaluate, outside

ROUNDS = 500
NONE = np.empty(0, dtype=np.int64)


def descend(
    K: np.ndarray, P: np.ndarray, V: np.ndarray, M: np.ndarray, C: np.ndarray, U: np.ndarray, sign: np.ndarray,
    top: int, tol: float,
) -> bool:  # fmt: skip
    """Dual active-set method: the dual objective falls from round to round, so no active set comes twice.

    A sign-feasible b goes towards z until a member reaches 0 and leaves; at b = z the violators enter on the side
    seen there - a side seen after another one entered would not be a descent direction. False after ROUNDS.
    """
    C[k.FALLBACKS] += 1.0
    b, start = np.zeros(top), True
    slots, sides = np.empty(top, dtype=np.int64), np.empty(top, dtype=np.int64)
    for _ in range(ROUNDS):
        while True:
            members = M[k.MEMBER, : int(C[k.SIZE])]
            z, il = V[k.B, members], V[k.IL, members]
            if not np.isfinite(z).all():
                return False  # P has lost all its digits and must be built anew
            way = np.where(M[k.STATUS, members] == k.AT_LO, 1.0, -1.0)
            loose = V[k.LO, members] != V[k.HI, members]  # at lo = hi both signs are right
            if start:
                b[members] = np.where(loose & (way * z < 0.0), 0.0, z)
                start = False
            wrong = np.flatnonzero(loose & (way * z < 0.0) & (-way * z * il > tol))
            if not len(wrong):
                b[members] = z
                break
            have = np.maximum((way * b[members])[wrong], 0.0)
            ratio = have / (have - (way * z)[wrong])
            first = int(ratio.argmin())
            b[members] += ratio[first] * (z - b[members])
            blocker = members[wrong[first : first + 1]]
            b[blocker] = 0.0
            exchange(K, P, V, M, C, U, sign, top, blocker, NONE, NONE)
        found = outside(K, V, M, C, top, tol, slots, sides)
        if found == 0:
            return True
        for a in range(found):
            j, low = slots[a], sides[a] == k.AT_LO
            value = evaluate(K, V, C, top, j)
            if V[k.LO, j] == V[k.HI, j] or (value < V[k.LO, j] - tol if low else value > V[k.HI, j] + tol):
                b[j] = 0.0
                exchange(K, P, V, M, C, U, sign, top, NONE, slots[a : a + 1], sides[a : a + 1])
    return False
