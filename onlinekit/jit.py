"""The one compile decorator of the house."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Collection
from typing import Any

import numba

_warned = False
_sources: dict[Any, frozenset[str]] = {}  # kernel -> the files its machine code was made from


def kernel(
    function: Callable[..., Any] | None = None, *, fastmath: Collection[str] = (), inline: bool = False
) -> Callable[..., Any]:
    """Compile a pure function to machine code on its first call.

    The compiled code is cached on disk beside the source, in the user's cache directory, or in
    NUMBA_CACHE_DIR. Where none of them can be written (a read-only install without a home) it is compiled
    once a process instead, with one warning. A change of this file or of one whose kernels are called voids the cache.
    The GIL is released while the kernel runs and divisions by
    zero give inf or NaN, as in NumPy. By default results do not depend on reordered sums.

    Parameters
    ----------
    function
        Takes arrays and scalars, mutates state in place and returns a scalar.
    fastmath
        LLVM flags, for long sums that a reordering makes fast and whose rounding is bounded otherwise, such as
        {"reassoc", "contract", "nsz", "arcp"}. Never "nnan" or "ninf": NaN and infinity are values here.

    inline
        Put the machine code into that of every caller: for small steps of a loop over rows.

    Examples
    --------
    >>> from onlinekit.jit import kernel
    >>> @kernel
    ... def double(a):
    ...     return 2.0 * a
    >>> double(1.5)
    3.0
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, inline=inline)
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": set(fastmath) or False,
        "forceinline": inline,
    }
    global _warned
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "compiled kernels cannot be cached (the install and the home directory are read-only); "
                "set NUMBA_CACHE_DIR to a writable folder to compile once only",
                RuntimeWarning,
                stacklevel=2,
            )
        return numba.njit(**options)(function)
    if hasattr(compiled, "py_func"):  # not so under NUMBA_DISABLE_JIT=1
        _stamp(compiled, function)
    return compiled


def _stamp(compiled: Any, function: Callable[..., Any]) -> None:
    """Tie the cached code to all the files it was made from.

    Numba looks at the kernel's own file only, so code with an old version of a called kernel inside would live on
    after an upgrade and give other numbers.
    """
    used = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    files = {function.__code__.co_filename}
    for name, value in used.items():
        if hasattr(value, "py_func"):
            files |= _sources.get(value, frozenset())
        elif isinstance(value, (int, float)):
            files |= _homes(name, value, function.__module__.rpartition(".")[0])
    _sources[compiled] = frozenset(files)
    stamps = [os.stat(file) for file in sorted(files) if os.path.exists(file)]
    compiled._cache._cache_file._source_stamp = tuple((s.st_mtime, s.st_size) for s in stamps)


def _homes(name: str, value: float, package: str) -> set[str]:
    """The files of a package that know a constant by this name: it is part of the machine code, whoever set it."""
    modules = [module for key, module in list(sys.modules.items()) if key.rpartition(".")[0] == package]
    found = (module.__file__ for module in modules if getattr(module, "__dict__", {}).get(name) is value)
    return {file for file in found if file}


def direct(compiled: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a kernel for arguments of these types, after a first call with such.

    It is called without another look at the types, which takes half the time of a small kernel's call; so it is only
    for arguments that have been made by the caller and always have these types.
    """
    if not hasattr(compiled, "get_overload"):  # NUMBA_DISABLE_JIT=1
        return compiled
    return compiled.get_overload(tuple(numba.typeof(argument) for argument in arguments))
