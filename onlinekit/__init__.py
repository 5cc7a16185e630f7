"""onlinekit: online learning with Numba kernels, exact unlearning and certified retrain decisions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Resolved on first use, so that importing onlinekit imports neither numba nor river.
_HOME = {
    "PluginError": "registry",
    "Spec": "registry",
    "create": "registry",
    "get": "registry",
    "register": "registry",
    "specs": "registry",
    "ArrayClassifier": "learner",
    "Monitor": "monitor",
    "RetrainingClassifier": "monitor",
    "Verdict": "monitor",
    "load": "state",
    "save": "state",
    "StateError": "state",
    "StreamError": "streams",
    "open_stream": "streams",
    "kernel": "jit",
}
_MODULES = {"evaluate", "streams", "testing", "report"}

__all__ = ["__version__", *sorted(_HOME), *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"onlinekit.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"onlinekit.{name}")
    else:
        raise AttributeError(f"module 'onlinekit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
