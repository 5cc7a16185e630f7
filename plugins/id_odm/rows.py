"""Rows as the engine gets them: as they are, or scaled by running statistics that can be replayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onlinekit.scaling import watch
from onlinekit.schema import Schema
from onlinekit_plugins.id_odm.samples import Samples
from onlinekit_plugins.id_odm.scaling_kernels import apply_scale, learn_scaled

FEW = 8  # times so many rows may be stored before they are exchanged instead of all solved anew


class ScaledRows:
    """The scale of an ExactCore: `_stats` after all rows, `_base` before the first stored one, `_raw` rows unscaled."""

    standardize: bool
    _schema: Schema
    _samples: Samples
    _stats: np.ndarray
    _base: np.ndarray
    _raw: dict[int, np.ndarray]

    def _build(self, rows: np.ndarray, handles: Sequence[int]) -> None:
        raise NotImplementedError

    def _exchange(self, handles: list[int], rows: np.ndarray, slots: np.ndarray) -> None:
        raise NotImplementedError

    def _scale_new(self, rows: np.ndarray, lost: int) -> np.ndarray:
        """Rows as the engine gets them; a scale moves on by all of them, also by those that are not stored."""
        if not self.standardize or not len(rows):
            return rows[lost:]
        self._stats, self._base = (_wide(stats, len(self._schema)) for stats in (self._stats, self._base))
        for row in rows[:lost]:
            watch(row, self._stats)
            watch(row, self._base)
        fed = np.empty_like(rows[lost:])
        learn_scaled(np.ascontiguousarray(rows[lost:]), self._stats, fed)
        return fed

    def _replay(self, gone: list[int]) -> None:
        """With a scale: as if the samples had never been seen; those after the first of them are scaled anew.

        Few such rows are exchanged for what they were; where they are many, all is solved anew.
        """
        away, order = set(gone), list(self._samples)
        begin = min(order.index(handle) for handle in gone)
        kept = [handle for handle in order if handle not in away]
        stats = _wide(self._base, len(self._schema))
        rows = self._padded(kept)
        fed = np.empty_like(rows)
        learn_scaled(rows, stats, fed)
        later = kept[begin:]
        if FEW * len(later) <= len(order):
            self._exchange(later, fed[begin:], self._samples.slots(gone + later))
        else:
            self._build(fed, kept)
        for handle in gone:
            self._samples.remove(handle)
            self._raw.pop(handle)[:] = 0.0
        self._stats = stats

    def _padded(self, handles: Sequence[int]) -> np.ndarray:
        """The rows (m, d) of handles before scaling; a feature that came later was 0."""
        rows = np.zeros((len(handles), len(self._schema)))
        for i, handle in enumerate(handles):
            row = self._raw[handle]
            rows[i, : len(row)] = row
        return rows

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        if not self.standardize:
            return rows
        out = np.empty_like(rows)
        apply_scale(rows, _wide(self._stats, rows.shape[1]), out)
        return out


def _wide(stats: np.ndarray, d: int) -> np.ndarray:
    """A copy of the running statistics with columns for d features, new ones as if they had been 0."""
    wide = np.zeros((5, max(d, 3, stats.shape[1])))
    wide[:, : stats.shape[1]] = stats
    return wide
