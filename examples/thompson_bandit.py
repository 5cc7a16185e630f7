"""A contextual bandit by Thompson sampling whose best arm changes.

Three adverts, each with a Bayesian logistic regression of its clicks on four features of the visitor. For every visitor
each model draws weights from its posterior, and the advert whose draw promises most is shown: uncertain adverts are
tried, poor ones are not. Halfway the visitors' tastes are swapped. A model with a drift level widens its posterior
when its predictions fail, so that it tries the adverts anew; the plain one is sure of what is no longer so.

    python examples/thompson_bandit.py [--out FIGURE.png]
"""

import argparse
import math

import numpy as np

import onlinekit

ARMS, FEATURES, STEPS = 3, ["age", "evening", "mobile", "returning"], 6000


def click_rates(rng):
    """Visitors (STEPS, 4) and the probability that each would click on each advert (STEPS, ARMS)."""
    X = rng.standard_normal((STEPS, len(FEATURES)))
    tastes = 1.5 * rng.standard_normal((ARMS, len(FEATURES)))
    before, after = X @ tastes.T, X @ np.roll(tastes, 1, axis=0).T
    score = np.where(np.arange(STEPS)[:, None] < STEPS // 2, before, after)
    return X, 1.0 / (1.0 + np.exp(-(score - 1.0)))


def play(make, X, rates, rng):
    """Regret of each step: the click rate of the best advert less that of the one shown."""
    arms = [make() for _ in range(ARMS)]
    regret = np.empty(STEPS)
    for t, row in enumerate(X.tolist()):
        x = dict(zip(FEATURES, row, strict=True))
        promise = []
        for model in arms:
            w = model.sample_weights(rng)
            promise.append(w["__intercept__"] + math.fsum(w.get(name, 0.0) * value for name, value in x.items()))
        shown = int(np.argmax(promise))
        arms[shown].learn_one(x, rng.random() < rates[t, shown])
        regret[t] = rates[t].max() - rates[t, shown]
    return regret


def main():
    parser = argparse.ArgumentParser(description="Thompson sampling under drift")
    parser.add_argument("--out", help="file for a figure of the regret")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, rates = click_rates(rng)
    curves = {"at random": rates.max(axis=1) - rates[np.arange(STEPS), rng.integers(0, ARMS, STEPS)]}
    for drift in (None, "uncertainty", "auto"):
        curves[f"drift={drift!r}"] = play(
            lambda drift=drift: onlinekit.create("learner", "bayes-logistic", drift=drift), X, rates, rng
        )
    print("Clicks lost a hundred visitors, against the best advert for each visitor")
    print(f"{'':20s} {'before the change':>18s} {'after it':>10s} {'last 1000':>10s}")
    for name, regret in curves.items():
        parts = regret[: STEPS // 2], regret[STEPS // 2 :], regret[-1000:]
        print(f"{name:20s} {100 * parts[0].mean():18.1f} {100 * parts[1].mean():10.1f} {100 * parts[2].mean():10.1f}")
    if options.out:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        for name, regret in curves.items():
            plt.plot(np.cumsum(regret), label=name)
        plt.axvline(STEPS // 2, color="grey", linestyle=":")
        plt.xlabel("visitor")
        plt.ylabel("clicks lost")
        plt.legend()
        plt.savefig(options.out, dpi=110)
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
