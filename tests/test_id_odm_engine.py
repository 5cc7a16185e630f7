"""The dual engine against the reference solver: histories, edges, forced fallbacks and rebuilds, drift."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import interval_kkt, interval_solve, odm_intervals, odm_kernel
from onlinekit_plugins.id_odm.classifier import ODMClassifier
from onlinekit_plugins.id_odm.engine import Engine
from onlinekit_plugins.id_odm.kernels import LINEAR, MEMBER, NOISE, RBF, SIZE, WAITING, T
from onlinekit_plugins.id_odm.packed_kernels import unpack
from onlinekit_plugins.id_odm.primal import PrimalEngine

GOLDEN = json.loads((Path(__file__).parent / "golden" / "id_odm.json").read_text())["cases"]
NONE = np.zeros(0, dtype=np.int64)


def intervals(y, theta, lam):
    lo, hi, il = odm_intervals(np.asarray(y, dtype=float), theta, lam)
    return lo[None, :], hi[None, :], il


def hinge(y, lam):
    y = np.asarray(y, dtype=float)
    return np.where(y > 0, 1.0, -np.inf)[None, :], np.where(y > 0, np.inf, -1.0)[None, :], np.full(len(y), 1.0 / lam)


class Store:
    """An engine and, beside it, the samples it should hold: slot -> (x, lo, hi, il)."""

    def __init__(self, kind, d, gamma=1.0, coef0=0.0, outputs=1, force=""):
        self.engine = Engine(kind, gamma, coef0, d, outputs)
        self.engine.force = force
        self.held = {}

    def update(self, X, lo, hi, il, forget=NONE):
        forget = np.asarray(forget, dtype=np.int64)
        slots = self.engine.update(X, lo, hi, il, forget)
        for i in forget.tolist():
            del self.held[i]
        for a, i in enumerate(slots.tolist()):
            self.held[i] = (X[a].copy(), lo[:, a].copy(), hi[:, a].copy(), il[a])
        return slots

    def check(self, tolerance=1e-8):
        e = self.engine
        slots = e.live()
        assert slots.tolist() == sorted(self.held) and e.n == len(self.held)
        assert e.kkt() <= tolerance
        if not self.held:
            assert not e.coef().any()
            return
        X, lo, hi, il = (np.array(column) for column in zip(*(self.held[i] for i in slots.tolist()), strict=True))
        K = odm_kernel(X, X, "rbf" if e.kind == RBF else "linear", e.gamma, e.coef0)
        for c in range(e.outputs):
            b = interval_solve(K, lo[:, c], hi[:, c], il)
            assert np.abs(e.values()[c, slots] - K @ b).max() <= tolerance
            assert np.abs(e.decision(X)[:, c] - K @ b).max() <= tolerance
            assert np.abs(e.coef()[c, slots] - b).max() <= tolerance * max(1.0, 1.0 / il.min())


def random_rows(rng, held, m, d):
    """Rows and labels; some duplicate stored ones, with a random label, or lie close to them."""
    X, y = rng.normal(size=(m, d)), rng.choice([-1.0, 1.0], m)
    for a in range(m):
        if held and rng.random() < 0.25:
            X[a] = held[int(rng.choice(list(held)))][0] + rng.choice([0.0, 1e-3]) * rng.normal(size=d)
        else:
            y[a] = np.sign(X[a, 0] + 0.4 * rng.normal())
    return X, y


def mixed(store, d, lam, theta, steps, seed, size=40, loss="odm", every=1, tolerance=1e-8):
    """Random batches in and out, with clears; the optimality of every state and, now and then, the solution."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for t in range(steps):
        m = int(rng.integers(0, 6))
        out = len(store.held) if rng.random() < 0.01 else min(len(store.held), int(rng.integers(0, 6)))
        if len(store.held) < size and out < len(store.held):
            out = min(out, 2)
        forget = rng.choice(list(store.held), out, replace=False) if out else []
        X, y = random_rows(rng, store.held, m, d)
        store.update(X, *(intervals(y, theta, lam) if loss == "odm" else hinge(y, lam)), forget)
        if t % every == 0:
            worst = max(worst, store.engine.kkt())
            assert worst <= tolerance
        if t % 50 == 49:
            store.check(tolerance)
    store.check(tolerance)
    return worst


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden(case):
    lam, theta = case["lam"], case["theta"]
    engine = Engine(RBF if case["kernel"] == "rbf" else LINEAR, case["gamma"] or 0.0, 0.0, case["dim"])
    slot = {}
    for op in case["ops"]:
        X = np.array([s["x"] for s in op["insert"]], dtype=float).reshape(-1, case["dim"])
        gone = np.array([slot.pop(key) for key in op["delete"]], dtype=np.int64)
        new = engine.update(X, *intervals([s["y"] for s in op["insert"]], theta, lam), gone)
        slot.update(zip([s["key"] for s in op["insert"]], new.tolist(), strict=True))
        want = op["expect"]
        at = [slot[key] for key in want["keys"]]
        assert len(at) == engine.n
        assert np.abs(engine.values()[0, at] - want["f"]).max(initial=0.0) <= 1e-8
        assert np.abs(np.abs(engine.coef()[0, at]) - np.abs(want["alpha"])).max(initial=0.0) <= 1e-8 * max(1.0, lam)
        assert engine.decision(np.array(case["x_test"]))[:, 0] == pytest.approx(want["f_test"], abs=1e-8)
        assert engine.objective()[0] == pytest.approx(want["objective"], rel=1e-8, abs=1e-10)
        assert int(engine.C[0, SIZE]) == want["n_sv"] == np.count_nonzero(engine.coef())


@pytest.mark.parametrize("kind", [LINEAR, RBF])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
def test_random_histories(kind, lam, theta):
    mixed(Store(kind, 4, 0.25), 4, lam, theta, 250, seed=int(lam) + kind)


@pytest.mark.parametrize("kind", [LINEAR, RBF])
@pytest.mark.parametrize("lam", [1.0, 100.0])
def test_half_lines(kind, lam):
    mixed(Store(kind, 3, 0.5, coef0=1.0), 3, lam, 0.0, 250, seed=7, loss="hinge")


@pytest.mark.parametrize("force", ["fallback", "rebuild"])
@pytest.mark.parametrize("kind", [LINEAR, RBF])
@pytest.mark.parametrize("lam", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_forced_ways_are_as_exact(force, kind, lam, theta):
    store = Store(kind, 4, 0.25, force=force)
    mixed(store, 4, lam, theta, 120, seed=11)
    # At theta = 0 every sample is in S whatever its sign, so that nothing is left for the fallback to do.
    if force == "rebuild" or theta > 0.0:
        assert store.engine.counts[force + "s"] > 20


def test_fallback_is_reached_without_force():
    # Few dimensions and a weak regularisation: block pivoting stalls now and then.
    store = Store(LINEAR, 4)
    mixed(store, 4, 1000.0, 0.9, 1500, seed=1000)
    assert store.engine.counts["fallbacks"] > 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**16)), min_size=1, max_size=8),
    st.sampled_from([1e-3, 1.0, 50.0, 1000.0]),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    st.sampled_from([LINEAR, RBF]),
)
def test_any_history_is_a_fresh_fit(steps, lam, theta, kind):
    store = Store(kind, 2, 1.0)
    for m, out, seed in steps:
        rng = np.random.default_rng(seed)
        X, y = random_rows(rng, store.held, m, 2)
        X[rng.random(X.shape) < 0.1] = 0.0
        forget = rng.choice(list(store.held), min(out, len(store.held)), replace=False) if store.held else []
        store.update(X, *intervals(y, theta, lam), forget)
        store.check()


@pytest.mark.parametrize("m", [33, 65, 200])
def test_batches_beyond_a_block_and_beyond_a_third(m):
    rng = np.random.default_rng(m)
    store = Store(RBF, 3, 0.3)
    X, y = random_rows(rng, {}, 150, 3)
    first = store.update(X, *intervals(y, 0.1, 10.0))
    X, y = random_rows(rng, store.held, m, 3)
    store.update(X, *intervals(y, 0.1, 10.0), first[: min(m, 149)])
    store.check()
    store.update(X[:0], *intervals(y[:0], 0.1, 10.0), store.engine.live()[::2])
    store.check()


def test_capacity_grows_inside_a_batch():
    rng = np.random.default_rng(0)
    store = Store(RBF, 2)
    X, y = random_rows(rng, {}, 64, 2)
    store.update(X[:62], *intervals(y[:62], 0.1, 5.0))
    assert len(store.engine.alive) == 64
    store.update(X[60:], *intervals(y[60:], 0.1, 5.0))
    assert len(store.engine.alive) > 64
    store.check()


def test_changes_of_targets_and_weights():
    rng = np.random.default_rng(3)
    store = Store(RBF, 3, 0.5)
    X, y = random_rows(rng, {}, 50, 3)
    slots = store.update(X, *intervals(y, 0.2, 20.0))
    for t in range(40):
        at = rng.choice(slots, 3, replace=False)
        lo, hi, il = intervals(rng.choice([-1.0, 1.0], 3), 0.2, 20.0)
        if t % 2:
            il = il / rng.uniform(0.2, 3.0, 3)
        store.engine.retarget(at, lo, hi, il)
        for a, i in enumerate(at.tolist()):
            store.held[i] = (store.held[i][0], lo[:, a], hi[:, a], il[a])
        store.check()


def test_outputs_come_and_go():
    rng = np.random.default_rng(4)
    store = Store(RBF, 3, 0.5, outputs=2)
    X, y = random_rows(rng, {}, 40, 3)
    one, two = intervals(y, 0.1, 10.0), intervals(-y, 0.3, 10.0)
    store.update(X, np.concatenate((one[0], two[0])), np.concatenate((one[1], two[1])), one[2])
    store.check()
    three = intervals(rng.choice([-1.0, 1.0], 40), 0.2, 10.0)
    at = store.engine.live()
    store.engine.add_output(three[0][0, at], three[1][0, at], three[2])
    for i in at.tolist():
        x, lo, hi, il = store.held[i]
        store.held[i] = (x, np.append(lo, three[0][0, i]), np.append(hi, three[1][0, i]), il)
    store.check()
    store.engine.drop_output(0)
    store.held = {i: (x, lo[1:], hi[1:], il) for i, (x, lo, hi, il) in store.held.items()}
    store.check()


def test_samples_of_weight_zero_have_no_say():
    rng = np.random.default_rng(5)
    X, y = random_rows(rng, {}, 30, 2)
    lo, hi, il = intervals(y, 0.1, 10.0)
    silent = np.arange(0, 30, 3)
    lo[0, silent], hi[0, silent], il[silent] = -np.inf, np.inf, 1.0
    store = Store(RBF, 2)
    store.update(X, lo, hi, il)
    store.check()
    assert not store.engine.coef()[0, silent].any()


@pytest.mark.parametrize("theta", [0.0, 0.1])
def test_copies_of_a_point_with_both_labels(theta):
    store = Store(RBF, 2)
    X, y = np.tile([[0.3, -0.7]], (10, 1)), np.array([1.0, -1.0] * 5)
    slots = store.update(X, *intervals(y, theta, 100.0))
    store.check()
    for i in slots.tolist():
        store.update(X[:0], *intervals([], theta, 100.0), [i])
        store.check()


def test_the_zero_vector():
    store = Store(LINEAR, 2)
    store.update(np.zeros((1, 2)), *intervals([1.0], 0.1, 7.0))
    assert store.engine.coef()[0, 0] == pytest.approx(7.0 * 0.9)  # lambda (1 - theta), k = 0
    store.check()


def test_nothing_of_a_deleted_sample_remains():
    rng = np.random.default_rng(6)
    store = Store(RBF, 2)
    X, y = random_rows(rng, {}, 30, 2)
    X[7] = 1234.5678
    slots = store.update(X, *intervals(y, 0.1, 10.0))
    store.update(X[:0], *intervals([], 0.1, 10.0), slots[[7, 29]])
    e = store.engine
    for i in slots[[7, 29]]:
        assert not e.X[i].any() and not e.K[i].any() and not e.K[:, i].any() and not e.V[:, :, i].any()
    assert np.array([1234.5678]).tobytes() not in pickle.dumps(e.get_state())
    store.check()


def test_a_copy_goes_on_bit_for_bit():
    rng = np.random.default_rng(8)
    store = Store(RBF, 3, 0.5)
    mixed(store, 3, 50.0, 0.1, 60, seed=8)
    twin = Engine.from_state(pickle.loads(pickle.dumps(store.engine.get_state())))
    for _ in range(20):
        X, y = random_rows(rng, store.held, 3, 3)
        forget = store.engine.live()[:2]
        slots = store.update(X, *intervals(y, 0.1, 50.0), forget)
        assert twin.update(X, *intervals(y, 0.1, 50.0), forget).tolist() == slots.tolist()
        assert np.array_equal(twin.coef(), store.engine.coef())
    assert twin.counts == store.engine.counts


def test_leave_one_out_values():
    rng = np.random.default_rng(9)
    store = Store(RBF, 2, 1.0)
    X, y = random_rows(rng, {}, 60, 2)
    slots = store.update(X, *intervals(y, 0.3, 5.0))
    loo = store.engine.loo()[0]
    f = store.engine.values()[0]
    off = []
    for a, i in enumerate(slots.tolist()):
        rest = np.delete(np.arange(60), a)
        K = odm_kernel(X, X)
        lo, hi, il = odm_intervals(y, 0.3, 5.0)
        b = interval_solve(K[np.ix_(rest, rest)], lo[rest], hi[rest], il[rest])
        off.append(abs(K[a, rest] @ b - loo[i]))
        if store.engine.coef()[0, i] == 0.0:
            assert loo[i] == pytest.approx(f[i], abs=1e-12)
    assert np.median(off) < 1e-8 and max(off) < 0.2


def test_memory_is_announced(monkeypatch):
    store = Store(RBF, 2)
    X, y = random_rows(np.random.default_rng(1), {}, 64, 2)
    store.update(X, *intervals(y, 0.1, 1.0))
    before = pickle.dumps(store.engine.get_state())
    monkeypatch.setattr("onlinekit_plugins.id_odm.memory.available_bytes", lambda: 10_000)
    with pytest.raises(MemoryError, match="65 samples need .* MiB and 0 MiB are available; nothing was changed"):
        store.engine.update(X[:1], *intervals(y[:1], 0.1, 1.0))
    assert pickle.dumps(store.engine.get_state()) == before


def test_window_of_machine_memory_is_read():
    from onlinekit_plugins.id_odm.memory import available_bytes

    free = available_bytes()
    assert free is None or free > 2**20


def test_a_large_scale_asks_for_no_more_than_float64_has():
    # k(x, x) = 1e6 and lambda = 1000: rounding of f alone is beyond tol, so the bound follows the rounding.
    store = Store(LINEAR, 3)
    rng = np.random.default_rng(2)
    X, y = random_rows(rng, {}, 40, 3)
    store.update(1000.0 * X, *intervals(y, 0.1, 1000.0))
    assert 1e-8 < store.engine.kkt() < 3.0 * store.engine.C[0, NOISE] < 1e-4


@pytest.mark.parametrize("kind", [LINEAR, RBF])
def test_agrees_with_the_reference_optimality(kind):
    rng = np.random.default_rng(12)
    X, y = random_rows(rng, {}, 50, 3)
    engine = Engine(kind, 0.4, 0.0, 3)
    slots = engine.update(X, *intervals(y, 0.1, 100.0))
    K = odm_kernel(X, X, "rbf" if kind == RBF else "linear", 0.4)
    lo, hi, il = odm_intervals(y, 0.1, 100.0)
    assert interval_kkt(K, lo, hi, il, engine.coef()[0, slots]) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LINEAR, RBF])
@pytest.mark.parametrize("lam", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
def test_ten_thousand_mixed_operations(kind, lam, theta):
    # About 2.5 samples in and out an operation: each configuration is 560, all 18 are 10^4 operations.
    mixed(Store(kind, 4, 0.25), 4, lam, theta, 560, seed=int(lam) + 17)


@pytest.mark.slow
def test_drift_with_a_persistent_core():
    # 150 samples stay, 50 change all the time: errors of P add up most here (linear, d = 50, lambda = 1000).
    rng = np.random.default_rng(20)
    d, lam = 50, 1000.0
    engine = Engine(LINEAR, 0.0, 0.0, d)
    X = rng.normal(size=(10_200, d)) / np.sqrt(d)
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    slots = engine.update(X[:200], *intervals(y[:200], 0.1, lam)).tolist()
    core, churning = slots[:150], slots[150:]
    worst = 0.0
    for t in range(200, 10_200):
        new = engine.update(X[t : t + 1], *intervals(y[t : t + 1], 0.1, lam), np.array([churning.pop(0)]))
        churning.append(int(new[0]))
        if t % 20 == 0:
            worst = max(worst, engine.kkt())
    assert len(core) == 150 and engine.n == 200
    assert worst <= 1e-8


def test_primal_and_dual_agree():
    rng = np.random.default_rng(13)
    X, y = random_rows(rng, {}, 60, 4)
    dual, primal = Engine(LINEAR, 0.0, 0.5, 4), PrimalEngine(0.5, 4)
    for engine in (dual, primal):
        slots = engine.update(X, *intervals(y, 0.1, 50.0), NONE)
        engine.update(X[:0], *intervals([], 0.1, 50.0), slots[::4])
    assert np.abs(dual.decision(X) - primal.decision(X)).max() < 1e-9
    assert dual.objective() == pytest.approx(primal.objective(), rel=1e-9)


def test_terms_of_the_inverse_wait_in_large_models():
    # From 512 members of S on, changes of P are collected: everything must see P with them.
    rng = np.random.default_rng(14)
    X, y = random_rows(rng, {}, 700, 4)
    store = Store(RBF, 4, 0.5, outputs=2)

    def sides(at):
        one, two = intervals(y[at], 0.01, 1.0), intervals(-y[at], 0.05, 1.0)
        return np.concatenate((one[0], two[0])), np.concatenate((one[1], two[1])), one[2]

    slots = store.update(X[:600], *sides(slice(600))).tolist()
    e, waited = store.engine, 0
    for t in range(600, 640):
        slots.append(int(store.update(X[t : t + 1], *sides(slice(t, t + 1)), [slots.pop(0)])[0]))
        waited += int((e.C[:, WAITING] > 0).all())
        assert e.kkt() <= 1e-9
    assert e.C[:, SIZE].min() > 512 and waited > 10 and (e.C[:, WAITING] > 0).any()
    store.check()
    K, loo, at = e.K[: e.top, : e.top], e.loo(), e.live()
    for c in range(2):  # the diagonal of the inverse
        S = e.M[c, MEMBER, : int(e.C[c, SIZE])]
        inverse = np.linalg.inv(K[np.ix_(S, S)] + 1.0 * np.eye(len(S)))
        b = e.coef()[c, S]
        assert np.abs(loo[c, S] - (e.V[c, T, S] - b / inverse.diagonal())).max() <= 1e-9
    twin = Engine.from_state(pickle.loads(pickle.dumps(e.get_state())))
    for engine in (e, twin):
        lo, hi, il = sides(np.arange(3))
        engine.retarget(at[:3], -hi, -lo, il)
        engine.update(X[640:641], *sides(slice(640, 641)), at[10:11])
    assert np.array_equal(e.coef(), twin.coef()) and e.kkt() <= 1e-9
    assert e.C[:, WAITING].any() and all(U.any() for U in e.U)
    e.fold()
    assert not e.C[:, WAITING].any() and not any(U.any() for U in e.U)
    for c in range(2):
        S, P = e.M[c, MEMBER, : int(e.C[c, SIZE])], np.zeros((int(e.C[c, SIZE]),) * 2)
        unpack(e.P[c], P)
        assert np.abs(P @ (e.K[np.ix_(S, S)] + 1.0 * np.eye(len(S))) - np.eye(len(S))).max() <= 1e-9
    e.update(X[:0], *sides(slice(0, 0)), e.live())
    assert e.n == 0 and not any(U.any() for U in e.U) and not any(P.any() for P in e.P)


def test_an_explicit_deletion_leaves_nothing_waiting():
    rng = np.random.default_rng(15)
    X, y = random_rows(rng, {}, 620, 4)
    model = ODMClassifier(gamma=0.5, theta=0.01, window=600)
    model.update_many(X[:600], y[:600] > 0, keys=range(600))
    for t in range(600, 620):
        model.learn_one(dict(enumerate(X[t])), y[t] > 0, key=t)
    assert model._engine.C[0, WAITING] > 0
    model.unlearn(300)
    assert model._engine.C[0, WAITING] == 0 and not model._engine.U[0].any() and model.kkt_residual() <= 1e-9
