"""BayesianLogisticRegression against the golden values, the naive reference, and its known traps."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from naive import NaiveBayesLogistic
from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression as Model

CASES = json.loads((Path(__file__).parent / "golden" / "bayes_logistic.json").read_text())["cases"]
MODES = [None, "uncertainty", "uncertainty_mean", "constant", "auto"]


def near(got, want):
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    assert np.all(np.abs(got - want) <= 1e-12 * np.maximum(1.0, np.abs(want)))


def stream(n, d=4, seed=0, flip=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    w *= 4 / np.linalg.norm(w)
    y = rng.random(n) < 1 / (1 + np.exp(-X @ w))
    if flip is not None:
        y[flip:] = ~y[flip:]
    return X, y


def fed(model, X, y):
    for row, label in zip(X, y, strict=True):
        model.learn_one(dict(enumerate(row.tolist())), label)
    return model


def same(a, b):
    assert a.mean == b.mean
    assert np.array_equal(a.covariance()[1], b.covariance()[1])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["name"])
def test_golden(case):
    model, want = Model(**case["params"]), case["expected"]
    for t, sample in enumerate(case["stream"]):
        a, s2 = model.logit_dist(sample["x"])
        near([model.predict_proba_one(sample["x"])[True], a, s2], [want[k][t] for k in ("p", "a", "s2")])
        model.learn_one(sample["x"], sample["y"])
        near([model.v, model.n_labeled], [want["v"][t], want["N"][t]])
    names, cov = model.covariance()
    assert names == want["order"]
    near(list(model.mean.values()), want["mu"])
    near(cov, want["Sigma"])


@pytest.mark.parametrize("drift", MODES[:4])
@pytest.mark.parametrize("update", ["newton", "adf"])
@pytest.mark.parametrize("form", ["full", "diag"])
@pytest.mark.parametrize("bounded", [True, False])
def test_naive(drift, update, form, bounded):
    model = Model(drift=drift, update=update, covariance=form, bounded=bounded)
    naive = NaiveBayesLogistic(drift=drift, update=update, bounded=bounded, diag=form == "diag")
    X, y = stream(60)
    for row, label in zip(X, y, strict=True):
        x = dict(enumerate(row.tolist()))
        if naive.N:
            p = model.predict_proba_one(x)[True]
            assert p == pytest.approx(naive.step(x, int(label))[2], abs=1e-10)
        else:
            naive.step(x, int(label))
        model.learn_one(x, label)
        cov = model.covariance()[1]
        assert np.array_equal(cov, cov.T)
    if bounded:
        assert np.allclose(cov, naive.Sigma, atol=1e-10)


@pytest.mark.parametrize("drift", MODES)
def test_batches_equal_single_steps_and_copies_continue(drift):
    X, y = stream(80, d=6)
    model = fed(Model(drift=drift, standardize=True), X[:40], y[:40])
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    fed(model, X[40:], y[40:])
    for other in others:
        other.learn_many(X[40:], y[40:])
        same(model, other)
    single = Model(drift=drift)
    predictions = []
    for row, label in zip(X, y, strict=True):
        x = dict(enumerate(row.tolist()))
        predictions.append(single.predict_one(x))
        single.learn_one(x, label)
    assert Model(drift=drift).prequential_many(X, y).tolist() == predictions
    assert single.clone()._get_params() == single._get_params()


def test_additive_inflation_winds_up_and_bounded_does_not():
    variances = []
    for bounded in (False, True):
        model = Model(drift="constant", c=1.0, bounded=bounded)
        model.learn_one({"a": 1.0, "silent": 0.0}, True)
        for i in range(300):
            model.learn_one({"a": 1.0}, i % 2)
        variances.append(model.covariance()[1][2, 2])
    assert variances[0] > 250 and variances[1] <= 1.0 + 1e-9


def test_absent_equals_zero_only_when_bounded():
    X, y = stream(50, flip=25)
    for bounded in (True, False):
        absent, zero = (Model(c=1.0, bounded=bounded) for _ in range(2))
        for row, label in zip(X, y, strict=True):
            x = dict(enumerate(row.tolist()))
            absent.learn_one(x, label)
            zero.learn_one({**x, "late": 0.0}, label)
        gap = abs(absent.predict_proba_one({0: 1.0, "late": 2.0})[True]
                  - zero.predict_proba_one({0: 1.0, "late": 2.0})[True])  # fmt: skip
        assert (gap < 1e-12) == bounded


def test_unlabelled_steps_only_fade_the_count():
    X, y = stream(40, flip=20)
    model = fed(Model(), X, y)
    before, v = copy.deepcopy(model), model.v
    for _ in range(10_000):
        model.learn_one({0: 1.0}, None)
    same(model, before)
    assert model.v == v and 0.0 <= model.n_labeled < 1e-300
    model.learn_one({0: 1.0}, True)
    assert model.n_labeled == 1.0 and np.isfinite(model.v)


def test_zero_c_equals_no_drift():
    X, y = stream(60)
    same(fed(Model(c=0.0), X, y), fed(Model(drift=None), X, y))


@pytest.mark.parametrize("drift", MODES)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_hard_streams_stay_inside_the_prior(drift, alpha):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((500, 4)) * [1e-6, 1.0, 1e3, 1.0]
    X[:, 3] = X[:, 1]
    model = Model(drift=drift, alpha=alpha, c=10.0)
    for row, label in zip(X, X[:, 1] > 0, strict=True):
        x = dict(enumerate(row.tolist()))
        assert 0.0 < model.predict_proba_one(x)[True] < 1.0
        model.learn_one(x, label)
    if drift != "auto":  # a mixture's covariance also holds the distance between its means
        values = np.linalg.eigvalsh(model.covariance()[1])
        assert values.max() <= 1 + 1e-9 and values.min() > -1e-12


def test_edges():
    model = Model()
    assert model.predict_proba_one({}) == {False: 0.5, True: 0.5}
    model.learn_one({}, True)
    model.learn_one({"a": 0.0, "b": True}, 0)
    model.learn_one({"a": np.float32(0.5), "b": np.int64(2)}, 1)
    before = copy.deepcopy(model)
    for bad in (float("nan"), float("inf"), None, "text"):
        with pytest.raises((ValueError, TypeError), match="a"):
            model.learn_one({"a": bad, "new": 1.0}, True)
        with pytest.raises((ValueError, TypeError), match="a"):
            model.predict_one({"a": bad})
    same(model, before)
    low, high = model.proba_interval({"a": 1.0})
    assert 0 < low < model.predict_proba_one({"a": 1.0})[True] < high < 1
    assert set(model.sample_weights(np.random.default_rng(0))) == {"__intercept__", "a", "b"}
    assert 0 <= model.mutual_information({"a": 1.0}) <= model.entropy({"a": 1.0}) + 0.02
    frozen = fed(Model(drift="constant", c=0.5, c_by_feature={"__intercept__": 0.0}), *stream(50))
    assert frozen.covariance()[1][0, 0] < 0.6


@pytest.mark.parametrize("name, value", [
    ("prior_var", 0), ("prior_var", float("nan")), ("drift", "x"), ("c", -1), ("alpha", 1.1), ("update", "x"),
    ("covariance", "x"), ("c_by_feature", {"a": -1}),
])  # fmt: skip
def test_invalid_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        Model(**{name: value})


def test_beats_the_plain_model_when_the_concept_changes():
    parts = [stream(2000, d=10, seed=seed) for seed in range(4)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    hits = {drift: np.mean(Model(drift=drift).prequential_many(X, y) == y) for drift in ("uncertainty", "auto")}
    plain = np.mean(Model(drift=None).prequential_many(X, y) == y)
    assert min(hits.values()) >= plain + 0.10


def test_repr_and_parameters():
    assert "covariance='diag'" in repr(Model(covariance="diag"))
    assert Model(covariance="diag").clone()._get_params()["covariance"] == "diag"
