"""The learners' contract as a test suite that anyone can run.

A plugin's own test needs three lines::

    import pytest
    from onlinekit.testing import learner_checks

    @pytest.mark.parametrize("check", [pytest.param(f, id=n) for n, f in learner_checks(MyLearner())])
    def test_contract(check):
        check()

`monitor_checks` does the same for monitors.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onlinekit import _testing_batches as batches
from onlinekit import _testing_copies as copies
from onlinekit import _testing_unlearn as unlearning
from onlinekit._testing_base import (
    answer,
    assert_close,
    assert_refused,
    bad_label,
    binary_stream,
    carry_on,
    multiclass,
    probabilities,
    raising,
    regresses,
    trained,
)
from onlinekit.testing_monitors import monitor_checks

__all__ = ["binary_stream", "learner_checks", "monitor_checks"]

Check = Callable[[], None]


def learner_checks(model: Any) -> Iterator[tuple[str, Check]]:
    """Every check of the learner contract, as (name, function without arguments) pairs.

    Each check works on a clone, so `model` is never changed. A failing check raises AssertionError, or the
    error the learner itself raised. River's own checks are among them when scikit-learn is installed; the
    frames are pandas, polars and pyarrow, as far as installed. What depends on `standardize`, `classes` or
    `on_invalid` is checked once more with the other value, as far as the learner has them.
    A learner whose `standardize` is not a running one has "standardize_is_rivers" in its `_unit_test_skips()`.

    Parameters
    ----------
    model
        An untrained learner with the parameters to be checked.

    Examples
    --------
    >>> import onlinekit
    >>> from onlinekit.testing import learner_checks
    >>> for name, check in learner_checks(onlinekit.create("learner", "logistic")):  # doctest: +SKIP
    ...     check()
    """
    yield from _river_checks(model)
    yield from _own_checks(model)
    for each in (_arguments, _many_keys, copies.check_spawned_process, copies.check_pickle_size):
        yield _name(each), functools.partial(each, model)
    params = model._get_params()
    if isinstance(params.get("standardize"), bool) and "standardize_is_rivers" not in model._unit_test_skips():
        yield "standardize_is_rivers", functools.partial(_standardize, model)
    others: list[dict[str, Any]] = []
    if isinstance(params.get("standardize"), bool):
        others.append({"standardize": not params["standardize"]})
    if params.get("classes", None) is not None:
        others.append({"classes": None})
    if params.get("on_invalid") == "raise":
        others.append({"on_invalid": "skip"})
    for change in others:
        ((key, value),) = change.items()
        try:
            other = model.clone(change)
        except ValueError:  # not every learner takes the other value, as one beside a monitor of two classes
            continue
        for name, check in _own_checks(other):
            yield f"{key}={value}-{name}", check


def _name(check: Callable[..., None]) -> str:
    return check.__name__.removeprefix("check").strip("_")


def _own_checks(model: Any) -> Iterator[tuple[str, Check]]:
    """Our own quick checks of a learner with these parameters."""
    plain: list[Callable[[Any], None]] = [
        _predict_is_pure,
        _features_come_and_go,
        _one_key,
        _mixed_keys,
        copies.check_pickle_and_deepcopy,
        copies.check_save_load,
        copies.check_clone,
        copies.check_threads,
    ]
    if regresses(model):
        plain.append(_targets)
    else:
        plain += [_cold_start, _unknown_feature, _no_key, _labels]
    if multiclass(model):
        plain.append(_new_labels)
    if hasattr(model, "learn_many"):
        plain += [
            batches.check_kinds_of_numbers,
            batches.check_empty_batch,
            batches.check_batch_is_pure,
            batches.check_bad_batch,
            batches.check_weighted_batch,
        ]
    if hasattr(model, "prequential_many"):
        plain.append(batches.check_prequential_many)
    if getattr(model, "sparse", False):
        plain.append(batches.check_sparse_rows)
    if hasattr(model, "unlearn"):
        plain += [
            unlearning.check_unlearn,
            unlearning.check_relabel,
            unlearning.check_unknown_key,
            unlearning.check_nothing_is_left,
        ]
    if "on_invalid" in model._get_params():
        plain.append(_skip_counts)
        plain += [batches.check_skipping_batch] if hasattr(model, "learn_many") else []
    if "w" in inspect.signature(model.learn_one).parameters:
        plain.append(_weights)
    for each in plain:
        yield _name(each), functools.partial(each, model)
    for value in (None, "text", math.nan, math.inf, -math.inf):
        yield f"bad_value[{value}]", functools.partial(_bad_value, model, value)
    for kind in ("array", "pandas", "polars", "pyarrow"):
        if hasattr(model, "learn_many") and (kind == "array" or importlib.util.find_spec(kind)):
            yield f"learn_many[{kind}]", functools.partial(batches.check_learn_many, model, kind)


def _river_checks(model: Any) -> Iterator[tuple[str, Check]]:
    # river.checks takes its data sets from scikit-learn.
    if importlib.util.find_spec("sklearn") is None:
        return
    from river.checks import yield_checks

    skips = model._unit_test_skips()
    for i, check in enumerate(yield_checks(model)):
        if check.__name__ not in skips:
            yield f"river[{i}-{check.__name__}]", functools.partial(_run_river, check, model)


def _run_river(check: Callable[[Any], None], model: Any) -> None:
    check(model.clone())


def _cold_start(model: Any) -> None:
    model = model.clone()
    before = pickle.dumps(model)
    x, _ = binary_stream(1)[0]
    for proba in (model.predict_proba_one(x), model.predict_proba_one({})):
        if multiclass(model):
            assert proba == {}, f"a fresh multiclass learner must give {{}}, not {proba}"
        else:
            assert set(proba) == {False, True}
            assert math.isclose(sum(proba.values()), 1.0)
    prediction = model.predict_one(x)
    assert prediction is None if multiclass(model) else type(prediction) is bool, repr(prediction)
    assert pickle.dumps(model) == before, "predicting changed a fresh model"


def _predict_is_pure(model: Any) -> None:
    model = trained(model, binary_stream(60))
    before = pickle.dumps(model)
    for x in ({}, {"zzz": 1.0}, binary_stream(1)[0][0]):
        model.predict_one(x)
        answer(model, x)
    assert pickle.dumps(model) == before, "predicting changed the model"


def _features_come_and_go(model: Any) -> None:
    given, filled = model.clone(), model.clone()
    keep = [["a", "b"], ["c", "a", "b"], ["b", "c"]]
    for t, (x, y) in enumerate(binary_stream(150, names=["a", "b", "c"])):
        part = {name: x[name] for name in keep[t // 50]}
        whole = {name: part.get(name, 0.0) for name in ("a", "b", "c")}
        assert_close([answer(given, part)], [answer(filled, whole)])
        given.learn_one(part, y)
        filled.learn_one(whole, y)


def _unknown_feature(model: Any) -> None:
    model = trained(model, binary_stream(60))
    got, want = model.predict_proba_one({"zzz": 1.0}), model.predict_proba_one({})
    assert model.predict_one({"zzz": 1.0}) == model.predict_one({})
    # Equal for most learners; a Bayesian one may be less certain of a row it knows less about, never more.
    assert max(got.values()) <= max(want.values()) + 1e-9, f"{got} is more certain than {want}"


def _odd_schema(model: Any, names: list[Any], n: int) -> None:
    stream = binary_stream(n, names=names)
    model = trained(model, stream)
    for proba in probabilities(model, stream):
        assert all(math.isfinite(p) for p in proba.values()), proba
    shuffled = [({name: x[name] for name in reversed(list(x))}, y) for x, y in stream]
    assert_close(probabilities(model, shuffled), probabilities(model, stream))


def _one_key(model: Any) -> None:
    _odd_schema(model, ["only"], 40)


def _no_key(model: Any) -> None:
    model = trained(model, [({}, t % 3 == 0) for t in range(30)])
    assert math.isclose(sum(model.predict_proba_one({}).values()), 1.0)
    assert type(model.predict_one({})) is bool


def _mixed_keys(model: Any) -> None:
    _odd_schema(model, ["a", 1, ("b", 2), 2.5, None], 40)


def _many_keys(model: Any) -> None:
    _odd_schema(model, [f"k{j}" for j in range(5000)], 3)


def _arguments(model: Any) -> None:
    parameters = list(inspect.signature(model.learn_one).parameters.values())
    assert [p.name for p in parameters[:2]] == ["x", "y"], "learn_one takes (x, y, ...)"
    stars = [p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    assert not stars, "learn_one swallows arguments it does not know"


def _labels(model: Any) -> None:
    model = raising(model)
    stream = binary_stream(60)
    want = probabilities(trained(model, stream), stream)
    for kind in (int, float, np.bool_, np.int64):
        other = trained(model, [(x, kind(y)) for x, y in stream])
        got = probabilities(other, stream)
        assert [list(p.values()) for p in got] == [list(p.values()) for p in want], kind
        if not multiclass(model):
            assert all(set(p) == {False, True} for p in got)
            assert type(other.predict_one(stream[0][0])) is bool
    learner = trained(model, stream)
    x = {**stream[0][0], "new": 1.0}
    for label in [None, math.nan] if multiclass(model) else ["spam", 2, -1, math.nan]:
        assert_refused(learner, functools.partial(learner.learn_one, x, label), repr(label))


def _targets(model: Any) -> None:
    """Before anything is learned the answer is a number; targets that are no finite numbers are refused."""
    model = raising(model)
    stream = binary_stream(60)
    assert math.isfinite(model.predict_one(stream[0][0]))
    for kind in (int, float, np.float32, np.int64):
        other = trained(model, [(x, kind(y)) for x, y in stream])
        assert_close(probabilities(other, stream), probabilities(trained(model, stream), stream), 0.0)
    learner = trained(model, stream)
    for target in ("spam", None, math.nan, math.inf):
        assert_refused(
            learner, functools.partial(learner.learn_one, {**stream[0][0], "new": 1.0}, target), repr(target)
        )


def _new_labels(model: Any) -> None:
    stream = [(x, "cat" if y else "dog") for x, y in binary_stream(60)]
    model = trained(model, stream)
    assert set(model.predict_proba_one(stream[0][0])) == {"cat", "dog"}
    for t, label in enumerate(("cow", 7, ("a", "pair"))):
        model.learn_one(stream[0][0], label)
        proba = model.predict_proba_one(stream[1][0])
        assert len(proba) == 3 + t and label in proba
        assert math.isclose(sum(proba.values()), 1.0)
    assert model.predict_one(stream[1][0]) in proba


def _standardize(model: Any) -> None:
    """The same numbers as River's StandardScaler in front of the learner."""
    from river import preprocessing

    own = model.clone({"standardize": True})
    piped = preprocessing.StandardScaler() | model.clone({"standardize": False})
    stream = [({name: 3.0 * t + value for t, (name, value) in enumerate(x.items())}, y) for x, y in binary_stream(150)]
    assert_close(carry_on(own, stream), carry_on(piped, stream), 1e-6)


def _bad_value(model: Any, value: Any) -> None:
    stream = binary_stream(60)
    model = trained(raising(model), stream)
    x, y = stream[0]
    for name in ("f2", "new"):
        # A good new feature beside the bad value: it must not be taken up either.
        bad = {**x, "other": 1.0, name: value}
        assert_refused(model, functools.partial(model.learn_one, bad, y), repr(name))
    for door in (model.predict_one, functools.partial(answer, model)):
        assert_refused(model, functools.partial(door, {**x, "f2": value}), "'f2'")


def _skip_counts(model: Any) -> None:
    model = model.clone({"on_invalid": "skip"})
    stream = binary_stream(60)
    want = trained(model, stream)
    for t, (x, y) in enumerate(stream):
        if t in (20, 40):
            model.learn_one({**x, "f2": math.nan if t == 20 else None}, y)
        model.learn_one(x, y)
    model.learn_one(stream[0][0], bad_label(model))
    assert model.n_skipped == 3, f"n_skipped is {model.n_skipped}, not 3"
    assert_close(probabilities(model, stream), probabilities(want, stream), 0.0)
    assert_close([answer(model, {**stream[0][0], "f2": math.nan})], [_without(want, stream[0][0], "f2")])


def _without(model: Any, x: dict, name: str) -> dict:
    return answer(model, {key: value for key, value in x.items() if key != name})


def _weights(model: Any) -> None:
    model = raising(model)
    stream = binary_stream(60)
    want = probabilities(trained(model, stream), stream)
    one = model.clone()
    for x, y in stream:
        one.learn_one(x, y, w=1)
    assert_close(probabilities(one, stream), want, 0.0)
    x = {**stream[0][0], "new": 1.0}
    for w in (math.nan, math.inf, -1.0, "heavy", None):
        assert_refused(one, functools.partial(one.learn_one, x, True, w=w), repr(w))
