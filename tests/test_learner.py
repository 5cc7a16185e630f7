"""ArrayClassifier at its edges: rows of odd kinds, buffers that keep values, batches against the loop."""

import collections
import copy
import decimal
import types
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import onlinekit
from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression
from onlinekit_plugins.linear import LogisticRegression, PAClassifier
from onlinekit_plugins.linear import kernels as linear_kernels


def warm(**parameters):
    """A model that knows a and b, with the way of the usual sample open."""
    model = LogisticRegression(**parameters)
    for _ in range(2):
        model.predict_one({"a": 1.0, "b": 2.0})
        model.learn_one({"a": 1.0, "b": 2.0}, True)
    return model


@pytest.mark.parametrize("kind", [collections.Counter, lambda x: collections.defaultdict(float, x)])
@pytest.mark.parametrize("learner", [LogisticRegression, BayesianLogisticRegression])
def test_a_dict_that_makes_up_values_brings_its_features(kind, learner):
    odd, plain = learner(), learner()
    for x, y in [({"a": 1, "b": 2}, True), ({"c": 1, "d": 2}, False), ({"a": 1, "d": 3, "c": 1, "e": 2}, True)]:
        given = kind(x)
        assert odd.predict_proba_one(given) == plain.predict_proba_one(x)
        odd.learn_one(given, y)
        plain.learn_one(x, y)
        assert given == x
    assert odd.n_features == 5


def test_a_list_is_no_row_however_long():
    model = LogisticRegression()
    model.learn_one({0: 1.0, 1: 2.0}, True)
    model.predict_one({0: 1.0, 1: 2.0})
    for call in (lambda: model.learn_one([1.0, 2.0], False), lambda: model.predict_one([1.0, 2.0])):
        with pytest.raises(TypeError, match="dict"):
            call()


def test_arrays_of_one_number_that_change_are_read_anew():
    got, want = warm(), warm()
    room = np.zeros(2)
    for values in ([0.5, 1.0], [-3.0, 2.0], [4.0, 0.1]):
        room[:] = values
        odd = {"a": room[0, ...], "b": room[1, ...]}  # views
        plain = {"a": values[0], "b": values[1]}
        assert got.predict_proba_one(odd) == want.predict_proba_one(plain)
        got.predict_one(odd)
        got.learn_one(odd, False)
        want.learn_one(plain, False)
    assert got.predict_proba_one(plain) == want.predict_proba_one(plain)


def test_a_value_that_refuses_to_be_compared_is_named():
    model = warm()
    for call in (model.predict_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(TypeError, match="'a'"):
            call({"a": decimal.Decimal("sNaN"), "b": 1.0})


@pytest.mark.parametrize("value", [10**400, -(10**5000)], ids=["long", "longer"])
def test_an_integer_beyond_the_floats_is_named(value):
    with pytest.raises(ValueError, match=r"'a' is an integer of \d+ bits"):
        warm().learn_one({"a": value, "b": 1.0}, True)
    with pytest.raises(ValueError, match=r"row 0: feature 0 is an integer of"):
        LogisticRegression().learn_many([[value]], [True])


@pytest.mark.parametrize("w", [np.complex128(1 + 2j), np.timedelta64(5, "ns"), decimal.Decimal(2)])
def test_a_weight_is_a_real_number(w):
    with warnings.catch_warnings(), pytest.raises(TypeError, match="weight"):
        warnings.simplefilter("error")
        warm().learn_one({"a": 1.0, "b": 1.0}, True, w)
    with pytest.raises(TypeError, match="weight"):
        LogisticRegression().learn_many([[1.0]], [True], [w])


def test_a_class_that_comes_with_a_bad_weight_is_not_known_by_that():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), list("abccdabcdacd")
    w = [1.0, 1.0, -1.0, -1.0] + 8 * [1.0]
    loop, batch = (LogisticRegression(classes=None, on_invalid="skip") for _ in range(2))
    for x, label, weight in zip(X, y, w, strict=True):
        loop.learn_one(dict(enumerate(x.tolist())), label, weight)
    batch.learn_many(X, y, w)
    assert list(batch.predict_proba_one({0: 1.0}).items()) == list(loop.predict_proba_one({0: 1.0}).items())
    assert batch.n_skipped == loop.n_skipped == 2


def test_a_column_named_twice_is_refused():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    model = LogisticRegression()
    for call in (model.learn_many, model.prequential_many):
        with pytest.raises(ValueError, match="column 'a' twice"):
            call(frame, [True, False])
    with pytest.raises(ValueError, match="column 'a' twice"):
        model.predict_many(frame)
    assert model.n_features == 0


def test_masked_values_are_missing():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 99.0]], mask=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="row 1: feature 1"):
        LogisticRegression().learn_many(X, [True, False])
    skip, clean = LogisticRegression(on_invalid="skip"), LogisticRegression()
    skip.learn_many(X, [True, False])
    clean.learn_many([[1.0, 2.0]], [True])
    assert skip.n_skipped == 1 and skip.predict_proba_one({0: 1.0}) == clean.predict_proba_one({0: 1.0})


@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[s]", "m8[ns]"])
def test_times_are_no_numbers(dtype):
    with pytest.raises(TypeError, match="row 0: feature 0"):
        LogisticRegression().learn_many(np.array([[5]], dtype="i8").astype(dtype), [True])


def test_labels_and_rows_have_their_dimensions():
    with pytest.raises(ValueError, match="one dimension"):
        LogisticRegression(classes=None).learn_many(pd.DataFrame({"a": [1.0]}), pd.DataFrame({"y": [3]}))
    with pytest.raises(ValueError, match="two dimensions"):
        LogisticRegression().learn_many(sparse.coo_array(np.array([1.0, 2.0])), [True, False])


@pytest.mark.parametrize("learner", [PAClassifier, LogisticRegression, BayesianLogisticRegression])
def test_a_clone_with_its_attributes_goes_on_alone(learner):
    model = learner(standardize=True)
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    model.learn_one({"a": -1.0, "b": 0.0}, False)
    twin, copied = model.clone(include_attributes=True), copy.deepcopy(model)
    assert twin.predict_proba_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0})
    for _ in range(3):
        twin.learn_one({"a": 5.0, "b": 0.0, "c": 1.0}, False)
    assert model.predict_proba_one({"a": 1.0}) == copied.predict_proba_one({"a": 1.0})
    assert twin.n_features == 3 and model.n_features == 2


def test_new_parameters_that_ask_for_another_state_are_refused():
    with pytest.raises((ValueError, KeyError)):
        warm().clone({"standardize": True}, include_attributes=True)
    assert warm().clone({"lr": 0.5}, include_attributes=True).lr == 0.5


def test_a_row_that_would_overflow_brings_no_features():
    model = BayesianLogisticRegression()
    with pytest.raises(ValueError, match="infinite"):
        model.learn_one({"a": 1e200}, True)
    assert model.n_features == 0
    fresh = BayesianLogisticRegression()
    for m in (model, fresh):
        m.learn_one({"b": 1.0, "a": 2.0}, True)
    assert model.predict_proba_one({"a": 1.0}) == fresh.predict_proba_one({"a": 1.0})


def test_a_weight_counts_without_a_label_too():
    with pytest.raises(ValueError, match="weight"):
        BayesianLogisticRegression().learn_one({"a": 1.0}, None, -5.0)


def test_a_class_after_rows_that_are_skipped_is_learned():
    X = np.array([[np.nan, 1.0], [1.0, np.inf], [2.0, 1.0], [0.5, -1.0]])
    loop, batch = (LogisticRegression(classes=None, on_invalid="skip") for _ in range(2))
    want = []
    for x, label in zip(X, "cdab", strict=True):
        want.append(loop.predict_one(dict(enumerate(x.tolist()))))
        loop.learn_one(dict(enumerate(x.tolist())), label)
    assert batch.prequential_many(X, list("cdab")).tolist() == want
    assert batch.predict_proba_one({0: 1.0}) == loop.predict_proba_one({0: 1.0})
    assert batch.n_skipped == loop.n_skipped == 2


@pytest.mark.parametrize("learner", [LogisticRegression, PAClassifier, BayesianLogisticRegression])
def test_a_frame_of_few_of_many_features_goes_the_way_of_its_dicts(learner):
    parameters = {"covariance": "diag"} if learner is BayesianLogisticRegression else {}
    loop, batch = (learner(standardize=True, **parameters) for _ in range(2))
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(5, 400)))
    few = pd.DataFrame(rng.normal(size=(20, 10)), columns=[*range(5), *"abcde"])
    for frame in (wide, few, few, wide):
        y = rng.integers(2, size=len(frame)) == 1
        want = []
        for x, label in zip(frame.to_dict("records"), y.tolist(), strict=True):
            want.append(loop.predict_one(x))
            loop.learn_one(x, label)
        assert batch.prequential_many(frame, y).tolist() == want
        for x, p in zip(frame.to_dict("records"), batch.predict_proba_many(frame)[True], strict=True):
            assert loop.predict_proba_one(x)[True] == pytest.approx(p, rel=1e-9)
            assert batch.predict_proba_one(x)[True] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_without_a_label_bring_no_features(kind):
    X = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    batch = BayesianLogisticRegression(covariance="diag")
    batch.learn_many(kind(X[:2]), [None, None])
    assert batch.n_features == 0
    batch.learn_many(kind(X), [None, True, None])
    assert batch.n_features == (3 if kind is np.asarray else 1)


def test_a_parameter_is_fixed_once_the_model_exists():
    model = LogisticRegression(lr=0.1)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(AttributeError, match=r"lr is a parameter.*clone\(\{'lr': 0.5\}, include_attributes=True\)"):
        model.lr = 0.5
    faster = model.clone({"lr": 0.5}, include_attributes=True)
    assert faster.predict_proba_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0})
    for each in (model, faster):
        each.learn_one({"a": 1.0}, True)
    assert faster.predict_proba_one({"a": 1.0})[True] > model.predict_proba_one({"a": 1.0})[True]


@pytest.mark.parametrize("name", [spec.name for spec in onlinekit.specs("learner")])
def test_the_heaviest_weight_leaves_all_finite_and_a_heavier_one_is_named(name):
    model = onlinekit.create("learner", name)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    numbers = not hasattr(model, "predict_proba_one")
    y = X[:, 0].tolist() if numbers else (rng.random(60) < 0.5).tolist()
    rows = [dict(enumerate(row)) for row in X.tolist()]
    for x, target in zip(rows, y, strict=True):
        model.learn_one(x, target, w=1e12)
    with pytest.raises(ValueError, match=r"weight w is 1e\+30; it must be from 0 to 1e\+12"):
        model.learn_one(rows[0], y[0], w=1e30)
    for x in rows:
        told = [model.predict_one(x)] if numbers else list(model.predict_proba_one(x).values())
        assert np.isfinite(told).all()


def test_what_is_no_dict_is_named():
    for x in (None, 3, [1.0], {1.0}, "ab"):
        with pytest.raises(TypeError, match=f"x must be a dict of features, not {type(x).__name__}"):
            LogisticRegression().learn_one(x, True)


@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_a_refused_sample_leaves_neither_its_class_nor_its_features(known):
    class Refusing(LogisticRegression):
        kernels = types.SimpleNamespace(**{**vars(linear_kernels), "learn": lambda x, *rest: -1})

    model, rows = Refusing(classes=None), [({"a": 1.0, "b": -1.0}, "x"), ({"a": -2.0}, "y"), ({"b": 2.0}, "z")]
    teacher = LogisticRegression(classes=None)
    for x, y in rows[:known]:
        teacher.learn_one(x, y)
    model.__setstate__(teacher.__getstate__())
    before = copy.deepcopy(model.__getstate__())
    for x, y in [({"c": 1.0}, "new"), ({f"f{j}": 1.0 for j in range(9)}, "new"), *([] if known else [({}, "new")])]:
        with pytest.raises(ValueError, match="nothing was learned"):
            model.learn_one(x, y)
        after = model.__getstate__()
        assert after["_features"] == before["_features"] and after["_class_names"] == before["_class_names"]
        assert after["_capacity"] == before["_capacity"]
        assert all(np.array_equal(after["_arrays"][name], array) for name, array in before["_arrays"].items())
    assert model.predict_proba_one(rows[0][0]) == teacher.predict_proba_one(rows[0][0])
