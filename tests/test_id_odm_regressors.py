"""krr and sq-svr: River's checks, exact unlearning, and the contract of the bookkeeping around the engines."""

import copy
import functools
import math
import pickle

import numpy as np
import pandas
import pytest
from river import metrics, utils
from river.checks import yield_checks

import onlinekit
from naive import interval_kkt, interval_solve, odm_kernel
from onlinekit_plugins.id_odm.krr import KernelRidgeRegressor
from onlinekit_plugins.id_odm.primal import PrimalEngine
from onlinekit_plugins.id_odm.sq_svr import SquaredSVRegressor

MODELS = {
    "krr": KernelRidgeRegressor(window=60),
    "krr-linear": KernelRidgeRegressor(kernel="linear", coef0=1.0, window=60),
    "krr-standardize": KernelRidgeRegressor(standardize=True, window=40),
    "sq-svr": SquaredSVRegressor(lam=10.0, window=60),
    "sq-svr-linear": SquaredSVRegressor(lam=10.0, kernel="linear", window=60),
}
CHECKS = [
    pytest.param(functools.partial(check, model.clone()), id=f"{name}-{i}-{check.__name__}")
    for name, model in MODELS.items()
    for i, check in enumerate(yield_checks(model))
    if check.__name__ not in model._unit_test_skips()
]


@pytest.mark.parametrize("check", CHECKS)
def test_river(check):
    check()


def stream(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    t = np.sin(X[:, 0]) + X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    return [(dict(zip("abcdefg", row.tolist(), strict=False)), float(v)) for row, v in zip(X, t, strict=True)]


def matrix(samples, d=3):
    return np.array([[x.get(name, 0.0) for name in "abcdefg"[:d]] for x, *_ in samples])


def reference(model, samples, points, d=3):
    """f of the naive solver at points, from (x, y) or (x, y, w) samples."""
    X, t = matrix(samples, d), np.array([s[1] for s in samples])
    w = np.array([s[2] if len(s) > 2 else 1.0 for s in samples])
    gamma = 1.0 / d if model.gamma is None else model.gamma
    edge = getattr(model, "epsilon", 0.0)
    b = interval_solve(odm_kernel(X, X, model.kernel, gamma, model.coef0), t - edge, t + edge, 1.0 / (model.lam * w))
    return odm_kernel(matrix(points, d), X, model.kernel, gamma, model.coef0) @ b


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("cls", [KernelRidgeRegressor, SquaredSVRegressor])
def test_learn_unlearn_relabel_equals_a_fresh_fit(cls, kernel):
    samples = stream()
    model = cls(lam=10.0, kernel=kernel, coef0=0.5)
    for i, (x, y) in enumerate(samples[:40]):
        model.learn_one(x, y, w=1.0 + i % 3, key=i)
    kept = {i: (*samples[i], 1.0 + i % 3) for i in range(40)}
    model.unlearn_many([3, 5, 7])
    model.unlearn(11)
    model.unlearn_one(*samples[20])
    model.relabel(13, -4.0)
    for i in (3, 5, 7, 11, 20):
        del kept[i]
    kept[13] = (kept[13][0], -4.0, kept[13][2])
    frame = pandas.DataFrame([x for x, _ in samples[40:]])
    made = model.update_many(frame, [y for _, y in samples[40:]], keys=range(40, 60), forget=[0, 1])
    assert made == list(range(40, 60))
    for i in (0, 1):
        del kept[i]
    kept.update({i: (*samples[i], 1.0) for i in range(40, 60)})
    points = stream(20, seed=5)
    want = reference(model, list(kept.values()), points)
    assert [model.predict_one(x) for x, _ in points] == pytest.approx(want.tolist(), abs=1e-8)
    assert list(model.predict_many(pandas.DataFrame([x for x, _ in points]))) == pytest.approx(want.tolist(), abs=1e-8)
    assert model.kkt_residual() <= 1e-9
    assert sorted(model.keys()) == sorted(kept) and model.n_samples == len(kept)
    assert isinstance(model._engine, PrimalEngine) == (kernel == "linear")
    assert model.objective() > 0.0 and model.stats()["exchanges"] > 0


def test_dual_coefficients_solve_the_ridge_system():
    samples = stream(25)
    model = KernelRidgeRegressor(lam=5.0, gamma=0.7)
    for i, (x, y) in enumerate(samples):
        model.learn_one(x, y, key=i)
    K, t = odm_kernel(matrix(samples), matrix(samples), gamma=0.7), np.array([y for _, y in samples])
    b = np.linalg.solve(K + np.eye(25) / 5.0, t)
    assert [model.dual_coef()[i] for i in range(25)] == pytest.approx(b.tolist(), abs=1e-10)
    assert interval_kkt(K, t, t, np.full(25, 0.2), b) < 1e-12


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_leave_one_out_predictions_are_exact_for_ridge(kernel):
    samples = stream(25)
    model = KernelRidgeRegressor(lam=5.0, kernel=kernel)
    for i, (x, y) in enumerate(samples):
        model.learn_one(x, y, key=i)
    told = model.loo_decision()
    for i in (0, 9, 24):
        without = model.clone()
        for j, (x, y) in enumerate(samples):
            if j != i:
                without.learn_one(x, y)
        assert told[i] == pytest.approx(without.predict_one(samples[i][0]), abs=1e-10)


@pytest.mark.parametrize("cls", [KernelRidgeRegressor, SquaredSVRegressor])
def test_window_is_the_last_samples(cls):
    samples = stream(50)
    model = cls(lam=10.0, window=12)
    for x, y in samples:
        model.learn_one(x, y)
    points = stream(10, seed=6)
    want = reference(model, samples[-12:], points)
    assert [model.predict_one(x) for x, _ in points] == pytest.approx(want.tolist(), abs=1e-8)
    rolling = utils.Rolling(cls, window_size=12, lam=10.0)
    for x, y in samples:
        rolling.update(x, y)
    assert [rolling.obj.predict_one(x) for x, _ in points] == pytest.approx(want.tolist(), abs=1e-8)


def test_linear_kernel_changes_engines_where_features_outnumber_samples():
    rng = np.random.default_rng(3)
    X, t = rng.normal(size=(200, 100)), rng.normal(size=200)
    model = SquaredSVRegressor(lam=2.0, kernel="linear")
    kinds = []
    for x, y in zip(X.tolist(), t.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), y)
        kinds.append(isinstance(model._engine, PrimalEngine))
    assert not kinds[20] and kinds[150]
    for key in model.keys()[:180]:
        model.unlearn(key)
    assert not isinstance(model._engine, PrimalEngine)
    K = X[180:] @ X[180:].T
    b = interval_solve(K, t[180:] - 0.1, t[180:] + 0.1, np.full(20, 0.5))
    assert model.decision_function(X[180:]) == pytest.approx((K @ b).tolist(), abs=1e-9)


@pytest.mark.parametrize("cls", [KernelRidgeRegressor, SquaredSVRegressor])
def test_bad_targets_values_weights_and_keys_change_nothing(cls):
    model = cls(window=50)
    for i, (x, y) in enumerate(stream(20)):
        model.learn_one(x, y, key=i)
    before = pickle.dumps(model)
    good = stream(1, seed=9)[0][0]
    for target in (None, "2.0", math.nan, math.inf):
        with pytest.raises((TypeError, ValueError), match="target y"):
            model.learn_one({**good, "new": 1.0}, target)
    with pytest.raises(ValueError, match="'a'"):
        model.learn_one({"a": math.nan, "new": 1.0}, 1.0)
    with pytest.raises(ValueError, match="weight"):
        model.learn_one(good, 1.0, w=-1.0)
    with pytest.raises(KeyError):
        model.unlearn("nobody")
    with pytest.raises(KeyError):
        model.unlearn_many([1, 2, "nobody"])
    with pytest.raises(ValueError, match="twice"):
        model.unlearn_many([1, 1])
    with pytest.raises(KeyError):
        model.unlearn_one(good, 123.0)
    with pytest.raises(KeyError):
        model.relabel("nobody", 1.0)
    with pytest.raises(ValueError, match="row 1"):
        model.learn_many(np.array([[1.0, 2.0], [np.inf, 1.0]]), [1.0, 2.0])
    assert pickle.dumps(model) == before
    for bad in ({"lam": 0.0}, {"kernel": "poly"}, {"gamma": -1.0}, {"window": 0}, {"tol": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            cls(**bad)
    with pytest.raises(ValueError, match="epsilon"):
        SquaredSVRegressor(epsilon=-0.1)
    skipping = cls(on_invalid="skip")
    skipping.learn_one(good, math.nan)
    assert skipping.n_skipped == 1 and skipping.n_samples == 0
    assert skipping.predict_one(good) == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_copies_go_on_bit_for_bit(name, tmp_path):
    model = MODELS[name].clone()
    for x, y in stream(50):
        model.learn_one(x, y)
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    onlinekit.save(model, tmp_path / "model")
    twins.append(onlinekit.load(tmp_path / "model"))
    for twin in twins:
        own = copy.deepcopy(model)
        for x, y in stream(40, seed=8):
            assert own.predict_one(x) == twin.predict_one(x)
            own.learn_one(x, y)
            twin.learn_one(x, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_unlearned_rows_are_gone_from_memory(kernel):
    model = KernelRidgeRegressor(kernel=kernel)
    for i, (x, y) in enumerate(stream(30)):
        model.learn_one(x, y, key=i)
    model.learn_one({"a": 1.2345678, "b": -7.654321, "c": 0.1234567}, 5.4321, key="secret")
    model.unlearn("secret")
    held = pickle.dumps(model) + b"".join(
        value.tobytes() for value in vars(model._engine).values() if isinstance(value, np.ndarray)
    )
    for number in (1.2345678, -7.654321, 0.1234567, 5.4321):
        assert np.float64(number).tobytes() not in held


def test_prequential_many_is_the_loop():
    X, t = matrix(stream(60)), [y for _, y in stream(60)]
    one, many = SquaredSVRegressor(lam=10.0, window=20), SquaredSVRegressor(lam=10.0, window=20)
    told = many.prequential_many(X, t)
    looped = []
    for row, y in zip(X.tolist(), t, strict=True):
        x = dict(enumerate(row))
        looped.append(one.predict_one(x))
        one.learn_one(x, y)
    assert told.dtype == np.float64 and told.tolist() == looped


@pytest.mark.parametrize("name", MODELS)
def test_they_learn(name):
    error, still = metrics.MAE(), metrics.MAE()
    model = MODELS[name].clone()
    for x, y in stream(300, seed=4):
        error.update(y, model.predict_one(x))
        still.update(y, 0.0)
        model.learn_one(x, y)
    assert error.get() < 0.6 * still.get()
