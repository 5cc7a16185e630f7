"""What a learner remembers of each stored sample beside its row: key, target, weight, slot, and who came first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np


def digest_of(row: np.ndarray, code: float) -> int:
    """A number that equal contents share; features that are 0 at the end do not count, as they may come later."""
    return hash((row.tobytes().rstrip(b"\0"), code))


class Samples:
    """Stored samples by handle, a number that rises with every sample and is never used twice.

    Several samples may share one key. A sample without a key of its own has the key "#" + its handle.
    """

    def __init__(self) -> None:
        self.next = 0
        self.slot: dict[int, int] = {}  # in order of arrival
        self.key: dict[int, Hashable] = {}
        self.code: dict[int, float] = {}
        self.weight: dict[int, float] = {}
        self.by_key: dict[Hashable, list[int]] = {}
        self.digest: dict[int, int] | None = None  # of row and target, once somebody looks for contents
        self.by_digest: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.slot)

    def __iter__(self) -> Iterator[int]:
        return iter(self.slot)

    def add(self, slot: int, key: Hashable, code: float, weight: float) -> int:
        """Note a sample; its handle."""
        handle = self.next
        self.next += 1
        if key is None:
            key = f"#{handle}"
        self.slot[handle], self.key[handle], self.code[handle], self.weight[handle] = slot, key, code, weight
        self.by_key.setdefault(key, []).append(handle)
        return handle

    def index(self, handle: int, row: np.ndarray) -> None:
        """Note the contents of a sample, if contents are looked for."""
        if self.digest is not None:
            digest = digest_of(row, self.code[handle])
            self.digest[handle] = digest
            self.by_digest.setdefault(digest, []).append(handle)

    def unindex(self) -> None:
        """Targets have changed: the index is made anew when it is needed."""
        self.digest, self.by_digest = None, {}

    def remove(self, handle: int) -> None:
        """Forget a sample."""
        key = self.key.pop(handle)
        del self.slot[handle], self.code[handle], self.weight[handle]
        same = self.by_key[key]
        same.remove(handle)
        if not same:
            del self.by_key[key]
        if self.digest is not None:
            digest = self.digest.pop(handle)
            same = self.by_digest[digest]
            same.remove(handle)
            if not same:
                del self.by_digest[digest]

    def under(self, keys: Iterable[Hashable]) -> list[int]:
        """The handles under these keys; KeyError for one that is unknown, ValueError for one that is there twice."""
        found: list[int] = []
        seen = set()
        for key in keys:
            if key in seen:
                raise ValueError(f"key {key!r} is there twice")
            seen.add(key)
            if key not in self.by_key:
                raise KeyError(f"no sample is stored under the key {key!r}")
            found.extend(self.by_key[key])
        return found

    def oldest(self, count: int, without: Iterable[int] = ()) -> list[int]:
        """The handles that came first, passing over some."""
        passed = set(without)
        found: list[int] = []
        if count > 0:
            for handle in self.slot:
                if handle not in passed:
                    found.append(handle)
                    if len(found) == count:
                        break
        return found

    def slots(self, handles: Iterable[int]) -> np.ndarray:
        """Slots (m,) of handles."""
        return np.array([self.slot[handle] for handle in handles], dtype=np.int64)

    def codes(self, handles: Iterable[int]) -> np.ndarray:
        """Targets (m,) of handles."""
        return np.array([self.code[handle] for handle in handles], dtype=np.float64)

    def weights(self, handles: Iterable[int]) -> np.ndarray:
        """Weights (m,) of handles."""
        return np.array([self.weight[handle] for handle in handles], dtype=np.float64)

    def get_state(self) -> dict[str, Any]:
        """Plain values and arrays, in order of arrival."""
        handles = list(self.slot)
        own = {i: self.key[h] for i, h in enumerate(handles) if self.key[h] != f"#{h}"}
        return {
            "next": self.next,
            "handles": np.array(handles, dtype=np.int64),
            "slots": self.slots(handles),
            "codes": self.codes(handles),
            "weights": self.weights(handles),
            "keys": list(own.values()),
            "keyed": np.array(list(own), dtype=np.int64),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Samples:
        """The samples that `get_state` described."""
        self = cls()
        own = dict(zip(state["keyed"].tolist(), state["keys"], strict=True))
        columns = (state[name].tolist() for name in ("handles", "slots", "codes", "weights"))
        for i, (handle, slot, code, weight) in enumerate(zip(*columns, strict=True)):
            self.next = handle
            self.add(slot, own.get(i), code, weight)
        self.next = state["next"]
        return self
