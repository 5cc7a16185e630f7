"""kernel-experts beside its parts: prequential accuracy and time on streams, some of which it was chosen on.

Every learner in one pass over the stream, each row predicted and then learned; the mean of three seeds. The first
eight streams were used to choose the first three experts (mpu-fogd, least squares, passive-aggressive), the vote and
its constants; the next, beside ten sets that are not shown, to choose the other two (neighbours: how many, of how many
rows; logistic: the step); the last for nothing.

    python benchmarks/kernel_experts.py --data DIR [--out benchmarks/results/kernel_experts.md]
    python benchmarks/kernel_experts.py --quick          (the three that ship with River)
"""

import argparse
import os
import platform
import sys
import time
from pathlib import Path

import numba
import numpy as np
import river
from river import datasets, forest

from onlinekit_plugins.linear import LogisticRegression, PAClassifier
from onlinekit_plugins.random_features import FOGDClassifier, KernelExpertsClassifier, MPUFOGDClassifier

BUNDLED = {"Phishing": datasets.Phishing, "Bananas": datasets.Bananas, "ImageSegments": datasets.ImageSegments}
CHOSEN_ON = {"elec2": None, "weather_noaa": None, "insects_gradual_bal": None, "rialto": None, "covtype": 100_000}
OTHERS_CHOSEN_ON = {
    "letter_scale": None,
    "pendigits": None,
    "poker_train": None,
    "powersupply": None,
    "sea_stream": None,
    "shuttle": None,
    "transient_chessboard": 50_000,
    "usenet1": None,
    "usenet2": None,
}
OTHERS = {
    "breast_cancer": None,
    "fourclass": None,
    "heart": None,
    "ionosphere": None,
    "madelon": None,
    "mushrooms": None,
    "sea_big": None,
    "skin": 50_000,
}
SHUFFLED = ("mushrooms", "skin")  # sorted by label, or nearly
GROUPS = {
    "*used to choose the other two experts*": OTHERS_CHOSEN_ON,
    "*used to choose nothing*": OTHERS,
}
LEARNERS = {
    "pa": lambda classes, seed: PAClassifier(classes=classes, standardize=True),
    "logistic": lambda classes, seed: LogisticRegression(lr=0.1, classes=classes, standardize=True),
    "fogd": lambda classes, seed: FOGDClassifier(classes=classes, seed=seed),
    "mpu-fogd": lambda classes, seed: MPUFOGDClassifier(classes=classes, seed=seed),
    "mpu-fogd sincos": lambda classes, seed: MPUFOGDClassifier(features="sincos", classes=classes, seed=seed),
    "kernel-experts": lambda classes, seed: KernelExpertsClassifier(classes=classes, seed=seed),
}
ARF_ROWS = 1000


def bundled(make):
    samples = list(make())
    return np.array([[float(v) for v in x.values()] for x, _ in samples]), np.array([y for _, y in samples])


def stored(folder, name, n):
    with np.load(Path(folder) / f"{name}.npz") as parts:
        X, y = parts["X"].astype(float), parts["y"]
    order = np.random.default_rng(0).permutation(len(y)) if name in SHUFFLED else np.arange(len(y))
    return X[order[:n]], y[order[:n]]


def measure(X, y):
    """Learner -> (mean accuracy, CPU microseconds a row); and those of ARF on the first rows."""
    labels = np.unique(y)
    if len(labels) == 2:
        y, classes = y == labels[1], (False, True)
    else:
        classes = None
    found = {}
    for name, make in LEARNERS.items():
        make(classes, 1).prequential_many(X[:50], y[:50])  # compiles, or takes the compiled code from disk
        right, spent = [], []
        for seed in (1, 2, 3):
            model = make(classes, seed)
            start = time.process_time()
            predictions = model.prequential_many(X, y)
            spent.append(time.process_time() - start)
            right.append(np.mean(predictions == y))
        found[name] = float(np.mean(right)), 1e6 * min(spent) / len(y)
    model = forest.ARFClassifier(n_models=10, seed=1)
    rows = [dict(enumerate(x)) for x in X[:ARF_ROWS].tolist()]
    start = time.process_time()
    for x, label in zip(rows, y[:ARF_ROWS].tolist(), strict=True):
        model.predict_one(x)
        model.learn_one(x, label)
    return found, 1e6 * (time.process_time() - start) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the streams that ship with River")
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"), help="folder of the .npz files")
    parser.add_argument("--out", help="file to write instead of the screen")
    args = parser.parse_args()
    streams = {name: lambda make=make: bundled(make) for name, make in BUNDLED.items()}
    if not args.quick:
        if not args.data:
            parser.error("--data is needed for all but --quick")
        for name, n in {**CHOSEN_ON, **OTHERS_CHOSEN_ON, **OTHERS}.items():
            streams[name] = lambda name=name, n=n: stored(args.data, name, n)
    lines = [
        "# kernel-experts beside its parts\n",
        f"`{' '.join(['python', *('DIR' if a == args.data else a for a in sys.argv)])}`\n",
        f"Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}, River "
        f"{river.__version__}; two cores shared with other work.\n",
        "Accuracy of one pass, each row predicted before it is learned, %; mean of three seeds; the best in bold. Time "
        f"is CPU microseconds a row of predicting and learning; ARF(10) is River's forest on the first {ARF_ROWS:,} "
        "rows, for its time alone.\n",
        "| stream | rows | " + " | ".join(LEARNERS) + " | us: mpu-fogd | us: kernel-experts | us: ARF(10) |",
        "|---|---|" + "---|" * (len(LEARNERS) + 3),
    ]
    best = {title: [0, 0] for title in ("chosen on", *GROUPS)}
    title = "chosen on"
    for name, read in streams.items():
        X, y = read()
        found, arf = measure(X, y)
        top = max(accuracy for accuracy, _ in found.values())
        cells = [f"**{100 * a:.2f}**" if a == top else f"{100 * a:.2f}" for a, _ in found.values()]
        times = [f"{found[which][1]:.1f}" for which in ("mpu-fogd", "kernel-experts")]
        for heading, group in GROUPS.items():
            if name == next(iter(group)):
                title = heading
                lines.append(f"| {heading} | |" + " |" * (len(LEARNERS) + 3))
        lines.append(f"| {name} | {len(y):,} | " + " | ".join([*cells, *times, f"{arf:,.0f}"]) + " |")
        best[title][0] += found["kernel-experts"][0] == top
        best[title][1] += 1
        print(lines[-1], flush=True)
    first, *rest = [f"{won} of {total}" for won, total in best.values() if total]
    text = f"\nkernel-experts is the best on {first} streams that its first three experts were chosen on"
    lines.append(text + (f", on {rest[0]} that the other two were, and on {rest[1]} others.\n" if rest else ".\n"))
    if args.out:
        Path(args.out).write_text("\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
