"""kernel-experts against a naive reference, ridge regression, and each of its experts on real streams."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from naive import NaiveExperts, bundled, wavy
from onlinekit.testing import learner_checks
from onlinekit_plugins.linear import LogisticRegression, PAClassifier
from onlinekit_plugins.random_features import KernelExpertsClassifier, MPUFOGDClassifier, merge
from onlinekit_plugins.random_features.neighbours_kernels import find

CHECKED = [KernelExpertsClassifier(n_components=15), KernelExpertsClassifier(n_components=15, classes=None)]


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=f"{i}-{n}") for i, model in enumerate(CHECKED) for n, f in learner_checks(model)]
)
def test_contract(check):
    check()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("door", ["one", "many", "prequential"])
@pytest.mark.parametrize(
    "params", [{}, {"beta": 0.05}, {"forgetting": 0.9}, {"n_components": 110}, {"window": 40}, {"window": 3}], ids=str
)
def test_the_naive_reference(classes, door, params):
    X, y = wavy(150, classes=classes)
    labels = range(classes) if classes > 2 else (False, True)
    model = KernelExpertsClassifier(**{"n_components": 12, **params}, classes=labels)
    model._grow_features(range(4))
    scale, eta1, eta2, _, rotation, forgetting = model._hyper()
    few = min(100, model.n_components)
    u = model._arrays["directions"][:4].T
    naive = NaiveExperts(u, eta1, eta2, scale, classes, rotation, few, forgetting, model.window)
    want, got = [], None
    for x, label in zip(X, y, strict=True):
        want.append(naive.proba(x))
        naive.learn(x, int(label))
    if door == "many":
        model.learn_many(X, y)
    elif door == "prequential":
        got = model.prequential_many(X, y)
        assert [int(k) for k in got] == [int(np.argmax(p)) for p in want]
    else:
        for x, label, p in zip(X.tolist(), y, want, strict=True):
            np.testing.assert_allclose(list(model.predict_proba_one(dict(enumerate(x))).values()), p, atol=1e-8)
            model.learn_one(dict(enumerate(x)), label)
    np.testing.assert_allclose(model._arrays["recursive"], naive.recursive, atol=1e-8)
    np.testing.assert_allclose(model._arrays["inverse"], naive.inverse, atol=1e-7)
    np.testing.assert_allclose(model._arrays["linear"][:, :, :4], naive.linear, atol=1e-9)
    np.testing.assert_allclose(model._arrays["intercept"], naive.intercept, atol=1e-9)
    np.testing.assert_allclose(list(model.trust.values()), naive.trust, atol=1e-12)


def test_without_forgetting_the_least_squares_are_ridge_regression():
    X, y = wavy(200, 3)
    model = KernelExpertsClassifier(8, beta=0.0, forgetting=1.0, standardize=False, sigma=0.7)
    w = np.random.default_rng(0).uniform(0.5, 2, 200)
    model.learn_many(X, y, w)
    u, _ = model.directions
    phi = np.hstack([np.cos(X @ u.T), np.sin(X @ u.T)]) / math.sqrt(8)
    gram = phi.T @ (w[:, None] * phi) + 0.1 * np.eye(16)
    exact = np.linalg.solve(gram, phi.T @ (w * (2 * y - 1)))
    np.testing.assert_allclose(model._arrays["recursive"][0], exact, atol=1e-9)
    np.testing.assert_allclose(model._arrays["inverse"], np.linalg.inv(gram), atol=1e-9)


def test_directions_that_are_not_excited_do_not_wind_up():
    """One and the same row 50,000 times: plain forgetting would grow the rest by 1 / 0.999^50000 = 5e21."""
    model = KernelExpertsClassifier(20, standardize=False, forgetting=0.999)
    X = np.tile([[0.3, -0.2]], (50_000, 1))
    model.learn_many(X, np.ones(50_000, bool))
    inverse = model._arrays["inverse"]
    assert np.trace(inverse) <= 40 / 0.1 + 1e-6 and (inverse == inverse.T).all()
    assert np.linalg.eigvalsh(inverse).min() > -1e-9
    Z, y = wavy(2000, 2)
    right = model.prequential_many(Z, y) == y
    assert np.mean(right[500:]) > 0.9, "and it still learns"


def test_the_linear_expert_is_passive_aggressive():
    X, y = wavy(300, 3)
    model, pa = KernelExpertsClassifier(5, standardize=False), PAClassifier()
    model.learn_many(X, y)
    pa.learn_many(X, y)
    np.testing.assert_allclose(model._arrays["linear"][:, 0, :3], pa._arrays["weights"][:, :3], atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_logistic_expert_is_logistic_regression(classes):
    X, y = wavy(300, 3, classes=classes)
    labels = (False, True) if classes == 2 else range(3)
    model = KernelExpertsClassifier(5, standardize=False, classes=labels)
    logistic = LogisticRegression(lr=0.02, intercept_lr=0.02, classes=labels)
    model.learn_many(X, y)
    logistic.learn_many(X, y)
    np.testing.assert_allclose(model._arrays["linear"][:, 1, :3], logistic._arrays["weights"][:, :3], atol=1e-10)


def test_the_nearest_expert_is_nearest_neighbours():
    """Against scikit-learn on the last 100 rows, with ties and rows learned twice; and its say is in the mixture."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)).round(1), rng.integers(0, 3, 400)
    model = KernelExpertsClassifier(5, standardize=False, window=100, classes=range(3))
    model.learn_many(X, y)
    peer = KNeighborsClassifier(5, weights="distance", algorithm="brute").fit(X[-100:], y[-100:])
    model._arrays["trust"][:] = [-100, -100, -100, -100, 0]  # only the neighbours are heard
    probes = rng.normal(size=(200, 3))
    np.testing.assert_allclose(model.predict_proba_many(probes), peer.predict_proba(probes), atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(1, 15), st.integers(0, 40))
def test_the_nearest_are_those_of_a_sorted_list(gaps, window, kept):
    """Whole-number distances, so ties; the ring of rows starts anywhere, full or not."""
    size = min(len(gaps), window, max(kept, 1))
    newest = (size - 1) if size < window else kept % window
    near = np.zeros((3, max(window, 5)))
    near[0, :size] = gaps[:size]
    found = find(near, newest, size, window)
    ages = [(newest - i) % window for i in range(size)]
    want = sorted(range(size), key=lambda i: (gaps[i], ages[i]))[:5]
    assert near[2, :found].tolist() == want and near[1, :found].tolist() == [gaps[i] for i in want]


def test_the_newest_of_equally_near_rows_count():
    model = KernelExpertsClassifier(5, standardize=False)
    for label, times in ((False, 9), (True, 5)):
        for _ in range(times):
            model.learn_one({"a": 0.3}, label)
    model._arrays["trust"][:] = [-100, -100, -100, -100, 0]
    assert model.predict_proba_one({"a": 0.3}) == {False: 0.0, True: 1.0}
    model.learn_one({"a": 0.3}, False, w=0.0)
    assert model.predict_proba_one({"a": 0.3}) == {False: 0.0, True: 1.0}, "a row without weight is not kept"
    model.learn_one({"a": 0.3}, False, w=4.0)
    assert model.predict_proba_one({"a": 0.3}) == pytest.approx({False: 0.5, True: 0.5})


def test_rows_kept_gain_features_that_come_later():
    """A feature that a kept row had not is 0 in it, as everywhere: the same as if it had been there from the start."""
    X, y = wavy(120, 3)
    late = KernelExpertsClassifier(10, window=50)
    early = KernelExpertsClassifier(10, window=50)
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = {"a": row[0], "b": row[1], "c": row[2] if t >= 60 else 0.0}
        early.learn_one(x, label)
        late.learn_one(x if t >= 60 else {"a": row[0], "b": row[1]}, label)
    np.testing.assert_array_equal(late._arrays["memory"], early._arrays["memory"])
    assert late.predict_proba_one({"c": 0.7, "a": 1.0}) == early.predict_proba_one({"c": 0.7, "a": 1.0})


def test_a_third_class_moves_no_score():
    X, y = wavy(300)
    model = KernelExpertsClassifier(20, classes=None, standardize=False)
    model.learn_many(X, y)
    w = model._arrays["recursive"][0].copy()
    model.learn_one({0: 0.0}, 2, w=0.0)
    np.testing.assert_array_equal(model._arrays["recursive"], [-w / 2, w / 2, 0 * w])


def test_trust_follows_who_is_right():
    """A straight line first, then a circle: the say passes from the linear expert to the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.where(np.arange(6000) < 3000, X[:, 0] > 0, (X**2).sum(1) > 1.4)
    model = KernelExpertsClassifier()
    first = model.prequential_many(X[:3000], y[:3000]) == y[:3000]
    line = model.trust
    second = model.prequential_many(X[3000:], y[3000:]) == y[3000:]
    assert line["passive-aggressive"] > 0.95 and model.trust["passive-aggressive"] < 0.7 < model.trust["least-squares"]
    assert np.mean(first[500:]) > 0.95 and np.mean(second[500:]) > 0.95


def test_merging_is_refused():
    with pytest.raises(ValueError, match="KernelExpertsClassifier"):
        merge([KernelExpertsClassifier(), KernelExpertsClassifier()])


@pytest.mark.parametrize(
    "name, value",
    [
        ("forgetting", 1.1),
        ("forgetting", 0.0),
        ("alpha", 0),
        ("beta", -1),
        ("max_rotation", 0),
        ("window", 0),
        ("window", 2.5),
    ],
)
def test_parameters_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        KernelExpertsClassifier(**{name: value})


@pytest.mark.parametrize("name, least", [("Phishing", 0.893), ("Bananas", 0.887), ("ImageSegments", 0.92)])
def test_no_worse_than_mpu_fogd_on_its_own(name, least):
    X, y = bundled(name)
    classes = None if len(set(y.tolist())) > 2 else (False, True)
    means = []
    for make in (KernelExpertsClassifier, lambda **params: MPUFOGDClassifier(features="sincos", **params)):
        right = [np.mean(make(seed=seed, classes=classes).prequential_many(X, y) == y) for seed in (1, 2, 3)]
        means.append(float(np.mean(right)))
    assert means[0] >= least and means[0] > means[1]
