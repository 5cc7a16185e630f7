"""Nystroem online gradient descent against its reference in the space of the map, and the contract."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets
from scipy.special import expit
from sklearn.kernel_approximation import Nystroem

from naive import NaiveNOGD
from onlinekit.testing import learner_checks
from onlinekit_plugins.random_features.eigen_kernels import largest_eigen
from onlinekit_plugins.random_features.nogd import NOGDClassifier


@pytest.mark.parametrize("check", [pytest.param(f, id=n) for n, f in learner_checks(NOGDClassifier(budget=20))])
def test_contract(check):
    check()


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=n) for n, f in learner_checks(NOGDClassifier(budget=12, rank=6, classes=None))]
)
def test_contract_multiclass(check):
    check()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6), st.sampled_from(["full", "low rank", "gram", "zero"])
)
def test_the_eigensolver_is_lapacks(n, r, seed, kind):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n if kind == "full" else max(1, n // 3)))
    A = {"full": B + B.T if kind == "full" else None, "zero": np.zeros((n, n))}.get(kind, B @ B.T)
    if kind == "gram":
        A = np.exp(-((B[:, None] - B[None]) ** 2).sum(-1) / 50.0)
    r = min(r, n)
    values, vectors = np.empty(r), np.empty((r, n))
    largest_eigen(A.copy(), values, vectors)
    size = max(1.0, np.abs(A).sum(axis=1).max())
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:r], atol=1e-12 * size)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(r), atol=1e-11)
    np.testing.assert_allclose(vectors @ A, values[:, None] * vectors, atol=1e-11 * size)


def rows(n, d, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3.0, d)
    return X, (np.sin(X[:, 0] * 4.0) + X[:, 1] > 0).astype(int) + rng.integers(classes - 1, size=n)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("setting", [{}, {"standardize": False, "sigma": 2.0}, {"rank": 1}, {"rank": 30}, {"lr": 0.05}])
def test_same_numbers_as_the_reference(classes, setting):
    parameters = {"budget": 30, "rank": 8, "lr": 0.3, "sigma": 0.9, **setting}
    X, y = rows(250, 3, classes, seed=classes)
    model = NOGDClassifier(classes=(False, True) if classes == 2 else range(classes), **parameters)
    naive = NaiveNOGD(classes, **{"standardize": True, **parameters})
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        want = naive.scores(row)
        x = dict(enumerate(row.tolist()))
        proba = model.predict_proba_one(x)
        if classes == 2:
            assert proba[True] == pytest.approx(expit(want[0]), rel=1e-6, abs=1e-9)
        else:
            e = np.exp(want - want.max())
            assert list(proba.values()) == pytest.approx(e / e.sum(), rel=1e-6, abs=1e-9)
        w = 1.0 if t % 7 else 2.5
        model.learn_one(x, bool(k) if classes == 2 else int(k), w=w)
        naive.learn(row, int(k), w)
    assert model.n_points == 30 and naive.map is not None


def test_the_map_is_scikit_learns():
    X, y = rows(60, 2, 2, seed=3)
    model = NOGDClassifier(budget=15, rank=15, sigma=0.7, standardize=False)
    model.learn_many(X, y.astype(bool))
    points = model._arrays["points"][:2].T
    theirs = Nystroem(gamma=0.5 / 0.7**2, n_components=15, random_state=0).fit(points)
    ours = np.exp(-0.5 / 0.7**2 * ((X[:, None] - points[None]) ** 2).sum(-1)) @ model._arrays["nystroem"].T
    features = theirs.transform(X)
    # Both are square roots of the same kernel approximation, up to a rotation.
    np.testing.assert_allclose(ours @ ours.T, features @ features.T, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 1000))
def test_points_that_repeat_are_no_trouble(budget, rank, seed):
    # Few distinct rows: the Gram matrix is singular and the rank in use falls below the rank asked for.
    rng = np.random.default_rng(seed)
    model = NOGDClassifier(budget=budget, rank=min(rank, budget), sigma=1.0, standardize=False, lr=0.1)
    for _ in range(60):
        a = int(rng.integers(3))
        model.learn_one({"a": float(a)}, bool(rng.integers(2)))
        assert 0.0 <= model.predict_proba_one({"a": float(a)})[True] <= 1.0
    assert model.n_points <= budget
    assert 0 <= model._arrays["counts"][1] <= min(3, rank, budget)


def test_a_third_class_does_not_move_the_first_two():
    model = NOGDClassifier(classes=None, budget=10)
    rng = np.random.default_rng(0)
    for _ in range(60):
        y = int(rng.integers(2))
        model.learn_one({"a": float(rng.normal(y)), "b": float(rng.normal())}, "ab"[y])
    x = {"a": 0.3, "b": 0.0}
    before = model.predict_proba_one(x)
    model.learn_one({"a": 0.2, "b": 0.1}, "c", w=0.0)
    after = model.predict_proba_one(x)
    # The scaler has seen one row more, which moves the distances a little.
    assert np.log(after["b"] / after["a"]) == pytest.approx(np.log(before["b"] / before["a"]), rel=0.1)


@pytest.mark.parametrize(
    "data, at_least", [(datasets.Bananas, 0.87), (datasets.Phishing, 0.88), (datasets.ImageSegments, 0.87)]
)
def test_accuracy_on_bundled_streams(data, at_least):
    stream = list(data())
    model = NOGDClassifier(classes=None)
    X = np.array([list(map(float, x.values())) for x, _ in stream])
    y = [label for _, label in stream]
    assert np.mean([p == t for p, t in zip(model.prequential_many(X, y), y, strict=True)]) >= at_least


@pytest.mark.parametrize(
    "bad", [{"budget": 0}, {"rank": 0}, {"rank": 500}, {"lr": 0.0}, {"sigma": -1.0}, {"sigma": "wide"}]
)
def test_parameters_out_of_range_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        NOGDClassifier(**bad)
