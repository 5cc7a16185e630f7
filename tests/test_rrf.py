"""Reparameterized random features against their reference and finite differences, and the contract."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets
from scipy.special import expit

from naive import NaiveRRF
from onlinekit.testing import learner_checks
from onlinekit_plugins.random_features.rrf import RRFClassifier


@pytest.mark.parametrize("check", [pytest.param(f, id=n) for n, f in learner_checks(RRFClassifier(n_components=30))])
def test_contract(check):
    check()


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=n) for n, f in learner_checks(RRFClassifier(n_components=13, l2=0.01, classes=None))]
)
def test_contract_multiclass(check):
    check()


def rows(n, d, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3.0, d) + 1.0
    return X, (np.sin(X[:, 0] * 4.0) + X[:, 1] > 0).astype(int) + rng.integers(classes - 1, size=n)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "setting", [{}, {"standardize": False}, {"width_lr": 0.0}, {"l2": 0.02}, {"max_change": float("inf")}]
)
def test_same_numbers_as_the_reference(classes, setting):
    parameters = {"lr": 0.4, "width_lr": 0.1, "l2": 0.0, "max_change": 0.05, "sigma": 1.5, **setting}
    X, y = rows(200, 3, classes, seed=classes)
    model = RRFClassifier(n_components=17, classes=(False, True) if classes == 2 else range(classes), **parameters)
    model.learn_one(dict(enumerate(X[0].tolist())), bool(y[0]) if classes == 2 else int(y[0]), w=0.0)
    naive = NaiveRRF(classes, model._arrays["noise"][:3].copy(), **{"standardize": True, **parameters})
    naive.learn(X[0], int(y[0]), 0.0)
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        want = naive.scores(row)
        x = dict(enumerate(row.tolist()))
        proba = model.predict_proba_one(x)
        if classes == 2:
            assert proba[True] == pytest.approx(expit(want[0]), rel=1e-9, abs=1e-12)
        else:
            e = np.exp(want - want.max())
            assert list(proba.values()) == pytest.approx(e / e.sum(), rel=1e-9, abs=1e-12)
        w = 1.0 if t % 7 else 2.5
        model.learn_one(x, bool(k) if classes == 2 else int(k), w=w)
        naive.learn(row, int(k), w)
    assert list(model.scales.values()) == pytest.approx(np.exp(naive.gamma), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_is_that_of_finite_differences(classes):
    # One step with a tiny rate shows the kernel's gradient of gamma; the loss's own differences are the judge.
    X, y = rows(60, 4, classes, seed=9)
    model = RRFClassifier(
        n_components=25, lr=0.3, width_lr=0.02, sigma=2.0, standardize=False, max_change=float("inf"),
        classes=(False, True) if classes == 2 else range(classes),
    )  # fmt: skip
    model.learn_many(X, y.astype(bool) if classes == 2 else y)
    E, scales, weights = (model._arrays[n].copy() for n in ("noise", "scales", "weights"))
    naive = NaiveRRF(classes, E[:4], 0.0, 0.0, 0.0, np.inf, 2.0, False)
    naive.w = weights
    checked = 0
    for row, k in zip(X, y, strict=True):
        naive.gamma = np.log(scales[:4])
        signs = naive.signs(naive.scores(row), int(k))
        if not signs.any():
            continue
        want = np.empty(4)
        for j in range(4):
            h = 1e-6 * np.eye(4)[j]
            up, down = naive.features(row, naive.gamma + h), naive.features(row, naive.gamma - h)
            want[j] = signs @ weights @ (up - down) / 2e-6
        model._arrays["scales"][:] = scales
        model._arrays["weights"][:] = weights
        model.learn_one(dict(enumerate(row.tolist())), bool(k) if classes == 2 else int(k))
        np.testing.assert_allclose(np.log(model._arrays["scales"][:4] / scales[:4]) / 0.02, want, atol=1e-7)
        checked += 1
    assert checked > 5


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.sampled_from([0.01, 0.1]))
def test_one_row_changes_no_width_by_more_than_allowed(seed, size, max_change):
    rng = np.random.default_rng(seed)
    model = RRFClassifier(n_components=8, width_lr=10.0, max_change=max_change, sigma=1.0, standardize=False)
    before = {}
    for row in rng.normal(size=(30, 2)) * size:
        model.learn_one({"a": row[0], "b": row[1]}, bool(rng.integers(2)))
        for name, scale in model.scales.items():
            assert abs(np.log(scale / before.get(name, 1.0))) <= max_change * (1 + 1e-9)
        before = model.scales


def test_the_order_of_features_and_their_time_do_not_matter():
    X, y = rows(100, 3, 2, seed=1)
    one, other = RRFClassifier(n_components=20), RRFClassifier(n_components=20)
    for row, k in zip(X, y, strict=True):
        x = dict(zip("abc", row.tolist(), strict=True))
        one.learn_one(x, bool(k))
        other.learn_one(dict(reversed(x.items())), bool(k))
    assert one.predict_proba_one(x)[True] == pytest.approx(other.predict_proba_one(x)[True], rel=1e-9)


def test_a_useless_feature_widens_and_a_useful_one_does_not():
    rng = np.random.default_rng(0)
    model = RRFClassifier(n_components=100, width_lr=0.05)
    for _ in range(4000):
        a, noise = rng.normal(size=2)
        model.learn_one({"a": a, "noise": noise}, bool(np.sin(3.0 * a) > 0))
    assert model.scales["noise"] < 0.7 * model.scales["a"]


@pytest.mark.parametrize(
    "data, at_least", [(datasets.Bananas, 0.87), (datasets.Phishing, 0.88), (datasets.ImageSegments, 0.87)]
)
def test_accuracy_on_bundled_streams(data, at_least):
    stream = list(data())
    X = np.array([list(map(float, x.values())) for x, _ in stream])
    y = [label for _, label in stream]
    found = []
    for seed in range(3):
        model = RRFClassifier(classes=None, seed=seed)
        found.append(np.mean([p == t for p, t in zip(model.prequential_many(X, y), y, strict=True)]))
    assert np.mean(found) >= at_least


@pytest.mark.parametrize(
    "bad",
    [
        {"n_components": 0},
        {"lr": 0.0},
        {"width_lr": -1.0},
        {"l2": 3.0},
        {"max_change": 0.0},
        {"sigma": 0.0},
        {"seed": -1},
        {"seed": None},
    ],
)
def test_parameters_out_of_range_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        RRFClassifier(**bad)


@pytest.mark.parametrize("value", [1e20, 1e200, -1e308])
def test_an_extreme_value_does_not_poison_the_model(value):
    X, y = rows(60, 2, 2, seed=3)
    model = RRFClassifier(sigma=1.0, standardize=False)
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        model.learn_one({"a": row[0], "b": value if t % 20 == 10 else row[1]}, bool(k))
    assert all(np.isfinite(array).all() for array in model._arrays.values())
    assert 0.0 <= model.predict_proba_one({"a": 0.1, "b": 0.2})[True] <= 1.0
