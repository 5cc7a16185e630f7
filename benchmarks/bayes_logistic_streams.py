"""Bayesian logistic regression on synthetic streams: all drift modes beside River's logistic regression, over 8 seeds.

Labels are drawn from a logistic model on d standard normal features whose weights have norm 4: for ever the same
(stationary), four concepts of equal length (abrupt), one turn in the plane of two features with slope 3 (rotating), or
two concepts with a logistic hand-over of width .02 n (gradual). Then how many samples a model needs after a sudden
change at sample 3000 until its accuracy over the next 100 is within 2 points of that over the 1000 before.

    python benchmarks/bayes_logistic_streams.py --out benchmarks/results/bayes_logistic_streams.md
"""

import argparse
import math
import platform
from pathlib import Path

import numpy as np
import river
from river import drift, linear_model, optim

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression

KINDS = ("stationary", "abrupt", "rotating", "gradual")


class ResetByADWIN:
    """A model that starts anew when ADWIN finds a change in its errors."""

    def __init__(self, make):
        self.make, self.model, self.detector = make, make(), drift.ADWIN()

    def predict_proba_one(self, x):
        return self.model.predict_proba_one(x)

    def learn_one(self, x, y):
        wrong = self.model.predict_one(x) != y
        self.model.learn_one(x, y)
        self.detector.update(int(wrong))
        if self.detector.drift_detected:
            self.model = self.make()


def sgd(lr):
    return linear_model.LogisticRegression(optimizer=optim.SGD(lr))


MODELS = {
    "None (plain)": lambda: BayesianLogisticRegression(drift=None),
    '"uncertainty" c=.1': BayesianLogisticRegression,
    '"uncertainty_mean" c=3/d': lambda: BayesianLogisticRegression(drift="uncertainty_mean", c=0.3),
    '"constant" c=1e-3': lambda: BayesianLogisticRegression(drift="constant", c=1e-3),
    '"auto"': lambda: BayesianLogisticRegression(drift="auto"),
    "River SGD(.01), its default": lambda: sgd(0.01),
    "River SGD(.1)": lambda: sgd(0.1),
    "River SGD(.1) + ADWIN reset": lambda: ResetByADWIN(lambda: sgd(0.1)),
}


def concept(rng, d):
    w = rng.standard_normal(d)
    return 4.0 * w / np.linalg.norm(w)


def stream(kind, seed, n=8000, d=10):
    """(X (n, d), labels (n,)) of one of KINDS."""
    rng = np.random.default_rng(seed)
    X, t = rng.standard_normal((n, d)), np.arange(n)
    if kind == "stationary":
        W = np.tile(concept(rng, d), (n, 1))
    elif kind == "abrupt":
        W = np.array([concept(rng, d) for _ in range(4)])[t * 4 // n]
    elif kind == "rotating":
        W = np.zeros((n, d))
        W[:, 0], W[:, 1] = 3.0 * np.cos(2.0 * np.pi * t / n), 3.0 * np.sin(2.0 * np.pi * t / n)
    else:
        late = rng.random(n) < 1.0 / (1.0 + np.exp(-(t - n / 2) / (0.02 * n)))
        W = np.array([concept(rng, d) for _ in range(2)])[late.astype(int)]
    return X, rng.random(n) < 1.0 / (1.0 + np.exp(-(X * W).sum(axis=1)))


def changed(seed, flip, n=6000, d=10):
    """A stationary stream whose concept changes at sample 3000: to its opposite, or to another."""
    rng = np.random.default_rng(100 + seed)
    X, w = rng.standard_normal((n, d)), concept(rng, d)
    a = np.concatenate([X[:3000] @ w, X[3000:] @ (-w if flip else concept(rng, d))])
    return X, rng.random(n) < 1.0 / (1.0 + np.exp(-a))


def test_then_train(model, X, y):
    """Hits (n,) and log losses (n,)."""
    hits, losses = np.empty(len(y)), np.empty(len(y))
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        p = model.predict_proba_one(x).get(True, 0.5)
        model.learn_one(x, label)
        hits[t] = (p > 0.5) == label
        losses[t] = -math.log(max(p if label else 1.0 - p, 1e-15))
    return hits, losses


def accuracy_and_loss(make, kind, seeds):
    """(seeds, 2): accuracy and log loss on each seed."""
    return np.array([[part.mean() for part in test_then_train(make(), *stream(kind, seed))] for seed in seeds])


def recovery(make, flip, seeds):
    """Mean over the seeds of the samples until accuracy is back; a run that never is counts as 3000."""
    counts = []
    for seed in seeds:
        hits, _ = test_then_train(make(), *changed(seed, flip))
        total = np.concatenate([[0.0], np.cumsum(hits[3000:])])
        back = np.flatnonzero((total[100:] - total[:-100]) / 100.0 >= hits[2000:3000].mean() - 0.02)
        counts.append(int(back[0]) if len(back) else 3000)
    return float(np.mean(counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="file for the tables")
    parser.add_argument("--quick", action="store_true", help="two seeds")
    options = parser.parse_args()
    seeds = range(2 if options.quick else 8)
    lines = [f"Accuracy / log loss, mean of {len(seeds)} seeds, n = 8000, d = 10.", ""]
    lines += ["| model | " + " | ".join(KINDS) + " |", "|---" * (len(KINDS) + 1) + "|"]
    for name, make in MODELS.items():
        cells = [accuracy_and_loss(make, kind, seeds).mean(axis=0) for kind in KINDS]
        lines.append(f"| {name} | " + " | ".join(f"{a:.4f} / {loss:.4f}" for a, loss in cells) + " |")
        print(lines[-1], flush=True)
    lines += ["", f"Samples until recovery, mean of {len(seeds)} seeds (of 3000 that follow the change).", ""]
    lines += ["| model | new concept | sign flip |", "|---|---|---|"]
    for name, make in MODELS.items():
        lines.append(f"| {name} | {recovery(make, False, seeds):.0f} | {recovery(make, True, seeds):.0f} |")
        print(lines[-1], flush=True)
    command = f"python benchmarks/bayes_logistic_streams.py{' --quick' if options.quick else ''}"
    about = f"`{command}` (Python {platform.python_version()}, NumPy {np.__version__}, River {river.__version__})"
    text = "\n".join([about, "", *lines, ""])
    if options.out:
        Path(options.out).write_text(text)


if __name__ == "__main__":
    main()
