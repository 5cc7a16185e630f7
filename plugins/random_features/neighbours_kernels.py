"""The vote of the nearest of the last rows, which are kept scaled, as they were learned.

cells as in core_kernels; v (d,) a scaled row; near (3, max(window, NEAREST)) is scratch: the squared distances, then
distances and places of the nearest; memory (capacity, window) the rows as columns; marks (2, window) their classes and
weights; kept (1,) how many there have been.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit_plugins.random_features.fma import fused

NEAREST = 5  # rows that vote
SAME = 1.0 - 1e-9  # distances less than this apart are equal: rounding, or the order of features, must not decide
TINY = 1e-9  # added to a distance before it divides


@fused
def measure(v, gaps, memory, size):
    """gaps_i = sum_j (v_j - memory[j, i])^2 for i < size. Two features a pass spare traffic of gaps."""
    for i in range(size):
        gaps[i] = 0.0
    d = v.shape[0]
    for j in range(0, d - 1, 2):
        a, b, r, s = v[j], v[j + 1], memory[j], memory[j + 1]
        for i in range(size):
            gaps[i] += (a - r[i]) * (a - r[i]) + (b - s[i]) * (b - s[i])
    if d % 2 == 1:
        a, r = v[d - 1], memory[d - 1]
        for i in range(size):
            gaps[i] += (a - r[i]) * (a - r[i])


@fused
def find(near, newest, size, window):
    """The nearest NEAREST of the `size` gaps near[0] into near[1] and their places into near[2]; how many.

    From the newest to the oldest: of rows as near as each other the newer one counts as the nearer.
    """
    gaps, least, places = near[0], near[1], near[2]
    found = 0
    for age in range(size):
        i = newest - age
        if i < 0:
            i += window
        if found == NEAREST and not gaps[i] < SAME * least[NEAREST - 1]:
            continue
        at = found if found < NEAREST else NEAREST - 1
        while at > 0 and gaps[i] < SAME * least[at - 1]:
            least[at] = least[at - 1]
            places[at] = places[at - 1]
            at -= 1
        least[at] = gaps[i]
        places[at] = i
        if found < NEAREST:
            found += 1
    return found


@fused
def consult(v, near, memory, marks, kept, out):
    """out_k (classes,) ~ sum w_i / |v - x_i| over the nearest rows of class k; equal shares while there are none."""
    window = memory.shape[1]
    size = min(int(kept[0]), window)
    measure(v, near[0], memory, size)
    found = find(near, (int(kept[0]) - 1) % window, size, window)
    out[:] = 0.0 if found > 0 else 1.0
    for e in range(found):
        place = int(near[2, e])
        out[int(marks[0, place])] += marks[1, place] / (TINY + math.sqrt(near[1, e]))
    total = 0.0
    for k in range(out.shape[0]):
        total += out[k]
    for k in range(out.shape[0]):
        out[k] /= total


@fused
def remember(v, y, w, memory, marks, kept):
    """The row v of class y and weight w > 0 takes the place of the oldest."""
    place = int(kept[0]) % memory.shape[1]
    for j in range(v.shape[0]):
        memory[j, place] = v[j]
    marks[0, place] = y
    marks[1, place] = w
    kept[0] += 1.0
