"""How many random features? Accuracy against D, and against the time a sample takes.

    python examples/accuracy_vs_components.py [--out DIR]

Runs on the ImageSegments and Bananas data that ship with River. With --out, writes accuracy_vs_components.png there.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from river import datasets

from onlinekit_plugins.random_features import FOGDClassifier, MPUFOGDClassifier

WIDTHS = (10, 20, 50, 100, 200, 500, 1000)
LEARNERS = {
    "fogd": lambda **params: FOGDClassifier(**params),
    "mpu-fogd": lambda **params: MPUFOGDClassifier(**params),
    "mpu-fogd, sine and cosine": lambda **params: MPUFOGDClassifier(features="sincos", **params),
}


def arrays(dataset):
    """A River data set as (X, y)."""
    samples = list(dataset)
    return np.array([list(x.values()) for x, _ in samples], dtype=float), np.array([y for _, y in samples])


def measure(make, X, y, D):
    """(accuracy of predictions made before learning, microseconds a sample): the mean of three seeds."""
    classes = None if len(np.unique(y)) > 2 else (False, True)
    right, spent = [], []
    for seed in (1, 2, 3):
        model = make(n_components=D, classes=classes, seed=seed)
        start = time.process_time()
        right.append(np.mean(model.prequential_many(X, y) == y))
        spent.append(time.process_time() - start)
    return float(np.mean(right)), 1e6 * min(spent) / len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for accuracy_vs_components.png")
    out = parser.parse_args().out

    results = {}
    for dataset in (datasets.ImageSegments(), datasets.Bananas()):
        X, y = arrays(dataset)
        name = type(dataset).__name__
        print(f"\n{name}: {X.shape[0]} samples, {X.shape[1]} features")
        print(f"{'D':>27}" + "".join(f"{D:>8}" for D in WIDTHS))
        for title, make in LEARNERS.items():
            measure(make, X, y, WIDTHS[0])  # compiles, or takes the compiled code from disk
            found = results[name, title] = [measure(make, X, y, D) for D in WIDTHS]
            print(f"{title:>27}" + "".join(f"{100 * accuracy:8.2f}" for accuracy, _ in found))
            print(f"{'us a sample':>27}" + "".join(f"{us:8.2f}" for _, us in found))

    if out:
        draw(results, out / "accuracy_vs_components.png")


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for name, _ in results))
    figure, axes = plt.subplots(len(names), 2, figsize=(9, 3.2 * len(names)), sharey="row", squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for title in LEARNERS:
            accuracy, us = zip(*results[name, title], strict=True)
            row[0].plot(WIDTHS, accuracy, "o-", label=title)
            row[1].plot(us, accuracy, "o-", label=title)
        row[0].set(xscale="log", xlabel="directions D", ylabel="accuracy", title=name)
        row[1].set(xscale="log", xlabel="microseconds a sample (predict and learn)", title=name)
    axes[0][0].legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    print(f"\nfigure: {path}")


if __name__ == "__main__":
    main()
