"""Kernels of random-feature learners for rows given by their entries: O(m D) for m entries. Arrays as in kernels."""

from onlinekit_plugins.random_features.core_kernels import FIXED, GAIN, GRADIENT, SCORES, correct, look, project, turn
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather_sparse, note_sparse, squared
from onlinekit_plugins.random_features.scores_kernels import into_probabilities
from onlinekit_plugins.random_features.sigma_kernels import SPARSE, follow


@fused
def predict_sparse(
    index, value, out, work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation,
):  # fmt: skip
    """predict for a row given by its entries, index (m,) and value (m,): O(m D)."""
    cells[3, 0] = 0.0
    m = gather_sparse(index, value, cells, stats, sample)
    project(m, cells, run[GAIN], directions, phases, work)
    look(work, weights, phases.shape[0], scale)
    return into_probabilities(work[SCORES], weights.shape[0], out)


@fused
def run_sparse(index, value, y, w, predicting, out, *state):
    """Learn a row given by its entries, after predicting it if asked to; the winner's index, or 0."""
    work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation = state
    n = phases.shape[0]
    cells[3, 0] = 0.0
    m, winner = -1, 0
    if predicting:
        m = gather_sparse(index, value, cells, stats, sample)
        project(m, cells, run[GAIN], directions, phases, work)
        look(work, weights, n, scale)
        winner = into_probabilities(work[SCORES], weights.shape[0], out)
    if note_sparse(index, value, stats, sample) or m < 0:
        m = gather_sparse(index, value, cells, stats, sample)
        project(m, cells, run[GAIN], directions, phases, work)
        look(work, weights, n, scale)
    norm = squared(m, cells)
    h = correct(y, w, norm, work, weights, phases, run, scale, eta1, eta2, eta3, rotation)
    if h != 0.0:
        turn(m, cells, h / run[GAIN], work[GRADIENT, :n], directions)
    if run[FIXED] == 0.0:
        # Not so where rows are not scaled: there a row is the same row however it is given.
        follow(m, cells, norm * (SPARSE if stats[4, 2] == 0.0 else 1.0), run, sample)
    return winner


@fused
def learn_sparse(
    index, value, y, w, work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3,
    rotation,
):  # fmt: skip
    """learn for a row given by its entries, index (m,) and value (m,): O(m D)."""
    state = (work, cells, stats, weights, directions, phases, run, sample, scale, eta1, eta2, eta3, rotation)
    return run_sparse(index, value, y, w, False, value, *state)


@fused
def learn_sparse_rows(indptr, index, value, y, w, *state):
    """learn_sparse for each of the n rows; row t has the entries indptr[t] .. indptr[t + 1]."""
    for t in range(y.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        run_sparse(index[part], value[part], y[t], w[t], False, value, *state)


@fused
def predict_sparse_rows(indptr, index, value, winners, out, *state):
    """predict_sparse for each of the n rows into winners (n,) and out (n, K)."""
    for t in range(winners.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = predict_sparse(index[part], value[part], out[t], *state)


@fused
def prequential_sparse_rows(indptr, index, value, y, w, winners, out, *state):
    """predict, then learn, each of the n rows."""
    for t in range(y.shape[0]):
        part = slice(indptr[t], indptr[t + 1])
        winners[t] = run_sparse(index[part], value[part], y[t], w[t], True, out[t], *state)
