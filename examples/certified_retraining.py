"""A nightly retrain job that asks first whether retraining could change anything.

    python examples/certified_retraining.py [--out DIR]

A penalised logistic regression of scikit-learn tells the digits 5-9 from 0-4. Each night some rows join the data and
the oldest leave; the job keeps the deployed model as long as a proof says that at most 2 % of the latest rows could get
another label from a retrained one. With --out, writes certified_retraining.svg there: the share of rows whose label is
not certain, by level, and the intervals of one coefficient.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from onlinekit_plugins.sensitivity import FitSummary, Rule, Tracker

WINDOW, NIGHTLY, TOLERANCE = 900, 15, 0.02
LEVELS = ("sphere", "matrix-sphere", "ellipsoid")


def fitted(X: np.ndarray, y: np.ndarray) -> LogisticRegression:
    """Trained to the optimum; the intercept is X's column of ones, so that it is penalised as the bounds assume."""
    # C is per row here, so that the penalty of the mean loss stays the same when the number of rows changes.
    return LogisticRegression(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-9, max_iter=5000).fit(X, y)


def plot(path: Path, nights: list[dict], start: float) -> None:
    """The undecided share and one coefficient over the nights."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.5, 6), sharex=True, layout="constrained")
    night = np.arange(1, len(nights) + 1)
    for level in LEVELS:
        top.plot(night, [100 * n["undecided"][level] for n in nights], label=level)
    top.set(ylabel="rows with no certain label, %", title="How much the bounds leave open")
    top.axhline(100 * TOLERANCE, color="grey", linestyle=":", label="tolerance")
    top.set_ylim(top=105)
    top.legend(frameon=False, ncols=4, loc="upper center")
    for level, shade in zip(LEVELS, (0.15, 0.3, 0.6), strict=True):
        lower, upper = np.array([n["coefficient"][level] for n in nights]).T
        bottom.fill_between(night, lower, upper, alpha=shade, color="tab:blue", linewidth=0, label=level)
    bottom.plot(night, [n["deployed"] for n in nights], color="black", label="deployed")
    bottom.set(xlabel="night", ylabel="coefficient of pixel 21", title="Where a retrained coefficient must lie")
    # Night one shows the certificates at their best; the sphere would hide them all.
    bottom.set_ylim(start - 0.25, start + 0.25)
    bottom.legend(frameon=False, ncols=2)
    for axis in (top, bottom):
        for x in night[[n["decision"] == "retrain" for n in nights]]:
            axis.axvline(x, color="tab:red", linewidth=0.8)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for certified_retraining.svg")
    out = parser.parse_args().out

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = np.hstack([X[order] / 16.0, np.ones((len(y), 1))]), y[order] >= 5
    first, last = 0, WINDOW
    model = fitted(X[first:last], y[first:last])
    tracker = Tracker(FitSummary.from_sklearn(model, X[first:last], y[first:last]))
    start, nights, retrains, asking, refitting = float(model.coef_[0, 21]), [], 0, 0.0, 0.0
    print("night  possible flips  decided by     decision")
    while last + NIGHTLY <= len(y):
        # 1. Tonight's rows join, the oldest leave.
        tracker.add(X[last : last + NIGHTLY], y[last : last + NIGHTLY])
        tracker.remove(X[first : first + NIGHTLY], y[first : first + NIGHTLY])
        first, last = first + NIGHTLY, last + NIGHTLY
        data, latest = slice(first, last), X[last - 300 : last]

        # 2. Ask. Only if the summary of the fit cannot tell, one pass over the data is taken.
        clock = time.process_time()
        decision = tracker.decide(Rule("flips", TOLERANCE, latest), X[data], y[data])
        asking += time.process_time() - clock
        nights.append({
            "decision": decision.decision,
            "undecided": {level: float(np.mean(tracker.labels(latest, level) == 0)) for level in LEVELS},
            "coefficient": {level: [bound[21] for bound in tracker.coef_bounds(level)] for level in LEVELS},
            "deployed": float(tracker.summary.w0[21]),
        })  # fmt: skip
        if len(nights) % 5 == 1 or decision.decision == "retrain":
            proof = "" if decision.certified else " (not proved)"
            print(f"{len(nights):5}  {decision.lower:6.1%} - {decision.upper:6.1%}  {decision.level:13}  "
                  f"{decision.decision}{proof}")  # fmt: skip

        # 3. The proof is checked here against a real refit; a job would go on without it.
        clock = time.process_time()
        retrained = fitted(X[data], y[data])
        refitting += time.process_time() - clock
        flips = np.mean(retrained.predict(latest) != model.predict(latest))
        assert decision.decision != "keep" or flips <= TOLERANCE, "a certificate was wrong"

        # 4. Retrain only when asked to; the new fit leaves a new summary.
        if decision.decision == "retrain":
            model, retrains = retrained, retrains + 1
            tracker = Tracker(FitSummary.from_sklearn(model, X[data], y[data]))
    print(f"{len(nights)} nights, {retrains} retrains; asking took {1e3 * asking / len(nights):.1f} ms a night, "
          f"refitting {1e3 * refitting / len(nights):.1f} ms")  # fmt: skip
    print("the proofs are about the optimum of the training objective, not about accuracy on what comes next")

    if out is not None:
        plot(out / "certified_retraining.svg", nights, start)


if __name__ == "__main__":
    main()
