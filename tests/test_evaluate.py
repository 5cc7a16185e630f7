import numpy as np
import pytest
from river import datasets, evaluate, linear_model, metrics, preprocessing

from onlinekit.evaluate import prequential


def model():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


@pytest.mark.parametrize("delay", [None, 1, 7])
def test_same_predictions_as_river(delay):
    data = list(datasets.Phishing().take(300))
    steps = evaluate.iter_progressive_val_score(
        data, model(), metrics.Accuracy(), step=1, delay=delay, yield_predictions=True
    )
    want = [s["Prediction"] for s in steps]
    got = prequential(model(), data, delay=delay)
    assert got.predictions == want
    score = evaluate.progressive_val_score(data, model(), metrics.Accuracy(), delay=delay)
    assert got.metrics["Accuracy"] == score.get()


def test_never_changes_its_input():
    data = [({"a": 1.0}, True, {"w": 2.0}), ({"a": 0.0}, False, {"w": 1.0})]
    metric = metrics.Accuracy()
    prequential(model(), data, metric)
    assert data[0] == ({"a": 1.0}, True, {"w": 2.0})
    assert metric.cm.n_samples == 0


def test_baselines_and_arrays():
    result = prequential(model(), (np.zeros((4, 2)), np.array([True, True, True, False])))
    assert result.metrics["NoChange"] == 0.5 and result.metrics["Majority"] == 0.5
    assert result.curve[-1][0] == result.n_samples == 4


def test_bad_delay():
    with pytest.raises(ValueError, match="delay"):
        prequential(model(), [], delay=-1)
