"""Exact leave-one-out values: against retraining without each sample, of both engines and of the learners."""

import pickle

import numpy as np
import pytest

from naive import interval_solve, odm_intervals, odm_kernel
from onlinekit_plugins.id_odm import L2SVMClassifier, ODMClassifier, loo
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, RBF
from onlinekit_plugins.id_odm.primal import PrimalEngine

NONE = np.zeros(0, dtype=np.int64)


def problem(n=45, seed=0):
    """Rows with two pairs of duplicates, one of them of both labels, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    X[5], X[7], y[7] = X[4], X[6], -y[6]
    return X, y


def retrained(K, lo, hi, il):
    """f at each sample from the naive solution over the others."""
    n = len(il)
    f = np.empty(n)
    for i in range(n):
        rest = np.flatnonzero(np.arange(n) != i)
        f[i] = K[i, rest] @ interval_solve(K[np.ix_(rest, rest)], lo[rest], hi[rest], il[rest])
    return f


@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("kind", ["rbf", "linear", "explicit"])
def test_every_value_is_a_retraining(kind, theta, lam):
    X, y = problem()
    lo, hi, il = odm_intervals(y, theta, lam)
    lo[9], hi[9], il[11] = -np.inf, np.inf, il[11] / 3.0  # one without a say, one with three votes
    engine = PrimalEngine(0.0, 3) if kind == "explicit" else Engine(RBF if kind == "rbf" else LINEAR, 0.5, 0.0, 3)
    slots = engine.update(X, lo[None], hi[None], il, NONE)
    before = pickle.dumps(engine.get_state())
    got = engine.exact_loo()[0, slots]
    assert pickle.dumps(engine.get_state()) == before
    want = retrained(odm_kernel(X, X, "rbf" if kind == "rbf" else "linear", 0.5), lo, hi, il)
    assert np.abs(got - want).max() <= 1e-9
    if theta and lam > 1.0:
        assert np.abs(engine.loo()[0, slots] - want).max() > 1e-3  # the formula alone would not do


def test_half_lines():
    X, y = problem()
    model = L2SVMClassifier(lam=20.0, gamma=0.5)
    model.update_many(X, y > 0, keys=range(len(y)))
    lo, hi = np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0)
    want = retrained(odm_kernel(X, X, "rbf", 0.5), lo, hi, np.full(len(y), 1.0 / 20.0))
    told = model.loo_decision(exact=True)
    assert [told[i] for i in range(len(y))] == pytest.approx(want, abs=1e-9)


def test_the_long_way_is_taken_where_the_short_one_does_not_end(monkeypatch):
    X, y = problem()
    engine = Engine(RBF, 0.5, 0.0, 3)
    slots = engine.update(X, *(a[None] for a in odm_intervals(y, 0.1, 30.0)[:2]), np.full(len(y), 1.0 / 30.0), NONE)
    want, before = engine.exact_loo()[0, slots], pickle.dumps(engine.get_state())
    monkeypatch.setattr(loo, "leave_each_out", lambda *a: a[-1].fill(np.nan))
    assert np.abs(engine.exact_loo()[0, slots] - want).max() <= 1e-9
    assert pickle.dumps(engine.get_state()) == before  # it was tried on a copy


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_learner_of_three_classes(kernel):
    rng = np.random.default_rng(1)
    X, names = rng.normal(size=(30, 2)), np.array(["red", "green", "blue"])[np.arange(30) % 3].tolist()
    X += np.array([[1.5, 0.0], [-1.5, 0.0], [0.0, 2.0]])[np.arange(30) % 3]
    model = ODMClassifier(lam=20.0, gamma=0.5, kernel=kernel, classes=["red", "green", "blue"])
    model.update_many(X, names, keys=range(30))
    told = model.loo_decision(exact=True)
    for i in (0, 7, 20):
        rest = [t for t in range(30) if t != i]
        other = ODMClassifier(lam=20.0, gamma=0.5, kernel=kernel, classes=["red", "green", "blue"])
        other.update_many(X[rest], [names[t] for t in rest])
        want = other.decision_function(X[i : i + 1])[0]
        assert list(told[i]) == ["red", "green", "blue"] and list(told[i].values()) == pytest.approx(want, abs=1e-8)


def test_empty_models_and_memory(monkeypatch):
    for model in (ODMClassifier(), ODMClassifier(kernel="linear")):
        assert model.loo_decision(exact=True) == {}
        model.learn_one({"x": 1.0}, True, key="only")
        assert model.loo_decision(exact=True) == {"only": pytest.approx(0.0, abs=1e-12)}
    model = ODMClassifier()
    model.learn_one({"x": 1.0}, True)
    monkeypatch.setattr("onlinekit_plugins.id_odm.memory.available_bytes", lambda: 10)
    with pytest.raises(MemoryError, match="1 samples need"):
        model.loo_decision(exact=True)
