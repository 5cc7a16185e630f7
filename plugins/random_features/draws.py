"""Random directions and phases that depend on the seed and a feature's name alone, not on any order."""

from __future__ import annotations

import hashlib
import numbers
from typing import Any

import numpy as np


def _words(seed: int, kind: str, name: Any) -> list[int]:
    """Seed words for one name; names that are equal as dict keys (1, 1.0, True) give equal words."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, numbers.Real) and float(name).is_integer():
        name = int(float(name))
    digest = hashlib.blake2b(f"{kind}:{name!r}".encode(), digest_size=16).digest()
    return [seed, *np.frombuffer(digest, dtype="<u4").tolist()]


def direction(seed: int, name: Any, n_components: int) -> np.ndarray:
    """The row of a feature: n_components draws of N(0, 1), to be divided by sigma.

    Examples
    --------
    >>> from onlinekit_plugins.random_features.draws import direction
    >>> bool((direction(1, "height", 5) == direction(1, "height", 5)).all())
    True
    """
    return np.random.default_rng(_words(seed, "direction", name)).standard_normal(n_components)


def phases(seed: int, n_components: int) -> np.ndarray:
    """n_components draws of the uniform distribution on [0, 2 pi)."""
    return np.random.default_rng(_words(seed, "phases", None)).uniform(0.0, 2.0 * np.pi, n_components)
