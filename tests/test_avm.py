"""The approximation vector machine against its whole-history reference, and the contract."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets
from scipy.special import expit

from naive import NaiveAVM
from onlinekit.testing import learner_checks
from onlinekit_plugins.budget import AVMClassifier


@pytest.mark.parametrize("check", [pytest.param(f, id=n) for n, f in learner_checks(AVMClassifier(budget=60))])
def test_contract(check):
    check()


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=n) for n, f in learner_checks(AVMClassifier(budget=9, classes=None))]
)
def test_contract_multiclass(check):
    check()


def rows(n, d, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 20.0, d)
    return X, (np.sin(X[:, 0] * 4.0) + X[:, 1] > np.linspace(0, 1, n)).astype(int) + rng.integers(classes - 1, size=n)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "setting", [{}, {"standardize": False, "sigma": 6.0}, {"budget": 12}, {"delta": 0.0}, {"l2": 0.1}]
)
def test_same_numbers_as_the_reference(classes, setting):
    parameters = {"budget": 40, "l2": 1e-3, "delta": 0.5, "sigma": 0.8, **setting}
    X, y = rows(150, 3, classes, seed=classes)
    model = AVMClassifier(classes=(False, True) if classes == 2 else range(classes), **parameters)
    naive = NaiveAVM(classes, **{"standardize": True, **parameters})
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
    assert model.n_cores == len(naive.cores)


def test_with_every_point_a_core_it_is_the_kernel_svm_by_stochastic_gradient():
    # delta = 0 and room for all: Pegasos with a kernel, f = sum of y_i k(x_i, x) over the losses / (l2 t).
    X, y = rows(80, 2, 2, seed=5)
    model = AVMClassifier(budget=100, delta=0.0, l2=0.05, sigma=1.0, standardize=False)
    losses = []
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        f = sum(s * np.exp(-np.sum((row - p) ** 2) / 2.0) for p, s in losses) / (0.05 * max(t, 1))
        x = {"a": row[0], "b": row[1]}
        assert model.predict_proba_one(x)[True] == pytest.approx(expit(f), rel=1e-9)
        sign = 2.0 * k - 1.0
        if 1.0 - sign * f > 0.0:
            losses.append((row, sign))
        model.learn_one(x, bool(k))
    assert model.n_cores == len(losses)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 2), st.floats(0.0, 1e6)), min_size=1, max_size=40),
    st.integers(1, 6),
    st.floats(0.0, 3.0),
)
def test_votes_add_up(samples, budget, delta):
    # A row has w votes for its class and w against one rival, so none in sum and no class more than the total weight.
    model = AVMClassifier(budget=budget, delta=delta, classes=(0, 1, 2))
    for a, y, w in samples:
        model.learn_one({"a": a}, y, w=w)
    votes, total = model._arrays["votes"], model._arrays["counts"][1]
    assert total == pytest.approx(sum(w for *_, w in samples))
    assert votes.sum(axis=0) == pytest.approx(np.zeros(budget), abs=1e-9 * (1.0 + total))
    assert np.abs(votes).sum(axis=1).max() <= total * (1.0 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 8),
    st.floats(0.0, 2.0),
)
def test_the_budget_holds_and_cores_keep_their_distance(samples, budget, delta):
    model = AVMClassifier(budget=budget, delta=delta, sigma=1.0, standardize=False)
    for a, b, y in samples:
        model.learn_one({"a": a, "b": b}, y)
        assert sum(model.predict_proba_one({"a": a, "b": b}).values()) == pytest.approx(1.0)
    assert model.n_cores <= budget
    cores = model._arrays["cores"][:2, : model.n_cores].T
    for i, p in enumerate(cores):
        for q in cores[:i]:
            assert np.linalg.norm(p - q) > delta * (1 - 1e-9)


def test_a_weight_is_a_number_of_repetitions_of_the_same_loss():
    once, twice = (AVMClassifier(sigma=1.0, standardize=False, l2=1e-4) for _ in range(2))
    once.learn_one({"a": 1.0}, True, w=2.0)
    twice.learn_one({"a": 1.0}, True, w=1.0)
    # Two units of weight and two votes: the same function.
    assert once.predict_proba_one({"a": 2.0}) == twice.predict_proba_one({"a": 2.0})
    before = once.predict_proba_one({"a": 2.0})
    once.learn_one({"a": -9.0}, False, w=0.0)
    assert once.predict_proba_one({"a": 2.0}) == before


def test_a_third_class_does_not_move_the_first_two():
    model = AVMClassifier(classes=None, l2=0.01)
    rng = np.random.default_rng(0)
    for _ in range(60):
        y = int(rng.integers(2))
        model.learn_one({"a": float(rng.normal(y)), "b": float(rng.normal())}, "ab"[y])
    x = {"a": 0.3, "b": 0.0}
    before = model.predict_proba_one(x)
    model.learn_one({"a": 0.2, "b": 0.1}, "c", w=0.0)
    after = model.predict_proba_one(x)
    # The scaler has seen one row more, which moves the distances a little.
    assert np.log(after["b"] / after["a"]) == pytest.approx(np.log(before["b"] / before["a"]), rel=0.05)


@pytest.mark.parametrize(
    "data, at_least", [(datasets.Bananas, 0.855), (datasets.Phishing, 0.84), (datasets.ImageSegments, 0.84)]
)
def test_accuracy_on_bundled_streams(data, at_least):
    stream = list(data())
    model = AVMClassifier(classes=None)
    X = np.array([list(map(float, x.values())) for x, _ in stream])
    y = [label for _, label in stream]
    assert np.mean([p == t for p, t in zip(model.prequential_many(X, y), y, strict=True)]) >= at_least


@pytest.mark.parametrize(
    "bad",
    [
        {"budget": 0},
        {"budget": 2.5},
        {"l2": 0.0},
        {"l2": float("inf")},
        {"l2": "small"},
        {"delta": -1.0},
        {"delta": None},
        {"sigma": 0.0},
        {"sigma": "wide"},
        {"sigma": float("inf")},
    ],
)
def test_parameters_out_of_range_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        AVMClassifier(**bad)
