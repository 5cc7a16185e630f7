"""`onlinekit run`: a stream, a learner and a monitor; a table and an HTML report."""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from pathlib import Path
from typing import Any

from onlinekit.registry import PluginError, create

DEFAULTS: dict[str, Any] = {
    "stream": "river:Phishing",
    "target": None,
    "learner": "logistic",
    "set": {},
    "monitor": "adwin",
    "save": None,
    "resume": None,
    "out": "onlinekit-run",
    "limit": None,
}


class RunError(ValueError):
    """An option of `onlinekit run` that cannot be followed."""


def main(argv: list[str]) -> int:
    """Run the job that the options describe; 0, or 2 after one line on stderr that names the cause."""
    parser = argparse.ArgumentParser(prog="onlinekit run", description=__doc__)
    parser.add_argument("--stream", help="CSV, Parquet, svmlight/libsvm or .npz file, or river:NAME")
    parser.add_argument("--target", help="the column to predict (default: the last)")
    parser.add_argument("--learner", help="a name of `onlinekit list`")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="a parameter of the learner")
    parser.add_argument("--monitor", help="a name of `onlinekit list`, or none")
    parser.add_argument("--config", help="a TOML file with these options; the command line wins")
    parser.add_argument("--save", help="where to save the model at the end")
    parser.add_argument("--resume", help="a saved model to go on with, instead of --learner")
    parser.add_argument("--out", help="folder of report.html (default: onlinekit-run)")
    parser.add_argument("--limit", type=int, help="at most this many samples")
    try:
        _run(_settings(vars(parser.parse_args(argv))))
    except (PluginError, ValueError, TypeError, OSError) as error:
        print(f"onlinekit run: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    settings = dict(DEFAULTS)
    config = given.pop("config")
    if config:
        try:
            table = tomllib.loads(Path(config).read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise RunError(f"{config}: {error}") from None
        for key, value in table.items():
            if key not in DEFAULTS:
                raise RunError(f"{config}: unknown option {key!r}; there are {', '.join(DEFAULTS)}")
            if (key == "set") != isinstance(value, dict):
                raise RunError(f"{config}: {key!r} cannot be {value!r}")
        settings |= table
    pairs = dict(settings["set"])
    for pair in given.pop("set") or ():
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise RunError(f"--set takes key=value, not {pair!r}")
        pairs[key] = _value(text)
    settings |= {key: value for key, value in given.items() if value is not None}
    settings["set"] = pairs
    if settings["limit"] is not None and (not isinstance(settings["limit"], int) or settings["limit"] < 1):
        raise RunError(f"limit must be a whole number from 1 on, not {settings['limit']!r}")
    if settings["resume"] and pairs:
        raise RunError("--set cannot change a model that is resumed")
    return settings


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _run(settings: dict[str, Any]) -> None:
    from river import metrics

    from onlinekit.evaluate import prequential
    from onlinekit.state import load, save
    from onlinekit.streams import open_stream

    stream = open_stream(settings["stream"], target=settings["target"], limit=settings["limit"])
    params = dict(settings["set"])
    if settings["learner"] == "logistic":
        params.setdefault("standardize", True)
    model = load(settings["resume"]) if settings["resume"] else create("learner", settings["learner"], **params)
    monitor = None
    if settings["monitor"] not in (None, "none"):
        monitor = create("monitor", settings["monitor"])
        if hasattr(monitor, "signal"):
            monitor = create("monitor", settings["monitor"], signal="error")
    result = prequential(model, stream, metrics.Accuracy(), monitor)
    if settings["save"]:
        save(model, settings["save"])
    out = Path(settings["out"])
    out.mkdir(parents=True, exist_ok=True)
    result.to_html(out / "report.html")
    seconds = result.timings["predict"] + result.timings["learn"]
    rows = [
        ("stream", stream.name),
        ("learner", type(model).__name__),
        ("samples", f"{result.n_samples}"),
        ("skipped rows", f"{stream.n_skipped}"),
        *((name, f"{value:.4f}") for name, value in result.metrics.items()),
        ("samples/s", f"{result.n_samples / max(seconds, 1e-9):,.0f}"),
    ]
    if monitor is not None:
        alarms = sum(verdict.decision == "retrain" for _, verdict in result.verdicts)
        rows.append(("monitor", f"{settings['monitor']}: {alarms} retrain verdicts"))
    rows.append(("report", str(out / "report.html")))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
