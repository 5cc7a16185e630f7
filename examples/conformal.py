"""Prediction sets with a promised error rate, from leave-one-out decisions that cost next to nothing.

    python examples/conformal.py

Full conformal prediction on the Phishing data that ship with River: a label belongs to the set of a new sample unless
the sample, learned with that label, would be among the strangest of its class. For each new sample and label the model
learns it, reads every sample's leave-one-out value, and unlearns it again: two exact updates instead of n trainings.
"""

import time

import numpy as np
from river import datasets

from onlinekit_plugins.id_odm import ODMClassifier


def p_values(model: ODMClassifier, labels: dict, x: dict) -> dict[bool, float]:
    """For each label: the share of its class that is at least as strange as x with that label."""
    told = {}
    for label in (False, True):
        model.learn_one(x, label, key="new")
        loo = model.loo_decision()
        model.unlearn("new")
        sign = 1.0 if label else -1.0
        mine = sign * loo.pop("new")
        others = [sign * f for key, f in loo.items() if labels[key] == label]
        told[label] = (1 + sum(f <= mine for f in others)) / (1 + len(others))
    return told


def main() -> None:
    samples = list(datasets.Phishing())
    order = np.random.default_rng(0).permutation(len(samples))
    train, test = [samples[i] for i in order[:250]], [samples[i] for i in order[250:650]]
    model = ODMClassifier(lam=10.0, theta=0.1)
    for key, (x, y) in enumerate(train):
        model.learn_one(x, y, key=key)
    labels = {key: y for key, (_, y) in enumerate(train)}

    start = time.perf_counter()
    p = [p_values(model, labels, x) for x, _ in test]
    spent = time.perf_counter() - start
    print(f"{len(test)} new samples, two labels each: {1e3 * spent / len(test):.1f} ms a sample")
    print("promised  right label in the set  one label  both  none  accuracy where there is one")
    for rate in (0.02, 0.05, 0.10, 0.20):
        sets = [{label for label, value in each.items() if value > rate} for each in p]
        covered = np.mean([y in s for s, (_, y) in zip(sets, test, strict=True)])
        sizes = np.array([len(s) for s in sets])
        sure = [y in s for s, (_, y) in zip(sets, test, strict=True) if len(s) == 1]
        print(
            f"{1 - rate:8.2f}  {covered:22.3f}  {np.mean(sizes == 1):9.3f}  {np.mean(sizes == 2):.2f}  "
            f"{np.mean(sizes == 0):.2f}  {np.mean(sure):.3f}"
        )
        # Holds on average over draws of the data; three standard deviations of this one draw are allowed for.
        assert covered >= 1 - rate - 3 * np.sqrt(rate * (1 - rate) * (1 / len(test) + 2 / len(train)))

    # The same values say which training samples look mislabelled.
    loo = model.loo_decision()
    worst = sorted(labels, key=lambda key: loo[key] * (1.0 if labels[key] else -1.0))[:3]
    print("training samples that the rest of the data contradicts most:")
    for key in worst:
        print(f"  sample {key}: labelled {labels[key]}, decision without it {loo[key]:+.2f}")


if __name__ == "__main__":
    main()
