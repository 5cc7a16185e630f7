"""Tables 2 and 3 of the MPU-FOGD paper on the sets that can be had: accuracy, training and test time of its methods.

    python benchmarks/mpu_fogd_paper.py --data DIR            # what is in OUT/mpu_fogd_paper.jsonl is not run again
    python benchmarks/mpu_fogd_paper.py --quick               # River's bundled sets, under two minutes
    python benchmarks/mpu_fogd_paper.py --data DIR --report   # only writes the tables from what is there

Protocol: features to [-1, 1] by the training rows (w7a stays {0, 1}), random 60/20/20 split of all rows for each of
three seeds. Every method has SETTINGS settings, tried with one pass over at most TUNE training rows of the first
split; the best on at most VALID validation rows is then trained on each split, five passes over all its training
rows, and tested on all its test rows after the first and after the fifth. D directions or units
(400, more where WIDER says so), a budget of 400 (NOGD) and 500 (AVM). PAMO alone standardizes inside as well: on
features off centre, as those of ijcnn1 and w7a are here, ours predicts the majority at nearly every setting.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets

from onlinekit_plugins.budget import AVMClassifier, PAMOClassifier
from onlinekit_plugins.linear import LogisticRegression, OGDClassifier, PAClassifier
from onlinekit_plugins.random_features import FOGDClassifier, MPUFOGDClassifier
from onlinekit_plugins.random_features.nogd import NOGDClassifier
from onlinekit_plugins.random_features.rrf import RRFClassifier

SETS = {  # name -> (file, parts, the label that counts as positive), in the order of cost
    "ijcnn1": ("ijcnn1", ("",), None),
    "skin": ("skin", ("",), None),
    "letter": ("letter_scale", ("", "_test"), None),
    "usps": ("usps", ("", "_test"), None),
    "poker": ("poker_train", ("",), None),
    "w7a": ("w7a", ("",), None),
    "codrna": ("cod_rna", ("_test",), None),
    "covtype": ("covtype", ("",), 2),
    "forest": ("covtype", ("",), None),
    "mnist": ("mnist", ("", "_test"), None),
}
BUNDLED = {"phishing": datasets.Phishing, "bananas": datasets.Bananas, "image_segments": datasets.ImageSegments}
D = 400
WIDER = {"codrna": 2000, "covtype": 1000, "forest": 1000, "poker": 1000}
SETTINGS = 15
TUNE, VALID = 60_000, 10_000
SEEDS = (0, 1, 2)
PASSES = 5

Grid = Callable[[float, int], list[dict[str, Any]]]  # of the median distance of the rows and of D
WIDTHS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)


def by_width(name: str, values: tuple[float, ...], widths: tuple[float, ...] = WIDTHS, **fixed: Any) -> Grid:
    """Widths around the median distance, times values of one other parameter."""
    return lambda median, D: [{"sigma": median * factor, name: value, **fixed} for factor in widths for value in values]


def only_width(median: float) -> list[float]:
    return [median * 2.0 ** (i / 2 - 4.5) for i in range(SETTINGS)]


def rates(name: str, low: float, high: float) -> Grid:
    return lambda median, D: [{name: float(v)} for v in np.geomspace(low, high, SETTINGS)]


def with_components(grid: Grid) -> Grid:
    return lambda median, D: [{**setting, "n_components": D} for setting in grid(median, D)]


def as_in_paper(D: int) -> dict[str, float]:
    """eta1 = 100, eta2 = .1, no limit on the rotation."""
    return {"alpha": 100 / D, "beta": 0.1 / D, "max_rotation": float("inf")}


STEPS = (0.1, 0.5, 2.0)
METHODS: dict[str, tuple[Any, Grid]] = {
    "LR": (LogisticRegression, rates("lr", 1e-4, 10.0)),
    "OGD": (OGDClassifier, rates("lr", 1e-4, 10.0)),
    "PA": (PAClassifier, rates("C", 2.0**-11, 8.0)),
    "FOGD .001": (
        FOGDClassifier,
        with_components(
            lambda median, D: [{"sigma": s, "alpha": 1e-3, "features": "sincos"} for s in only_width(median)]
        ),
    ),
    "FOGD": (FOGDClassifier, with_components(by_width("alpha", STEPS, features="sincos"))),
    "NOGD": (NOGDClassifier, by_width("lr", STEPS, budget=400, rank=80)),
    "RRF": (RRFClassifier, with_components(by_width("lr", STEPS))),
    "PAMO": (
        PAMOClassifier,
        lambda median, D: [
            {"C": C, "C_units": units, "n_units": D} for C in (0.03, 0.1, 0.3, 1.0, 3.0) for units in (0.1, 1.0, 10.0)
        ],
    ),
    "AVM": (AVMClassifier, by_width("l2", (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), widths=(1 / 8, 1 / 4, 1 / 2), budget=500)),
    "MPU-FOGDU": (
        MPUFOGDClassifier,
        with_components(lambda median, D: [{"sigma": s, **as_in_paper(D)} for s in only_width(median)]),
    ),
    "MPU-FOGDUB": (
        MPUFOGDClassifier,
        with_components(lambda median, D: by_width("eta3", (1e-4, 1e-2, 1e-1), **as_in_paper(D))(median, D)),
    ),
    "MPU clip": (MPUFOGDClassifier, with_components(by_width("alpha", STEPS))),
    "MPU clip sincos": (MPUFOGDClassifier, with_components(by_width("alpha", STEPS, features="sincos"))),
}


def read(name: str, data: Path | None) -> tuple[np.ndarray, np.ndarray] | None:
    """(X, codes 0..K-1) of a set, None when its file is not there."""
    if name in BUNDLED:
        rows = list(BUNDLED[name]())
        X = np.array([list(map(float, x.values())) for x, _ in rows])
        labels = np.array([str(y) for _, y in rows])
    else:
        file, parts, positive = SETS[name]
        path = None if data is None else data / f"{file}.npz"
        if path is None or not path.exists():
            return None
        with np.load(path) as z:
            X = np.concatenate([matrix(z, part) for part in parts])
            labels = np.concatenate([z[f"y{part}"] for part in parts])
        if positive is not None:
            labels = labels == positive
    return X, np.unique(labels, return_inverse=True)[1]


def matrix(z: Any, part: str) -> np.ndarray:
    """X or X_test of a file, stored whole or as CSR parts."""
    if f"X{part}" in z:
        return z[f"X{part}"].astype(np.float32)
    values, indices, indptr, shape = (z[f"X{part}_{key}"] for key in ("data", "indices", "indptr", "shape"))
    X = np.zeros(tuple(int(s) for s in shape), np.float32)
    X[np.repeat(np.arange(len(X)), np.diff(indptr)), indices] = values
    return X


def split(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """[training, validation, test] rows, scaled to [-1, 1] by the training rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    at = np.cumsum([int(0.6 * len(y)), int(0.2 * len(y))])
    parts = np.split(order, at)
    train = X[parts[0]].astype(float)
    low, high = train.min(axis=0), train.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    if name == "w7a":
        low, span = np.zeros(X.shape[1]), np.full(X.shape[1], 2.0)
        return [(X[i].astype(float), y[i]) for i in parts]
    return [(2.0 * (X[i] - low) / span - 1.0, y[i]) for i in parts]


def median_distance(X: np.ndarray) -> float:
    some = X[:400]
    squares = (some**2).sum(axis=1)
    between = squares[:, None] + squares[None] - 2.0 * some @ some.T
    return float(np.sqrt(np.median(between[np.triu_indices(len(some), 1)])))


def make(method: str, setting: dict[str, Any], classes: int, seed: int) -> Any:
    kind = METHODS[method][0]
    more: dict[str, Any] = {"standardize": method == "PAMO"}
    parameters = kind()._get_params()
    if "seed" in parameters:
        more["seed"] = seed + 1
    if classes > 2:
        more["classes"] = list(range(classes))
    return kind(**setting, **more)


def targets(codes: np.ndarray, classes: int) -> np.ndarray:
    return codes == 1 if classes == 2 else codes


def accuracy(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(share of right predictions, CPU seconds)."""
    start = time.process_time()
    got = np.asarray(model.predict_many(X))
    return float(np.mean(got == y)), time.process_time() - start


def cells(name: str, X: np.ndarray, codes: np.ndarray, seed: int, done: dict, args: Any) -> Iterator[dict[str, Any]]:
    """What is not done yet of a set and a seed: the tuning of a method (once for all seeds), then its run."""
    classes = int(codes.max()) + 1
    methods = [
        m
        for m in METHODS
        if (name, m, seed) not in done and not (m == "PAMO" and classes > 2) and m in (args.method or METHODS)
    ]
    if not methods:
        return
    parts = split(name, X, codes, seed)
    (train, train_codes), _, (test, test_codes) = parts
    for method in methods:
        if (name, method, "tune") not in done:
            tuned = tune(name, method, parts if seed == 0 else split(name, X, codes, 0), classes)
            done[name, method, "tune"] = tuned
            yield tuned
        model = make(method, done[name, method, "tune"]["best"], classes, seed)
        rng, labels, spent, found = np.random.default_rng(seed), targets(train_codes, classes), [], []
        for number in range(1, PASSES + 1):
            order = rng.permutation(len(train))
            start = time.process_time()
            model.learn_many(train[order], labels[order])
            spent.append(time.process_time() - start)
            if number in (1, PASSES):
                found.append(accuracy(model, test, targets(test_codes, classes)))
        yield {
            "set": name, "method": method, "seed": seed, "train_rows": len(train), "test_rows": len(test),
            "one_pass": found[0][0], "five_passes": found[1][0], "train_seconds": spent[0],
            "test_seconds": found[1][1],
        }  # fmt: skip


def tune(name: str, method: str, parts: Any, classes: int) -> dict[str, Any]:
    (train, codes), (valid, valid_codes), _ = parts
    few, some = slice(0, TUNE), slice(0, VALID)
    grid = METHODS[method][1](median_distance(train), WIDER.get(name, D))
    assert len(grid) == SETTINGS
    tried = []
    for setting in grid:
        model = make(method, setting, classes, 0)
        model.learn_many(train[few], targets(codes[few], classes))
        tried.append(accuracy(model, valid[some], targets(valid_codes[some], classes))[0])
    return {"set": name, "method": method, "seed": "tune", "best": grid[int(np.argmax(tried))], "valid": tried}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("ONLINEKIT_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="bundled sets, one seed, into OUT/mpu_fogd_paper_quick")
    parser.add_argument("--report", action="store_true", help="write the tables only")
    parser.add_argument("--set", nargs="*")
    parser.add_argument("--method", nargs="*")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    name = "mpu_fogd_paper_quick" if args.quick else "mpu_fogd_paper"
    file = args.out / f"{name}.jsonl"
    if not args.report:
        done = {(c["set"], c["method"], c["seed"]): c for c in lines(file)}
        names = args.set or (BUNDLED if args.quick else SETS)
        for seed, each in itertools.product((0,) if args.quick else SEEDS, names):
            loaded = read(each, args.data)
            if loaded is None:
                print(f"{each}: no file, left out")
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a collapse: the tables show it
                for cell in cells(each, *loaded, seed, done, args):
                    with open(file, "a") as out:
                        out.write(json.dumps(cell) + "\n")
                    if "five_passes" in cell:
                        print(
                            f"{each:16}{cell['method']:18}{cell['one_pass']:.4f} {cell['five_passes']:.4f}", flush=True
                        )
    from mpu_fogd_report import write  # beside this script

    write(lines(file), args.out, name)


if __name__ == "__main__":
    main()
