"""Bayesian logistic regression on real streams: every mode beside River's classifiers and the no-change baseline.

Test-then-train over the rows in their order, features scaled by running mean and variance for all models. Accuracy;
log loss, probabilities clipped to [1e-6, 1 - 1e-6]; calibration error (10 equal bins of p(True): mean of |share of
True - mean p|, weighted by the rows in the bin); CPU microseconds a row, one pass, scaling included.

River's Phishing comes with River. The other streams are npz files (X, and y in {-1, +1}) in the folder --data or
ONLINEKIT_DATA: elec2, weather_noaa, sea_big, usenet1, usenet2; those that are absent are left out.

    python benchmarks/bayes_logistic_real.py --data DIR --out benchmarks/results/bayes_logistic_real.md
"""

import argparse
import os
import platform
import time
from pathlib import Path

import numpy as np
import river
from river import compose, datasets, drift, dummy, linear_model, naive_bayes, optim, preprocessing, tree

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression

FILES = ("elec2", "weather_noaa", "sea_big", "usenet1", "usenet2")


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


def scaled(model):
    return preprocessing.StandardScaler() | model


def sgd(lr):
    return linear_model.LogisticRegression(optimizer=optim.SGD(lr))


def scaled_reset():
    # The scaler is kept when the model is reset.
    return preprocessing.StandardScaler() | Wrapped(ResetByADWIN(lambda: sgd(0.1)))


class Wrapped(river.base.Classifier):
    """Lets River's pipeline take any object with the two methods for its last step."""

    def __init__(self, model):
        self.model = model

    def predict_proba_one(self, x, **kwargs):
        return self.model.predict_proba_one(x)

    def learn_one(self, x, y):
        self.model.learn_one(x, y)


def bins(x):
    """One key for each feature and half deviation: AdPredictor knows features as present or absent only."""
    return {(name, min(max(round(2.0 * value), -6), 6)): 1 for name, value in x.items()}


def ours(**params):
    return lambda d: BayesianLogisticRegression(standardize=True, **params)


MODELS = {
    "bayes None": ours(drift=None),
    'bayes "uncertainty" c=.1 (default)': ours(),
    'bayes "uncertainty" c=1/d': lambda d: ours(c=1.0 / d)(d),
    'bayes "uncertainty_mean" c=3/d': lambda d: ours(drift="uncertainty_mean", c=3.0 / d)(d),
    'bayes "constant" c=.03/d^2': lambda d: ours(drift="constant", c=0.03 / d**2)(d),
    'bayes "auto"': ours(drift="auto"),
    'bayes "auto", adf': ours(drift="auto", update="adf"),
    'bayes "auto", diag': ours(drift="auto", covariance="diag"),
    'bayes "uncertainty", diag': ours(covariance="diag"),
    "River LogisticRegression SGD(.01)": lambda d: scaled(sgd(0.01)),
    "River LogisticRegression SGD(.1)": lambda d: scaled(sgd(0.1)),
    "River LogisticRegression SGD(.1) + ADWIN reset": lambda d: scaled_reset(),
    "River AdPredictor on bins": lambda d: scaled(compose.FuncTransformer(bins) | linear_model.AdPredictor()),
    "River HoeffdingAdaptiveTree": lambda d: scaled(tree.HoeffdingAdaptiveTreeClassifier(seed=1)),
    "River GaussianNB": lambda d: scaled(naive_bayes.GaussianNB()),
    "no change": lambda d: dummy.NoChangeClassifier(),
}


def streams(folder):
    """Name -> list of (x, y)."""
    found = {"Phishing (River's)": [(x, bool(y)) for x, y in datasets.Phishing()]}
    for name in FILES:
        path = folder / f"{name}.npz" if folder else None
        if path and path.exists():
            with np.load(path) as file:
                X, y = file["X"].astype(float), file["y"] > 0
            keys = [f"f{j}" for j in range(X.shape[1])]
            rows = (dict(zip(keys, row, strict=True)) for row in X.tolist())
            found[name] = list(zip(rows, y.tolist(), strict=True))
    return found


def calibration_error(p, y, bins=10):
    """sum over bins of n_b / n |mean y - mean p|; p (n,), y (n,)."""
    place = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs(float((y[place == b] - p[place == b]).sum())) for b in range(bins)) / len(p)


def measure(make, samples):
    """(accuracy, log loss, calibration error, CPU us a row)."""
    model, p = make(len(samples[0][0])), np.full(len(samples), 0.5)
    start = time.process_time()
    for t, (x, y) in enumerate(samples):
        p[t] = model.predict_proba_one(x).get(True, 0.0 if t else 0.5)
        model.learn_one(x, y)
    seconds = time.process_time() - start
    y = np.array([label for _, label in samples])
    clipped = np.clip(p, 1e-6, 1.0 - 1e-6)
    loss = -np.log(np.where(y, clipped, 1.0 - clipped)).mean()
    return float(((p > 0.5) == y).mean()), float(loss), calibration_error(p, y), seconds / len(y) * 1e6


def verdict(found):
    """Where the default loses to the other modes and to SGD(.1), in accuracy and log loss."""
    ours = found['bayes "uncertainty" c=.1 (default)']
    rivals = ["bayes None", 'bayes "constant" c=.03/d^2', 'bayes "auto"', "River LogisticRegression SGD(.1)"]
    parts = []
    for rival in rivals:
        accuracy, loss = (100.0 * (found[rival][0] - ours[0]), ours[1] - found[rival][1])
        sign = "wins against" if accuracy < 0 > loss else "loses to" if accuracy > 0 < loss else "mixed against"
        parts.append(f"{sign} {rival} ({-accuracy:+.2f} points of accuracy, {loss:+.4f} log loss)")
    return "; ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"), help="folder of the npz files")
    parser.add_argument("--out", help="file for the tables")
    parser.add_argument("--quick", action="store_true", help="the first 1000 rows of each stream")
    options = parser.parse_args()
    lines, losses = [], []
    for name, samples in streams(Path(options.data) if options.data else None).items():
        samples = samples[:1000] if options.quick else samples
        d = len(samples[0][0])
        lines += [f"## {name}: {len(samples)} rows, {d} features", ""]
        lines += ["| model | accuracy | log loss | calibration error | us a row |", "|---|---|---|---|---|"]
        print(lines[-4], flush=True)
        found = {}
        for make in MODELS.values():
            measure(make, samples[:50])  # kernels are loaded before the clock runs
        for title, make in MODELS.items():
            accuracy, loss, calibration, cost = measure(make, samples)
            found[title] = (accuracy, loss)
            lines.append(f"| {title} | {accuracy:.4f} | {loss:.4f} | {calibration:.4f} | {cost:.1f} |")
            print(lines[-1], flush=True)
        lines.append("")
        losses.append(f"- {name}: {verdict(found)}")
    lines += ['## The paper\'s mode, "uncertainty" c=.1, against the others', "", *losses, ""]
    command = f"python benchmarks/bayes_logistic_real.py --data DIR{' --quick' if options.quick else ''}"
    about = f"`{command}` (Python {platform.python_version()}, NumPy {np.__version__}, River {river.__version__})"
    if options.out:
        Path(options.out).write_text("\n".join([about, "", *lines]))


if __name__ == "__main__":
    main()
