"""Ways in which a drifting Bayesian logistic regression goes wrong, each with its counterexample at full length."""

import copy
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from naive import NaiveBayesLogistic
from onlinekit_plugins.bayes_logistic import BayesianLogisticRegression as Model

DATA = Path(os.environ.get("ONLINEKIT_DATA", "/nowhere"))


def labels(rng, a):
    return rng.random(len(a)) < 1.0 / (1.0 + np.exp(-a))


def log_loss(p, y):
    return float(-np.log(np.maximum(np.where(y, p, 1.0 - p), 1e-300)).mean())


def naive_probabilities(model, X, y):
    return np.array([model.step(dict(enumerate(x)), int(t))[2] for x, t in zip(X.tolist(), y.tolist(), strict=True)])


def probabilities(model, X, y):
    out = []
    for row, t in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        out.append(model.predict_proba_one(x)[True])
        model.learn_one(x, t)
    return np.array(out)


@pytest.mark.parametrize("extra", ["silent", "collinear"])
def test_additive_inflation_winds_up_in_300_000_steps_and_bounded_does_not(extra):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 3))
    y = labels(rng, X @ [2.0, -2.0, 1.0])
    X = np.column_stack([X, np.zeros(len(X)) if extra == "silent" else X[:, 0]])
    largest = {}
    for bounded in (False, True):
        model = Model(c=1.0, bounded=bounded)
        model.learn_many(X, y)
        largest[bounded] = np.linalg.eigvalsh(model.covariance()[1])[-1]
    assert largest[False] > 1000.0
    assert largest[True] <= 1.0 + 1e-9


class CappedDiagonal(NaiveBayesLogistic):
    """The cure that is none: additive inflation whose diagonal is cut at the prior."""

    def inflated(self, old):
        P = super().inflated(old)
        np.fill_diagonal(P, np.minimum(np.diag(P), self.prior_var))
        return P


def test_a_capped_diagonal_stops_adapting_on_one_hot_rows_with_an_intercept():
    # The null direction (1, -1, .., -1) holds the diagonal at the cap; nothing is left for the excited ones.
    rng = np.random.default_rng(0)
    X = np.eye(5)[rng.integers(0, 5, 11_000)]
    a = X @ [-2.0, 2.0, -2.0, 2.0, -2.0]
    a[10_000:] *= -1.0
    y = labels(rng, a)
    capped = naive_probabilities(CappedDiagonal(bounded=False, c=1.0), X, y)[10_000:]
    bounded = probabilities(Model(c=1.0), X, y)[10_000:]
    assert log_loss(capped, y[10_000:]) > 0.85
    assert log_loss(bounded, y[10_000:]) < 0.55


def multiplicative(X, y, keep):
    """Steps until Sigma / keep, without a cap, is no longer finite; None if it always is."""
    Sigma, mu = np.eye(X.shape[1]), np.zeros(X.shape[1])
    with np.errstate(all="ignore"):
        for t, (x, label) in enumerate(zip(X, y, strict=True)):
            P = Sigma / keep
            Px = P @ x
            s2 = x @ Px
            p = 1.0 / (1.0 + np.exp(-(mu @ x) / np.sqrt(1.0 + np.pi * s2 / 8.0)))
            w = p * (1.0 - p)
            Sigma, mu = P - w / (1.0 + w * s2) * np.outer(Px, Px), mu + Px * (label - p) / (1.0 + w * s2)
            if not np.isfinite(Sigma).all():
                return t
    return None


def test_multiplicative_forgetting_overflows_on_a_silent_feature():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((24_000, 2)), np.zeros(24_000)])
    y = labels(rng, X @ [3.0, -1.0, 0.0])
    step = multiplicative(X, y, keep=0.97)
    assert step is not None and abs(step - math.log(np.finfo(float).max) / -math.log(0.97)) < 5
    model = Model(c=1.0)
    model.learn_many(X, y)
    assert np.isfinite(model.covariance()[1]).all()


@pytest.mark.skipif(not (DATA / "elec2.npz").exists(), reason="needs elec2 (set ONLINEKIT_DATA)")
def test_multiplicative_forgetting_overflows_on_elec2():
    # Three features are constant in the first 17,760 rows: the variance of their weights only grows.
    with np.load(DATA / "elec2.npz") as file:
        X, y = file["X"].astype(float)[:20_000], file["y"][:20_000] > 0
    n = np.arange(1, len(X) + 1)[:, None]
    mean = np.cumsum(X, axis=0) / n
    sd = np.sqrt(np.maximum(np.cumsum(X * X, axis=0) / n - mean**2, 0.0))
    scaled = np.where(sd > 1e-6, (X - mean) / np.where(sd > 1e-6, sd, 1.0), 0.0)
    step = multiplicative(np.column_stack([np.ones(len(X)), scaled]), y, keep=0.97)
    assert step is not None and 17_000 < step < 17_760
    model = Model(standardize=True)
    model.learn_many(X, y)
    assert np.isfinite(model.covariance()[1]).all()


def test_absent_so_far_equals_present_as_zero_only_when_bounded():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = labels(rng, X @ [2.0, -2.0, 1.0, 0.0])
    y[1500:] = ~y[1500:]
    for bounded in (True, False):
        absent, zero = (Model(c=1.0, bounded=bounded) for _ in range(2))
        absent.learn_many(X, y)
        zero.learn_many(np.column_stack([X, np.zeros(len(X))]), y)
        x = {0: 1.0, 4: 2.0}
        gap = abs(absent.predict_proba_one(x)[True] - zero.predict_proba_one(x)[True])
        assert (gap < 1e-12) if bounded else (gap > 1e-3)


def test_drift_modes_need_features_of_like_scale():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 10))
    W = rng.standard_normal((4, 10))
    W *= 4.0 / np.linalg.norm(W, axis=1, keepdims=True)
    y = labels(rng, (X * np.repeat(W, 2000, axis=0)).sum(axis=1))
    unit = log_loss(probabilities(Model(), X, y), y)
    assert unit < 0.36
    assert log_loss(probabilities(Model(), 1000.0 * X, y), y) > 4.0
    assert abs(log_loss(probabilities(Model(standardize=True), 1000.0 * X, y), y) - unit) < 0.005


def test_one_square_root_keeps_symmetry_where_a_product_of_three_does_not():
    rng = np.random.default_rng(0)
    u, k = rng.standard_normal(50), 0.37
    three = (k * u[:, None]) * u[None, :]
    h = math.sqrt(k) * u
    assert not np.array_equal(three, three.T)
    assert np.array_equal(np.outer(h, h), np.outer(h, h).T)
    model = Model(drift="constant", c=0.01)
    X = rng.standard_normal((2000, 12))
    model.learn_many(X, labels(rng, X[:, 0]))
    S = model.covariance()[1]
    assert np.array_equal(S, S.T)


@pytest.mark.parametrize("prior", [1e12, 1e16])
def test_josephs_form_is_no_cure_for_a_huge_prior(prior):
    """Against exact fractions both forms lose digits as the prior grows; a prior of 1 costs neither any."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((60, 4)), rng.uniform(0.05, 0.25, 60)

    def errors(prior):
        S, J = np.eye(4) * prior, np.eye(4) * prior
        E = [[Fraction(prior) * (i == j) for j in range(4)] for i in range(4)]
        for x, w in zip(X, weights, strict=True):
            h = math.sqrt(w / (1.0 + w * (x @ S @ x))) * (S @ x)
            S = S - np.outer(h, h)
            g = J @ x / (x @ J @ x + 1.0 / w)
            A = np.eye(4) - np.outer(g, x)
            J = A @ J @ A.T + np.outer(g, g) / w
            exact = [Fraction(v) for v in x]
            p = [sum(a * b for a, b in zip(row, exact, strict=True)) for row in E]
            k = Fraction(w) / (1 + Fraction(w) * sum(a * b for a, b in zip(p, exact, strict=True)))
            # Rounded to 400 binary digits, far beyond what is compared.
            E = [[Fraction(int((E[i][j] - k * p[i] * p[j]) * 2**400), 2**400) for j in range(4)] for i in range(4)]
        want = np.array([[float(v) for v in row] for row in E])
        return [np.abs(got - want).max() / np.abs(want).max() for got in (S, J)]

    assert max(errors(1.0)) < 1e-14
    assert min(errors(prior)) > 1e-8


def test_a_row_that_overflows_changes_nothing():
    for standardize in (False, True):
        model = Model(standardize=standardize)
        model.learn_one({"a": 1.0, "b": -1.0}, True)
        before = copy.deepcopy(model)
        for value in (1e200, -1e308):
            with pytest.raises(ValueError):
                model.learn_one({"a": value, "b": 1.0}, False)
        assert model.mean == before.mean and model.v == before.v
        assert np.array_equal(model.covariance()[1], before.covariance()[1])
        assert np.array_equal(model._stats, before._stats)


def test_intervals_of_newton_are_too_narrow_and_those_of_adf_are_not():
    inside, losses = {"newton": [], "adf": []}, {"newton": [], "adf": []}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        w, X = rng.standard_normal(10), rng.standard_normal((100, 10))
        y = labels(rng, X @ w)
        for update in inside:
            model = Model(drift=None, update=update, intercept=False)
            losses[update].append(log_loss(probabilities(model, X, y), y))
            sd = np.sqrt(np.diag(model.covariance()[1]))
            inside[update].append(np.abs(w - np.array(list(model.mean.values()))) <= 1.6449 * sd)
    assert 0.87 <= np.mean(inside["adf"]) <= 0.93
    assert np.mean(inside["newton"]) < 0.85
    assert np.mean(losses["adf"]) < np.mean(losses["newton"]) - 0.003


class PlugIn(NaiveBayesLogistic):
    """The update with the plug-in probability sigm(a)."""

    def update_probability(self, a, p):
        return self.sigm(a)


def test_the_plug_in_probability_is_bad_under_inflation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 10))
    w = rng.standard_normal(10)
    y = labels(rng, X @ (4.0 * w / np.linalg.norm(w)))
    params = {"drift": "constant", "c": 1.0, "bounded": False}
    with np.errstate(all="ignore"):
        plug_in = log_loss(naive_probabilities(PlugIn(**params), X, y), y)
    assert plug_in > 4.0
    assert log_loss(probabilities(Model(**params), X, y), y) < 0.5


def test_the_probit_form_is_within_018_of_the_integral():
    """(2.17) against the integral (2.16) by 200-point Gauss-Hermite; the largest difference measured is .0171."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    worst = 0.0
    for s2 in np.logspace(-3, 2, 60):
        a = np.linspace(0.0, 6.0 * math.sqrt(1.0 + s2), 120)
        exact = (weights / weights.sum()) @ (1.0 / (1.0 + np.exp(-(a + math.sqrt(s2) * nodes[:, None]))))
        worst = max(worst, np.abs(1.0 / (1.0 + np.exp(-a / math.sqrt(1.0 + math.pi * s2 / 8.0))) - exact).max())
    assert 0.015 < worst < 0.0185


def test_monte_carlo_and_probit_agree_for_a_learned_posterior():
    """(2.16) by 100,000 draws of the weights for 200 rows; the largest difference measured is .0064."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((260, 6))
    w = rng.standard_normal(6)
    y = labels(rng, X @ (4.0 * w / np.linalg.norm(w)))
    model = Model(drift=None)
    model.learn_many(X[:60], y[:60])
    names, S = model.covariance()
    draws = rng.multivariate_normal([model.mean[name] for name in names], S, size=100_000)
    worst = 0.0
    for row in X[60:]:
        integral = np.mean(1.0 / (1.0 + np.exp(-(draws @ [1.0, *row]))))
        worst = max(worst, abs(integral - model.predict_proba_one(dict(enumerate(row.tolist())))[True]))
    assert 0.002 < worst < 0.018


def test_unlabelled_steps_do_not_inflate():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = labels(rng, X @ [2.0, -2.0, 1.0, 0.0])
    y[100:] = ~y[100:]
    model = Model()
    model.learn_many(X, y)
    x = dict(enumerate(X[0].tolist()))
    want, S = model.logit_dist(x), model.covariance()[1]
    for _ in range(10_000):
        model.learn_one(x, None)
    assert model.logit_dist(x) == want
    assert np.array_equal(model.covariance()[1], S)


def by_entropy(model, X, y, threshold):
    """Accuracy, and the share of labels asked for where the predictive entropy is above `threshold` bits."""
    hits = asked = 0
    for row, t in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        hits += model.predict_one(x) == t
        ask = model.entropy(x) > threshold * math.log(2.0)
        model.learn_one(x, t if ask else None)
        asked += ask
    return hits / len(y), asked / len(y)


def test_sampling_by_entropy_needs_a_model_that_notices_drift():
    results = {(drift, level): [] for drift in (None, "uncertainty") for level in (0.8, 0.95)}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((8000, 10))
        W = rng.standard_normal((2, 10))
        W *= 4.0 / np.linalg.norm(W, axis=1, keepdims=True)
        late = rng.random(8000) < 1.0 / (1.0 + np.exp(-(np.arange(8000) - 4000.0) / 160.0))
        y = labels(rng, (X * W[late.astype(int)]).sum(axis=1))
        for drift, level in results:
            results[drift, level].append(by_entropy(Model(drift=drift), X, y, level))
    mean = {key: np.mean(value, axis=0) for key, value in results.items()}
    for level, accuracy, share in ((0.8, 0.82, 0.26), (0.95, 0.80, 0.17)):
        assert mean["uncertainty", level][0] >= accuracy and mean["uncertainty", level][1] <= share
        # The plain model asks for more labels and is wrong more often.
        assert mean[None, level][0] < mean["uncertainty", level][0] - 0.02
        assert mean[None, level][1] > mean["uncertainty", level][1] + 0.05
