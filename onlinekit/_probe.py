"""What can be seen to be wrong with a plugin without importing any of it."""

from __future__ import annotations

import ast
import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from onlinekit.registry import Spec

__all__ = ["visible_fault"]


def visible_fault(spec: Spec) -> str | None:
    """Why importing `spec.target` is bound to fail, or None if nothing of the kind shows.

    Looks for a missing module, a syntax error, an import of a package that is not installed and an unconditional
    `raise`, in the module and the packages around it. Only importing can tell the rest.
    """
    module, colon, path = spec.target.partition(":")
    if not spec.distribution:
        return None
    if not (module and colon and path):
        return "the entry point is not of the form 'package.module:Class'"
    parts = module.split(".")
    found: ModuleSpec | None = None
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        # The import system's own find_spec would import the parents of a dotted name.
        if depth == 1:
            found = _top(name)
        else:
            found = PathFinder.find_spec(name, found.submodule_search_locations if found else None)
        if found is None:
            return f"no module named {name!r}"
        fault = _fault_in_source(found.origin)
        if fault is not None:
            return fault
    return None


def _top(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # ValueError: a module already imported without a spec, such as __main__
        return getattr(sys.modules.get(name), "__spec__", None)


def _fault_in_source(origin: str | None) -> str | None:
    if origin is None or not origin.endswith(".py"):
        return None
    try:
        body = ast.parse(Path(origin).read_bytes()).body
    except (SyntaxError, ValueError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    for statement in body:
        names: list[str] = []
        if isinstance(statement, ast.Raise):
            return f"it raises {ast.unparse(statement.exc) if statement.exc else 'an error'} when imported"
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
            names = [statement.module]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and _top(top) is None:
                return f"it needs {top!r}, which is not installed"
    return None
