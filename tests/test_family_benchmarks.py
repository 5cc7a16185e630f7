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
