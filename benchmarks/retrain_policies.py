"""When to retrain: policies beside each other on real streams, test-then-train.

    python benchmarks/retrain_policies.py --data DIR --streams elec2 --out benchmarks/results/retrain_elec2.md

Every policy serves the same model, a penalised logistic regression fitted to the latest rows by Newton's method inside
a RetrainingClassifier; they differ in the monitor alone. At each check the model is also refitted for real, off the
clock, to see how many labels of the latest rows a refit would have flipped. DIR holds elec2.npz, a9a.npz and
cod_rna.npz as load.py there reads them (ONLINEKIT_DATA is its default); --quick takes a made stream.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from onlinekit.monitor import RetrainingClassifier
from onlinekit_plugins.drift.adwin import ADWINMonitor
from onlinekit_plugins.drift.every_n import EveryNMonitor
from onlinekit_plugins.sensitivity import EllipsoidTest, LinearModel, NewtonTest, SphereTest

WINDOW, EVERY, C, TOLERANCE, LATEST = 1000, 50, 0.05, 0.02, 200
GIVEN = {"C": C, "tolerance": TOLERANCE, "reference": LATEST}
POLICIES: dict[str, Callable[[], RetrainingClassifier]] = {
    "once": lambda: served(None),
    "each sample": lambda: served(EveryNMonitor(n=1, signal="error", min_samples=1), check_every=1),
    "every 50": lambda: served(EveryNMonitor(n=50, signal="error")),
    "every 500": lambda: served(EveryNMonitor(n=500, signal="error")),
    "adwin": lambda: served(ADWINMonitor(signal="error")),
    "sphere-test": lambda: served(SphereTest(**GIVEN, unsure="retrain")),
    "ellipsoid-test": lambda: served(EllipsoidTest(**GIVEN, unsure="retrain")),
    "newton-test": lambda: served(NewtonTest(**GIVEN, unsure="retrain")),
}


def served(monitor: Any, check_every: int = EVERY) -> RetrainingClassifier:
    return RetrainingClassifier(LinearModel(C=C), monitor, window=WINDOW, check_every=check_every, min_samples=500)


def read(folder: str | None, name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    if folder is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 6))
        return X, X @ np.array([1, -1, 2, 0, 0, 1]) * np.where(np.arange(n) < n // 2, 1, -1) + rng.normal(size=n) > 0
    spec = importlib.util.spec_from_file_location("load", Path(folder) / "load.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data = module.load(name)
    X, y = data["X"].astype(float), data["y"] > 0
    if name == "a9a":
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    if name == "cod_rna":
        # The file has long blocks of one label: parts of both labels, each label in the file's order.
        rng, parts = np.random.default_rng(0), []
        yes, no = np.flatnonzero(y), np.flatnonzero(~y)
        for i in range(n // 2000 + 1):
            part = np.r_[yes[i * 700 : i * 700 + 700], no[i * 1300 : i * 1300 + 1300]]
            parts.append(rng.permutation(part))
        X, y = X[np.concatenate(parts)], y[np.concatenate(parts)]
    return X[:n], y[:n]


def refit_flips(model: RetrainingClassifier) -> float:
    """Share of the latest rows whose label a refit on the window would change, the scaler as it is."""
    now = model._deployed
    assert now is not None
    Z = (model._data.matrix().toarray() - now.mean) / now.scale
    y = np.array(model._data.labels) == 1
    if y.all() or not y.any():
        return float("nan")
    return float(np.mean(LinearModel(C=C).fit(Z, y).predict(Z[-LATEST:]) != now.model.predict(Z[-LATEST:])))


def run(X: np.ndarray, y: np.ndarray, model: RetrainingClassifier) -> dict[str, Any]:
    hits, kept, times, spent = [], [], [], 0.0
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        start, before = time.process_time(), model.n_retrains
        hits.append(model.predict_one(x) == label)
        model.learn_one(x, label)
        spent += time.process_time() - start
        # A window that is not full yet, or a model just trained, tells nothing of a policy.
        if (t + 1) % EVERY == 0 and t >= WINDOW and model._deployed is not None and model.n_retrains == before:
            kept.append(refit_flips(model))
            times.append(t + 1)
    return {
        "accuracy": float(np.mean(hits[500:])), "retrains": model.n_retrains, "checks": model.n_checks,
        "retrain_s": model.retrain_seconds, "monitor_s": model.monitor_seconds, "cpu_s": spent,
        "flips": kept, "times": times, "retrained_at": model.retrained_at,
        "certified": sum(verdict.certified for _, verdict in model.verdicts),
    }  # fmt: skip


def rows_of(name: str, found: dict[str, dict[str, Any]]) -> list[str]:
    lines = [
        f"## {name}",
        "",
        "| policy | checks | certified | retrains | accuracy | CPU s | refits, s | monitor, s |"
        " flips while kept: mean | max | share of checks over 2 % |",
        "|" + "---|" * 11,
    ]
    for policy, r in found.items():
        flips = np.array(r["flips"])
        flips = flips[~np.isnan(flips)]
        seen = "never kept | - | -"
        if len(flips):
            over = 100 * np.mean(flips > TOLERANCE)
            seen = f"{100 * flips.mean():.2f} % | {100 * flips.max():.1f} % | {over:.0f} %"
        lines.append(
            f"| {policy} | {r['checks']} | {r['certified']} | {r['retrains']} | {r['accuracy']:.4f} |"
            f" {r['cpu_s']:.1f} | {r['retrain_s']:.2f} | {r['monitor_s']:.2f} | {seen} |"
        )
    return [*lines, ""]


def figure(path: Path, results: dict[str, dict[str, dict[str, Any]]]) -> None:
    """When each policy retrained, and what a refit would have flipped meanwhile."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = ("every 500", "adwin", "sphere-test", "ellipsoid-test", "newton-test")
    fig, axes = plt.subplots(2, len(results), figsize=(4.2 * len(results), 5.5), layout="constrained", sharex="col")
    axes = np.asarray(axes).reshape(2, -1)
    for (name, found), (top, bottom) in zip(results.items(), axes.T, strict=True):
        top.eventplot(
            [found[p]["retrained_at"] for p in shown], lineoffsets=range(len(shown)), linelengths=0.7, linewidths=0.4
        )
        top.set_yticks(range(len(shown)), shown)
        top.invert_yaxis()
        top.set_title(f"{name}: retrains")
        for policy in ("adwin", "newton-test"):
            bottom.plot(found[policy]["times"], 100 * np.array(found[policy]["flips"]), label=policy, linewidth=1)
        bottom.axhline(100 * TOLERANCE, color="grey", linestyle=":", label="tolerance")
        bottom.set(xlabel="samples", ylabel="labels a refit would flip, %", yscale="symlog")
        bottom.set_ylim(bottom=0)
        bottom.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize="small", frameon=False)
    fig.savefig(path, dpi=80)


HEAD = """# When to retrain

`python benchmarks/retrain_policies.py --data DIR --streams {streams} --length {n} --out ...` (Python {python}, NumPy
{numpy}, one thread of a shared two-core {machine})

The first {n} rows of each stream, test-then-train; accuracy from row 500 on, where the first model is fitted. One model
for all policies: logistic regression, C = {C} in C/2 |w|^2 + mean loss, a penalised intercept, features standardised by
the window and frozen between refits; window {window}, a question every {every} samples. The certified monitors keep a
model while a proof says that at most {tolerance:.0%} of the latest {latest} rows change their label, and retrain
otherwise (`unsure="retrain"`). "Flips while kept": labels of the latest {latest} rows that a real refit would have
changed at a check after which the model stayed, the window being full. a9a is shuffled; cod_rna, whose file has
long blocks of one label, is taken as parts of 700 positive and 1300 negative rows, each in the file's order, mixed.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"))
    parser.add_argument("--out", type=Path, help="a .md file; the figure is written beside it")
    parser.add_argument("--length", type=int, default=4000)
    parser.add_argument("--streams", nargs="+", default=["elec2", "a9a", "cod_rna"])
    parser.add_argument("--quick", action="store_true", help="a made stream of 3000 rows")
    args = parser.parse_args()
    if not args.quick and args.data is None:
        parser.error("needs --data DIR, ONLINEKIT_DATA or --quick")
    n = 3000 if args.quick else args.length
    results: dict[str, dict[str, dict[str, Any]]] = {}
    lines: list[str] = []
    with threadpool_limits(1):
        for name in ["made"] if args.quick else args.streams:
            X, y = read(None if args.quick else args.data, name, n)
            results[name] = {policy: run(X, y, make()) for policy, make in POLICIES.items()}
            lines += rows_of(name, results[name])
    head = HEAD.format(
        n=n, streams=" ".join(results),
        python=platform.python_version(), numpy=np.__version__, machine=platform.machine(), C=C, window=WINDOW,
        every=EVERY, tolerance=TOLERANCE, latest=LATEST,
    )  # fmt: skip
    print("\n".join(lines))
    if args.out:
        figure(args.out.with_suffix(".png"), results)
        args.out.write_text(head + "\n".join(lines) + f"\n![retrains]({args.out.with_suffix('.png').name})\n")


if __name__ == "__main__":
    main()
