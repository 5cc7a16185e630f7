"""Parts of id_odm_speed: the engine for explicit features, against refits and beside the exact kernel."""

from __future__ import annotations

import numpy as np
from odm_baselines import cpu, newton_primal, read
from odm_retraining import NONE, odm

from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import RBF
from onlinekit_plugins.id_odm.primal import PrimalEngine


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
