"""Sparse rows of the diagonal Bayesian logistic regression: the numbers of dense rows, at the cost of the entries."""

import copy
import pickle
import time

import numpy as np
import pytest
from scipy import sparse

from onlinekit import state
from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression as Model

KINDS = [
    {"drift": None},
    {},
    {"drift": "uncertainty_mean", "update": "adf"},
    {"drift": "constant", "c": 0.01},
    {"drift": "constant", "c": 5.0},
    {"drift": "constant", "c": 0.01, "bounded": False},
    {"drift": "auto"},
    {"drift": "constant", "c": 0.02, "c_by_feature": {"__intercept__": 0.0, 3: 0.2, 7: 0.0}},
    {"intercept": False},
]


class Dense(Model):
    """The same model without the sparse door."""

    sparse = False


def matrix(n=400, d=600, entries=20, seed=0):
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    for row in X:
        row[rng.choice(d, entries, replace=False)] = rng.standard_normal(entries)
    w = rng.standard_normal(d)
    y = X @ w + 0.3 * rng.standard_normal(n) > 0
    y[n // 2 :] = ~y[n // 2 :]
    return X, y


def dicts(X):
    return [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in X]


def near(a, b):
    assert np.allclose(list(a.mean.values()), list(b.mean.values()), rtol=0, atol=1e-11)
    assert np.allclose(np.diag(a.covariance()[1]), np.diag(b.covariance()[1]), rtol=1e-11, atol=0)
    assert a.v == pytest.approx(b.v, abs=1e-12) and a.n_labeled == pytest.approx(b.n_labeled, abs=1e-12)


def known(kind, d=600):
    """A model that knows d features (a row of all of them was learned)."""
    first = dict.fromkeys(range(d), 0.0)
    models = [cls(covariance="diag", **kind) for cls in (Model, Dense)]
    for model in models:
        model.learn_one(first, True)
    return models


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_sparse_rows_give_the_numbers_of_dense_ones(kind):
    X, y = matrix()
    thin, full = known(kind)
    for t, (x, label) in enumerate(zip(dicts(X), y.tolist(), strict=True)):
        if t % 50 == 25:  # a dense row in between
            x = dict(enumerate(np.random.default_rng(t).standard_normal(600).tolist()))
        assert thin._is_sparse(len(x)) == (len(x) == 20)
        p, q = thin.predict_proba_one(x)[True], full.predict_proba_one(x)[True]
        assert p == pytest.approx(q, abs=1e-11)
        label = None if t % 7 == 3 else label
        thin.learn_one(x, label)
        full.learn_one(x, label)
        if t in (20, 260):
            near(thin, full)
    near(thin, full)
    new = {**dicts(X)[0], "new": 2.0, "other": 1.0}
    assert thin.predict_proba_one(new)[True] == pytest.approx(full.predict_proba_one(new)[True], abs=1e-11)
    assert thin.logit_dist(new) == pytest.approx(full.logit_dist(new), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_features_that_come_in_sparse_rows(kind):
    X, y = matrix(d=900)
    thin, full = (cls(covariance="diag", **kind) for cls in (Model, Dense))
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        thin.learn_one(x, label)
        full.learn_one(x, label)
    assert thin.n_features > 800 and thin._is_sparse(20)
    near(thin, full)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("standardize", [False, True])
def test_csr_batches_equal_the_loop(kind, standardize):
    X, y = matrix(d=900)
    rows = sparse.csr_array(X)
    loop, many, both = (Model(covariance="diag", standardize=standardize, **kind) for _ in range(3))
    want = []
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        want.append(loop.predict_one(x))
        loop.learn_one(x, label)
    many.learn_many(rows, y)
    assert both.prequential_many(rows, y).tolist() == want
    assert loop.mean == many.mean == both.mean
    assert np.array_equal(loop.covariance()[1], many.covariance()[1])
    more = sparse.hstack([rows, sparse.csr_array(np.ones((len(X), 2)))], format="csr")
    before = pickle.dumps(many)
    got = many.predict_proba_many(more)
    assert pickle.dumps(many) == before
    for t in (0, 5, 399):
        x = {**dicts(X)[t], 900: 1.0, 901: 1.0}
        assert got[t][1] == pytest.approx(many.predict_proba_one(x)[True], abs=1e-12)


def test_copies_with_drift_still_to_be_counted_in(tmp_path):
    X, y = matrix()
    model, _ = known({"c": 0.5})
    rows = list(zip(dicts(X), y.tolist(), strict=True))
    for x, label in rows[:200]:
        model.learn_one(x, label)
    state.save(model, tmp_path / "model")
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), state.load(tmp_path / "model")]
    for other in (model, *others):
        for x, label in rows[200:]:
            other.learn_one(x, label)
    for other in others:
        assert other.mean == model.mean and np.array_equal(other.covariance()[1], model.covariance()[1])


def test_sums_of_drift_begin_anew_before_they_lose_digits():
    # rho = .99 adds log(.01) a step: past 1e5 after 21,715 steps.
    thin, full = known({"drift": "constant", "c": 0.99, "c_by_feature": {1: 1e-4}}, d=300)
    X, y = matrix(n=50, d=300, entries=10)
    rows = list(zip(dicts(X), y.tolist(), strict=True)) * 500
    for x, label in rows:
        thin.learn_one(x, label)
    full.learn_many(np.tile(X, (500, 1)), np.tile(y, 500))
    near(thin, full)
    assert np.abs(thin._arrays["state"]).max() < 1e5


def test_bad_sparse_rows_change_nothing():
    X, y = matrix()
    model, _ = known({})
    for x, label in zip(dicts(X)[:50], y.tolist(), strict=False):
        model.learn_one(x, label)
    before = pickle.dumps(model)
    for value in (float("nan"), float("inf"), 1e200, None):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one({0: 1.0, 5: value}, True)
        with pytest.raises((ValueError, TypeError)):
            model.predict_one({0: 1.0, 5: value})
    assert pickle.dumps(model) == before


def test_only_the_diagonal_form_is_sparse():
    assert Model(covariance="diag").sparse and not Model().sparse


def test_the_cost_is_that_of_the_entries():
    rng = np.random.default_rng(0)
    n, times = 3000, {}
    for keys in (1000, 40_000):
        index = rng.integers(0, keys, (n, 30))
        rows = sparse.csr_array((np.ones(n * 30), index.ravel(), np.arange(0, 30 * n + 1, 30)), shape=(n, keys))
        model, y = Model(covariance="diag"), rng.random(n) < 0.5
        model.learn_many(sparse.csr_array(np.ones((1, keys))), [True])
        model.learn_many(rows, y)
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            model.learn_many(rows, y)
            best = min(best, time.process_time() - start)
        times[keys] = best
    # 40 times the features; what grows is the cost of memory out of reach of the caches.
    assert times[40_000] < 5.0 * times[1000], times
