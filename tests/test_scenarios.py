"""The ten scenarios that every learner and monitor must handle, as far as they apply.

D4 (stop, save, load), D5 (learn_many is the loop) and most of D8 (degenerate monitor input) run in
test_contract.py for every learner and monitor.
"""

import copy
import math
import pickle
import random

import numpy as np
import pytest

import onlinekit
from onlinekit.testing import binary_stream
from onlinekit.testing_monitors import monitor_stream

LEARNERS = [spec.name for spec in onlinekit.specs("learner")]
MONITORS = [spec.name for spec in onlinekit.specs("monitor")]


def learner(name, **params):
    return onlinekit.create("learner", name, **params)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("door", ["one", "many"])
def test_d1_a_bad_value_is_skipped(name, value, door):
    names = list(range(5))
    stream = binary_stream(500, names=names)
    dirty = [(dict(x), y) for x, y in stream]
    dirty[250][0][2] = value
    model, clean = learner(name, on_invalid="skip"), learner(name, on_invalid="skip")
    if door == "many":
        model.learn_many(np.array([list(x.values()) for x, _ in dirty]), [y for _, y in dirty])
    else:
        for x, y in dirty:
            model.learn_one(x, y)
    for t, (x, y) in enumerate(stream):
        if t != 250:
            clean.learn_one(x, y)
    assert model.n_skipped == 1
    last = stream[-200:]
    assert all(math.isfinite(p) for x, _ in last for p in model.predict_proba_one(x).values())
    hits = [sum(m.predict_one(x) == y for x, y in last) / 200 for m in (model, clean)]
    assert abs(hits[0] - hits[1]) <= 0.02


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_d1_a_bad_value_is_named(name, value):
    stream = binary_stream(100)
    model = learner(name)
    for x, y in stream:
        model.learn_one(x, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="f2"):
        model.learn_one({**stream[0][0], "f2": value}, True)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", LEARNERS)
def test_d2_features_come_go_and_change_order(name):
    shuffle = random.Random(3).shuffle
    given, filled = learner(name), learner(name)
    for t, (x, y) in enumerate(binary_stream(300, names=["a", "b", "c"])):
        keys = ["a", "b"] if t < 100 else ["a", "b", "c"] if t < 200 else ["b", "c"]
        shuffle(keys)
        part = {key: x[key] for key in keys}
        whole = {key: part.get(key, 0.0) for key in ("a", "b", "c")}
        p, q = given.predict_proba_one(part), filled.predict_proba_one(whole)
        assert p.keys() == q.keys() and all(abs(p[k] - q[k]) <= 1e-9 for k in p)
        if t == 150:
            before = pickle.dumps(given)
            unseen, nothing = given.predict_proba_one({"zzz": 1.0}), given.predict_proba_one({})
            # A feature never seen adds its prior variance to this one's answer, as its equations say.
            assert unseen == nothing or name == "bayes-logistic"
            assert pickle.dumps(given) == before
        given.learn_one(part, y)
        filled.learn_one(whole, y)


@pytest.mark.parametrize("name", LEARNERS)
def test_d3_cold_start(name):
    model = learner(name)
    before = pickle.dumps(model)
    answers = model.predict_proba_one({"a": 1.0}), model.predict_proba_one({})
    if model._multiclass:
        assert answers == ({}, {}) and model.predict_one({"a": 1.0}) is None
    else:
        assert answers == ({False: 0.5, True: 0.5},) * 2
        assert type(model.predict_one({"a": 1.0})) is bool
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", MONITORS)
def test_d8_not_enough_data_is_never_keep(name):
    monitor = onlinekit.create("monitor", name)
    for n in (0, 5):
        twin = copy.deepcopy(monitor)
        for x, y in monitor_stream(twin, n):
            twin.update(x, y)
        verdict = twin.verdict()
        assert verdict.certified or verdict.decision != "keep"
        assert verdict.reason


@pytest.mark.parametrize("typo, right", [("logistik", "logistic")])
def test_d9_a_typo_is_answered_with_the_name(typo, right):
    with pytest.raises(onlinekit.PluginError, match=right):
        onlinekit.get("learner", typo)


@pytest.mark.parametrize("name", LEARNERS)
def test_d10_labels(name):
    stream = binary_stream(100)
    states = []
    for kind in (bool, int, float, np.bool_, np.int64):
        model = learner(name)
        for x, y in stream:
            model.learn_one(x, kind(y))
        assert model._multiclass or type(model.predict_one(stream[0][0])) is bool
        states.append([list(model.predict_proba_one(x).values()) for x, _ in stream])
    assert all(state == states[0] for state in states)
    if model._multiclass:
        return
    before = pickle.dumps(model)
    for label in ("spam", 2, -1, math.nan):
        with pytest.raises(ValueError, match="classes=None|OneVsRest") as error:
            model.learn_one({**stream[0][0], "new": 1.0}, label)
        assert repr(label) in str(error.value)
        assert pickle.dumps(model) == before
