"""Merging of replicas that learned parts of a stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from onlinekit.scaling import catch_up
from onlinekit_plugins.random_features.base import RandomFeatureClassifier
from onlinekit_plugins.random_features.core_kernels import (
    CLOCK,
    FIXED,
    GAIN,
    KEPT,
    LENGTHS,
    UPDATES,
    WIDTH,
)
from onlinekit_plugins.random_features.sigma_kernels import AUTO

Model = TypeVar("Model", bound=RandomFeatureClassifier)

# What makes the components of two models the same functions of x at the start.
SAME = ("n_components", "features", "seed", "sigma", "standardize", "dtype", "classes")


def merge(models: Sequence[Model], weights: Sequence[float] | None = None) -> Model:
    """The average of replicas: w, u and b by `weights`, the scaler's mean and variance as of all rows together.

    w = sum_i p_i w_i, p_i = weights_i / sum weights, and so u and b. With n_i rows, N = sum n_i, mean = sum n_i
    mean_i / N and var = sum n_i (var_i + (mean_i - mean)^2) / N. Features and labels go together by name. The result
    has the other parameters of the first model, and goes on learning. It is a good start where every replica has
    nearly converged; one model that learned all rows is better where they have not.

    Parameters
    ----------
    models
        Trained models of one class, equal in seed, sigma, n_components, features, standardize and dtype: only then
        do component i of one and component i of another belong together.
    weights
        Not negative, one for each model; by default the number of samples that each has learned.

    Raises
    ------
    ValueError
        The models do not belong together, or the weights are not valid.

    Examples
    --------
    >>> from onlinekit_plugins.random_features import MPUFOGDClassifier, merge
    >>> shards = [MPUFOGDClassifier(n_components=50) for _ in range(2)]
    >>> for t in range(800):
    ...     a, b = (-1) ** t, (-1) ** (t // 2)
    ...     shards[t // 4 % 2].learn_one({"a": a, "b": b}, a == b)
    >>> model = merge(shards)
    >>> [model.predict_one({"a": a, "b": b}) for a, b in [(1, 1), (1, -1), (-1, 1), (-1, -1)]]
    [True, False, False, True]

    References
    ----------
    Chan, Golub, LeVeque, Algorithms for computing the sample variance, The American Statistician 37, 1983.
    """
    if not models:
        raise ValueError("at least one model is needed")
    first = models[0]
    _check_same(models)
    runs = [model._arrays["run"] for model in models]
    counts = np.array([run[CLOCK] for run in runs])
    if weights is None:
        weights = counts.tolist() if counts.sum() > 0 else [1.0] * len(models)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (len(models),) or not np.isfinite(given).all() or given.min() < 0.0 or given.sum() == 0.0:
        raise ValueError(f"weights must be {len(models)} numbers, not negative and not all zero, not {weights!r}")
    share = given / given.sum()

    merged: Model = first.clone()
    merged._grow_features(list(dict.fromkeys(name for model in models for name in model._schema.names)))
    for label in dict.fromkeys(label for model in models for label in model._labels.names):
        if label not in merged._labels.index:
            merged._add_class(label)
    _average(merged, models, share)
    if first.standardize:
        _pool_statistics(merged, models)
    _pool_run(merged, models, share)
    merged._refresh()
    return merged


def _check_same(models: Sequence[RandomFeatureClassifier]) -> None:
    first = models[0]
    for model in models:
        if model.arrays is not RandomFeatureClassifier.arrays:
            raise ValueError(f"a {type(model).__name__} has state that cannot be averaged")
        if type(model) is not type(first):
            raise ValueError(f"a {type(first).__name__} and a {type(model).__name__} cannot be merged")
        for name in SAME:
            one, other = getattr(first, name), getattr(model, name)
            if one != other:
                raise ValueError(f"models with {name} {one!r} and {other!r} cannot be merged")
        starts = [m._get_params()["directions"] for m in (first, model)]
        if (starts[0] is None) != (starts[1] is None) or (
            starts[0] is not None and not all(np.array_equal(a, b) for a, b in zip(*starts, strict=True))  # type: ignore[call-overload]
        ):
            raise ValueError("models that started from other directions cannot be merged")
    widths = [float(m._arrays["run"][GAIN]) for m in models if m._arrays["run"][LENGTHS] > 0.0]
    if widths and max(widths) > 1.1 * min(widths):
        raise ValueError(
            f"models whose sigma has become {1 / max(widths):.3g} and {1 / min(widths):.3g} cannot be merged; "
            "give sigma as a number"
        )


def _rows(model: RandomFeatureClassifier) -> dict[Any, np.ndarray]:
    """The weights as one row for each label; of two labels -w/2 and w/2."""
    w, names = model._arrays["weights"], model._labels.names
    if w.shape[0] > 1:
        return dict(zip(names, w, strict=True))
    if len(names) == 2:
        return {names[0]: -0.5 * w[0], names[1]: 0.5 * w[0]}
    return {name: -w[0] for name in names}


def _average(merged: RandomFeatureClassifier, models: Sequence[RandomFeatureClassifier], share: np.ndarray) -> None:
    w, u, b = (merged._arrays[name] for name in ("weights", "directions", "phases"))
    drawn = u[: merged.n_features].copy()
    u[:] = 0.0
    b[:] = 0.0
    for model, p in zip(models, share, strict=True):
        rows = _rows(model)
        if w.shape[0] == 1:
            for label, sign in zip(merged._labels.names, (-1.0, 1.0), strict=False):
                if label in rows:
                    w[0] += p * sign * rows[label]
        else:
            for k, label in enumerate(merged._labels.names):
                if label in rows:
                    w[k] += p * rows[label]
        for j, name in enumerate(merged._schema.names):
            at = model._schema.index.get(name)
            # A feature that a model has not met still has the row it would have drawn.
            u[j] += p * (drawn[j] if at is None else model._arrays["directions"][at])
        b += p * model._arrays["phases"]


def _pool_statistics(merged: RandomFeatureClassifier, models: Sequence[RandomFeatureClassifier]) -> None:
    d = merged.n_features
    counts = np.array([model._stats[4, 0] for model in models])
    means, variances = np.zeros((len(models), d)), np.zeros((len(models), d))
    for i, model in enumerate(models):
        stats = model._stats.copy()
        for at, name in enumerate(model._schema.names):
            catch_up(at, stats)  # zeros of sparse rows that wait to be counted
            j = merged._schema.index[name]
            means[i, j], variances[i, j] = stats[1, at], stats[2, at]
    total = counts.sum()
    if total == 0.0:
        return
    mean = counts @ means / total
    variance = counts @ (variances + (means - mean) ** 2) / total
    stats = merged._stats
    stats[0, :d] = total
    stats[1, :d], stats[2, :d] = mean, variance
    stats[3, :d] = np.where(variance > 0.0, 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0)), 0.0)
    stats[4, 0] = total


def _pool_run(merged: RandomFeatureClassifier, models: Sequence[RandomFeatureClassifier], share: np.ndarray) -> None:
    run, runs = merged._arrays["run"], [model._arrays["run"] for model in models]
    for slot in (CLOCK, UPDATES, LENGTHS):
        run[slot] = sum(r[slot] for r in runs)
    if run[LENGTHS] > 0.0:
        run[WIDTH] = sum(r[LENGTHS] * r[WIDTH] for r in runs) / run[LENGTHS]
    fixed = [i for i, r in enumerate(runs) if r[FIXED] != 0.0]
    if fixed:
        # Given or settled; the average of what those that have settled found.
        total = share[fixed].sum()
        part = share[fixed] / total if total > 0.0 else np.full(len(fixed), 1.0 / len(fixed))
        run[FIXED] = 1.0
        run[GAIN] = 1.0 / sum(p / runs[i][GAIN] for p, i in zip(part, fixed, strict=True))
    elif run[LENGTHS] > 0.0:
        run[GAIN] = 1.0 / (AUTO * math.sqrt(2.0 * run[WIDTH]))
    sample, start = merged._arrays["sample"], models[0]
    for model in models:
        for at, name in enumerate(model._schema.names):
            j = merged._schema.index[name]
            sample[j, 0] = max(sample[j, 0], model._arrays["sample"][at, 0])
            if model is start:
                sample[j, 1:] = model._arrays["sample"][at, 1:]
    run[KEPT] = start._arrays["run"][KEPT]
