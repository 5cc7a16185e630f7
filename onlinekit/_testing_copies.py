"""Checks of `onlinekit.testing` on copies: they go on as the original would."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from river import base

from onlinekit._testing_base import NAMES, binary_stream, carry_on, probabilities, trained


def arrays_size(value: Any) -> int:
    """Bytes of all the arrays in a state."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, base.Base):  # a model or monitor within
        return arrays_size(value.__getstate__())  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return sum(arrays_size(v) for v in value.values())
    return sum(arrays_size(v) for v in value) if isinstance(value, (list, tuple)) else 0


def check_pickle_size(model: Any) -> None:
    model = trained(model, binary_stream(200))
    size, limit = len(pickle.dumps(model)), 3 * arrays_size(model.__getstate__()) + 4096
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
    labels = [model.predict_one(x) for x, _ in stream]
    before, interval = pickle.dumps(model), sys.getswitchinterval()
    # Threads that change places all the time meet in every line.
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for got in pool.map(lambda _: probabilities(model, stream), range(8)):
                assert got == want, "concurrent predictions disturb each other"
            for got in pool.map(lambda _: [model.predict_one(x) for x, _ in stream], range(8)):
                assert got == labels, "concurrent predictions disturb each other"
    finally:
        sys.setswitchinterval(interval)
    assert pickle.dumps(model) == before, "concurrent predictions changed the model"
