"""A batch-trained model, and the rows that it takes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinekit._window import Window
from onlinekit.sparse import holds_few


class Deployed:
    """A trained model of d features, the first d of its window.

    A row reaches it as z = (x - mean) / scale (d,); where there is no mean as x itself, a CSR row if `sparse`.
    """

    def __init__(
        self, model: Any, names: list[Any], sparse: bool, mean: np.ndarray | None, scale: np.ndarray | None
    ) -> None:
        self.model = model
        self.names = names
        self.sparse = sparse
        self.mean = mean
        self.scale = scale

    def dense(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The row (d,) with these entries."""
        row = np.zeros(len(self.names))
        try:
            row[columns] = values
        except IndexError:  # rare: features that the model does not know
            known = columns < len(self.names)
            row[columns[known]] = values[known]
        return row if self.mean is None else (row - self.mean) / self.scale

    def answer(self, columns: np.ndarray, values: np.ndarray) -> dict[int, float]:
        """Class index -> probability for the row with these entries."""
        model = self.model
        if self.sparse:
            known = columns < len(self.names)
            columns, values = columns[known], values[known]
        row: Any
        if not hasattr(model, "fit"):
            if self.sparse:
                row = _named(self.names, columns, values)
            else:
                row = dict(zip(self.names, self.dense(columns, values).tolist(), strict=True))
            return {int(k): float(p) for k, p in model.predict_proba_one(row).items()}
        if self.sparse:
            row = sp.csr_matrix((values, columns, (0, len(values))), shape=(1, len(self.names)))
            row.sort_indices()
        else:
            row = self.dense(columns, values)[None, :]
        if not hasattr(model, "predict_proba"):
            return {int(model.predict(row)[0]): 1.0}
        p = model.predict_proba(row)[0]
        return {int(k): value for k, value in zip(model.classes_, p.tolist(), strict=True)}

    def told(self, names: list[Any], columns: np.ndarray, values: np.ndarray) -> dict[Any, float]:
        """The row with these entries as a monitor gets it: scaled if any is, features that came later as they are."""
        if self.mean is None:
            return dict(zip(names, values.tolist(), strict=True))
        row = dict(zip(self.names, self.dense(columns, values).tolist(), strict=True))
        for name, value in zip(names, values.tolist(), strict=True):
            row.setdefault(name, value)
        return row

    def state(self) -> dict[str, Any]:
        """Plain values, arrays and the model."""
        return dict(self.__dict__)

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Deployed:
        """The one that `state` describes."""
        return cls(**state)


def deploy(model: Any, window: Window, y: np.ndarray, standardize: bool) -> tuple[Deployed, Any, np.ndarray]:
    """A copy of the model trained on the rows of the window, labels y (n,); the rows (n, d), and the columns held."""
    rows = window.matrix()
    held = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
    names = window.names(held)
    Z: Any = rows if len(held) == rows.shape[1] else rows[:, held]
    sparse, mean, scale = not standardize and _takes_csr(model) and holds_few(rows.nnz, *Z.shape), None, None
    if not sparse:
        Z = Z.toarray()
    if standardize:
        low, high = Z.min(axis=0), Z.max(axis=0)
        top = np.maximum(-low, high)
        unit = np.where(top > 1e150, top, 1.0)  # squares of larger values overflow
        small = Z if (unit == 1.0).all() else Z / unit
        mean, scale = small.mean(axis=0) * unit, small.std(axis=0) * unit
        # The deviation of a constant is rounding, 4e-16 or so: divided by that, its first other value would be 1e15.
        scale[(scale == 0.0) | (low == high)] = 1.0
        Z = (Z - mean) / scale
    return Deployed(_trained(model, Z, y, names), names, sparse, mean, scale), Z, held


def _takes_csr(model: Any) -> bool:
    tags = getattr(model, "__sklearn_tags__", None)  # other models are taken to do so
    return tags is None or bool(tags().input_tags.sparse)


def _trained(model: Any, Z: Any, y: np.ndarray, names: list[Any]) -> Any:
    if hasattr(model, "fit"):
        model = copy.deepcopy(model)
        model.fit(Z, y)
        return model
    model = model.clone()
    if sp.issparse(Z) or not hasattr(model, "learn_many"):
        dicts: Any = (
            (_named(names, row.indices, row.data) for row in Z)
            if sp.issparse(Z)
            else (dict(zip(names, row, strict=True)) for row in Z.tolist())
        )
        for x, label in zip(dicts, y.tolist(), strict=True):
            model.learn_one(x, label)
        return model
    import pandas

    model.learn_many(pandas.DataFrame(Z, columns=names), pandas.Series(y))
    return model


def _named(names: list[Any], columns: np.ndarray, values: np.ndarray) -> dict[Any, float]:
    return dict(zip([names[j] for j in columns.tolist()], values.tolist(), strict=True))
