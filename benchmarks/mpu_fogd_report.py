"""Writes the tables of mpu_fogd_paper.py: accuracy beside the paper's, times, the Wilcoxon signed-rank test."""

from __future__ import annotations

import json
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

# Tables 2 and 3: test accuracy in percent.
PAPER = {
    "codrna": {
        "LR": 91.790, "OGD": 91.843, "PA": 91.791, "FOGD": 96.172, "NOGD": 92.468, "RRF": 96.030, "PAMO": 96.258,
        "AVM": 95.107, "MPU-FOGDU": 96.588, "MPU-FOGDUB": 96.701,
    },
    "skin": {
        "LR": 90.233, "OGD": 90.068, "PA": 81.630, "FOGD": 99.942, "NOGD": 99.047, "RRF": 99.949, "PAMO": 99.829,
        "AVM": 99.616, "MPU-FOGDU": 99.951, "MPU-FOGDUB": 99.954,
    },
    "ijcnn1": {
        "LR": 67.672, "OGD": 71.670, "PA": 70.022, "FOGD": 98.014, "NOGD": 90.572, "RRF": 97.780, "PAMO": 98.687,
        "AVM": 94.062, "MPU-FOGDU": 98.885, "MPU-FOGDUB": 98.885,
    },
    "w7a": {
        "LR": 95.556, "OGD": 96.457, "PA": 95.681, "FOGD": 98.477, "NOGD": 97.062, "RRF": 98.494, "PAMO": 98.664,
        "AVM": 98.360, "MPU-FOGDU": 98.388, "MPU-FOGDUB": 98.396,
    },
    "covtype": {
        "LR": 75.317, "OGD": 76.072, "PA": 75.195, "FOGD": 85.316, "NOGD": 71.721, "RRF": 85.045, "PAMO": 81.204,
        "AVM": 71.149, "MPU-FOGDU": 90.880, "MPU-FOGDUB": 90.927,
    },
    "forest": {
        "LR": 51.347, "OGD": 71.210, "PA": 69.334, "FOGD": 75.685, "NOGD": 67.913, "RRF": 75.298, "AVM": 63.478,
        "MPU-FOGDU": 84.884, "MPU-FOGDUB": 84.951,
    },
    "poker": {
        "LR": 27.160, "OGD": 31.614, "PA": 28.331, "FOGD": 48.089, "NOGD": 52.290, "RRF": 48.702, "AVM": 44.396,
        "MPU-FOGDU": 93.658, "MPU-FOGDUB": 94.270,
    },
    "mnist": {
        "LR": 53.961, "OGD": 83.743, "PA": 82.630, "FOGD": 95.680, "NOGD": 78.585, "RRF": 95.712, "AVM": 84.399,
        "MPU-FOGDU": 99.096, "MPU-FOGDUB": 99.097,
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
            paper = PAPER.get(s, {}).get(m)
            row.append(
                f"{one.mean():.2f}, {five.mean():.2f} ± {five.std():.2f}" + (f", *{paper:.2f}*" if paper else "")
            )
        text.append(f"| {m} | " + " | ".join(row) + " |")
    text += ["", "Rows (training, test): " + ", ".join(rows(s, runs) for s in sets) + ".", ""]
    text += ["## CPU seconds: training, one pass / test", "", "| method | " + " | ".join(sets) + " |"]
    text += ["|---" * (len(sets) + 1) + "|"]
    for m in methods:
        row = [
            " / ".join(seconds([c[key] for c in found[s, m]]) for key in ("train_seconds", "test_seconds"))
            if found[s, m]
            else ""
            for s in sets
        ]
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


def rows(s: str, runs: list[dict[str, Any]]) -> str:
    c = next(c for c in runs if c["set"] == s)
    return f"{s} {c['train_rows']}, {c['test_rows']}"


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
    text = ["## Settings chosen on validation", ""]
    for m in methods:
        best = {c["set"]: c["best"] for c in cells if c["seed"] == "tune" and c["method"] == m}
        shown = (
            f"{s} " + json.dumps({k: float(f"{v:.3g}") for k, v in best[s].items() if isinstance(v, float)})
            for s in sets
            if s in best
        )
        text.append(f"- {m}: " + "; ".join(shown))
    return text
