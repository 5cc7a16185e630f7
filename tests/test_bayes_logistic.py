"""BayesianLogisticRegression against the golden values and the naive reference."""

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
        p = model.predict_proba_one(x)[True]
        assert p == pytest.approx(naive.step(x, int(label))[2], abs=1e-10)
        model.learn_one(x, label)
        cov = model.covariance()[1]
        assert np.array_equal(cov, cov.T)
    assert np.allclose(cov, naive.Sigma, atol=1e-10)
    assert np.allclose(list(model.mean.values()), naive.mu, atol=1e-10)


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


def test_beats_the_plain_model_when_the_concept_changes():
    parts = [stream(2000, d=10, seed=seed) for seed in range(4)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    hits = {drift: np.mean(Model(drift=drift).prequential_many(X, y) == y) for drift in ("uncertainty", "auto")}
    plain = np.mean(Model(drift=None).prequential_many(X, y) == y)
    assert min(hits.values()) >= plain + 0.10


def test_repr_and_parameters():
    assert "covariance='diag'" in repr(Model(covariance="diag"))
    assert Model(covariance="diag").clone()._get_params()["covariance"] == "diag"
