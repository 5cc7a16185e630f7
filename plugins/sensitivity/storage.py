"""Plain states (numbers, strings, lists, dictionaries, arrays) in one .npz file without pickles."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def write(path: str | os.PathLike[str], kind: str, state: dict[str, Any]) -> None:
    """Write ``state`` to ``path`` at once: a crash leaves the old file whole."""
    arrays: dict[str, np.ndarray] = {}
    header = json.dumps({"kind": kind, "state": _encode(state, arrays)})
    target = os.path.abspath(os.fspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".onlinekit-", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, header=np.array(header), allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read what ``write`` wrote. Raises ValueError for a file that is damaged or holds something else."""
    with open(path, "rb") as source:
        try:
            if not zipfile.is_zipfile(source):  # NumPy would say how to read it as a pickle
                raise ValueError("it is no .npz file")
            source.seek(0)
            with np.load(source, allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                if header["kind"] != kind:
                    raise ValueError(f"it holds a {header['kind']}")
                return dict(_decode(header["state"], file))
        except Exception as error:  # a damaged archive raises anything, from BadZipFile to RuntimeError
            raise ValueError(f"{os.fspath(path)!r} is no saved {kind}: {error}") from error


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """While a state is taken: whatever does not fit becomes one ValueError that names what the state is of."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"the {name} is damaged or of another version of onlinekit; make it anew") from error


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_encode(v, arrays) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[k, _encode(v, arrays)] for k, v in value.items()]}
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any, file: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    if tag == "array":
        return file[inner]
    if tag == "dict":
        return {k: _decode(v, file) for k, v in inner}
    items = [_decode(v, file) for v in inner]
    return items if tag == "list" else tuple(items)
