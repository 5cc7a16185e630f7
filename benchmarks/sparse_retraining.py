"""Retraining on long sparse rows, as they are and standardised: time a sample, memory, retrains, accuracy.

    python benchmarks/sparse_retraining.py --data DIR --out benchmarks/results/sparse_retraining.md

A RetrainingClassifier serves a penalised logistic regression fitted to the latest mails of the Spam Assassin stream
(39,916 words, 156 of them in a mail), test-then-train. Each line is a process of its own. DIR holds spam_corpus.npz as
load.py there reads it (ONLINEKIT_DATA is its default); --quick takes a made stream.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import onlinekit
from onlinekit.monitor import RetrainingClassifier
from onlinekit_plugins.drift.every_n import EveryNMonitor
from onlinekit_plugins.sensitivity import LinearModel, NewtonTest, SphereTest

C, TOLERANCE, EVERY = 0.001, 0.05, 100
MONITORS: dict[str, Callable[[int], Any]] = {
    "once": lambda features: None,
    "every-n": lambda features: EveryNMonitor(n=500, signal="error"),
    "sphere-test": lambda features: SphereTest(tolerance=TOLERANCE, C=C, spare=features, unsure="retrain"),
    "newton-test": lambda features: NewtonTest(tolerance=TOLERANCE, C=C, spare=features, unsure="retrain"),
}
# standardize, monitor, window, rows of the stream (0: all of them)
CELLS = [
    *((True, name, 500, 800) for name in ("once", "sphere-test", "newton-test")),
    *((False, name, 500, 800) for name in ("once", "sphere-test", "newton-test")),
    *((False, name, 2000, 0) for name in MONITORS),
]
QUICK = [(standardize, name, 200, 400) for standardize in (True, False) for name in MONITORS]


def read(folder: str | None) -> tuple[Any, np.ndarray]:
    """CSR rows (n, d) and labels (n,) bool."""
    if folder is None:
        rng = np.random.default_rng(0)
        X = sp.random(600, 3000, 0.02, format="csr", random_state=0)
        return X, X @ rng.normal(size=3000) > 0
    spec = importlib.util.spec_from_file_location("load", Path(folder) / "load.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data = module.load("spam_corpus")
    values, columns, ends, shape = data["X"]
    return sp.csr_matrix((values.astype(float), columns, ends), shape=tuple(shape)), data["y"] > 0


def run(folder: str | None, standardize: bool, name: str, window: int, length: int) -> str:
    """One line of the table."""
    X, y = read(folder)
    length = min(length or X.shape[0], X.shape[0])
    model = RetrainingClassifier(
        LinearModel(C=C), MONITORS[name](X.shape[1]), window=window, min_samples=window, check_every=EVERY,
        standardize=standardize,
    )  # fmt: skip
    hits, times, before = [], [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with threadpool_limits(1):
        for row, label in zip(X[:length], y[:length].tolist(), strict=True):
            x = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            start = time.process_time()
            hits.append(model.predict_one(x) == label)
            model.learn_one(x, label)
            times.append(time.process_time() - start)
    used = np.array(times)[window:]
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    certified = sum(verdict.certified for _, verdict in model.verdicts)
    return (
        f"| {'standardised' if standardize else 'as they are'} | {name} | {window} | {length} | {model.n_checks} |"
        f" {certified} | {model.n_retrains} | {np.mean(hits[window:]):.3f} | {1e3 * np.median(used):.2f} |"
        f" {1e3 * used.mean():.2f} | {model.retrain_seconds / (1 + model.n_retrains):.2f} | {memory:.0f} |"
    )


HEAD = """# Retraining on long sparse rows

`python benchmarks/sparse_retraining.py --data DIR --out ...` (Python {python}, NumPy {numpy}, onlinekit {own}, one
thread of a shared two-core {machine})

{what}, test-then-train; logistic regression, C = {C} in C/2 |w|^2 + mean loss, fitted to the window; a question every
{every} samples. The certified monitors keep the model while a proof says that at most {tolerance:.0%} of the latest 200
rows change their label, and retrain otherwise. CPU time of predict_one and learn_one after the first training; the
mean has the questions and the refits in it. Memory: growth of the process's peak. With rows of another scale the same C
is another penalty: the first six lines compare cost, not accuracy.

| rows | monitor | window | samples | checks | certified | retrains | accuracy | median ms | mean ms | a refit, s | MB |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"))
    parser.add_argument("--out", type=Path, help="a .md file")
    parser.add_argument("--quick", action="store_true", help="a made stream of 600 rows")
    args = parser.parse_args()
    if not args.quick and args.data is None:
        parser.error("needs --data DIR, ONLINEKIT_DATA or --quick")
    lines, spawn = [], multiprocessing.get_context("spawn")
    for cell in QUICK if args.quick else CELLS:
        # A process for each, since a peak of memory never falls.
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            lines.append(pool.submit(run, None if args.quick else args.data, *cell).result())
        print(lines[-1], flush=True)
    what = "A made stream" if args.quick else "The Spam Assassin stream, 9,324 mails of 156 words each among 39,916"
    head = HEAD.format(
        python=platform.python_version(), numpy=np.__version__, own=onlinekit.__version__, machine=platform.machine(),
        what=what, C=C, every=EVERY, tolerance=TOLERANCE,
    )  # fmt: skip
    if args.out:
        args.out.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
