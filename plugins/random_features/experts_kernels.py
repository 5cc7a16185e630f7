"""Kernels of kernel-experts: one call predicts or learns. The arrays are those of experts_core_kernels."""

# mypy: disallow-untyped-defs=False
# Compiled: the docstrings give the shapes, Numba infers the types.

from onlinekit.scaling import finite
from onlinekit_plugins.random_features.doors import doors
from onlinekit_plugins.random_features.experts_core_kernels import consider, teach, vote
from onlinekit_plugins.random_features.fma import fused
from onlinekit_plugins.random_features.rows_kernels import gather, note


@fused
def predict(
    x, out, work, cells, votes, squares, winners, near, stats, weights, directions, phases, run, sample, recursive,
    inverse, linear, intercept, memory, marks, kept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
):  # fmt: skip
    """out (classes,) = the mixture of the experts' probabilities; the winner's index, -1 when x is not finite."""
    if not finite(x):
        return -1
    m = gather(x, cells, stats, sample)
    consider(
        m, x.shape[0], cells, work, votes, squares, winners, near, weights, directions, phases, run, recursive, linear,
        intercept, memory, marks, kept, scale,
    )  # fmt: skip
    return vote(votes, trust, weights.shape[0], out)


@fused
def learn(
    x, y, w, work, cells, votes, squares, winners, near, stats, weights, directions, phases, run, sample, recursive,
    inverse, linear, intercept, memory, marks, kept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
):  # fmt: skip
    """Every expert learns x, scaled by statistics that include it; 0, or -1 when x is not finite."""
    if not finite(x):
        return -1
    note(x, stats, sample)
    m = gather(x, cells, stats, sample)
    consider(
        m, x.shape[0], cells, work, votes, squares, winners, near, weights, directions, phases, run, recursive, linear,
        intercept, memory, marks, kept, scale,
    )  # fmt: skip
    teach(
        m, x.shape[0], cells, y, w, work, votes, squares, winners, weights, directions, phases, run, sample, recursive,
        inverse, linear, intercept, memory, marks, kept, trust, scale, eta1, eta2, eta3, rotation, forgetting,
    )  # fmt: skip
    return 0


@fused
def run_rows(X, y, w, predicting, learning, winners, out, *state):
    """predict each row of X (n, d) into winners (n,) and out (n, classes), learn it with y (n,), w (n,), or both."""
    for t in range(X.shape[0]):
        if predicting:
            winners[t] = predict(X[t], out[t], *state)
        if learning:
            learn(X[t], y[t], w[t], *state)


learn_rows, predict_rows, prequential_rows = doors(run_rows)
