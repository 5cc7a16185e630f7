"""Hostile data, made to break a bound: columns of 1e-12 to 1e12, C of 1e-6 to 1e6, next to all rows gone, any w0."""

import warnings

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from test_sensitivity_violations import FORMS, LEVELS
from threadpoolctl import threadpool_limits

import naive
from onlinekit_plugins.sensitivity import FitSummary, NewtonTest, Rule, Tracker, loo_certificates, solve


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def rows_of(rng, d):
    """A maker of rows, and their size by column."""
    reach = rng.choice([0, 3, 6, 12])
    scale = 10.0 ** rng.uniform(-reach, reach, d)
    kinds = [
        lambda k: rng.normal(size=(k, d)),
        lambda k: np.eye(d)[rng.integers(0, d, k)],
        lambda k: rng.integers(-2, 3, (k, d)).astype(float),
        lambda k: 1 + 1e-7 * rng.normal(size=(k, d)),  # next to equal: columns that nearly cancel
    ]
    kind = kinds[rng.integers(len(kinds))]
    return (lambda k: kind(k) * scale), scale


def changed(rng):
    """Data of a fit, rows that join, which leave, C, loss and a w0: near the optimum, off it, or zero."""
    n, d, m = int(rng.integers(2, 14)), int(rng.integers(1, 4)), int(rng.integers(0, 6))
    make, scale = rows_of(rng, d)
    X, XA, C = make(n), make(m), 10 ** rng.uniform(-6, 6)
    if rng.random() < 0.3:
        X = X[rng.integers(0, rng.integers(1, n + 1), n)]
    if m and rng.random() < 0.3:
        XA = X[rng.integers(0, n, m)]
    if rng.random() < 0.3:
        X = X.astype(np.float32).astype(float)
    y = rng.choice([-1.0, 1.0], n) if rng.random() < 0.7 else np.ones(n)
    gone = rng.choice(n, int(rng.integers(0, n if rng.random() < 0.5 else n // 3 + 1)), replace=False)
    loss = str(rng.choice(["logistic", "squared_hinge"]))
    w0 = np.array([float(v) for v in naive.optimum_damped(X, y, C, loss)])
    w0 = w0 * [0.0, 1 + 0.1 * rng.normal(), 1 + 1e-9 * rng.normal(), 1.0][rng.integers(4)]
    return X, y, XA, rng.choice([-1.0, 1.0], m), gone, C, loss, w0, scale


def told(rng, form, X, y, XA, yA, gone, C, loss, w0):
    """A tracker that saw the changes in pieces, or two shards of it merged; and the summary of the whole fit."""
    summary = FitSummary.from_fit(form(X), y, w0, C, loss)
    tracker, half = Tracker(summary), len(y) // 2
    if len(y) > 3 and rng.random() < 0.3:
        one, two = (FitSummary.from_fit(form(X[a]), y[a], w0, C, loss) for a in (slice(half), slice(half, None)))
        if not np.array_equal(one.fingerprint, two.fingerprint):
            tracker = Tracker(one)
            tracker.merge(Tracker(two))
    tracker.add(form(XA), yA)
    for part in np.array_split(gone, rng.integers(1, 4)):
        tracker.remove(form(X[part]), y[part])
    if len(yA) and rng.random() < 0.5:
        tracker.coef_bounds()
        tracker.remove(XA[:1], yA[:1])
        tracker.add(form(XA[:1]), yA[:1])
    return tracker, summary


def violations(seed):
    """Intervals without the truth, and how many were looked at."""
    rng = np.random.default_rng([9, seed])
    X, y, XA, yA, gone, C, loss, w0, scale = changed(rng)
    form = [np.asarray, *FORMS][rng.integers(len(FORMS) + 1)]
    tracker, summary = told(rng, form, X, y, XA, yA, gone, C, loss, w0)
    X1, y1 = np.vstack([np.delete(X, gone, 0), XA]), np.append(np.delete(y, gone), yA)
    w1 = naive.optimum_damped(X1, y1, C, loss)
    tracker.refine(form(X1), y1, int(rng.integers(1, 4)))
    E = np.vstack([np.eye(len(w0)), rng.normal(size=(3, len(w0))) / scale, X[:3]])
    levels = (*LEVELS, "auto") if summary.matrices else ("sphere", "smooth-sphere", "newton", "auto")
    found = [tracker.bounds(form(E), level)[:2] for level in levels]
    found.append(tracker.segment(form(E), form(X1), y1)[:2])
    wrong, checked = 0, 0
    with mp.workdps(60):

        def score(row, w):
            return mp.fsum(mp.mpf(float(e)) * v for e, v in zip(row, w, strict=True))

        def excludes(low, high, truth):
            return not (np.isfinite(low) and np.isfinite(high) and mp.mpf(float(low)) <= truth <= mp.mpf(float(high)))

        for lower, upper in found:
            wrong += sum(excludes(low, high, score(row, w1)) for low, high, row in zip(lower, upper, E, strict=True))
            checked += len(E)
        if len(y) > 1 and summary.matrices:
            i = int(rng.integers(len(y)))
            lower, upper, _ = loo_certificates(summary, form(X), y)
            there = naive.optimum_damped(np.delete(X, i, 0), np.delete(y, i), C, loss)
            wrong += excludes(lower[i], upper[i], score(X[i], there))
            checked += 1
    return wrong, checked


def count(seeds):
    """Wrong intervals by seed, and how many intervals there were."""
    wrong, checked, unsolved = {}, 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for seed in seeds:
            try:
                found, number = violations(seed)
            except RuntimeError as error:  # the reference gives up on some logistic optima at these scales
                assert str(error) == "no solution"
                unsolved += 1
                continue
            wrong, checked = {**wrong, **({seed: found} if found else {})}, checked + number
    assert unsolved <= 0.02 * len(seeds)
    return wrong, checked


def test_no_violation_in_extremes():
    wrong, checked = count(range(50))
    assert not wrong and checked > 2000


def test_no_violation_in_extremes_without_matrices(monkeypatch):
    monkeypatch.setattr("onlinekit_plugins.sensitivity.summary.LARGEST_DENSE", 0)
    wrong, checked = count(range(5000, 5050))
    assert not wrong and checked > 1000


@pytest.mark.slow
def test_no_violation_in_more_extremes():
    wrong, checked = count(range(1000, 1500))
    assert not wrong and checked > 20_000


@pytest.mark.parametrize("sparse", [False, True])
def test_a_revert_after_a_rebase_knows_the_new_data_alone(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 80)) * (rng.random((90, 80)) < (0.1 if sparse else 1.0))
    y = X[:, 0] + 0.1 * rng.normal(size=90) > 0
    monitor = NewtonTest(rule="coefficients", tolerance=1e-6, C=0.1)

    def sample(i):
        return {j: v for j, v in enumerate(X[i].tolist()) if v or not sparse}

    form = sp.csr_matrix if sparse else np.asarray
    monitor.rebase(form(X[:60]), y[:60])
    for i in range(60, 90):
        monitor.update(sample(i), y[i])
        monitor.revert(sample(i - 60), y[i - 60])
    assert monitor.verdict().decision == "retrain" and monitor._sparse == sparse
    monitor.rebase(form(X[30:90]), y[30:90])
    assert monitor.verdict().decision == "keep" and monitor.n_removed == 0
    with pytest.raises(ValueError, match="not in the data"):
        monitor.revert(sample(3), y[3])
    monitor.revert(sample(70), y[70])
    monitor.update(sample(70), y[70])
    assert monitor.verdict().decision == "keep"


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_squares_that_overflow_or_underflow_make_no_false_certificate(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], 9)
    with pytest.raises(ValueError, match="squares of X overflow"):
        FitSummary.from_fit(X * 1e153, y, np.zeros(2), 0.1, loss)
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match="squares of X overflow"):
            solve(form(X * 1e200), y, 0.1, loss)
    with pytest.raises(ValueError, match="margins .* overflow"):
        FitSummary.from_fit(X * 1e120, y, np.full(2, 1e200), 0.1, loss)
    summary = FitSummary.from_fit(X, y, solve(X, y, 0.1, loss), 0.1, loss)
    tiny, tracker = rng.normal(size=(20, 2)) * 1e-170, Tracker(summary)
    tracker.add(-X, y)
    for form in (np.asarray, sp.csr_matrix):
        for level in LEVELS[:4]:
            near, far = tracker.bounds(form(tiny), level), tracker.bounds(form(tiny * 2.0**560), level)
            assert np.all(
                np.array(near[:2]) * 2.0**560 * [[1], [-1]] <= np.array(far[:2]) * [[1 - 1e-12], [-1 + 1e-12]]
            )
        near, far = (tracker.segment(form(E), np.vstack([X, -X]), np.append(y, y)) for E in (tiny, tiny * 2.0**560))
        assert np.all(np.array(near[:2]) * 2.0**560 * [[1], [-1]] <= np.array(far[:2]) * [[1 - 1e-12], [-1 + 1e-12]])
    # Data of which not even the gradient has a square.
    small = FitSummary.from_fit(X * 1e-158, y, np.zeros(2), 0.1, loss)
    truth = [float(v) for v in naive.optimum_damped(X * 1e-158, y, 0.1, loss, 420)]
    assert all(Tracker(small).check(truth, level) for level in LEVELS[:4])
    # A row without a square leaves no bound, and nothing is kept for that.
    tracker.add(X[:1] * 1e300, y[:1])
    for level in LEVELS[:4]:
        lower, upper, _ = tracker.bounds(np.vstack([X, X * 1e300]), level)
        assert not np.isnan(lower).any() and not np.isnan(upper).any() and np.all(lower <= upper)
    assert tracker.decide(Rule("flips", 0.5, np.vstack([X, X * 1e300]))).decision == "refine"
