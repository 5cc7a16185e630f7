"""Prequential evaluation: River's numbers, delayed labels, verdicts, and nothing of the caller's changed."""

import copy
import sys
import threading
import time
from array import array

import numpy as np
import pytest
from river import base, datasets, dummy, evaluate, linear_model, metrics, naive_bayes, preprocessing

import onlinekit
from onlinekit import Verdict
from onlinekit.evaluate import Result, prequential
from onlinekit.report import to_html


def pipeline():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


LEARNERS = [
    spec.name for spec in onlinekit.specs("learner") if issubclass(onlinekit.get("learner", spec.name), base.Classifier)
]


@pytest.mark.parametrize("delay", [None, 0, 1, 7, 1000])
@pytest.mark.parametrize("data", ["Phishing", "Bananas"])
def test_same_predictions_as_river(data, delay):
    stream = list(getattr(datasets, data)().take(300))
    steps = evaluate.iter_progressive_val_score(
        stream, pipeline(), metrics.Accuracy(), step=1, delay=delay, yield_predictions=True
    )
    got = prequential(pipeline(), stream, delay=delay)
    # River yields a step a label and answers late labels in the order of their samples, as we do.
    assert got.predictions == [step["Prediction"] for step in steps]
    assert got.truths == [y for _, y in stream]
    score = evaluate.progressive_val_score(stream, pipeline(), metrics.Accuracy(), delay=delay)
    assert got.metrics["Accuracy"] == score.get() == got.accuracy


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_scores_as_in_river(name):
    stream = list(datasets.Phishing().take(200))
    got = prequential(onlinekit.create("learner", name), stream, metrics.Accuracy() + metrics.F1() + metrics.LogLoss())
    # Apart, as River would take the labels from the probabilities for all three.
    for metric in (metrics.Accuracy(), metrics.F1(), metrics.LogLoss()):
        want = evaluate.progressive_val_score(stream, onlinekit.create("learner", name), metric).get()
        assert got.metrics[type(metric).__name__] == pytest.approx(want, rel=1e-12)


def test_many_classes_as_in_river():
    stream = list(datasets.ImageSegments().take(300))
    want = evaluate.progressive_val_score(stream, naive_bayes.GaussianNB(), metrics.MacroF1()).get()
    got = prequential(naive_bayes.GaussianNB(), datasets.ImageSegments().take(300), [metrics.MacroF1()])
    assert got.metrics["MacroF1"] == want and not got.is_binary


def test_never_changes_its_input():
    data = [({"a": 1.0}, True, {"w": 2.0}), ({"a": 0.0}, False, {"w": 1.0})]
    before = copy.deepcopy(data)
    metric = metrics.Accuracy()

    class Greedy(dummy.PriorClassifier):
        def learn_one(self, x, y, w=1.0):
            x.clear()

    prequential(onlinekit.create("learner", "logistic"), data, metric)
    prequential(Greedy(), data, metric)
    assert data == before
    assert metric.cm.n_samples == 0


def test_weights_reach_the_model():
    x = {"a": 1.0}
    weighted, twice = onlinekit.create("learner", "logistic"), onlinekit.create("learner", "logistic")
    prequential(weighted, [(x, True, {"w": 3.0})])
    twice.learn_one(x, True, w=3.0)
    assert weighted.predict_proba_one(x) == twice.predict_proba_one(x)
    with pytest.raises(TypeError, match="w"):
        prequential(dummy.NoChangeClassifier(), [(x, True, {"w": 3.0})])


def test_baselines_by_hand():
    labels = [True, True, False, True, True, False]
    got = prequential(dummy.NoChangeClassifier(), [({}, y) for y in labels])
    # The majority rule says nothing, T, T, T, T, T; the no-change rule nothing, T, T, F, T, T.
    assert got.metrics["Majority"] == 3 / 6 and got.metrics["NoChange"] == 2 / 6
    assert got.predictions == [None, True, True, False, True, True]
    assert got.accuracy == 2 / 5
    assert got.curve[-1][0] == got.n_samples == 6


@pytest.mark.parametrize("kind", ["array", "csr", "pandas", "polars", "pyarrow"])
def test_arrays_and_frames_are_the_stream_of_their_rows(kind):
    X = np.random.default_rng(3).normal(size=(60, 3)).round(1)
    y = X[:, 0] > X[:, 1]
    names = ["a", "b", "c"]
    if kind == "array":
        data, names = X, [0, 1, 2]
    elif kind == "csr":
        sparse = pytest.importorskip("scipy.sparse")
        data, names = sparse.csr_matrix(X), [0, 1, 2]
    else:
        package = pytest.importorskip(kind)
        columns = {name: X[:, j] for j, name in enumerate(names)}
        data = package.table(columns) if kind == "pyarrow" else package.DataFrame(columns)
    rows = [(dict(zip(names, row, strict=True)), bool(t)) for row, t in zip(X.tolist(), y, strict=True)]
    got = prequential(pipeline(), (data, y))
    assert got.predictions == prequential(pipeline(), rows).predictions
    with pytest.raises(ValueError, match="60 rows and y has 59"):
        prequential(pipeline(), (data, y[:-1]))


@pytest.mark.parametrize("delay", [-1, 1.5, True, "late"])
def test_bad_delay(delay):
    with pytest.raises(ValueError, match="delay"):
        prequential(pipeline(), [], delay=delay)


def test_metrics_that_cannot_be_used():
    with pytest.raises(ValueError, match="MAE does not fit"):
        prequential(pipeline(), [], metrics.MAE())
    with pytest.raises(ValueError, match="ClassificationReport is not one number"):
        prequential(pipeline(), [], metrics.ClassificationReport())


class Alarm:
    """Says "retrain" at every tenth update after a rebase."""

    def __init__(self):
        self.n, self.rebased = 0, 0

    def update(self, x, y):
        self.n += 1

    def verdict(self):
        return Verdict("retrain" if self.n >= 10 else "keep", n_added=self.n, reason="a clock")

    def rebase(self):
        self.n, self.rebased = 0, self.rebased + 1


def test_each_alarm_is_an_event_and_the_monitor_starts_anew():
    monitor = Alarm()
    got = prequential(pipeline(), datasets.Phishing().take(45), monitor=monitor)
    assert got.retrains == [10, 20, 30, 40] and monitor.rebased == 4
    assert [(n, v.decision) for n, v in got.verdicts[:3]] == [(1, "keep"), (10, "retrain"), (11, "keep")]
    assert got.to_dict()["verdicts"][1]["at"] == 10


def test_a_monitor_of_errors_gets_errors():
    seen = []

    class Watch(Alarm):
        signal = "error"

        def update(self, x, y):
            seen.append(x["error"])

    got = prequential(pipeline(), datasets.Phishing().take(80), monitor=Watch())
    assert seen == [float(p != y) for p, y in zip(got.predictions, got.truths, strict=True)]
    assert 0 < sum(seen) < 80


def test_the_retrains_of_a_retraining_classifier_are_recorded():
    linear = pytest.importorskip("sklearn.linear_model")
    clock = onlinekit.create("monitor", "every-n", n=60, signal="error")
    model = onlinekit.RetrainingClassifier(
        linear.LogisticRegression(), clock, window=100, min_samples=50, check_every=1, delay=0
    )
    got = prequential(model, datasets.Phishing().take(300))
    assert len(got.retrains) == model.n_retrains >= 3
    assert got.accuracy == got.metrics["Accuracy"] > 0.7


def test_speed_leaves_compilation_out_and_predicting_twice_in():
    class Slow(dummy.NoChangeClassifier):
        compiled = False

        def work(self):
            if not Slow.compiled:
                time.sleep(0.5)
                Slow.compiled = True

        def predict_one(self, x):
            self.work()
            return True

        def predict_proba_one(self, x):
            time.sleep(0.001)
            return {True: 1.0}

    got = prequential(Slow(), [({}, True)] * 30)
    assert Slow.compiled and got.timings["predict"] < 0.1
    assert got.timings["proba"] >= 0.03
    assert got.samples_per_second < 1000


def test_a_model_that_cannot_be_copied_is_evaluated_all_the_same():
    class Locked(dummy.NoChangeClassifier):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

    got = prequential(Locked(), [({}, True)] * 30)
    assert got.accuracy == 1.0 and not got.warmed_up
    assert "It is for Locked, which cannot be copied." in to_html(got)
    assert "cannot be copied" not in to_html(prequential(dummy.NoChangeClassifier(), [({}, True)] * 30))


def test_a_model_without_probabilities():
    class Silent(base.Classifier):
        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return True

    got = prequential(Silent(), datasets.Phishing().take(50))
    assert len(got.confidences) == 50 and all(c != c for c in got.confidences)
    assert got.calibration() == [] and "Calibration" not in to_html(got)


def test_errors_of_a_model_pass_through():
    class Broken(dummy.NoChangeClassifier):
        def predict_proba_one(self, x):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        prequential(Broken(), [({}, True)])


def test_the_bar_is_for_terminals_only(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    prequential(pipeline(), datasets.Phishing().take(30))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    prequential(pipeline(), list(datasets.Phishing().take(30)))
    shown = capsys.readouterr().err
    assert "30/30" in shown and "Accuracy=0." in shown
    prequential(pipeline(), datasets.Phishing().take(30), progress=False)
    assert capsys.readouterr().err == ""


def test_calibration_by_hand():
    got = Result(
        predictions=[True, True, False, None], truths=[True, False, True, True], confidences=array("d", [0.9, 0.8, 0.7])
    )
    got.confidences.append(float("nan"))
    assert got.calibration(10) == [(0.3, 1.0, 1), (0.8, 0.0, 1), (0.9, 1.0, 1)]
    named = Result(predictions=["a", "b"], truths=["a", "a"], confidences=array("d", [0.95, 0.95]))
    assert named.calibration(1) == [(0.95, 0.5, 2)]
    with pytest.raises(ValueError, match="bins"):
        got.calibration(0)


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    got = prequential(pipeline(), datasets.Phishing().take(200), monitor=Alarm())
    ax = got.plot()
    assert len(ax.lines) == 3 + 20 and ax.get_legend() is not None
    assert list(ax.lines[0].get_ydata()) == [row[1] for row in got.curve]
    assert got.plot(ax) is ax


def test_nothing_to_evaluate_is_a_result_without_samples(tmp_path):
    result = prequential(onlinekit.create("learner", "logistic"), [], progress=False)
    assert result.n_samples == 0 and result.curve == []
    result.to_dict()
    result.to_html(tmp_path / "empty.html")


def test_what_is_no_metric_is_named():
    with pytest.raises(TypeError, match="metrics must be River metrics, not 'accuracy'"):
        prequential(onlinekit.create("learner", "logistic"), [({"a": 1.0}, True)], metrics="accuracy")


def test_data_that_is_no_stream_is_named():
    X, y = np.zeros((4, 2)), np.arange(4) % 2 == 0
    for data in ([X, y], (X.tolist(), y.tolist()), [({}, True), ({}, True), 3]):
        with pytest.raises(TypeError, match=r"sample [02] of data is no \(x, y\) with a dict x"):
            prequential(dummy.NoChangeClassifier(), data, progress=False)
