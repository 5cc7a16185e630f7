import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from onlinekit.monitor import RetrainingClassifier, Verdict
from onlinekit_plugins.drift.adwin import ADWINMonitor
from onlinekit_plugins.drift.every_n import EveryNMonitor


def run(model, n=1200, flip=600):
    rng = np.random.default_rng(0)
    hits = []
    for t, (a, b) in enumerate(rng.normal(size=(n, 2)).tolist()):
        y = (a + b > 0) != (t >= flip)
        hits.append(model.predict_one({"a": a, "b": b}) == y)
        model.learn_one({"a": a, "b": b}, y)
    return hits


def test_verdict_refuses_unknown_decision():
    with pytest.raises(ValueError, match="maybe"):
        Verdict("maybe")


def test_retrains_on_drift():
    model = RetrainingClassifier(LogisticRegression(), ADWINMonitor(signal="error"), window=200, delay=200).clone()
    hits = run(model)
    assert model.n_retrains >= 1 and model.retrain_seconds > 0 and model.n_checks == len(model.verdicts)
    assert np.mean(hits[-200:]) > 0.85


def test_every_n():
    model = RetrainingClassifier(LogisticRegression(), EveryNMonitor(n=100), window=200, min_samples=50)
    run(model, 550)
    assert model.n_retrains == 5
    with pytest.raises(ValueError, match="'a'"):
        model.learn_one({"a": math.nan, "b": 1.0}, True)
    assert model.n_seen == 550
