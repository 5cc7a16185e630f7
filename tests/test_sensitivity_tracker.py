"""Tracker beside its obvious references: streaming factor, merge, decisions, segments, leave-one-out, state."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import naive
from onlinekit_plugins.sensitivity import FitSummary, Rule, Tracker, loo_certificates, solve, storage

LOSSES = ["logistic", "squared_hinge"]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def data(seed=0, n=300, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def changed(loss, C=0.05, seed=0):
    """A tracker with 10 rows added and 5 removed, the data now, and its optimum."""
    X, y = data(seed)
    tracker = Tracker(FitSummary.from_fit(X[:290], y[:290], solve(X[:290], y[:290], C, loss), C, loss))
    tracker.add(X[290:], y[290:])
    tracker.remove(X[:5], y[:5])
    return tracker, X[5:], y[5:], solve(X[5:], y[5:], C, loss)


def hessian(X, y, w, C, loss):
    z = y * (X @ w)
    p = 1 / (1 + np.exp(-z))
    weights = p * (1 - p) if loss == "logistic" else 2.0 * (z < 1)
    return (X * weights[:, None]).T @ X + len(y) * C * np.eye(X.shape[1])


@pytest.mark.parametrize("loss", LOSSES)
def test_ellipsoid_is_the_formula(loss):
    tracker, X1, y1, w1 = changed(loss)
    s, E = tracker.summary, np.random.default_rng(1).normal(size=(20, 8))
    lower, upper, info = tracker.bounds(E, "ellipsoid")
    inverse = np.linalg.inv(hessian(X1, y1, s.w0, s.C, loss))
    z = y1 * (X1 @ s.w0)
    slope = -1 / (1 + np.exp(z)) if loss == "logistic" else -2 * np.maximum(0, 1 - z)
    G = len(y1) * s.C * s.w0 + X1.T @ (slope * y1)
    np.testing.assert_allclose(tracker.G, G, atol=1e-12)
    assert info["gamma"] == pytest.approx(np.sqrt(G @ inverse @ G), rel=1e-9)
    k0, k1 = (1 / info["a"] + 1 / info["b"]) / 2, (1 / info["a"] - 1 / info["b"]) / 2
    half = k1 * info["gamma"] * np.sqrt(np.einsum("ij,jk,ik->i", E, inverse, E))
    np.testing.assert_allclose(lower, E @ (s.w0 - k0 * inverse @ G) - half, atol=1e-10)
    np.testing.assert_allclose(upper, E @ (s.w0 - k0 * inverse @ G) + half, atol=1e-10)
    # The constants are what they claim to be: a N <= Hessians' average <= b N, here on a grid of the path.
    path = np.mean([hessian(X1, y1, s.w0 + t * (w1 - s.w0), s.C, loss) for t in np.linspace(0, 1, 201)], axis=0)
    spread = np.linalg.eigvals(inverse @ path).real
    assert info["a"] - 1e-3 <= spread.min() and spread.max() <= info["b"] + 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_levels_get_tighter_and_the_smooth_sphere_by_its_factor(loss):
    tracker, X1, y1, w1 = changed(loss)
    tracker.refine(X1, y1, 2)
    widths = [np.subtract(*tracker.coef_bounds(level)[::-1]).mean() for level in
              ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "newton")]  # fmt: skip
    assert all(b <= a * (1 + 1e-12) for a, b in zip(widths, widths[1:], strict=False))
    assert widths[0] / widths[3] > 20 and widths[3] / widths[4] > 100
    L = tracker._L / tracker.n1
    assert widths[0] / widths[1] >= 1 / (1 - tracker.summary.C / L) * 0.999


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.integers(1, 40))
def test_streaming_is_the_batch(seed, loss, d):
    """Rank-1 changes, a batch, and a factor of scratch give the same Hessian and the same intervals."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, d))
    y = np.where(X[:, 0] + rng.normal(size=150) > 0, 1.0, -1.0)
    summary = FitSummary.from_fit(X[:120], y[:120], solve(X[:120], y[:120], 0.1, loss), 0.1, loss)
    one, many = Tracker(summary), Tracker(summary)
    order = rng.permutation(30)
    for i in order:
        one.add(X[120 + i], y[120 + i : 121 + i])
        one.remove(X[i], y[i : i + 1])
    for i in order[:5]:  # some leave again and some come back
        one.remove(X[120 + i], y[120 + i : 121 + i])
        one.add(X[i], y[i : i + 1])
    many.add(X[120 + order[5:]], y[120 + order[5:]])
    many.remove(X[order[5:]], y[order[5:]])
    X1 = np.vstack([X[30:120], X[order[:5]], X[120 + order[5:]]])
    y1 = np.concatenate([y[30:120], y[order[:5]], y[120 + order[5:]]])
    N = hessian(X1, y1, summary.w0, 0.1, loss)
    for tracker in (one, many):
        assert tracker.n_added == tracker.n_removed == 25 and tracker.n1 == 120
        np.testing.assert_allclose(tracker._metric._N, N, atol=1e-9)
        out = tracker._answer()
        if out["usable"]:
            np.testing.assert_allclose(tracker._metric._R.T @ tracker._metric._R, N, atol=1e-9)
    if one._answer()["crossed"]:
        np.testing.assert_allclose(one.coef_bounds("ellipsoid"), many.coef_bounds("ellipsoid"), rtol=1e-4, atol=1e-7)


def test_a_row_is_a_rank_one_change_and_a_question_makes_no_factor(monkeypatch):
    tracker, X1, y1, _ = changed("logistic")
    tracker.coef_bounds()
    refactored = []
    monkeypatch.setattr(type(tracker._metric), "_refactor", lambda self, net: refactored.append(net))
    Z, labels = data(3)
    for i in range(20):  # a sliding window: one joins, one leaves
        tracker.add(Z[i], labels[i : i + 1])
        tracker.remove(X1[i], y1[i : i + 1])
        tracker.bounds(np.ones(8))
        assert tracker._answer()["usable"]
    assert not refactored and tracker._metric._rank_ops == 40


@pytest.mark.parametrize("loss", LOSSES)
def test_merge_of_trackers_of_one_fit(loss):
    tracker, X1, y1, _ = changed(loss)
    X, y = data()
    one, two = Tracker(tracker.summary), Tracker(tracker.summary)
    one.add(X[290:295], y[290:295])
    one.remove(X[:2], y[:2])
    two.add(X[295:], y[295:])
    two.remove(X[2:5], y[2:5])
    one.merge(two)
    assert (one.n1, one.n_added, one.n_removed) == (tracker.n1, 10, 5)
    np.testing.assert_allclose(one.coef_bounds(), tracker.coef_bounds(), atol=1e-9)
    one.refine(X1, y1)
    with pytest.raises(ValueError, match="neither a fit row"):
        one.merge(two)  # the same removals again: not disjoint
    assert one.n_removed == 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        other = FitSummary.from_fit(X, y, tracker.summary.w0, 0.06, loss)
    with pytest.raises(ValueError, match="only when w0, C, loss"):
        one.merge(Tracker(other))
    again = FitSummary.from_fit(X[:290], y[:290], tracker.summary.w0, 0.05, loss)
    with pytest.raises(ValueError, match="two summaries of equal rows"):  # one fit made twice, or two equal shards?
        one.merge(Tracker(again))
    twin = Tracker(pickle.loads(pickle.dumps(tracker.summary)))
    twin.add(X[0], y[:1])
    one.merge(twin)
    assert one.n1 == 296


@pytest.mark.parametrize("loss", LOSSES)
def test_merge_of_shards_of_the_fit(loss):
    tracker, X1, y1, w1 = changed(loss)
    X, y = data()
    s = tracker.summary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # w0 is the optimum of the whole, not of a shard
        parts = [Tracker(FitSummary.from_fit(X[a:b], y[a:b], s.w0, s.C, loss)) for a, b in ((0, 100), (100, 290))]
    parts[0].remove(X[:5], y[:5])
    parts[1].add(X[290:], y[290:])
    parts[0].merge(parts[1])
    merged = parts[0]
    np.testing.assert_allclose(merged.G, tracker.G, atol=1e-12)
    assert merged.check(w1) and merged.bounds(np.eye(8))[2]["level"] == "ellipsoid"
    np.testing.assert_allclose(merged.coef_bounds("smooth-sphere"), tracker.coef_bounds("smooth-sphere"), atol=0.05)
    merged.refine(X1, y1, 2)
    assert merged.check(w1)


@pytest.mark.parametrize("loss", LOSSES)
def test_decisions_are_right_and_certified_ones_proved(loss):
    tracker, X1, y1, w1 = changed(loss)
    X, y = data(9)
    w0, C = tracker.summary.w0, tracker.summary.C

    def phi(z):
        return np.logaddexp(0, -z) if loss == "logistic" else np.maximum(0, 1 - z) ** 2

    def f1(w):
        return C / 2 * w @ w + phi(y1 * (X1 @ w)).mean()

    truth = {
        "flips": np.mean((X @ w0 > 0) != (X @ w1 > 0)),
        "coefficients": np.abs(w1 - w0).max(),
        "gap": f1(w0) - f1(w1),
        "validation": phi(y * (X @ w0)).mean() - phi(y * (X @ w1)).mean(),
    }
    seen = set()
    for criterion, value in truth.items():
        for tolerance in (0.3 * value, 0.97 * value, 1.03 * value, 3 * value, 100 * abs(value)):
            rule = Rule(criterion, max(tolerance, 0.0), X, y)
            for level in ("smooth-sphere", "ellipsoid"):
                tracker.forget_points()
                found = tracker.decide(rule, level=level)
                assert found.lower - 1e-12 <= value <= found.upper + 1e-12
                if found.decision == "refine":
                    assert not found.certified
                    found = tracker.decide(rule, X1, y1, level)
                    assert found.decision != "refine"
                if found.certified:
                    assert (found.decision == "keep") == (value <= rule.tolerance)
                seen.add((found.decision, found.certified, found.level))
    assert {decision for decision, certified, _ in seen if certified} == {"keep", "retrain"}
    assert "newton" in {level for *_, level in seen}


@pytest.mark.parametrize("loss", LOSSES)
def test_validation_interval_holds_the_retrained_model(loss):
    tracker, X1, y1, w1 = changed(loss)
    X, y = data(9)
    new, old = X @ w1, X @ tracker.summary.w0
    value = np.logaddexp(0, -y * new) if loss == "logistic" else np.maximum(0, 1 - y * new) ** 2
    right, flipped = np.mean((new > 0) == (y > 0)), np.sum((new > 0) != (old > 0))
    widths = []
    for level in ("sphere", "ellipsoid"):
        found = tracker.validation_interval(X, y, level)
        widths.append(found.loss[1] - found.loss[0])
        assert found.loss[0] <= value.mean() <= found.loss[1]
        assert found.accuracy[0] <= right <= found.accuracy[1]
        assert found.certain_flips <= flipped <= found.possible_flips
        labels = tracker.labels(X, level)
        assert np.all((labels == 0) | (labels == np.where(new > 0, 1, -1)))
    assert widths[1] < 0.1 * widths[0]
    np.testing.assert_array_equal(tracker.labels(sp.csr_matrix(X)), tracker.labels(X))
    with pytest.raises(ValueError, match="labels must be"):
        tracker.validation_interval(X, np.zeros(len(y)))


def test_the_published_segment_excludes_the_truth():
    """So that nobody takes it for a bound: additions with flipped labels, as a solver's label order makes them."""
    X, y = data(4, n=400, d=6)
    C = 0.001
    tracker = Tracker(FitSummary.from_fit(X[:380], y[:380], solve(X[:380], y[:380], C, "logistic"), C, "logistic"))
    tracker.add(X[380:], -y[380:])
    tracker.remove(X[:10], y[:10])
    X1, y1 = X[10:], np.append(y[10:380], -y[380:])
    w1 = solve(X1, y1, C, "logistic", tol=1e-12)
    excluded = {}
    for equation in ("(31)", "(40)"):
        lower, upper, info = tracker.published_segment(np.eye(6), equation)
        assert info["certified"] is False
        excluded[equation] = int(((w1 < lower - 1e-6) | (w1 > upper + 1e-6)).sum())
    assert max(excluded.values()) > 0, excluded
    for level in ("sphere", "ellipsoid"):
        assert tracker.check(w1, level)
    assert np.all(np.isnan(Tracker(tracker.summary).published_segment(np.eye(6))[0]))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_valid_segment_gains_next_to_nothing(loss):
    tracker, X1, y1, w1 = changed(loss)
    E = np.vstack([np.eye(8), np.random.default_rng(0).normal(size=(50, 8))])
    lower, upper, info = tracker.segment(E, X1, y1)
    assert info["certified"] and info["psi"] <= 0
    assert np.all((lower <= E @ w1) & (E @ w1 <= upper))
    ball = tracker.bounds(E, "sphere")
    assert np.all(lower >= ball[0] - 1e-9) and np.all(upper <= ball[1] + 1e-9)
    with pytest.raises(ValueError, match="exactly those of the changed data"):
        tracker.segment(E, X1[1:], y1[1:])


def test_a_cut_ball_is_the_best_of_its_points():
    """Theorem 3 against a search over the ball."""
    from onlinekit_plugins.sensitivity.segment import cut_ball

    rng = np.random.default_rng(0)
    points = rng.normal(size=(200_000, 3))
    points *= (rng.random(200_000) ** (1 / 3) / np.linalg.norm(points, axis=1))[:, None]
    normal, eta = np.array([0.6, 0.8, 0.0]), rng.normal(size=(6, 3))
    for psi in (-1.0, -0.5, 0.0, 0.4, 0.8):
        lower, upper = cut_ball(eta, np.zeros(3), 1.0, normal, psi)
        values = points[points @ normal <= -psi] @ eta.T
        assert np.all(values >= lower - 1e-12) and np.all(values <= upper + 1e-12)
        np.testing.assert_allclose(values.min(axis=0), lower, atol=0.12)
        np.testing.assert_allclose(values.max(axis=0), upper, atol=0.12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dense", [True, False])
def test_leave_one_out_is_n_refits(loss, dense):
    X, y = data(n=120, d=5)
    C = 0.02
    summary = FitSummary.from_fit(X, y, solve(X, y, C, loss), C, loss)
    lower, upper, label = loo_certificates(summary, X if dense else sp.csr_matrix(X), y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        w, off = naive.optimum_long(X[rest], y[rest], C, loss, summary.w0)
        score, doubt = float(X[i] @ w), float(np.abs(X[i]) @ off)
        assert lower[i] - doubt <= score <= upper[i] + doubt
        assert label[i] in (0, np.sign(score))
    assert np.mean(label == 0) < 0.05
    sphere = Tracker(summary)
    sphere.remove(X[0], y[:1])
    assert upper[0] - lower[0] < 0.1 * np.subtract(*sphere.bounds(X[0], "sphere")[1::-1])[0]
    with pytest.raises(ValueError, match="exactly the rows of the fit"):
        loo_certificates(summary, X[1:], y[1:])


@pytest.mark.parametrize("loss", LOSSES)
def test_state_goes_on_bit_for_bit(loss, tmp_path):
    tracker, X1, y1, _ = changed(loss)
    tracker.add(np.ones(8), [1])
    tracker.save(tmp_path / "tracker.npz")
    tracker.summary.save(tmp_path / "fit.npz")
    copies = [pickle.loads(pickle.dumps(tracker)), copy.deepcopy(tracker), Tracker.load(tmp_path / "tracker.npz")]
    for twin in (tracker, *copies):
        for i in range(6):
            twin.remove(X1[i], y1[i : i + 1])
            twin.add(X1[i] + 1, y1[i : i + 1])
        twin.remove(np.ones(8), [1])
    for twin in copies:
        np.testing.assert_array_equal(twin.coef_bounds(), tracker.coef_bounds())
        assert (twin.n_added, twin.n_removed) == (tracker.n_added, tracker.n_removed)
    fresh = Tracker(FitSummary.load(tmp_path / "fit.npz"))
    np.testing.assert_array_equal(fresh.coef_bounds(), Tracker(tracker.summary).coef_bounds())
    with pytest.raises(ValueError, match="is no saved Tracker: it holds a FitSummary"):
        Tracker.load(tmp_path / "fit.npz")
    for junk in (b"junk", pickle.dumps([1, 2]), b""):
        (tmp_path / "junk.npz").write_bytes(junk)
        with pytest.raises(ValueError, match="is no saved FitSummary: it is no .npz file"):
            FitSummary.load(tmp_path / "junk.npz")


def test_labels_of_other_kinds_are_named():
    tracker, X1, y1, _ = changed("logistic")
    for y in (["in"], [None], np.array(["out"], dtype=object), [0]):
        for call in (tracker.add, tracker.remove):
            with pytest.raises(ValueError, match="labels must be -1 or .1"):
                call(X1[:1], y)
    with pytest.raises(ValueError, match="LogisticRegression is not fitted"):
        FitSummary.from_sklearn(LogisticRegression(), X1, y1)


def test_a_state_of_another_version_is_refused_with_one_sentence(tmp_path):
    tracker = changed("logistic")[0]
    tracker.coef_bounds()
    state = tracker.__getstate__()
    for name in ("_metric", "_points", "summary"):
        for other in ({k: v for k, v in state.items() if k != name}, {**state, name: [{"old": 1.0}]}):
            storage.write(tmp_path / "old.npz", "Tracker", other)
            with pytest.raises(ValueError, match="the Tracker is damaged or of another version of onlinekit"):
                Tracker.load(tmp_path / "old.npz")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_state_of_a_sparse_fit_goes_on_bit_for_bit(loss, tmp_path):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 6)), rng.choice([-1.0, 1.0], 40)
        tracker = Tracker(FitSummary.from_fit(sp.csr_matrix(X), y, solve(X, y, 0.1, loss), 0.1, loss))
        tracker.save(tmp_path / "tracker.npz")
        copies = [pickle.loads(pickle.dumps(tracker)), copy.deepcopy(tracker), Tracker.load(tmp_path / "tracker.npz")]
        for twin in (tracker, *copies):
            twin.add(X[:3] * 2, y[:3])
            np.testing.assert_array_equal(twin.coef_bounds(), tracker.coef_bounds())


@pytest.mark.parametrize("loss", LOSSES)
def test_a_copy_and_its_original_do_not_change_each_other(loss):
    tracker, X1, y1, _ = changed(loss)
    tracker.add(np.ones(8), [1])
    twin, before = copy.copy(tracker), pickle.dumps(tracker)
    twin.add(X1[:3] + 1, y1[:3])
    twin.remove(X1[:4], y1[:4])
    twin.coef_bounds()
    assert pickle.dumps(tracker) == before and twin.n1 == tracker.n1 - 1


def plain(value):
    """Whether a state holds nothing but what `onlinekit.save` writes."""
    if isinstance(value, dict):
        return all(type(k) in (str, int) and plain(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(plain(v) for v in value)
    return value is None or type(value) in (bool, int, float, str) or isinstance(value, np.ndarray)


@pytest.mark.parametrize("loss", LOSSES)
def test_state_is_plain_values_and_arrays(loss):
    tracker, X1, y1, _ = changed(loss)
    tracker.coef_bounds()
    tracker.refine(X1, y1)
    assert plain(tracker.__getstate__()) and plain(tracker.summary.__getstate__())


def test_the_fit_is_never_written_to():
    """Trackers share their summary: streaming one must not move the others."""
    tracker, X1, y1, _ = changed("logistic")
    before = pickle.dumps(tracker.summary)
    for i in range(20):
        tracker.add(X1[i] * 2, y1[i : i + 1])
        tracker.remove(X1[i], y1[i : i + 1])
        tracker.coef_bounds()
    assert pickle.dumps(tracker.summary) == before


def sklearn_cases():
    X, y = data(2, n=400, d=5)
    labels = np.where(y > 0, "yes", "no")
    ones = np.hstack([X, np.ones((400, 1))])
    return X, ones, labels, {
        "liblinear": (LogisticRegression(solver="liblinear", C=0.5, tol=1e-10, max_iter=10_000), X),
        "lbfgs": (LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000), ones),
        "svc": (LinearSVC(C=0.01, tol=1e-9, max_iter=100_000), X),
        "scaled intercept": (LinearSVC(C=0.01, tol=1e-9, max_iter=100_000, intercept_scaling=3.0), X),
        "sgd": (SGDClassifier(loss="log_loss", alpha=0.05, fit_intercept=False, max_iter=5000, tol=None), ones),
        "sgd hinge": (SGDClassifier("squared_hinge", alpha=0.5, fit_intercept=False, max_iter=999, tol=None), ones),
    }  # fmt: skip


@pytest.mark.parametrize("name", sklearn_cases()[3])
def test_from_sklearn_is_the_objective_of_the_model(name):
    *_, labels, cases = sklearn_cases()
    model, X = cases[name]
    model.fit(X, labels)
    summary = FitSummary.from_sklearn(model, X, labels)
    assert np.linalg.norm(summary.R0) / summary.n0 < (1e-2 if name.startswith("sgd") else 1e-5)
    # The same model refitted on changed data is where the bounds say.
    n = summary.n0
    tracker, rows = Tracker(summary), X
    if model.fit_intercept:
        rows = np.hstack([X, np.full((n, 1), model.intercept_scaling)])
    tracker.remove(rows[:4], labels[:4] == "yes")
    truth = solve(rows[4:], labels[4:] == "yes", summary.C, summary.loss)
    assert tracker.check(truth)


def test_from_sklearn_refuses_other_objectives():
    X, ones, labels, _ = sklearn_cases()
    three = np.array(["a", "b", "c", "d"] * 100)
    for model, message in (
        (LogisticRegression(), "does not penalise the intercept"),
        (SGDClassifier(loss="log_loss"), "does not penalise the intercept"),
        (SGDClassifier(fit_intercept=False), "needs loss"),
        (LinearSVC(loss="hinge"), "needs loss"),
        (LogisticRegression(fit_intercept=False, class_weight="balanced"), "without class_weight"),
        (LogisticRegression(fit_intercept=False, solver="liblinear", l1_ratio=1), "l2 penalty alone"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, labels)
        with pytest.raises(ValueError, match=message):
            FitSummary.from_sklearn(model, X, labels)
    with pytest.raises(ValueError, match="not Ridge"):
        FitSummary.from_sklearn(Ridge().fit(X, labels == "yes"), X, labels)
    with pytest.raises(ValueError, match="two classes"):
        FitSummary.from_sklearn(LogisticRegression(fit_intercept=False).fit(X, three), X, three)
    model = LogisticRegression(fit_intercept=False).fit(X, labels)
    with pytest.raises(ValueError, match="labels other than"):
        FitSummary.from_sklearn(model, X, np.where(labels == "yes", "maybe", "no"))
    with pytest.warns(RuntimeWarning, match="order of the solver's labels"):
        FitSummary.from_sklearn(model, X, np.where(labels == "yes", "no", "yes"))


@pytest.mark.parametrize("loss", LOSSES)
def test_plot_shows_the_bounds_and_changes_nothing(loss):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    tracker, X1, y1, _ = changed(loss)
    before = tracker.coef_bounds()
    changes = [("remove", X1[:3], y1[:3]), ("add", X1[:6], y1[:6])]
    axes = tracker.plot(2, changes, ("sphere", "ellipsoid"))
    np.testing.assert_array_equal(tracker.coef_bounds(), before)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["sphere", "ellipsoid", "now"]
    tracker.remove(X1[:3], y1[:3])
    tracker.add(X1[:6], y1[:6])
    lower, upper = tracker.coef_bounds("ellipsoid")
    assert [line.get_ydata()[-1] for line in axes.lines[2:4]] == [lower[2], upper[2]]
    with pytest.raises(ValueError, match="'add' or 'remove'"):
        tracker.plot(2, [("move", X1, y1)])


@pytest.mark.parametrize("size, crossed", [(10, True), (60, False)])
def test_points_of_the_squared_hinge_know_which_rows_have_moved(size, crossed):
    """a N <= the Hessian's average from the point to w1 <= b N, also where the fit's own summary finds no crossing."""
    X, y = data(n=300, d=8)
    C = 0.002
    w0 = solve(X[:200], y[:200], C, "squared_hinge")
    tracker = Tracker(FitSummary.from_fit(X[:200], y[:200], w0, C, "squared_hinge"))
    tracker.add(X[200 : 200 + size], y[200 : 200 + size])
    X1, y1 = X[: 200 + size], y[: 200 + size]
    assert tracker._answer()["crossed"] is crossed
    w1 = solve(X1, y1, C, "squared_hinge", w0)
    tracker.refine(X1, y1, 3)
    N, seen = hessian(X1, y1, w0, C, "squared_hinge"), 0
    for p in tracker._points:
        path = np.mean(
            [hessian(X1, y1, p.w + t * (w1 - p.w), C, "squared_hinge") for t in np.linspace(0, 1, 101)], axis=0
        )
        spread = np.linalg.eigvals(np.linalg.inv(N) @ path).real
        if p.a > 0:
            seen += 1
            assert p.a <= spread.min() + 1e-9 and spread.max() <= p.b + 1e-9
    assert seen
    lower, upper = tracker.coef_bounds("newton")
    assert np.all(lower <= w1) and np.all(w1 <= upper)
