"""The benchmark scripts of the random-feature family run, and go on where they were stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
ARGUMENTS = {
    "streams": ["--stream", "phishing", "--learner", "rrf", "PA"],
    "mpu_fogd_paper": ["--set", "bananas", "--method", "OGD", "RRF"],
}


@pytest.mark.parametrize("script", ARGUMENTS)
def test_quick_run_and_resumption(script, tmp_path):
    def run(*more):
        command = [sys.executable, str(BENCHMARKS / f"{script}.py"), "--quick", "--out", str(tmp_path), *more]
        # A data folder of the environment must not matter to a quick run.
        subprocess.run(command, check=True, env={**os.environ, "ONLINEKIT_DATA": ""}, capture_output=True)

    run(*ARGUMENTS[script])
    cells = tmp_path / f"{script}_quick.jsonl"
    first = cells.read_text()
    assert len(first.splitlines()) >= 2 and all(json.loads(line) for line in first.splitlines())
    report = tmp_path / f"{script}_quick.md"
    report.write_text("By hand.\n\n" + report.read_text())
    run(*ARGUMENTS[script])
    assert cells.read_text() == first
    text = report.read_text()
    assert text.startswith("By hand.") and text.count("<!-- below") == 1
    assert "RRF" in text or "rrf" in text


def test_what_the_checked_in_results_are_said_to_show():
    cells = [json.loads(line) for line in (BENCHMARKS / "results" / "mpu_fogd_paper.jsonl").read_text().splitlines()]

    def mean(name, method, key="five_passes"):
        found = [100 * c[key] for c in cells if (c["set"], c["method"]) == (name, method) and key in c]
        assert len(found) == 3
        return sum(found) / 3

    for name, paper in (("codrna", 96.588), ("skin", 99.951), ("w7a", 98.388)):
        assert abs(mean(name, "MPU-FOGDU") - paper) < 0.3
    for name in ("usps", "mnist"):
        assert mean(name, "MPU-FOGDU") < 25.0 and mean(name, "MPU clip") > 90.0
    assert mean("letter", "MPU clip sincos") > mean("letter", "FOGD") + 2.5
    assert mean("forest", "MPU clip sincos") > mean("forest", "FOGD") + 4.0
    sets = sorted({c["set"] for c in cells})
    assert len(sets) == 10 and all(mean(s, "MPU clip") > mean(s, "FOGD .001") for s in sets)
