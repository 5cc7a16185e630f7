"""Tables 3 and 4 of the ID-ODM paper on our engine: time of updates against retraining, and accuracy.

    python benchmarks/id_odm_paper.py --data FOLDER --out benchmarks/results/id_odm_paper.md

As published: features scaled to [0, 1], RBF kernel with gamma = 1 / d, a 4:1 split, 75 % of the training part as
history, the rest inserted and then deleted, singly (SID) or in batches of 5 (BID); five trials. lam from {1e-3, ...,
1e3} and theta from {.1, .2, ..., .9} by a 3:1 split of the history of each trial (the paper: its whole grid,
procedure not said). Retraining (SR, BR) is a dual coordinate descent in the same compiler,
cold, to 1e-3, timed at the size after every batch of 5; the kernel matrix it needs is counted apart.

L.-J. Chen, T. Zhang, X. Shi, H. Jin, Incremental and Decremental Optimal Margin Distribution Learning, IJCAI 2023.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from odm_baselines import NAMES, cpu, data_folder, geomean, machine, rbf, read, retrain
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import RBF

NONE = np.zeros(0, dtype=np.int64)
LAMS = 10.0 ** np.arange(-3, 4)
THETAS = np.arange(1, 10) / 10
# Published: SID/SR, BID/BR, BID/SID of Table 3; accuracies of ID-ODM and MID-SVM in Table 4, percent.
PAPER = {
    "heart": (11.68, 5.55, 2.16, "81.5 ± 4.7", "81.1 ± 4.1"),
    "ionosphere": (10.57, 5.59, 2.78, "87.4 ± 6.6", "90.6 ± 3.8"),
    "breast_cancer_scale": (7.50, 5.50, 3.61, "97.2 ± 0.9", "96.7 ± 1.2"),
    "diabetes": (5.32, 5.66, 5.21, "76.9 ± 4.8", "76.6 ± 4.9"),
    "fourclass": (5.42, 5.33, 4.88, "78.7 ± 2.8", "77.1 ± 1.9"),
    "splice": (8.85, 5.43, 3.05, "84.4 ± 3.1", "85.5 ± 3.6"),
    "svmguide3": (5.31, 5.31, 4.95, "80.5 ± 1.5", "79.9 ± 1.3"),
    "madelon": (38.41, 23.56, 2.95, "58.0 ± 1.1", "56.7 ± 1.6"),
    "a2a": (5.42, 4.29, 4.00, "83.0 ± 0.8", "83.0 ± 0.8"),
}
SETTING = """Features in [0, 1], RBF with gamma = 1 / d, 4:1 split, 75 % of the training part as history, five trials;
lam and theta by a hold-out quarter of the history (values chosen: last column). Retraining is our dual coordinate
descent (cold, to 1e-3; the engine is exact: KKT error at most {:.0e}), timed at the size after every batch of 5; it
slows down with lam, so the ratios are largest where lam = 1000 was chosen. The paper ran another implementation on
another machine and states its grid but not the values chosen, so only its ratios can be compared, and those loosely."""
HEAD_3 = (
    "| data set | SR = BR | with K | SID | BID | SR/SID | with K | paper | BR/BID | with K | paper | 5 SID/BID |"
    " paper | SVC.fit/SID | lam, theta |"
)
SUMMARY = (
    "Geometric means: SR/SID {:.1f} (with K {:.1f}), BR/BID {:.1f} (with K {:.1f}), 5 SID/BID {:.1f}; the paper's"
    " {:.1f}, {:.1f} and {:.1f}."
)
HEAD_4 = "| data set | ours | scikit-learn SVC retrained | ours, all added | paper: ID-ODM | paper: MID-SVM |"
CLOSE = """scikit-learn's SVC (hinge loss, an intercept, C chosen the same way) differs from ours by {:+.1f} points on
average. The accuracy after all updates equals that of a fit from scratch in {} of {} trials. The published columns
are figures from the paper (other splits and parameters), not runs of ours.

What reproduces: an update beats retraining on every data set, by more when it is a single one, and loses nothing in
accuracy; a batch of 5 beats five singles everywhere. What does not: the sizes of the ratios, which with us grow with
lam (retraining slows down with it far more than updates do) and in the paper do not, and how much a batch saves."""


class Run:
    """An ODM engine on some rows, and the moves of the experiment."""

    def __init__(self, X, y, lam, theta):
        self.engine = Engine(RBF, 1.0 / X.shape[1], 0.0, X.shape[1])
        self.lam, self.theta, self.slots = lam, theta, []
        self.insert(X, y, len(y))
        self.slots = []

    def insert(self, X, y, size):
        """All rows, `size` at a time."""
        lo, hi, il = (y - self.theta)[None, :], (y + self.theta)[None, :], np.full(len(y), 1.0 / self.lam)
        for t in range(0, len(y), size):
            part = slice(t, t + size)
            self.slots.extend(self.engine.update(X[part], lo[:, part], hi[:, part], il[part], NONE).tolist())

    def delete(self, size):
        """The inserted rows out again, `size` at a time."""
        empty = np.zeros((0, self.engine.dim)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)
        for t in range(0, len(self.slots), size):
            self.engine.update(*empty, np.array(self.slots[t : t + size], dtype=np.int64))
        self.slots = []

    def accuracy(self, X, y):
        """Share of rows with the right sign."""
        return float(np.mean((self.engine.decision(X)[:, 0] > 0) == (y > 0)))


def choose(X, y):
    """lam and theta of the ODM and C of the SVM with the best accuracy on the last quarter of the history."""
    n, gamma = int(0.75 * len(y)), 1.0 / X.shape[1]
    odm = {}
    for lam in LAMS:
        run = Run(X[:n], y[:n], lam, THETAS[0])
        slots, il = run.engine.live(), np.full(n, 1.0 / lam)
        for theta in THETAS:
            run.engine.retarget(slots, (y[:n] - theta)[None, :], (y[:n] + theta)[None, :], il)
            odm[lam, theta] = run.accuracy(X[n:], y[n:])
    svm = {C: np.mean(SVC(C=C, gamma=gamma).fit(X[:n], y[:n]).predict(X[n:]) == y[n:]) for C in LAMS}
    return max(odm, key=odm.__getitem__), max(svm, key=svm.__getitem__)


def trial(X, y, seed):
    """One split: seconds per update of SR = BR, with K, SID, BID; accuracies; the parameters."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = np.ascontiguousarray(X[order]), y[order]
    train = int(0.8 * len(y))
    n = int(0.75 * train)
    (lam, theta), C = choose(X[:n], y[:n])
    gamma, V = 1.0 / X.shape[1], train - n
    run = Run(X[:n], y[:n], lam, theta)
    run.insert(X[n : n + 10], y[n : n + 10], 1)
    run.delete(1)
    single = cpu(run.insert, X[n:train], y[n:train], 1)[0]
    ours = run.accuracy(X[train:], y[train:])
    single = (single + cpu(run.delete, 1)[0]) / (2 * V)
    batches = 2 * -(-V // 5)
    batch = (cpu(run.insert, X[n:train], y[n:train], 5)[0] + cpu(run.delete, 5)[0]) / batches
    kkt = run.engine.kkt()
    run.insert(X[n : n + min(V, 100)], y[n : n + min(V, 100)], 5)
    after = run.accuracy(X[train:], y[train:])
    svc_rows = slice(0, n + min(V, 100))
    svc_time, svc = cpu(SVC(C=C, gamma=gamma).fit, X[svc_rows], y[svc_rows])
    # The sizes after each batch on the way up; the way back passes through them too, and singles through all between.
    sizes = n + np.append(np.arange(5, V, 5), V)
    again, gram = [], []
    for size in sizes:
        K = np.zeros((size, size))
        gram.append(cpu(rbf, X[:size], gamma, K)[0])
        again.append(cpu(retrain, K, y[:size], lam, theta)[0])
    fresh = Run(X[:train], y[:train], lam, theta)
    same = fresh.accuracy(X[train:], y[train:]) == ours
    times = (float(np.mean(again)), float(np.mean(again) + np.mean(gram)), single, batch, svc_time)
    scores = (after, float(np.mean(svc.predict(X[train:]) == y[train:])), ours)
    return times, scores, (float(lam), theta, float(C)), float(kkt), same


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", help="folder of the data sets (default: ONLINEKIT_DATA)")
    parser.add_argument("--out", type=Path, help="write the tables here")
    parser.add_argument("--quick", action="store_true", help="two data sets, one trial")
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES, help="only these data sets")
    parser.add_argument("--resume", type=Path, help="keep finished trials in this JSON file and go on from it")
    parser.add_argument("--limit", type=float, default=np.inf, help="stop after so many CPU seconds (see --resume)")
    options = parser.parse_args()
    folder = data_folder(options.data)
    if folder is None:
        parser.error("the data sets are needed: --data FOLDER or ONLINEKIT_DATA")
    done = json.loads(options.resume.read_text()) if options.resume and options.resume.exists() else {}
    speed, quality, ratios, exact = [], [], [], []
    names = options.sets[:2] if options.quick else options.sets
    for name in names:
        X, y = read(folder, name)
        results = []
        for seed in range(1 if options.quick else 5):
            if f"{name} {seed}" not in done:
                if time.process_time() > options.limit:
                    print(f"stopped before {name}, trial {seed}")
                    return
                done[f"{name} {seed}"] = trial(X, y, seed)
                if options.resume:
                    options.resume.write_text(json.dumps(done))
            results.append(done[f"{name} {seed}"])
        times = np.array([r[0] for r in results])
        scores = 100 * np.array([r[1] for r in results])
        again, counted, single, batch, svc = times.mean(axis=0)
        row = (again / single, counted / single, again / batch, counted / batch, 5 * single / batch)
        ratios.append(row)
        exact.extend((r[3], r[4]) for r in results)
        used = "; ".join(f"{lam:g}, {theta}" for lam, theta in dict.fromkeys(tuple(r[2][:2]) for r in results))
        published = PAPER[name]
        speed.append(
            f"| {name} | {again * 1e3:.2f} | {counted * 1e3:.2f} | {single * 1e3:.3f} | {batch * 1e3:.3f} |"
            f" {row[0]:.1f} | {row[1]:.1f} | {published[0]} | {row[2]:.1f} | {row[3]:.1f} | {published[1]} |"
            f" {row[4]:.1f} | {published[2]} | {svc / single:.0f} | {used} |"
        )
        mean, spread = scores.mean(axis=0), scores.std(axis=0)
        cells = " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(mean, spread, strict=True))
        quality.append((f"| {name} | {cells} | {published[3]} | {published[4]} |", mean))
        print(speed[-1], quality[-1][0], sep="\n", flush=True)
    average = np.mean([mean for _, mean in quality], axis=0)
    table = np.array(ratios)
    worst, same = max(kkt for kkt, _ in exact), sum(s for _, s in exact)
    summary = SUMMARY.format(
        *(geomean(table[:, k]) for k in range(5)), *(geomean([PAPER[name][k] for name in names]) for k in range(3))
    )
    published = [np.mean([float(PAPER[name][k].split()[0]) for name in names]) for k in (3, 4)]
    mean = "| mean | " + " | ".join(f"{value:.1f}" for value in (*average, *published)) + " |"
    chosen = "" if list(names) == list(NAMES) else " --sets " + " ".join(names)
    text = [
        "# The ID-ODM paper's tables", "",
        f"`python benchmarks/id_odm_paper.py{chosen}`; {machine()}; CPU time, one thread.",
        "", SETTING.format(worst), "", "## Table 3: time of an update, ms, and speed-up", "", HEAD_3, "|---" * 15 + "|",
        *speed, "", summary, "", "## Table 4: accuracy, %, after 100 instances were added", "",
        HEAD_4, "|---" * 6 + "|",
        *(line for line, _ in quality), mean, "", CLOSE.format(average[1] - average[0], same, len(exact)),
    ]  # fmt: skip
    if options.out:
        options.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):  # CPU time of BLAS threads that wait for one another would be counted
        main()
