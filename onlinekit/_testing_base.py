"""Streams and comparisons that the checks of `onlinekit.testing` share."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from river import base

NAMES = ["f0", "f1", "f2", "f3", "f4"]


def binary_stream(n: int = 120, seed: int = 1, names: list[Any] | None = None) -> list[tuple[dict, bool]]:
    """A separable two-class stream: y = (a'x > 0) for x standard normal, a = (1, -1, 2, -2, ...).

    Parameters
    ----------
    n
        Number of samples.
    seed
        Seed of the generator.
    names
        Feature names, five by default.

    Examples
    --------
    >>> from onlinekit.testing import binary_stream
    >>> x, y = binary_stream(n=1, names=["a", "b"])[0]
    >>> sorted(x), type(y).__name__
    (['a', 'b'], 'bool')
    """
    names = NAMES if names is None else names
    X = np.random.default_rng(seed).normal(size=(n, len(names)))
    direction = np.array([(j // 2 + 1) * (-1.0) ** j for j in range(len(names))])
    return [(dict(zip(names, row.tolist(), strict=True)), bool(row @ direction > 0)) for row in X]


def text_stream(n: int, seed: int = 3, names: int = 400, entries: int = 20) -> list[tuple[dict, bool]]:
    """Rows with few of many features, as of words in texts; the label is whether more of them are even than odd."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        columns = rng.choice(names, entries, replace=False).tolist()
        values = rng.uniform(0.5, 1.5, entries).tolist()
        x = dict(zip(columns, values, strict=True))
        out.append((x, sum(1 if j % 2 else -1 for j in columns) > 0))
    return out


def trained(model: Any, stream: list[tuple[dict, Any]]) -> Any:
    model = model.clone()
    for x, y in stream:
        model.learn_one(x, y)
    return model


def raising(model: Any) -> Any:
    """An untrained copy that refuses what is not valid."""
    return model.clone({"on_invalid": "raise"} if "on_invalid" in model._get_params() else {})


def regresses(model: Any) -> bool:
    """Whether the learner predicts numbers; the labels of the checks are its targets 0 and 1 then."""
    return isinstance(model, base.Regressor)


def multiclass(model: Any) -> bool:
    return getattr(model, "_multiclass", False)


def bad_label(model: Any) -> Any:
    """A label or target that the learner must refuse."""
    return math.nan if multiclass(model) else "spam"


def answer(model: Any, x: dict) -> dict:
    """What a learner says of a row: probabilities, or the number predicted."""
    return {"prediction": model.predict_one(x)} if regresses(model) else model.predict_proba_one(x)


def answers(model: Any, X: Any) -> np.ndarray:
    """The same of a batch, (rows, answers)."""
    told = np.asarray(model.predict_many(X) if regresses(model) else model.predict_proba_many(X))
    return told[:, None] if told.ndim == 1 else told


def probabilities(model: Any, stream: list[tuple[dict, Any]]) -> list[dict]:
    return [answer(model, x) for x, _ in stream]


def carry_on(model: Any, stream: list[tuple[dict, Any]]) -> list[dict]:
    out = []
    for x, y in stream:
        out.append(answer(model, x))
        model.learn_one(x, y)
    return out


def assert_close(got: list[dict], want: list[dict], rtol: float = 1e-9) -> None:
    for t, (a, b) in enumerate(zip(got, want, strict=True)):
        assert a.keys() == b.keys(), f"row {t}: classes {list(a)} and {list(b)}"
        for label in a:
            assert math.isclose(a[label], b[label], rel_tol=rtol, abs_tol=rtol), f"row {t}: {a} and {b}"


def assert_refused(model: Any, action: Callable[[], Any], naming: str) -> None:
    """The action raises ValueError or TypeError that names the culprit, and leaves the model as it was."""
    before = pickle.dumps(model)
    try:
        action()
    except (ValueError, TypeError) as error:
        assert naming in str(error), f"the error does not name {naming}: {error}"
    else:
        raise AssertionError(f"accepted {naming}")
    assert pickle.dumps(model) == before, f"the refused {naming} changed the model"
