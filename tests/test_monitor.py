import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from river.linear_model import LogisticRegression as RiverLogistic
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import onlinekit
from onlinekit._testing_base import carry_on
from onlinekit._window import Window
from onlinekit.monitor import Monitor, RetrainingClassifier, Verdict
from onlinekit.testing import binary_stream, learner_checks
from onlinekit_plugins.drift.adwin import ADWINMonitor
from onlinekit_plugins.drift.every_n import EveryNMonitor
from onlinekit_plugins.linear import LogisticRegression as OwnLogistic
from onlinekit_plugins.sensitivity import EllipsoidTest, LinearModel, NewtonTest, SphereTest, solve

SMALL = {"window": 60, "min_samples": 10, "check_every": 7}


@pytest.fixture(autouse=True)
def one_thread():
    """These matrices are small: threads would only wait for one another."""
    with threadpool_limits(1):
        yield


def run(model, n=1200, flip=600, seed=0):
    rng = np.random.default_rng(seed)
    hits = []
    for t, (a, b) in enumerate(rng.normal(size=(n, 2)).tolist()):
        y = (a + b > 0) != (t >= flip)
        hits.append(model.predict_one({"a": a, "b": b}) == y)
        model.learn_one({"a": a, "b": b}, y)
    return hits


CLASSIFIERS = {
    "newton": lambda: RetrainingClassifier(monitor=NewtonTest(), **SMALL),
    "growing-sphere": lambda: RetrainingClassifier(
        monitor=SphereTest(unsure="retrain"), window=None, min_samples=10, check_every=7
    ),
    "adwin": lambda: RetrainingClassifier(LinearModel(), ADWINMonitor(signal="error"), **SMALL),
    "every-n": lambda: RetrainingClassifier(OwnLogistic(classes=None), EveryNMonitor(n=20, signal="error"), **SMALL),
    "once": lambda: RetrainingClassifier(OwnLogistic(), **SMALL),
}


def _checks():
    for which, make in CLASSIFIERS.items():
        for name, check in learner_checks(make()):
            # A second process and the long streams are tried with one of them.
            long = name.startswith("spawned") or "bounded_memory" in name or "multiclass" in name
            if which == "newton" or not (long or name.startswith("river")):
                yield pytest.param(check, id=f"{which}-{name}")


@pytest.mark.parametrize("check", list(_checks()))
def test_retraining_classifier_is_a_learner(check):
    check()


def test_verdict_refuses_unknown_decision():
    with pytest.raises(ValueError, match="maybe"):
        Verdict("maybe")


@pytest.mark.parametrize(
    "bad",
    [
        {"window": 0},
        {"check_every": 0},
        {"min_samples": 99, "window": 50},
        {"delay": -1},
        {"history": 0},
        {"on_invalid": "x"},
        {"standardize": "no"},
        {"model": None},
    ],
)
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        RetrainingClassifier(**{"model": LinearModel(), **bad})
    with pytest.raises(ValueError, match="classes"):
        RetrainingClassifier(monitor=NewtonTest(), classes=None)


def test_certified_monitors_take_linear_batch_models_alone():
    with pytest.raises(ValueError, match="fit"):
        RetrainingClassifier(OwnLogistic(), NewtonTest())
    model = RetrainingClassifier(DecisionTreeClassifier(), NewtonTest(), min_samples=20)
    with pytest.raises(ValueError, match="DecisionTreeClassifier has no coef_"):
        run(model, 100)


def test_retrains_on_drift():
    model = RetrainingClassifier(LogisticRegression(), ADWINMonitor(signal="error"), window=200).clone()
    hits = run(model)
    assert model.wait == 200  # a detector alarms while the window is still of the old concept
    assert model.n_retrains >= 1 and model.retrain_seconds > 0 and model.n_checks == len(model.verdicts)
    assert np.mean(hits[-200:]) > 0.85


def test_every_n():
    model = RetrainingClassifier(LogisticRegression(), EveryNMonitor(n=100), window=200, min_samples=50)
    assert model.wait == 0
    run(model, 550)
    assert model.n_retrains == 5 and model.retrained_at == [150, 250, 350, 450, 550]
    with pytest.raises(ValueError, match="'a'"):
        model.learn_one({"a": math.nan, "b": 1.0}, True)
    assert model.n_seen == 550


def test_certified_monitor_retrains_at_the_flip_and_only_there():
    model = RetrainingClassifier(monitor=NewtonTest(tolerance=0.1, C=0.05), window=200, check_every=20)
    hits = run(model)
    assert np.mean(hits[-150:]) > 0.9
    before = [n for n in model.retrained_at if n <= 600]
    after = [n for n in model.retrained_at if n > 600]
    # 30 checks of a stationary stream after the window is full, then a few while the new concept fills it.
    assert len([n for n in before if n > 300]) <= 1 and 1 <= len(after) <= 10
    retrains = [n for n, verdict in model.verdicts if verdict.decision == "retrain"]
    assert retrains == model.retrained_at  # each refit makes the next "retrain" an event of its own
    assert all(verdict.certified for _, verdict in model.verdicts)
    assert model.n_retrains == len(model.retrained_at) and model.monitor_seconds > 0


def test_the_deployed_model_is_the_optimum_of_the_scaled_window():
    model = RetrainingClassifier(monitor=EllipsoidTest(C=0.1), window=80, check_every=10)
    run(model, 50)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    w = solve(np.hstack([Z, np.ones((50, 1))]), X.sum(axis=1) > 0, 0.1, "logistic")
    p = model.predict_proba_one({"a": 0.3, "b": -1.0})[True]
    score = np.append((np.array([0.3, -1.0]) - X.mean(axis=0)) / X.std(axis=0), 1.0) @ w
    assert p == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-9)
    # The monitor knows that very model: nothing was added, nothing moved.
    assert np.allclose(model.monitor._tracker.summary.w0[[0, 1, -1]], w, atol=1e-9)
    verdict = model.monitor.verdict()
    assert verdict.decision == "keep" and verdict.n_added == 0


def test_window_is_told_to_the_monitor_row_by_row():
    model = RetrainingClassifier(monitor=NewtonTest(tolerance=1.0), window=60, min_samples=20, check_every=10)
    stream = binary_stream(150, names=["a", "b", "c"])
    for t, (x, y) in enumerate(stream):
        part = {key: value for key, value in x.items() if key != "c" or t > 70 or t % 7 == 0}
        if t > 90:
            part["late"] = 1.0 + t
        model.learn_one(part, y)
    assert (model.monitor.n_added, model.monitor.n_removed) == (130, 90)
    assert len(model._data) == 60 == model.monitor._tracker.n1 and model.n_retrains == 0


@pytest.mark.parametrize("base", [RiverLogistic(), OwnLogistic(), RidgeClassifier(), LogisticRegression()])
def test_models_of_every_kind(base):
    model = RetrainingClassifier(base, EveryNMonitor(n=100), window=200)
    hits = run(model, 400, flip=400)
    assert np.mean(hits[-200:]) > 0.8 and model.n_retrains == 3


def test_many_classes():
    model = RetrainingClassifier(LogisticRegression(), EveryNMonitor(n=50, signal="error"), window=150, classes=None)
    rng = np.random.default_rng(1)
    hits = []
    for a, b in rng.normal(size=(400, 2)).tolist():
        y = "red" if a > 0.5 else ("blue", 2) if b > 0 else 3
        hits.append(model.predict_one({"a": a, "b": b}) == y)
        model.learn_one({"a": a, "b": b}, y)
    assert np.mean(hits[-200:]) > 0.8
    assert set(model.predict_proba_one({"a": 0.0})) == {"red", ("blue", 2), 3}
    with pytest.raises(ValueError, match="'x'"):
        RetrainingClassifier(LinearModel(), classes=["u", "v"]).learn_one({}, "x")


class Plain(Monitor):
    """A monitor that forgets and takes no window."""

    def __init__(self):
        self.rows, self.rebased = [], 0

    def update(self, x, y):
        self.rows.append((x, y))

    def revert(self, x, y):
        self.rows.remove((x, y))

    def verdict(self):
        return Verdict("retrain" if len(self.rows) % 5 == 0 and self.rebased < 3 else "keep")

    def rebase(self):
        self.rows, self.rebased = [], self.rebased + 1


def test_a_monitor_that_forgets_is_fed_the_window():
    model = RetrainingClassifier(LinearModel(), Plain(), window=30, min_samples=10, check_every=5)
    run(model, 100)
    assert model.monitor.rebased == 3 and len(model.monitor.rows) == 30


@pytest.mark.parametrize("which", CLASSIFIERS)
def test_copies_go_on_alike(which, tmp_path):
    model = CLASSIFIERS[which]()
    for x, y in binary_stream(83):
        model.learn_one(x, y)
    onlinekit.save(model, tmp_path / "model")
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), onlinekit.load(tmp_path / "model")]
    stream = binary_stream(60, seed=9, names=["f4", "f1", "new", "f0"])
    want = carry_on(model, stream)
    for twin in twins:
        assert carry_on(twin, stream) == want
        assert list(twin.verdicts) == list(model.verdicts) and twin.retrained_at == model.retrained_at


def test_history_is_bounded():
    model = RetrainingClassifier(LinearModel(), EveryNMonitor(n=5), window=20, min_samples=10, check_every=1, history=7)
    run(model, 100)
    assert len(model.verdicts) == 7 and model.n_checks > 80 and model.last_verdict is model.verdicts[-1][1]


def test_window_tells_absent_from_zero():
    window = Window()
    window.push({"b": 0.0, "a": 3.0}, 1)
    window.push({"c": 2.0}, 0)
    window.push({"c": 1.0, "a": 0.0}, 1)
    matrix = window.matrix()
    assert matrix.nnz == 5 and matrix.has_sorted_indices
    assert np.array_equal(matrix.toarray(), [[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    twin = Window.restored(window.state())
    for each in (window, twin):
        each.pop()
        each.keep(np.array([1, 2]))
        assert each.seen.names == ["a", "c"] and np.array_equal(each.matrix().toarray(), [[0.0, 2.0], [0.0, 1.0]])
        assert list(each.labels) == [0, 1] and each.names(each.rows[1][0]) == ["c", "a"]
    assert pickle.dumps(twin.state()) == pickle.dumps(window.state())


def test_rows_of_the_same_features_share_their_columns():
    window = Window()
    for _ in range(9):
        window.push({"a": 1.0, "b": 2.0}, 0)
    for each in (window, Window.restored(window.state())):
        assert len({id(columns) for columns, _ in each.rows}) == 1 and len(each.state()["columns"]) == 2


@pytest.mark.parametrize("stream", ["elec2", "a9a", "cod_rna"])
def test_published_policies_keep_no_model_beyond_the_tolerance(stream):
    results = Path(__file__).parents[1] / "benchmarks" / "results" / f"retrain_{stream}.md"
    rows = {}
    for line in results.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip(" |").split("|")]
        if len(cells) == 11 and cells[1].isdigit():
            rows[cells[0]] = cells
    for policy in ("sphere-test", "ellipsoid-test", "newton-test"):
        most, over = rows[policy][9:]
        assert most == over == "-" or (float(most.split()[0]) <= 2.0 and over == "0 %")
    assert int(rows["newton-test"][3]) <= 0.6 * int(rows["sphere-test"][3])
    assert float(rows["once"][9].split()[0]) > 2.0  # the judge does see flips
