"""Speed of Bayesian logistic regression against River: CPU time of predict_proba_one + learn_one, one sample at a time.

The models see the same dicts; River's BayesianLinearRegression predicts with predict_one. Interleaved in one process,
median of several rounds after warm-up, linear algebra on one thread.

    python benchmarks/bayes_logistic_speed.py --out benchmarks/results/bayes_logistic_speed.md
"""

import argparse
import os
import platform
import statistics
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: River's matrices would spin other cores

import numpy as np
import river
from river import linear_model, preprocessing

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression

OURS = {
    "full": BayesianLogisticRegression,
    "full, drift=None": lambda: BayesianLogisticRegression(drift=None),
    "full, standardize": lambda: BayesianLogisticRegression(standardize=True),
    "full, auto (5 models)": lambda: BayesianLogisticRegression(drift="auto"),
    "diag": lambda: BayesianLogisticRegression(covariance="diag"),
}
PEERS = {
    "LogisticRegression": linear_model.LogisticRegression,
    "StandardScaler + LogisticRegression": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "BayesianLinearRegression": linear_model.BayesianLinearRegression,
}


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def run(make, samples):
    """CPU seconds of test-then-train over the samples."""
    model = make()
    predict = getattr(model, "predict_proba_one", None) or model.predict_one
    learn = model.learn_one
    start = time.process_time()
    for x, y in samples:
        predict(x)
        learn(x, y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="file for the table")
    parser.add_argument("--quick", action="store_true", help="few samples and rounds")
    options = parser.parse_args()
    rounds = 3 if options.quick else 9
    names = [*OURS, *PEERS]
    lines = ["CPU microseconds a sample; in brackets how many times as fast as LogisticRegression alone.", ""]
    lines += ["| d | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    beside = []
    for d, n in ((8, 4000), (54, 1500), (300, 500)):
        rng = np.random.default_rng(d)
        X = rng.standard_normal((n // 4 if options.quick else n, d))
        y = X @ rng.standard_normal(d) > 0
        keys = [f"f{j}" for j in range(d)]
        samples = [(dict(zip(keys, row, strict=True)), t) for row, t in zip(X.tolist(), y.tolist(), strict=True)]
        times = {name: [] for name in names}
        for make in (*OURS.values(), *PEERS.values()):
            run(make, samples[:50])
        for _ in range(rounds):
            for name, make in {**OURS, **PEERS}.items():
                times[name].append(run(make, samples) / len(samples) * 1e6)
        middle = {name: statistics.median(values) for name, values in times.items()}
        ratio = {name: middle["LogisticRegression"] / value for name, value in middle.items()}
        lines.append(f"| {d} | " + " | ".join(f"{middle[name]:.1f} ({ratio[name]:.2f})" for name in names) + " |")
        bayes = middle["BayesianLinearRegression"] / middle["full"]
        beside.append(f"d = {d}: {bayes:.1f}")
        print(lines[-1], f"BayesianLinearRegression / full {bayes:.2f}", flush=True)
    lines += ["", f"The full form against BayesianLinearRegression, times as fast: {', '.join(beside)}.", ""]
    command = f"python benchmarks/bayes_logistic_speed.py{' --quick' if options.quick else ''}"
    about = f"`{command}` (Python {platform.python_version()}, River {river.__version__}, {processor()})"
    if options.out:
        Path(options.out).write_text("\n".join([about, "", *lines]))


if __name__ == "__main__":
    main()
