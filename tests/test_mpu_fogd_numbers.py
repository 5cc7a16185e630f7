"""Numbers that mpu-fogd and its family are said to reach, and uses that share one instance."""

import json
import multiprocessing
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from onlinekit_plugins.random_features import KernelExpertsClassifier, MPUFOGDClassifier
from onlinekit_plugins.random_features.sincos import cosines, sincos

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
LEARNERS = [lambda: MPUFOGDClassifier(50), lambda: KernelExpertsClassifier(50)]


def rows(n=300, d=6):
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] > 0


@pytest.mark.parametrize("dtype, most", [("float64", 1e-15), ("float32", 3e-7)])
def test_sine_and_cosine_are_exact(dtype, most):
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.uniform(-1e5, 1e5, 200_000), np.arange(-60_000, 60_000) * (np.pi / 2)]).astype(dtype)
    s, c, alone = np.empty_like(z), np.empty_like(z), np.empty_like(z)
    sincos(z, s, c)
    cosines(z, alone)
    exact = z.astype(np.longdouble)
    assert np.abs(s - np.sin(exact)).max() <= most and np.abs(c - np.cos(exact)).max() <= most
    np.testing.assert_array_equal(alone, c)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sine_and_cosine_of_anything_are_bounded(dtype):
    z = np.array([1e6, -1e20, 1e38, np.inf, -np.inf, np.nan], dtype)
    s, c = np.empty_like(z), np.empty_like(z)
    sincos(z, s, c)
    assert np.all(np.abs(s) <= 2) and np.all(np.abs(c) <= 2)


def test_the_rotation_clip_on_many_dense_features():
    """64 pixels, ten classes, three passes: with the limit a tenfold step of the directions changes next to nothing."""
    X, y = load_digits(return_X_y=True)
    right = []
    for beta in (1e-3, 1e-2):
        model = MPUFOGDClassifier(beta=beta, classes=None)
        right.append(np.mean([np.mean(model.prequential_many(X, y) == y) for _ in range(3)]))
    assert abs(right[0] - right[1]) < 0.02 and min(right) > 0.93


@pytest.mark.parametrize("make", LEARNERS)
def test_threads_may_predict_with_one_instance(make):
    X, y = rows()
    model = make()
    model.learn_many(X, y)
    stream = [dict(enumerate(x)) for x in X.tolist()]
    want = [model.predict_proba_one(x) for x in stream]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(model.predict_proba_one, stream)) == want


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("make", LEARNERS)
def test_a_forked_process_learns_on_its_own(make):
    X, y = rows()
    model = make()
    model.learn_many(X, y)
    x, before = dict(enumerate(X[0].tolist())), model.predict_proba_one(dict(enumerate(X[0].tolist())))

    def work(sender):
        for label in (True, False) * 20:
            model.learn_one(x, label)
        sender.send(model.predict_proba_one(x))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(sender,))
    process.start()
    assert receiver.recv() != before
    process.join()
    assert model.predict_proba_one(x) == before


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("label", [2, "yes", [True], None, 0.5])
def test_labels_that_are_none_of_the_two_are_named(make, label):
    model = make()
    model.learn_one({"a": 1.0}, True)
    before = model.predict_proba_one({"a": 2.0})
    with pytest.raises((TypeError, ValueError), match=re.escape(repr(label))):
        model.learn_one({"a": 1.0, "b": 2.0}, label)
    assert model.predict_proba_one({"a": 2.0}) == before and model.n_features == 1


def table(name, title):
    """The lines of a checked-in table as lists of cells."""
    text = (BENCHMARKS / "results" / f"{name}.md").read_text().split(title)[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return [line for line in lines[2:] if len(line) > 1]


def test_the_checked_in_speeds_are_those_promised():
    kernels = {tuple(line[:3]): line for line in table("mpu_fogd_speed", "## Learning a row")}
    over_numpy, over_libm, blocks = ({key: line[at] for key, line in kernels.items()} for at in (10, 11, 12))
    assert float(over_numpy["8", "200", "float64"]) >= 10 and float(over_libm["8", "200", "float64"]) >= 4
    assert float(over_numpy["54", "1000", "float64"]) >= 3 and float(over_numpy["300", "1000", "float64"]) >= 3
    assert float(blocks["300", "1000", "float64"]) >= 1.5 and float(kernels["300", "1000", "64 : 32"][6]) >= 1.5
    wide, narrow = table("mpu_fogd_speed", "## Sine and cosine")
    assert float(wide[4]) >= 5 and float(narrow[4]) >= 8
    ratios = {line[0]: float(line[-1]) for line in table("mpu_fogd_speed", "## River end to end")}
    assert ratios["6"] >= 1 and ratios["54"] >= 3 and ratios["300"] >= 4
    cold, warm = table("mpu_fogd_speed", "## Start-up")
    assert float(cold[2]) <= 0.1 and float(cold[3]) <= 15 and float(warm[3]) <= 1.2


def test_the_best_of_the_family_is_near_the_best_of_all_on_streams(monkeypatch):
    """In the checked-in table: within half a point of every learner that is no forest on 6 of 8, at 10 times ARF."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    from streams_report import behind, pooled

    cells = [json.loads(line) for line in (BENCHMARKS / "results" / "streams.jsonl").read_text().splitlines()]
    table = pooled(cells)
    streams = {stream for stream, _, _ in table}
    learners = {(library, learner) for _, library, learner in table}
    assert len(streams) == 8 and {(s, *key) for s in streams for key in learners} == set(table), "no blanks"
    mine = {stream: table[stream, "onlinekit", "kernel-experts"] for stream in streams}
    lead = {stream: behind(c, stream, table, ())[0] for stream, c in mine.items()}
    assert sum(gap <= 0.005 for gap in lead.values()) >= 6, lead
    for stream, c in mine.items():
        assert c["rows"] == c["stream_rows"] and c["seeds"] == 3
        assert c["one_by_one"] >= 10 * table[stream, "river", "ARF(10)"]["one_by_one"]
