"""Passive-aggressive learning with max-out units against its reference, and the contract."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, multiclass

from naive import NaivePAMO
from onlinekit.testing import learner_checks
from onlinekit_plugins.budget import PAMOClassifier


@pytest.mark.parametrize("check", [pytest.param(f, id=n) for n, f in learner_checks(PAMOClassifier(n_units=30))])
def test_contract(check):
    check()


def rows(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3.0, d) + 1.0
    return X, X[:, 0] * X[:, 1] > 0.5


def twin(model, d, standardize):
    D = model.n_units
    planes = np.vstack([model._arrays["planes"][:d], model._arrays["offsets"]])
    return NaivePAMO(planes[:, :D].T, planes[:, D:].T, model.C, model.C_units, model.gain, standardize)


@pytest.mark.parametrize("setting", [{}, {"standardize": False}, {"C": 100.0, "C_units": 100.0}, {"C_units": 0.0}])
def test_same_numbers_as_the_reference(setting):
    X, y = rows(200, 3, seed=4)
    model = PAMOClassifier(**{"n_units": 15, "gain": 0.6, "C": 0.5, "C_units": 0.2, **setting})
    model.learn_one(dict(enumerate(X[0].tolist())), bool(y[0]), w=0.0)
    naive = twin(model, 3, model.standardize)
    naive.learn(X[0], int(y[0]), 0.0)
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        x = dict(enumerate(row.tolist()))
        want = 1.0 / (1.0 + math.exp(-naive.scores(row)[0]))
        assert model.predict_proba_one(x)[True] == pytest.approx(want, rel=1e-8, abs=1e-12)
        w = 1.0 if t % 7 else 1.5
        model.learn_one(x, bool(k), w=w)
        naive.learn(row, int(k), w)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 10.0), st.floats(-5.0, 5.0), st.booleans())
def test_each_step_is_the_projection_of_its_problem(seed, size, a, y):
    # With uncapped steps, any one of the three alone puts the row exactly on the margin (while no piece changes).
    rng = np.random.default_rng(seed)
    model = PAMOClassifier(n_units=6, C=1e9, C_units=1e9, gain=1.0, standardize=False, seed=seed)
    for row in rng.normal(size=(5, 2)) * size:
        model.learn_one({"a": row[0], "b": row[1]}, bool(rng.integers(2)))
    naive = twin(model, 2, False)
    naive.w = model._arrays["output"].copy()
    x, sign = np.array([a, 1.0]), 1.0 if y else -1.0
    before = naive.w.copy()
    loss = 1.0 - sign * naive.scores(x)[0]
    model.learn_one({"a": a, "b": 1.0}, y)
    naive.w = model._arrays["output"].copy()
    if loss > 0.0:
        assert sign * naive.scores(x)[0] == pytest.approx(1.0, abs=1e-6)
    else:
        assert (naive.w == before).all()


def test_without_unit_steps_it_is_pa_on_the_drawn_features():
    X, y = rows(80, 2, seed=2)
    model = PAMOClassifier(n_units=10, C=0.3, C_units=0.0, gain=1.0, standardize=False)
    model.learn_one({0: X[0, 0], 1: X[0, 1]}, bool(y[0]), w=0.0)
    planes, offsets = model._arrays["planes"][:2].copy(), model._arrays["offsets"].copy()
    w = np.zeros(10)
    for row, k in zip(X, y, strict=True):
        z = row @ planes + offsets
        h = np.maximum(z[:10], z[10:]) / math.sqrt(10)
        assert model.predict_proba_one(dict(enumerate(row)))[True] == pytest.approx(1 / (1 + math.exp(-(w @ h))))
        sign = 1.0 if k else -1.0
        w += sign * min(0.3, max(0.0, 1.0 - sign * (w @ h)) / (h @ h)) * h
        model.learn_one(dict(enumerate(row.tolist())), bool(k))
    assert (model._arrays["planes"][:2] == planes).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 2.0), st.integers(1, 5))
def test_a_whole_weight_is_a_number_of_repetitions_while_the_units_rest(seed, C, n):
    rng = np.random.default_rng(seed)
    heavy, often = (PAMOClassifier(n_units=6, C=C, C_units=0.0, gain=1.0, standardize=False) for _ in range(2))
    for row in rng.normal(size=(8, 2)):
        x, y = {"a": row[0], "b": row[1]}, bool(rng.integers(2))
        heavy.learn_one(x, y, w=float(n))
        for _ in range(n):
            often.learn_one(x, y)
    assert heavy._arrays["output"] == pytest.approx(often._arrays["output"], rel=1e-9, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.booleans(), st.floats(0.0, 1e12)), min_size=1, max_size=40),
    st.sampled_from([0.3, 1e3, math.inf]),
    st.booleans(),
)
def test_no_weight_and_no_cap_makes_it_diverge(samples, C, standardize):
    model = PAMOClassifier(n_units=5, C=C, C_units=C, standardize=standardize)
    for _ in range(20):
        for a, y, w in samples:
            model.learn_one({"a": a}, y, w=w)
    assert all(np.isfinite(array).all() for array in model._arrays.values())
    assert sum(model.predict_proba_one({"a": samples[0][0]}).values()) == pytest.approx(1.0)


def test_three_classes_through_one_vs_rest():
    model = multiclass.OneVsRestClassifier(PAMOClassifier(n_units=40))
    rng = np.random.default_rng(0)
    good = 0
    for t in range(1500):
        a, b = rng.normal(size=2)
        y = "near" if math.hypot(a, b) < 0.8 else ("left" if a < 0 else "right")
        x = {"a": float(a), "b": float(b)}
        good += t >= 500 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert good / 1000 > 0.9


@pytest.mark.parametrize("data, at_least", [(datasets.Bananas, 0.74), (datasets.Phishing, 0.88)])
def test_accuracy_on_bundled_streams(data, at_least):
    stream = list(data())
    X = np.array([list(map(float, x.values())) for x, _ in stream])
    y = np.array([bool(label) for _, label in stream])
    found = [np.mean(PAMOClassifier(seed=seed).prequential_many(X, y) == y) for seed in range(3)]
    assert np.mean(found) >= at_least


@pytest.mark.parametrize(
    "bad",
    [
        *({"n_units": value} for value in (0, 2.5)),
        *({"C": value} for value in (0.0, math.nan, "x")),
        *({"C_units": value} for value in (-1.0, math.nan, None)),
        *({"gain": value} for value in (0.0, "big", None, math.inf)),
        *({"seed": value} for value in (-1, 0.5)),
    ],
)
def test_parameters_out_of_range_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        PAMOClassifier(**bad)


@pytest.mark.parametrize("value", [1e20, 1e200, -1e308])
def test_an_extreme_value_does_not_poison_the_model(value):
    X, y = rows(60, 2, seed=3)
    model = PAMOClassifier(gain=1.0, standardize=False)
    for t, (row, k) in enumerate(zip(X, y, strict=True)):
        model.learn_one({"a": row[0], "b": value if t % 20 == 10 else row[1]}, bool(k))
    assert all(np.isfinite(array).all() for array in model._arrays.values())
    assert 0.0 <= model.predict_proba_one({"a": 0.1, "b": 0.2})[True] <= 1.0
