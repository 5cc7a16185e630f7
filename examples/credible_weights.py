"""Weights with credible bands over a sudden drift: what the posterior knew, and when it began to doubt.

A logistic stream of three features whose first weight changes its sign halfway. The bands (90 %) narrow while the
concept holds, widen when predictions fail, and close around the new weight.

    python examples/credible_weights.py [--out FIGURE.png]
"""

import argparse

import numpy as np

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression

STEPS, Z = 4000, 1.6449  # 90 % of a Gaussian lies within Z deviations


def main():
    parser = argparse.ArgumentParser(description="Weights with credible bands over a drift")
    parser.add_argument("--out", help="file for a figure")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    names = ["flips", "stays", "is noise"]
    truth = np.tile([2.0, -1.0, 0.0], (STEPS, 1))
    truth[STEPS // 2 :, 0] *= -1.0
    X = rng.standard_normal((STEPS, 3))
    y = rng.random(STEPS) < 1.0 / (1.0 + np.exp(-(X * truth).sum(axis=1)))

    model = BayesianLogisticRegression(prior_var=4.0, update="adf", c=0.05)
    mean, sd, level = np.empty((STEPS, 3)), np.empty((STEPS, 3)), np.empty(STEPS)
    for t in range(STEPS):
        model.learn_one(dict(zip(names, X[t].tolist(), strict=True)), bool(y[t]))
        order, S = model.covariance()
        at = [order.index(name) for name in names]
        weights = model.mean
        mean[t], sd[t], level[t] = [weights[name] for name in names], np.sqrt(np.diag(S)[at]), model.v

    print(f"{'weight':10s} {'truth':>14s} {'before the drift':>20s} {'at the end':>20s}")
    for j, name in enumerate(names):
        cells = [f"{mean[t, j]:6.2f} +- {Z * sd[t, j]:.2f}" for t in (STEPS // 2 - 1, STEPS - 1)]
        print(f"{name:10s} {truth[0, j]:6.1f} -> {truth[-1, j]:4.1f} {cells[0]:>20s} {cells[1]:>20s}")
    inside = np.abs(mean - truth) <= Z * sd
    parts = {
        "before": slice(500, STEPS // 2),
        "next 200": slice(STEPS // 2, STEPS // 2 + 200),
        "then": slice(2200, None),
    }
    print("share of steps with the true weights inside their bands:", end=" ")
    print(", ".join(f"{name} {inside[part].mean():.2f}" for name, part in parts.items()))
    if options.out:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot as plt

        figure, (top, bottom) = plt.subplots(2, 1, sharex=True, height_ratios=(3, 1), figsize=(8, 5))
        for j, name in enumerate(names):
            (line,) = top.plot(mean[:, j], label=name)
            top.fill_between(range(STEPS), mean[:, j] - Z * sd[:, j], mean[:, j] + Z * sd[:, j],
                             color=line.get_color(), alpha=0.2, linewidth=0)  # fmt: skip
            top.plot(truth[:, j], color=line.get_color(), linestyle=":")
        top.set_ylabel("weight, 90 % band")
        top.legend()
        bottom.plot(level, color="grey")
        bottom.set_ylabel("drift level v")
        bottom.set_xlabel("sample")
        figure.tight_layout()
        figure.savefig(options.out, dpi=80)
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
