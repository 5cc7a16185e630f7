"""fogd against scikit-learn's random features with the same draws, and the naive reference."""

import math

import numpy as np
import pytest
from river import datasets
from sklearn.kernel_approximation import RBFSampler

from naive import NaiveMPUFOGD
from onlinekit.testing import learner_checks
from onlinekit_plugins.random_features import FOGDClassifier, merge
from onlinekit_plugins.random_features.kernels import run_blocked, run_rows

CHECKED = [FOGDClassifier(n_components=20, classes=None, features="sincos")]


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=f"{i}-{n}") for i, model in enumerate(CHECKED) for n, f in learner_checks(model)]
)
def test_contract(check):
    check()


def rows(n=150, d=4, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, (np.floor(classes * (np.abs(np.sin(3 * X[:, 0]) * X[:, 1]) % 1))).astype(int)


def test_scikit_learns_features_and_the_hinge():
    """phi of RBFSampler with its own weights and offsets; then w += alpha y phi by hand."""
    X, y = rows()
    sampler = RBFSampler(gamma=0.8, n_components=30, random_state=0).fit(X)
    phi = sampler.transform(X)
    w = np.zeros(30)
    for row, label in zip(phi, y, strict=True):
        sign = 2 * label - 1
        if 1 - sign * (w @ row) > 0:
            w += 0.5 * sign * row
    start = (sampler.random_weights_.T, sampler.random_offset_)
    model = FOGDClassifier(30, standardize=False, directions=start)
    model.learn_many(X, y)
    np.testing.assert_allclose(model.weights, w, rtol=0, atol=1e-12)
    for row, x in zip(phi[:20], X.tolist(), strict=False):
        p = model.predict_proba_one(dict(enumerate(x)))[True]
        assert math.log(p / (1 - p)) == pytest.approx(w @ row, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("features", ["cos", "sincos"])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_naive_reference(classes, features, standardize):
    X, y = rows(classes=classes)
    labels = range(classes) if classes > 2 else (False, True)
    model = FOGDClassifier(16, features=features, standardize=standardize, classes=labels)
    model._grow_features(range(4))
    scale = model._hyper()[0]
    u, b = model._arrays["directions"][:4].T, model._arrays["phases"]
    naive = NaiveMPUFOGD(u, b, 0.5, 0, 0, scale, classes, features == "sincos", sigma=None, standardize=standardize)
    for x, label in zip(X, y, strict=True):
        naive.learn(x, int(label))
    model.learn_many(X, y)
    np.testing.assert_allclose(np.atleast_2d(model.weights), naive.w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.directions[0] * naive.sigma, u, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [3, 40])
def test_blocks_are_row_by_row(d):
    X, y = rows(100, d, classes=3)
    models = []
    for loop in (run_rows, run_blocked):
        model = FOGDClassifier(30, classes=range(3))
        model._grow_features(range(d))
        out, winners = np.zeros((100, 3)), np.zeros(100, np.int64)
        loop(X, y, np.ones(100), True, winners, out, *model._take().args)
        models.append((model, out))
    np.testing.assert_allclose(models[0][1], models[1][1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(models[0][0].weights, models[1][0].weights, rtol=0, atol=1e-12)


def test_directions_never_move():
    X, y = rows()
    model = FOGDClassifier(20)
    model.learn_many(X[:50], y[:50])
    before = model._arrays["directions"].copy(), model.directions[1]
    model.learn_many(X[50:], y[50:])
    assert (model._arrays["directions"] == before[0]).all() and (model.directions[1] == before[1]).all()


def test_merging_fixed_features_is_averaging_the_weights():
    X, y = rows(600)
    models = []
    for k in range(3):
        model = FOGDClassifier(40, sigma=1.0, standardize=False)
        model.learn_many(X[k::3], y[k::3])
        models.append(model)
    np.testing.assert_allclose(merge(models).weights, np.mean([m.weights for m in models], axis=0), atol=1e-12)


@pytest.mark.parametrize("name, value", [("alpha", 0.0), ("alpha", math.inf), ("sigma", 0.0), ("n_components", 0)])
def test_parameters_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        FOGDClassifier(**{name: value})


def test_accuracy_on_bananas():
    model, right = FOGDClassifier(), []
    for x, y in datasets.Bananas():
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right) >= 0.865
