"""What Bayesian logistic regression promises: accuracy, log loss, recovery, and a posterior that stays sound."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression as Model

pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location(
    "bayes_logistic_streams", Path(__file__).parents[1] / "benchmarks" / "bayes_logistic_streams.py"
)
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)

SEEDS = range(8)


def plain():
    return Model(drift=None)


def auto():
    return Model(drift="auto")


@pytest.fixture(scope="module")
def measured():
    models = {"plain": plain, "default": Model, "auto": auto, "sgd": lambda: bench.sgd(0.1)}
    return {
        (name, kind): bench.accuracy_and_loss(make, kind, SEEDS)
        for name, make in models.items()
        for kind in bench.KINDS
    }


@pytest.mark.parametrize("kind, points", [("abrupt", 0.10), ("rotating", 0.15), ("gradual", 0.025)])
def test_under_drift_accuracy_rises_on_every_seed(measured, kind, points):
    gain = measured["default", kind][:, 0] - measured["plain", kind][:, 0]
    assert gain.min() >= points, gain


def test_abrupt_drift_costs_less_log_loss(measured):
    gain = measured["plain", "abrupt"][:, 1] - measured["default", "abrupt"][:, 1]
    assert gain.mean() >= 0.18, gain


def test_the_price_on_stationary_data(measured):
    plain, default = measured["plain", "stationary"], measured["default", "stationary"]
    assert (plain[:, 0] - default[:, 0]).max() <= 0.015
    assert (default[:, 1] - plain[:, 1]).max() <= 0.025


@pytest.mark.parametrize("kind", bench.KINDS)
def test_log_loss_is_below_sgd_on_every_seed(measured, kind):
    gain = measured["sgd", kind][:, 1] - measured["default", kind][:, 1]
    assert gain.min() >= 0.003, gain


def test_auto_pays_almost_nothing(measured):
    plain, mixed = measured["plain", "stationary"], measured["auto", "stationary"]
    assert (plain[:, 0] - mixed[:, 0]).max() <= 0.008
    assert (mixed[:, 1] - plain[:, 1]).max() <= 0.006
    assert measured["auto", "abrupt"][:, 1].mean() <= measured["default", "abrupt"][:, 1].mean()


def test_recovery_after_a_sign_flip():
    ours, river = bench.recovery(Model, True, SEEDS), bench.recovery(lambda: bench.sgd(0.01), True, SEEDS)
    assert ours <= 150 and river >= 3 * ours, (ours, river)


def million(kind, seed=1):
    """Ten parts of 100,000 rows whose concept flips from part to part."""
    rng = np.random.default_rng(seed)
    w = bench.concept(rng, 6)
    for part in range(10):
        X = rng.standard_normal((100_000, 6))
        if kind == "one-hot":
            X = np.eye(6)[rng.integers(0, 6, len(X))]
        a = X @ (w if part % 2 else -w)
        if kind == "collinear":
            X[:, 5], X[:, 4] = X[:, 0], X[:, 1] + X[:, 2]
        if kind == "scaled":
            X *= np.logspace(-6, 6, 6)
        yield X, rng.random(len(X)) < 1.0 / (1.0 + np.exp(-a))


@pytest.mark.parametrize("params", [
    {}, {"drift": None}, {"drift": "uncertainty_mean"}, {"drift": "constant", "c": 1e-3}, {"update": "adf"},
    {"covariance": "diag"}, {"prior_var": 10.0},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", ["unit", "collinear", "scaled", "one-hot"])
def test_a_million_steps_leave_a_sound_posterior(kind, params):
    model = Model(**params)
    for X, y in million(kind):
        model.learn_many(X, y)
        S = model.covariance()[1]
        assert np.isfinite(S).all() and np.array_equal(S, S.T)
        spectrum = np.linalg.eigvalsh(S)
        assert spectrum[-1] <= model.prior_var * (1.0 + 1e-9) and spectrum[0] > 0.0
