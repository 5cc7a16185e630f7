"""Our logistic with scaling inside against River's StandardScaler | LogisticRegression: CPU time a sample.

Both go through `river.evaluate.progressive_val_score` with Accuracy over the same dicts; then ours alone through
`prequential_many`. Interleaved in one process, median of several rounds after warm-up.

    python benchmarks/linear_river.py [--quick] [--out benchmarks/results/linear_river.md]
"""

import argparse
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import river
from river import evaluate, linear_model, metrics, optim, preprocessing

from onlinekit_plugins.linear import LogisticRegression


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def table(rounds):
    """The lines of the table."""
    yield "| d | River, us | onlinekit one by one, us | ratio | onlinekit arrays, us | arrays : one by one |"
    yield "|---|---|---|---|---|---|"
    for d, n in ((8, 4000), (54, 1500), (300, 400)):
        rng = np.random.default_rng(d)
        X = rng.normal(size=(n, d))
        y = X @ rng.normal(size=d) + rng.normal(size=n) > 0
        names = [f"f{j}" for j in range(d)]  # one string a feature, as readers of files give them
        stream = [(dict(zip(names, row.tolist(), strict=True)), bool(t)) for row, t in zip(X, y, strict=True)]
        big, labels = np.tile(X, (10, 1)), np.tile(y, 10)

        def theirs(stream=stream):
            model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(0.01))
            return evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get()

        def ours(stream=stream):
            return evaluate.progressive_val_score(
                stream, LogisticRegression(standardize=True), metrics.Accuracy()
            ).get()

        def arrays(big=big, labels=labels):
            return LogisticRegression(standardize=True).prequential_many(big, labels)

        assert theirs() == ours()
        arrays()
        times = [(cpu(theirs) / n, cpu(ours) / n, cpu(arrays) / len(big)) for _ in range(rounds)]
        river, one, many = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
        yield (f"| {d} | {river:.1f} | {one:.1f} | {river / one:.1f} | {many:.2f} | {one / many:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--out", type=Path, help="write the table to this file")
    options = parser.parse_args()
    lines = [
        f"`python {' '.join(sys.argv)}`: Python {platform.python_version()}, River {river.__version__}, NumPy "
        f"{np.__version__}, two shared cores. CPU microseconds a sample, median of rounds, candidates in turn.",
        "",
        *table(3 if options.quick else 11),
    ]
    print("\n".join(lines))
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
