"""Writes the tables and the figure of streams.py from its measured cells."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

FAMILY = ("kernel-experts", "mpu-fogd", "mpu-fogd sincos", "mpu-fogd D=500", "fogd", "rrf", "nogd", "avm", "pamo")
EXACT = ("id-odm", "l2-svm")  # they solve their whole problem anew with every sample, slower each time
VARIANTS = ("mpu-fogd sincos", "mpu-fogd D=500", "id-odm window=1000", "l2-svm window=1000")  # not in the figure
MARKS = (20_000, 10_000, 5_000, 4_000, 3_000, 2_000, 1_000)
MARKER = "<!-- below: written by streams.py; above: by hand -->"
GROUPS = (("family", "#1b6ca8", "o"), ("onlinekit, others", "#5fb49c", "s"), ("river", "#d1603d", "^"))


def write(cells: list[dict[str, Any]], out: Path, name: str) -> None:
    """OUT/NAME.md (what stands above the marker is kept) and OUT/NAME.png."""
    if not cells:
        return
    streams = list(dict.fromkeys(c["stream"] for c in cells))
    table = pooled(cells)
    learners = sorted({k[1:] for k in table}, key=lambda k: (group(*k), k[1].lower()))
    text = [
        f"Python {platform.python_version()}, "
        + ", ".join(f"{p} {version(p)}" for p in ("numpy", "numba", "river"))
        + f", {cpu()}. Command: `python benchmarks/streams.py {'--quick' if 'quick' in name else '--data DIR'}`.",
        "",
        "Family: " + ", ".join(FAMILY) + ". `(5k)`: measured on so many first rows only. " + fewer(table),
        "",
        "## Accuracy, test then train, mean over seeds",
        *grid(streams, learners, table, lambda c: f"{c['accuracy']['all']:.4f}"),
        "",
        "## Kappa against the no-change rule: (accuracy - no-change) / (1 - no-change), on the same rows",
        *grid(streams, learners, table, lambda c: f"{kappa(c):+.3f}"),
        "",
        "## Samples a second (CPU), predict_one + learn_one with dicts / prequential_many with arrays",
        *grid(streams, learners, table, speeds),
        "",
        "## Points behind the best learner outside the family that is not a forest",
        "",
        "Each pair is compared after the same number of rows. Negative: ahead of all of them. `Times ARF`: speed by",
        "dicts over that of ARF(10), the lowest of the streams.",
        "",
        *gaps(streams, table),
    ]
    file = out / f"{name}.md"
    head = file.read_text().split(MARKER)[0] if file.exists() else "# Streams\n\n"
    file.write_text(head + MARKER + "\n\n" + "\n".join(text) + "\n")
    figure(streams, learners, table, out / f"{name}.png")


def pooled(cells: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """(stream, library, learner) -> one cell, the mean over its seeds."""
    parts: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for c in cells:
        parts.setdefault((c["stream"], c["library"], c["learner"]), []).append(c)
    table = {}
    for key, seeds in parts.items():
        shared = set.intersection(*(set(c["accuracy"]) for c in seeds))
        table[key] = {
            **seeds[0],
            "accuracy": {m: float(np.mean([c["accuracy"][m] for c in seeds])) for m in shared},
            "per_second": float(np.median([c["per_second"] for c in seeds])),
            "one_by_one": float(np.median([c["one_by_one"] for c in seeds])),
            "rows": min(c["rows"] for c in seeds),
            "seeds": len(seeds),
        }
    return table


def fewer(table: dict[tuple[str, str, str], dict[str, Any]]) -> str:
    """The cells that are a mean over fewer seeds than others of their learner."""
    seeded = {learner for (_, _, learner), c in table.items() if c["seeds"] > 1} | {"ARF(10)"}
    few: dict[str, list[str]] = {}
    for (stream, _, learner), c in table.items():
        if learner in seeded and c["seeds"] < 3:
            few.setdefault(learner, []).append(f"{stream} ({c['seeds']})")
    told = "; ".join(f"{learner} on {', '.join(streams)}" for learner, streams in few.items())
    return f"Fewer than three seeds: {told}." if few else ""


def group(library: str, learner: str) -> int:
    return 2 if library == "river" else 0 if learner in FAMILY else 1


def short(rows: int) -> str:
    return f" ({rows / 1000:g}k)"


def grid(streams: list[str], learners: list[tuple[str, str]], table: Any, show: Any) -> list[str]:
    text = ["", "| learner | " + " | ".join(streams) + " |", "|---" * (len(streams) + 1) + "|"]
    for library, learner in learners:
        row = []
        for stream in streams:
            c = table.get((stream, library, learner))
            row.append("" if c is None else show(c) + (short(c["rows"]) if c["rows"] < c["stream_rows"] else ""))
        text.append(f"| {'River ' if library == 'river' else ''}{learner} | " + " | ".join(row) + " |")
    return text


def kappa(c: dict[str, Any]) -> float:
    base = c["no_change"]["all"]
    return (c["accuracy"]["all"] - base) / (1.0 - base)


def speeds(c: dict[str, Any]) -> str:
    one = f"{c['one_by_one'] / 1000:.3g}k"
    return one if c["library"] == "river" else f"{one} / {c['per_second'] / 1000:.3g}k"


def common(a: dict[str, Any], b: dict[str, Any]) -> tuple[float, float] | None:
    """The accuracies of two learners after the largest number of rows that both were measured at."""
    if a["rows"] == b["rows"]:
        return a["accuracy"]["all"], b["accuracy"]["all"]
    for m in MARKS:
        values = [
            c["accuracy"]["all"] if c["rows"] == m else c["accuracy"].get(str(m)) if c["rows"] > m else None
            for c in (a, b)
        ]
        if values[0] is not None and values[1] is not None:
            return values[0], values[1]
    return None


def behind(mine: dict[str, Any], stream: str, table: Any, without: tuple[str, ...]) -> tuple[float, str]:
    """(largest lead over `mine` of a learner outside the family, forests and `without` aside; that learner)."""
    worst, who = -1.0, ""
    for (other, library, name), c in table.items():
        if other != stream or name == "ARF(10)" or name in without or group(library, name) == 0:
            continue
        pair = common(mine, c)
        if pair is not None and pair[1] - pair[0] > worst:
            worst, who = pair[1] - pair[0], f"River {name}" if library == "river" else name
    return worst, who


def gaps(streams: list[str], table: Any) -> list[str]:
    titles = [*streams, "within .5", f"the same but for {' and '.join(EXACT)} with all rows", "times ARF"]
    text = ["| learner | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for learner in FAMILY:
        row, near, nearer, times = [], 0, 0, []
        for stream in streams:
            mine = table.get((stream, "onlinekit", learner))
            if mine is None:
                row.append("")
                continue
            worst, who = behind(mine, stream, table, ())
            near += worst <= 0.005
            nearer += behind(mine, stream, table, EXACT)[0] <= 0.005
            row.append(f"{100 * worst:+.2f} ({who})")
            forest = table.get((stream, "river", "ARF(10)"))
            if forest is not None:
                times.append(mine["one_by_one"] / forest["one_by_one"])
        low = f"{min(times):.0f}" if times else ""
        text.append(
            f"| {learner} | " + " | ".join([*row, *(f"{k} of {len(streams)}" for k in (near, nearer)), low]) + " |"
        )
    return text


def cpu() -> str:
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return f"{names[0] if names else platform.machine()}, {len(names) or '?'} cores"


def figure(streams: list[str], learners: list[tuple[str, str]], table: Any, path: Path) -> None:
    """Accuracy after 5,000 rows (or all, if fewer) against samples a second by dicts, one panel a stream."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(4, len(streams))
    lines = -(-len(streams) // columns)
    fig, axes = plt.subplots(lines, columns, figsize=(3.6 * columns, 3.0 * lines), squeeze=False)
    for ax in axes.flat[len(streams) :]:
        ax.set_visible(False)
    for ax, stream in zip(axes.flat, streams, strict=False):
        for library, learner in learners:
            c = table.get((stream, library, learner))
            if c is None or learner in VARIANTS:
                continue
            _, color, mark = GROUPS[group(library, learner)]
            y = c["accuracy"].get("5000", c["accuracy"]["all"])
            ax.scatter(c["one_by_one"], y, color=color, marker=mark, s=22, zorder=3)
            names = {
                "mpu-fogd": "mpu",
                "kernel-experts": "experts",
                "ARF(10)": "ARF",
                "PA": "PA",
                "KNN": "KNN",
                "rrf": "rrf",
                "pamo": "pamo",
            }
            if learner in names:
                ax.annotate(names[learner], (c["one_by_one"], y), fontsize=6, xytext=(3, 2), textcoords="offset points")
        ax.set_xscale("log")
        ax.set_title(stream, fontsize=9)
        ax.tick_params(labelsize=7)
        ax.grid(alpha=0.25)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy, first 5,000 rows", fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("samples a second, dicts", fontsize=7)
    handles = [plt.Line2D([], [], color=c, marker=m, ls="", label=g) for g, c, m in GROUPS]
    fig.legend(handles=handles, loc="upper center", ncol=3, fontsize=8, frameon=False)
    fig.tight_layout(rect=(0, 0, 1, 0.96))
    fig.savefig(path, dpi=90)
    plt.close(fig)
