"""The kernel width sigma, drawn from the rows learned."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

import numpy as np

from onlinekit_plugins.random_features.core_kernels import FIXED, GAIN, KEPT, LENGTHS, WIDTH
from onlinekit_plugins.random_features.fma import fused

AUTO = 0.4  # sigma = AUTO sqrt(2 d)
SPARSE = (
    4.0  # how often |x|^2 of a standardised row of few entries counts: twice the width was better on all sets tried
)
MEDIAN = 0.5  # sigma = MEDIAN times the median distance


@fused
def follow(m, cells, norm, run, sample):
    """After learning the row in `cells`, |x|^2 = norm: sigma = .4 sqrt(2 mean |x|^2); run[GAIN] = 1 / sigma.

    The mean is over the scaled rows learned, other than 0. sample (capacity, 1 + n) keeps the first n of them, from
    column 1 on, and when it is full sigma becomes half their median distance for good.
    """
    if norm > 0.0:
        run[LENGTHS] += 1.0
        run[WIDTH] += (norm - run[WIDTH]) / run[LENGTHS]
        run[GAIN] = 1.0 / (AUTO * math.sqrt(2.0 * run[WIDTH]))
        if sample.shape[1] > 1:
            run[KEPT] += 1.0
            for e in range(m):
                sample[int(cells[2, e]), int(run[KEPT])] = cells[1, e]
            if run[KEPT] == sample.shape[1] - 1:
                sigma = MEDIAN * median_distance(sample[:, 1:])
                if sigma > 0.0:
                    run[GAIN] = 1.0 / sigma
                run[FIXED] = 1.0


@fused
def median_distance(rows):
    """The median of |x_s - x_t| over all pairs; rows (capacity, n) holds the x_t as columns."""
    n = rows.shape[1]
    squares = np.zeros(n * (n - 1) // 2)
    high = 0.0
    for j in range(rows.shape[0]):
        at = 0
        for s in range(1, n):
            for t in range(s):
                squares[at] += (rows[j, s] - rows[j, t]) ** 2
                high = max(high, squares[at])
                at += 1
    # The median by bisection: a sort would take longer to compile than this to run.
    low = 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = 0
        for v in squares:
            below += 1 if v <= middle else 0
        if 2 * below >= len(squares):
            high = middle
        else:
            low = middle
    return math.sqrt(high)
