"""The explicit-feature engine against the reference solver: histories, edges, forced fallbacks and rebuilds."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import interval_kkt, interval_solve, odm_intervals
from onlinekit_plugins.id_odm.primal import PrimalEngine

GOLDEN = json.loads((Path(__file__).parent / "golden" / "id_odm.json").read_text())["cases"]
NONE = np.zeros(0, dtype=np.int64)


def intervals(y, theta, lam):
    lo, hi, il = odm_intervals(np.asarray(y, dtype=float), theta, lam)
    return lo[None, :], hi[None, :], il


class Store:
    """An engine and, beside it, the samples it should hold: slot -> (x, lo, hi, il)."""

    def __init__(self, d, outputs=1, coef0=0.0, force=""):
        self.engine = PrimalEngine(coef0, d, outputs)
        self.engine.force = force
        self.held = {}

    def update(self, X, lo, hi, il, forget=NONE):
        forget = np.asarray(forget, dtype=np.int64)
        slots = self.engine.update(X, lo, hi, il, forget)
        for i in forget:
            del self.held[int(i)]
        for k, i in enumerate(slots):
            self.held[int(i)] = (X[k].copy(), lo[:, k].copy(), hi[:, k].copy(), il[k])
        return slots

    def check(self, tolerance=1e-8):
        e = self.engine
        slots = e.live()
        assert slots.tolist() == sorted(self.held) and e.n == len(self.held)
        assert e.kkt() <= tolerance
        if not self.held:
            assert not e.weights().any()
            return
        X, lo, hi, il = (np.array(column) for column in zip(*(self.held[i] for i in slots.tolist()), strict=True))
        assert np.array_equal(e.rows(slots), X)
        K = X @ X.T + e.coef0
        for c in range(e.outputs):
            b = interval_solve(K, lo[:, c], hi[:, c], il)
            assert np.abs(e.values()[c, slots] - K @ b).max() <= tolerance
            assert np.abs(e.decision(X)[:, c] - K @ b).max() <= tolerance
            assert np.abs(e.coef()[c, slots] - b).max() <= tolerance * max(1.0, 1.0 / il.min())
        self.check_heap()

    def check_heap(self):
        e = self.engine
        for c in range(e.outputs):
            n = e._count[c, 0]
            heap, keys = e._heap[c, :n], e._spec[c, e._heap[c, :n], 4]
            assert sorted(heap.tolist()) == e.live().tolist()
            assert np.array_equal(e._place[c, heap, 1], np.arange(n))
            assert all(keys[(k - 1) // 2] <= keys[k] for k in range(1, n))


def churn(d, lam, theta, steps, seed, force="", cap=60, every=1):
    """Random batches in and out together: exact and near duplicates with random labels, full clears."""
    rng = np.random.default_rng(seed)
    store = Store(d, force=force)
    for step in range(steps):
        slots = store.engine.live()
        m, q = int(rng.integers(0, 6)), min(len(slots), int(rng.integers(0, 6)) if len(slots) < cap else 6)
        q = len(slots) if rng.random() < 0.01 else q
        X = rng.normal(size=(m, d))
        for k in range(m if len(slots) else 0):
            chance = rng.random()
            if chance < 0.25:
                X[k] = store.engine.rows(rng.choice(slots, 1))[0] + (0.0 if chance < 0.15 else 1e-3) * rng.normal(
                    size=d
                )
        store.update(X, *intervals(rng.choice([-1.0, 1.0], m), theta, lam), rng.choice(slots, q, replace=False))
        if step % every == 0:
            store.check()
    return store


@pytest.mark.parametrize("force", ["", "fallback", "rebuild"])
@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("d", [1, 4, 12])
def test_any_history_is_the_fresh_solution(d, lam, theta, force):
    counts = churn(d, lam, theta, 90, seed=d, force=force, every=3).engine.counts
    if force == "fallback":
        assert counts["fallbacks"] > 60 and counts["blocks"] == 0
    if force == "rebuild":
        assert counts["rebuilds"] > 60


@pytest.mark.parametrize("case", [c for c in GOLDEN if c["kernel"] == "linear"], ids=lambda case: case["name"])
def test_golden_values(case):
    lam, theta = case["lam"], case["theta"]
    engine, slot = PrimalEngine(0.0, case["dim"]), {}
    for op in case["ops"]:
        X = np.array([s["x"] for s in op["insert"]], dtype=float).reshape(-1, case["dim"])
        forget = np.array([slot.pop(key) for key in op["delete"]], dtype=np.int64)
        y = np.array([s["y"] for s in op["insert"]], dtype=float)
        slots = engine.update(X, *intervals(y, theta, lam), forget)
        slot.update({s["key"]: (int(i)) for s, i in zip(op["insert"], slots, strict=True)})
        want = op["expect"]
        at = [slot[key] for key in want["keys"]]
        assert engine.values()[0, at] == pytest.approx(want["f"], abs=1e-8)
        signs = np.sign(np.array(want["f"]) / np.where(np.array(want["margin"]) == 0, 1, np.array(want["margin"])))
        assert engine.coef()[0, at] * signs == pytest.approx(want["alpha"], abs=1e-8 * max(1.0, lam))
        assert engine.decision(np.array(case["x_test"], dtype=float))[:, 0] == pytest.approx(want["f_test"], abs=1e-8)
        assert engine.objective()[0] == pytest.approx(want["objective"], rel=1e-9, abs=1e-12)
        assert int((engine.coef()[0] != 0).sum()) == want["n_sv"]


def test_batch_that_the_published_algorithm_gets_wrong():
    engine = PrimalEngine(0.0, 1)
    engine.update(np.array([[0.1], [1.2]]), *intervals([1, 1], 0.1, 10.0), NONE)
    assert engine.coef()[0] == pytest.approx([8.18181818, 0.0], abs=1e-8)
    assert engine.values()[0] == pytest.approx([0.08181818, 0.98181818], abs=1e-8)


finite = st.floats(-3, 3, allow_nan=False, width=16)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(finite, min_size=2, max_size=2), st.sampled_from([-1.0, 1.0]), st.integers(0, 3)),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([0.01, 1.0, 100.0]),
    st.sampled_from([0.0, 0.25, 0.75]),
)
def test_property_history_does_not_matter(ops, lam, theta):
    store = Store(2)
    for x, y, oldest in ops:
        store.update(np.array([x], dtype=float), *intervals([y], theta, lam), store.engine.live()[:oldest])
        store.check()


def test_half_lines_and_weight_nought():
    # L2-SVM intervals have an infinite end; weight 0 is an interval without ends.
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], 40)
    lo, hi = np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0)
    store = Store(3)
    store.update(X, lo[None], hi[None], np.full(40, 0.1))
    store.check()
    mute = store.update(rng.normal(size=(3, 3)), np.full((1, 3), -np.inf), np.full((1, 3), np.inf), np.ones(3))
    store.check()
    assert not store.engine.coef()[0, mute].any()
    store.update(np.zeros((0, 3)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0), store.engine.live()[::2])
    store.check()


def test_zero_vector_one_class_and_empty():
    store = Store(2)
    store.check()
    assert store.engine.decision(np.ones((2, 2))).tolist() == [[0.0], [0.0]]
    zero = store.update(np.zeros((1, 2)), *intervals([1], 0.2, 10.0))
    assert store.engine.coef()[0, zero] == pytest.approx([8.0])  # lam (1 - theta)
    store.update(np.ones((4, 2)), *intervals([1, 1, 1, 1], 0.2, 10.0))
    store.check()
    nothing = (np.zeros((0, 2)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0))
    store.update(*nothing, store.engine.live())
    store.check()
    store.update(np.ones((1, 2)), *intervals([-1], 0.2, 10.0))
    store.check()


def test_coef0_is_the_constant_feature_and_columns_may_come():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 5)), rng.choice([-1.0, 1.0], 30)
    X[:20, 3:] = 0.0
    store = Store(3, coef0=2.0)
    store.update(X[:20, :3], *intervals(y[:20], 0.1, 10.0))
    store.check()
    before = store.engine.values()
    store.engine.widen(5)
    store.held = {i: (np.r_[x, 0.0, 0.0], lo, hi, il) for i, (x, lo, hi, il) in store.held.items()}
    assert np.abs(store.engine.values() - before).max() < 1e-15  # the order of the sums alone
    store.check()
    store.update(X[20:], *intervals(y[20:], 0.1, 10.0), store.engine.live()[:5])
    store.check()
    with pytest.raises(ValueError, match="coef0"):
        PrimalEngine(-1.0, 2)


def test_outputs_share_rows_and_come_and_go():
    rng = np.random.default_rng(6)
    X, k = rng.normal(size=(45, 4)), rng.integers(0, 3, 45)
    Y = np.where(k == np.arange(3)[:, None], 1.0, -1.0)
    il = rng.uniform(0.05, 2.0, 45)
    store = Store(4, outputs=2)
    store.update(X, Y[:2] - 0.1, Y[:2] + 0.1, il)
    store.check()
    live = store.engine.live()
    store.engine.add_output(Y[2] - 0.1, Y[2] + 0.1, il)
    store.held = {int(i): (X[j], Y[:, j] - 0.1, Y[:, j] + 0.1, il[j]) for j, i in enumerate(live)}
    store.check()
    store.update(np.zeros((0, 4)), np.zeros((3, 0)), np.zeros((3, 0)), np.zeros(0), live[5:20])
    store.engine.drop_output(0)
    store.held = {i: (x, lo[1:], hi[1:], w) for i, (x, lo, hi, w) in store.held.items()}
    store.check()
    store.engine.drop_output(0)
    store.engine.drop_output(0)
    slots = store.engine.live()
    lo, hi, il = (np.array(column) for column in zip(*(store.held[i][1:] for i in slots.tolist()), strict=True))
    store.engine.add_output(lo[:, 0], hi[:, 0], il)
    store.held = {i: (x, lo[:1], hi[:1], w) for i, (x, lo, hi, w) in store.held.items()}
    store.check()


def test_memory_is_announced_before_it_is_taken(monkeypatch):
    from onlinekit_plugins.id_odm import memory

    store = Store(2)
    store.update(np.ones((3, 2)), *intervals([1, 1, -1], 0.1, 1.0))
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="50003 samples need"):
        store.engine.update(np.ones((50_000, 2)), *intervals(np.ones(50_000), 0.1, 1.0), NONE)
    store.check()


def test_retarget_is_a_fresh_fit_with_the_other_labels_and_weights():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], 50)
    store = Store(4)
    slots = store.update(X, *intervals(y, 0.2, 10.0))
    changed = slots[10:25]
    lo, hi, il = intervals(-y[10:25], 0.2, rng.uniform(0.5, 50.0, 15))
    store.engine.retarget(changed, lo, hi, il)
    for k, i in enumerate(changed.tolist()):
        store.held[i] = (store.held[i][0], lo[:, k], hi[:, k], il[k])
    store.check()


def test_leave_one_out_is_exact_when_no_side_changes():
    rng = np.random.default_rng(8)
    X, t = rng.normal(size=(40, 3)), rng.normal(size=40)
    engine = PrimalEngine(0.0, 3)  # points as intervals (ridge regression): sides never matter
    slots = engine.update(X, t[None], t[None], np.full(40, 0.1), NONE)
    loo = engine.loo()[0, slots]
    for i in (0, 7, 39):
        rest = np.delete(np.arange(40), i)
        w = np.linalg.solve(X[rest].T @ X[rest] + 0.1 * np.eye(3), X[rest].T @ t[rest])
        assert loo[i] == pytest.approx(X[i] @ w, abs=1e-12)


def test_forgotten_rows_are_gone_from_memory():
    store = Store(2)
    store.update(np.array([[1.2345678, -7.654321]]), *intervals([1], 0.1, 1.0))
    store.update(np.ones((5, 2)), *intervals([1, 1, -1, 1, -1], 0.1, 1.0), store.engine.live())
    engine = store.engine
    mark = [np.float64(v).tobytes() for v in (1.2345678, -7.654321)]
    arrays = [engine._samples, engine._spec, engine._mats, engine._vecs, engine._num]
    assert not any(m in a.tobytes() for m in mark for a in arrays)
    assert not any(m in pickle.dumps(engine.get_state()) for m in mark)


def test_state_goes_on_bit_for_bit():
    rng = np.random.default_rng(9)
    first = churn(4, 100.0, 0.1, 30, seed=9).engine
    other = PrimalEngine.from_state(pickle.loads(pickle.dumps(first.get_state())))
    for engine in (first, other):
        rng = np.random.default_rng(10)
        for _ in range(30):
            m = int(rng.integers(0, 4))
            y = rng.choice([-1.0, 1.0], m)
            engine.update(rng.normal(size=(m, 4)), *intervals(y, 0.1, 100.0), engine.live()[:2])
    assert np.array_equal(first.weights(), other.weights())
    a, b = first.get_state(), other.get_state()
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_a_huge_row_leaves_no_rounding_behind():
    # Adding and subtracting phi phi' leaves |phi|^2 1e-16 in A; it is summed afresh once the rest is far smaller.
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(20, 3)), rng.choice([-1.0, 1.0], 20)
    store = Store(3)
    store.update(X, *intervals(y, 0.1, 10.0))
    huge = store.update(1e7 * rng.normal(size=(2, 3)), *intervals([1, -1], 0.1, 10.0))
    store.update(np.zeros((0, 3)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(0), huge)
    store.check(1e-10)


@pytest.mark.parametrize(("d", "lam"), [(50, 1000.0), (50, 1.0)])
def test_drift_with_a_persistent_core(d, lam):
    # 150 rows stay, 50 churn: the case in which an inverse that is only updated loses four digits.
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(200, d)), rng.choice([-1.0, 1.0], 200)
    engine = PrimalEngine(0.0, d)
    slots = list(engine.update(X, *intervals(y, 0.1, lam), NONE))
    young = slots[150:]
    for step in range(2500):
        problem = intervals(rng.choice([-1.0, 1.0], 1), 0.1, lam)
        young.extend(engine.update(rng.normal(size=(1, d)), *problem, np.array([young.pop(0)])).tolist())
        if step % 50 == 0:
            assert engine.kkt() <= 1e-8
    live = engine.live()
    X = engine.rows(live)
    lo, hi, il = (engine._spec[0, live, k] for k in range(3))
    K, b = X @ X.T, engine.coef()[0, live]
    assert interval_kkt(K, lo, hi, il, b) <= 1e-8
    assert np.abs(X.T @ interval_solve(K, lo, hi, il) - engine.weights()[0]).max() <= 1e-8


def test_one_signature_a_kernel():
    from onlinekit_plugins.id_odm import primal_resolve

    assert len(primal_resolve.update.signatures) == 1
