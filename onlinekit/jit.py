"""The one compile decorator of the house."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection
from typing import Any

import numba

_warned = False


def kernel(function: Callable[..., Any] | None = None, *, fastmath: Collection[str] = ()) -> Callable[..., Any]:
    """Compile a pure function to machine code on its first call.

    The compiled code is cached on disk beside the source, in the user's cache directory, or in
    NUMBA_CACHE_DIR. Where none of them can be written (a read-only install without a home) it is compiled
    once a process instead, with one warning. The GIL is released while the kernel runs and divisions by
    zero give inf or NaN, as in NumPy. By default results do not depend on reordered sums.

    Parameters
    ----------
    function
        Takes arrays and scalars, mutates state in place and returns a scalar.
    fastmath
        LLVM flags, for long sums that a reordering makes fast and whose rounding is bounded otherwise, such as
        {"reassoc", "contract", "nsz", "arcp"}. Never "nnan" or "ninf": NaN and infinity are values here.

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
        return functools.partial(kernel, fastmath=fastmath)
    flags: Any = set(fastmath) or False
    global _warned
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=flags)(function)
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
        return numba.njit(nogil=True, error_model="numpy", fastmath=flags)(function)
