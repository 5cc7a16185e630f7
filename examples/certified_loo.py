"""All leave-one-out labels of a data set in one call, each with a proof.

    python examples/certified_loo.py [--out DIR]

A penalised logistic regression on the breast cancer data of scikit-learn. For every row the score that the model would
give it, had it never seen it, is bounded without a single refit; rows whose certain label is not theirs are worth a
second look. With --out, writes certified_loo.svg there.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from onlinekit_plugins.sensitivity import FitSummary, loo_certificates, solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for certified_loo.svg")
    out = parser.parse_args().out

    X, y = load_breast_cancer(return_X_y=True)
    # The intercept is a column of ones: the certificate speaks of an objective that penalises every coefficient.
    X = np.hstack([StandardScaler().fit_transform(X), np.ones((len(y), 1))])
    model = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)

    # 1. What the fit leaves behind, and the certificates of all rows.
    summary = FitSummary.from_sklearn(model, X, y)
    loo_certificates(summary, X, y == 1)  # compiles, or takes the compiled code from disk
    start = time.perf_counter()
    lower, upper, label = loo_certificates(summary, X, y == 1)
    spent = time.perf_counter() - start
    right = label == np.where(y == 1, 1, -1)
    print(f"{len(y)} rows in {1e3 * spent:.1f} ms, mean width of a score interval {np.mean(upper - lower):.2g}")
    print(f"certainly right without the row: {right.sum()}, certainly wrong: {np.sum((label != 0) & ~right)}, "
          f"undecided: {np.sum(label == 0)}")  # fmt: skip
    certain = np.mean(right)
    print(f"so leave-one-out accuracy is between {certain:.4f} and {certain + np.mean(label == 0):.4f}")

    # 2. The same by refitting, for some rows.
    some = np.random.default_rng(0).choice(len(y), 25, replace=False)
    start = time.perf_counter()
    for i in some:
        # Without row i, C of the mean loss stays as it was.
        w = solve(np.delete(X, i, 0), np.delete(y, i) == 1, summary.C, "logistic", summary.w0)
        assert lower[i] <= X[i] @ w <= upper[i], "a certificate was wrong"
    refits = (time.perf_counter() - start) / len(some) * len(y)
    print(f"{len(some)} warm refits agree; all {len(y)} would take {refits:.2f} s, {refits / spent:.0f} times as long")

    # 3. Rows to look at: the model is sure of the other label, even without having seen theirs.
    worst = np.argsort(np.where(y == 1, upper, -lower))[:5]
    print("rows that most contradict their labels:", ", ".join(f"{i} [{lower[i]:.2f}, {upper[i]:.2f}]" for i in worst))

    if out is not None:
        from matplotlib import pyplot as plt

        order = np.argsort(lower)
        figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
        for value, colour in ((0, "C3"), (1, "C0")):
            chosen = order[y[order] == value]
            ax.vlines(np.flatnonzero(y[order] == value), lower[chosen], upper[chosen], colour, linewidth=2,
                      label=f"class {value}")  # fmt: skip
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlabel("rows, by score")
        ax.set_ylabel("score without the row")
        ax.legend()
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "certified_loo.svg")
        print("figure:", out / "certified_loo.svg")


if __name__ == "__main__":
    main()
