"""A first learner: one sample at a time in a River pipeline, whole arrays at once, and the report of a run.

    python examples/first_learner.py [--out DIR]

Runs on the Phishing data that ship with River. With --out, writes report.html there.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from river import datasets, evaluate, metrics

import onlinekit
from onlinekit.evaluate import prequential


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for report.html")
    out = parser.parse_args().out

    print("What is installed:", ", ".join(spec.name for spec in onlinekit.specs("learner")))

    # 1. A learner is a River classifier. It scales its features itself.
    model = onlinekit.create("learner", "logistic", standardize=True)
    print("\nOne sample at a time, by River's own evaluation:")
    print(" ", evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()))

    # 2. The same over arrays: every row is predicted, then learned, in one compiled loop.
    samples = list(datasets.Phishing())
    X = np.array([list(x.values()) for x, _ in samples])
    y = np.array([label for _, label in samples])
    twin = model.clone()
    twin.prequential_many(X[:10], y[:10])  # compiles, or takes the compiled code from disk
    twin, start = model.clone(), time.perf_counter()
    predictions = twin.prequential_many(X, y)
    spent = time.perf_counter() - start
    print("\nAs arrays:")
    print(f"  accuracy {np.mean(predictions == y):.4f}, {1e6 * spent / len(y):.2f} microseconds a sample")

    # 3. Bad values are named before they can do harm.
    try:
        model.learn_one({"https": float("nan")}, True)
    except ValueError as error:
        print(f"\nA bad value:\n  {error}")

    # 4. An evaluation with the two simple rules beside it, and its report.
    result = prequential(model.clone(), datasets.Phishing(), metrics=[metrics.F1(), metrics.LogLoss()])
    print("\nEvaluated with the rules that a learner must beat:")
    for name, value in {"Accuracy": result.accuracy, **result.metrics}.items():
        print(f"  {name:<9} {value:.4f}")
    if out:
        out.mkdir(parents=True, exist_ok=True)
        result.to_html(out / "report.html", title="A first learner on Phishing")
        print(f"  report    {out / 'report.html'}")


if __name__ == "__main__":
    main()
