import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from river.linear_model import LogisticRegression as RiverLogistic
from river.tree import HoeffdingTreeClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import onlinekit
from onlinekit._testing_base import assert_close, assert_refused, carry_on, text_stream
from onlinekit._window import Window
from onlinekit.monitor import Monitor, RetrainingClassifier, Verdict
from onlinekit.testing import binary_stream, learner_checks
from onlinekit_plugins.drift.adwin import ADWINMonitor
from onlinekit_plugins.drift.every_n import EveryNMonitor
from onlinekit_plugins.linear import LogisticRegression as OwnLogistic
from onlinekit_plugins.sensitivity import EllipsoidTest, LinearModel, NewtonTest, SegmentTest, SphereTest, solve

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


@pytest.mark.parametrize(
    "base", [RiverLogistic(), OwnLogistic(), HoeffdingTreeClassifier(), RidgeClassifier(), LogisticRegression()]
)
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


@pytest.mark.parametrize("monitor", [NewtonTest(), SphereTest()])
def test_a_state_of_another_version_is_refused_with_one_sentence(monitor):
    model = RetrainingClassifier(monitor=monitor, **SMALL)
    run(model, 30)
    for whole, name in ((model, "deployed"), (model.monitor, "latest"), (model.monitor, "rows")):
        state = {key: value for key, value in whole.__getstate__().items() if key != name}
        with pytest.raises(ValueError, match=f"{type(whole).__name__} .* version of onlinekit; .* anew"):
            object.__new__(type(whole)).__setstate__(state)
    state = {**model.monitor.__getstate__(), "latest": [1.0]}
    with pytest.raises(ValueError, match="is damaged or of another version of onlinekit; make it anew"):
        object.__new__(type(model.monitor)).__setstate__(state)


@pytest.mark.parametrize("value", [3.3, 0.1, 1e10 + 0.1, 1e-300])
def test_a_constant_column_is_not_divided_by_its_rounding(value):
    model = RetrainingClassifier(monitor=NewtonTest(), window=60, min_samples=30)
    for t in range(30):
        model.learn_one({"a": value, "b": t % 7}, t % 7 > 3)
    assert model._deployed.scale[0] == 1.0
    # The first other value is one of size 1, not 1e15.
    z = model._deployed.told(["a"], np.array([0]), np.array([value + 1.0]))["a"]
    assert z == pytest.approx(1.0, rel=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e10, 1e160, 1e300, 8e307])
def test_a_huge_column_is_scaled_as_any_other(unit):
    models = [RetrainingClassifier(monitor=NewtonTest(), min_samples=30) for _ in range(2)]
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(-1, 1, (100, 2)).tolist():
        for model, size in zip(models, (1.0, unit), strict=True):
            model.learn_one({"a": a, "b": b * size}, b > 0)
    want, got = models[0].predict_proba_one({"b": 0.5}), models[1].predict_proba_one({"b": 0.5 * unit})
    assert models[0].n_retrains == models[1].n_retrains and got[True] == pytest.approx(want[True], abs=1e-9)
    assert want[True] > 0.7


@pytest.mark.parametrize("model", [LogisticRegression(), OwnLogistic(), None])
def test_the_first_training_waits_for_a_feature(model):
    model = RetrainingClassifier(model, NewtonTest() if model is None else None, min_samples=4, window=20)
    for y in (False, True) * 4:
        model.learn_one({}, y)
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    for _ in range(12):
        model.learn_one({"a": 1.0}, True)
    assert model.predict_proba_one({"a": 1.0})[True] > 0.5


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


@pytest.mark.filterwarnings("error")
def test_window_reads_large_values_and_refuses_what_is_none():
    window = Window()
    window.push({"a": 1e300, "b": -1e300}, 0)
    columns, values = window.read({"c": 1.0, "b": -1e308})
    assert columns.tolist() == [2, 1] and values.tolist() == [1.0, -1e308]
    with pytest.raises(ValueError, match="'c' is nan"):
        window.read({"b": 1e308, "c": math.nan})
    with pytest.raises(TypeError, match="list"):
        window.read([1.0])
    assert window.seen.names == ["a", "b"]


def test_rows_of_the_same_features_share_their_columns():
    window = Window()
    for _ in range(9):
        window.push({"a": 1.0, "b": 2.0}, 0)
    for each in (window, Window.restored(window.state())):
        assert len({id(columns) for columns, _ in each.rows}) == 1 and len(each.state()["columns"]) == 2


# Rows as they are: standardize=False, sparse where they hold few of many features


def filled(stream, names):
    """The same rows with every feature there, so that they are dense."""
    return [({**dict.fromkeys(names, 0.0), **x}, y) for x, y in stream]


def flipping(n, names=120):
    """Sparse rows whose labels turn round in the middle."""
    return [(x, y != (t >= n // 2)) for t, (x, y) in enumerate(text_stream(n, names=names, entries=12))]


@pytest.mark.parametrize("cls", [SphereTest, SegmentTest, EllipsoidTest, NewtonTest])
@pytest.mark.parametrize(("rule", "tolerance"), [("flips", 0.3), ("coefficients", 0.03)])
def test_a_sparse_run_is_the_dense_run(cls, rule, tolerance):
    stream, found = flipping(500), []
    for rows in (stream, filled(stream, range(120))):
        monitor = cls(rule=rule, tolerance=tolerance, C=2.0, unsure="retrain")
        model = RetrainingClassifier(monitor=monitor, window=150, min_samples=100, check_every=10, standardize=False)
        proba = carry_on(model, rows)
        assert model._deployed.sparse == model.monitor._sparse == (rows is stream)
        found.append((proba, model))
    (sparse_proba, sparse), (dense_proba, dense) = found
    assert sparse.retrained_at == dense.retrained_at and 1 <= sparse.n_retrains < sparse.n_checks
    assert len(sparse.verdicts) == len(dense.verdicts) == 40
    for (n, a), (m, b) in zip(sparse.verdicts, dense.verdicts, strict=True):
        assert (n, a.decision, a.certified, a.n_added, a.n_removed) == (
            m,
            b.decision,
            b.certified,
            b.n_added,
            b.n_removed,
        )
        assert a.statistic == pytest.approx(b.statistic, rel=1e-6, abs=1e-9)
    assert_close(sparse_proba, dense_proba, 1e-7)


def test_rows_as_they_are_are_what_the_model_and_the_monitor_get():
    model = RetrainingClassifier(monitor=EllipsoidTest(C=0.1), window=80, min_samples=50, standardize=False)
    stream = [({"a": 5.0 + x["f0"], "b": 3.0 * x["f1"]}, y) for x, y in binary_stream(50)]
    for x, y in stream:
        model.learn_one(x, y)
    X = np.array([[x["a"], x["b"], 1.0] for x, _ in stream])
    w = solve(X, [y for _, y in stream], 0.1, "logistic")
    p = model.predict_proba_one({"b": -1.0, "a": 4.0, "unknown": 9.0})[True]
    assert p == pytest.approx(1 / (1 + np.exp(-(np.array([4.0, -1.0, 1.0]) @ w))), abs=1e-9)
    assert model.monitor.verdict().n_added == 0 and model.monitor.verdict().decision == "keep"


class Watched(LinearModel):
    """Notes what it was trained on."""

    def fit(self, X, y):
        self.shape, self.sparse, self.held = X.shape, not isinstance(X, np.ndarray), X.size
        return super().fit(X, y)


@pytest.mark.parametrize(("features", "entries", "sparse"), [(64, 16, True), (64, 17, False), (63, 15, False)])
def test_the_rule_by_which_rows_are_sparse(features, entries, sparse):
    model = RetrainingClassifier(Watched(), EveryNMonitor(n=100), min_samples=30, standardize=False)
    for t in range(30):
        x = {(t * entries + j) % features: 1.0 + j for j in range(entries)}
        model.learn_one(x, t % 3 == 0)
    fitted = model._deployed.model
    assert fitted.shape == (30, features) and fitted.sparse == model._deployed.sparse == sparse
    assert fitted.held == (30 * entries if sparse else 30 * features)


@pytest.mark.parametrize("base", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_models_that_take_no_csr_get_arrays(base):
    model = RetrainingClassifier(base, EveryNMonitor(n=100), min_samples=100, standardize=False)
    rows = text_stream(200, seed=4, names=100, entries=10)
    for x, y in rows:
        model.learn_one(x, y)
    names = model._deployed.names
    X = np.array([[x.get(name, 0.0) for name in names] for x, _ in rows])
    want = base.fit(X, [y for _, y in rows]).predict_proba(X)[:, 1]
    got = [model.predict_proba_one(x)[True] for x, _ in rows]
    assert model.n_retrains == 1 and not model._deployed.sparse and np.allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("base", [RiverLogistic(), OwnLogistic(), RidgeClassifier(), LogisticRegression()])
def test_models_of_every_kind_learn_sparse_rows(base):
    model = RetrainingClassifier(base, EveryNMonitor(n=200), window=400, min_samples=200, standardize=False)
    rows = text_stream(900, seed=4, names=100, entries=10)
    hits = []
    for x, y in rows:
        hits.append(model.predict_one({**x, "unknown": 7.0}) == y)
        model.learn_one(x, y)
    assert model._deployed.sparse and model.retrained_at == [400, 600, 800]
    if hasattr(base, "fit"):
        assert np.mean(hits[-300:]) > 0.8
        return
    want = base.clone()
    for x, y in rows[400:800]:
        want.learn_one(x, y)
    for x, _ in rows[:50]:
        assert model.predict_proba_one(x)[True] == pytest.approx(want.predict_proba_one(x)[True], abs=1e-12)


def test_sparse_features_come_and_go_and_each_row_leaves_as_it_came():
    model = RetrainingClassifier(
        monitor=NewtonTest(tolerance=1.0, spare=100), window=60, min_samples=30, check_every=10, standardize=False
    )
    rows = text_stream(200, names=90, entries=6)
    for t, (x, y) in enumerate(rows):
        part = {(name if name < 60 or t < 80 else f"late{name}"): value for name, value in x.items()}
        model.learn_one({**part, "zero": 0.0}, y)
    assert (model.monitor.n_added, model.monitor.n_removed) == (170, 140) and model.n_retrains == 0
    assert model.monitor._tracker.n1 == 60 and model._deployed.sparse
    model.monitor.tolerance, model.monitor._memo = -1.0, None  # then whatever is asked says "retrain"
    while not model.n_retrains:
        model.learn_one(*rows[0])
    held = {name for columns, _ in model._data.rows for name in model._data.names(columns)}
    assert model._deployed.names == model._data.seen.names and set(model._deployed.names) == held


def test_a_monitor_that_forgets_is_fed_sparse_rows():
    model = RetrainingClassifier(
        LinearModel(), Plain(), window=30, min_samples=10, check_every=5, delay=0, standardize=False
    )
    rows = text_stream(100, names=200, entries=5)
    for x, y in rows:
        model.learn_one(x, y)
    assert model._deployed.sparse and model.monitor.rebased == 3
    key = lambda row: (sorted(row[0].items()), row[1])  # noqa: E731
    assert sorted(model.monitor.rows, key=key) == sorted(rows[-30:], key=key)


@pytest.mark.parametrize("column", [10**6, -1])
def test_a_state_with_columns_out_of_bounds_is_refused(column):
    model = RetrainingClassifier(monitor=NewtonTest(), window=60, min_samples=40, standardize=False)
    for x, y in text_stream(60):
        model.learn_one(x, y)
    window, rows = model._data.state(), model.monitor._store.__getstate__()
    window["columns"][-1] = rows["rows"][1][-1] = column
    with pytest.raises(ValueError, match="a feature without a name"):
        Window.restored(window)
    with pytest.raises(ValueError, match="NewtonTest is damaged"):
        object.__new__(NewtonTest).__setstate__({**model.monitor.__getstate__(), "rows": rows})


@pytest.mark.parametrize("cls", [SphereTest, NewtonTest])
def test_copies_of_a_sparse_run_go_on_alike(cls, tmp_path):
    model = RetrainingClassifier(monitor=cls(C=0.05), window=60, min_samples=40, check_every=7, standardize=False)
    for x, y in text_stream(100):
        model.learn_one(x, y)
    assert model._deployed.sparse
    onlinekit.save(model, tmp_path / "model")
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), onlinekit.load(tmp_path / "model")]
    stream = [({**x, f"new{t // 3}": 1.0}, y) for t, (x, y) in enumerate(text_stream(60, seed=9))]
    want = carry_on(model, stream)
    for twin in twins:
        assert carry_on(twin, stream) == want and list(twin.verdicts) == list(model.verdicts)
        assert twin.retrained_at == model.retrained_at and model.n_retrains >= 1


def test_a_bad_value_in_a_sparse_row_changes_nothing():
    model = RetrainingClassifier(monitor=NewtonTest(), min_samples=40, standardize=False)
    rows = text_stream(90)
    for x, y in rows:
        model.learn_one(x, y)
    x, y = rows[0]
    for name in (next(iter(x)), "new"):
        for value in (None, "text", math.nan, math.inf):
            assert_refused(model, lambda: model.learn_one({**x, "other": 1.0, name: value}, y), repr(name))  # noqa: B023
            assert_refused(model, lambda: model.predict_one({**x, name: value}), repr(name))  # noqa: B023
    assert_refused(model, lambda: model.learn_one({**x, "other": 1.0}, "spam"), "'spam'")
    skipping = model.clone({"on_invalid": "skip"})
    for t, (x, y) in enumerate(rows):
        skipping.learn_one(x, y)
        if t % 30 == 5:
            skipping.learn_one({**x, "new": math.nan}, y)
    first = next(iter(x))
    rest = {name: value for name, value in x.items() if name != first}
    assert skipping.n_skipped == 3 and skipping._deployed.sparse
    assert skipping.predict_proba_one({**x, first: math.nan, "new": None}) == model.predict_proba_one(rest)


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
