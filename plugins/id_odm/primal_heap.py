"""Expiry heap of the primal engine: which stored samples the path of w may have carried over an edge.

Layout of a store with room for `cap` samples of d features:

- samples (cap, d): phi_i, row = slot;
- spec (cap, 5): LO, HI, IL (the loss is dist(f, [lo, hi])^2 / (2 il)), NORM = |phi|, EXPIRY;
- place (cap, 2): SIDE in {-1 below lo, 0 inside, 1 above hi}, POS in the heap;
- heap (cap,): slots, a binary heap on EXPIRY; its length is count[STORED].
"""

from __future__ import annotations

import math

import numpy as np

from onlinekit.jit import kernel

LO, HI, IL, NORM, EXPIRY = 0, 1, 2, 3, 4
SIDE, POS = 0, 1
STORED, ACTIVE, EXCHANGES, BLOCKS, REFINEMENTS, REBUILDS, FALLBACKS, EVALUATIONS, SINCE = range(9)


SUMS = ("reassoc", "contract", "nsz", "arcp")


@kernel(fastmath=SUMS)
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """a'b; a, b (d,)."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@kernel
def side_of(f: float, lo: float, hi: float) -> int:
    """-1, 0 or 1: f below, inside or above [lo, hi]."""
    return -1 if f < lo else (1 if f > hi else 0)


@kernel
def slack(f: float, side: int, lo: float, hi: float) -> float:
    """How far f may still move before a sample is on the wrong side; negative when it is."""
    if side == 0:
        return min(f - lo, hi - f)
    if lo == hi:  # both sides have the same target: nothing changes when f passes it
        return math.inf
    return lo - f if side < 0 else f - hi


@kernel
def expiry(path: float, room: float, norm: float) -> float:
    """|f_i - f_i(then)| <= |phi_i| * (path of w since then), so nothing can happen before path + room / |phi_i|."""
    return path + room / norm if norm > 0.0 else math.inf


@kernel
def sift_up(k: int, heap: np.ndarray, spec: np.ndarray, place: np.ndarray) -> None:
    """Move the entry at k towards the root until its parent expires no later."""
    slot = heap[k]
    key = spec[slot, EXPIRY]
    while k > 0:
        parent = (k - 1) // 2
        if spec[heap[parent], EXPIRY] <= key:
            break
        heap[k] = heap[parent]
        place[heap[k], POS] = k
        k = parent
    heap[k] = slot
    place[slot, POS] = k


@kernel
def sift_down(k: int, n: int, heap: np.ndarray, spec: np.ndarray, place: np.ndarray) -> None:
    """Move the entry at k away from the root until its children expire no earlier; n entries."""
    slot = heap[k]
    key = spec[slot, EXPIRY]
    while True:
        child = 2 * k + 1
        if child >= n:
            break
        if child + 1 < n and spec[heap[child + 1], EXPIRY] < spec[heap[child], EXPIRY]:
            child += 1
        if spec[heap[child], EXPIRY] >= key:
            break
        heap[k] = heap[child]
        place[heap[k], POS] = k
        k = child
    heap[k] = slot
    place[slot, POS] = k


@kernel
def reschedule(slot: int, when: float, n: int, heap: np.ndarray, spec: np.ndarray, place: np.ndarray) -> None:
    """Give a slot in the heap another expiry."""
    earlier = when < spec[slot, EXPIRY]
    spec[slot, EXPIRY] = when
    if earlier:
        sift_up(place[slot, POS], heap, spec, place)
    else:
        sift_down(place[slot, POS], n, heap, spec, place)


@kernel
def push(slot: int, heap: np.ndarray, spec: np.ndarray, place: np.ndarray, count: np.ndarray) -> None:
    """Take a slot in, already expired, so that the next look evaluates it."""
    n = count[STORED]
    heap[n] = slot
    count[STORED] = n + 1
    spec[slot, EXPIRY] = -1.0
    sift_up(n, heap, spec, place)


@kernel
def remove(slot: int, heap: np.ndarray, spec: np.ndarray, place: np.ndarray, count: np.ndarray) -> None:
    """Take a slot out."""
    n = count[STORED] - 1
    count[STORED] = n
    k = place[slot, POS]
    last = heap[n]
    heap[n] = -1
    place[slot, POS] = -1
    if last != slot:
        heap[k] = last
        place[last, POS] = k
        sift_up(k, heap, spec, place)
        sift_down(place[last, POS], n, heap, spec, place)
