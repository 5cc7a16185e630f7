"""An active learner on a drifting stream: labels are asked for only where the model is unsure.

The labels follow a logistic model that hands over to another halfway. Three ways to ask: River's EntropySampler around
the model; our own rule, ask where the entropy of the predicted label is above a threshold; and the mutual information
of label and weights. Without a label, learn_one(x, None) lets the label count fade and changes nothing else. The plain
model is unsure everywhere after the change: it asks for more labels and learns less from them.

    python examples/active_learning.py
"""

import math

import numpy as np
from river import active

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression


def stream(n=8000, d=10, seed=1):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, d)), rng.standard_normal((2, d))
    W *= 4.0 / np.linalg.norm(W, axis=1, keepdims=True)
    second = rng.random(n) < 1.0 / (1.0 + np.exp(-(np.arange(n) - n / 2) / (0.02 * n)))
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-(X * W[second.astype(int)]).sum(axis=1)))
    return [(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def with_river(model, samples):
    """(accuracy, share of labels asked for) with River's EntropySampler."""
    sampler = active.EntropySampler(model, discount_factor=6, seed=1)
    hits = asked = 0
    for x, y in samples:
        guess, ask = sampler.predict_one(x)
        hits += guess == y
        if ask:
            sampler.learn_one(x, y)
            asked += 1
    return hits / len(samples), asked / len(samples)


def with_score(model, samples, score, threshold):
    """(accuracy, share of labels asked for), asking where score(x) is above the threshold."""
    hits = asked = 0
    for x, y in samples:
        hits += model.predict_one(x) == y
        ask = score(x) > threshold
        model.learn_one(x, y if ask else None)
        asked += ask
    return hits / len(samples), asked / len(samples)


def main():
    samples = stream()
    print(f"{'drift':14s} {'asks by':24s} {'accuracy':>9s} {'labels':>7s}")
    for drift in (None, "uncertainty"):
        make = lambda drift=drift: BayesianLogisticRegression(drift=drift)  # noqa: E731
        rows = {"all labels": with_score(make(), samples, lambda x: 1.0, 0.0)}
        rows["River's EntropySampler"] = with_river(make(), samples)
        for level in (0.8, 0.9):
            model = make()
            rows[f"entropy > {level} bit"] = with_score(model, samples, model.entropy, level * math.log(2.0))
        model = make()
        rows["mutual information > .08"] = with_score(model, samples, model.mutual_information, 0.08)
        for name, (accuracy, share) in rows.items():
            print(f"{drift or 'None':14s} {name:24s} {accuracy:9.3f} {share:7.1%}")


if __name__ == "__main__":
    main()
