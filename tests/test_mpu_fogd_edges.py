"""mpu-fogd: the contract, features, labels and batches of every kind."""

import copy
import math
import pickle
import time

import numpy as np
import pytest

from naive import proba, wavy
from onlinekit.testing import learner_checks
from onlinekit_plugins.random_features import MPUFOGDClassifier
from onlinekit_plugins.random_features.core_kernels import CLOCK

CHECKED = [MPUFOGDClassifier(n_components=20, classes=None, features="sincos", eta3=0.01)]


@pytest.mark.parametrize(
    "check", [pytest.param(f, id=f"{i}-{n}") for i, model in enumerate(CHECKED) for n, f in learner_checks(model)]
)
def test_contract(check):
    check()


def test_a_new_feature_draws_the_same_row_whenever_it_comes():
    a, b = (MPUFOGDClassifier(16, seed=7, standardize=False, sigma=2.0) for _ in range(2))
    a.learn_one({"x": 1.0, "y": 2.0, 3: 0.5}, True, w=0.0)
    b.learn_one({3.0: 0.5, "y": 2.0}, True, w=0.0)
    b.learn_one({"x": 1.0}, True, w=0.0)
    order = [b._schema.names.index(name) for name in ("x", "y", 3)]
    assert (a.directions[0] == b.directions[0][:, order]).all()
    other = MPUFOGDClassifier(16, seed=8, standardize=False, sigma=2.0)
    other.learn_one({"x": 1.0}, True)
    assert not np.allclose(other.directions[0][:, 0], a.directions[0][:, 0])


def test_directions_are_normal_with_deviation_one_over_sigma():
    model = MPUFOGDClassifier(4000, sigma=2.5, standardize=False)
    model.learn_one({"x": 1.0, "y": 1.0}, True, w=0.0)
    u, b = model.directions
    assert u.std() == pytest.approx(1 / 2.5, rel=0.03) and abs(u.mean()) < 0.02
    assert 0 <= b.min() and b.max() < 2 * math.pi and b.mean() == pytest.approx(math.pi, rel=0.05)


def test_the_features_approximate_the_kernel():
    X, _ = wavy(20, 3)
    for features, a in (("cos", math.sqrt(2)), ("sincos", 1.0)):
        model = MPUFOGDClassifier(20000, sigma=0.8, features=features, standardize=False)
        model._grow_features(range(3))
        u, b = model.directions
        z = X @ u.T + b
        phi = a / 20000 * (np.cos(z) if features == "cos" else np.hstack([np.cos(z), np.sin(z)]))
        k = np.exp(-((X[:, None] - X) ** 2).sum(2) / (2 * 0.8**2))
        assert np.abs(20000 * phi @ phi.T - k).max() < 0.04


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "red", [1.0]])
def test_bad_values_are_named_and_change_nothing(value):
    model = MPUFOGDClassifier(10)
    for t in range(30):
        model.learn_one({"a": t % 3, "b": t % 2}, t % 2 == 0)
    before = pickle.dumps(model)
    with pytest.raises((ValueError, TypeError), match="'b'"):
        model.learn_one({"a": 1.0, "b": value, "new": 1.0}, True)
    with pytest.raises((ValueError, TypeError), match="'b'"):
        model.predict_one({"a": 1.0, "b": value})
    assert pickle.dumps(model) == before
    model.learn_one({"b": True, "a": np.float32(2.0)}, np.True_)  # numbers of any kind, in any order


def test_missing_extra_and_reordered_keys():
    model = MPUFOGDClassifier(10)
    for t in range(60):
        model.learn_one({"a": t % 5, "b": t % 3, "c": -t % 4}, t % 2 == 0)
    assert model.predict_proba_one({"a": 1, "c": 2}) == model.predict_proba_one({"c": 2, "a": 1, "b": 0.0})
    assert model.predict_proba_one({"a": 1, "b": 2, "c": 3, "z": 9}) == model.predict_proba_one(
        {"b": 2, "c": 3, "a": 1}
    )
    assert model.n_features == 3


def test_before_labels_and_one_class_only():
    model = MPUFOGDClassifier(10, classes=None)
    assert model.predict_one({"a": 1.0}) is None and model.predict_proba_one({"a": 1.0}) == {}
    for t in range(20):
        model.learn_one({"a": t % 3}, "only")
    assert model.predict_one({"a": 1.0}) == "only"
    model.learn_one({"a": 9.0}, "other")
    assert set(model.predict_proba_one({"a": 9.0})) == {"only", "other"}


def test_a_third_class_moves_no_score():
    model = MPUFOGDClassifier(30, classes=None)
    X, y = wavy(200)
    model.learn_many(X, y)
    w = model.weights
    before = proba(model, X)
    assert w.shape == (30,)
    model.learn_one(dict(enumerate(X[0].tolist())), 2, w=0.0)
    np.testing.assert_array_equal(model.weights, [-w / 2, w / 2, np.zeros(30)])
    after = proba(model, X)
    # The row that brought the class has joined the mean and deviation, which moves z a little.
    np.testing.assert_allclose(after[:, 1] / after[:, 0], before[:, 1] / before[:, 0], rtol=0.05)
    model = MPUFOGDClassifier(30, classes=None, standardize=False)
    model.learn_many(X, y)
    before = proba(model, X)
    model.learn_one({0: 0.0}, 2, w=0.0)
    after = proba(model, X)
    np.testing.assert_allclose(after[:, 1] / after[:, 0], before[:, 1] / before[:, 0], rtol=1e-12)


def test_a_new_class_in_mid_stream():
    model = MPUFOGDClassifier(50, classes=None)
    X, y = wavy(600, 2, classes=4)
    model.prequential_many(X, [["a", "b", "c", "d"][k] if t > 300 else ["a", "b"][k % 2] for t, k in enumerate(y)])
    assert model.weights.shape == (4, 50)
    assert set(model.predict_proba_one({0: 0.1, 1: 0.2})) == {"a", "b", "c", "d"}


def test_declared_classes():
    model = MPUFOGDClassifier(10, classes=["a", "b", "c"])
    assert model.weights.shape == (3, 10)
    with pytest.raises((ValueError, TypeError), match=r"\[1\]"):
        model.learn_one({"a": 1.0}, [1])


def test_a_constant_feature_counts_for_nothing():
    a, b = MPUFOGDClassifier(20), MPUFOGDClassifier(20)
    X, y = wavy(100, 2)
    for x, label in zip(X.tolist(), y, strict=True):
        a.learn_one({"p": x[0], "q": x[1], "constant": 7.5}, label)
        b.learn_one({"p": x[0], "q": x[1]}, label)
    assert (a.weights == b.weights).all() and a.sigma_used == b.sigma_used


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_huge_values_leave_a_sound_model(dtype):
    """z far beyond what the sine reduces exactly: useless numbers for that row, finite state after it."""
    for big in (1e6, 1e30, 1e300):
        for standardize in (True, False):
            model = MPUFOGDClassifier(20, dtype=dtype, standardize=standardize, max_rotation=math.inf, beta=0.01)
            X, y = wavy(80, 3)
            X[[5, 40]] *= big
            model.learn_many(X, y)
            for x, label in zip(X.tolist(), y, strict=True):
                p = model.predict_proba_one(dict(enumerate(x)))
                assert sum(p.values()) == pytest.approx(1.0)
                model.learn_one(dict(enumerate(x)), label)
            assert np.isfinite(model.weights).all() and np.isfinite(model.directions[0]).all()


def test_a_dict_that_changes_between_predict_and_learn():
    for standardize in (True, False):
        a, b = (MPUFOGDClassifier(20, standardize=standardize) for _ in range(2))
        X, y = wavy(60, 3)
        for x, label in zip(X.tolist(), y, strict=True):
            row = dict(enumerate(x))
            a.predict_one(row)
            row[1] += 1.0
            a.learn_one(row, label)
            b.learn_one(dict(row), label)
        assert (a.weights == b.weights).all()


def test_predictions_not_followed_by_learning_and_late_labels():
    a, b = (MPUFOGDClassifier(20, standardize=False) for _ in range(2))
    X, y = wavy(80, 3)
    stream = [dict(enumerate(x)) for x in X.tolist()]
    for t, x in enumerate(stream):
        a.predict_one(x)
        if t >= 5:
            a.predict_one(stream[t - 5])
            a.learn_one(stream[t - 5], y[t - 5])
            a.learn_one(stream[t - 5], y[t - 5])  # the same row at once again: what was found before is stale
            b.learn_one(stream[t - 5], y[t - 5])
            b.learn_one(stream[t - 5], y[t - 5])
    assert (a.weights == b.weights).all() and (a.directions[0] == b.directions[0]).all()


def test_learning_after_predicting_looks_once():
    """The scores that predict found are used by learn: what lies in scratch is taken, for the same row only."""
    X, y = wavy(200, 3)
    model = MPUFOGDClassifier(20, standardize=False)
    model.learn_many(X, y)
    for x, label in zip(X.tolist(), y, strict=True):
        x, other = dict(enumerate(x)), dict(enumerate(X[0].tolist()))
        for between, expected in ((x, True), (other, False)):
            twin = copy.deepcopy(model)
            twin.predict_one(between)
            twin._pool[0].args[0][4, 0] = -50.0 if label else 50.0  # as if the row were far on the wrong side
            before = twin.n_updates
            twin.learn_one(x, label)
            if expected:
                assert twin.n_updates == before + 1
            elif x != other:
                true = copy.deepcopy(model)
                true.learn_one(x, label)
                assert twin.n_updates == true.n_updates and (twin.weights == true.weights).all()


def test_kinds_of_batches():
    X, y = wavy(70, 4)
    want = MPUFOGDClassifier(20)
    want.learn_many(X, y)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()):
        model = MPUFOGDClassifier(20)
        model.learn_many(other, y)
        assert (model.weights == want.weights).all()
    for dtype in (np.float32, np.int64):
        one, many = MPUFOGDClassifier(20), MPUFOGDClassifier(20)
        Z = (10 * X).astype(dtype)
        many.learn_many(Z, y)
        for x, label in zip(Z.astype(float).tolist(), y, strict=True):
            one.learn_one(dict(enumerate(x)), label)
        np.testing.assert_allclose(one.weights, many.weights, rtol=0, atol=1e-9)
    before = pickle.dumps(want)
    want.learn_many(X[:0], y[:0])
    assert pickle.dumps(want) == before and want.predict_many(X[:0]) is not None
    want.learn_many(X[:1], y[:1])
    want.learn_one(dict(enumerate(X[1].tolist())), y[1])
    assert want._arrays["run"][CLOCK] == 72


def test_columns_in_another_order():
    pandas = pytest.importorskip("pandas")
    X, y = wavy(60, 4)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    a, b = MPUFOGDClassifier(20), MPUFOGDClassifier(20)
    a.learn_many(frame, y)
    b.learn_many(frame[:30], y[:30])
    b.learn_many(frame[30:][list("dbca")], y[30:])
    np.testing.assert_allclose(a.weights, b.weights, rtol=0, atol=1e-12)


def test_clone_forgets_and_deepcopy_remembers():
    X, y = wavy(100, 3)
    start = (np.ones((8, 3)), np.zeros(8))
    model = MPUFOGDClassifier(8, directions=start, standardize=False)
    model.learn_many(X, y)
    clone = model.clone()
    assert clone.n_features == 0 and (clone.weights == 0).all()
    clone.learn_one({0: 1.0, 1: 1.0, 2: 1.0}, True, w=0.0)
    assert (clone.directions[0] == 1.0).all(), "a clone starts where the original did"
    twin = copy.deepcopy(model)
    assert (twin.weights == model.weights).all()
    twin.learn_many(X, ~y.astype(bool))
    assert not (twin.weights == model.weights).all()


def test_one_component():
    for features in ("cos", "sincos"):
        model = MPUFOGDClassifier(1, classes=None, features=features)
        X, y = wavy(50, 2, classes=4)
        model.prequential_many(X, y)
        assert sum(model.predict_proba_one({0: 0.1, 1: 0.5}).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "name, value",
    [
        ("sigma", 0),
        ("sigma", -1.0),
        ("sigma", "wide"),
        ("sigma", math.nan),
        ("n_components", 0),
        ("n_components", 2.5),
        ("alpha", 0),
        ("beta", -1e-3),
        ("eta3", math.inf),
        ("max_rotation", 0),
        ("features", "sin"),
        ("dtype", "float16"),
        ("seed", -1),
        ("seed", None),
        ("directions", (np.zeros((3, 2)), np.zeros(3))),
        ("directions", (np.full((200, 2), math.nan), np.zeros(200))),
    ],
)
def test_parameters_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        MPUFOGDClassifier(**{name: value})


def test_the_settings_of_the_paper():
    for update, eta3 in (("u", 0.0), ("ub", 0.01)):
        model = MPUFOGDClassifier.paper(40, sigma=0.5, update=update)
        assert model._hyper()[1:] == pytest.approx((100.0, 0.1, eta3, math.inf)) and not model.standardize
    with pytest.raises(ValueError, match="update"):
        MPUFOGDClassifier.paper(40, sigma=0.5, update="b")


def test_steps_mean_the_same_at_every_width():
    X, y = wavy(1500, 3)
    rates = []
    for D in (100, 1000):
        model = MPUFOGDClassifier(D)
        p = model.prequential_many(X, y)
        rates.append(np.mean(p == y))
    assert abs(rates[0] - rates[1]) < 0.03


def test_float32_follows_float64():
    X, y = wavy(2000, 6)
    right = []
    for dtype in ("float64", "float32"):
        model = MPUFOGDClassifier(100, dtype=dtype)
        right.append(np.mean(model.prequential_many(X, y) == y))
        assert model._arrays["weights"].dtype == model._arrays["directions"].dtype == dtype
    assert abs(right[0] - right[1]) < 0.01


def test_sigma_by_the_median():
    X, y = wavy(300, 3, seed=4)
    model = MPUFOGDClassifier(10, sigma="median", standardize=False)
    model.learn_many(X[:99], y[:99])
    assert model.sigma_used == pytest.approx(0.4 * math.sqrt(2 * np.mean((X[:99] ** 2).sum(1))))
    model.learn_one(dict(enumerate(X[99].tolist())), y[99])
    distances = [np.linalg.norm(X[s] - X[t]) for s in range(100) for t in range(s)]
    assert model.sigma_used == pytest.approx(0.5 * np.median(distances), rel=1e-3)
    settled = model.sigma_used
    model.learn_many(X[100:], y[100:])
    assert model.sigma_used == settled


def test_pickle_is_quick_and_goes_on_the_same():
    X, y = wavy(200, 8)
    model = MPUFOGDClassifier()
    model.learn_many(X, y)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for make in (lambda: pickle.loads(pickle.dumps(model)), lambda: copy.deepcopy(model)):
        spent = []
        for _ in range(20):
            start = time.process_time()
            make()
            spent.append(time.process_time() - start)
        assert min(spent) < 0.002
    for twin in copies:
        assert (proba(twin, X) == proba(model, X)).all()
