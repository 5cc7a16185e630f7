"""A sliding window that is exact: every sample that comes pushes the oldest out, as if it had never been there.

    python examples/sliding_window.py [--out DIR]

Runs on the Bananas data that ship with River, turned round half way, so that what was learned before is wrong after.
With --out, writes sliding_window.png there (needs matplotlib).
"""

import argparse
import time
from itertools import islice
from pathlib import Path

import numpy as np
from river import datasets, linear_model, preprocessing

from onlinekit_plugins.id_odm import ODMClassifier


def stream(n: int = 1600) -> list[tuple[dict, bool]]:
    """The first n samples; from the middle on both features have the opposite sign and the labels are swapped."""
    samples = list(islice(datasets.Bananas(), n))
    turned = [({name: -value for name, value in x.items()}, not y) for x, y in samples[n // 2 :]]
    return samples[: n // 2] + turned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for sliding_window.png")
    out = parser.parse_args().out
    samples = stream()
    models = {
        "last 300 samples": ODMClassifier(lam=10.0, gamma=1.0, window=300),
        "all samples": ODMClassifier(lam=10.0, gamma=1.0),
        "River's logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }
    right = {}
    for name, model in models.items():
        hits, start = [], time.perf_counter()
        for x, y in samples:
            hits.append(model.predict_one(x) == y)
            model.learn_one(x, y)
        spent = time.perf_counter() - start
        right[name] = np.array(hits, dtype=float)
        parts = [right[name][a:b].mean() for a, b in ((300, 800), (800, 1100), (1100, 1600))]
        print(
            f"{name:<17} accuracy {parts[0]:.3f} before the turn, {parts[1]:.3f} in the 300 samples after, "
            f"{parts[2]:.3f} later; {1e6 * spent / len(samples):.0f} us a sample"
        )

    window = models["last 300 samples"]
    fit = ODMClassifier(lam=10.0, gamma=1.0)
    for x, y in samples[-300:]:
        fit.learn_one(x, y)
    X = np.array([list(x.values()) for x, _ in samples])
    names = list(samples[0][0])
    queries = [dict(zip(names, row, strict=True)) for row in X[:200].tolist()]
    gap = max(abs(window.predict_proba_one(x)[True] - fit.predict_proba_one(x)[True]) for x in queries)
    print(f"after 1,300 exchanges the window equals a fit of its 300 samples to {gap:.1e}")
    assert gap < 1e-6

    if out:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 3))
        for name, hits in right.items():
            axes.plot(np.convolve(hits, np.ones(100) / 100, mode="valid"), label=name)
        axes.axvline(800, color="grey", linewidth=0.8)
        axes.set(xlabel="sample", ylabel="accuracy of the last 100")
        axes.legend(fontsize=8)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "sliding_window.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main()
