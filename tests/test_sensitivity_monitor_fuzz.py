"""Certified monitors over random lives: dense, CSR or dict data, rows that join and leave, copies, any rule."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from onlinekit_plugins.sensitivity import EllipsoidTest, NewtonTest, SegmentTest, SphereTest, solve
from onlinekit_plugins.sensitivity.monitor_rows import stacked

CLASSES = (SphereTest, SegmentTest, EllipsoidTest, NewtonTest)
RULES = ("flips", "coefficients", "gap", "validation")


def begun(rng):
    """A monitor with its fit, and the samples it was given."""
    d, density = int(rng.choice([3, 70, 200])), rng.choice([0.05, 0.15, 1.0])
    X = rng.normal(size=(int(rng.integers(30, 90)), d))
    X *= rng.random(X.shape) < density
    y = X @ (rng.normal(size=d) * (rng.random(d) < 0.2)) + 0.5 * rng.normal(size=len(X)) > 0
    samples = [
        ({j: v for j, v in enumerate(row) if v or density == 1}, t) for row, t in zip(X.tolist(), y, strict=True)
    ]
    given = {"rule": RULES[rng.integers(4)], "loss": ("logistic", "squared_hinge")[rng.integers(2)]}
    monitor = CLASSES[rng.integers(4)](**given, C=10 ** rng.uniform(-2, 0), reference=25, spare=3)
    data = (X, sp.csr_matrix(X), [x for x, _ in samples])[rng.integers(3)]
    monitor.rebase(data, y)
    return monitor, samples, max(1, int(density * d))


def lived(rng, monitor, samples, length):
    """Let samples join and leave, and copies take over."""
    names = list(monitor._schema.names)
    for _ in range(int(rng.integers(0, 40))):
        if rng.random() < 0.5 and len(samples) > 2:
            monitor.revert(*samples.pop(int(rng.integers(len(samples)))))
        else:
            columns = rng.choice(len(names), min(len(names), length), replace=False)
            x = {names[j]: float(v) for j, v in zip(columns, rng.normal(size=len(columns)), strict=True)}
            samples.append((x, bool(rng.random() < 0.5)))
            monitor.update(*samples[-1])
        if rng.random() < 0.1:
            monitor = pickle.loads(pickle.dumps(monitor))
        if rng.random() < 0.1:
            monitor.interval()
    return monitor


def exact_change(monitor, samples):
    """What the rule measures, by a retrain to |gradient| <= 1e-12."""
    place = {name: j for j, name in enumerate(monitor._schema.names)}
    X = np.zeros((len(samples), monitor._width))
    for row, (x, _) in zip(X, samples, strict=True):
        row[[place[name] for name in x]] = list(x.values())
        row[-1] = 1.0
    sign, w0, C = np.where([y for _, y in samples], 1.0, -1.0), monitor._tracker.summary.w0, monitor.C
    w1 = solve(X, sign, C, monitor.loss, tol=1e-12)

    def phi(z):
        return np.logaddexp(0, -z) if monitor.loss == "logistic" else np.maximum(0, 1 - z) ** 2

    if monitor.rule == "coefficients":
        return np.abs(w1 - w0).max()
    if monitor.rule == "gap":
        return C / 2 * (w0 @ w0 - w1 @ w1) + (phi(sign * (X @ w0)) - phi(sign * (X @ w1))).mean()
    E = stacked([row for _, row, _ in monitor._latest], monitor._width, monitor._sparse)
    labels = np.array([label for *_, label in monitor._latest], dtype=float)
    if monitor.rule == "flips":
        return np.mean((E @ w0 > 0) != (E @ w1 > 0))
    return (phi(labels * (E @ w0)) - phi(labels * (E @ w1))).mean()


@pytest.mark.parametrize("part", range(4))
def test_the_interval_holds_the_exact_change_whatever_came(part):
    sparse = 0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for run in range(20):
            rng = np.random.default_rng([part, run])
            monitor, samples, length = begun(rng)
            monitor = lived(rng, monitor, samples, length)
            (low, high), _ = monitor.interval()
            assert low - 1e-9 <= exact_change(monitor, samples) <= high + 1e-9, run
            sparse += monitor._sparse
    assert 0 < sparse < 20
