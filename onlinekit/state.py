"""save and load: a model in one file, with nothing executable inside.

Layout: magic (8 bytes), version and header length (little-endian uint32, uint64), JSON header, raw arrays, SHA-256.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import numbers
import os
import secrets
import struct
import sys
from typing import Any

import numpy as np

from onlinekit import registry

__all__ = ["StateError", "load", "save"]

MAGIC = b"OKSTATE\n"
VERSION = 1
_FIXED = struct.Struct("<8sIQ")
_KINDS = "biuf"
# Part of the framework but not registered; imported on demand. Nothing else named in a file is ever imported.
_OWN_MODULES = ("onlinekit.monitor",)


class StateError(ValueError):
    """A model cannot be saved, or a file is no intact model; the message says why."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner or monitor to `path`, atomically: a crash leaves the old file whole.

    Raises
    ------
    StateError
        If the state holds something other than plain values, arrays and further learners or monitors.

    Examples
    --------
    >>> save(model, "model.ok")  # doctest: +SKIP
    """
    arrays: list[np.ndarray] = []
    root = _encode(model, arrays)
    if not (isinstance(root, dict) and "m" in root):
        raise StateError(f"{type(model).__name__} is neither a learner nor a monitor")
    table = [[a.dtype.str, list(a.shape)] for a in arrays]
    header = json.dumps({"root": root, "arrays": table}, allow_nan=False).encode()
    parts = [_FIXED.pack(MAGIC, VERSION, len(header)), header, *(a.tobytes() for a in arrays)]
    body = b"".join(parts)
    _write(os.path.realpath(os.fspath(path)), body + hashlib.sha256(body).digest())


def _write(target: str, data: bytes) -> None:
    """Replace a file in one step that a crash cannot split."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    if os.name == "posix":
        # The new name is on disk only when the folder is; elsewhere a folder cannot be opened.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote; the class comes from the registry, never from a module that the file names.

    Raises
    ------
    StateError
        If the file is foreign, truncated, altered, of another version, or needs a class that is not installed.

    Examples
    --------
    >>> model = load("model.ok")  # doctest: +SKIP
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != MAGIC[: len(data[:8])] or not data:
        raise StateError(f"{os.fspath(path)!r} is not a model saved by onlinekit")
    if len(data) < _FIXED.size + 32:
        raise StateError(f"{os.fspath(path)!r} is truncated")
    _, version, length = _FIXED.unpack_from(data)
    if version != VERSION:
        raise StateError(f"{os.fspath(path)!r} has format version {version}; this onlinekit reads {VERSION}")
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise StateError(f"{os.fspath(path)!r} is truncated or was altered: its checksum does not match")
    # A checksum is no signature: a forged file can have a right one, so everything below is still checked.
    try:
        start = _FIXED.size + length
        if start > len(data) - 32:
            raise StateError("the header is longer than the file")
        header = json.loads(data[_FIXED.size : start])
        arrays = _read_arrays(header["arrays"], data[start:-32])
        if set(header["root"]) != {"m"}:
            raise StateError("it holds no model")
        return _decode(header["root"], arrays)
    except registry.PluginError as error:
        raise StateError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise StateError(f"{os.fspath(path)!r} is no valid model: {error}") from error


def _read_arrays(table: Any, data: bytes) -> list[np.ndarray]:
    arrays, at = [], 0
    for name, shape in table:
        dtype = np.dtype(str(name))
        if dtype.kind not in _KINDS or not all(type(n) is int and n >= 0 for n in shape):
            raise StateError(f"array of type {name!r} and shape {shape!r} is not allowed")
        size = math.prod(shape) * dtype.itemsize
        if size > len(data) - at:
            raise StateError(f"array of shape {shape!r} is larger than the file")
        count = math.prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, at).reshape(shape).copy() if count else np.zeros(shape, dtype))
        at += size
    if at != len(data):
        raise StateError("bytes are left over behind the arrays")
    return arrays


def _encode(value: Any, arrays: list[np.ndarray]) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": repr(value)}
    if type(value) in (list, tuple):
        return {"l" if type(value) is list else "t": [_encode(v, arrays) for v in value]}
    if type(value) is dict:
        return {"d": [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]}
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS:
            raise StateError(f"an array of type {array.dtype} cannot be saved")
        arrays.append(array)
        return {"a" if isinstance(value, np.ndarray) else "n": len(arrays) - 1}
    from river import base

    if not isinstance(value, base.Base):
        raise StateError(f"a {type(value).__name__} in the state cannot be saved: {value!r:.80}")
    cls = type(value)
    kind = "monitor" if hasattr(cls, "verdict") else "learner"
    name = registry.name_of(cls)
    state = value.__getstate__()  # type: ignore[attr-defined]
    where = [kind, name] if name else ["class", f"{cls.__module__}:{cls.__qualname__}"]
    return {"m": [*where, _encode(state, arrays)]}


def _decode(node: Any, arrays: list[np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    ((tag, value),) = node.items()
    if tag == "f":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value]
    if tag in ("l", "t"):
        items = [_decode(v, arrays) for v in value]
        return items if tag == "l" else tuple(items)
    if tag == "d":
        return {_decode(k, arrays): _decode(v, arrays) for k, v in value}
    if tag == "a":
        return arrays[value]
    if tag == "n":
        return arrays[value][()]
    if tag != "m":
        raise StateError(f"unknown tag {tag!r}")
    kind, name, state = value
    cls: Any = _class(name) if kind == "class" else registry.get(kind, name)
    plain = _decode(state, arrays)
    _check_state(cls, plain)
    model: Any = object.__new__(cls)
    if hasattr(cls, "__setstate__"):
        model.__setstate__(plain)
    else:
        model.__dict__.update(plain)
    # Kernels do not check bounds, so what they rely on is checked here, by the learners that have it.
    check = getattr(model, "_check_arrays", None)
    if check is not None:
        try:
            check()
        except ValueError as error:
            raise StateError(str(error)) from None
    return model


def _check_state(cls: Any, state: Any) -> None:
    """Raise StateError unless the state is one that an instance of the class could have.

    A fresh instance is made of the parameters in the state, so that the class itself checks them; the state must
    have the attributes of that instance, no more and no fewer, each of the same type.
    """
    if not isinstance(state, dict):
        raise StateError(f"the state of {cls.__name__} is no dict")
    params = {name: state[name] for name in inspect.signature(cls).parameters if name in state}
    own = cls(**params).__getstate__()
    if state.keys() != own.keys():
        names = ", ".join(sorted(map(repr, state.keys() ^ own.keys())))
        raise StateError(f"the state of {cls.__name__} has too much or too little: {names}")
    for name, value in state.items():
        if name not in params and not _alike(value, own[name]):
            raise StateError(f"attribute {name!r} of {cls.__name__} cannot be a {type(value).__name__}")


def _alike(value: Any, model: Any) -> bool:
    """Whether two values are of the same type; any numbers are, and None stands in for anything."""
    if value is None or model is None:
        return True
    if isinstance(model, np.ndarray):
        return isinstance(value, np.ndarray) and (value.dtype, value.ndim) == (model.dtype, model.ndim)
    if isinstance(model, (numbers.Number, np.bool_)):
        return isinstance(value, (numbers.Number, np.bool_))
    return type(value) is type(model)


def _class(target: str) -> type:
    from river import base

    module_name, _, path = target.partition(":")
    if module_name in _OWN_MODULES:
        __import__(module_name)
    found: Any = sys.modules.get(module_name)
    for part in path.split("."):
        found = getattr(found, part, None)
    plugin = isinstance(found, type) and issubclass(found, base.Base)
    if not plugin or not (issubclass(found, (base.Classifier, base.Regressor)) or hasattr(found, "verdict")):
        raise StateError(f"class {target!r} is neither registered nor imported as a learner or monitor")
    return found
