"""Outputs whose intervals are all points (theta = 0) share one inverse: exact, and parted when that ends."""

import pickle

import numpy as np
import pytest
from test_id_odm_engine import NONE, Store, random_rows

from onlinekit_plugins.id_odm import ODMClassifier
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, RBF, WAITING


def targets(rng, m, outputs, lam, theta=0.0):
    """Intervals (outputs, m) around random labels, and il (m,)."""
    y = rng.choice([-1.0, 1.0], (outputs, m))
    return y - theta, y + theta, np.full(m, 1.0 / lam)


def one_inverse(engine):
    return all(P is engine.P[0] for P in engine.P) and all(U is engine.U[0] for U in engine.U)


@pytest.mark.parametrize("force", ["", "fallback", "rebuild"])
@pytest.mark.parametrize("lam", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kind", [LINEAR, RBF])
def test_histories(kind, lam, force):
    rng = np.random.default_rng(int(lam) + kind)
    store = Store(kind, 3, 0.5, outputs=4, force=force)
    for step in range(60):
        m = int(rng.choice([0, 1, 2, 5, 80], p=[0.2, 0.35, 0.2, 0.2, 0.05]))
        held = list(store.held)
        out = len(held) if rng.random() < 0.03 else min(len(held), int(rng.integers(0, 5)))
        X, _ = random_rows(rng, store.held, m, 3)
        store.update(X, *targets(rng, m, 4, lam), rng.choice(held, out, replace=False) if out else [])
        if step % 7 == 3 and store.held:  # other labels
            at = rng.choice(list(store.held), 1)
            lo, hi, il = targets(rng, 1, 4, lam)
            store.engine.retarget(at, lo, hi, il)
            store.held[int(at[0])] = (store.held[int(at[0])][0], lo[:, 0], hi[:, 0], il[0])
        assert store.engine.shared and one_inverse(store.engine)
        store.check()
    assert store.engine.counts[force + "s" if force else "blocks"] > 5


def test_it_costs_one_inverse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    engine = Engine(RBF, 0.5, 0.0, 3, 10)
    engine.update(X, *targets(rng, 200, 10, 1.0), NONE)
    wide = Engine(RBF, 0.5, 0.0, 3, 10)
    wide.update(X, *targets(rng, 200, 10, 1.0, theta=0.1), NONE)
    assert one_inverse(engine) and not any(wide.P[0] is P for P in wide.P[1:])
    assert engine.bytes_needed(400) < wide.bytes_needed(400)
    assert len(pickle.dumps(engine.get_state())) < len(pickle.dumps(wide.get_state())) - 9 * 4 * 200**2
    before = engine.counts["exchanges"]
    engine.update(X[:1], *targets(rng, 1, 10, 1.0), engine.live()[:1])
    assert engine.counts["exchanges"] == before + 2  # one in, one out, for all ten


def test_parting_and_sharing_again():
    rng = np.random.default_rng(1)
    store = Store(RBF, 3, 0.5, outputs=3)
    X, _ = random_rows(rng, {}, 60, 3)
    slots = store.update(X[:50], *targets(rng, 50, 3, 20.0))
    assert store.engine.shared
    lo, hi, il = targets(rng, 1, 3, 5.0)  # another weight: a sample leaves and comes back
    store.engine.retarget(slots[:1], lo, hi, il)
    store.held[int(slots[0])] = (X[0], lo[:, 0], hi[:, 0], il[0])
    assert not store.engine.shared and not one_inverse(store.engine)
    store.check()
    store.update(X[50:], *targets(rng, 10, 3, 20.0), slots[5:9])
    store.check()
    store.update(X[:0], *targets(rng, 0, 3, 20.0), store.engine.live())
    assert store.engine.points and one_inverse(store.engine)
    store.update(X[:30], *targets(rng, 30, 3, 20.0))
    store.update(X[30:31], *targets(rng, 1, 3, 20.0, theta=0.2))  # no point: each goes its own way from here
    assert not store.engine.shared
    store.update(X[31:40], *targets(rng, 9, 3, 20.0, theta=0.2), store.engine.live()[:3])
    store.check()


def test_parted_inverses_stay_apart():
    rng = np.random.default_rng(5)
    store = Store(RBF, 3, 0.5, outputs=3)
    X, _ = random_rows(rng, {}, 60, 3)
    store.update(X[:50], *targets(rng, 50, 3, 20.0, theta=0.5))
    for t in range(50, 60):
        lo, hi, il = targets(rng, 1, 3, 20.0, theta=0.5)
        at = np.array([min(store.held)])
        store.engine.retarget(at, lo, hi, il)
        store.held[int(at[0])] = (store.held[int(at[0])][0], lo[:, 0], hi[:, 0], il[0])
        assert not any(np.array_equal(store.engine.P[0], P) for P in store.engine.P[1:])
        store.check()
        store.update(X[t : t + 1], *targets(rng, 1, 3, 20.0, theta=0.5), list(store.held)[1:4])
        store.check()


def test_outputs_come_and_go():
    rng = np.random.default_rng(2)
    store = Store(RBF, 3, 0.5, outputs=1)
    X, _ = random_rows(rng, {}, 40, 3)
    store.update(X, *targets(rng, 40, 1, 20.0))
    for theta in (0.0, 0.0, 0.1):
        lo, hi, il = targets(rng, 40, 1, 20.0, theta)
        store.engine.add_output(lo[0], hi[0], il)
        for a, i in enumerate(sorted(store.held)):
            x, low, high, w = store.held[i]
            store.held[i] = (x, np.append(low, lo[0, a]), np.append(high, hi[0, a]), w)
        assert store.engine.shared == (theta == 0.0)
        store.check()
        if theta == 0.0 and store.engine.outputs == 3:  # the one that exchanges goes
            store.engine.drop_output(0)
            store.held = {i: (x, a[1:], b[1:], w) for i, (x, a, b, w) in store.held.items()}
            store.update(X[:2], *targets(rng, 2, 2, 20.0), [3])
            store.update(X[:0], *targets(rng, 0, 2, 20.0), [max(store.held)])
            lo, hi, il = targets(rng, 1, 2, 20.0)
            store.update(X[:1], lo, hi, il, [max(store.held)])
            store.check()
            assert store.engine.n == 40


def test_samples_without_a_say_and_large_models():
    rng = np.random.default_rng(3)
    store = Store(RBF, 4, 0.5, outputs=3)
    X, _ = random_rows(rng, {}, 620, 4)
    lo, hi, il = targets(rng, 620, 3, 1.0)
    silent = np.arange(0, 600, 50)
    lo[:, silent], hi[:, silent], il[silent] = -np.inf, np.inf, 1.0
    slots = store.update(X[:600], lo[:, :600], hi[:, :600], il[:600]).tolist()
    for t in range(600, 615):
        at = slice(t, t + 1)
        slots.append(int(store.update(X[at], lo[:, at], hi[:, at], il[at], [slots.pop(0)])[0]))
        assert store.engine.kkt() <= 1e-9
    e = store.engine
    assert (e.C[:, WAITING] > 0).all() and one_inverse(e) and not e.coef()[:, slots[35]].any()
    twin = Engine.from_state(pickle.loads(pickle.dumps(e.get_state())))
    assert one_inverse(twin)
    for engine in (e, twin):
        for t in range(615, 620):
            at = slice(t, t + 1)
            engine.update(X[at], lo[:, at], hi[:, at], il[at], engine.live()[:1])
        assert engine.kkt() <= 1e-9
    assert np.array_equal(e.coef(), twin.coef())
    values, loo = e.values(), e.loo()
    e.fold()
    assert np.abs(e.loo() - loo)[:, e.live()].max() <= 1e-9 and np.array_equal(e.values(), values)


def test_a_learner_of_three_classes():
    rng = np.random.default_rng(4)
    X, names = rng.normal(size=(80, 2)), np.array(["red", "green", "blue"])[rng.integers(0, 3, 80)].tolist()
    model = ODMClassifier(lam=20.0, theta=0.0, gamma=0.5, classes=None)
    for t in range(80):
        model.learn_one(dict(enumerate(X[t])), names[t], key=t)
    model.unlearn_many([3, 40])
    model.relabel(5, "blue" if names[5] != "blue" else "red")
    names[5] = "blue" if names[5] != "blue" else "red"
    rest = [t for t in range(80) if t not in (3, 40)]
    assert model._engine.shared and one_inverse(model._engine) and model.kkt_residual() <= 1e-9
    f = model.decision_function(X)
    for c, name in enumerate(model.predict_proba_one({})):
        one = ODMClassifier(lam=20.0, theta=0.0, gamma=0.5)
        one.update_many(X[rest], [names[t] == name for t in rest])
        assert np.abs(f[:, c] - one.decision_function(X)).max() <= 1e-8
    model.unlearn_many([t for t in rest if names[t] == "red"])
    assert model._engine.outputs == 1 and model.kkt_residual() <= 1e-9
