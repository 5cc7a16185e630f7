"""The packer, dict to float64 row: CPU time of the usual row, of one with an unknown key, of one lacking a key.

Every row is checked against a loop over the keys before it is timed.

    python benchmarks/packer.py [--quick] [--out benchmarks/results/packer.md]
"""

import argparse
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from onlinekit.schema import Schema

LIMITS = {8: 0.6, 300: 10.0}


def naive(names, x):
    """The row by its definition."""
    return np.array([float(x.get(name, 0.0)) for name in names])


def rows(d, n=50):
    """Three lists of dicts: the usual ones, with an unknown key, without a known one; keys in shuffled order."""
    rng = np.random.default_rng(d)
    usual, unseen, missing = [], [], []
    for _ in range(n):
        values = rng.normal(size=d).tolist()
        x = {f"f{j}": values[j] for j in rng.permutation(d).tolist()}
        usual.append(x)
        unseen.append({**x, "unseen": 1.0})
        missing.append({key: value for key, value in x.items() if key != f"f{d // 2}"})
    return usual, unseen, missing


def cost(pack, dicts, row, loops):
    """CPU microseconds a row."""
    start = time.process_time()
    for _ in range(loops):
        for x in dicts:
            pack(x, row)
    return (time.process_time() - start) / (loops * len(dicts)) * 1e6


def measure(d, rounds=7, quick=False):
    """Median CPU microseconds of the three kinds of row."""
    names = [f"f{j}" for j in range(d)]
    schema, row, kinds = Schema(names), np.empty(d), rows(d)
    for kind, dicts in enumerate(kinds):
        for x in dicts:
            row[:] = np.nan
            new = schema.pack(x, row)
            assert new == (kind == 1) and np.array_equal(row, naive(names, x))
    loops = max(1, (200 if quick else 2000) // d)
    times = [[cost(schema.pack, dicts, row, loops) for dicts in kinds] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        f"`python benchmarks/packer.py` (Python {platform.python_version()}, {platform.machine()}, one thread of a "
        "shared machine; CPU microseconds a row, median of 7)",
        "",
        "| d | usual row | limit | with an unknown key | times | lacking a key | times |",
        "|---|---|---|---|---|---|---|",
    ]
    for d in (1, 8, 54, 300):
        usual, unseen, missing = measure(d, quick=options.quick)
        limit = LIMITS.get(d, "")
        lines.append(
            f"| {d} | {usual:.2f} | {limit} | {unseen:.2f} | {unseen / usual:.1f} | "
            f"{missing:.2f} | {missing / usual:.1f} |"
        )
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
