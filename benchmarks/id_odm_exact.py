"""Exactness over long histories: golden values, random mixed operations, and the drift of a persistent core.

    python benchmarks/id_odm_exact.py --out benchmarks/results/id_odm_exact.md

KKT is max_i |il_i b_i - (clip(f_i, lo_i, hi_i) - f_i)| with f evaluated afresh from b: zero at the exact solution.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from odm_baselines import machine

from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, RBF
from onlinekit_plugins.id_odm.primal import PrimalEngine

NONE = np.zeros(0, dtype=np.int64)
GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "id_odm.json"


def make(kind, d, gamma=1.0):
    """An empty engine: "rbf" and "linear" in the dual, "explicit" for linear in the primal."""
    if kind == "explicit":
        return PrimalEngine(0.0, d)
    return Engine(RBF if kind == "rbf" else LINEAR, gamma, 0.0, d)


def intervals(y, theta, lam):
    """lo, hi (1, n), il (n,) of labels in {-1, 1}."""
    return (y - theta)[None, :], (y + theta)[None, :], np.full(len(y), 1.0 / lam)


class Held:
    """What an engine should hold, slot by slot, kept apart from it: the checks trust nothing but b of the engine."""

    def __init__(self, engine, kind, gamma, d, room):
        self.engine, self.kind, self.gamma = engine, kind, gamma
        self.X, self.edge, self.used = np.zeros((room, d)), np.zeros((3, room)), np.zeros(room, dtype=bool)

    def put(self, slots, X, lo, hi, il):
        """Note new samples."""
        self.X[slots], self.used[slots] = X, True
        self.edge[0, slots], self.edge[1, slots], self.edge[2, slots] = lo[0], hi[0], il

    def kkt(self, rows):
        """The optimality error at the stored rows (m,)."""
        b = self.engine.coef()[0]
        live = np.flatnonzero(self.used[: len(b)])
        Z = self.X[rows]
        if self.kind == "rbf":
            G = np.exp(-self.gamma * ((Z[:, None, :] - self.X[live][None]) ** 2).sum(axis=2))
            f = G @ b[live]
        else:
            f = Z @ (self.X[live].T @ b[live])
        lo, hi, il = self.edge[:, rows]
        return float(np.abs(il * b[rows] - (np.clip(f, lo, hi) - f)).max(initial=0.0))


def mixed(kind, d, gamma, lam, theta, operations, seed, size=120, full=1000):
    """Singles, replacements, batches, exact and near duplicates with random labels, relabelling, clears.

    Every state is checked at sampled rows, all rows every `full` operations. An operation is one sample that comes,
    goes or changes. The worst KKT error, seconds, the engine's counts, and resident memory at a tenth and at the end.
    """
    rng = np.random.default_rng(seed)
    engine = make(kind, d, gamma)
    held = Held(engine, kind, gamma, d, 4 * size)
    done, checked, worst, memory = 0, 0, 0.0, []
    start = time.process_time()
    nothing = np.zeros((0, d)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0)
    while done < operations:
        live = np.flatnonzero(held.used)
        what = rng.random()
        m, q = (
            (1, 0) if what < 0.3 else (0, 1) if what < 0.5 else (1, 1) if what < 0.75 else tuple(rng.integers(0, 6, 2))
        )
        q = min(q + 3 * (len(live) > size), len(live))
        if rng.random() < 2e-4:
            m, q = 0, len(live)
        if len(live) and rng.random() < 0.05:
            slots = rng.choice(live, min(len(live), 3), replace=False)
            lo, hi, il = intervals(rng.choice([-1.0, 1.0], len(slots)), theta, lam)
            engine.retarget(slots, lo, hi, il)
            held.put(slots, held.X[slots], lo, hi, il)
            done += len(slots)
        else:
            X, y = rng.normal(size=(m, d)), rng.choice([-1.0, 1.0], m)
            for k in range(m if len(live) else 0):
                chance = rng.random()
                if chance < 0.25:
                    X[k] = held.X[rng.choice(live)] + (1e-3 if chance < 0.1 else 0.0) * rng.normal(size=d)
            forget = rng.choice(live, q, replace=False) if q else NONE
            lo, hi, il = intervals(y, theta, lam)
            slots = engine.update(*((X, lo, hi, il) if m else nothing), forget)
            held.used[forget] = False
            held.put(slots, X, lo, hi, il)
            done += m + q
        live = np.flatnonzero(held.used)
        if len(live):
            everything = done // full > checked
            checked = done // full
            worst = max(worst, held.kkt(live if everything else rng.choice(live, min(4, len(live)), replace=False)))
        if len(memory) < 1 + (done >= operations) and done >= operations // 10:
            pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
            memory.append(pages * 4096 / 2**20)
    return worst, time.process_time() - start, engine.counts, memory


def golden():
    """Worst errors of f and of alpha / max(1, lam) over the golden values, and how many states were compared."""
    worst_f = worst_alpha = 0.0
    states = 0
    for case in json.loads(GOLDEN.read_text())["cases"]:
        kinds = ["rbf"] if case["kernel"] == "rbf" else ["linear", "explicit"]
        for kind in kinds:
            engine, slot, label = make(kind, case["dim"], case["gamma"] or 1.0), {}, {}
            for op in case["ops"]:
                X = np.array([s["x"] for s in op["insert"]], dtype=float).reshape(-1, case["dim"])
                y = np.array([s["y"] for s in op["insert"]], dtype=float)
                forget = np.array([slot.pop(key) for key in op["delete"]], dtype=np.int64)
                slots = engine.update(X, *intervals(y, case["theta"], case["lam"]), forget)
                slot.update({s["key"]: int(i) for s, i in zip(op["insert"], slots, strict=True)})
                label.update({s["key"]: s["y"] for s in op["insert"]})
                keys, states = op["expect"]["keys"], states + 1
                at, signs = [slot[key] for key in keys], np.array([label[key] for key in keys])
                gap_f = np.abs(engine.values()[0, at] - op["expect"]["f"]).max(initial=0.0)
                gap = np.abs(engine.coef()[0, at] * signs - op["expect"]["alpha"]).max(initial=0.0)
                worst_f, worst_alpha = max(worst_f, gap_f), max(worst_alpha, gap / max(1.0, case["lam"]))
    return worst_f, worst_alpha, states


def core(kind, d, lam, operations, seed=0, every=1):
    """150 samples stay, 50 churn one by one; the worst KKT error over all states (all rows of each `every`-th)."""
    rng = np.random.default_rng(seed)
    gamma = 0.25
    engine = make(kind, d, gamma)
    held = Held(engine, kind, gamma, d, 300)
    X, (lo, hi, il) = rng.normal(size=(200, d)), intervals(rng.choice([-1.0, 1.0], 200), 0.1, lam)
    slots = engine.update(X, lo, hi, il, NONE)
    held.put(slots, X, lo, hi, il)
    young, worst = slots[150:].tolist(), 0.0
    for step in range(operations // 2):
        x, (lo, hi, il) = rng.normal(size=(1, d)), intervals(rng.choice([-1.0, 1.0], 1), 0.1, lam)
        old = np.array([young.pop(0)])
        slot = engine.update(x, lo, hi, il, old)
        held.used[old] = False
        held.put(slot, x, lo, hi, il)
        young.append(int(slot[0]))
        live = np.flatnonzero(held.used)
        worst = max(worst, held.kkt(live if step % every == 0 else rng.choice(live, 8, replace=False)))
    return worst, engine.counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="not used: the streams are drawn")
    parser.add_argument("--out", type=Path, help="write the tables here")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the operations")
    options = parser.parse_args()
    scale = 100 if options.quick else 1
    text = ["# Exactness over long histories", "", f"`python benchmarks/id_odm_exact.py`; {machine()}.", ""]

    def add(*lines):
        text.extend(lines)
        print(*lines, sep="\n", flush=True)

    f, alpha, states = golden()
    add(f"Golden values, {states} states: f off by at most {f:.0e}, alpha / max(1, lambda) by at most {alpha:.0e}.", "")
    head = "| engine | d | lam | theta | operations | worst KKT | exchanges | fallbacks | refinements | rebuilds |"
    add("## Mixed operations", "", "Singles, batches, replacements, relabelling, duplicates with random labels, clears;"
        " up to about 120 samples. Every state is checked at 4 rows, all rows every 1000 operations.", "",
        head + " CPU s | MiB at a tenth | MiB at the end |", "|---" * 13 + "|")  # fmt: skip
    long = [(kind, d, lam, 0.1, 100_000) for kind, d in (("rbf", 3), ("explicit", 10)) for lam in (1.0, 1000.0)]
    short = [(kind, d, lam, theta, 10_000)
             for kind, d in (("rbf", 3), ("linear", 4), ("explicit", 4))
             for lam in (1.0, 10.0, 100.0, 1000.0) for theta in (0.0, 0.1, 0.9)]  # fmt: skip
    for kind, d, lam, theta, operations in long + short:
        worst, seconds, counts, memory = mixed(kind, d, 0.5, lam, theta, operations // scale, seed=1)
        shown = " | ".join(str(counts[name]) for name in ("exchanges", "fallbacks", "refinements", "rebuilds"))
        add(f"| {kind} | {d} | {lam:g} | {theta} | {operations // scale} | {worst:.0e} | {shown} | {seconds:.0f} |"
            f" {memory[0]:.0f} | {memory[-1]:.0f} |")  # fmt: skip
    add("", "## A persistent core", "",
        "150 samples stay, 50 are replaced one by one, 10,000 operations, every state checked in full.", "",
        "| engine | d | lam | worst KKT | refinements | rebuilds |", "|---" * 6 + "|")  # fmt: skip
    for kind, d in (("rbf", 3), ("linear", 50), ("explicit", 50)):
        for lam in (1.0, 1000.0):
            worst, counts = core(kind, d, lam, 10_000 // scale)
            add(f"| {kind} | {d} | {lam:g} | {worst:.0e} | {counts['refinements']} | {counts['rebuilds']} |")
    if options.out:
        options.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
