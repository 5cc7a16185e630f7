"""Writes the tables of mpu_fogd_paper.py: accuracy beside the paper's, times, the Wilcoxon signed-rank test."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from streams_report import cpu

MARKER = "<!-- below: written by mpu_fogd_paper.py; above: by hand -->"

SETS = ("codrna", "skin", "ijcnn1", "w7a", "covtype", "forest", "poker", "mnist", "letter", "usps")
METHODS = (
    "LR", "OGD", "PA", "FOGD .001", "FOGD", "NOGD", "RRF", "PAMO", "AVM", "MPU-FOGDU", "MPU-FOGDUB", "MPU clip",
    "MPU clip sincos",
)  # fmt: skip

# Tables 2 and 3: test accuracy in percent, seconds of training and of testing.
PAPER = {
    "codrna": {
        "LR": (91.790, 3.27, 0.49), "OGD": (91.843, 2.71, 0.43), "PA": (91.791, 6.48, 0.43),
        "FOGD": (96.172, 5.46, 1.07), "NOGD": (92.468, 92.45, 8.17), "RRF": (96.030, 8.78, 1.21),
        "PAMO": (96.258, 107.18, 20.93), "AVM": (95.107, 49.5, 2.83), "MPU-FOGDU": (96.588, 11.42, 1.76),
        "MPU-FOGDUB": (96.701, 37.39, 5.59),
    },
    "skin": {
        "LR": (90.233, 2.98, 0.44), "OGD": (90.068, 2.51, 0.38), "PA": (81.630, 5.15, 0.38),
        "FOGD": (99.942, 15.44, 3.52), "NOGD": (99.047, 75.12, 7.06), "RRF": (99.949, 9.98, 2.38),
        "PAMO": (99.829, 99.58, 50.78), "AVM": (99.616, 10.12, 1.32), "MPU-FOGDU": (99.951, 5.83, 1.03),
        "MPU-FOGDUB": (99.954, 6.26, 1.11),
    },
    "ijcnn1": {
        "LR": (67.672, 1.72, 0.26), "OGD": (71.670, 1.72, 0.22), "PA": (70.022, 3.34, 0.22),
        "FOGD": (98.014, 11.16, 2.59), "NOGD": (90.572, 15.46, 1.78), "RRF": (97.780, 18.83, 3.63),
        "PAMO": (98.687, 191.55, 43.6), "AVM": (94.062, 430.71, 1.43), "MPU-FOGDU": (98.885, 21.29, 3.01),
        "MPU-FOGDUB": (98.885, 23.35, 3),
    },
    "w7a": {
        "LR": (95.556, 0.32, 0.05), "OGD": (96.457, 0.26, 0.05), "PA": (95.681, 0.61, 0.05),
        "FOGD": (98.477, 8.34, 2.04), "NOGD": (97.062, 52.33, 3.92), "RRF": (98.494, 208.44, 37.91),
        "PAMO": (98.664, 28.62, 6.25), "AVM": (98.360, 35.48, 4.9), "MPU-FOGDU": (98.388, 25.23, 0.55),
        "MPU-FOGDUB": (98.396, 24.77, 0.54),
    },
    "covtype": {
        "LR": (75.317, 7.13, 1.07), "OGD": (76.072, 6.52, 0.95), "PA": (75.195, 13.88, 0.94),
        "FOGD": (85.316, 180.97, 42.36), "NOGD": (71.721, 336.65, 29.78), "RRF": (85.045, 2936.24, 214.44),
        "PAMO": (81.204, 101.66, 10.62), "AVM": (71.149, 1418.75, 7.51), "MPU-FOGDU": (90.880, 1353.59, 20.21),
        "MPU-FOGDUB": (90.927, 1419.69, 19.91),
    },
    "forest": {
        "LR": (51.347, 20.74, 0.99), "OGD": (71.210, 19.41, 1), "PA": (69.334, 22.78, 0.99),
        "FOGD": (75.685, 110.52, 22.19), "NOGD": (67.913, 192.75, 23.73), "RRF": (75.298, 931.69, 37.56),
        "AVM": (63.478, 55.65, 10.02), "MPU-FOGDU": (84.884, 238.76, 19.46), "MPU-FOGDUB": (84.951, 279.44, 19.14),
    },
    "poker": {
        "LR": (27.160, 40.25, 1.69), "OGD": (31.614, 38.41, 1.68), "PA": (28.331, 45.8, 1.68),
        "FOGD": (48.089, 207.22, 37.45), "NOGD": (52.290, 281.95, 26.91), "RRF": (48.702, 153.1, 6.85),
        "AVM": (44.396, 70.21, 11.22), "MPU-FOGDU": (93.658, 304.61, 32.07), "MPU-FOGDUB": (94.270, 347.7, 32.3),
    },
    "mnist": {
        "LR": (53.961, 22.73, 1.04), "OGD": (83.743, 19.53, 1.04), "PA": (82.630, 23, 1.04),
        "FOGD": (95.680, 101.6, 20.88), "NOGD": (78.585, 194.88, 22.4), "RRF": (95.712, 361.01, 39.36),
        "AVM": (84.399, 55.85, 9.92), "MPU-FOGDU": (99.096, 126.21, 18.43), "MPU-FOGDUB": (99.097, 137.2, 18.48),
    },
}  # fmt: skip


def write(cells: list[dict[str, Any]], out: Path, name: str) -> None:
    """OUT/NAME.md; what stands above the marker is kept."""
    runs = [c for c in cells if "five_passes" in c]
    if not runs:
        return
    sets, methods = ordered(runs, "set", SETS), ordered(runs, "method", METHODS)
    found = {(s, m): [c for c in runs if (c["set"], c["method"]) == (s, m)] for s in sets for m in methods}
    text = [
        f"Python {platform.python_version()}, "
        + ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "scipy"))
        + f", {cpu()}. `python benchmarks/mpu_fogd_paper.py {'--quick' if 'quick' in name else '--data DIR'}`.",
        "",
        "## Test accuracy in percent: one pass, five passes (mean and deviation over the seeds), the paper's",
        "",
        "| method | " + " | ".join(sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]
    for m in methods:
        row = []
        for s in sets:
            many = found[s, m]
            if not many:
                row.append("")
                continue
            one, five = (100 * np.array([c[k] for c in many]) for k in ("one_pass", "five_passes"))
            row.append(f"{one.mean():.2f}, {five.mean():.2f} ± {five.std():.2f}" + paper(s, m, 0, ".2f"))
        text.append(f"| {m} | " + " | ".join(row) + " |")
    text += ["", "Training rows, test rows, D: " + ", ".join(sizes(s, cells) for s in sets) + ".", ""]
    text += ["## Seconds: training, one pass / test (CPU, the median of the seeds), the paper's", ""]
    text += ["| method | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for m in methods:
        row = []
        for s in sets:
            both = [seconds([c[key] for c in found[s, m]]) for key in ("train_seconds", "test_seconds") if found[s, m]]
            row.append(" / ".join(both) + paper(s, m, 1, "g") + paper(s, m, 2, "g", " / "))
        text.append(f"| {m} | " + " | ".join(row) + " |")
    text += ["", *wilcoxon(sets, methods, found), "", *settings(cells, sets, methods)]
    file = out / f"{name}.md"
    head = file.read_text().split(MARKER)[0] if file.exists() else "# MPU-FOGD: Tables 2 and 3\n\n"
    file.write_text(head + MARKER + "\n\n" + "\n".join(text) + "\n")


def ordered(runs: list[dict[str, Any]], key: str, order: tuple[str, ...]) -> list[str]:
    """The names that occur, those of `order` first and in its order."""
    names = list(dict.fromkeys(c[key] for c in runs))
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def seconds(times: list[float]) -> str:
    """The median; the process clock may tick every 4 ms only."""
    value = float(np.median(times))
    return f"{value:.2g}" if value > 0.008 else "<.01"


def paper(s: str, m: str, which: int, form: str, before: str = ", ") -> str:
    """A figure of the paper in italics, nothing where it has none."""
    return f"{before}*{PAPER[s][m][which]:{form}}*" if m in PAPER.get(s, {}) else ""


def sizes(s: str, cells: list[dict[str, Any]]) -> str:
    of = [c for c in cells if c["set"] == s]
    run = next(c for c in of if "train_rows" in c)
    D = {c["best"].get("n_components") or c["best"].get("n_units") for c in of if "best" in c} - {None}
    return f"{s} {run['train_rows']:,}, {run['test_rows']:,}" + "".join(f", {d:,}" for d in D)


def wilcoxon(sets: list[str], methods: list[str], found: Any) -> list[str]:
    """Signed-rank tests over the sets, each of two methods against every other."""
    text = ["## Wilcoxon signed-rank test over the sets, on the means over the seeds", ""]
    text += ["z is the paper's (10), W the smaller rank sum, p two-sided and exact for few sets (scipy). A positive"]
    text += ["median difference: the method in the heading of the column is better.", ""]
    for key, title in (("one_pass", "one pass"), ("five_passes", "five passes")):
        columns = [m for m in ("MPU-FOGDUB", "MPU clip", "MPU clip sincos") if m in methods]
        text += ["", f"| {title} | " + " | ".join(f"against {c}" for c in columns) + " |"]
        text += ["|---" * (len(columns) + 1) + "|"]
        for m in methods:
            row = []
            for column in columns:
                both = [s for s in sets if found[s, m] and found[s, column]]
                gaps = np.array(
                    [np.mean([c[key] for c in found[s, column]]) - np.mean([c[key] for c in found[s, m]]) for s in both]
                )
                row.append(signed_ranks(gaps) if m != column else "")
            text.append(f"| {m} | " + " | ".join(row) + " |")
    return text


def signed_ranks(gaps: np.ndarray) -> str:
    if len(gaps) < 2 or not gaps.any():
        return ""
    n, ranks = len(gaps), stats.rankdata(np.abs(gaps))
    # (11): the ranks of ties with 0 are shared.
    plus = ranks[gaps > 0].sum() + 0.5 * ranks[gaps == 0].sum()
    T = min(plus, ranks.sum() - plus)
    z = (T - n * (n + 1) / 4) / np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    p = stats.wilcoxon(gaps, zero_method="zsplit").pvalue
    return f"{100 * np.median(gaps):+.2f} points, W {T:g}, z {z:.2f}, p {p:.3f} (n {n})"


def settings(cells: list[dict[str, Any]], sets: list[str], methods: list[str]) -> list[str]:
    text = ["## Settings chosen on validation, of those that were tried", ""]
    for m in methods:
        fixed = {"n_components", "n_units", "budget", "rank", "features", "beta", "max_rotation"}
        fixed |= {"alpha"} if m in ("FOGD .001", "MPU-FOGDU", "MPU-FOGDUB") else set()
        best = {c["set"]: c["best"] for c in cells if c["seed"] == "tune" and c["method"] == m}
        shown = (
            f"{s} " + ", ".join(f"{k} {v:.3g}" for k, v in best[s].items() if k not in fixed) for s in sets if s in best
        )
        text.append(f"- {m}: " + "; ".join(shown))
    return text
