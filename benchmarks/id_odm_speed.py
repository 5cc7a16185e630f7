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
