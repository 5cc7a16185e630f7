"""MarginClassifier: binary and one-vs-rest classification on a KernelMachine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from onlinekit import frames
from onlinekit.labels import BinaryLabels, ClassLabels
from onlinekit_plugins.id_odm.calibration import Calibration
from onlinekit_plugins.id_odm.machine import KernelMachine


class MarginClassifier(KernelMachine, base.MiniBatchClassifier):
    """f > 0 is True; beyond two classes, one f a class against the rest and the largest wins.

    A subclass gives `_edges(sign)`: the interval (lo, hi) of f for signs +1 and -1, arrays of any shape.
    The parameter `classes` is as in every learner: (False, True), None for any labels as they come, or a sequence.
    """

    _calibration: Calibration | None

    def __init__(
        self,
        lam: float = 1.0,
        kernel: str = "rbf",
        gamma: float | None = None,
        coef0: float = 0.0,
        window: int | None = None,
        max_samples: int | None = None,
        standardize: bool = False,
        tol: float = 1e-10,
        classes: Sequence[Hashable] | None = (False, True),
        on_invalid: str = "raise",
    ) -> None:
        self.classes = classes
        self._labels = self._make_labels(())
        super().__init__(lam, kernel, gamma, coef0, window, max_samples, standardize, tol, on_invalid)

    def _edges(self, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    # -- targets -------------------------------------------------------------------------------------------

    def _make_labels(self, names: Sequence[Hashable]) -> BinaryLabels | ClassLabels:
        if self.classes is None:
            return ClassLabels(names)
        if list(self.classes) == [False, True] and all(isinstance(c, (bool, np.bool_)) for c in self.classes):
            return BinaryLabels()
        if len(self.classes) < 2:
            raise ValueError(f"classes must be None or name two labels at least, not {self.classes!r}")
        return ClassLabels(names or self.classes, growing=False)

    @property
    def _multiclass(self) -> bool:
        return not isinstance(self._labels, BinaryLabels)

    @property
    def _single(self) -> bool:
        return not self._multiclass

    def _names(self) -> Sequence[Any]:
        return self._labels.names

    def _outputs(self) -> int:
        # Two labels are one problem: the second one's f is the first one's with the other sign.
        return 1 if len(self._labels) == 2 else len(self._labels)

    def _read_target(self, y: Any) -> float:
        code = self._labels.find(y)
        if code < 0 and not self._labels.growing:
            raise ValueError(f"label {y!r} is not one of the declared classes {self._labels.names!r}")
        return float(code)

    def _signs(self, codes: np.ndarray) -> np.ndarray:
        if self._single:
            return 2.0 * codes.reshape(1, -1) - 1.0
        return np.where(codes[None, :] == np.arange(self._outputs())[:, None], 1.0, -1.0)

    def _spread(self, f: np.ndarray) -> np.ndarray:
        """One column a label from f (n, outputs)."""
        return np.column_stack((f, -f)) if len(self._labels) == 2 and self._multiclass else f

    def _interval(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._edges(self._signs(codes))

    def _admit_targets(self, codes: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
        if isinstance(self._labels, BinaryLabels) or not (codes < 0.0).any():
            return codes
        codes = codes.copy()
        for i in np.flatnonzero(codes < 0.0).tolist():
            code = self._labels.find(labels[i])
            if code < 0:
                code = self._labels.add(labels[i])
                handles = sorted(self._samples, key=self._samples.slot.__getitem__)
                weights = self._samples.weights(handles)
                lo, hi, il = self._problem(self._samples.codes(handles), weights)
                for c in range(self._engine.outputs, self._outputs()):
                    self._engine.add_output(lo[c], hi[c], il)
            codes[i] = code
        return codes

    def _drop_targets(self) -> None:
        if not self._labels.growing or not isinstance(self._labels, ClassLabels):
            return
        present = {int(code) for code in self._samples.code.values()}
        if len(present) == len(self._labels):
            return
        kept = sorted(present)
        anew = len(self._labels) == 2 and kept == [1]  # the one problem was the lost label's
        for code in reversed(range(self._engine.outputs)):
            if code not in present and not anew:
                self._engine.drop_output(code)
        if len(kept) == 2 and self._engine.outputs == 2:
            self._engine.drop_output(1)
        rank = {code: i for i, code in enumerate(kept)}
        self._labels = ClassLabels([self._labels.names[code] for code in kept])
        self._samples.code = {handle: float(rank[int(code)]) for handle, code in self._samples.code.items()}
        self._samples.unindex()
        if anew:
            self._build_again()

    def _answers(self, told: list[Any]) -> np.ndarray:
        if self._single:
            return np.array(told, dtype=bool)
        result = np.empty(len(told), dtype=object)
        result[:] = told
        return result

    # -- predictions ---------------------------------------------------------------------------------------

    def _calibrated(self) -> Calibration:
        known: Calibration | None = self._calibration
        if known is None:
            handles = list(self._samples)
            slots = self._samples.slots(handles)
            positive = 0.5 * (1.0 + self._signs(self._samples.codes(handles)))
            known = Calibration(self._engine.loo()[:, slots], positive, self._samples.weights(handles))
            self._calibration = known
        return known

    def _probabilities(self, rows: np.ndarray) -> np.ndarray:
        p = self._calibrated()(self._decide(rows))
        return p[:, ::-1] if len(self._labels) == 2 and self._multiclass else p

    def predict_one(self, x: dict[Any, Any]) -> Any:  # type: ignore[override]
        """The label by the sign of f, or by the largest f; None before any label is known."""
        names = self._labels.names
        if len(names) < 2:
            return names[0] if names else None
        f = self._decide(self._pack(x))
        return bool(f[0, 0] > 0.0) if self._single else names[int(self._spread(f).argmax())]

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Label -> probability by Platt scaling of leave-one-out margins; {} before any label is known."""
        names = self._labels.names
        if len(names) < 2:
            return {name: 1.0 for name in names}
        p = self._probabilities(self._pack(x))
        return dict(zip(names, p[0].tolist(), strict=True))

    def predict_many(self, X: Any) -> Any:
        """The label of each row, in the caller's own kind of column."""
        names, rows = self._labels.names, self._rows_to_predict(X)
        if len(names) < 2:
            return frames.series(X, (names[0:1] or [None]) * len(rows))
        f = self._decide(rows)
        codes = (f[:, 0] > 0.0).astype(int) if self._single else self._spread(f).argmax(axis=1)
        return frames.series(X, [names[code] for code in codes])

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities (rows x labels), in the caller's own kind of frame."""
        names, rows = self._labels.names, self._rows_to_predict(X)
        p = np.ones((len(rows), len(names))) if len(names) < 2 else self._probabilities(rows)
        return frames.frame(X, p, list(names))

    # -- state ---------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        del state["_labels"]
        return {**state, "_class_names": list(self._labels.names)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        own = dict(state)
        self.classes = own["classes"]
        self._labels = self._make_labels(own.pop("_class_names"))
        super().__setstate__(own)
