"""Labels and class indices: what a user calls a class, and the number a kernel knows it by."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np


def plain(label: Any) -> Any:
    """The Python value of a NumPy scalar; anything else unchanged."""
    return label.item() if isinstance(label, np.generic) else label


class BinaryLabels:
    """The two classes False (index 0) and True (index 1).

    Accepts True/False, 1/0 and 1.0/0.0, also NumPy's; everything else raises a ValueError that names it.
    """

    growing = False
    names: tuple[bool, bool] = (False, True)
    index: ClassVar[dict[Any, int]] = {False: 0, True: 1}

    def find(self, label: Any) -> int:
        """The class index of a label; ValueError when it is neither True nor False."""
        if label is True:
            return 1
        if label is False:
            return 0
        if isinstance(label, (numbers.Number, np.bool_)) and (label == 0 or label == 1):
            return int(label == 1)
        raise ValueError(
            f"label {plain(label)!r} is not binary: True/False or 1/0 are; for other labels "
            "pass classes=None where the learner has it, or wrap it in river.multiclass.OneVsRestClassifier"
        )

    def __len__(self) -> int:
        return 2


class ClassLabels:
    """Any hashable labels; a new one gets the next index.

    Parameters
    ----------
    names
        Labels known in advance, in index order.
    """

    def __init__(self, names: Sequence[Hashable] = (), growing: bool = True) -> None:
        self.names: list[Any] = [plain(name) for name in names]
        self.growing = growing
        self.index = {name: i for i, name in enumerate(self.names)}
        if len(self.index) != len(self.names):
            raise ValueError(f"classes has a label twice: {self.names!r}")

    def find(self, label: Any) -> int:
        """The class index of a label, -1 for a new one.

        Raises ValueError for None and NaN, TypeError for a label that cannot be hashed.
        """
        label = plain(label)
        if label is None or label != label:
            raise ValueError(f"label {label!r} is not a label")
        try:
            return self.index.get(label, -1)
        except TypeError:
            raise TypeError(f"label {label!r} is not hashable") from None

    def add(self, label: Any) -> int:
        """Give a new label the next index."""
        label = plain(label)
        self.index[label] = len(self.names)
        self.names.append(label)
        return len(self.names) - 1

    def __len__(self) -> int:
        return len(self.names)
