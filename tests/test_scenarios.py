"""The scenarios that every learner must handle, and of those for monitors the ones about too little data.

The unlearning scenario (D6) and the monitors' false alarms (D7) have test modules of their own; the rest of the
degenerate monitor input (D8) runs in test_contract.py for every monitor.
"""

import copy
import json
import math
import multiprocessing
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from river import base
from test_registry import install  # noqa: F401

import onlinekit
from onlinekit import cli
from onlinekit._testing_base import answer, answers, carry_on
from onlinekit._testing_batches import frame
from onlinekit._testing_copies import arrays_size
from onlinekit.testing import binary_stream

LEARNERS = [spec.name for spec in onlinekit.specs("learner")]
CLASSIFIERS = [name for name in LEARNERS if issubclass(onlinekit.get("learner", name), base.Classifier)]


def learner(name, **params):
    return onlinekit.create("learner", name, **params)


@pytest.mark.parametrize("name", CLASSIFIERS)
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
    bad = {**stream[0][0], "f2": value}
    X = np.array([list(x.values()) for x, _ in stream])
    X[50, 2] = value
    table = frame("pandas", [dict(zip(bad, row, strict=True)) for row in X.tolist()], list(bad))
    for action in (
        lambda: model.learn_one(bad, True),
        lambda: model.predict_one(bad),
        lambda: model.learn_many(table, [y for _, y in stream]),
        lambda: answers(model, table),
    ):
        with pytest.raises(ValueError, match=f"'f2' is {value}"):
            action()
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
        p, q = answer(given, part), answer(filled, whole)
        assert p.keys() == q.keys() and all(abs(p[k] - q[k]) <= 1e-9 for k in p)
        if t == 150:
            before = pickle.dumps(given)
            unseen, nothing = answer(given, {"zzz": 1.0}), answer(given, {})
            # A feature never seen adds its prior variance to this one's answer, as its equations say.
            assert unseen == nothing or name == "bayes-logistic"
            assert pickle.dumps(given) == before
        given.learn_one(part, y)
        filled.learn_one(whole, y)


@pytest.mark.parametrize("name", CLASSIFIERS)
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


@pytest.fixture(scope="module")
def other_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("name", LEARNERS)
def test_d4_stop_save_load_and_go_on(name, other_process, tmp_path):
    stream = binary_stream(400)
    model = learner(name)
    for x, y in stream[:200]:
        model.learn_one(x, y)
    onlinekit.save(model, tmp_path / "m")
    pickled = pickle.dumps(model)
    assert len(pickled) <= 3 * arrays_size(model.__getstate__()) + 4096
    twins = [pickle.loads(pickled), copy.deepcopy(model), onlinekit.load(tmp_path / "m")]
    elsewhere = other_process.apply_async(carry_on, (copy.deepcopy(model), stream[200:]))
    want = carry_on(model, stream[200:])
    for twin in twins:
        assert carry_on(twin, stream[200:]) == want
    assert elsewhere.get(timeout=120) == want


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array"])
@pytest.mark.parametrize("name", LEARNERS)
def test_d5_learn_many_is_the_loop(name, kind):
    if kind != "array":
        pytest.importorskip(kind)
    names = [0, 1, 2, 3] if kind == "array" else ["a", "b", "c", "d"]
    first = binary_stream(64, names=names)
    many, loop = learner(name), learner(name)
    # The second batch has its columns in another order, lacks one and has a new one; arrays have no names.
    second = binary_stream(64, seed=2, names=names if kind == "array" else ["new", "d", "a", "c"])
    for part in (first, second):
        X, y = frame(kind, [x for x, _ in part], list(part[0][0])), [label for _, label in part]
        many.learn_many(X, y)
        for x, label in part:
            loop.learn_one(x, label)
        want = np.array([list(answer(loop, x).values()) for x, _ in part])
        np.testing.assert_allclose(answers(many, X), want, rtol=1e-6, atol=1e-9)
        if kind == "pandas":
            assert list(many.predict_many(X).index) == list(range(100, 164))
        if name in CLASSIFIERS:
            got = many.predict_proba_many(X)
            assert type(got) is type(X)
            if kind == "pandas":
                assert list(got.index) == list(range(100, 164)) and list(got.columns) == [False, True]


def test_d9_a_typo_is_answered_with_the_name(install):  # noqa: F811
    if "id-odm" not in {spec.name for spec in onlinekit.specs("learner")}:
        install("fake-odm", {"id-odm": "no_such_module_odm:X"})
    for typo, right in (("id-odn", "id-odm"), ("logistik", "logistic"), ("Logistic", "logistic")):
        with pytest.raises(onlinekit.PluginError, match=f"did you mean '{right}'"):
            onlinekit.get("learner", typo)


def test_d9_a_broken_plugin_breaks_nothing_else(install, capsys):  # noqa: F811
    site = install("fake-broken", {"broken": "fake_broken:X"})
    (site / "fake_broken.py").write_text("import no_such_package_of_theirs\n")
    assert cli.main(["list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["broken"]["status"] == "broken" and "no_such_package_of_theirs" in rows["broken"]["reason"]
    assert {rows[name]["status"] for name in LEARNERS} == {"ok"}
    assert learner("logistic").predict_one({}) is False
    with pytest.raises(onlinekit.PluginError) as caught:
        onlinekit.create("learner", "broken")
    for part in ("learner 'broken'", "fake-broken 1.0", "fake_broken:X", "no_such_package_of_theirs"):
        assert part in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert cli.main(["check", "broken"]) == 1


@pytest.mark.parametrize("command", ["list", "list --json", "info logistic", "--help"])
def test_d9_a_reader_that_goes_away_gets_no_traceback(command):
    line = f"{sys.executable} -m onlinekit {command} | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.count("\n") == 1


@pytest.mark.parametrize("name", CLASSIFIERS)
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
