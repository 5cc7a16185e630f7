"""Parts of id_odm_speed: what many classes and what unlearning with a running scale cost."""

from __future__ import annotations

import time

import numpy as np
from odm_baselines import cpu
from odm_retraining import NONE, odm

from onlinekit_plugins.id_odm import ODMClassifier
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import RBF

CLASSES = """One in, one out in a window, one f a class against the rest (lam = 10, d = 20). K is shared by all classes.
At theta = 0 every sample is in S whatever its label, so that the classes share the inverse too and only solve for their
targets; at theta > 0 each has its own."""

SCALE = """`ODMClassifier(gamma=.05)` over n rows of 20 features, unlearning one sample. With `standardize` every later
row was scaled with it in view and is scaled again: few are exchanged, many are solved anew from a Cholesky factor."""


def classes(quick):
    """The cost of a replacement by the number of classes, at theta = 0 and .1."""
    lines = ["| W | classes | theta | replace, us | inverses, MiB | K, MiB |", "|---" * 6 + "|"]
    for W in (300,) if quick else (300, 1000):
        for count in (1, 3, 10):
            for theta in (0.0, 0.1):
                rng = np.random.default_rng(0)
                X = rng.normal(size=(W + 40, 20))
                names = (X[:, :3] @ rng.normal(size=(3, max(count, 2)))).argmax(axis=1)
                parts = [odm(np.where(names == c, 1.0, -1.0), theta, 10.0) for c in range(count)]
                lo, hi = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
                il, engine = parts[0][2], Engine(RBF, 0.05, 0.0, 20, count)
                slots = engine.update(X[:W], lo[:, :W], hi[:, :W], il[:W], NONE)
                times = []
                for t in range(40):
                    at = slice(W + t, W + t + 1)
                    times.append(cpu(engine.update, X[at], lo[:, at], hi[:, at], il[at], slots[t : t + 1])[0])
                packed = sum(P.nbytes for P in {id(P): P for P in engine.P}.values()) / 2**20
                lines.append(
                    f"| {W} | {count} | {theta} | {np.median(times[10:]) * 1e6:.0f} | {packed:.0f} |"
                    f" {engine.K.nbytes / 2**20:.0f} |"
                )
                print(lines[-1], flush=True)
    return ["## Many classes", "", CLASSES, "", *lines]


def scale(quick):
    """Unlearning the last, a late and an early sample, with and without a running scale."""
    lines = ["| n | standardize | the last, ms | 20 before it, ms | the first, ms |", "|---" * 5 + "|"]
    for n in (300,) if quick else (500, 1000, 2000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 20))
        y = X[:, 0] + 0.5 * rng.normal(size=n) > 0
        for standardize in (False, True):
            model = ODMClassifier(gamma=0.05, standardize=standardize)
            model.update_many(X, y, keys=range(n))
            times = []
            for turn in range(4):
                took = []
                for key in (n - 1 - turn, n - 25 - turn, turn):
                    start = time.process_time()
                    model.unlearn(key)
                    took.append(time.process_time() - start)
                times.append(took)
            figures = " | ".join(f"{1e3 * v:.2f}" for v in np.median(times[1:], axis=0))
            lines.append(f"| {n} | {standardize} | {figures} |")
            print(lines[-1], flush=True)
    return ["## Unlearning with a running scale", "", SCALE, "", *lines]
