"""The linear learners against River's and against their own loops."""

import pickle

import numpy as np
import pytest
from river import datasets, evaluate, linear_model, metrics, optim, preprocessing

from onlinekit_plugins.linear import LogisticRegression, OGDClassifier, PAClassifier

PAIRS = {
    "logistic": lambda: (LogisticRegression(), linear_model.LogisticRegression(optimizer=optim.SGD(0.01))),
    "logistic-l2": lambda: (
        LogisticRegression(l2=0.1),
        linear_model.LogisticRegression(optimizer=optim.SGD(0.01), l2=0.1),
    ),
    "logistic-standardized": lambda: (
        LogisticRegression(standardize=True),
        preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(0.01)),
    ),
    "ogd": lambda: (OGDClassifier(), linear_model.LogisticRegression(loss=optim.losses.Hinge())),
    "pa-1": lambda: (PAClassifier(C=0.1, mode=1), linear_model.PAClassifier(C=0.1, mode=1)),
    "pa-2": lambda: (PAClassifier(C=0.1, mode=2), linear_model.PAClassifier(C=0.1, mode=2)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_numbers_as_river(name):
    ours, theirs = PAIRS[name]()
    for x, y in datasets.Phishing():
        assert ours.predict_proba_one(x)[True] == pytest.approx(theirs.predict_proba_one(x)[True], rel=1e-9, abs=1e-12)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)


def test_same_accuracy_through_rivers_evaluator():
    ours, theirs = PAIRS["logistic-standardized"]()
    got = evaluate.progressive_val_score(datasets.Phishing(), ours, metrics.Accuracy())
    expected = evaluate.progressive_val_score(datasets.Phishing(), theirs, metrics.Accuracy())
    assert got.get() == expected.get()


@pytest.mark.parametrize("learner", [LogisticRegression, OGDClassifier, PAClassifier])
def test_multiclass_prequential_is_the_loop(learner):
    rows = list(datasets.ImageSegments())[:400]
    keys = list(rows[0][0])
    X = np.array([[x[k] for k in keys] for x, _ in rows])
    y = [label for _, label in rows]
    loop, batch = learner(classes=None, standardize=True), learner(classes=None, standardize=True)
    expected = []
    for row, label in zip(X, y, strict=True):
        x = dict(enumerate(row.tolist()))
        expected.append(loop.predict_one(x))
        loop.learn_one(x, label)
    assert batch.prequential_many(X, y).tolist() == expected
    assert batch.predict_proba_one(x) == loop.predict_proba_one(x)


def test_a_third_class_does_not_move_the_first_two():
    model = LogisticRegression(classes=None)
    rng = np.random.default_rng(0)
    for _ in range(50):
        y = int(rng.integers(2))
        model.learn_one({"a": float(rng.normal(y))}, "ab"[y])
    before = model.predict_proba_one({"a": 0.3})
    model.learn_one({"a": 0.3}, "c", w=0.0)
    after = model.predict_proba_one({"a": 0.3})
    assert np.log(after["b"] / after["a"]) == pytest.approx(np.log(before["b"] / before["a"]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "red"])
def test_a_bad_value_is_named_and_changes_nothing(value):
    model = LogisticRegression(standardize=True)
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    before = pickle.dumps(model)
    with pytest.raises((ValueError, TypeError), match="'b'"):
        model.learn_one({"a": 1.0, "b": value, "new": 1.0}, False)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", ["spam", 2, -1, float("nan")])
def test_a_bad_label_is_named(label):
    model = PAClassifier()
    with pytest.raises(ValueError, match="classes=None"):
        model.learn_one({"a": 1.0}, label)
    assert model.n_features == 0


def test_parameters_out_of_range_are_named():
    with pytest.raises(ValueError, match="lr"):
        LogisticRegression(lr=-1.0)
    with pytest.raises(ValueError, match="mode"):
        PAClassifier(mode=3)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "0.1", None, 0])
def test_a_step_that_is_no_positive_number_is_named(value):
    for learner in (LogisticRegression, OGDClassifier):
        with pytest.raises(ValueError, match="lr must be positive and finite"):
            learner(lr=value)
    if value != float("inf"):
        with pytest.raises(ValueError, match="C must be positive"):
            PAClassifier(C=value)
