"""Rows in blocks: the same steps in the same order as row by row, with matrix products in place of passes over U."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

import numpy as np

from onlinekit_plugins.random_features.core_kernels import (
    FIXED,
    GAIN,
    GRADIENT,
    SCORES,
    Z,
    axpy,
    combine,
    copy,
    correct,
    dot,
    look,
)
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather, note, spread, squared
from onlinekit_plugins.random_features.scores_kernels import into_probabilities
from onlinekit_plugins.random_features.sigma_kernels import follow

BLOCK = 32  # rows a block
TILE = 256  # columns a piece of a product


@fused
def add_product(A, B, C):
    """C += A B for A (m, k), B (k, n), C (m, n) of one type, in pieces of eight rows of B that stay in the cache.

    Not a call of BLAS: its threads would take every core for products this small, and wait by spinning.
    """
    k, n = B.shape
    whole = k - k % 8
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        for e in range(0, whole, 8):
            r0, r1, r2, r3 = B[e, left:right], B[e + 1, left:right], B[e + 2, left:right], B[e + 3, left:right]
            r4, r5, r6, r7 = B[e + 4, left:right], B[e + 5, left:right], B[e + 6, left:right], B[e + 7, left:right]
            for t in range(A.shape[0]):
                a0, a1, a2, a3 = A[t, e], A[t, e + 1], A[t, e + 2], A[t, e + 3]
                a4, a5, a6, a7 = A[t, e + 4], A[t, e + 5], A[t, e + 6], A[t, e + 7]
                c = C[t, left:right]
                for i in range(right - left):
                    c[i] += ((a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])) + (
                        (a4 * r4[i] + a5 * r5[i]) + (a6 * r6[i] + a7 * r7[i])
                    )
        for e in range(whole, k):
            r0 = B[e, left:right]
            for t in range(A.shape[0]):
                axpy(A[t, e], r0, C[t, left:right])


@fused
def run_blocked(X, y, w, predicting, winners, out, *state):
    """Learn each row of X (n, d), after predicting it if asked to; equal to row by row up to rounding.

    With U as it was before the block, row t of it has z_t = U x_t + b - sum_s h_s g_s (x_s . x_t) over the rows
    s < t that learned: one product gives U x_t of all rows, the Gram matrix the rest, and the turns of all rows
    are one product at the end. The rotation clip needs |x_t|^2 and g_t alone, so it is exact here too.
    """
    work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation = state
    d, n = X.shape[1], phases.shape[0]
    cells[3, 0] = 0.0
    dtype = phases.dtype
    rows, projections = np.zeros((BLOCK, d), dtype), np.zeros((BLOCK, n), dtype)
    # A row as it is predicted, where noting it changes how it is scaled.
    earlier, other = (np.zeros((BLOCK, d), dtype), np.zeros((BLOCK, n), dtype)) if predicting else (rows, projections)
    differs = np.zeros(BLOCK, np.bool_)
    norms, gains = np.empty(BLOCK), np.empty(BLOCK)
    # Of the rows that learned: place in the block, h / gain, g.
    which, steps, slopes = np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty((BLOCK, n), dtype)
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        for t in range(size):
            x = X[start + t]
            if predicting:
                spread(gather(x, cells, stats, sample), cells, earlier[t])
            differs[t] = note(x, stats, sample) and predicting
            m = gather(x, cells, stats, sample)
            spread(m, cells, rows[t])
            norms[t] = squared(m, cells)
            gains[t] = run[GAIN]
            # Neither scaling nor sigma depends on what is learned, so they may run ahead.
            if run[FIXED] == 0.0:
                follow(m, cells, norms[t], run, sample)
        projections[:] = 0.0
        add_product(rows[:size], directions[:d], projections)
        if np.any(differs[:size]):
            other[:] = 0.0
            add_product(earlier[:size], directions[:d], other)
        learned = size - size  # a plain 0 would be a type of its own to the compiler
        for t in range(size):
            if differs[t]:
                rebuild(learned, gains[t], earlier[t], rows, other[t], which, steps, slopes, phases, work)
                look(work, weights, n, scale)
                winners[start + t] = into_probabilities(work[SCORES], weights.shape[0], out[start + t])
            rebuild(learned, gains[t], rows[t], rows, projections[t], which, steps, slopes, phases, work)
            look(work, weights, n, scale)
            if predicting and not differs[t]:
                winners[start + t] = into_probabilities(work[SCORES], weights.shape[0], out[start + t])
            h = correct(
                y[start + t], w[start + t], norms[t], work, weights, phases, run, scale, eta1, eta2, eta3, rotation
            )
            if h != 0.0:
                copy(work[GRADIENT, :n], slopes[learned])
                steps[learned] = h / gains[t]
                which[learned] = t
                learned += 1
        turns = np.empty((d, learned), dtype)
        for e in range(learned):
            for j in range(d):
                turns[j, e] = -steps[e] * rows[which[e], j]
        add_product(turns, slopes[:learned], directions[:d])


@fused
def rebuild(learned, gain, x, rows, projection, which, steps, slopes, phases, work):
    """z = gain (projection - sum_e steps_e (x . rows[which_e]) slopes_e) + b over the rows e that learned."""
    z = work[Z, : phases.shape[0]]
    copy(phases, z)
    axpy(gain, projection, z)
    factors, order = np.empty(learned), np.empty(learned)
    for e in range(learned):
        factors[e] = -gain * steps[e] * dot(x, rows[which[e]])
        order[e] = e
    combine(learned, factors, order, slopes, z)


@fused
def predict_blocked(X, winners, out, *state):
    """predict for each row of X (n, d) into winners (n,) and out (n, K), one product a block."""
    work, cells, stats, weights, directions, phases, run, sample, scale, _, _, _, _ = state
    d, n = X.shape[1], phases.shape[0]
    cells[3, 0] = 0.0
    rows, projections = np.zeros((BLOCK, d), phases.dtype), np.zeros((BLOCK, n), phases.dtype)
    z = work[Z, :n]
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        for t in range(size):
            spread(gather(X[start + t], cells, stats, sample), cells, rows[t])
        projections[:] = 0.0
        add_product(rows[:size], directions[:d], projections)
        for t in range(size):
            copy(phases, z)
            axpy(run[GAIN], projections[t], z)
            look(work, weights, n, scale)
            winners[start + t] = into_probabilities(work[SCORES], weights.shape[0], out[start + t])
