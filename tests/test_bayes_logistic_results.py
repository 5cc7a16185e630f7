"""The checked-in tables of Bayesian logistic regression say what the code gives."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "benchmarks"
REAL = (ROOT / "results" / "bayes_logistic_real.md").read_text()
STREAMS = (ROOT / "results" / "bayes_logistic_streams.md").read_text()
DEFAULT, CONSTANT, AUTO = 'bayes "uncertainty" c=.1 (default)', 'bayes "constant" c=.03/d^2', 'bayes "auto"'
SGD = "River LogisticRegression SGD(.1)"


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(section):
    """Model -> (accuracy, log loss, calibration error) of one table."""
    cells = re.findall(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", section, flags=re.MULTILINE)
    return {name: tuple(float(v) for v in values) for name, *values in cells}


TABLES = {part.split(":")[0]: rows(part) for part in REAL.split("\n## ")[1:] if "| model |" in part}


def test_every_stream_and_model_is_there():
    bench = script("bayes_logistic_real")
    assert set(TABLES) == {"Phishing (River's)", *bench.FILES}
    assert all(set(table) == set(bench.MODELS) for table in TABLES.values())


@pytest.mark.parametrize("title", [DEFAULT, CONSTANT, AUTO, "bayes None", 'bayes "auto", adf', "no change", SGD])
def test_rows_of_phishing_are_reproduced(title):
    bench = script("bayes_logistic_real")
    samples = bench.streams(None)["Phishing (River's)"]
    assert len(samples) == 1250
    got = bench.measure(bench.MODELS[title], samples)[:3]
    assert got == pytest.approx(TABLES["Phishing (River's)"][title], abs=6e-5)


def test_drift_modes_beat_the_plain_model_where_concepts_drift():
    for name in ("elec2", "weather_noaa", "usenet1", "usenet2"):
        for mode in (DEFAULT, AUTO):
            assert TABLES[name][mode][0] > TABLES[name]["bayes None"][0] + 0.01
            assert TABLES[name][mode][1] < TABLES[name]["bayes None"][1] - 0.01


def test_auto_has_a_lower_log_loss_than_sgd_everywhere():
    assert all(table[AUTO][1] < table[SGD][1] for table in TABLES.values())


def test_where_the_papers_mode_loses():
    for place, rival in (("elec2", AUTO), ("elec2", CONSTANT), ("elec2", SGD), ("sea_big", "bayes None")):
        assert TABLES[place][rival][1] < TABLES[place][DEFAULT][1]


def test_synthetic_table():
    table = {}
    for line in STREAMS.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and "/" in cells[1]:
            table[cells[0]] = [tuple(map(float, cell.split(" / "))) for cell in cells[1:]]
    assert set(table) == set(script("bayes_logistic_streams").MODELS)
    plain, default, auto = table["None (plain)"], table['"uncertainty" c=.1'], table['"auto"']
    assert default[1][0] > plain[1][0] + 0.10 and default[1][1] < plain[1][1] - 0.18
    assert plain[0][0] - auto[0][0] < 0.008 and auto[0][1] - plain[0][1] < 0.006
    for ours, sgd in zip(default, table["River SGD(.1)"], strict=True):
        assert ours[1] < sgd[1]
