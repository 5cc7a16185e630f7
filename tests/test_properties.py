"""Properties of every registered learner over random streams: what must be equal, whatever the data are."""

import functools
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river import base

import onlinekit
from onlinekit._testing_base import answer, answers
from onlinekit.evaluate import prequential

LEARNERS = [spec.name for spec in onlinekit.specs("learner")]
CLASSIFIERS = [name for name in LEARNERS if issubclass(onlinekit.get("learner", name), base.Classifier)]
EVERY = pytest.mark.parametrize("name", LEARNERS)
EVERY_CLASSIFIER = pytest.mark.parametrize("name", CLASSIFIERS)
FEW = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

# Few digits, so that equal values, zeros and repeated rows are common.
NUMBERS = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-5, 5).map(lambda v: round(v, 2)), st.sampled_from([0.0, 1e-300, 1e-9])
)


@st.composite
def tables(draw, rows=24, columns=4):
    """X (n, d) and y (n,)."""
    n, d = draw(st.integers(1, rows)), draw(st.integers(1, columns))
    X = [[draw(NUMBERS) for _ in range(d)] for _ in range(n)]
    return np.array(X), [draw(st.booleans()) for _ in range(n)]


@st.composite
def streams(draw, rows=24):
    """Samples whose features come and go."""
    names = ["a", "b", 3, ("c", 1)]
    out = []
    for _ in range(draw(st.integers(1, rows))):
        keys = draw(st.lists(st.sampled_from(names), unique=True))
        out.append(({key: draw(NUMBERS) for key in keys}, draw(st.booleans())))
    return out


plugin = functools.cache(functools.partial(onlinekit.get, "learner"))  # the look-up would be most of the time


def learner(name, **params):
    return plugin(name)(**params)


def fed(model, stream):
    for x, y in stream:
        model.learn_one(x, y)
    return model


def dicts(X):
    return [dict(enumerate(row)) for row in X.tolist()]


def assert_same(one, two, rows, tolerance):
    for x in rows:
        p, q = answer(one, x), answer(two, x)
        assert p.keys() == q.keys()
        assert all(math.isclose(p[k], q[k], rel_tol=tolerance, abs_tol=tolerance) for k in p), (p, q)


@EVERY
@FEW
@given(stream=streams(), data=st.data())
def test_the_order_of_features_in_a_row_does_not_matter(name, stream, data):
    order = data.draw(st.permutations(["a", "b", 3, ("c", 1)]))
    turned = [({key: x[key] for key in order if key in x}, y) for x, y in stream]
    # Columns stand in another order then, so sums are rounded differently.
    assert_same(fed(learner(name), stream), fed(learner(name), turned), [x for x, _ in stream], 1e-6)


@EVERY
@FEW
@given(stream=streams())
def test_an_absent_feature_is_zero(name, stream):
    known = [key for x, _ in stream[:1] for key in x]
    filled = [({**dict.fromkeys(known, 0.0), **x}, y) for x, y in stream]
    assert_same(fed(learner(name), stream), fed(learner(name), filled), [x for x, _ in stream], 1e-6)


@EVERY
@FEW
@given(table=tables(), data=st.data())
def test_learn_many_is_the_loop_however_it_is_cut(name, table, data):
    X, y = table
    cut = data.draw(st.integers(0, len(y)))
    many = learner(name)
    many.learn_many(X[:cut], y[:cut])
    many.learn_many(X[cut:], y[cut:])
    rows = dicts(X)
    loop = fed(learner(name), zip(rows, y, strict=True))
    assert_same(many, loop, rows, 1e-6)
    want = [list(answer(many, x).values()) for x in rows]
    np.testing.assert_allclose(answers(many, X), want, rtol=1e-6, atol=1e-9)


@EVERY_CLASSIFIER
@FEW
@given(table=tables())
def test_prequential_is_the_loop_and_the_evaluation(name, table):
    X, y = table
    model, loop = learner(name), learner(name)
    got = list(model.prequential_many(X, y))
    want = []
    for x, label in zip(dicts(X), y, strict=True):
        want.append(loop.predict_one(x))
        loop.learn_one(x, label)
    assert got == want
    result = prequential(learner(name), (X, y), progress=False)
    assert result.predictions == want
    assert result.accuracy == np.mean([p == label for p, label in zip(want, y, strict=True)])


@EVERY
@FEW
@given(stream=streams(), data=st.data())
def test_saving_in_mid_stream_changes_nothing(name, stream, data):
    cut = data.draw(st.integers(0, len(stream)))
    model = fed(learner(name), stream[:cut])
    with tempfile.TemporaryDirectory() as folder:
        onlinekit.save(model, Path(folder) / "m")
        again = onlinekit.load(Path(folder) / "m")
    for x, y in stream[cut:]:
        assert answer(model, x) == answer(again, x)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert_same(model, again, [x for x, _ in stream], 0.0)


@EVERY
@FEW
@given(
    stream=streams(), bad=st.lists(st.integers(0, 23), unique=True), value=st.sampled_from([math.nan, math.inf, None])
)
def test_skipped_rows_leave_no_trace(name, stream, bad, value):
    dirty = learner(name, on_invalid="skip")
    for t, (x, y) in enumerate(stream):
        if t in bad:
            dirty.learn_one({**x, "b": value, "new": 1.0}, y)
        dirty.learn_one(x, y)
    assert dirty.n_skipped == sum(t < len(stream) for t in bad)
    assert_same(dirty, fed(learner(name), stream), [x for x, _ in stream], 0.0)


@EVERY_CLASSIFIER
@FEW
@given(stream=streams())
def test_probabilities_are_probabilities_and_name_the_winner(name, stream):
    model = fed(learner(name), stream)
    for x, _ in [*stream, ({}, None), ({"zzz": 1e6}, None)]:
        proba = model.predict_proba_one(x)
        assert math.isclose(sum(proba.values()), 1.0, rel_tol=1e-9)
        assert all(0.0 <= p <= 1.0 for p in proba.values())
        # Exact margin learners scale probabilities by Platt's rule, which may see the other label ahead of the sign of
        # the margin, as in other libraries' support vector machines.
        if not hasattr(model, "loo_decision"):
            assert math.isclose(proba[model.predict_one(x)], max(proba.values()), rel_tol=1e-9)
