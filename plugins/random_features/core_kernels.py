"""Building blocks of the random-feature kernels; D components, K outputs (1 for two classes).

A row is kept as its m entries that are not zero after scaling, in `cells` (4, capacity) float64:

    cells[0]      the unscaled row of the last prediction (d,)
    cells[1]      value of each entry, scaled
    cells[2]      column of each entry
    cells[3, 0]   clock + 1 of the last prediction, 0 for none;  cells[3, 1] its m

`work` (5, max(D, K)) holds z, cos z, sin z, the gradient g (D,) and the scores (K,). `sample`
(capacity, 1 + n): sample[j, 0] = 1 once feature j was other than 0 in a row learned without scaling, then up to n rows
kept for the median rule. `run` (13,) float64 holds what the names below say.
"""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import math

from onlinekit_plugins.random_features.fma import fused, summed
from onlinekit_plugins.random_features.scores_kernels import best_rival
from onlinekit_plugins.random_features.sincos import cosines, sincos

CLOCK = 0  # samples learned
GAIN = 1  # 1 / sigma: directions are kept as draws of N(0, 1)
FIXED = 2  # 1 when sigma no longer follows the data
WIDTH = 3  # mean |x|^2 of the scaled rows, which sigma "auto" goes by
WINDOW = 4  # samples in the running window of WINDOW_SIZE ...
WINDOW_UPDATES = 5  # ... and updates among them
COLLAPSED = 6  # what the last full window showed: STUCK, UNDONE or neither
UPDATES = 7  # updates in all
KEPT = 8  # rows kept for the median rule
LENGTHS = 9  # rows that sigma goes by so far
WINDOW_TURN = 10  # in the window: the sum of the largest turns of any direction, in radians, ...
WINDOW_RIGHT = 11  # ... with two classes the right answers, before learning ...
WINDOW_TRUE = 12  # ... and the rows of class 1
RUN_SIZE = 13
STUCK, UNDONE = 1.0, 2.0
WINDOW_SIZE = 1000
Z, COS, SIN, GRADIENT, SCORES = 0, 1, 2, 3, 4


@summed
def dot(a, b):
    """a . b; a, b (n,)."""
    total = a.dtype.type(0.0)
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@fused
def largest(a):
    """max |a_i| in eight partial maxima; a (n,); NaN entries do not count."""
    n = a.shape[0]
    zero = a.dtype.type(0.0)
    m0, m1, m2, m3, m4, m5, m6, m7 = zero, zero, zero, zero, zero, zero, zero, zero
    whole = n - n % 8
    for i in range(0, whole, 8):
        m0 = max(m0, abs(a[i]))
        m1 = max(m1, abs(a[i + 1]))
        m2 = max(m2, abs(a[i + 2]))
        m3 = max(m3, abs(a[i + 3]))
        m4 = max(m4, abs(a[i + 4]))
        m5 = max(m5, abs(a[i + 5]))
        m6 = max(m6, abs(a[i + 6]))
        m7 = max(m7, abs(a[i + 7]))
    for i in range(whole, n):
        m0 = max(m0, abs(a[i]))
    return max(max(max(m0, m4), max(m1, m5)), max(max(m2, m6), max(m3, m7)))


@fused
def copy(x, y):
    """y = x; x, y (n,). Not y[:] = x, whose error message for unequal lengths takes a second to compile."""
    for i in range(y.shape[0]):
        y[i] = x[i]


@fused
def axpy(a, x, y):
    """y += a x; x, y (n,)."""
    factor = y.dtype.type(a)
    for i in range(y.shape[0]):
        y[i] += factor * x[i]


@fused
def combine(m, coefficients, index, rows, z):
    """z += sum_e coefficients_e rows[index_e], e < m; rows (n, D), z (D,). Four rows a pass spare traffic of z."""
    t = z.dtype.type
    whole = m - m % 4
    for e in range(0, whole, 4):
        r0, r1 = rows[int(index[e])], rows[int(index[e + 1])]
        r2, r3 = rows[int(index[e + 2])], rows[int(index[e + 3])]
        a0, a1 = t(coefficients[e]), t(coefficients[e + 1])
        a2, a3 = t(coefficients[e + 2]), t(coefficients[e + 3])
        for i in range(z.shape[0]):
            z[i] += (a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])
    for e in range(whole, m):
        row = rows[int(index[e])]
        a0 = t(coefficients[e])
        for i in range(z.shape[0]):
            z[i] += a0 * row[i]


@fused
def project(m, cells, gain, directions, phases, work):
    """z = U x + b, u_i = gain directions[:, i]; directions (capacity, D), phases (D,)."""
    z = work[Z, : phases.shape[0]]
    copy(phases, z)
    # The key row is free: what it held is about to be replaced.
    for e in range(m):
        cells[0, e] = gain * cells[1, e]
    combine(m, cells[0], cells[2], directions, z)


@fused
def turn(m, cells, step, g, directions):
    """directions[j] -= step x_j g for each entry x_j; g (D,)."""
    t = g.dtype.type
    for e in range(m):
        row = directions[int(cells[2, e])]
        a = t(-step * cells[1, e])
        for i in range(g.shape[0]):
            row[i] += a * g[i]


@fused
def turn_two(a0, a1, x0, x1, r0, r1, g, z):
    """r0 += a0 g, r1 += a1 g, z += x0 r0 + x1 r1; all (D,). In a loop of its own, or it does not vectorise."""
    for i in range(z.shape[0]):
        u0 = r0[i] + a0 * g[i]
        u1 = r1[i] + a1 * g[i]
        r0[i] = u0
        r1[i] = u1
        z[i] += x0 * u0 + x1 * u1


@fused
def turn_and_project(now, before, step, gain, directions, g, z):
    """turn for the row in `before`, then z += U x for the row in `now`, both with all d entries: one pass over U."""
    d = now.shape[1]
    t = z.dtype.type
    for j in range(0, d - 1, 2):
        a0, a1 = t(-step * before[1, j]), t(-step * before[1, j + 1])
        turn_two(a0, a1, t(gain * now[1, j]), t(gain * now[1, j + 1]), directions[j], directions[j + 1], g, z)
    if d % 2 == 1:
        axpy(-step * before[1, d - 1], g, directions[d - 1])
        axpy(gain * now[1, d - 1], directions[d - 1], z)


@fused
def look(work, weights, n, scale):
    """Scores f_k = scale w_k . (cos z), or scale w_k . (cos z, sin z) when weights (K, 2 n) is as wide; n = D."""
    if weights.shape[1] == n:
        cosines(work[Z, :n], work[COS, :n])
        for k in range(weights.shape[0]):
            work[SCORES, k] = scale * dot(weights[k], work[COS, :n])
    else:
        sincos(work[Z, :n], work[SIN, :n], work[COS, :n])
        for k in range(weights.shape[0]):
            work[SCORES, k] = scale * (dot(weights[k, :n], work[COS, :n]) + dot(weights[k, n:], work[SIN, :n]))


@fused
def slope(a, v, s, g):
    """g_i = a v_i s_i; v, s, g (n,)."""
    for i in range(g.shape[0]):
        g[i] = a * v[i] * s[i]


@fused
def add_slope(a, v, s, g):
    """g_i += a v_i s_i; v, s, g (n,)."""
    for i in range(g.shape[0]):
        g[i] += a * v[i] * s[i]


@fused
def verdict(run, binary):
    """STUCK when more than 90 % of the full window were updates, UNDONE when each undid the one before, or 0.

    UNDONE, which is told of two classes: more than half were updates, they turned some direction by more than a radian
    on the average, so that cos z has nothing to do with what w was fitted to, and the answers were no better, by two
    standard deviations, than always the more frequent class. Noise alone, or steps held below a radian, are not.
    """
    updates = run[WINDOW_UPDATES]
    if updates > 0.9 * WINDOW_SIZE:
        return STUCK
    common = max(run[WINDOW_TRUE], WINDOW_SIZE - run[WINDOW_TRUE])
    poor = run[WINDOW_RIGHT] < common + math.sqrt(WINDOW_SIZE)
    return UNDONE if binary and updates > 0.5 * WINDOW_SIZE and run[WINDOW_TURN] > updates and poor else 0.0


@fused
def correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation):
    """One step on the hinge loss for the row whose z and scores are in `work`; the step of the directions.

    Two classes, y = +-1: loss = 1 - y f, v = y w_0. More: s the best rival, loss = 1 - f_y + f_s, v = w_y - w_s.
    If loss > 0: g_i = scale v_i sin z_i (with sines, scale (v_i sin z_i - v_{D+i} cos z_i)), all from the old
    state, then w += eta1 scale phi (and -= for s), b -= eta3 g, and it is for the caller to do
    u_i -= h g_i x, h = min(eta2, rotation / (max |g| |x|^2)), `norm` = |x|^2. Steps are times the sample weight w.
    """
    n = phases.shape[0]
    run[CLOCK] += 1.0
    run[WINDOW] += 1.0
    sign, k, s = 1.0, y, -1
    if weights.shape[0] == 1:
        k = 0
        sign = 1.0 if y == 1 else -1.0
        loss = 1.0 - sign * work[SCORES, 0]
        run[WINDOW_TRUE] += y
        run[WINDOW_RIGHT] += 1.0 if (work[SCORES, 0] > 0.0) == (y == 1) else 0.0
    else:
        s = best_rival(work[SCORES], y, weights.shape[0])
        loss = 1.0 - (work[SCORES, y] - work[SCORES, s])
    h = 0.0
    # Asked this way round, a NaN learns nothing.
    if loss > 0.0:
        run[UPDATES] += 1.0
        run[WINDOW_UPDATES] += 1.0
        z, c, sine, g = work[Z, :n], work[COS, :n], work[SIN, :n], work[GRADIENT, :n]
        pairs = weights.shape[1] != n
        if eta2 != 0.0 or eta3 != 0.0:
            t = g.dtype.type
            if not pairs:
                sincos(z, sine, c)
            a = t(sign * scale)
            slope(a, weights[k, :n], sine, g)
            if s >= 0:
                add_slope(-a, weights[s, :n], sine, g)
            if pairs:
                add_slope(-a, weights[k, n:], c, g)
                if s >= 0:
                    add_slope(a, weights[s, n:], c, g)
            h = eta2 * w
            most = largest(g) * norm
            if most * h > rotation:
                h = rotation / most
            run[WINDOW_TURN] += most * h
            if eta3 != 0.0:
                axpy(-eta3 * w, g, phases)
        step = sign * w * eta1 * scale
        axpy(step, c, weights[k, :n])
        if s >= 0:
            axpy(-step, c, weights[s, :n])
        if pairs:
            axpy(step, sine, weights[k, n:])
            if s >= 0:
                axpy(-step, sine, weights[s, n:])
    if run[WINDOW] >= WINDOW_SIZE:
        run[COLLAPSED] = verdict(run, weights.shape[0] == 1)
        for slot in (WINDOW, WINDOW_UPDATES, WINDOW_TURN, WINDOW_RIGHT, WINDOW_TRUE):
            run[slot] = 0.0
    return h
