"""Certified bounds by the numbers: violations, tightness, undecided rows, CPU time, leave-one-out, sliding windows.

    python benchmarks/sensitivity_numbers.py --data DIR --out benchmarks/results

One process and one thread; CPU time (process_time), interleaved, medians. DIR holds a9a.npz, w8a.npz, cod_rna.npz and
elec2.npz as load.py there reads them; ONLINEKIT_DATA is its default.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from onlinekit_plugins.sensitivity import FitSummary, Rule, Tracker, loo_certificates, solve

LOSSES = ("logistic", "squared_hinge")
now = time.process_time


def read(folder, name):
    spec = importlib.util.spec_from_file_location("load", Path(folder) / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data = module.load(name)
    return {k: v.astype(float) if isinstance(v, np.ndarray) and v.dtype.kind in "fiu" else v for k, v in data.items()}


def timed(work):
    start = now()
    out = work()
    return out, now() - start


def processor():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return names[0] if names else platform.machine()


def shuffled(data, seed=0):
    order = np.random.default_rng(seed).permutation(len(data["y"]))
    return data["X"][order], data["y"][order]


class Change:
    """The first n0 rows fitted; `half` rows from `new` on (default n0) added, the first `half` removed."""

    def __init__(self, X, y, n0, share, summary, new=None):
        half, new = max(1, round(share * n0 / 2)), new or n0
        self.add = sp.csr_matrix(X[new : new + half]), y[new : new + half]
        self.remove = sp.csr_matrix(X[:half]), y[:half]
        self.X1 = np.vstack([X[half:n0], X[new : new + half]])
        self.y1 = np.append(y[half:n0], y[new : new + half])
        self.sparse, self.summary = sp.csr_matrix(self.X1), summary

    def tracker(self):
        tracker = Tracker(self.summary)
        tracker.add(*self.add)
        tracker.remove(*self.remove)
        return tracker


def width(tracker, level):
    lower, upper = tracker.coef_bounds(level)
    return float((upper - lower).mean())


def cell(data, name, X, y, n0, share, summary, rounds):
    """Sections 2 to 6 of one cell."""
    s = summary
    loss, C = s.loss, s.C
    change = Change(X, y, n0, share, s)
    w1 = solve(change.sparse, change.y1, C, loss, s.w0, tol=1e-12)
    tracker = change.tracker()
    row = {"set": name, "loss": loss, "C": C, "P": share, "n0": n0, "d": X.shape[1]}
    widths = {level: width(tracker, level) for level in ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid")}
    row["violations"] = sum(not tracker.check(w1, level) for level in widths)
    L = tracker._L / tracker.n1
    row["smooth_factor_over_least"] = widths["sphere"] / widths["smooth-sphere"] * (1 - C / L)
    if "X_test" in data:
        for level in ("sphere", "ellipsoid"):
            row[f"undecided_{level}"] = float(np.mean(tracker.labels(data["X_test"], level) == 0))
    for passes in (1, 2):
        tracker.refine(change.sparse, change.y1, passes)
        widths[f"newton_{passes}"] = width(tracker, "newton")
        row["violations"] += not tracker.check(w1, "newton")
        if passes == 1 and "X_test" in data:
            labels = tracker.labels(data["X_test"], "newton")
            row["undecided_newton"] = float(np.mean(labels == 0))
            row["violations"] += int(np.sum((labels != 0) & (labels != np.where(data["X_test"] @ w1 > 0, 1, -1))))
    row.update({f"ratio_{level}": widths["sphere"] / value for level, value in widths.items()})
    kind = LogisticRegression if loss == "logistic" else LinearSVC
    given = {
        "C": 1 / (C * tracker.n1),
        "fit_intercept": False,
        **({"solver": "liblinear"} if loss == "logistic" else {}),
    }
    peers = {"liblinear": kind(**given), "liblinear_tight": kind(**given, tol=1e-6)}
    for key, peer in peers.items():
        row[f"error_{key}"] = float(np.abs(peer.fit(change.sparse, change.y1).coef_[0] - w1).mean())
    row.update({"half_L1": widths["ellipsoid"] / 2, "half_L2": widths["newton_1"] / 2})

    def first():
        out = change.tracker()
        out.coef_bounds("ellipsoid")
        return out

    def second():
        out = change.tracker()
        out.refine(change.sparse, change.y1)
        out.coef_bounds("newton")

    asked = first()
    work = {
        "L1": first,
        "more": lambda: asked.bounds(X[5], "ellipsoid"),
        "scores": lambda: asked.bounds(X[:5000], "ellipsoid"),
        "sphere": lambda: asked.coef_bounds("sphere"),
        "level0": lambda: asked.coef_bounds("smooth-sphere"),
        "L2": second,
        **{key: lambda peer=peer: peer.fit(change.sparse, change.y1) for key, peer in peers.items()},
        "newton": lambda: solve(change.sparse, change.y1, C, loss, s.w0),
    }
    times = {key: [] for key in work}
    for _ in range(rounds):
        for key, run in work.items():
            # In a row, so that none begins with the other's data in the caches.
            times[key] += [timed(run)[1] for _ in range(3)]
    row.update({f"ms_{key}": 1e3 * statistics.median(value) for key, value in times.items()})
    print(json.dumps(row), flush=True)
    return row


def tightness(data, name, cells, rounds):
    X, y = shuffled(data)
    n0 = int(len(y) / 1.05)
    summaries, out = {}, []
    for loss, C, share in cells:
        if (loss, C) not in summaries:
            w0 = solve(sp.csr_matrix(X[:n0]), y[:n0], C, loss)
            summaries[loss, C] = FitSummary.from_fit(X[:n0], y[:n0], w0, C, loss)
        out.append(cell(data, name, X, y, n0, share, summaries[loss, C], rounds))
    return out


def growth(data, rounds):
    """L1 time against n0, the same changed rows."""
    X, y = shuffled(data)
    out = []
    for loss in LOSSES:
        for m in (310, 1550):
            changes = []
            for n0 in (7750, 31000):
                w0 = solve(sp.csr_matrix(X[:n0]), y[:n0], 0.1, loss)
                summary = FitSummary.from_fit(X[:n0], y[:n0], w0, 0.1, loss)
                changes.append(Change(X, y, n0, m / n0, summary, new=31_000))
            times = [[], []]
            for _ in range(3 * rounds):
                for at, change in enumerate(changes):
                    times[at].append(timed(lambda change=change: change.tracker().coef_bounds("ellipsoid"))[1])
            small, large = (1e3 * statistics.median(t) for t in times)
            out.append({"loss": loss, "m": m, "ms_7750": small, "ms_31000": large, "change": large / small - 1})
            print(json.dumps(out[-1]), flush=True)
    return out


def loo_cell(X, y, C, loss):
    n, rows = len(y), sp.csr_matrix(X)
    w0 = solve(rows, y, C, loss)
    fits = [timed(lambda: FitSummary.from_fit(rows, y, w0, C, loss)) for _ in range(3)]
    summary, fit = fits[0][0], statistics.median(t for _, t in fits)
    runs = [timed(lambda: loo_certificates(summary, rows, y)) for _ in range(5)]
    (lower, upper, label), spent = runs[0][0], statistics.median(t for _, t in runs)
    dense = statistics.median(timed(lambda: loo_certificates(summary, X, y))[1] for _ in range(3))
    refits, wrong = [], 0
    for i in np.random.default_rng(1).choice(n, 12, replace=False):
        Xi, yi = sp.csr_matrix(np.delete(X, i, 0)), np.delete(y, i)
        begin = now()
        w = solve(Xi, yi, C, loss, w0)
        refits.append(now() - begin)
        wrong += not lower[i] <= X[i] @ w <= upper[i]
    out = {
        "loss": loss, "C": C, "n": n, "undecided": float(np.mean(label == 0)), "ms": 1e3 * spent,
        "ms_dense": 1e3 * dense,
        "ms_summary": 1e3 * fit, "of_summary": spent / fit, "violations": wrong,
        "times_faster_than_refits": n * statistics.median(refits) / spent,
    }  # fmt: skip
    print(json.dumps(out), flush=True)
    return out


def leave_one_out(data, n):
    X, y = shuffled(data)
    return [loo_cell(X[:n], y[:n], C, loss) for loss in LOSSES for C in (0.01, 0.1, 1.0)]


def scaled(data, rows=None):
    X = data["X"][:rows] if rows else data["X"]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return np.hstack([X, np.ones((len(X), 1))])


def flipped(rows, w0, w1):
    return float(np.mean((rows @ w1 > 0) != (rows @ w0 > 0)))


def window_runs(X, y, begin_at, window, step, checks, C, loss, tolerance=0.01):
    """The rule "at most 1 % of a reference window can flip": retrains by level, and by refitting at every check.

    Also the worst true share of flips of a model that was kept.
    """
    out = {}
    for policy in ("sphere", "ellipsoid", "newton", "refit"):
        start, tracker, retrains, worst, spent = begin_at, None, 0, 0.0, 0.0
        for _ in range(checks + 1):
            end = start + window
            rows, labels = X[start:end], y[start:end]
            reference = rows[-2000:]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                if tracker is None:
                    tracker = Tracker(FitSummary.from_fit(rows, labels, solve(rows, labels, C, loss), C, loss))
                    start += step
                    continue
                w0 = tracker.summary.w0
                begin = now()
                if policy == "refit":
                    keep = flipped(reference, w0, solve(rows, labels, C, loss, w0)) <= tolerance
                else:
                    tracker.remove(X[start - step : start], y[start - step : start])
                    tracker.add(X[end - step : end], y[end - step : end])
                    level = "sphere" if policy == "sphere" else "ellipsoid"
                    data = (rows, labels) if policy == "newton" else ()
                    keep = tracker.decide(Rule("flips", tolerance, reference), *data, level=level).decision == "keep"
                spent += now() - begin
                w1 = solve(rows, labels, C, loss, w0)
                if keep:
                    worst = max(worst, flipped(reference, w0, w1))
                else:
                    retrains += 1
                    tracker = Tracker(FitSummary.from_fit(rows, labels, w1, C, loss))
            start += step
        out[policy] = {"retrains": retrains, "worst_true_share_when_kept": worst, "ms_a_check": 1e3 * spent / checks}
    return out


def least_retrains(X, y, begin_at, window, step, checks, C, loss, tolerance=0.01):
    """The least number of retrains that any rule can do with which keeps no model beyond the tolerance.

    Every model is the optimum of the window of some check; whichever check's model is in service, it may stay while the
    share of flips is within the tolerance. Shortest path over (check, model).
    """
    models, least = [], {}
    for check in range(checks + 1):
        start = begin_at + check * step
        rows, labels = X[start : start + window], y[start : start + window]
        models.append(solve(rows, labels, C, loss, models[-1] if models else None))
        reference = rows[-2000:]
        kept = {at: n for at, n in least.items() if flipped(reference, models[at], models[-1]) <= tolerance}
        least = {**kept, check: min(least.values(), default=-1) + 1}
    return min(least.values())


def sliding(folder, quick):
    """Set, rows, labels, where the first window begins: stationary, drifting, and with abrupt changes of class."""
    a9a, elec, cod = (read(folder, name) for name in ("a9a", "elec2", "cod_rna"))
    X, y = shuffled(cod)
    streams = [
        ("a9a", *shuffled(a9a), 0),
        ("elec2", scaled(elec), elec["y"], 0),
        ("cod_rna", scaled({"X": X}), y, 0),
        ("cod_rna blocks", scaled(cod), cod["y"], 14_000),
    ]
    window, step, checks = 8000, 80, 6 if quick else 60
    out = []
    for name, X, y, begin_at in streams:
        for loss in LOSSES:
            for C in (0.01, 0.1) if not quick else (0.1,):
                row = {"set": name, "loss": loss, "C": C, "window": window, "step": step, "checks": checks}
                row.update(window_runs(X, y, begin_at, window, step, checks, C, loss))
                row["least"] = least_retrains(X, y, begin_at, window, step, checks, C, loss)
                out.append(row)
                print(json.dumps(row), flush=True)
    return out


def violation_batch(seed, share=0.2):
    """A fifth of section 1: random runs and hostile cases against long-double and mpmath optima."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    import test_sensitivity_violations as check  # the slow test's own code

    out = []
    for make, runs, scores in ((check.random_run, 5000, 1000), (check.hostile_run, 10_000, 10)):
        total, checked = check.count(seed, int(runs * share), make, scores)
        out.append({"kind": make.__name__, "runs": int(runs * share), "intervals": checked, "violations": total})
        print(json.dumps(out[-1]), flush=True)
    return out


def violations(quick):
    batches = [violation_batch(seed, 0.01 if quick else 0.2) for seed in range(101, 106)]
    return [
        {key: part[0][key] if key == "kind" else sum(r[key] for r in part) for key in part[0]}
        for part in zip(*batches, strict=True)
    ]


def cells(quick):
    a9a = [(loss, C, P) for loss in LOSSES for C in (0.1, 1.0) for P in (0.01, 0.1)]
    w8a = [(loss, 0.1, P) for loss in LOSSES for P in (0.001, 0.01, 0.1)]
    return (a9a[:2], []) if quick else (a9a, w8a)


def targets(result):
    """(what, target, measured, met) of every number aimed at."""
    rows, out = result["a9a"] + result["w8a"], []

    def pick(name, loss, C, P, key):
        found = [r[key] for r in rows if (r["set"], r["loss"], r["C"], r["P"]) == (name, loss, C, P)]
        return found[0] if found else None

    def least(what, target, value):
        if value is not None:
            out.append([what, f">= {target:g}", value, bool(value >= target)])

    def most(what, target, value):
        if value is not None:
            out.append([what, f"<= {target:g}", value, bool(value <= target)])

    for r in result["violations"]:
        most(f"violations, {r['runs']} x {r['kind']}, {r['intervals']} intervals", 0, r["violations"])
    most("violations in the cells below", 0, sum(r["violations"] for r in rows))
    least("smooth sphere: factor over 1/(1 - C/L)", 0.999, min(r["smooth_factor_over_least"] for r in rows))
    for name, loss, C, P, target in (
        ("a9a", "logistic", 0.1, 0.01, 250), ("a9a", "logistic", 0.1, 0.1, 50),
        ("a9a", "squared_hinge", 0.1, 0.01, 35), ("a9a", "squared_hinge", 0.1, 0.1, 7),
        ("a9a", "logistic", 1.0, 0.1, 600), ("a9a", "squared_hinge", 1.0, 0.1, 150),
        ("w8a", "logistic", 0.1, 0.1, 45), ("w8a", "squared_hinge", 0.1, 0.001, 60),
        ("w8a", "squared_hinge", 0.1, 0.1, 4.5),
    ):  # fmt: skip
        least(f"sphere / ellipsoid, {name}, {loss}, C={C:g}, P={P:g}", target,
              pick(name, loss, C, P, "ratio_ellipsoid"))  # fmt: skip
    for loss, target in (("logistic", 1e4), ("squared_hinge", 500)):
        found = [r["ratio_newton_1"] for r in rows if r["loss"] == loss]
        if found:
            least(f"sphere / newton, one pass, {loss}, worst cell", target, min(found))
    least("sphere / newton, two passes, worst cell", 2e4, min(r["ratio_newton_2"] for r in rows))
    for loss, ell in (("logistic", 5e-4), ("squared_hinge", 6e-3)):
        most(f"undecided a9a test rows, ellipsoid, {loss}, C=.1, P=.1", ell,
             pick("a9a", loss, 0.1, 0.1, "undecided_ellipsoid"))  # fmt: skip
        most(f"undecided a9a test rows, newton, {loss}, C=.1, P=.1", 2e-4,
             pick("a9a", loss, 0.1, 0.1, "undecided_newton"))  # fmt: skip
    for r in rows:
        where = f"{r['set']}, {r['loss']}, C={r['C']:g}, P={r['P']:g}"
        small = r["P"] <= 0.01
        if r["set"] == "a9a":
            most(f"time of L1 / liblinear, {where}", 1 / 6 if small else 1 / 2, r["ms_L1"] / r["ms_liblinear"])
            if small:
                most(f"time of L1 / warm Newton, {where}", 1 / 12, r["ms_L1"] / r["ms_newton"])
                most(f"time of L2 / liblinear, {where}", 1 / 4, r["ms_L2"] / r["ms_liblinear"])
        elif r["P"] == 0.001:
            most(f"time of L1 / liblinear, {where}", 1 / 5, r["ms_L1"] / r["ms_liblinear"])
            most(f"time of L1 / warm Newton, {where}", 1 / 30, r["ms_L1"] / r["ms_newton"])
        most(f"one more score / first query, {where}", 1 / 5, r["ms_more"] / r["ms_L1"])
        most(f"smooth sphere / sphere, {where}", 5, r["ms_level0"] / r["ms_sphere"])
    for r in result["growth"]:
        most(f"L1 time, n0 x 4, {r['loss']}, m={r['m']}", 0.25, r["change"])
    for r in result["loo"]:
        where = f"{r['loss']}, C={r['C']:g}"
        most(f"leave-one-out / fit summary, {where}", 0.25, r["of_summary"])
        most(f"leave-one-out undecided, {where}", 5e-4, r["undecided"])
        least(f"leave-one-out against {r['n']} warm refits, {where}", 1000, r["times_faster_than_refits"])
        most(f"leave-one-out violations, {where}", 0, r["violations"])
    for r in result["windows"]:
        where = f"{r['set']}, {r['loss']}, C={r['C']:g}"
        if r["sphere"]["retrains"]:
            most(f"retrains of newton / of sphere, {where}", 0.5, r["newton"]["retrains"] / r["sphere"]["retrains"])
        worst = max(r[p]["worst_true_share_when_kept"] for p in ("sphere", "ellipsoid", "newton"))
        most(f"worst true share of flips of a kept model, {where}", 0.01, worst)
    return out


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(v) for v in row) + " |" for row in rows])


def report(result, command):
    def f(x, digits=3):
        return "-" if x is None else f"{x:.{digits}g}"

    cells_rows = [
        [r["set"], r["loss"], f(r["C"]), f(100 * r["P"]) + " %"]
        + [f(r[f"ratio_{k}"]) for k in ("smooth-sphere", "matrix-sphere", "ellipsoid", "newton_1", "newton_2")]
        + [" / ".join("-" if f"undecided_{k}" not in r else f(100 * r[f"undecided_{k}"], 2)
                      for k in ("sphere", "ellipsoid", "newton"))]
        for r in result["a9a"] + result["w8a"]
    ]  # fmt: skip
    time_rows = [
        [r["set"], r["loss"], f(r["C"]), f(100 * r["P"]) + " %"]
        + [
            f(r[f"ms_{k}"])
            for k in ("sphere", "level0", "L1", "L2", "more", "scores", "liblinear", "liblinear_tight", "newton")
        ]
        + [" / ".join(f(r[k], 1) for k in ("half_L1", "half_L2", "error_liblinear", "error_liblinear_tight"))]
        for r in result["a9a"] + result["w8a"]
    ]
    window_rows = [
        [r["set"], r["loss"], f(r["C"]), r["checks"]]
        + [r[p]["retrains"] for p in ("sphere", "ellipsoid", "newton", "refit")]
        + [r["least"]]
        + [f(100 * max(r[p]["worst_true_share_when_kept"] for p in ("sphere", "ellipsoid", "newton")), 2) + " %"]
        + [f(r[p]["ms_a_check"]) for p in ("sphere", "ellipsoid", "newton", "refit")]
        for r in result["windows"]
    ]
    loo_rows = [
        [r["loss"], f(r["C"]), r["n"], f(100 * r["undecided"]) + " %", f(r["ms"]), f(r["ms_dense"]), f(r["ms_summary"]),
         f(r["times_faster_than_refits"])] for r in result["loo"]
    ]  # fmt: skip
    missed = [t for t in result["targets"] if not t[3]]
    liblinear = [r["ms_liblinear"] for r in result["a9a"]]
    parts = [
        "# Certified bounds by the numbers",
        f"`{command}` ({result['versions']}). One thread; CPU milliseconds, medians.",
        "The parts were made one by one (`--only`) on a busy machine. In every cell the coefficient intervals of every "
        "level were compared with the optimum, |gradient| <= 1e-12. The gain in time over a refit is moderate, none at "
        "large changes, and below one at "
        "few features; what the bounds are for is the certificate, without the old data, at a cost that does not "
        "grow with it, and for any number of questions.",
        f"Aimed at and met: {len(result['targets']) - len(missed)} of {len(result['targets'])}."
        + ("" if not missed else " Missed: " + "; ".join(f"{t[0]}: {t[2]:.3g}, wanted {t[1]}" for t in missed) + "."),
        "The aims for CPU time come from a prototype beside which liblinear took 90 to 150 ms on a9a; here it takes "
        f"{min(liblinear):.0f} to {max(liblinear):.0f} ms on the same CSR rows."
        + "".join(
            f" {r['set']}, {r['loss']}, C = {r['C']:g}: no rule that keeps its promise can do with fewer than "
            f"{r['least']} retrains (column least), so half of the sphere's {r['sphere']['retrains']} is out of reach."
            for r in result["windows"] if 2 * r["least"] > r["sphere"]["retrains"]
        ),
        "## Violations",
        "Optima in long double, and with mpmath where that cannot tell. Half of the runs hand their rows over as CSR, "
        "as CSR with stored zeros and split entries, or as float32.",
        table(["runs", "number", "intervals checked", "violations"],
              [[r["kind"], r["runs"], r["intervals"], r["violations"]] for r in result["violations"]]),
        "## How much tighter than the sphere: mean width of the sphere's coefficient intervals over the level's",
        "Random rows, half added, half removed, P of n0 together. Undecided: share of the official test rows in per "
        "cent, sphere / ellipsoid / newton with one pass.",
        table(["set", "loss", "C", "P", "smooth sphere", "matrix sphere", "ellipsoid", "newton, 1 pass", "2 passes",
               "undecided"], cells_rows),
        "## CPU time, ms",
        "L1: a new tracker, its changes (CSR rows), and all d coefficient intervals by the ellipsoid; L2: the same "
        "with one pass; more: one more score; scores: 5,000 more; liblinear: scikit-learn's at its default tolerance "
        "and at 1e-6; warm Newton: `solve` from w0 to 1e-10. Off by: mean half-width of the intervals of L1 and of L2, "
        "and mean error of liblinear's coefficients at both tolerances. The aims compare with liblinear as it comes.",
        table(["set", "loss", "C", "P", "sphere", "smooth sphere", "L1", "L2", "more", "scores", "liblinear",
               "to 1e-6", "warm Newton", "off by: L1 / L2 / liblinear / to 1e-6"], time_rows),
        "L1 with the same m changed rows at two sizes of fit:",
        table(["loss", "m", "n0 = 7,750", "n0 = 31,000", "change"],
              [[r["loss"], r["m"], f(r["ms_7750"]), f(r["ms_31000"]), f(100 * r["change"], 2) + " %"]
               for r in result["growth"]]),
        "## Leave-one-out, a9a",
        table(["loss", "C", "rows", "undecided", "ms, CSR", "ms, dense", "ms of the fit summary",
               "times faster than warm refits"],
              loo_rows),
        "## Sliding windows",
        "Window of 8,000, 60 checks, one every 80 rows: keep the model while at most 1 % of the latest 2,000 rows can "
        "possibly flip. Retrains by level; refit solves at every check and retrains only when more than 1 % really "
        "flip: a yardstick; least is the smallest number any rule can do with that keeps no model beyond 1 %, by "
        "a shortest path over which check's optimum to keep until when. The worst true share of flips of a model that "
        "was kept. cod_rna blocks is the set in its stored order, where the classes come in blocks: an abrupt change.",
        table(["set", "loss", "C", "checks", "sphere", "ellipsoid", "newton", "refit", "least", "worst true share",
               "ms a check: sphere", "ellipsoid", "newton", "refit"], window_rows),
        "## Every number aimed at",
        table(["what", "aim", "measured", "met"],
              [[what, aim, f(value), "yes" if met else "**no**"] for what, aim, value, met in result["targets"]]),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


PARTS = ("a9a", "w8a", "growth", "loo", "windows", "violations")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("ONLINEKIT_DATA"), help="folder of the data sets")
    parser.add_argument("--out", default="benchmarks/results", help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="a small part, printed and not written")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="renew these parts of the results")
    args = parser.parse_args()
    if not args.data:
        parser.error("--data or ONLINEKIT_DATA is needed")
    table_file = Path(args.out, "sensitivity_numbers.json")
    renewed = set(args.only) != set(PARTS) and not args.quick and table_file.exists()
    result = json.loads(table_file.read_text()) if renewed else {}
    rounds = 2 if args.quick else 5
    names = dict(zip(("a9a", "w8a"), cells(args.quick), strict=True))
    work = {name: lambda name=name: tightness(read(args.data, name), name, names[name], rounds) for name in names}
    work["growth"] = lambda: growth(read(args.data, "a9a"), rounds)
    work["loo"] = lambda: leave_one_out(read(args.data, "a9a"), 1000 if args.quick else 8000)
    work["windows"] = lambda: sliding(args.data, args.quick)
    work["violations"] = lambda: violations(args.quick)
    with threadpool_limits(1):
        for part in args.only:
            result[part] = work[part]()
    if args.quick and set(args.only) != set(PARTS):
        return
    if set(result) & set(PARTS) != set(PARTS):
        table_file.write_text(json.dumps(result, indent=1) + "\n")
        return
    result["targets"] = targets(result)
    result["versions"] = (
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, {processor()}, two shared cores"
    )
    text = report(result, "python benchmarks/sensitivity_numbers.py --data DIR")
    if args.quick:
        print(text)
        return
    table_file.write_text(json.dumps(result, indent=1) + "\n")
    Path(args.out, "sensitivity_numbers.md").write_text(text)


if __name__ == "__main__":
    main()
