"""Edge cases of the certified bounds: nothing changed, everything changed, one feature, bad input, huge moves."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import naive
from onlinekit_plugins.sensitivity import FitSummary, Rule, Tracker, loo_certificates, solve

LOSSES = ["logistic", "squared_hinge"]
LEVELS = ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "auto")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def data(seed=0, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


def fit(X, y, C, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return FitSummary.from_fit(X, y, solve(X, y, C, loss), C, loss)


def holds(tracker, X1, y1, levels=LEVELS):
    """Every level holds the exact optimum, up to how far the reference can be off."""
    s = tracker.summary
    w1, off = naive.optimum_long(X1, y1, s.C, s.loss, solve(X1, y1, s.C, s.loss))
    for level in levels:
        lower, upper = tracker.coef_bounds(level)
        assert np.all(lower - off <= w1) and np.all(w1 <= upper + off), level
    return upper - lower


@pytest.mark.parametrize("loss", LOSSES)
def test_no_change_gives_a_point_to_rounding(loss):
    X, y = data()
    tracker = Tracker(fit(X, y, 0.1, loss))
    width = holds(tracker, X, y)
    assert np.all(np.isfinite(width)) and width.max() < 1e-11
    assert np.all(np.isnan(tracker.published_segment(np.eye(4))[0]))
    assert tracker.decide(Rule("coefficients", 1e-9)).decision == "keep"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mode", ["add", "remove"])
def test_only_additions_and_only_removals(loss, mode):
    X, y = data()
    tracker = Tracker(fit(X[:50], y[:50], 0.1, loss))
    if mode == "add":
        tracker.add(X[50:], y[50:])
        holds(tracker, X, y)
    else:
        tracker.remove(X[:9], y[:9])
        holds(tracker, X[9:50], y[9:50])


@pytest.mark.parametrize("loss", LOSSES)
def test_every_row_removed(loss):
    X, y = data()
    tracker = Tracker(fit(X[:40], y[:40], 0.1, loss))
    before = tracker.coef_bounds()
    with pytest.raises(ValueError, match="no data would be left"):
        tracker.remove(X[:40], y[:40])
    np.testing.assert_array_equal(tracker.coef_bounds(), before)
    tracker.add(X[40:], y[40:])
    tracker.remove(X[:40], y[:40])  # all of the fit is gone: no Hessian is left to go by
    assert tracker.bounds(np.eye(4), "ellipsoid")[2]["level"] == "matrix-sphere"
    holds(tracker, X[40:], y[40:])
    tracker.refine(X[40:], y[40:], 8)
    assert holds(tracker, X[40:], y[40:], ("newton",)).max() < 1e-6


def test_rows_that_are_not_there_are_refused():
    X, y = data()
    tracker = Tracker(fit(X[:50], y[:50], 0.1, "logistic"))
    G = tracker.G.copy()
    for rows, labels in ((X[55], -y[55:56]), (X[50], y[50:51]), (X[[3, 3]], y[[3, 3]])):
        with pytest.raises(ValueError, match="neither a fit row"):
            tracker.remove(rows, labels)
    tracker.remove(X[3], y[3:4])
    with pytest.raises(ValueError, match="neither a fit row"):
        tracker.remove(X[3], y[3:4])
    with pytest.raises(ValueError, match="exactly those of the changed data"):
        tracker.refine(X[:50], y[:50])
    tracker.add(X[3], y[3:4])
    np.testing.assert_allclose(tracker.G, G, rtol=0, atol=1e-13)
    assert tracker.n_added == tracker.n_removed == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_add_then_remove_is_the_start_again(loss):
    X, y = data()
    tracker = Tracker(fit(X[:40], y[:40], 0.1, loss))
    before, G = tracker.coef_bounds("ellipsoid"), tracker.G
    for _ in range(3):
        for i in range(40, 60):
            tracker.add(X[i], y[i : i + 1])
        tracker.remove(X[40:], y[40:])
    np.testing.assert_allclose(tracker.G, G, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tracker._metric._N, tracker.summary.M, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tracker.coef_bounds("ellipsoid"), before, rtol=0, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unique", [1, 3])
def test_duplicate_rows(loss, unique):
    X, y = data(n=unique)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    summary = fit(X, y, 0.01, loss)
    tracker = Tracker(summary)
    tracker.add(X[:4], y[:4])
    tracker.remove(X[:2], y[:2])
    holds(tracker, np.vstack([X, X[2:4]]), np.append(y, y[2:4]))
    lower, upper, _ = loo_certificates(summary, X, y)
    for i in range(unique):
        rest = np.arange(len(y)) != i
        w, off = naive.optimum_long(X[rest], y[rest], 0.01, loss, summary.w0)
        assert lower[i] - np.abs(X[i]) @ off <= X[i] @ w <= upper[i] + np.abs(X[i]) @ off


@pytest.mark.parametrize("loss", LOSSES)
def test_the_zero_direction_is_zero(loss):
    X, y = data()
    tracker = Tracker(fit(X[:50], y[:50], 0.1, loss))
    tracker.add(X[50:], y[50:])
    tracker.refine(X, y)
    for level in (*LEVELS, "newton"):
        lower, upper, _ = tracker.bounds(np.zeros(4), level)
        assert lower[0] == upper[0] == 0.0
    assert tracker.segment(np.zeros(4), X, y)[0][0] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_one_feature(loss):
    X, y = data(d=1)
    tracker = Tracker(fit(X[:50], y[:50], 0.1, loss))
    tracker.add(X[50:], y[50:])
    tracker.remove(X[:2], y[:2])
    assert holds(tracker, X[2:], y[2:]).max() < 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_one_hot_columns_and_rows_of_zeros(loss):
    rng = np.random.default_rng(1)
    X = np.eye(6)[rng.integers(0, 6, 80)]
    X[:10] = 0.0
    y = rng.choice([-1.0, 1.0], 80)
    summary = fit(X[:70], y[:70], 0.01, loss)
    tracker = Tracker(summary)
    tracker.add(X[70:], y[70:])
    tracker.remove(X[5:15], y[5:15])
    holds(tracker, np.vstack([X[:5], X[15:]]), np.append(y[:5], y[15:]))
    lower, upper, label = loo_certificates(summary, X[:70], y[:70])
    assert np.all(label[:10] == 0) and np.allclose(lower[:10], 0, atol=1e-12) and np.allclose(upper[:10], 0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_unscaled_columns_do_not_matter_to_the_ellipsoid(loss):
    X, y = data(n=400)
    scale = np.array([1e4, 1.0, 1e-3, 1.0])
    wide = []
    for columns in (np.ones(4), scale):
        Z = X * columns
        # C so small that it does not see the scale.
        w0 = solve(X[:398], y[:398], 1e-13, loss) / columns
        tracker = Tracker(FitSummary.from_fit(Z[:398], y[:398], w0, 1e-13, loss))
        tracker.add(Z[398:], y[398:])
        tracker.remove(Z[:2], y[:2])
        assert tracker.bounds(np.eye(4), "ellipsoid")[2]["level"] == "ellipsoid"
        wide.append(holds(tracker, Z[2:], y[2:], ("ellipsoid",)) * columns)
    np.testing.assert_allclose(wide[1], wide[0], rtol=0.05)
    sphere = np.subtract(*tracker.coef_bounds("sphere")[::-1])
    assert np.median(sphere / (wide[1] / scale)) > 1e5


@pytest.mark.parametrize("loss", LOSSES)
def test_a_single_class(loss):
    X, _ = data()
    tracker = Tracker(fit(X[:50], np.ones(50), 0.1, loss))
    tracker.add(X[50:], np.ones(10))
    holds(tracker, X, np.ones(60))


@pytest.mark.parametrize("loss", LOSSES)
def test_tiny_C(loss):
    X, y = data(n=400)
    tracker = Tracker(fit(X[:399], y[:399], 1e-4, loss))
    tracker.add(X[399], y[399:])
    width = holds(tracker, X, y)
    assert width.mean() < 1e-3 * np.subtract(*tracker.coef_bounds("sphere")[::-1]).mean()


def test_margins_exactly_on_the_kink():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0], [0.0, 2.0]] * 4)
    y, w0 = np.ones(20), np.array([1.0, 0.5])
    for change in (0.01, -0.01, 0.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            summary = FitSummary.from_fit(X, y, w0 + np.array([change, 0.0]), 0.3, "squared_hinge")
        # Rows 0 and 4 of each five have z = 1: they may lose and gain curvature at once.
        assert change or all(len(ladder[0]) and ladder[0][0] == 0.0 for ladder in summary.curvature.ladders)
        tracker = Tracker(summary)
        tracker.add([[1.0, 0.0], [3.0, 1.0]], [1, -1])
        tracker.remove(X[:2], y[:2])
        holds(tracker, np.vstack([X[2:], [[1.0, 0.0], [3.0, 1.0]]]), np.append(y[2:], [1.0, -1.0]))


def test_bad_input_is_named():
    X, y = data()
    good = dict(X=X, y=y, w0=np.zeros(4), C=0.1, loss="logistic")
    hole, endless = X.copy(), X.copy()
    hole[3, 1], endless[3, 1] = np.nan, np.inf
    for change, message in (
        ({"X": hole}, "NaN or infinity"),
        ({"X": sp.csr_matrix(endless)}, "NaN or infinity"),
        ({"y": np.where(y > 0, 1, 0)}, "labels must be -1 or"),
        ({"C": 0.0}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"w0": np.full(4, np.nan)}, "finite numbers"),
        ({"w0": np.zeros(3)}, "w0 must be 4"),
        ({"X": X[:0], "y": y[:0]}, "at least one row"),
    ):
        with pytest.raises(ValueError, match=message):
            FitSummary.from_fit(**{**good, **change})
    tracker = Tracker(fit(X, y, 0.1, "logistic"))
    for eta in (np.zeros(3), [np.nan] * 4):
        with pytest.raises(ValueError, match="eta must be rows of 4 finite"):
            tracker.bounds(eta)
    for call in (lambda: tracker.bounds(np.eye(4), "best"), lambda: tracker.published_segment(np.eye(4), "(99)")):
        with pytest.raises(ValueError, match="must be"):
            call()
    for rule in (("drift", 0.1), ("gap", -1.0), ("flips", 0.1), ("validation", 0.1, X)):
        with pytest.raises(ValueError):
            Rule(*rule)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_huge_change_falls_back_and_says_so(loss):
    X, y = data(n=40)
    tracker = Tracker(fit(X, y, 1e-3, loss))
    tracker.add(30 * X[:20], -y[:20])
    info = tracker.bounds(np.eye(4), "auto")[2]
    assert info["level"] == "matrix-sphere" and "gamma" not in info
    X1, y1 = np.vstack([X, 30 * X[:20]]), np.append(y, -y[:20])
    holds(tracker, X1, y1)
    tracker.refine(X1, y1, 12)
    assert holds(tracker, X1, y1, ("newton",)).max() < 1e-3


def test_labels_as_booleans_and_rows_one_by_one():
    X, y = data()
    one, many = Tracker(fit(X[:40], y[:40] > 0, 0.1, "logistic")), Tracker(fit(X[:40], y[:40], 0.1, "logistic"))
    for row, label in zip(X[40:], y[40:], strict=True):
        one.add(row, bool(label > 0))
    many.add(sp.csr_matrix(X[40:]), y[40:])
    np.testing.assert_allclose(one.coef_bounds(), many.coef_bounds(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_hessian_that_is_singular_to_rounding_is_not_used(loss):
    rng = np.random.default_rng(0)
    along, direction = 1e4 * rng.normal(size=60), np.r_[2.0, -1.0, 0.5, np.zeros(9)]
    X = np.outer(along, direction)  # one direction, and C too small to mend it
    y, C = np.where(rng.random(60) < 0.5, 1.0, -1.0), 1e-12

    def optimum(part):
        """Along the direction the problem has one variable."""
        x = along[part, None] * np.linalg.norm(direction)
        best, off = naive.optimum_long(x, y[part], C, loss, solve(x, y[part], C, loss))
        return best[0] * direction / np.linalg.norm(direction), off[0] + 1e-15 * abs(best[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        summary = FitSummary.from_fit(X[:50], y[:50], optimum(slice(50))[0].astype(float), C, loss)
    assert summary.eps > 0.05
    tracker = Tracker(summary)
    tracker.add(X[50:], y[50:])
    tracker.remove(X[:5], y[:5])
    assert tracker.bounds(np.eye(12), "ellipsoid")[2]["level"] == "matrix-sphere"
    tracker.refine(X[5:], y[5:], 3)
    w1, off = optimum(slice(5, 60))
    for level in (*LEVELS, "newton"):
        lower, upper = tracker.coef_bounds(level)
        assert np.all(lower - off <= w1) and np.all(w1 <= upper + off), level
    lower, upper, _ = loo_certificates(summary, X[:50], y[:50])
    w, off = optimum(slice(1, 50))
    assert lower[0] - np.abs(X[0]).sum() * off <= X[0] @ w <= upper[0] + np.abs(X[0]).sum() * off
