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
from odm_baselines import cpu, data_folder, machine
from odm_costs import classes, scale
from odm_explicit import primal, random_features
from odm_retraining import NONE, against_retraining, leaving_one_out, odm
from threadpoolctl import threadpool_limits

from onlinekit.jit import kernel
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import RBF


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


REPLACE = """One in, one out. The yardstick is one product and two rank-one passes over a packed triangle of the size of
S (`symv` and two `syr` of this script, not blocked), timed after every replacement. Windows of both sizes take turns of
20 replacements, so that both meet the same machine. Times are means of a turn, as some replacements pay for the pass
over the inverse that others have put off; median and quartiles of the turns, the first left out. The whole is repeated
on other data and the spread of the medians shown below."""


class Window:
    """A window of W samples over drawn rows, its replacements and the passes timed."""

    def __init__(self, W, lam, X, y, d):
        self.engine = Engine(RBF, 1.0 / d, 0.0, d)
        self.X, self.at, self.times = X, W, []
        self.lo, self.hi, self.il = odm(y, 0.1, lam)
        first = slice(0, W)
        self.slots = self.engine.update(X[first], self.lo[:, first], self.hi[:, first], self.il[first], NONE).tolist()
        self.before = self.engine.counts
        self.size = int((self.engine.coef()[0] != 0).sum())
        self.P, self.q = np.full(self.size * (self.size + 1) // 2, 1e-3), np.ones(self.size)
        self.v = np.ones(self.size)
        self.passes()

    def passes(self):
        """What no exact update in one triangle can do without."""
        symv(self.P, self.q, self.v)
        syr(self.P, self.q, 1e-9)
        syr(self.P, self.q, -1e-9)

    def replace(self, count):
        """The oldest for the next, `count` times."""
        for t in range(self.at, self.at + count):
            at, oldest = slice(t, t + 1), np.array([self.slots.pop(0)])
            mine, new = cpu(self.engine.update, self.X[at], self.lo[:, at], self.hi[:, at], self.il[at], oldest)
            self.slots.append(int(new[0]))
            self.times.append((mine, cpu(self.passes)[0]))
        self.at += count


def replacing(quick):
    """Acceptance 6: one in, one out, against one symv and two syr passes over the same triangle."""
    d, turns, repeats = 20, 6 if quick else 13, 1 if quick else 5
    lines = [
        "| W | lam | in S | replace, us | quartiles | symv + 2 syr, us | ratio | exchanges | blocks | refinements |"
        " KKT |",
        "|---" * 11 + "|",
    ]
    sizes, spread = (500, 1000) if quick else (1000, 2000), []
    for lam in (1.0, 10.0, 100.0):
        found = []
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(sizes[1] + 20 * turns, d))
            y = np.where(X @ rng.normal(size=d) / d**0.5 + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
            windows = [Window(W, lam, X, y, d) for W in sizes]
            for _ in range(turns):
                for window in windows:
                    window.replace(20)
            times = [np.array(window.times)[20:].reshape(-1, 20, 2).mean(axis=1) for window in windows]
            mine, theirs = np.median(times, axis=1).T
            found.append((*(mine / theirs), mine[1] / mine[0]))
            for window, spent, us, them in zip(windows, times, mine, theirs, strict=True):
                if seed:
                    continue
                low, high = np.percentile(spent[:, 0], (25, 75)) * 1e6
                done = {k: (window.engine.counts[k] - window.before[k]) / len(window.times) for k in window.before}
                lines.append(
                    f"| {window.at - 20 * turns} | {lam:g} | {window.size} | {us * 1e6:.0f} | {low:.0f} to {high:.0f} |"
                    f" {them * 1e6:.0f} | {us / them:.2f} | {done['exchanges']:.1f} | {done['blocks']:.1f} |"
                    f" {done['refinements']:.2f} | {window.engine.kkt():.0e} |"
                )
                print(lines[-1], flush=True)
        table = np.array(found)
        cells = " | ".join(f"{np.median(column):.2f} ({column.min():.2f} to {column.max():.2f})" for column in table.T)
        spread.append(f"| {lam:g} | {cells} |")
        print(spread[-1], flush=True)
    head = f"| lam | ratio, W = {sizes[0]} | ratio, W = {sizes[1]} | cost of twice the window |"
    return ["## Replacing the oldest sample of a window", "", REPLACE, "", *lines, "",
            f"Medians of {repeats} data sets, smallest to largest:", "", head, "|---" * 4 + "|", *spread]  # fmt: skip


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
    parser.add_argument(
        "--only", choices=("retraining", "replace", "primal", "features", "loo", "classes", "scale", "door")
    )
    options = parser.parse_args()
    folder = data_folder(options.data)
    parts = {
        "retraining": lambda: against_retraining(folder, options.quick),
        "replace": lambda: replacing(options.quick),
        "primal": lambda: primal(options.quick),
        "features": lambda: random_features(folder, options.quick),
        "loo": lambda: leaving_one_out(folder, options.quick),
        "classes": lambda: classes(options.quick),
        "scale": lambda: scale(options.quick),
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
