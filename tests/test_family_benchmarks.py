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
    assert mean("codrna", "MPU-FOGDU", "one_pass") > 96.0 and mean("skin", "MPU-FOGDU", "one_pass") > 99.85
    assert mean("letter", "MPU clip", "one_pass") > 88.5
    for name, rows in (("codrna", 271_617), ("skin", 245_057), ("covtype", 581_012), ("forest", 581_012)):
        used = next(c for c in cells if c["set"] == name and "train_rows" in c)
        assert used["train_rows"] == int(0.6 * rows) and used["test_rows"] >= int(0.2 * rows)
    for name in ("usps", "mnist"):
        assert mean(name, "MPU-FOGDU") < 25.0 and mean(name, "MPU clip") > 90.0
    assert mean("covtype", "MPU-FOGDU") < 85.0 and mean("forest", "MPU-FOGDU") < mean("forest", "FOGD") - 3.0
    for name, lead in (("covtype", 5.0), ("letter", 2.9), ("poker", 2.9), ("forest", 1.8), ("mnist", 2.8)):
        assert mean(name, "MPU clip sincos") > mean(name, "FOGD") + lead
    for name in ("codrna", "skin", "ijcnn1", "w7a"):
        assert abs(mean(name, "MPU clip") - mean(name, "FOGD")) < 0.5
    sets = sorted({c["set"] for c in cells})
    assert len(sets) == 10 and all(mean(s, "MPU clip") > mean(s, "FOGD .001") for s in sets)
    for variant, share in (("MPU clip", 0.87), ("MPU clip sincos", 0.82)):
        slow = [mean(s, "FOGD .001") for s in sets]
        made_good = [(mean(s, "FOGD") - low) / (mean(s, variant) - low) for s, low in zip(sets, slow, strict=True)]
        assert sorted(made_good)[4] > share
    assert {len(c["valid"]) for c in cells if c["seed"] == "tune"} == {15}
