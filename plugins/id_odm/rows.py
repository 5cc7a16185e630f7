"""Rows as the engine gets them: as they are, or scaled by running statistics that can be replayed."""

from __future__ import annotations

import numpy as np

from onlinekit.scaling import watch
from onlinekit.schema import Schema
from onlinekit_plugins.id_odm.samples import Samples
from onlinekit_plugins.id_odm.scaling_kernels import apply_scale, learn_scaled


class ScaledRows:
    """The scale of an ExactCore: `_stats` after all rows, `_base` before the first stored one, `_raw` rows unscaled."""

    standardize: bool
    _schema: Schema
    _samples: Samples
    _stats: np.ndarray
    _base: np.ndarray
    _raw: dict[int, np.ndarray]

    def _build(self, rows: np.ndarray) -> None:
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
        """With a scale: as if the samples had never been seen; all after them are scaled and solved anew."""
        for handle in gone:
            self._samples.remove(handle)
            self._raw.pop(handle)[:] = 0.0
        d = len(self._schema)
        self._stats = _wide(self._base, d)
        rows = self._padded(d)
        fed = np.empty_like(rows)
        learn_scaled(rows, self._stats, fed)
        self._build(fed)

    def _padded(self, d: int) -> np.ndarray:
        """The rows (n, d) before scaling; a feature that came later was 0."""
        rows = np.zeros((len(self._raw), d))
        for i, row in enumerate(self._raw.values()):
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
