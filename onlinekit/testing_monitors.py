"""The monitors' contract as a test suite; see `onlinekit.testing`."""

from __future__ import annotations

import copy
import functools
import math
import multiprocessing
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Sample = tuple[dict, Any]


def monitor_checks(monitor: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every check of the monitor contract, as (name, function without arguments) pairs.

    Each check works on a deep copy, so `monitor` is never changed. A failing check raises AssertionError, or
    the error the monitor itself raised.

    Parameters
    ----------
    monitor
        A monitor without samples.

    Examples
    --------
    >>> from onlinekit.testing import monitor_checks
    >>> for name, check in monitor_checks(MyMonitor()):  # doctest: +SKIP
    ...     check()
    """
    checks: list[Callable[[Any], None]] = [
        _protocol,
        _verdict,
        _nothing_seen,
        _few_samples,
        _same_sample,
        _one_class,
        _unseen_revert,
        _revert_undoes_update,
        _rebase_is_a_start,
        _clone_is_fresh,
        _copies_continue,
        _spawned_process,
    ]
    for check in checks:
        yield check.__name__.strip("_"), functools.partial(check, monitor)
    for value in (None, "text", math.nan, math.inf):
        yield f"bad_value[{value}]", functools.partial(_bad_value, monitor, value)
        yield f"bad_y[{value}]", functools.partial(_bad_y, monitor, value)


def monitor_stream(monitor: Any, n: int = 200, seed: int = 1) -> list[Sample]:
    """Samples a monitor can take: x = {"a": u, "b": v} uniform in [0, 1], y a bool.

    Parameters
    ----------
    monitor
        The monitor; its `sample_stream(n, seed)`, where it has one, gives the samples instead.
    n
        Number of samples.
    seed
        Seed of the generator.

    Examples
    --------
    >>> len(monitor_stream(None, n=3))
    3
    """
    if hasattr(monitor, "sample_stream"):
        return monitor.sample_stream(n, seed)
    rng = np.random.default_rng(seed)
    return [({"a": float(u), "b": float(v)}, bool(u > v)) for u, v in rng.random((n, 2))]


def _fed(monitor: Any, stream: list[Sample]) -> Any:
    monitor = copy.deepcopy(monitor)
    for x, y in stream:
        monitor.update(x, y)
    return monitor


def _continue(monitor: Any, stream: list[Sample]) -> list[tuple]:
    out = []
    for x, y in stream:
        monitor.update(x, y)
        v = monitor.verdict()
        # repr, because NaN statistics must compare equal.
        out.append((v.decision, v.certified, repr(v.statistic), repr(v.threshold), v.n_added, v.n_removed))
    return out


def _protocol(monitor: Any) -> None:
    for name in ("update", "revert", "verdict", "rebase"):
        assert callable(getattr(monitor, name, None)), f"{type(monitor).__name__} has no method {name}"
    assert type(monitor).__doc__, "a monitor needs a docstring"


def _assert_sound(monitor: Any) -> Any:
    verdict = monitor.verdict()
    assert verdict.decision in ("keep", "retrain", "undecided"), verdict.decision
    assert isinstance(verdict.certified, bool)
    assert isinstance(verdict.reason, str)
    assert monitor.drift_detected == (verdict.decision == "retrain")
    return verdict


def _verdict(monitor: Any) -> None:
    monitor = copy.deepcopy(monitor)
    for t, (x, y) in enumerate(monitor_stream(monitor)):
        monitor.update(x, y)
        if t % 20 == 0:
            _assert_sound(monitor)
    before = pickle.dumps(monitor)
    assert _assert_sound(monitor) == _assert_sound(monitor), "asking twice gives two answers"
    assert pickle.dumps(monitor) == before, "asking changed the monitor"


def _nothing_seen(monitor: Any) -> None:
    verdict = _assert_sound(copy.deepcopy(monitor))
    # A proof that nothing can have changed is as good as data; an adapter has none.
    assert verdict.decision == "undecided" or verdict.certified, verdict
    assert verdict.reason, "a monitor without samples must say so"
    assert (verdict.n_added, verdict.n_removed) == (0, 0)


def _few_samples(monitor: Any) -> None:
    verdict = _assert_sound(_fed(monitor, monitor_stream(monitor, 5)))
    assert verdict.decision != "keep" or verdict.certified, f"'keep' after five samples: {verdict}"
    assert verdict.n_added == 5


def _same_sample(monitor: Any) -> None:
    verdict = _assert_sound(_fed(monitor, monitor_stream(monitor, 1) * 10_000))
    assert not math.isnan(float(verdict.statistic or 0.0)), verdict


def _one_class(monitor: Any) -> None:
    _assert_sound(_fed(monitor, [(x, True) for x, _ in monitor_stream(monitor, 300)]))


def _assert_refused(action: Callable[[], Any], monitor: Any, naming: str) -> None:
    before = pickle.dumps(monitor)
    try:
        action()
    except (ValueError, TypeError, LookupError, NotImplementedError) as error:
        assert naming in str(error), f"the error does not name {naming!r}: {error}"
    else:
        raise AssertionError(f"accepted: {naming or action}")
    assert pickle.dumps(monitor) == before, "a refused sample changed the monitor"


def _unseen_revert(monitor: Any) -> None:
    for stream in ([], monitor_stream(monitor, 20)):
        twin = _fed(monitor, stream)
        x, y = monitor_stream(monitor, 1, seed=99)[0]
        _assert_refused(functools.partial(twin.revert, x, y), twin, "")


def _revert_undoes_update(monitor: Any) -> None:
    if not getattr(monitor, "forgets", True):
        return
    stream = monitor_stream(monitor, 120)
    twin = _fed(monitor, stream[:100])
    before = twin.verdict()
    for x, y in stream[100:]:
        twin.update(x, y)
    for x, y in reversed(stream[100:]):
        twin.revert(x, y)
    after = twin.verdict()
    assert (after.decision, after.certified) == (before.decision, before.certified), (before, after)
    assert after.n_added - after.n_removed == before.n_added - before.n_removed
    a, b = (float(v.statistic or 0.0) for v in (before, after))
    assert math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6), f"the statistic was {a} and is {b}"


def _rebase_is_a_start(monitor: Any) -> None:
    stream = monitor_stream(monitor, 100)
    twin = _fed(monitor, stream)
    twin.rebase()
    verdict = _assert_sound(twin)
    assert (verdict.n_added, verdict.n_removed) == (0, 0), verdict
    assert _continue(twin, stream) == _continue(copy.deepcopy(monitor), stream), "after rebase() it is not as new"


def _clone_is_fresh(monitor: Any) -> None:
    if not hasattr(monitor, "clone"):
        return
    stream = monitor_stream(monitor, 100)
    assert _continue(_fed(monitor, stream).clone(), stream) == _continue(copy.deepcopy(monitor), stream)


def _bad_value(monitor: Any, value: Any) -> None:
    stream = monitor_stream(monitor, 30)
    monitor = _fed(monitor, stream)
    x, y = stream[0]
    name = next(iter(x))
    skipped = getattr(monitor, "n_skipped", None)
    try:
        monitor.update({**x, name: value}, y)
    except (ValueError, TypeError) as error:
        assert repr(name) in str(error), f"the error does not name {name!r}: {error}"
    else:
        # A monitor that looks at y alone may leave x unread; one that reads x refuses or counts.
        if skipped is not None and monitor.n_skipped == skipped:
            verdict = monitor.verdict()
            assert math.isfinite(float(verdict.statistic or 0.0)), verdict
    _assert_sound(_fed(monitor, stream))


def _bad_y(monitor: Any, value: Any) -> None:
    stream = monitor_stream(monitor, 30)
    monitor = _fed(monitor, stream)
    before, skipped = pickle.dumps(monitor), getattr(monitor, "n_skipped", 0)
    try:
        monitor.update(stream[0][0], value)
    except (ValueError, TypeError) as error:
        assert repr(value) in str(error), f"the error does not name {value!r}: {error}"
        assert pickle.dumps(monitor) == before, f"the refused y {value!r} changed the monitor"
    else:
        assert getattr(monitor, "n_skipped", 0) == skipped + 1, f"y = {value!r} is not counted"


def _copies_continue(monitor: Any) -> None:
    from onlinekit import state

    monitor = _fed(monitor, monitor_stream(monitor, 100))
    copies = [pickle.loads(pickle.dumps(monitor)), copy.deepcopy(monitor)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "monitor"
        state.save(monitor, path)
        copies.append(state.load(path))
    stream = monitor_stream(monitor, 100, seed=5)
    want = _continue(monitor, stream)
    for twin in copies:
        assert _continue(twin, stream) == want, "a copy goes on with other verdicts"


def _spawned_process(monitor: Any) -> None:
    monitor = _fed(monitor, monitor_stream(monitor, 100))
    stream = monitor_stream(monitor, 50, seed=5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = pool.apply(_continue, (monitor, stream))
    assert got == _continue(monitor, stream), "another process gives other verdicts"
