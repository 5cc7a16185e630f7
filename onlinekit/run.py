"""`onlinekit run`: a stream, a learner and a monitor; a table and an HTML report."""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from onlinekit._readers import hint
from onlinekit.registry import PluginError, create, get, name_of

__all__ = ["DEFAULTS", "RunError", "main"]

DEFAULTS: dict[str, Any] = {
    "stream": "river:Phishing",
    "target": None,
    "learner": "mpu-fogd",
    "set": {},
    "monitor": None,
    "monitor-set": {},
    "delay": 0,
    "limit": None,
    "save": None,
    "resume": None,
    "predictions": None,
    "out": "onlinekit-run",
}
# So many samples are looked at beforehand, to know what kind of labels there are.
PEEK = 1000
# The certified monitor is for two classes, and its work grows with the square of the number of features.
CERTIFIED, UNCERTIFIED, MOST_FEATURES = "newton-test", "adwin", 100


class RunError(ValueError):
    """An option of `onlinekit run` that cannot be followed."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RunError(message)


def main(argv: list[str]) -> int:
    """Run the job that the options describe; 0, or 2 after one line on stderr that names the cause.

    >>> main(["--stream", "river:Phishing", "--learner", "pa"])  # doctest: +SKIP
    """
    try:
        _run(_settings(vars(_parser().parse_args(argv))))
    except (PluginError, ValueError, TypeError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"onlinekit run: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="onlinekit run", description=__doc__, allow_abbrev=False)
    parser.add_argument("--stream", help="CSV, Parquet, svmlight/libsvm or .npz file, or river:NAME")
    parser.add_argument("--target", help="the column to predict (default: the last; the array y of .npz)")
    parser.add_argument("--learner", help="a name of `onlinekit list`")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="a parameter of the learner")
    parser.add_argument(
        "--monitor",
        help=f"a name of `onlinekit list`, or none (default: {CERTIFIED} for two classes and "
        f"at most {MOST_FEATURES} features, else {UNCERTIFIED})",
    )
    parser.add_argument(
        "--monitor-set", action="append", metavar="KEY=VALUE", help="a parameter of the monitor", dest="monitor-set"
    )
    parser.add_argument("--delay", type=int, help="samples between a prediction and its label (default: 0)")
    parser.add_argument("--limit", type=int, help="at most this many samples")
    parser.add_argument("--config", help="a TOML file with these options; the command line wins")
    parser.add_argument("--save", metavar="MODEL", help="where to save the model at the end")
    parser.add_argument("--resume", metavar="MODEL", help="a saved model to go on with, instead of --learner")
    parser.add_argument("--predictions", metavar="FILE", help="a .csv or .jsonl file for every prediction")
    parser.add_argument("--out", metavar="DIR", help="folder of report.html (default: onlinekit-run)")
    return parser


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The options, those of the command line over those of --config over the defaults, checked."""
    chosen: dict[str, Any] = {}
    config = given.pop("config")
    if config:
        try:
            chosen = tomllib.loads(Path(config).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RunError(f"{config}: {error}") from None
        for key, value in chosen.items():
            if key not in DEFAULTS:
                raise RunError(f"{config}: there is no option {key!r}{hint(key, DEFAULTS)}")
            kind: type = {"set": dict, "monitor-set": dict, "delay": int, "limit": int}.get(key, str)
            if type(value) is not kind:
                raise RunError(f"{config}: {key!r} cannot be {value!r}")
    for option in ("set", "monitor-set"):
        pairs = dict(chosen.get(option, {}))
        for pair in given.pop(option) or ():
            key, equals, text = pair.partition("=")
            if not equals or not key:
                raise RunError(f"--{option} takes key=value, not {pair!r}")
            pairs[key] = _value(text)
        chosen[option] = pairs
    chosen |= {key: value for key, value in given.items() if value is not None}
    if chosen.get("resume") and (chosen["set"] or "learner" in chosen):
        raise RunError("a model that is resumed keeps its class and parameters; leave out learner and set")
    settings = DEFAULTS | chosen
    for key, least in (("limit", 1), ("delay", 0)):
        if settings[key] is not None and settings[key] < least:
            raise RunError(f"{key} must be a whole number from {least} on, not {settings[key]}")
    for key in ("save", "predictions"):
        # Told now and not after an hour of work.
        folder = os.path.dirname(settings[key] or "") or "."
        if settings[key] and not os.path.isdir(folder):
            raise RunError(f"--{key}: there is no folder {folder!r}")
        if settings[key] and os.path.isdir(settings[key]):
            raise RunError(f"--{key}: {settings[key]!r} is a folder, a file is to be written")
    if settings["monitor"] == "none" and settings["monitor-set"]:
        raise RunError("there is no monitor whose parameters monitor-set could give")
    if settings["predictions"] and not settings["predictions"].endswith((".csv", ".jsonl")):
        raise RunError(f"--predictions: the file must end in .csv or .jsonl, not {settings['predictions']!r}")
    return settings


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _made(kind: str, name: str, params: Mapping[str, Any]) -> Any:
    """An instance of the plugin, or a RunError that names the parameter."""
    known = inspect.signature(get(kind, name)).parameters
    for key in params:
        if key not in known:
            raise RunError(f"{kind} {name!r} has no parameter {key!r}{hint(key, known)}")
    try:
        return create(kind, name, **params)
    except (TypeError, ValueError) as error:
        raise RunError(f"{kind} {name!r}: {error}") from error


def _learner(settings: Mapping[str, Any], labels: list[Any]) -> tuple[str, Any]:
    """Name and instance of the learner that the options and the labels of the stream call for."""
    if settings["resume"]:
        from onlinekit.state import load

        model = load(settings["resume"])
        if not hasattr(model, "predict_proba_one"):
            raise RunError(f"{settings['resume']}: it holds a {type(model).__name__}, which is no learner of labels")
        return name_of(type(model)) or type(model).__name__, model
    from river import base

    name = settings["learner"]
    if not issubclass(get("learner", name), base.Classifier):
        raise RunError(f"learner {name!r} predicts numbers, and labels are to be predicted")
    known = inspect.signature(get("learner", name)).parameters
    params = dict(settings["set"])
    # Streams from files are rarely scaled, and most learners need it.
    if "standardize" in known:
        params.setdefault("standardize", True)
    if "classes" in known and not set(labels) <= {False, True}:
        params.setdefault("classes", None)
    return name, _made("learner", name, params)


def _monitor(settings: Mapping[str, Any], labels: list[Any]) -> tuple[Any, Any]:
    """The monitor, and the model that it makes retrain beside the learner; None for what there is not.

    A monitor that speaks of a model of its own gets that one; any other watches the learner's errors.
    """
    name, params = settings["monitor"], dict(settings["monitor-set"])
    if name == "none":
        return None, None
    known = inspect.signature(get("monitor", name)).parameters
    if "signal" in known:
        params.setdefault("signal", "error")
    monitor = _made("monitor", name, params)
    if not hasattr(monitor, "model"):
        return monitor, None
    if len(labels) != 2:
        raise RunError(f"monitor {name!r} speaks of a linear model of two classes, and there are {len(labels)} labels")
    from onlinekit.monitor import RetrainingClassifier

    return monitor, RetrainingClassifier(monitor=monitor)


def _peek(stream: Any) -> tuple[list[Any], int]:
    """The labels among the first samples, in order of appearance, and the number of their features."""
    first = list(itertools.islice(stream, PEEK))
    labels, features = list(dict.fromkeys(y for _, y in first)), {name for x, _ in first for name in x}
    if labels and not features:
        raise RunError(f"{stream.name}: no sample of it has a feature to learn from")
    if not labels:
        reasons = stream.skipped_reasons.most_common(1)
        cause = f"all {stream.n_skipped} rows were skipped: {reasons[0][0]}" if reasons else "there are no rows in it"
        raise RunError(f"{stream.name}: {cause}")
    if len(labels) > 20 and any(isinstance(y, float) and not y.is_integer() for y in labels):
        raise RunError(f"{stream.name}: the target has {len(labels)} different numbers, labels to classify are needed")
    return labels, len(features)


def _run(settings: dict[str, Any]) -> None:
    from onlinekit.evaluate import prequential
    from onlinekit.report import to_html
    from onlinekit.state import save
    from onlinekit.streams import open_stream, write_predictions

    stream = open_stream(settings["stream"], target=settings["target"], limit=settings["limit"])
    labels, features = _peek(stream)
    if settings["monitor"] is None:
        settings["monitor"] = CERTIFIED if len(labels) == 2 and features <= MOST_FEATURES else UNCERTIFIED
    name, model = _learner(settings, labels)
    if len(labels) == 2 and not set(labels) <= {False, True} and not getattr(model, "_multiclass", True):
        stream.labels = _two(labels)
    monitor, beside = _monitor(settings, labels)
    out = Path(settings["out"])
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise RunError(f"out must be a folder, and {out} or a part of it is a file") from None
    result = prequential(model, stream, monitor=monitor if beside is None else None, delay=settings["delay"])
    result.name = name
    results = [result]
    if beside is not None:
        given = stream.labels
        stream.labels = _two(labels)  # it knows two classes, False and True
        results.append(prequential(beside, stream, delay=settings["delay"]))
        results[1].name = f"linear, retrained by {settings['monitor']}"
        stream.labels = given
    if settings["save"]:
        save(model, settings["save"])
    if settings["predictions"]:
        write_predictions(
            settings["predictions"], zip(result.truths, result.predictions, result.confidences, strict=True)
        )
    details = {
        "stream": settings["stream"],
        "target": settings["target"] or "not named: the last column, or the one that the stream has",
        "samples": f"{result.n_samples:,}, labels {settings['delay']} samples late",
        "rows skipped": _skipped(stream),
        "learner": f"{name}: {_parameters(model)}",
        "monitor": "none" if monitor is None else f"{settings['monitor']}: {_parameters(monitor)}",
        "versions": _versions(),
    }
    if beside is not None:
        answers = [verdict for _, verdict in beside.verdicts]
        proved = sum(verdict.certified for verdict in answers)
        details["questions to the monitor"] = (
            f"{beside.n_checks}: {beside.n_retrains} retrains; of the last {len(answers)} answers {proved} are proved"
        )
    page = to_html(result, f"{name} on {stream.name}", results[1:], details)
    (out / "report.html").write_text(page, encoding="utf-8")
    _print(settings, stream, results, out)


def _two(labels: list[Any]) -> dict[Any, bool]:
    """Two labels as the classes False and True, in their order."""
    return dict(zip(sorted(labels, key=lambda y: (isinstance(y, str), y)), (False, True), strict=True))


def _skipped(stream: Any) -> str:
    causes = ", ".join(f"{reason} ({n:,})" for reason, n in stream.skipped_reasons.most_common(5))
    return f"{stream.n_skipped:,}" + (f": {causes}" if causes else "")


def _parameters(plugin: Any) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in plugin._get_params().items()) or "no parameters"


def _versions() -> str:
    from importlib.metadata import version

    packages = ("onlinekit", "river", "numba", "numpy")
    return ", ".join([f"Python {sys.version.split()[0]}", *(f"{name} {version(name)}" for name in packages)])


def _print(settings: Mapping[str, Any], stream: Any, results: list[Any], out: Path) -> None:
    first = results[0]
    rows = [("", "accuracy", "retrains", "samples/s")]
    for each in results:
        retrains = str(len(each.retrains)) if each.verdicts else "-"
        rows.append((each.name, f"{each.accuracy:.4f}", retrains, f"{each.samples_per_second:,.0f}"))
    rows.append(("no-change rule", f"{first.metrics['NoChange']:.4f}", "-", "-"))
    rows.append(("majority rule", f"{first.metrics['Majority']:.4f}", "-", "-"))
    wide = max(len(row[0]) for row in rows)
    print(f"stream    {stream.name}\nsamples   {first.n_samples}\nskipped   {_skipped(stream)}\n")
    for name, *cells in rows:
        print(f"{name:<{wide}}" + "".join(f"{cell:>12}" for cell in cells))
    print()
    if settings["save"]:
        print(f"model     {settings['save']}")
    if settings["predictions"]:
        print(f"labels    {settings['predictions']}")
    print(f"report    {out / 'report.html'}")
