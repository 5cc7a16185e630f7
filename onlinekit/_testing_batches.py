"""Checks of `onlinekit.testing` on batches: equal to the loop over their rows, or refused as a whole."""

from __future__ import annotations

import functools
import inspect
import math
import pickle
from typing import Any

import numpy as np

from onlinekit._testing_base import (
    NAMES,
    answers,
    assert_close,
    assert_refused,
    bad_label,
    binary_stream,
    probabilities,
    raising,
    regresses,
    text_stream,
    trained,
)


def frame(kind: str, rows: list[dict], names: list[Any]) -> Any:
    """The rows as an array or a frame of pandas (with an index of its own), polars or pyarrow."""
    columns = {name: [x[name] for x in rows] for name in names}
    if kind == "array":
        return np.array([[x[name] for name in names] for x in rows])
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(columns, index=range(100, 100 + len(rows)))
    if kind == "polars":
        import polars

        return polars.DataFrame(columns)
    import pyarrow

    return pyarrow.table(columns)


def _column(values: Any) -> list[Any]:
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def check_learn_many(model: Any, kind: str) -> None:
    full: list[Any] = [0, 1, 2, 3, 4] if kind == "array" else NAMES
    stream = binary_stream(128, names=full)
    # An array's columns have no names; the frames come in another order, lacking one and with a new one.
    last = full if kind == "array" else [NAMES[3], NAMES[0], "new", NAMES[2], NAMES[4]]
    stream[64:] = [({name: x.get(name, 0.5) for name in last}, y) for x, y in stream[64:]]
    many, loop = model.clone(), model.clone()
    for part, names in ((stream[:64], full), (stream[64:], last)):
        X = frame(kind, [x for x, _ in part], names)
        many.learn_many(X, [y for _, y in part])
        for x, y in part:
            loop.learn_one(x, y)
        want = probabilities(loop, part)
        assert_close(probabilities(many, part), want, 1e-6)
        labels = many.predict_many(X)
        if regresses(model):
            np.testing.assert_allclose(_column(labels), [loop.predict_one(x) for x, _ in part], rtol=1e-6, atol=1e-9)
            continue
        got = many.predict_proba_many(X)
        assert type(got) is type(X), f"predict_proba_many gave {type(got)} for {type(X)}"
        assert _column(labels) == [loop.predict_one(x) for x, _ in part]
        if kind == "pandas":
            assert list(got.index) == list(X.index) == list(labels.index), "the index is not kept"
            np.testing.assert_allclose(got[True], [p[True] for p in want], rtol=1e-6, atol=1e-12)


def check_kinds_of_numbers(model: Any) -> None:
    stream = binary_stream(60, names=[0, 1, 2])
    X = np.rint(np.array([list(x.values()) for x, _ in stream]))
    y = [label for _, label in stream]
    models = [model.clone() for _ in range(4)]
    for twin, kind in zip(models, (np.float64, np.float32, np.int64, "F"), strict=True):
        twin.learn_many(np.asfortranarray(X) if kind == "F" else X.astype(kind), np.array(y))
    want = probabilities(models[0], stream)
    for twin in models[1:]:
        assert_close(probabilities(twin, stream), want, 1e-9)


def check_empty_batch(model: Any) -> None:
    model = trained(model, binary_stream(40, names=[0, 1, 2]))
    before = pickle.dumps(model)
    X = np.zeros((0, 3))
    model.learn_many(X, [])
    assert len(model.predict_many(X)) == len(answers(model, X)) == 0
    assert pickle.dumps(model) == before, "a batch without rows changed the model"


def check_batch_is_pure(model: Any) -> None:
    model = trained(model, binary_stream(40, names=[0, 1, 2]))
    before = pickle.dumps(model)
    X = np.random.default_rng(5).normal(size=(300, 6))
    model.predict_many(X)
    answers(model, X)
    assert pickle.dumps(model) == before, "predicting a batch changed the model"


def check_bad_batch(model: Any) -> None:
    model = raising(model)
    stream = binary_stream(60, names=[0, 1, 2])
    X, y = np.array([list(x.values()) for x, _ in stream]), [label for _, label in stream]
    model.learn_many(X[:30], y[:30])
    doors = [model.learn_many] + ([model.prequential_many] if hasattr(model, "prequential_many") else [])
    for door in doors:
        for value in (math.nan, math.inf):
            bad = X[30:].copy()
            bad[20, 1] = value
            assert_refused(model, functools.partial(door, bad, y[30:]), repr(value))
        label = bad_label(model)
        assert_refused(model, functools.partial(door, X[30:], [*y[30:59], label]), repr(label))
        assert_refused(model, functools.partial(door, X[30:], y[30:59]), "29")
    assert_refused(model, functools.partial(model.learn_many, X[0], y), "dimension")


def check_skipping_batch(model: Any) -> None:
    many, loop = model.clone({"on_invalid": "skip"}), model.clone({"on_invalid": "skip"})
    stream = binary_stream(60, names=[0, 1, 2])
    for t, value in ((7, math.nan), (31, math.inf), (59, -math.inf)):
        stream[t][0][t % 3] = value
    labels: list[Any] = [y for _, y in stream]
    labels[12] = bad_label(model)
    many.learn_many(np.array([list(x.values()) for x, _ in stream]), labels)
    for (x, _), y in zip(stream, labels, strict=True):
        loop.learn_one(x, y)
    assert many.n_skipped == loop.n_skipped == 4, f"n_skipped is {many.n_skipped} and {loop.n_skipped}, not 4"
    good = binary_stream(20, seed=2, names=[0, 1, 2])
    assert_close(probabilities(many, good), probabilities(loop, good), 1e-6)


def check_weighted_batch(model: Any) -> None:
    if "w" not in inspect.signature(model.learn_many).parameters:
        return
    stream = binary_stream(60, names=[0, 1, 2])
    w = np.random.default_rng(2).uniform(0.0, 2.0, 60)
    many, loop = model.clone(), model.clone()
    many.learn_many(np.array([list(x.values()) for x, _ in stream]), [y for _, y in stream], w)
    for (x, y), weight in zip(stream, w.tolist(), strict=True):
        loop.learn_one(x, y, w=weight)
    assert_close(probabilities(many, stream), probabilities(loop, stream), 1e-6)


def check_prequential_many(model: Any) -> None:
    stream = binary_stream(100, names=[0, 1, 2, 3, 4])
    rows, loop = model.clone(), model.clone()
    X, y = np.array([list(x.values()) for x, _ in stream]), [y for _, y in stream]
    # In two parts, the first of them short: a class may be missing in it.
    got = [*rows.prequential_many(X[:3], y[:3]), *rows.prequential_many(X[3:], y[3:])]
    want = []
    for x, label in stream:
        want.append(loop.predict_one(x))
        loop.learn_one(x, label)
    assert got == want
    assert_close(probabilities(rows, stream), probabilities(loop, stream), 1e-9)


def check_sparse_rows(model: Any) -> None:
    """A learner that takes rows by their entries gives the numbers of the full rows, from dicts and from CSR."""
    from scipy import sparse

    stream = text_stream(150)
    X = sparse.lil_matrix((150, 400))
    for t, (x, _) in enumerate(stream):
        for j, value in x.items():
            X[t, j] = value
    y = [label for _, label in stream]
    rows, loop = model.clone(), model.clone()
    # A row with all its features makes them known, to both.
    blank = dict.fromkeys(range(400), 0.0)
    rows.learn_many(X[:1].toarray(), y[:1])
    rows.learn_many(X[1:].tocsr(), y[1:])
    for t, (x, label) in enumerate(stream):
        loop.learn_one({**blank, **x} if t == 0 else x, label)
    want = probabilities(loop, stream)
    assert_close(probabilities(rows, stream), want, 1e-6)
    np.testing.assert_allclose(answers(rows, X.tocsr()), [list(p.values()) for p in want], rtol=1e-6, atol=1e-9)
    if model._get_params().get("standardize"):
        return  # sparse rows are scaled without centring, full ones with it
    full = trained(model, [({**blank, **x}, label) for x, label in stream])
    assert_close(probabilities(full, stream), want, 1e-6)
