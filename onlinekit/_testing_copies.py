"""Checks of `onlinekit.testing` on batches and copies: equal to the loop and to the original."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from onlinekit._testing_base import NAMES, assert_close, binary_stream, carry_on, probabilities, trained


def _arrays_size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_arrays_size(v) for v in value.values())
    return sum(_arrays_size(v) for v in value) if isinstance(value, (list, tuple)) else 0


def check_pickle_size(model: Any) -> None:
    model = trained(model, binary_stream(200))
    size, limit = len(pickle.dumps(model)), 3 * _arrays_size(model.__getstate__()) + 4096
    assert size <= limit, f"the pickle has {size} bytes, at most {limit} are allowed"


def _assert_continues(copies: list[Any], model: Any) -> None:
    stream = binary_stream(40, seed=7, names=[*NAMES, "late"])
    want = carry_on(model, stream)
    for twin in copies:
        assert carry_on(twin, stream) == want, "a copy goes on with other numbers"


def check_pickle_and_deepcopy(model: Any) -> None:
    model = trained(model, binary_stream(80))
    _assert_continues([pickle.loads(pickle.dumps(model)), copy.deepcopy(model)], model)


def check_save_load(model: Any) -> None:
    from onlinekit import state

    model = trained(model, binary_stream(80))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        state.save(model, path)
        _assert_continues([state.load(path)], model)


def check_spawned_process(model: Any) -> None:
    model = trained(model, binary_stream(80))
    stream = binary_stream(40, seed=7)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = pool.apply(carry_on, (model, stream))
    assert got == carry_on(model, stream), "another process gives other numbers"


def check_clone(model: Any) -> None:
    stream = binary_stream(60)
    fresh = trained(model, stream).clone()
    assert carry_on(fresh, stream) == carry_on(model.clone(), stream), "a clone is not a fresh model"


def check_threads(model: Any) -> None:
    stream = binary_stream(200)
    model = trained(model, stream)
    want = probabilities(model, stream)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: probabilities(model, stream), range(8)):
            assert got == want, "concurrent predictions disturb each other"


def _frame(kind: str, rows: list[dict], names: list[Any]) -> Any:
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


def check_learn_many(model: Any, kind: str) -> None:
    full: list[Any] = [0, 1, 2, 3, 4] if kind == "array" else NAMES
    stream = binary_stream(128, names=full)
    # An array's columns have no names; the frames come in another order, lacking one and with a new one.
    last = full if kind == "array" else [NAMES[3], NAMES[0], "new", NAMES[2], NAMES[4]]
    stream[64:] = [({name: x.get(name, 0.5) for name in last}, y) for x, y in stream[64:]]
    many, loop = model.clone(), model.clone()
    for part, names in ((stream[:64], full), (stream[64:], last)):
        many.learn_many(_frame(kind, [x for x, _ in part], names), [y for _, y in part])
        for x, y in part:
            loop.learn_one(x, y)
        want = probabilities(loop, part)
        assert_close(probabilities(many, part), want, 1e-6)
        X = _frame(kind, [x for x, _ in part], names)
        got = many.predict_proba_many(X)
        assert type(got) is type(X), f"predict_proba_many gave {type(got)} for {type(X)}"
        if kind == "pandas":
            assert list(got.index) == list(X.index), "the index is not kept"
            assert list(many.predict_many(X)) == [loop.predict_one(x) for x, _ in part]
            np.testing.assert_allclose(got[True], [p[True] for p in want], rtol=1e-6, atol=1e-12)


def check_prequential_many(model: Any) -> None:
    stream = binary_stream(100, names=[0, 1, 2, 3, 4])
    rows, loop = model.clone(), model.clone()
    got = rows.prequential_many(np.array([list(x.values()) for x, _ in stream]), [y for _, y in stream])
    want = []
    for x, y in stream:
        want.append(loop.predict_one(x))
        loop.learn_one(x, y)
    assert list(got) == want
    assert_close(probabilities(rows, stream), probabilities(loop, stream), 1e-9)
