"""Speed of the exact engines: against retraining, against the passes they cannot do without, and of the learner's door.

    python benchmarks/id_odm_speed.py --data FOLDER --out benchmarks/results/id_odm_speed.md

CPU time of one process, single-threaded, the parts of a ratio interleaved, medians of the rounds, after warm-up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from odm_baselines import (
    NAMES,
    cpu,
    data_folder,
    dcd,
    geomean,
    machine,
    newton_dual,
    newton_primal,
    rbf,
    read,
    retrain,
)
from threadpoolctl import threadpool_limits

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import RBF
from onlinekit_plugins.id_odm.primal import PrimalEngine

NONE = np.zeros(0, dtype=np.int64)


def odm(y, theta, lam):
    """lo, hi (1, n) and il (n,) of the optimal margin distribution machine."""
    return (y - theta)[None, :], (y + theta)[None, :], np.full(len(y), 1.0 / lam)


class Fitted:
    """An engine over the first n rows, with the moves that are timed."""

    def __init__(self, X, y, n, lam, theta):
        self.X, self.y, self.n, self.lam, self.theta = X, y, n, lam, theta
        self.lo, self.hi, self.il = odm(y, theta, lam)
        self.engine = Engine(RBF, 1.0 / X.shape[1], 0.0, X.shape[1])
        self.engine.update(X[:n], self.lo[:, :n], self.hi[:, :n], self.il[:n], NONE)
        self.slots = []

    def insert(self, m, size):
        """The next m rows in batches of `size`."""
        for t in range(self.n, self.n + m, size):
            part = slice(t, t + size)
            got = self.engine.update(self.X[part], self.lo[:, part], self.hi[:, part], self.il[part], NONE)
            self.slots.extend(got.tolist())

    def delete(self, size):
        """The same rows out again."""
        empty = np.zeros((0, self.X.shape[1])), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)
        for t in range(0, len(self.slots), size):
            self.engine.update(*empty, np.array(self.slots[t : t + size], dtype=np.int64))
        self.slots = []


def cell(X, y, n, lam, theta, rounds, with_svc):
    """CPU seconds of every method in one cell (data set, lam, theta): the medians of interleaved rounds."""
    from sklearn.svm import SVC

    m = min(40, (len(y) - n) // 5 * 5)
    run = Fitted(X, y, n, lam, theta)
    run.insert(m, 1)
    worst = run.engine.kkt()
    run.delete(1)
    rows, labels = X[: n + m // 2], y[: n + m // 2]
    K, gamma = np.zeros((len(rows), len(rows))), 1.0 / X.shape[1]
    lo, hi, il = odm(labels, theta, lam)
    rbf(rows, gamma, K)
    start, _ = newton_dual(K[:-1, :-1], lo[0, :-1], hi[0, :-1], il[:-1], np.zeros(len(rows) - 1))
    start = np.append(start, 0.0)
    b, f = np.zeros(len(rows)), np.zeros(len(rows))
    dcd(K, labels, lam, theta, 1e-3, 0, b, f)
    off = np.abs(f - K @ newton_dual(K, lo[0], hi[0], il, start)[0]).max()
    b[-1] = 0.0

    def warm():
        from_b = b.copy()
        dcd(K, labels, lam, theta, 1e-3, 0, from_b, K @ from_b)

    times = []
    for _ in range(rounds):
        one = (cpu(run.insert, m, 1)[0] + cpu(run.delete, 1)[0]) / (2 * m)
        five = (cpu(run.insert, m, 5)[0] + cpu(run.delete, 5)[0]) / (2 * m / 5)
        again, gram = cpu(retrain, K, labels, lam, theta)[0], cpu(rbf, rows, gamma, K)[0]
        svc = cpu(SVC(C=lam, gamma=gamma).fit, rows, labels)[0] if with_svc else np.nan
        newton = cpu(newton_dual, K, lo[0], hi[0], il, start)[0]
        times.append((one, five, again, gram, svc, newton, cpu(warm)[0]))
    return np.median(times, axis=0), off, max(worst, run.engine.kkt())


CELLS = """RBF with gamma = 1 / d, features in [0, 1]; n samples as history, then 40 more inserted and deleted again,
one by one or in batches of 5: the mean time of an update. Retraining at n + 20 samples: our dual coordinate descent in
the same compiler, cold, until no projected gradient exceeds 1e-3, with the kernel matrix given or counted ("+K");
scikit-learn's SVC(C=lam).fit; Newton's method with a Cholesky factor a step, warm; the coordinate descent, warm (it may
stop after one inexact epoch). x1 = retraining / single update, x5 = retraining / batch of 5, BID/SID = five single
updates / a batch."""


def against_retraining(folder, quick):
    """Acceptance 4 and 5: single and batch updates against retraining, over data sets, lam and theta."""
    lines = ["| data set | n | lam | theta | update, us | batch of 5, us | DCD, ms | +K, ms | x1 | x1+K | x5 | x5+K |"
             " BID/SID | SVC/x1 | Newton/x1 | warm DCD/x1 | DCD off by | our KKT |", "|---" * 18 + "|"]  # fmt: skip
    table = []
    for name in NAMES[:2] if quick else NAMES:
        X, y = read(folder, name)
        n = int(0.6 * len(y))
        for lam in (1.0, 10.0, 100.0):
            for theta in (0.1,) if quick else (0.1, 0.3):
                (one, five, again, gram, svc, newton, warm), off, kkt = cell(X, y, n, lam, theta, 3, True)
                row = (again / one, (again + gram) / one, again / five, (again + gram) / five, 5 * one / five,
                       svc / one, newton / one, warm / one)  # fmt: skip
                table.append((lam, *row))
                figures = " | ".join(f"{v:.1f}" for v in row)
                lines.append(
                    f"| {name} | {n} | {lam:g} | {theta} | {one * 1e6:.0f} | {five * 1e6:.0f} | {again * 1e3:.2f} |"
                    f" {(again + gram) * 1e3:.2f} | {figures} | {off:.0e} | {kkt:.0e} |"
                )
                print(lines[-1], flush=True)
    table = np.array(table)
    lines += [
        "",
        "| ratio | geometric mean | min | max | lam = 1 | lam = 10 | lam = 100 |",
        "|---|---|---|---|---|---|---|",
    ]
    names = ("retraining (DCD 1e-3, K given) / single update", "the same, K counted", "retraining / batch of 5",
             "the same, K counted", "five singles / batch of 5", "SVC.fit / single update",
             "warm Newton-Cholesky / single update", "warm DCD 1e-3 / single update")  # fmt: skip
    for k, label in enumerate(names, start=1):
        column = table[:, k]
        by_lam = " | ".join(f"{geomean(column[table[:, 0] == lam]):.1f}" for lam in (1.0, 10.0, 100.0))
        lines.append(f"| {label} | {geomean(column):.1f} | {column.min():.1f} | {column.max():.1f} | {by_lam} |")
    return ["## Single and batch updates against retraining", "", CELLS, "", *lines]


@kernel(fastmath=("reassoc", "contract", "nsz", "arcp"))
def symv(P: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """v = P q from the packed lower triangle P (s (s + 1) / 2,); q, v (s,)."""
    v[:] = 0.0
    at = 0
    for i in range(q.shape[0]):
        total = 0.0
        for j in range(i):
            total += P[at + j] * q[j]
            v[j] += P[at + j] * q[i]
        v[i] += total + P[at + i] * q[i]
        at += i + 1


@kernel(fastmath=("reassoc", "contract", "nsz", "arcp"))
def syr(P: np.ndarray, v: np.ndarray, c: float) -> None:
    """P += c v v' on the packed lower triangle."""
    at = 0
    for i in range(v.shape[0]):
        for j in range(i + 1):
            P[at + j] += c * v[i] * v[j]
        at += i + 1


def replacing(quick):
    """Acceptance 6: one in, one out, against one symv and two syr passes over the same triangle."""
    rng = np.random.default_rng(0)
    d, moves = 20, 60
    X = rng.normal(size=(2000 + 5 * moves, d))
    y = np.where(X @ rng.normal(size=d) / d**0.5 + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    lines = [
        "| W | lam | in S | replace, us | symv + 2 syr, us | ratio | exchanges | refinements | KKT |",
        "|---" * 9 + "|",
    ]
    cost = {}
    for lam in (1.0, 10.0, 100.0):
        for W in (500, 1000) if quick else (1000, 2000):
            lo, hi, il = odm(y, 0.1, lam)
            engine = Engine(RBF, 1.0 / d, 0.0, d)
            slots = engine.update(X[:W], lo[:, :W], hi[:, :W], il[:W], NONE).tolist()
            before, times = engine.counts, []
            size = int((engine.coef()[0] != 0).sum())
            P, v = rng.normal(size=size * (size + 1) // 2), rng.normal(size=size)
            q = rng.normal(size=size)

            def passes(P=P, q=q, v=v):
                symv(P, q, v)
                syr(P, q, 1e-9)
                syr(P, q, -1e-9)

            passes()
            for t in range(W, W + 5 * moves):
                at, oldest = slice(t, t + 1), np.array([slots.pop(0)])
                mine, new = cpu(engine.update, X[at], lo[:, at], hi[:, at], il[at], oldest)
                slots.append(int(new[0]))
                times.append((mine, cpu(passes)[0]))
            mine, theirs = np.median(np.array(times)[20:], axis=0)
            cost[lam, W] = mine
            done = {k: (engine.counts[k] - before[k]) / len(times) for k in before}
            lines.append(
                f"| {W} | {lam:g} | {size} | {mine * 1e6:.0f} | {theirs * 1e6:.0f} | {mine / theirs:.2f} |"
                f" {done['exchanges']:.1f} | {done['refinements']:.2f} | {engine.kkt():.0e} |"
            )
            print(lines[-1], flush=True)
    sizes = sorted({W for _, W in cost})
    growth = ", ".join(
        f"{cost[lam, sizes[1]] / cost[lam, sizes[0]]:.1f} at lam = {lam:g}" for lam in (1.0, 10.0, 100.0)
    )
    return ["## Replacing the oldest sample of a window", "", *lines, "", f"Cost of twice the window: {growth}."]


def primal(quick):
    """Acceptance 7: explicit features; the cost must hardly depend on n."""
    rng = np.random.default_rng(0)
    grid = (
        (20, 2_000),
        (20, 20_000),
        (20, 100_000),
        (50, 2_000),
        (50, 20_000),
        (50, 100_000),
        (123, 20_000),
        (256, 5_000),
    )
    lines = [
        "| d | n | replace, us | mean, us | exchanges | evaluations | Newton refit, ms | ratio | warm, ms | ratio |"
        " w off by |",
        "|---" * 11 + "|",
    ]
    for d, n in grid[:2] if quick else grid:
        moves, lam, theta = 300, 10.0, 0.1
        X = rng.normal(size=(n + moves, d))
        y = np.where(X @ rng.normal(size=d) / d**0.5 + 0.5 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
        lo, hi, il = odm(y, theta, lam)
        engine = PrimalEngine(0.0, d)
        slots = engine.update(X[:n], lo[:, :n], hi[:, :n], il[:n], NONE)
        times, refits, before, off, old = [], [], engine.counts, 0.0, np.zeros(d)
        for t in range(moves):
            if t % 100 == 50:
                at = slice(t, n + t)
                cold, (w, _) = cpu(newton_primal, X[at], lo[0, at], hi[0, at], lam, np.zeros(d))
                refits.append((cold, cpu(newton_primal, X[at], lo[0, at], hi[0, at], lam, old)[0]))
                off = max(off, np.abs(w - engine.weights()[0]).max())
            at, old = slice(n + t, n + t + 1), engine.weights()[0]
            times.append(cpu(engine.update, X[at], lo[:, at], hi[:, at], il[at], slots[t : t + 1])[0])
        done = {k: (engine.counts[k] - before[k]) / moves for k in before}
        mine, (cold, warm) = np.median(times), np.median(refits, axis=0)
        lines.append(
            f"| {d} | {n} | {mine * 1e6:.0f} | {np.mean(times) * 1e6:.0f} | {done['exchanges']:.1f} |"
            f" {done['evaluations']:.0f} | {cold * 1e3:.1f} | {cold / mine:.0f} | {warm * 1e3:.1f} |"
            f" {warm / mine:.0f} | {off:.0e} |"
        )
        print(lines[-1], flush=True)
    text = (
        "A refit is Newton's method with whole matrices (BLAS), from zero or warm from w before the last replacement."
    )
    return ["## Explicit features (linear kernel): one in, one out", "", text, "", *lines]


def fourier(X, gamma, D, seed):
    """Random Fourier features (n, D) whose inner products approach exp(-gamma |x - z|^2)."""
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(X.shape[1], D)) * (2.0 * gamma) ** 0.5, rng.uniform(0.0, 2.0 * np.pi, D)
    return (2.0 / D) ** 0.5 * np.cos(X @ W + b)


def random_features(folder, quick):
    """The primal engine on random Fourier features beside the exact kernel: accuracy and time of an update."""
    lines = ["| data set | n | D | accuracy, % | exact kernel, % | one in, one out, us | exact kernel, us | KKT |",
             "|---" * 8 + "|"]  # fmt: skip
    for name in ("diabetes",) if quick else ("diabetes", "splice", "svmguide3", "a2a"):
        X, y = read(folder, name)
        n, lam, theta, gamma = int(0.8 * len(y)), 10.0, 0.1, 1.0 / X.shape[1]
        lo, hi, il = odm(y, theta, lam)
        cut, tail = n - 40, slice(n, None)

        def stream(engine, Z, lo=lo, hi=hi, il=il, n=n, cut=cut):
            slots = engine.update(Z[:cut], lo[:, :cut], hi[:, :cut], il[:cut], NONE)
            times = []
            for t in range(cut, n):
                at = slice(t, t + 1)
                times.append(cpu(engine.update, Z[at], lo[:, at], hi[:, at], il[at], slots[t - cut : t - cut + 1])[0])
            return np.median(times)

        kernel_engine = Engine(RBF, gamma, 0.0, X.shape[1])
        slow = stream(kernel_engine, X)
        right = 100 * np.mean((kernel_engine.decision(X[tail])[:, 0] > 0) == (y[tail] > 0))
        for D in (64, 256) if quick else (64, 256, 512):
            scores, took, kkt = [], [], 0.0
            for seed in range(3):
                Z = fourier(X, gamma, D, seed)
                engine = PrimalEngine(0.0, D)
                took.append(stream(engine, Z))
                scores.append(100 * np.mean((engine.decision(Z[tail])[:, 0] > 0) == (y[tail] > 0)))
                kkt = max(kkt, engine.kkt())
            lines.append(
                f"| {name} | {n} | {D} | {np.mean(scores):.1f} | {right:.1f} | {np.median(took) * 1e6:.0f} |"
                f" {slow * 1e6:.0f} | {kkt:.0e} |"
            )
            print(lines[-1], flush=True)
    text = "lam = 10, theta = .1, gamma = 1 / d, 4:1 split, mean of three draws: exact in the drawn features."
    return ["## Random Fourier features in the primal engine", "", text, "", *lines]


def platt(margin, y):
    """a, b of p = 1 / (1 + exp(-(a f + b))) by Newton on Platt's smoothed targets."""
    plus, minus = (y > 0).sum(), (y < 0).sum()
    t = np.where(y > 0, (plus + 1) / (plus + 2), 1 / (minus + 2))
    Z, c = np.column_stack([margin, np.ones(len(y))]), np.zeros(2)
    for _ in range(100):
        p = 1 / (1 + np.exp(-Z @ c))
        step = np.linalg.solve(Z.T @ (Z * (p * (1 - p))[:, None]) + 1e-10 * np.eye(2), Z.T @ (t - p))
        c = c + step
        if np.abs(step).max() < 1e-10:
            break
    return c


def leaving_one_out(folder, quick):
    """Acceptance 8: exact leave-one-out against retraining, and what it does for probabilities."""
    lines = ["| data set | n | lam | exact LOO, us a sample | DCD retrain, us | ratio | formula - exact (median, max) |"
             " same sign | log-loss, training margins | log-loss, LOO margins |", "|---" * 10 + "|"]  # fmt: skip
    better, ratios = 0, []
    names = ("heart", "ionosphere", "diabetes", "splice")
    cells = [(name, lam) for name in names for lam in (10.0, 100.0)]
    for name, lam in cells[:1] if quick else cells:
        X, y = read(folder, name)
        n, theta = int(0.6 * len(y)), 0.1
        run = Fitted(X, y, n, lam, theta)
        engine, (lo, hi, il) = run.engine, odm(y, theta, lam)
        slots = engine.live()
        fast, margin = engine.loo()[0, slots].copy(), engine.values()[0, slots].copy()
        empty = np.zeros((0, X.shape[1])), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)

        def exact(i, engine=engine, X=X, lo=lo, hi=hi, il=il, slots=slots, empty=empty):
            engine.update(*empty, slots[i : i + 1])
            f = engine.decision(X[i : i + 1])[0, 0]
            at = slice(i, i + 1)
            slots[i] = engine.update(X[at], lo[:, at], hi[:, at], il[at], NONE)[0]
            return f

        exact(0)
        K, gamma = np.zeros((n - 1, n - 1)), 1.0 / X.shape[1]
        rbf(X[1:n], gamma, K)
        retrain(K, y[1:n], lam, theta)
        took, slow, again = 0.0, np.zeros(n), []
        for i in range(n):
            seconds, slow[i] = cpu(exact, i)
            took += seconds
            if i % (n // 5) == 0:
                again.append(cpu(retrain, K, y[1:n], lam, theta)[0])
        ours, theirs = took / n, np.median(again)
        f_test, y_test = engine.decision(X[n:])[:, 0], y[n:]
        losses = []
        for f in (margin, fast):
            a, b = platt(f, y[:n])
            losses.append(np.mean(np.logaddexp(0, -y_test * (a * f_test + b))))
        better += losses[1] < losses[0]
        ratios.append(theirs / ours)
        gap = np.abs(fast - slow)
        lines.append(
            f"| {name} | {n} | {lam:g} | {ours * 1e6:.0f} | {theirs * 1e6:.0f} | {theirs / ours:.0f} |"
            f" {np.median(gap):.0e}, {gap.max():.2f} | {np.mean(np.sign(fast) == np.sign(slow)):.1%} |"
            f" {losses[0]:.3f} | {losses[1]:.3f} |"
        )
        print(lines[-1], flush=True)
    setting = "theta = .1; Platt's sigmoid fitted on either margin, log-loss on the rest of the data."
    outcome = (
        f"Geometric mean of the ratios {geomean(ratios):.0f}; lower log-loss with leave-one-out margins in {better}"
    )
    outcome += f" of {len(ratios)} cells."
    return ["## Leave-one-out", "", setting, "", *lines, "", outcome]


FIRST = """
import time
from onlinekit_plugins.id_odm import ODMClassifier
start = time.process_time()
model = ODMClassifier()
for t in range(30):
    model.learn_one({"a": t % 7 - 3.0, "b": t % 5 - 2.0}, t % 3 > 0)
model.predict_proba_one({"a": 1.0, "b": 0.0})
model.unlearn(model.last_key)
print(time.process_time() - start)
"""


def door(quick):
    """Acceptance 9: what a call of the learner costs beside the mathematics, and compilation."""
    from onlinekit_plugins.id_odm import ODMClassifier

    model = ODMClassifier(window=1)
    x = {"a": 0.5, "b": -1.0}
    for _ in range(100):
        model.learn_one(x, True)
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(500):
            model.learn_one(x, True)
        rounds.append((time.process_time() - start) / 500)
    lines = [f"`learn_one` on a one-sample model (window = 1, so one in, one out): {np.median(rounds) * 1e6:.1f} us."]
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NUMBA_CACHE_DIR": cache}
        cold, warm = (
            float(
                subprocess.run(
                    [sys.executable, "-c", FIRST], env=env, check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(2)
        )
    lines.append(
        f"First learn, predict_proba and unlearn of a process: {cold:.1f} s CPU compiled, {warm:.2f} s from the cache."
    )
    print(*lines, sep="\n", flush=True)
    return ["## The learner's door", "", *lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder of the data sets (default: ONLINEKIT_DATA)")
    parser.add_argument("--out", type=Path, help="write the tables here")
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    parser.add_argument("--only", choices=("retraining", "replace", "primal", "features", "loo", "door"))
    options = parser.parse_args()
    folder = data_folder(options.data)
    parts = {
        "retraining": lambda: against_retraining(folder, options.quick),
        "replace": lambda: replacing(options.quick),
        "primal": lambda: primal(options.quick),
        "features": lambda: random_features(folder, options.quick),
        "loo": lambda: leaving_one_out(folder, options.quick),
        "door": lambda: door(options.quick),
    }
    if folder is None:
        print("no data folder: the parts that need one are left out", flush=True)
        parts = {name: part for name, part in parts.items() if name not in ("retraining", "features", "loo")}
    text = [
        "# Speed of the exact engines",
        "",
        f"`python benchmarks/id_odm_speed.py` (its parts may be run by --only); {machine()}; CPU time, one thread.",
    ]
    for name, part in parts.items():
        if options.only in (None, name):
            text += ["", *part()]
    if options.out:
        options.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):  # CPU time of BLAS threads that wait for one another would be counted
        main()
