"""Random draws that belong to a feature's name and a seed, whenever the feature comes and whoever draws."""

from __future__ import annotations

import hashlib
import numbers
from typing import Any

import numpy as np


def name_key(name: Any) -> int:
    """A number of 64 bits for a feature name, the same in every process; equal numbers (1, 1.0, True) give one key."""
    if isinstance(name, (numbers.Real, np.generic)):
        value = float(name)
        name = int(value) if value.is_integer() else value
    return int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little")


def normal_row(seed: int, name: Any, size: int) -> np.ndarray:
    """`size` standard normal numbers for the feature `name`.

    Examples
    --------
    >>> from onlinekit_plugins.random_features.draws import normal_row
    >>> bool((normal_row(1, "a", 3) == normal_row(1, "a", 3)).all())
    True
    >>> bool((normal_row(1, "a", 3) == normal_row(1, "b", 3)).any())
    False
    """
    return np.random.default_rng([seed, name_key(name)]).normal(size=size)
