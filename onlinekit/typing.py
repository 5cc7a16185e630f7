"""Protocols for what onlinekit calls a learner, an unlearner and a monitor.

They describe shapes of objects, so a class need not inherit from anything here to satisfy them:

>>> class Nothing:
...     pass
>>> isinstance(Nothing(), Learner)
False
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

__all__ = ["Learner", "Monitor", "Unlearner"]


@runtime_checkable
class Learner(Protocol):
    """A River classifier that learns sample by sample and batch by batch.

    `x` maps feature names to numbers (absent = 0.0), `y` is a label, `w` >= 0 the weight of the sample;
    `X` is a pandas, polars or pyarrow frame or a 2-D array with one sample a row.
    """

    def learn_one(self, x: Mapping[Hashable, float], y: Any, w: float = 1.0) -> None: ...

    def predict_one(self, x: Mapping[Hashable, float]) -> Any: ...

    def predict_proba_one(self, x: Mapping[Hashable, float]) -> dict[Any, float]: ...

    def learn_many(self, X: Any, y: Any) -> None: ...

    def predict_many(self, X: Any) -> Any: ...

    def predict_proba_many(self, X: Any) -> Any: ...


@runtime_checkable
class Unlearner(Protocol):
    """A learner that can forget: after `unlearn_one(x, y)` it is as if that sample was never seen.

    An unknown key or sample raises KeyError before anything has changed.
    """

    def learn_one(self, x: Mapping[Hashable, float], y: Any, w: float = 1.0, key: Hashable = None) -> None: ...

    def predict_one(self, x: Mapping[Hashable, float]) -> Any: ...

    def unlearn_one(self, x: Mapping[Hashable, float], y: Any) -> None: ...

    def unlearn(self, key: Hashable) -> None: ...

    def unlearn_many(self, keys: Iterable[Hashable]) -> None: ...

    def relabel(self, key: Hashable, y: Any) -> None: ...


@runtime_checkable
class Monitor(Protocol):
    """Watches the data a model was trained on and says whether retraining could change the model.

    `update` takes a sample that joined the data, `revert` one that left it; `verdict()` answers with a decision
    in {"keep", "retrain", "undecided"} and `drift_detected` is True exactly when that is "retrain".
    """

    @property
    def drift_detected(self) -> bool: ...

    def update(self, x: Any, y: Any) -> None: ...

    def revert(self, x: Any, y: Any) -> None: ...

    def verdict(self) -> Any: ...

    def rebase(self, *args: Any, **kwargs: Any) -> None: ...
