"""Our logistic with scaling inside against River's StandardScaler | LogisticRegression: CPU time a sample.

Both go through `river.evaluate.progressive_val_score` with Accuracy over the same dicts; then ours alone through
`prequential_many`. Interleaved in one process, median of several rounds after warm-up.

    python benchmarks/linear_river.py
"""

import statistics
import time

import numpy as np
from river import evaluate, linear_model, metrics, optim, preprocessing

from onlinekit_plugins.linear import LogisticRegression


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rounds=5):
    print("| d | River, us | onlinekit one by one, us | ratio | onlinekit arrays, us | arrays : one by one |")
    print("|---|---|---|---|---|---|")
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
        print(f"| {d} | {river:.1f} | {one:.1f} | {river / one:.1f} | {many:.2f} | {one / many:.0f} |")


if __name__ == "__main__":
    main()
