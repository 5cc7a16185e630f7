"""Score intervals of retrained kernel machines, against exact solutions in an explicit space and in the span."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve

from naive import optimum_long
from onlinekit_plugins.sensitivity import FitSummary, KernelTracker, Rule, Tracker, losses, solve

LOSSES = ("logistic", "squared_hinge")
QUIET = pytest.mark.filterwarnings("ignore:alpha is not near:RuntimeWarning", "ignore:w0 is not near:RuntimeWarning")


def dot(A, B):
    return A @ B.T


def cubic(A, B):
    return (A @ B.T + 1.0) ** 3


def rbf(gamma):
    return lambda A, B: np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def solve_kernel(K, y, C, loss):
    """Alpha of the machine's optimum and a bound of |w - w*|, by Newton steps in the dual.

    At the optimum n C alpha = -y loss'(z); |w - w*| <= |grad f(w)| / C, grad f = Phi'(n C alpha + y loss'(z)) / n.
    """
    n, best = len(y), (np.inf, None)
    alpha = np.zeros(n)

    def state(a):
        rest = n * C * a + y * losses.slope(loss, y * (K @ a))
        return rest, float(C / 2 * a @ K @ a + losses.value(loss, y * (K @ a)).mean())

    for _ in range(200):
        rest, here = state(alpha)
        off = np.sqrt(max(rest @ K @ rest, 0.0)) / (n * C)
        off += 1e-15 * n * np.abs(rest).sum() / (n * C) * np.sqrt(np.diag(K).max())
        if off < best[0]:
            best = (off, alpha.copy())
        h = losses.curvature(loss, y * (K @ alpha))
        # (n C I + D K) step = rest, symmetric in the rows with curvature.
        s = np.sqrt(h)
        factor = cho_factor(n * C * np.eye(n) + s[:, None] * K * s)
        step = (rest - s * cho_solve(factor, s * (K @ rest))) / (n * C)
        damping = 1.0
        while state(alpha - damping * step)[1] > here + 1e-15 * abs(here) and damping > 1e-8:
            damping /= 2
        alpha = alpha - damping * step
    return best[1], best[0]


def changed(rng, n, d, mode):
    """Data with some duplicates, and a change of it: X, y, added rows, their labels, removed places."""
    X = np.round(rng.normal(size=(n, d)), int(rng.choice([0, 1, 8]))) * 10.0 ** rng.uniform(-0.7, 0.4)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    m = 0 if mode == "remove" else int(rng.integers(1, 7))
    k = 0 if mode == "add" else int(rng.integers(1, n // 2))
    XA = rng.normal(size=(m, d))
    yA = rng.choice([-1.0, 1.0], m)
    if m > 2:
        XA[0], yA[0] = X[0], y[0]  # a copy of a row of the fit, perhaps a removed one
        XA[1], yA[1] = X[1], -y[1]
    return X, y, XA, yA, rng.permutation(n)[:k]


case = given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 30),
    d=st.integers(1, 5),
    mode=st.sampled_from(["add", "remove", "both"]),
    power=st.floats(-3, 1),
    loss=st.sampled_from(LOSSES),
    wrong=st.sampled_from([0.0, 1e-6, 0.1]),
    level=st.sampled_from(["sphere", "smooth-sphere"]),
)
many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def moved(tracker, X, y, XA, yA, gone):
    tracker.add(XA, yA)
    tracker.remove(X[gone], y[gone])
    return np.vstack([np.delete(X, gone, 0), XA]), np.append(np.delete(y, gone), yA)


@QUIET
@many
@case
def test_linear_kernel_holds_the_truth_and_equals_the_linear_sphere(seed, n, d, mode, power, loss, wrong, level):
    rng, C = np.random.default_rng(seed), 10.0**power
    X, y, XA, yA, gone = changed(rng, n, d, mode)
    w0 = solve(X, y, C, loss, tol=1e-13 * (1 + np.abs(X).max()))
    alpha = -y * losses.slope(loss, y * (X @ w0)) / (n * C) * (1 + wrong * rng.normal(size=n))
    tracker = KernelTracker(X, y, alpha, C, loss, kernel=dot)
    X1, y1 = moved(tracker, X, y, XA, yA, gone)
    assert tracker.n1 == len(y1)
    w1 = solve(X1, y1, C, loss, w0, tol=1e-13 * (1 + np.abs(X1).max()))
    E = np.vstack([rng.normal(size=(20, d)), X1])
    lower, upper = tracker.bounds(E, level)
    low, high = tracker.training_gap()
    value = [C / 2 * w @ w + losses.value(loss, y1 * (X1 @ w)).mean() for w in (alpha @ X, w1)]
    size = 1e-14 * len(y1) * (1 + sum(np.abs(value)))
    assert low - size <= value[0] - value[1] <= high + size
    left = np.linalg.norm(C * w1 + (y1 * losses.slope(loss, y1 * (X1 @ w1))) @ X1 / len(y1)) / C
    off = np.linalg.norm(E, axis=1) * (1.01 * left + 1e-15 * len(y1) * np.linalg.norm(w1))
    assert np.all((lower - off <= E @ w1) & (E @ w1 <= upper + off))
    linear = Tracker(FitSummary.from_fit(X, y, alpha @ X, C, loss))
    moved(linear, X, y, XA, yA, gone)
    low, up, info = linear.bounds(E, level)
    # What cancels in |G|^2 leaves some 1e-7 of its parts behind, and nothing when little cancels.
    norms = losses.row_norms(X)
    b = np.abs(n * C * alpha + y * losses.slope(loss, y * (X @ (alpha @ X)))) @ norms
    rows, signs = np.vstack([XA, X[gone]]), np.append(yA, y[gone])
    slope = np.abs(losses.slope(loss, signs * (rows @ (alpha @ X))))
    parts = b + abs(len(y1) - n) * C * (np.abs(alpha) @ norms) + slope @ losses.row_norms(rows)
    kept = np.linalg.norm(linear.G) / parts
    off = min(1e-6, 1e-12 / max(kept, 1e-300)) * parts / (len(y1) * C)
    # Scores off by rounding move every row's slope.
    unit = 2.3e-16 * (n + len(rows) + 4 * d + 60) * losses.smoothness(loss)
    off += unit * (np.abs(alpha) @ norms) * losses.square_sum(np.vstack([X, rows])) / (len(y1) * C)
    size = np.linalg.norm(w0) + np.linalg.norm(info["centre"]) + info["radius"]
    tolerance = np.linalg.norm(E, axis=1) * (1e-9 * size + off + 1e-140)  # a linear tracker allows for underflow
    assert np.all(lower <= low + tolerance) and np.all(upper >= up - tolerance)
    # A linear model takes (-x, -y) for (x, y): to leave and come back is then no addition, and its L can be smaller.
    every, labels = np.vstack([X, XA]) + 0.0, np.append(y, yA)[:, None]
    if len(np.unique(every * labels + 0.0, axis=0)) == len(np.unique(np.hstack([every, labels]), axis=0)):
        assert np.all(lower >= low - tolerance) and np.all(upper <= up + tolerance)


@QUIET
@many
@case
def test_rbf_and_cubic_kernels_hold_the_truth(seed, n, d, mode, power, loss, wrong, level):
    rng, C = np.random.default_rng(seed), 10.0**power
    X, y, XA, yA, gone = changed(rng, n, d, mode)
    gamma = 10.0 ** rng.uniform(-1.5, 1)
    kernel, own = ((cubic, cubic), (rbf(gamma), "rbf"))[seed % 2]
    alpha, _ = solve_kernel(kernel(X, X), y, C, loss)
    tracker_alpha = alpha * (1 + wrong * rng.normal(size=n))
    tracker = KernelTracker(X, y, tracker_alpha, C, loss, kernel=own, gamma=gamma)
    X1, y1 = moved(tracker, X, y, XA, yA, gone)
    alpha1, left = solve_kernel(kernel(X1, X1), y1, C, loss)
    E = np.vstack([rng.normal(size=(20, d)), X1])
    root = np.sqrt(np.array([kernel(x[None], x[None])[0, 0] for x in E]))
    size = np.abs(alpha1) @ np.sqrt(np.diag(kernel(X1, X1)))
    assert left <= 1e-9 * (1 + size)
    truth, off = kernel(E, X1) @ alpha1, root * (left + 1e-14 * size)
    lower, upper = tracker.bounds(E, level)
    assert np.all((lower - off <= truth) & (truth <= upper + off))
    assert tracker.check(E, np.clip(truth, lower, upper), level)
    labels = tracker.labels(E, level)
    sure = np.abs(truth) > off
    now, want = tracker.validation_interval(E[sure], truth[sure] > 0, level), np.sign(truth[sure])
    assert now.accuracy[1] == 1 and now.loss[0] <= losses.value(loss, np.abs(truth[sure]) + off[sure]).mean() + 1e-12
    assert now.loss[1] >= losses.value(loss, np.abs(truth[sure]) - off[sure]).mean() - 1e-12
    flipped = int(((kernel(E[sure], X) @ tracker_alpha > 0) != (want > 0)).sum())
    assert now.certain_flips <= flipped <= now.possible_flips
    assert np.all((labels[sure] == 0) | (labels[sure] == np.sign(truth[sure])))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_linear_kernel_equals_the_linear_sphere_to_nine_digits(C, loss):
    rng = np.random.default_rng(4)
    X, E = rng.normal(size=(200, 4)), rng.normal(size=(50, 4))
    y = np.where(X @ rng.normal(size=4) + rng.normal(size=200) > 0, 1.0, -1.0)
    w0 = solve(X, y, C, loss, tol=1e-14)
    tracker = KernelTracker(X, y, -y * losses.slope(loss, y * (X @ w0)) / (200 * C), C, loss, kernel=dot)
    linear = Tracker(FitSummary.from_fit(X, y, w0, C, loss))
    for t in (tracker, linear):
        moved(t, X, y, E[:7], np.ones(7), np.arange(9))
    for level in ("sphere", "smooth-sphere"):
        lower, upper, _ = linear.bounds(E, level)
        assert np.all(np.abs(np.subtract(tracker.bounds(E, level), (lower, upper))) <= 1e-9 * (upper - lower))
        np.testing.assert_allclose(tracker.training_gap(), linear.training_gap(level), rtol=1e-9)
        assert tracker.validation_interval(E, np.ones(50), level).possible_flips > 0
        for name, rows, tolerance in (("flips", E, 0.03), ("validation", E, 0.01), ("gap", None, 1e-4)):
            rule = Rule(name, tolerance, rows, np.ones(50))
            mine, other = tracker.decide(rule, level), linear.decide(rule, level=level)
            np.testing.assert_allclose((mine.lower, mine.upper), (other.lower, other.upper), rtol=1e-8, atol=1e-12)
            # No pass follows: what the linear tracker would refine is retrained without a proof.
            assert mine.decision == {"refine": "retrain"}.get(other.decision, other.decision)
            assert mine.certified == other.certified


def fitted(loss="logistic", C=0.05, seed=3, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    alpha, _ = solve_kernel(rbf(0.7)(X, X), y, C, loss)
    return X, y, alpha, KernelTracker(X, y, alpha, C, loss, gamma=0.7)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_change_is_nearly_a_point_and_add_then_remove_is_the_start(loss):
    X, y, alpha, tracker = fitted(loss)
    E = np.random.default_rng(0).normal(size=(30, 2))
    start = tracker.bounds(E)
    assert np.all(start[1] - start[0] <= 1e-9) and np.all(np.abs(start[0] - rbf(0.7)(E, X) @ alpha) <= 1e-9)
    for first, second, rows, labels in (
        (tracker.add, tracker.remove, E[:5], np.ones(5)),
        (tracker.add, tracker.remove, X[:5], y[:5]),
        (tracker.remove, tracker.add, X[:5], y[:5]),
    ):
        first(rows, labels)
        assert np.all(np.subtract(*tracker.bounds(E)[::-1]) > 1e-6)
        second(rows[::-1], labels[::-1])
        assert tracker.n1 == 40 and np.array_equal(tracker.bounds(E), start)
    tracker.add(np.empty((0, 2)), [])
    assert np.array_equal(tracker.bounds(E), start)


def test_the_order_of_changes_does_not_matter_and_the_smooth_sphere_is_never_wider():
    X, y, _, one = fitted()
    two, E = fitted()[3], np.random.default_rng(1).normal(size=(30, 2))
    one.add(E[:6], np.ones(6)), one.remove(X[:4], y[:4])
    for i in range(4):
        two.remove(X[i], [y[i]])
    for i in range(6):
        two.add(E[i], [True])
    np.testing.assert_allclose(one.bounds(E), two.bounds(E), rtol=1e-12, atol=1e-12)
    smooth, plain = one.bounds(E), one.bounds(E, "sphere")
    assert np.all(smooth[1] - smooth[0] < plain[1] - plain[0])
    assert np.any(one.labels(E) != 0) and one.bounds(E[0])[0].shape == (1,)


def test_rounding_is_covered_where_nearly_everything_cancels():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n, d, loss, C = int(rng.integers(3, 25)), int(rng.integers(1, 5)), LOSSES[seed % 2], 10 ** rng.uniform(-3, 1)
        X, y = np.round(rng.normal(size=(n, d)), int(rng.choice([0, 1, 9]))), rng.choice([-1.0, 1.0], n)
        w0 = solve(X, y, C, loss)
        tracker = KernelTracker(X, y, -y * losses.slope(loss, y * (X @ w0)) / (n * C), C, loss, kernel=dot)
        tracker.add(X, y)  # every row twice: the same optimum
        assert tracker.training_gap()[0] == 0
        w1, off = optimum_long(X, y, C, loss, w0)
        E = np.vstack([np.eye(d), X])
        truth, off = (E * w1).sum(axis=1), np.abs(E) @ off
        for level in ("sphere", "smooth-sphere"):
            lower, upper = tracker.bounds(E, level)
            assert np.all((lower - off <= truth) & (truth <= upper + off)), (seed, level)


def test_many_rows_do_without_the_spectrum(monkeypatch):
    X, y, alpha, exact = fitted()
    monkeypatch.setattr("onlinekit_plugins.sensitivity.kernel_fit.LARGEST_DENSE", 10)
    loose = KernelTracker(X, y, alpha, 0.05, "logistic", gamma=0.7)
    for tracker in (exact, loose):
        tracker.remove(X[:5], y[:5])
    widths = [np.subtract(*t.bounds(X, level)[::-1]) for t, level in
              ((exact, "smooth-sphere"), (loose, "smooth-sphere"), (loose, "sphere"))]  # fmt: skip
    assert np.all(widths[0] < widths[1]) and np.all(widths[1] < widths[2])


def test_sparse_rows_and_rows_without_a_norm():
    X, y, alpha, tracker = fitted()
    sparse = KernelTracker(sp.csr_matrix(X), y, alpha, 0.05, "logistic", gamma=0.7)
    sparse.add(sp.csr_matrix(X[:2]), y[:2]), tracker.add(X[:2], y[:2])
    np.testing.assert_array_equal(sparse.bounds(sp.csr_matrix(X)), tracker.bounds(X))
    flat = KernelTracker(np.zeros((3, 2)), [1, -1, 1], np.zeros(3), 0.1, "logistic", kernel=dot)
    flat.add([0.0, 0.0], [1])
    assert np.array_equal(flat.bounds([[0.0, -0.0]]), [[0.0], [0.0]]) and flat.labels([[1.0, 1.0]]) == 0


def test_a_mirrored_row_is_another_row_and_an_rbf_machine_keeps_it():
    X, y, _, tracker = fitted()
    with pytest.raises(ValueError, match="neither a fit row"):
        tracker.remove(-X[0], [-y[0]])


def test_bad_input_changes_nothing():
    X, y, alpha, tracker = fitted()
    before = tracker.bounds(X)
    for rows, labels in (([[np.nan] * 2], [1]), ([[1.0] * 2], [2]), ([[1.0] * 3], [1]), ([[1.0] * 2], [1, 1])):
        for change in (tracker.add, tracker.remove):
            with pytest.raises(ValueError):
                change(rows, labels)
    with pytest.raises(ValueError, match="neither a fit row"):
        tracker.remove(np.vstack([X[:1], X[:1]]), [y[0], y[0]])
    with pytest.raises(ValueError, match="every row"):
        tracker.remove(X, y)
    with pytest.raises(ValueError, match="level"):
        tracker.bounds(X, "ellipsoid")
    with pytest.raises(ValueError, match="finite"):
        tracker.bounds([[np.inf, 0.0]])
    with pytest.raises(ValueError, match="level"):
        tracker.decide(Rule("gap", 0.1), "newton")
    with pytest.raises(ValueError, match="linear models"):
        tracker.decide(Rule("coefficients", 0.1))
    with pytest.raises(ValueError, match="labels"):
        tracker.decide(Rule("validation", 0.1, X, np.full(40, 2)))
    with pytest.raises(ValueError, match="eta"):
        tracker.decide(Rule("flips", 0.1, X[:, :1]))
    with pytest.raises(ValueError, match="rows"):
        tracker.validation_interval(X, y[:3])
    with pytest.raises(ValueError, match="40 numbers"):
        tracker.check(X, 0.0)
    assert tracker.n1 == 40 and np.array_equal(tracker.bounds(X), before)


@QUIET
@pytest.mark.parametrize("loss", LOSSES)
def test_decisions_keep_what_hardly_moves_and_prove_a_flip(loss):
    X, y, alpha, tracker = fitted(loss, C=0.05)
    rules = [Rule("flips", 0.0, X), Rule("validation", 1e-6, sp.csr_matrix(X), y), Rule("gap", 1e-12)]
    assert [(tracker.decide(rule).decision, tracker.decide(rule).certified) for rule in rules] == [("keep", True)] * 3
    place = np.argmin(np.where(y > 0, rbf(0.7)(X, X) @ alpha, np.inf).clip(0))
    tracker.add(np.tile(X[place], (400, 1)), np.full(400, -y[place]))
    X1, y1 = np.vstack([X, np.tile(X[place], (400, 1))]), np.append(y, np.full(400, -y[place]))
    alpha1, _ = solve_kernel(rbf(0.7)(X1, X1), y1, 0.05, loss)
    truth, found = rbf(0.7)(X, X1) @ alpha1, tracker.decide(Rule("gap", 1e-3))
    assert found.decision == "retrain" and found.certified and found.lower > 1e-3
    assert tracker.check(X, truth) and not tracker.check(X, truth + 100) and not tracker.check(X, truth * np.nan)
    share = float(np.mean((rbf(0.7)(X, X) @ alpha > 0) != (truth > 0)))
    flips = tracker.decide(Rule("flips", 0.0, X))
    assert flips.decision == "retrain" and flips.lower <= share <= flips.upper and flips.certified == (flips.lower > 0)


@QUIET
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES), own=st.sampled_from(["rbf", dot, cubic]))
def test_a_saved_tracker_goes_on_and_what_was_added_leaves_no_trace(seed, loss, own, tmp_path):
    rng = np.random.default_rng(seed)
    X, y, XA, yA, gone = changed(rng, int(rng.integers(4, 30)), int(rng.integers(1, 5)), "both")
    tracker = KernelTracker(X, y, rng.normal(size=len(y)), 0.1, loss, kernel=own, gamma=0.3)
    E, start = np.vstack([X, XA]), tracker.bounds(np.vstack([X, XA]))
    moved(tracker, X, y, XA, yA, gone)
    tracker.save(tmp_path / "tracker.npz")
    twin = KernelTracker.load(tmp_path / "tracker.npz", own if callable(own) else None)
    assert vars(twin).keys() == vars(tracker).keys() and (twin.n1, twin.n0, twin.kernel) == (tracker.n1, len(y), own)
    for each in (tracker, twin):
        each.add(XA[:1] + 1, yA[:1])
    np.testing.assert_array_equal(twin.bounds(E), tracker.bounds(E))
    assert twin.training_gap() == tracker.training_gap()
    order = rng.permutation(len(yA))
    twin.remove(XA[:1] + 1, yA[:1]), twin.add(X[gone], y[gone]), twin.remove(XA[order], yA[order])
    assert twin.n1 == len(y)
    np.testing.assert_array_equal(twin.bounds(E), start)
    with pytest.raises(ValueError, match="neither a fit row"):
        twin.remove(XA[-1] + 2, yA[-1:])


def test_a_copy_and_its_original_do_not_change_each_other():
    X, y, _, tracker = fitted()
    before, twin = tracker.bounds(X), copy.copy(tracker)
    twin.add(X[:3] + 1, y[:3])
    assert twin.n1 == tracker.n1 + 3 and np.array_equal(tracker.bounds(X), before)


def test_a_saved_tracker_takes_back_its_own_kernel_alone(tmp_path):
    X, y, alpha, tracker = fitted()
    mine, own = tmp_path / "rbf.npz", tmp_path / "own.npz"
    tracker.save(mine)
    KernelTracker(X, y, alpha, 0.05, "logistic", kernel=rbf(0.7)).save(own)
    np.testing.assert_allclose(KernelTracker.load(own, rbf(0.7)).bounds(X), tracker.bounds(X), rtol=1e-12)
    for path, kernel in ((own, None), (own, "rbf"), (mine, rbf(0.7)), (mine, dot)):
        with pytest.raises(ValueError, match="must be the function"):
            KernelTracker.load(path, kernel)
    for kernel in (rbf(0.7 + 1e-9), dot, lambda A, B: (1 + 1e-12) * rbf(0.7)(A, B)):
        with pytest.raises(ValueError, match="not the one"):
            KernelTracker.load(own, kernel)


@QUIET
def test_damaged_and_foreign_files_are_refused(tmp_path):
    X, y, _, tracker = fitted(n=8)
    path, rng = tmp_path / "tracker.npz", np.random.default_rng(0)
    tracker.add(X + 1, y), tracker.save(path)
    whole, bounds = path.read_bytes(), tracker.bounds(X)
    for size in rng.integers(0, len(whole), 40):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="no saved KernelTracker"):
            KernelTracker.load(path)
    refused = 0
    for place, bit in zip(rng.integers(0, len(whole), 300), rng.integers(0, 8, 300), strict=True):
        broken = bytearray(whole)
        broken[place] ^= 1 << bit
        path.write_bytes(broken)
        try:
            # Time stamps and the like of the archive carry nothing.
            assert np.array_equal(KernelTracker.load(path).bounds(X), bounds)
        except ValueError as error:
            refused += "no saved KernelTracker" in str(error)
    assert refused > 200
    FitSummary.from_fit(X, y, np.zeros(2), 0.1, "logistic").save(path)
    with pytest.raises(ValueError, match="it holds a FitSummary"):
        KernelTracker.load(path)
    with pytest.raises(FileNotFoundError):
        KernelTracker.load(tmp_path / "absent.npz")


@pytest.mark.parametrize(
    "change, match",
    [
        ({"C": 0.0}, "C must"),
        ({"loss": "hinge"}, "loss must"),
        ({"kernel": "poly"}, "kernel must"),
        ({"gamma": -1.0}, "gamma above 0"),
        ({"alpha": [1.0]}, "alpha must"),
        ({"kernel": lambda A, B: A[:, :1] - B[:, :1].T}, "symmetric"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "semidefinite|symmetric"),
        ({"kernel": lambda A, B: np.zeros(3)}, "shape"),
        ({"kernel": lambda A, B: A @ B.T * np.nan}, "finite"),
    ],
)
def test_bad_machines_are_refused(change, match):
    X, y, alpha, _ = fitted()
    with pytest.raises(ValueError, match=match):
        KernelTracker(**({"X": X, "y": y, "alpha": alpha, "C": 0.05, "loss": "logistic"} | change))


def test_swapped_label_order_is_warned_of():
    X, y, alpha, _ = fitted()
    with pytest.warns(RuntimeWarning, match="not near the optimum"):
        KernelTracker(X, -y, alpha, 0.05, "logistic", gamma=0.7)
