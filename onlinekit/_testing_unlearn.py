"""Checks of `onlinekit.testing` on learners that can forget."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from onlinekit._testing_base import NAMES, answer, binary_stream

TOLERANCE = 1e-6


def _keyed(model: Any, stream: list[tuple[dict, Any]], left_out: tuple[int, ...] = ()) -> Any:
    model = model.clone()
    for t, (x, y) in enumerate(stream):
        if t not in left_out:
            model.learn_one(x, y, key=t)
    return model


def _assert_equal(got: Any, want: Any) -> None:
    rows = binary_stream(50, seed=9)
    a = [list(answer(got, x).values()) for x, _ in rows]
    b = [list(answer(want, x).values()) for x, _ in rows]
    np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg="it is not as if never seen")


def _assert_key_error(model: Any, action: Callable[[], Any]) -> None:
    before = pickle.dumps(model)
    try:
        action()
    except KeyError:
        pass
    else:
        raise AssertionError("an unknown key or sample is no KeyError")
    assert pickle.dumps(model) == before, "an unknown key or sample changed the model"


def check_unlearn(model: Any) -> None:
    """Unlearning in any order, by key, sample or list, is as if never seen."""
    stream = binary_stream(60)
    want = _keyed(model, stream, left_out=(9, 36, 57))
    for order in ((9, 36, 57), (57, 9, 36)):
        forgetful = _keyed(model, stream)
        for key in order:
            forgetful.unlearn(key)
        _assert_equal(forgetful, want)
    by_list, by_sample = _keyed(model, stream), _keyed(model, stream)
    by_list.unlearn_many([36, 57, 9])
    _assert_equal(by_list, want)
    for t in (36, 9, 57):
        by_sample.unlearn_one(*stream[t])
    _assert_equal(by_sample, want)


def check_relabel(model: Any) -> None:
    """Relabelling is as if learned with the other label."""
    stream = binary_stream(60)
    other = [(x, not y if t == 20 else y) for t, (x, y) in enumerate(stream)]
    changed = _keyed(model, stream)
    changed.relabel(20, not stream[20][1])
    _assert_equal(changed, _keyed(model, other))


def check_unknown_key(model: Any) -> None:
    """What was never learned cannot be unlearned, and a list with such a key is refused whole."""
    stream = binary_stream(40)
    model = _keyed(model, stream)
    x = dict.fromkeys(NAMES, 0.123)
    _assert_key_error(model, lambda: model.unlearn("nobody"))
    _assert_key_error(model, lambda: model.unlearn_many([3, "nobody"]))
    _assert_key_error(model, lambda: model.relabel("nobody", True))
    _assert_key_error(model, lambda: model.unlearn_one(x, True))


def check_nothing_is_left(model: Any) -> None:
    """The values of an unlearned sample are nowhere in the model any more."""
    mark = 1234.56789
    model = _keyed(model, binary_stream(30))
    model.learn_one({**dict.fromkeys(NAMES, 0.5), "f1": mark}, True, key="secret")
    model.unlearn("secret")
    assert struct.pack("<d", mark) not in pickle.dumps(model), "an unlearned value is still in the model"
