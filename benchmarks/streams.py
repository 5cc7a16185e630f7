"""Accuracy, kappa against the no-change rule and samples a second, test then train, of every onlinekit learner and of
River's, on streams.

    python benchmarks/streams.py --data DIR            # all; what is in OUT/streams.jsonl already is not run again
    python benchmarks/streams.py --quick               # River's bundled sets only, short
    python benchmarks/streams.py --data DIR --report   # only writes the table and the figure from what is there
    python benchmarks/streams.py --data DIR --minutes 15   # a slice: no new cell is begun after so long

Phishing, Bananas and ImageSegments come with River; the others are read from DIR (or the variable ONLINEKIT_DATA) as
NAME.npz with X and y. Ours run through `prequential_many` (arrays), River's through predict_one / learn_one; seeds 0,
1, 2 where there is a seed. All rows, but for ours that need more than BUDGET. CPU time, after warm-up.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import base, datasets, forest, linear_model, multiclass, neighbors, preprocessing, tree

import onlinekit

BUNDLED = {"phishing": datasets.Phishing, "bananas": datasets.Bananas, "image_segments": datasets.ImageSegments}
FILES = {"elec2": None, "weather_noaa": None, "covtype": 100_000, "insects_gradual_bal": None, "rialto": None}
MARKS = (
    1_000,
    2_000,
    3_000,
    4_000,
    5_000,
    10_000,
    20_000,
)  # accuracy is noted after so many rows too, to compare with short runs
BUDGET = 20.0  # CPU seconds; a learner of ours that needs more is cut off at the next thousand rows
SEEDS = (0, 1, 2)
# Title -> learner, parameters that are not its defaults. The exact kernel learners keep all rows if left to themselves.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mpu-fogd sincos": ("mpu-fogd", {"features": "sincos"}),
    "mpu-fogd D=500": ("mpu-fogd", {"n_components": 500}),
    "id-odm window=500": ("id-odm", {"window": 500}),
    "l2-svm window=500": ("l2-svm", {"window": 500}),
}


def read(name: str, data: Path | None) -> tuple[np.ndarray, list[Any]] | None:
    """(X, y) of a stream in its order, y booleans or integers; None when its file is not there."""
    if name in BUNDLED:
        rows = list(BUNDLED[name]())
        X = np.array([list(map(float, x.values())) for x, _ in rows])
        labels = [y for _, y in rows]
    else:
        path = None if data is None else data / f"{name}.npz"
        if path is None or not path.exists():
            return None
        with np.load(path) as file:
            X, labels = file["X"][: FILES[name]].astype(float), file["y"][: FILES[name]].tolist()
    names = sorted(set(labels))
    codes = [names.index(y) for y in labels]
    return X, [bool(k) for k in codes] if len(names) == 2 else codes


def ours(binary: bool) -> dict[str, tuple[Callable[..., Any], bool]]:
    """Every classifier of the registry -> (maker, has a seed); scaled inside where it can be."""
    found: dict[str, tuple[Callable[..., Any], bool]] = {}
    for spec in onlinekit.specs("learner"):
        try:
            kind = onlinekit.get("learner", spec.name)
            if not issubclass(kind, base.Classifier):
                continue
            parameters = kind()._get_params()
        except onlinekit.PluginError as error:
            print(f"{spec.name} left out: {error}")
            continue
        fixed: dict[str, Any] = {"standardize": True} if "standardize" in parameters else {}
        if not binary and "classes" in parameters:
            fixed["classes"] = None
        wrap = not binary and "classes" not in parameters and not kind()._multiclass

        def make(kind: Any = kind, fixed: dict = fixed, wrap: bool = wrap, **more: Any) -> Any:
            model = kind(**fixed, **more)
            return multiclass.OneVsRestClassifier(model) if wrap else model

        found[spec.name] = (make, "seed" in parameters)
    for title, (name, setting) in VARIANTS.items():
        if name in found:
            make, has_seed = found[name]
            found[title] = (functools.partial(make, **setting), has_seed)
    return found


def rivers(binary: bool) -> dict[str, tuple[Callable[..., Any], bool]]:
    """River's learners -> (maker, has a seed)."""

    def scaled(make: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: preprocessing.StandardScaler() | make()

    def linear(make: Callable[[], Any]) -> Callable[[], Any]:
        return scaled(make if binary else lambda: multiclass.OneVsRestClassifier(make()))

    return {
        "LogisticRegression": (linear(linear_model.LogisticRegression), False),
        "ALMA": (linear(linear_model.ALMAClassifier), False),
        "PA": (linear(linear_model.PAClassifier), False),
        "SoftmaxRegression": (scaled(linear_model.SoftmaxRegression), False),
        "HoeffdingTree": (tree.HoeffdingTreeClassifier, False),
        "HoeffdingAdaptiveTree": (tree.HoeffdingAdaptiveTreeClassifier, True),
        "ARF(10)": (lambda seed: forest.ARFClassifier(n_models=10, seed=seed), True),
        "KNN": (
            lambda seed: preprocessing.StandardScaler() | neighbors.KNNClassifier(engine=neighbors.SWINN(seed=seed)),
            True,
        ),
    }


def marks(right: np.ndarray) -> dict[str, float]:
    """Accuracy after each of MARKS rows that there were, and after all."""
    found = {str(m): float(right[:m].mean()) for m in MARKS if m < len(right)}
    return {**found, "all": float(right.mean())}


def one_by_one(model: Any, X: np.ndarray, y: list[Any], budget: float) -> tuple[np.ndarray, float]:
    """(which rows were right, CPU seconds), until the budget is spent."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    right = np.zeros(len(rows), dtype=bool)
    start = time.process_time()
    for t, (x, label) in enumerate(zip(rows, y, strict=True)):
        right[t] = model.predict_one(x) == label
        model.learn_one(x, label)
        if t % 100 == 99 and time.process_time() - start > budget:
            return right[: t + 1], time.process_time() - start
    return right, time.process_time() - start


def by_arrays(model: Any, X: np.ndarray, y: list[Any], budget: float) -> tuple[np.ndarray, float]:
    """one_by_one through prequential_many, in pieces of 1,000 rows."""
    parts, spent = [], 0.0
    for first in range(0, len(y), 1000):
        piece = y[first : first + 1000]
        start = time.process_time()
        got = model.prequential_many(X[first : first + 1000], piece)
        spent += time.process_time() - start
        parts.append(np.array([p == t for p, t in zip(got, piece, strict=True)]))
        if spent > budget:
            break
    return np.concatenate(parts), spent


def cells(X: np.ndarray, y: list[Any], quick: bool) -> Iterator[tuple[str, str, int, Callable[[], dict[str, Any]]]]:
    """(library, learner, seed, function that measures) for one stream."""
    binary = isinstance(y[0], bool)
    budget = 2.0 if quick else BUDGET
    for name, (make, has_seed) in ours(binary).items():
        limit = math.inf if "window" in name and not quick else budget
        for seed in SEEDS if has_seed else SEEDS[:1]:

            def run(make: Any = make, limit: float = limit, more: dict = {"seed": seed} if has_seed else {}) -> dict:
                few = min(1000, len(y))
                through = by_arrays if hasattr(make(**more), "prequential_many") else one_by_one
                through(make(**more), X[:few], y[:few], limit)  # compiles, and so does this
                one_by_one(make(**more), X[:50], y[:50], budget)
                right, spent = through(make(**more), X, y, limit)
                few = min(3000, len(right))
                some, seconds = one_by_one(make(**more), X[:few], y[:few], budget / 10)
                return {"right": right, "seconds": spent, "one_by_one": len(some) / seconds}

            yield "onlinekit", name, seed, run
    rows = 1000 if quick else len(y)
    for name, (make, has_seed) in rivers(binary).items():
        for seed in SEEDS if has_seed else SEEDS[:1]:

            def run(make: Any = make, more: dict = {"seed": seed} if has_seed else {}) -> dict[str, Any]:
                right, spent = one_by_one(make(**more), X[:rows], y[:rows], math.inf)
                return {"right": right, "seconds": spent, "one_by_one": len(right) / spent}

            yield "river", name, seed, run


def measure(args: argparse.Namespace, file: Path) -> None:
    """Run what is not in the file yet, appending each finished cell."""
    start = time.monotonic()
    done = {(c["stream"], c["library"], c["learner"], c["seed"]) for c in lines(file)}
    for stream in args.stream or ([*BUNDLED] if args.quick else [*BUNDLED, *FILES]):
        loaded = read(stream, args.data)
        if loaded is None:
            print(f"{stream}: no file, left out")
            continue
        X, y = loaded
        if args.quick:
            X, y = X[:2000], y[:2000]
        same = np.array([False, *(a == b for a, b in zip(y[1:], y[:-1], strict=True))])
        for library, learner, seed, run in cells(X, y, args.quick):
            left_out = (args.learner and learner not in args.learner) or seed not in args.seed
            if (stream, library, learner, seed) in done or left_out:
                continue
            if time.monotonic() - start > 60.0 * args.minutes:
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a learner that says it collapsed: the table shows it
                found = run()
            right = found["right"]
            cell = {
                "stream": stream, "library": library, "learner": learner, "seed": seed, "rows": len(right),
                "stream_rows": len(y), "accuracy": marks(right), "no_change": marks(same[: len(right)]),
                "per_second": len(right) / found["seconds"], "one_by_one": found["one_by_one"],
            }  # fmt: skip
            with open(file, "a") as out:
                out.write(json.dumps(cell) + "\n")
            print(f"{stream:20} {learner:24} {seed} {len(right):7} {cell['accuracy']['all']:.4f}", flush=True)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("ONLINEKIT_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="bundled sets, at most 2,000 rows, into OUT/streams_quick")
    parser.add_argument("--report", action="store_true", help="write the table and the figure only")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no new cell after so long")
    parser.add_argument("--stream", nargs="*")
    parser.add_argument("--learner", nargs="*")
    parser.add_argument("--seed", nargs="*", type=int, default=SEEDS)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    name = "streams_quick" if args.quick else "streams"
    if not args.report:
        measure(args, args.out / f"{name}.jsonl")
    from streams_report import write  # beside this script

    write(lines(args.out / f"{name}.jsonl"), args.out, name)


if __name__ == "__main__":
    main()
