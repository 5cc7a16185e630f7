"""The registry: learners and monitors by name, found through entry points and imported only when asked for.

A plugin is any installed distribution with an entry point in the group `onlinekit.learners` or `onlinekit.monitors`
whose name is kebab-case and whose value is "package.module:Class".
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["API_VERSION", "KINDS", "PluginError", "Spec", "create", "get", "load", "name_of", "register", "specs"]

API_VERSION = 1
"""The newest plugin contract this version of onlinekit understands (a plugin states its own as ONLINEKIT_API)."""

KINDS = {"learner": "onlinekit.learners", "monitor": "onlinekit.monitors"}

_MONITOR_METHODS = ("update", "revert", "verdict", "rebase", "drift_detected")

C = TypeVar("C", bound=type)


class PluginError(Exception):
    """A plugin is unknown, ambiguous or broken; the message names it and what to do, `__cause__` has the reason."""


@dataclass(frozen=True, order=True)
class Spec:
    """What is known of a plugin without importing it.

    Parameters
    ----------
    kind
        "learner" or "monitor".
    name
        Its kebab-case name.
    target
        "package.module:Class".
    distribution, version
        The installed distribution that brings it; "" for a class registered in this process.
    """

    kind: str
    name: str
    target: str
    distribution: str
    version: str


_registered: dict[tuple[str, str], tuple[Spec, type]] = {}


def specs(kind: str | None = None) -> list[Spec]:
    """All plugins of one kind, or of both, sorted by kind and name; nothing of a plugin is imported.

    A name that two distributions claim for different targets appears once for each of them.

    Raises
    ------
    PluginError
        If `kind` is neither "learner" nor "monitor".

    Examples
    --------
    >>> all(spec.kind == "learner" for spec in specs("learner"))
    True
    """
    kinds = list(KINDS) if kind is None else [_checked_kind(kind)]
    found = [spec for each in kinds for spec in _installed(each) if (each, spec.name) not in _registered]
    found += [spec for (each, _), (spec, _) in _registered.items() if each in kinds]
    return sorted(found)


def get(kind: str, name: str) -> type:
    """The class registered as `name`, imported and checked against the plugin contract.

    Parameters
    ----------
    kind
        "learner" or "monitor".
    name
        A registered name, or "distribution:name" where two distributions claim the same name.

    Raises
    ------
    PluginError
        If the name is unknown or claimed twice, or the plugin cannot be imported or breaks the contract.

    Examples
    --------
    >>> get("learner", "no-such-thing")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    onlinekit.registry.PluginError: no learner is called 'no-such-thing'; installed: ...
    """
    _checked_kind(kind)
    if (kind, name) in _registered:
        return _registered[kind, name][1]
    return load(_resolve(kind, name))


def create(kind: str, name: str, **params: Any) -> Any:
    """An instance of the class registered as `name`: `get(kind, name)(**params)`.

    Raises
    ------
    PluginError
        As `get`. Errors of the constructor itself pass through unchanged.

    Examples
    --------
    >>> create("learner", "logistic", standardize=True)  # doctest: +SKIP
    """
    return get(kind, name)(**params)


def register(kind: str, name: str, replace: bool = False) -> Callable[[C], C]:
    """Class decorator that registers a class in this process only, as one does in a notebook.

    Parameters
    ----------
    kind, name
        As in `get`; the name is kebab-case.
    replace
        Whether a plugin that already has the name may be hidden by this class.

    Raises
    ------
    PluginError
        If the name is taken and `replace` is False, or the class breaks the plugin contract.

    Examples
    --------
    >>> @register("learner", "mine")  # doctest: +SKIP
    ... class Mine(ArrayClassifier): ...
    """
    _checked_kind(kind)
    if not is_kebab(name):
        raise PluginError(f"{name!r} is no plugin name: use lower-case words joined by hyphens, as in 'my-learner'")

    def decorate(cls: C) -> C:
        spec = Spec(kind, name, f"{cls.__module__}:{cls.__qualname__}", "", "")
        if not replace:
            taken = [s for s in specs(kind) if s.name == name]
            if taken:
                raise PluginError(
                    f"{kind} {name!r} is already registered by {_owner(taken[0])}; pass replace=True to hide it"
                )
        try:
            _check_class(kind, cls)
        except TypeError as error:
            raise _broken(spec, error) from error
        _registered[kind, name] = (spec, cls)
        return cls

    return decorate


def load(spec: Spec) -> type:
    """The class behind a Spec, imported and checked.

    Raises
    ------
    PluginError
        Naming kind, name, distribution, version, target and the cause, which is also its `__cause__`.
    """
    own = _registered.get((spec.kind, spec.name))
    if own is not None and own[0] == spec:
        return own[1]
    module_name, _, path = spec.target.partition(":")
    try:
        if not module_name or not path:
            raise TypeError("the entry point is not of the form 'package.module:Class'")
        target: Any = importlib.import_module(module_name)
        if getattr(target, "__file__", None) is None and hasattr(target, "__path__"):
            # Numba's cache outlives `pip uninstall`; its folder then hides an editable installation.
            raise ImportError(
                f"{target.__path__[0]} is left of an earlier installation and hides it; remove that folder"
            )
        for part in path.split("."):
            target = getattr(target, part)
        _check_class(spec.kind, target)
    # A plugin is foreign code: whatever its import raises, even sys.exit(), must not end the host.
    except (Exception, SystemExit) as error:
        raise _broken(spec, error) from error
    return target


def name_of(cls: type) -> str | None:
    """The name to ask for `cls` by ("distribution:name" if the name is claimed twice), None if it has none.

    Only modules that are imported already are looked at: the module of `cls` is one of them.
    """
    everything = specs()
    for spec in everything:
        own = _registered.get((spec.kind, spec.name))
        if own is not None:
            target: Any = own[1]
        else:
            module_name, _, path = spec.target.partition(":")
            target = sys.modules.get(module_name)
            for part in path.split("."):
                target = getattr(target, part, None)
        if target is cls:
            rivals = [s for s in everything if (s.kind, s.name) == (spec.kind, spec.name)]
            return spec.name if len(rivals) == 1 else f"{spec.distribution}:{spec.name}"
    return None


def is_kebab(name: str) -> bool:
    """Whether `name` is made of lower-case ASCII words and digits joined by single hyphens, a letter first.

    >>> is_kebab("id-odm"), is_kebab("Id_Odm")
    (True, False)
    """
    words = name.split("-")
    return name.isascii() and name[:1].isalpha() and all(word.isalnum() and word == word.lower() for word in words)


def _checked_kind(kind: str) -> str:
    if kind not in KINDS:
        raise PluginError(f"{kind!r} is no kind of plugin; the kinds are 'learner' and 'monitor'")
    return kind


def _installed(kind: str) -> list[Spec]:
    # importlib.metadata keeps the first distribution of a name on sys.path, as the import system does.
    found: dict[tuple[str, str], Spec] = {}
    for point in importlib.metadata.entry_points(group=KINDS[kind]):
        distribution, version = _origin(point)
        # The same target twice (an editable install beside a wheel) is one plugin.
        found.setdefault((point.name, point.value), Spec(kind, point.name, point.value, distribution, version))
    return list(found.values())


def _origin(point: importlib.metadata.EntryPoint) -> tuple[str, str]:
    metadata = point.dist.metadata if point.dist is not None else None
    if metadata is None:
        return "unknown", "unknown"
    # A half-removed distribution may have lost its metadata file; its plugins can still be listed.
    return str(metadata["Name"] or "unknown"), str(metadata["Version"] or "unknown")


def _resolve(kind: str, name: str) -> Spec:
    distribution, colon, short = name.rpartition(":")
    available = specs(kind)
    matches = [s for s in available if s.name == short and (not colon or _same(s.distribution, distribution))]
    if len(matches) == 1:
        return matches[0]
    if matches:
        claims = " and ".join(f"{_owner(s)} ({s.target})" for s in matches)
        escapes = " or ".join(repr(f"{s.distribution}:{s.name}") for s in matches)
        raise PluginError(f"{kind} {name!r} is claimed by {claims}; ask for {escapes}")
    names = sorted({s.name for s in available})
    close = difflib.get_close_matches(short.lower(), names, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ";"
    listing = ", ".join(names) or "none"
    raise PluginError(f"no {kind} is called {name!r}{hint} installed: {listing}")


def _same(left: str, right: str) -> bool:
    def normal(name: str) -> str:
        return name.lower().replace("_", "-").replace(".", "-")

    return normal(left) == normal(right)


def _owner(spec: Spec) -> str:
    return f"{spec.distribution} {spec.version}" if spec.distribution else "a class of this process"


def _broken(spec: Spec, cause: BaseException) -> PluginError:
    return PluginError(
        f"{spec.kind} {spec.name!r} of {_owner(spec)} ({spec.target}) cannot be used: {type(cause).__name__}: {cause}"
    )


def _check_class(kind: str, cls: Any) -> None:
    """Raise TypeError if a class cannot be a plugin of this kind."""
    if not isinstance(cls, type):
        raise TypeError(f"the target is not a class but {type(cls).__name__}")
    _check_api(cls)
    from river import base

    if kind == "learner":
        if not issubclass(cls, (base.Classifier, base.Regressor)):
            raise TypeError(f"{cls.__name__} is neither a river.base.Classifier nor a river.base.Regressor")
    else:
        if not issubclass(cls, base.Base):
            raise TypeError(f"{cls.__name__} is not a river.base.Base")
        missing = [method for method in _MONITOR_METHODS if not hasattr(cls, method)]
        if missing:
            raise TypeError(f"{cls.__name__} lacks what every monitor has: {', '.join(missing)}")
    if inspect.isabstract(cls):
        raise TypeError(f"{cls.__name__} leaves abstract: {', '.join(sorted(cls.__abstractmethods__))}")
    # River clones a model from its constructor's parameters, so each of them must have a name.
    if cls.__init__ is not object.__init__:
        for parameter in inspect.signature(cls.__init__).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"{cls.__name__}.__init__ takes {parameter}; River needs every parameter by name")


def _check_api(cls: type) -> None:
    # The class may say it, or its module, or the top package once for all its plugins.
    module = sys.modules.get(cls.__module__)
    package = sys.modules.get(cls.__module__.partition(".")[0])
    version: Any = 1
    for place in (cls, module, package):
        stated = getattr(place, "ONLINEKIT_API", None)
        if stated is not None:
            version = stated
            break
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TypeError(f"ONLINEKIT_API is {version!r}, which is not a positive integer")
    if version > API_VERSION:
        raise TypeError(f"it needs plugin API {version} and this onlinekit offers {API_VERSION}: upgrade onlinekit")
