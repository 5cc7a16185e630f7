import copy
import importlib
import math
import pickle

import numpy as np
import pytest

NAMES = [
    ("adwin", "ADWINMonitor"),
    ("ddm", "DDMMonitor"),
    ("page_hinkley", "PageHinkleyMonitor"),
    ("kswin", "KSWINMonitor"),
    ("every_n", "EveryNMonitor"),
]


@pytest.fixture(params=NAMES, ids=lambda p: p[0])
def cls(request):
    return getattr(importlib.import_module(f"onlinekit_plugins.drift.{request.param[0]}"), request.param[1])


def test_bad_values_and_revert(cls):
    m = cls()
    assert m.clone().verdict().decision == "undecided" and m.verdict().reason
    m.update({}, 1)
    before = pickle.dumps(m)
    for bad in (None, "text", math.nan, math.inf):
        with pytest.raises(ValueError, match=repr(bad)):
            m.update({}, bad)
    with pytest.raises(NotImplementedError):
        m.revert({}, 1)
    assert pickle.dumps(m) == before
    s = cls(on_invalid="skip")
    s.update({}, math.nan)
    assert (s.n_skipped, s.n_added) == (1, 0)


def test_alarm_and_copies(cls):
    rng = np.random.default_rng(0)
    signal = [bool(v) for v in np.r_[rng.random(600) < 0.1, rng.random(900) < 0.9]]
    m = cls()
    for v in signal[:300]:
        m.update({}, v)
    twins = [pickle.loads(pickle.dumps(m)), copy.deepcopy(m)]
    for v in signal[300:]:
        for each in (m, *twins):
            each.update({}, v)
    assert m.drift_detected and not m.verdict().certified
    for twin in twins:
        assert twin.alarm_at == m.alarm_at
        assert pickle.dumps(twin) == pickle.dumps(m)
    m.rebase()
    assert m.verdict().decision == "undecided"
