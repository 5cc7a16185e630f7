"""What starting costs: CPU seconds of importing, of `onlinekit list`, and of each learner's first calls, cold and warm.

Every figure is of fresh processes, the median of the rounds. Cold: an empty cache of compiled kernels, then predicting
and learning one by one (20 rows) and a batch (10 rows, also test-then-train where there is that door). Warm: the first
20 rows one by one with the kernels in the cache. Imports are not in the learners' figures. Together: all learners cold
in one process, each with what those before it have compiled.

    python benchmarks/startup.py [--quick] [--rounds 3] [--out benchmarks/results/startup.md]
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import onlinekit

IMPORT = "import time; start = time.process_time(); import onlinekit; print(time.process_time() - start)"
LIST = """
import io, sys, time
from contextlib import redirect_stdout
start = time.process_time()
from onlinekit.cli import main
with redirect_stdout(io.StringIO()):
    main(["list"])
print(time.process_time() - start)
assert not {"numba", "river"} & set(sys.modules)
"""
FIRST_CALLS = """
import json, sys, time
import numpy as np
import onlinekit
X = np.random.default_rng(3).normal(size=(30, 3))
y = X[:, 0] > X[:, 1]
models = {name: onlinekit.create("learner", name) for name in sys.argv[1:]}
spent = {}
for name, model in models.items():
    start = time.process_time()
    for x, label in zip(X[:20].tolist(), y[:20].tolist()):
        model.predict_one(dict(enumerate(x)))
        model.learn_one(dict(enumerate(x)), label)
    first = time.process_time() - start
    if hasattr(model, "prequential_many"):
        model.prequential_many(X[20:], y[20:])
    else:
        model.learn_many(X[20:], y[20:])
    model.predict_many(X)
    spent[name] = [first, time.process_time() - start]
print(json.dumps(spent))
"""


def run(code, *arguments, cache=None):
    """What a fresh process prints, as JSON."""
    env = dict(os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def learner(name):
    """(cold, warm) CPU seconds of one learner."""
    with tempfile.TemporaryDirectory() as cache:
        cold = run(FIRST_CALLS, name, cache=cache)[name][1]
        return cold, run(FIRST_CALLS, name, cache=cache)[name][0]


def together(names):
    with tempfile.TemporaryDirectory() as cache:
        return sum(spent for _, spent in run(FIRST_CALLS, *names, cache=cache).values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two learners, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = [spec.name for spec in onlinekit.specs("learner")]
    if options.quick:
        names = ["logistic", "pa"]
    rounds = range(1 if options.quick else options.rounds)
    light = [statistics.median(run(code) for _ in range(5)) for code in (IMPORT, LIST)]
    lines = [
        f"`python benchmarks/startup.py` (Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} "
        f"shared cores): CPU seconds, median of {len(rounds)} round(s) of fresh processes.",
        "",
        f"Importing onlinekit {light[0]:.3f} (at most .1), `onlinekit list` {light[1]:.3f} (at most .3). All learners "
        f"together, cold: {statistics.median(together(names) for _ in rounds):.0f} (at most 60).",
        "",
        "| learner | cold, at most 15 | warm first calls, at most 1 |",
        "|---|---|---|",
    ]
    for name in names:
        cold, warm = (statistics.median(column) for column in zip(*[learner(name) for _ in rounds], strict=True))
        lines.append(f"| {name} | {cold:.1f} | {warm:.2f} |")
    page = "\n".join(lines) + "\n"
    sys.stdout.write(page)
    if options.out:
        options.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
