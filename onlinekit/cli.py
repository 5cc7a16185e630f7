"""The `onlinekit` command: list, info, check, new and run."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import unittest
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onlinekit import __version__, _probe, registry

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: of the process) and return its exit code.

    0: done. 1: a plugin is unknown or broken, or a check failed. 2: wrong arguments. 141: the reader of our output
    went away.

    >>> main(["list", "--kind", "monitor", "--json"])  # doctest: +SKIP
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Python flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except registry.PluginError as error:
        print(f"onlinekit: {error}", file=sys.stderr)
        return 1


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["run"]:
        from onlinekit.run import main as run

        return run(arguments[1:])
    options = _parser().parse_args(arguments)
    return options.action(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="onlinekit", description="Online learning with plugins.")
    parser.add_argument("--version", action="version", version=f"onlinekit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, action: Any, about: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(action=action)
        return command

    listing = add("list", _list, "list the installed learners and monitors")
    listing.add_argument("--json", action="store_true", help="as a JSON array")
    listing.add_argument("--kind", choices=list(registry.KINDS))
    info = add("info", _info, "show a plugin, its parameters and where it comes from")
    check = add("check", _check, "run the contract's checks on a plugin")
    for command in (info, check):
        command.add_argument("name", metavar="NAME")
        command.add_argument("--kind", choices=list(registry.KINDS))
    new = add("new", _new, "write a new plugin into the folder NAME")
    new.add_argument("name", metavar="NAME")
    commands.add_parser("run", help="evaluate a learner on a stream", add_help=False)
    return parser


def _list(options: argparse.Namespace) -> int:
    specs = registry.specs(options.kind)
    names = [(spec.kind, spec.name) for spec in specs]
    rows = []
    for spec in specs:
        fault = _probe.visible_fault(spec)
        if fault is None and names.count((spec.kind, spec.name)) > 1:
            fault = f"claimed twice, ask for {spec.distribution}:{spec.name}"
            status = "ambiguous"
        else:
            status = "ok" if fault is None else "broken"
        rows.append({**asdict(spec), "status": status, "reason": fault})
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    wide = max((len(spec.name) for spec in specs), default=0)
    for row in rows:
        note = "" if row["reason"] is None else f"  {row['status']}: {row['reason']}"
        print(f"{row['kind']:<8} {row['name']:<{wide}}  {row['distribution']} {row['version']}{note}")
    return 0


def _kinds(options: argparse.Namespace) -> list[str]:
    """The kinds that have a plugin of this name; the error of an unknown name if none has."""
    short = options.name.rpartition(":")[2]
    kinds = [options.kind] if options.kind else list(registry.KINDS)
    having = [kind for kind in kinds if any(spec.name == short for spec in registry.specs(kind))]
    if having:
        return having
    errors = []
    for kind in kinds:
        try:
            registry.get(kind, options.name)
        except registry.PluginError as error:
            errors.append(str(error))
    # The kind that has something similar knows what was meant.
    raise registry.PluginError(next((text for text in errors if "did you mean" in text), "; ".join(errors)))


def _info(options: argparse.Namespace) -> int:
    for kind in _kinds(options):
        cls = registry.get(kind, options.name)
        short = options.name.rpartition(":")[2]
        owner = options.name.rpartition(":")[0]
        spec = next(s for s in registry.specs(kind) if s.name == short and owner in ("", s.distribution))
        print(f"{kind} {spec.name}\nfrom   {spec.distribution} {spec.version}\nclass  {spec.target}")
        print("\n" + (inspect.getdoc(cls) or "(no description)").strip())
        print("\nParameters and defaults")
        for parameter in inspect.signature(cls).parameters.values():
            default = "required" if parameter.default is parameter.empty else repr(parameter.default)
            print(f"  {parameter.name} = {default}")
    return 0


def _check(options: argparse.Namespace) -> int:
    failed = 0
    for kind in _kinds(options):
        cls: Any = registry.get(kind, options.name)
        from onlinekit import testing

        checks = testing.learner_checks if kind == "learner" else testing.monitor_checks
        # River's own convention for the parameters a class is to be tested with.
        for params in cls._unit_test_params():
            for name, check in checks(cls(**params)):
                try:
                    check()
                    print(f"ok    {name}", flush=True)
                except unittest.SkipTest as reason:
                    print(f"skip  {name}: {reason}", flush=True)
                except BrokenPipeError:
                    raise
                except Exception as error:  # a check may find any error in foreign code
                    failed += 1
                    cause = " ".join(str(error).split()) or "no message"
                    print(f"FAIL  {name}: {type(error).__name__}: {cause}", flush=True)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


def _new(options: argparse.Namespace) -> int:
    from onlinekit._new import new_plugin

    try:
        folder = new_plugin(options.name, Path.cwd())
    except (ValueError, OSError) as error:
        print(f"onlinekit: {error}", file=sys.stderr)
        return 2
    print(f"wrote {folder}\nnext: pip install -e {options.name} && onlinekit check {options.name}")
    return 0
