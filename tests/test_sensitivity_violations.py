"""No certified interval may ever exclude the truth: random changes and hostile inputs against exact solutions."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import naive
from onlinekit_plugins.sensitivity import FitSummary, Tracker, loo_certificates, solve

LEVELS = ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid", "newton")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def outside(lower, upper, E, data, truth, off):
    """Which intervals exclude E w1; where long double cannot tell, an exact solution does."""
    value = (E.astype(np.longdouble) * truth).sum(axis=1)
    doubt = np.abs(E) @ off + 1e-18 * (np.abs(E) @ np.abs(truth))
    bad = (value < lower) | (value > upper)
    unsure = ((value - doubt < lower) | (value + doubt > upper)) & (lower - doubt <= value) & (value <= upper + doubt)
    if unsure.any():
        import mpmath as mp

        with mp.workdps(50):
            w1 = naive.optimum_exact(*data, truth)
            for i in np.flatnonzero(unsure):
                exact = mp.fsum(mp.mpf(float(e)) * v for e, v in zip(E[i], w1, strict=True))
                bad[i] = not (mp.mpf(float(lower[i])) <= exact <= mp.mpf(float(upper[i])))
    return bad


def gap_outside(tracker, X1, y1, C, loss, truth, level):
    """Whether f1(w0) - f1(w1) is outside its bounds by more than long double can be wrong."""
    w0 = tracker.summary.w0.astype(np.longdouble)
    rows = X1.astype(np.longdouble) * y1[:, None]

    def phi(z):
        return np.logaddexp(np.longdouble(0), -z) if loss == "logistic" else np.maximum(0, 1 - z) ** 2

    old, new = (rows * w0).sum(axis=1), (rows * truth).sum(axis=1)
    change = np.longdouble(C) / 2 * ((w0 - truth) @ (w0 + truth)) + (phi(old) - phi(new)).mean()
    low, high = tracker.training_gap(level)
    error = 1e-17 * (
        C * (w0 @ w0 + truth @ truth) + phi(old).mean() + phi(new).mean() + np.abs(rows).max() ** 2 * 1e-19
    )
    return not (low - error <= change <= high + error)


def random_run(rng):
    """P of .01-10 %, C of .001-10, every mode, both losses: data, changes, C, loss, w0."""
    n, d = int(10 ** rng.uniform(1.7, 3.0)), int(rng.integers(1, 13))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0]))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    m = max(1, int(n * 10 ** rng.uniform(-4, -1)))
    mode = rng.choice(["add", "remove", "both"])
    XA = rng.normal(size=(0 if mode == "remove" else m, d))
    yA = rng.choice([-1.0, 1.0], len(XA)) if rng.random() < 0.5 else np.where(XA.sum(axis=1) > 0, 1.0, -1.0)
    gone = rng.choice(n, 0 if mode == "add" else min(m, n - 1), replace=False)
    return X, y, XA, yA, gone, 10 ** rng.uniform(-3, 1)


def hostile_run(rng):
    """Columns of 1e4 to 1e-3, duplicates, one-hot and integer rows, rows of zeros, margins on the kink, one class."""
    n, d = int(rng.integers(3, 50)), int(rng.integers(1, 7))
    kind = rng.choice(["normal", "onehot", "integer", "binary"])
    X = {
        "normal": lambda k: rng.normal(size=(k, d)),
        "onehot": lambda k: np.eye(d)[rng.integers(0, d, k)],
        "integer": lambda k: rng.integers(-2, 3, (k, d)).astype(float),
        "binary": lambda k: (rng.random((k, d)) < 0.4).astype(float),
    }[kind]
    scale = 10.0 ** rng.integers(-3, 5, d) if rng.random() < 0.4 else np.ones(d)
    m = int(rng.integers(0, max(2, n // 2)))
    data, added = X(n) * scale, X(m) * scale
    if rng.random() < 0.3:
        data = data[rng.integers(0, rng.integers(1, n + 1), n)]
    if m and rng.random() < 0.3:
        added = data[rng.integers(0, n, m)]
    if rng.random() < 0.2:
        data[rng.integers(0, n, n // 4)] = 0.0
    y = rng.choice([-1.0, 1.0], n) if rng.random() < 0.7 else np.ones(n)
    most = n if rng.random() < 0.2 else n // 4 + 1
    gone = rng.choice(n, int(rng.integers(0, most)), replace=False)
    return data, y, added, rng.choice([-1.0, 1.0], m), gone, 10 ** rng.uniform(-4, 1)


def split_entries(X):
    """CSR with explicit zeros, each entry stored as two that add up to it, in falling order."""
    dense = np.asarray(X, dtype=float)
    n, d = dense.shape
    indices = np.tile(np.repeat(np.arange(d)[::-1], 2), n)
    halves = np.stack([2 * dense[:, ::-1], -dense[:, ::-1]], axis=2).ravel()  # exact in binary
    return sp.csr_matrix((halves, indices, np.arange(0, 2 * n * d + 1, 2 * d)), shape=(n, d))


def single(X):
    """float32 where no value is rounded by it."""
    small = np.asarray(X, dtype=np.float32)
    return small if np.array_equal(small, X) else np.asarray(X)


FORMS = [sp.csr_matrix, split_entries, single]


def violations(rng, make, scores):
    """Violations in one run of every level, of the valid segment, and of leave-one-out; and the intervals checked."""
    X, y, XA, yA, gone, C = make(rng)
    loss = str(rng.choice(["logistic", "squared_hinge"]))
    w0 = solve(X, y, C, loss, tol=1e-9 * (1 + np.abs(X).max()))
    style = rng.integers(4)
    if style == 0:
        w0 = w0 * (1 + 0.1 * rng.uniform(-1, 1, len(w0)))
    elif style == 1 and loss == "squared_hinge":
        w0 = np.round(w0, 1)  # integer rows then have margins of exactly 1
    # Rows come as they are, as float32 where that is exact, as CSR, or as CSR with stored zeros and split entries.
    form = FORMS[rng.choice(len(FORMS))] if rng.random() < 0.5 else np.asarray
    summary = FitSummary.from_fit(form(X), y, w0, C, loss)
    tracker = Tracker(summary)
    if len(y) > 3 and rng.random() < 0.15:  # two shards of the data, merged
        half = len(y) // 2
        shards = [FitSummary.from_fit(form(X[part]), y[part], w0, C, loss) for part in (slice(half), slice(half, None))]
        if not np.array_equal(shards[0].fingerprint, shards[1].fingerprint):
            tracker = Tracker(shards[0])
            tracker.merge(Tracker(shards[1]))
    steps = int(rng.choice([1, 3, 20]))  # the changes come in pieces, by rank-1 updates or at once
    asked = rng.random() < 0.5  # what is kept from one question to the next must hold as well
    for part in np.array_split(np.arange(len(yA)), steps):
        tracker.add(form(XA[part]), yA[part])
        if asked:
            tracker.coef_bounds()
    for part in np.array_split(gone, steps):
        tracker.remove(form(X[part]), y[part])
        if asked:
            tracker.coef_bounds()
    if len(yA) and rng.random() < 0.5:  # there and back again: the streaming factor must not lose its way
        for _ in range(int(rng.integers(1, 6))):
            tracker.remove(XA[:2], yA[:2])
            tracker.coef_bounds()
            tracker.add(XA[:2], yA[:2])
    if len(gone) and rng.random() < 0.5:
        tracker.add(X[gone[:3]], y[gone[:3]])
        tracker.remove(X[gone[:3]], y[gone[:3]])
    X1, y1 = np.vstack([np.delete(X, gone, 0), XA]), np.append(np.delete(y, gone), yA)
    start = solve(X1, y1, C, loss, w0, tol=1e-8 * (1 + np.abs(X).max()))
    truth, off = naive.optimum_long(X1, y1, C, loss, start)
    tracker.refine(form(X1), y1, int(rng.integers(1, 4)))
    typical = np.maximum(np.abs(X).max(axis=0), 1e-6)
    E = np.vstack([np.eye(len(w0)), np.zeros((1, len(w0))), rng.normal(size=(scores, len(w0))) * typical, X[:5]])
    found, checked = 0, 0
    levels = LEVELS if tracker.summary.matrices else ("sphere", "smooth-sphere", "newton")
    for level in levels:
        lower, upper, info = tracker.bounds(form(E), level)
        assert np.all(np.isfinite(lower) & np.isfinite(upper)), info
        found += outside(lower, upper, E, (X1, y1, C, loss), truth, off).sum()
        checked += len(E)
    lower, upper, _ = tracker.segment(form(E), form(X1), y1)
    found += outside(lower, upper, E, (X1, y1, C, loss), truth, off).sum()
    found += sum(gap_outside(tracker, X1, y1, C, loss, truth, level) for level in (*levels, "auto"))
    if make is hostile_run and tracker.summary.matrices and len(y) > 1 and rng.random() < 0.3:
        i = int(rng.integers(len(y)))
        lower, upper, _ = loo_certificates(tracker.summary, form(X), y)
        Xi, yi = np.delete(X, i, 0), np.delete(y, i)
        there, off = naive.optimum_long(Xi, yi, C, loss, solve(Xi, yi, C, loss, w0, tol=1e-8 * (1 + np.abs(X).max())))
        found += outside(lower[i : i + 1], upper[i : i + 1], X[i : i + 1], (Xi, yi, C, loss), there, off).sum()
        checked += 1
    return int(found), checked + len(E)


def count(seed, runs, make, scores):
    total, checked = 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for run in range(runs):
            found, number = violations(np.random.default_rng([seed, run]), make, scores)
            assert found == 0, f"{found} violations in {make.__name__}, seed {seed}, run {run}"
            total, checked = total + found, checked + number
    return total, checked


@pytest.mark.parametrize("make", [random_run, hostile_run])
def test_no_violation_in_a_sample(make):
    total, checked = count(1, 100, make, 20)
    assert total == 0 and checked > 10_000


@pytest.mark.parametrize("make", [random_run, hostile_run])
def test_no_violation_without_matrices(make, monkeypatch):
    """The code for many features, on few: spheres, and conjugate-gradient points."""
    monkeypatch.setattr("onlinekit_plugins.sensitivity.summary.LARGEST_DENSE", 0)
    assert count(4, 60, make, 20)[0] == 0


@pytest.mark.slow
def test_no_violation_in_5000_random_runs():
    assert count(2, 5000, random_run, 1000)[0] == 0


@pytest.mark.slow
def test_no_violation_in_10000_hostile_cases():
    assert count(3, 10_000, hostile_run, 10)[0] == 0
