"""mpu-fogd against its golden values, finite differences, the naive reference, and on real streams."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import NaiveMPUFOGD, proba, wavy
from onlinekit_plugins.random_features import FOGDClassifier, MPUFOGDClassifier
from onlinekit_plugins.random_features.kernels import run_blocked, run_rows

GOLDEN = json.loads((Path(__file__).parent / "golden" / "mpu_fogd.json").read_text())["cases"]
LABELS = [False, True]


def from_golden(case, **more):
    binary = case["task"] == "binary"
    D = case["D"]
    model = MPUFOGDClassifier(
        n_components=D,
        alpha=case["eta1"] / D,
        beta=case["eta2"] / D,
        eta3=case["eta3"],
        max_rotation=math.inf,
        standardize=False,
        directions=(np.array(case["u0"]), np.array(case["b0"])),
        classes=(False, True) if binary else range(case["n_classes"]),
        **more,
    )
    y = [int(label > 0) if binary else label for label in case["y"]]
    return model, np.array(case["X"]), y


# -- the published algorithm ---------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["one", "one-after-predict", "many", "prequential", "blocked"])
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden_values(case, door):
    model, X, y = from_golden(case)
    predictions = None
    if door == "many":
        model.learn_many(X, y)
    elif door == "blocked":
        model._grow_features(range(case["d"]))
        run_blocked(X, np.array(y), np.ones(len(y)), False, np.array(y), X, *model._take().args)
    elif door == "prequential":
        predictions = list(model.prequential_many(X, y))
    else:
        predictions = []
        for x, label in zip(X.tolist(), y, strict=True):
            x = dict(enumerate(x))
            if door == "one-after-predict":
                predictions.append(model.predict_one(x))
            model.learn_one(x, label)
    np.testing.assert_allclose(model.weights, case["w"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.directions[0], case["u"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.directions[1], case["b"], rtol=0, atol=1e-10)
    assert model.n_updates == sum(case["updated"])
    if predictions:
        assert predictions == [p > 0 if case["task"] == "binary" else p for p in case["pred"]]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden_scores(case):
    model, X, y = from_golden(case)
    for x, label, score in zip(X.tolist(), y, case["scores"], strict=True):
        x = dict(enumerate(x))
        p = np.array(list(model.predict_proba_one(x).values()))
        want = np.array([-score, 0.0]) if case["task"] == "binary" else np.array(score)
        want = want[::-1] * -1 if case["task"] == "binary" else want
        want = np.exp(want - want.max())
        np.testing.assert_allclose(p, want / want.sum() if len(p) > 2 else [1 - p[1], p[1]], atol=1e-10)
        if case["task"] == "binary":
            assert p[1] == pytest.approx(1 / (1 + math.exp(-score)), abs=1e-10)
        model.learn_one(x, label)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("features", ["cos", "sincos"])
def test_one_step_is_the_gradient_of_the_loss(classes, features):
    """Finite differences of the loss in w, u and b against one step, per unit of step size."""
    X, y = wavy(60, 3, classes=classes)
    D, eta = 6, (0.05, 0.04, 0.03)
    rng = np.random.default_rng(1)
    start = (rng.normal(size=(D, 3)), rng.uniform(0, 6, D))
    model = MPUFOGDClassifier(D, eta[0] / D, eta[1] / D, eta[2], math.inf, features=features, standardize=False,
                              directions=start, classes=None if classes > 2 else (False, True))  # fmt: skip
    model.learn_many(X[:-1], y[:-1])
    scale = (math.sqrt(2) if features == "cos" else 1) / D
    checked = 0
    for t in range(len(X)):
        before = copy.deepcopy(model)
        u, b = before.directions
        known = [int(k) for k in before._labels.names]
        target = known.index(y[t])

        def loss(w, u, b, x=X[t], target=target, u0=u, known=known):
            naive = NaiveMPUFOGD(u, b, 0, 0, 0, scale, len(known), features == "sincos")
            naive.w = np.atleast_2d(w)
            return naive.loss(x, target)

        trial = copy.deepcopy(before)
        trial.learn_one(dict(enumerate(X[t].tolist())), y[t])
        if trial.n_updates == before.n_updates:
            continue
        parts = [before.weights, u, b]
        moved = [trial.weights, *trial.directions]
        for i, (old, new) in enumerate(zip(parts, moved, strict=True)):
            for at in [(0,) * old.ndim, tuple(s - 1 for s in old.shape)]:
                ends = []
                for sign in (1, -1):
                    shifted = [p.copy() for p in parts]
                    shifted[i][at] += sign * 1e-5
                    ends.append(loss(*shifted))
                slope = (ends[0] - ends[1]) / 2e-5
                assert (old[at] - new[at]) / eta[i] == pytest.approx(slope, abs=1e-7)
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("features", ["cos", "sincos"])
@pytest.mark.parametrize("classes", [2, 4])
def test_fixed_directions_are_fogd(features, classes):
    X, y = wavy(400, 5, classes=classes)
    labels = range(classes) if classes > 2 else LABELS
    ours = MPUFOGDClassifier(40, alpha=0.3, beta=0.0, features=features, classes=labels)
    fogd = FOGDClassifier(40, alpha=0.3, features=features, classes=labels)
    ours.learn_many(X, y)
    fogd.learn_many(X, y)
    np.testing.assert_allclose(proba(ours, X), proba(fogd, X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.weights, fogd.weights * math.sqrt(40), rtol=0, atol=1e-10)


NAIVE = [
    dict(),
    dict(features="sincos"),
    dict(beta=0.02, eta3=0.02),
    dict(beta=0.02, features="sincos", eta3=0.01),
    dict(beta=0.05, max_rotation=math.inf),
    dict(standardize=False),
    dict(standardize=False, sigma=0.7, beta=0.02),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("params", NAIVE, ids=str)
@pytest.mark.parametrize("door", ["one", "many", "prequential", "blocked"])
def test_the_naive_reference(params, classes, door):
    X, y = wavy(90, 5, seed=2, classes=classes)
    X *= [1.0, 3.0, 1.0, 0.2, 1.0]
    if not params.get("standardize", True):
        X[:40, 3] = 0.0  # a feature that comes late
    D = 12
    model = MPUFOGDClassifier(D, classes=range(classes) if classes > 2 else LABELS, **params)
    model._grow_features(range(5))
    sigma = params.get("sigma", "auto")
    u = model._arrays["directions"][:5].T
    pairs = model.features == "sincos"
    scale, eta1, eta2, eta3, rotation = model._hyper()
    naive = NaiveMPUFOGD(u, model._arrays["phases"], eta1, eta2, eta3, scale, classes, pairs, rotation,
                         None if sigma == "auto" else sigma, model.standardize)  # fmt: skip
    want, got = [], None
    for x, label in zip(X, y, strict=True):
        f = naive.scores(x)
        want.append(int(f[0] > 0) if classes == 2 else int(np.argmax(f)))
        naive.learn(x, int(label))
    args = (X, y, np.ones(len(y)))
    if door == "many":
        model.learn_many(X, y)
    elif door == "prequential":
        got = model.prequential_many(X, y)
    elif door == "blocked":
        got = np.zeros(len(y), np.int64)
        run_blocked(*args, True, got, np.zeros((len(y), classes)), *model._take().args)
    else:
        got = []
        for x, label in zip(X.tolist(), y, strict=True):
            got.append(model.predict_one(dict(enumerate(x))))
            model.learn_one(dict(enumerate(x)), label)
    if got is not None:
        assert list(got) == want
    np.testing.assert_allclose(np.atleast_2d(model.weights), naive.w, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.directions[0] * naive.sigma, naive.u, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.directions[1], naive.b, rtol=0, atol=1e-9)
    assert sigma != "auto" or model.sigma_used == pytest.approx(naive.sigma, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 7, 70, 210])
@pytest.mark.parametrize("features", ["cos", "sincos"])
@pytest.mark.parametrize("standardize", [True, False])
def test_blocks_are_row_by_row(d, features, standardize):
    """Exact, with the clip at work as well: the limit on the rotation needs |x|^2 and g alone."""
    X, y = wavy(150, d, classes=3)
    X[100:] *= 4
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(X))
    models = []
    for loop in (run_rows, run_blocked):
        model = MPUFOGDClassifier(
            30, beta=0.05, eta3=0.01, features=features, standardize=standardize, classes=range(3)
        )
        model._grow_features(range(d))
        out, winners = np.zeros((len(X), 3)), np.zeros(len(X), np.int64)
        loop(X, y, w, True, winners, out, *model._take().args)
        models.append((model, out, winners))
    (one, out1, win1), (two, out2, win2) = models
    np.testing.assert_allclose(out1, out2, rtol=0, atol=1e-9)
    assert (win1 == win2).all() and one.n_updates == two.n_updates
    np.testing.assert_allclose(one.directions[0], two.directions[0], rtol=0, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 9),
    st.sampled_from([0.0, 1e-3, 0.05]),
    st.sampled_from(["cos", "sincos"]),
    st.booleans(),
    st.sampled_from(["auto", "median", 0.8]),
    st.integers(0, 10**6),
)
def test_every_door_learns_the_same(d, beta, features, standardize, sigma, seed):
    X, y = wavy(130, d, seed=seed, classes=3)
    models = [
        MPUFOGDClassifier(5, beta=beta, features=features, standardize=standardize, sigma=sigma, classes=None)
        for _ in range(3)
    ]
    models[0].learn_many(X, y)
    got = models[1].prequential_many(X, y)
    want = []
    for x, label in zip(X.tolist(), y, strict=True):
        want.append(models[2].predict_one(dict(enumerate(x))))
        models[2].learn_one(dict(enumerate(x)), label)
    assert got.tolist() == want
    for model in models[:2]:
        np.testing.assert_allclose(model.weights, models[2].weights, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.directions[0], models[2].directions[0], rtol=0, atol=1e-9)
