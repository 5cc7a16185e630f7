"""Independent references of the interval losses: golden values, scikit-learn, and the published Algorithm 1."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from naive import interval_objective, interval_solve, odm_intervals, odm_kernel, published_update
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, RBF
from onlinekit_plugins.id_odm.primal import PrimalEngine

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from id_odm_exact import core, golden, mixed

GOLDEN = json.loads((Path(__file__).parent / "golden" / "id_odm.json").read_text())["cases"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_naive_solver_gives_the_golden_values(case):
    lam, theta = case["lam"], case["theta"]
    stored = {}
    for op in case["ops"]:
        stored.update({s["key"]: (s["x"], s["y"]) for s in op["insert"]})
        for key in op["delete"]:
            del stored[key]
        want = op["expect"]
        if not want["keys"]:
            assert not stored
            continue
        X, y = (np.array(column, dtype=float) for column in zip(*(stored[k] for k in want["keys"]), strict=True))
        K = odm_kernel(X, X, case["kernel"], case["gamma"])
        problem = odm_intervals(y, theta, lam)
        b = interval_solve(K, *problem)
        assert np.abs(K @ b - want["f"]).max() <= 1e-8
        assert np.abs(b * y - want["alpha"]).max() <= 1e-8 * max(1.0, lam)
        assert interval_objective(K, *problem, b) == pytest.approx(want["objective"], rel=1e-9)
        assert int(np.sum(b != 0)) == want["n_sv"]


def test_published_algorithm_is_wrong_on_two_samples():
    # Both inserted together into an empty model: the second overshoots the strip to the wrong sign of alpha.
    X, y, lam, theta = np.array([[0.1], [1.2]]), np.ones(2), 10.0, 0.1
    H = X @ X.T
    published = published_update(H, np.zeros(2), lam, theta, [0, 1], [])
    assert published == pytest.approx([8.24516129, -0.05806452], abs=1e-8)
    margins = H @ published
    assert 1 - theta < margins[1] < 1 + theta and published[1] != 0.0
    exact = interval_solve(H, *odm_intervals(y, theta, lam))
    assert exact == pytest.approx([8.18181818, 0.0], abs=1e-8)
    assert H @ exact == pytest.approx([0.08181818, 0.98181818], abs=1e-8)


def _share_wrong(n_in, n_out, trials, seed):
    rng = np.random.default_rng(seed)
    wrong = 0
    for _ in range(trials):
        m = int(rng.integers(max(3, n_out), 14))
        n = m + n_in
        X, y = rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], n)
        lam, theta = 10.0 ** rng.integers(0, 4), float(rng.choice([0.1, 0.3, 0.5]))
        K = odm_kernel(X, X)
        lo, hi, il = odm_intervals(y, theta, lam)
        alpha = np.zeros(n)
        alpha[:m] = interval_solve(K[:m, :m], lo[:m], hi[:m], il[:m]) * y[:m]
        drop = [int(i) for i in rng.choice(m, n_out, replace=False)]
        got = published_update(K * np.outer(y, y), alpha, lam, theta, list(range(m, n)), drop)
        keep = np.setdiff1d(np.arange(n), drop)
        b = np.zeros(n)
        b[keep] = interval_solve(K[np.ix_(keep, keep)], lo[keep], hi[keep], il[keep])
        wrong += np.abs(K @ (got * y) - K @ b).max() > 1e-8
    return wrong / trials


@pytest.mark.parametrize(("n_in", "n_out"), [(1, 0), (0, 1), (0, 3)])
def test_published_algorithm_is_right_where_nothing_is_inserted_in_a_batch(n_in, n_out):
    assert _share_wrong(n_in, n_out, 200, seed=1) == 0.0


@pytest.mark.parametrize("n_out", [0, 3])
def test_published_algorithm_is_wrong_for_a_quarter_of_batch_inserts(n_out):
    assert 0.15 < _share_wrong(5, n_out, 300, seed=2) < 0.5


def _problem(n=80, d=4, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng


ENGINES = {
    "dual": lambda d: Engine(LINEAR, 1.0, 0.0, d),
    "primal": lambda d: PrimalEngine(0.0, d),
}


def _weights(kind, X, lo, hi, il):
    """w after all rows came, a third went, and came back: X'b of the naive solver, or of an engine."""
    if kind == "naive":
        return X.T @ interval_solve(X @ X.T, lo, hi, il)
    engine = ENGINES[kind](X.shape[1])
    none, third = np.zeros(0, dtype=np.int64), np.arange(0, len(X), 3)
    slots = engine.update(X, lo[None], hi[None], il, none)
    engine.update(X[:0], lo[None, :0], hi[None, :0], il[:0], slots[third])
    engine.update(X[third], lo[None, third], hi[None, third], il[third], none)
    assert engine.kkt() < 1e-8
    return engine.decision(np.eye(X.shape[1]))[:, 0]


@pytest.mark.parametrize("kind", ["naive", "dual", "primal"])
@pytest.mark.parametrize(("lam", "theta"), [(1.0, 0.1), (10.0, 0.3), (100.0, 0.0)])
def test_odm_is_squared_epsilon_insensitive_regression(lam, theta, kind):
    svm = pytest.importorskip("sklearn.svm")
    X, y, _ = _problem()
    peer = svm.LinearSVR(loss="squared_epsilon_insensitive", C=lam / 2, epsilon=theta, fit_intercept=False, tol=1e-12,
                         max_iter=200000).fit(X, y)  # fmt: skip
    assert np.abs(_weights(kind, X, *odm_intervals(y, theta, lam)) - peer.coef_).max() < 1e-6


@pytest.mark.parametrize("kind", ["naive", "dual", "primal"])
def test_squared_insensitive_regression(kind):
    svm = pytest.importorskip("sklearn.svm")
    X, _, rng = _problem()
    t, w, lam = X @ rng.normal(size=4) + rng.normal(size=len(X)), rng.uniform(0.2, 3.0, len(X)), 5.0
    peer = svm.LinearSVR(loss="squared_epsilon_insensitive", C=lam / 2, epsilon=0.2, fit_intercept=False, tol=1e-12,
                         max_iter=200000).fit(X, t, sample_weight=w)  # fmt: skip
    assert np.abs(_weights(kind, X, t - 0.2, t + 0.2, 1.0 / (lam * w)) - peer.coef_).max() < 1e-6


@pytest.mark.parametrize("kind", ["naive", "dual", "primal"])
@pytest.mark.parametrize("lam", [1.0, 100.0])
def test_l2_svm_is_the_half_lines(lam, kind):
    svm = pytest.importorskip("sklearn.svm")
    X, y, _ = _problem()
    lo, hi = np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0)
    peer = svm.LinearSVC(loss="squared_hinge", C=lam / 2, fit_intercept=False, tol=1e-12, max_iter=200000).fit(X, y)
    assert np.abs(_weights(kind, X, lo, hi, np.full(len(y), 1.0 / lam)) - peer.coef_[0]).max() < 1e-6


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge_is_the_point_interval(weighted, kernel):
    ridge = pytest.importorskip("sklearn.kernel_ridge")
    X, _, rng = _problem()
    t, lam = rng.normal(size=len(X)), 10.0
    w = rng.uniform(0.2, 3.0, len(X)) if weighted else None
    il = 1.0 / (lam * (np.ones(len(X)) if w is None else w))
    peer = ridge.KernelRidge(alpha=1.0 / lam, kernel=kernel, gamma=0.5).fit(X, t, sample_weight=w).predict(X)
    K = odm_kernel(X, X, kernel, 0.5)
    assert np.abs(K @ interval_solve(K, t, t, il) - peer).max() < 1e-11
    dual = Engine(RBF if kernel == "rbf" else LINEAR, 0.5, 0.0, 4)
    for engine in [dual] if kernel == "rbf" else [dual, PrimalEngine(0.0, 4)]:
        for row in range(len(X)):
            at = slice(row, row + 1)
            engine.update(X[at], t[None, at], t[None, at], il[at], np.zeros(0, dtype=np.int64))
        assert np.abs(engine.decision(X)[:, 0] - peer).max() < 1e-9  # the engines leave 1e-10 alone


def test_benchmark_of_the_golden_values():
    worst_f, worst_alpha, states = golden()
    assert worst_f <= 1e-8 and worst_alpha <= 1e-8 and states > 150


@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("lam", [1.0, 1000.0])
@pytest.mark.parametrize(("kind", "d"), [("rbf", 3), ("linear", 4), ("explicit", 10)])
def test_mixed_operations_stay_exact(kind, d, lam, theta):
    worst, _, counts, _ = mixed(kind, d, 0.5, lam, theta, 1500, seed=2, full=10)
    assert worst <= 1e-8 and counts["exchanges"] >= 1400


@pytest.mark.parametrize("lam", [1.0, 1000.0])
@pytest.mark.parametrize(("kind", "d"), [("rbf", 3), ("linear", 50), ("explicit", 50)])
def test_persistent_core_does_not_drift(kind, d, lam):
    assert core(kind, d, lam, 2000, seed=0)[0] <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("lam", [1.0, 1000.0])
@pytest.mark.parametrize(("kind", "d"), [("rbf", 3), ("explicit", 10)])
def test_hundred_thousand_operations(kind, d, lam):
    worst, _, _, memory = mixed(kind, d, 0.5, lam, 0.1, 100_000, seed=3)
    assert worst <= 1e-8
    assert memory[-1] <= memory[0] + 16  # MiB, between a tenth of the way and the end
