"""Many features: spheres and conjugate-gradient points on CSR rows, without a (d, d) matrix or a dense copy."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from onlinekit_plugins.sensitivity import FitSummary, Rule, Tracker, loo_certificates, solve
from onlinekit_plugins.sensitivity.losses import spectral_bound

LOSSES = ["logistic", "squared_hinge"]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def data(n=2000, d=20_000, seed=0):
    rng = np.random.default_rng(seed)
    columns = np.minimum((d * rng.random((n, 30)) ** 3).astype(int), d - 1)  # some columns often, most seldom
    X = sp.csr_matrix((rng.random(n * 30), columns.ravel(), np.arange(0, 30 * n + 1, 30)), shape=(n, d))
    X.sum_duplicates()
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_spheres_and_newton_hold_the_optimum(loss):
    X, y = data()
    C = 0.01
    tracemalloc.start()
    w0 = solve(X[:1950], y[:1950], C, loss)
    tracker = Tracker(FitSummary.from_fit(X[:1950], y[:1950], w0, C, loss))
    tracker.add(X[1950:], y[1950:])
    tracker.remove(X[:20], y[:20])
    X1, y1 = X[20:], y[20:]
    w1 = solve(X1, y1, C, loss, w0, tol=1e-12)
    tracker.refine(X1, y1, 2)
    widths = []
    for level in ("sphere", "smooth-sphere", "newton", "auto"):
        lower, upper = tracker.coef_bounds(level)
        assert np.all((lower <= w1) & (w1 <= upper)), level
        widths.append((upper - lower).mean())
        lower, upper, info = tracker.bounds(X[:300], level)
        assert np.all((lower <= X[:300] @ w1) & (X[:300] @ w1 <= upper)), level
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert widths[1] <= widths[0] and widths[2] < 1e-3 * widths[1]
    assert info["level"] == "newton"
    # Neither a (d, d) matrix (3.2 GB) nor dense rows (320 MB).
    assert peak < 6e7
    assert tracker.decide(Rule("flips", 0.5, X)).decision == "keep"
    labels = tracker.labels(X)
    assert np.all((labels == 0) | (labels == np.sign(X @ w1))) and np.mean(labels == 0) < 0.01
    twin = pickle.loads(pickle.dumps(tracker))
    np.testing.assert_array_equal(twin.coef_bounds(), tracker.coef_bounds())


def test_merge_without_rows_is_a_sum():
    X, y = data(600, 2000)
    C = 0.05
    w0 = solve(X[:500], y[:500], C, "logistic")
    summary = FitSummary.from_fit(X[:500], y[:500], w0, C, "logistic")
    whole, one, two = Tracker(summary), Tracker(summary), Tracker(summary)
    whole.add(X[500:], y[500:])
    whole.remove(X[:30], y[:30])
    one.add(X[500:540], y[500:540])
    one.remove(X[:10], y[:10])
    two.add(X[540:], y[540:])
    two.remove(X[10:30], y[10:30])
    one.merge(two)
    np.testing.assert_allclose(one.coef_bounds(), whole.coef_bounds(), atol=1e-12)
    one.refine(X[30:], y[30:])
    assert one.check(solve(X[30:], y[30:], C, "logistic", w0, tol=1e-12))
    shards = [Tracker(FitSummary.from_fit(X[a:b], y[a:b], w0, 1.0, "logistic")) for a, b in ((0, 250), (250, 500))]
    shards[0].merge(shards[1])
    assert shards[0].n1 == 500
    shards[0].refine(X[:500], y[:500], 3)
    with pytest.raises(ValueError, match="not disjoint"):
        one.merge(two)
    assert one.n1 == 570


def test_what_needs_matrices_is_refused():
    X, y = data(200, 2000)
    summary = FitSummary.from_fit(X, y, solve(X, y, 0.1, "logistic"), 0.1, "logistic")
    for level in ("matrix-sphere", "ellipsoid"):
        with pytest.raises(ValueError, match="at most 1500 features"):
            Tracker(summary).coef_bounds(level)
    with pytest.raises(ValueError, match="at most 1500 features"):
        loo_certificates(summary, X, y)
    with pytest.raises(ValueError, match="neither a fit row"):
        Tracker(summary).remove(X[0] * 2, y[:1])
    dense = Tracker(summary)
    dense.remove(X[:3].toarray(), y[:3])  # a row is the same row, dense or CSR
    assert dense.n_removed == 3


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [100, 900])
def test_spectral_bound_is_above_and_tight_for_counts(signed, n):
    rng = np.random.default_rng(0)
    X = sp.random(n, 300, 0.05, "csr", rng=rng)
    if signed:
        X.data -= 0.5
    X[:, 7] = 0.0
    X = sp.csr_matrix(X)
    exact = np.linalg.eigvalsh((X.T @ X).toarray())[-1]
    for rows in (X, X.toarray()):
        bound = spectral_bound(rows)
        assert exact <= bound <= exact * (1.01 if n == 100 or not signed else 30)
    assert spectral_bound(sp.csr_matrix((800, 5))) == 0.0
