"""The parts below the certificates: sums, digests, factors, curvature bounds; each against an obvious reference."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from onlinekit_plugins.sensitivity import FitSummary, Tracker, losses, solve, triangular
from onlinekit_plugins.sensitivity.added import AddedRows
from onlinekit_plugins.sensitivity.curvature import CurvatureBound, margin_slack
from onlinekit_plugins.sensitivity.gradient import loss_sum
from onlinekit_plugins.sensitivity.gradient_kernels import close_block
from onlinekit_plugins.sensitivity.kernels import (
    add_few,
    add_outer,
    change_factor,
    is_canonical,
    quadratic_rows,
    signed_values,
    whiten_rows,
)
from onlinekit_plugins.sensitivity.losses import eigenvalue_bound
from onlinekit_plugins.sensitivity.rows import digests, fingerprint, keys, pack_counter, unpack_counter, unsigned
from onlinekit_plugins.sensitivity.whitened import WhitenedSum, sizes

LOSSES = ["logistic", "squared_hinge"]
number = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-100)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@settings(deadline=None)
@given(number, number)
def test_the_error_of_a_sum_is_exact(a, b):
    high, low, sums = np.array([a]), np.zeros(1), np.array([[b, 1.0]])
    close_block(high, low, sums)
    assert high[0] == a + b and sums.tolist() == [[0.0, 1.0]]
    assert Fraction(high[0]) + Fraction(low[0]) == Fraction(a) + Fraction(b)


def exact_sum(loss, rows, w):
    """Gradient and value with mpmath."""
    import mpmath as mp

    with mp.workdps(60):
        gradient, value = [mp.mpf(0)] * len(w), mp.mpf(0)
        for row in rows:
            z = mp.fsum(mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(row, w, strict=True))
            if loss == "logistic":
                slope, phi = -1 / (1 + mp.exp(z)), mp.log(1 + mp.exp(-z))
            else:
                slope, phi = -2 * max(1 - z, mp.mpf(0)), max(1 - z, mp.mpf(0)) ** 2
            gradient = [g + slope * mp.mpf(float(a)) for g, a in zip(gradient, row, strict=True)]
            value += phi
        return gradient, value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.sampled_from([1e-3, 1.0, 30.0]), st.booleans())
def test_a_gradient_is_within_its_error(seed, loss, size, kink):
    import mpmath as mp

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 4)) * 10.0 ** rng.integers(-3, 5, 4) * (rng.random((12, 4)) < 0.7)
    w = size * rng.normal(size=4) / np.maximum(np.abs(rows).max(axis=0), 1e-9)
    if kink:  # margins next to 1, and sums that cancel
        rows = np.vstack([rows, -rows[:3], rows[3:6] / np.where(rows[3:6] @ w == 0, 1, rows[3:6] @ w)[:, None]])
    sign = rng.choice([-1.0, 1.0], len(rows))
    gradient, value = exact_sum(loss, rows * sign[:, None], w)
    for given_rows in (rows, sp.csr_matrix(rows)):
        found = loss_sum(loss, given_rows, w, sign)
        for j in range(4):
            high = float(found.gradient[j])
            got = mp.mpf(high) + mp.mpf(float(found.gradient[j] - high))
            assert abs(got - gradient[j]) <= found.error[j]
            assert found.error[j] <= 1e-13 * (1 + np.abs(rows).sum(axis=0)[j]) * (1 + (np.abs(rows) @ np.abs(w)).max())
        assert abs(mp.mpf(found.value) - value) <= found.value_error
        np.testing.assert_allclose(found.z, (rows * sign[:, None]) @ w, rtol=1e-9, atol=1e-9)


def test_digests_tell_rows_apart_and_do_not_mind_the_form():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, (3000, 40)).astype(float)
    rows[5], rows[6] = 0.0, -0.0
    sign = rng.choice([-1.0, 1.0], 3000)
    table = digests(rows, sign)
    np.testing.assert_array_equal(table, digests(sp.csr_matrix(rows), sign))
    np.testing.assert_array_equal(table, digests(rows * sign[:, None]))
    explicit = sp.csr_matrix(rows)
    explicit.data[:50] = 0.0  # stored zeros
    np.testing.assert_array_equal(digests(explicit), digests(explicit.toarray()))
    distinct = {row.tobytes() for row in rows * sign[:, None] + 0.0}
    assert len(set(keys(table))) == len(distinct)
    order = rng.permutation(3000)
    np.testing.assert_array_equal(fingerprint(table), fingerprint(table[order]))
    assert not np.array_equal(fingerprint(table), fingerprint(np.vstack([table[1:], table[1:2]])))
    assert not np.array_equal(fingerprint(table), fingerprint(np.vstack([table, digests(np.zeros((1, 40)))])))
    # Binary rows differ in few bits; no two of them may meet in either half.
    binary = digests(np.array([[int(b) for b in f"{i:012b}"] for i in range(4096)], dtype=float))
    assert len(np.unique(binary[:, 0])) == len(np.unique(binary[:, 1])) == 4096
    from collections import Counter

    counter = Counter(keys(table))
    assert unpack_counter(*pack_counter(counter)) == counter


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_rank_one_changes_are_the_factor_of_scratch(seed, d):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3, d)
    X = rng.normal(size=(d + 20, d)) * scale
    N = X.T @ X + 0.1 * np.diag(scale**2)
    R = np.array(cholesky(N), order="C")
    new = rng.normal(size=(6, d)) * scale
    assert change_factor(R, new.copy(), True) == 6
    assert change_factor(R, X[:4].copy(), False) == 4
    want = N + new.T @ new - X[:4].T @ X[:4]
    size = np.sqrt(np.diag(N + new.T @ new))
    # The error that the streaming metric allows for: 32 (d+8) u s_j s_k an operation.
    assert np.all(np.abs(R.T @ R - want) <= 10 * 32 * (d + 8) * 2.0**-53 * np.outer(size, size))
    before = R.copy()
    assert change_factor(R, 2 * R[:1].copy(), False) == 0  # more than there is: refused, nothing changed
    np.testing.assert_array_equal(R, before)


def test_quadratic_forms_of_sparse_rows():
    rng = np.random.default_rng(0)
    X, A = sp.random(50, 12, 0.3, "csr", rng=rng), rng.normal(size=(12, 12))
    out = np.empty(50)
    quadratic_rows(X.indptr, X.indices, X.data, A + A.T, out)
    np.testing.assert_allclose(out, np.einsum("ij,jk,ik->i", X.toarray(), A + A.T, X.toarray()), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0, 10))
def test_eigenvalue_bounds_are_above(seed, d, enough):
    X = np.random.default_rng(seed).normal(size=(d + 3, d)) * np.random.default_rng(seed + 1).random(d)
    exact = np.linalg.eigvalsh(X.T @ X)[-1]
    bound = eigenvalue_bound(X.T @ X, enough)
    assert exact <= bound and (bound <= enough or bound <= exact * (1 + 1e-9) + 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.floats(0.01, 4.0), st.booleans())
def test_curvature_bounds_are_above_what_moves_do(seed, loss, rho, added):
    """eps of the path's average and of its end point, against the Hessians themselves on random moves."""
    rng = np.random.default_rng(seed)
    n, d = 25, 3
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    if seed % 3 == 0:
        X[:5] /= (X[:5] @ w)[:, None]  # on the kink

    def weights(z):
        p = 1 / (1 + np.exp(-z))
        return p * (1 - p) if loss == "logistic" else 2.0 * (z < 1)

    z = X @ w
    M = (X * weights(z)[:, None]).T @ X + 0.3 * np.eye(d)
    L = cholesky(M, lower=True)
    T = solve_triangular(L, X.T, lower=True).T
    slack = margin_slack(X, w)
    if added:
        rows = AddedRows(fit_of(loss, M, w))
        rows.extend([bytes([i]) * 16 for i in range(n)], sp.csr_matrix(X) if seed % 2 else X, z, slack)
        m3, m4 = rows.constants(0.0) if loss == "logistic" else (0.0, 0.0)

        def bound(gained, point):
            if loss == "logistic":
                return m3 * rho + m4 * rho**2 / 2 if point else m3 * rho / 2 + m4 * rho**2 / 6
            return rows.squared_hinge(rho, gained, point, 0.0)

    else:
        fit = CurvatureBound(loss, T, z, slack, 1.0)

        def bound(gained, point):
            return float(fit.pointwise(rho, gained) if point else fit.average(rho, gained))

    for _ in range(8):
        u = rng.normal(size=d)
        u *= rho / np.sqrt(u @ M @ u)
        path = (np.arange(400) + 0.5) / 400
        average = weights(z + path[:, None] * (X @ u)).mean(axis=0)
        for moved, point in ((average, False), (weights(z + X @ u), True)):
            change = solve_triangular(L, (X * (moved - weights(z))[:, None]).T @ X, lower=True)
            values = np.linalg.eigvalsh(solve_triangular(L, change.T, lower=True))
            fuzz = 1e-9 if point or loss == "logistic" else 2 / 400 * np.sum(T * T)  # of the grid
            assert values[-1] <= bound(True, point) + fuzz
            assert -values[0] <= bound(False, point) + fuzz


def fit_of(loss, M, w0):
    """What AddedRows asks of a fit summary."""
    inverse = np.linalg.inv(M)
    return SimpleNamespace(
        loss=loss, d=len(w0), w0=w0, factor=cholesky(M, lower=True), inverse=inverse,
        whitener=np.linalg.inv(cholesky(M, lower=True)).T,
        inverse_root=np.sqrt(np.diag(inverse)), safety=1.0, eps=1e-14,
    )  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_added_rows_come_and_go(loss, sparse):
    rng = np.random.default_rng(0)
    fit = fit_of(loss, np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 3.0]]), np.array([0.1, -0.2, 0.3]))
    rows, live, form = AddedRows(fit), {}, sp.csr_matrix if sparse else np.asarray
    for step in range(200):
        if live and rng.random() < 0.2:
            gone = list(rng.choice(list(live), size=min(3, len(live)), replace=False))
            want = [live.pop(bytes(key)) for key in gone]
            z = rows.pop([bytes(key) for key in gone], form(np.array([row for row, _ in want])))
            np.testing.assert_array_equal(z, [margin for _, margin in want])
        else:
            keys_in = [bytes([step + 1, k + 1]) * 8 for k in range(rng.choice([1, 10]))]
            X, z = (
                rng.normal(size=(len(keys_in), 3)) * (rng.random((len(keys_in), 3)) < 0.7),
                rng.normal(size=len(keys_in)),
            )
            rows.extend(keys_in, form(X), z, np.full(len(z), 1e-12))
            live.update(zip(keys_in, zip(X, z, strict=True), strict=True))
        assert rows.n == len(live) and (not live or sorted(rows.store.keys) == sorted(live))
        kept = rows.X.toarray() if sp.issparse(rows.X) else rows.X
        if live:
            np.testing.assert_array_equal(kept, [live[key][0] for key in rows.store.keys])
            np.testing.assert_array_equal(rows.store.numbers[:, 0], [live[key][1] for key in rows.store.keys])
    fresh = AddedRows(fit)
    fresh.extend(
        list(live),
        np.array([row for row, _ in live.values()]),
        np.array([z for _, z in live.values()]),
        np.full(len(live), 1e-12),
    )
    if loss == "logistic":
        np.testing.assert_allclose(rows.constants(0.0), fresh.constants(0.0), rtol=1e-9)
    for gained in (False, True):
        found = [r.squared_hinge(2.0, gained, True, 0.0) for r in (rows, fresh)]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    again = AddedRows(fit)
    again.restore(rows.__getstate__())
    assert again.store.pop(again.store.keys[:2]).tolist() == rows.store.pop(rows.store.keys[:2]).tolist()
    with pytest.raises(ValueError, match="not among"):
        rows.store.pop([b"?" * 16])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5))
def test_canonical_rows_are_told_from_others(seed, n, d):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int32)
    indices = rng.integers(0, d, indptr[-1]).astype(np.int32)
    if rng.random() < 0.5:
        for a, b in zip(indptr[:-1], indptr[1:], strict=True):
            indices[a:b] = np.sort(indices[a:b])
    rows = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, d))
    assert is_canonical(indptr, indices, d) == rows.has_canonical_format
    signed, labels = np.empty(len(indices)), rng.choice([-1.0, 1.0], n)
    assert signed_values(indptr, indices, rows.data, labels, d, signed) == rows.has_canonical_format
    if rows.has_canonical_format:
        assert signed.tolist() == np.repeat(labels, np.diff(indptr)).tolist()


@pytest.mark.parametrize(
    "part, place, value",
    [("indices", 3, 4), ("indices", 3, -1), ("indptr", 3, 99), ("indptr", 3, 0), ("indptr", 0, -1), ("indptr", 0, 1)],
)
def test_csr_rows_that_are_none_are_refused(part, place, value):
    rows = sp.csr_matrix(np.arange(1.0, 21.0).reshape(5, 4))
    getattr(rows, part)[place] = value
    fit = FitSummary.from_fit(np.eye(4), np.ones(4), np.zeros(4) + 0.4, 1.0, "logistic")
    tracker = Tracker(fit)
    for told in (tracker.add, tracker.remove, tracker.validation_interval):
        with pytest.raises(ValueError, match="must be|should start with"):
            told(rows, np.ones(5))
    with pytest.raises(ValueError, match="must be|should start with"):
        tracker.bounds(rows)
    assert tracker.n1 == 4


def test_values_behind_the_last_csr_row_do_not_count():
    fit = FitSummary.from_fit(np.eye(4), np.ones(4), np.zeros(4) + 0.4, 1.0, "logistic")
    X, trackers = np.arange(1.0, 21.0).reshape(5, 4), [Tracker(fit), Tracker(fit)]
    rows = sp.csr_matrix(X)
    rows.indptr[-1] -= 1
    X[4, 3] = 0.0
    for tracker, form in zip(trackers, (rows, sp.csr_matrix(X)), strict=True):
        tracker.add(form, np.ones(5))
    np.testing.assert_array_equal(trackers[0].coef_bounds(), trackers[1].coef_bounds())


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("loss", LOSSES)
def test_what_the_caller_writes_to_his_rows_later_changes_nothing(make, loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.6), rng.choice([-1.0, 1.0], 60)
    fit, new, bounds = FitSummary.from_fit(sp.csr_matrix(X), y, solve(X, y, 0.1, loss), 0.1, loss), X[50:] * 2, []
    for scribbled in (False, True):
        tracker = Tracker(fit)
        for told, rows in ((tracker.add, make(new)), (tracker.remove, make(X[:4]))):
            told(rows, y[: rows.shape[0]])
            if scribbled:
                rows.data[:], rows.indices[:], rows.indptr[1:-1] = 7.0, 0, 0
        bounds.append(tracker.coef_bounds())
    np.testing.assert_array_equal(bounds[0], bounds[1])


def test_directions_stored_in_parts_are_as_long_as_whole_ones():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], 60)
    tracker = Tracker(FitSummary.from_fit(X, y, solve(X, y, 0.1, "logistic"), 0.1, "logistic"))
    tracker.add(X[:30], -y[:30])
    eta = np.array([1.0, 2.0, 3.0])
    parts = sp.csr_matrix((np.repeat(eta / 4, 4), np.repeat(np.arange(3), 4), [0, 12]), shape=(1, 3))
    for level in ("sphere", "smooth-sphere", "matrix-sphere", "ellipsoid"):
        np.testing.assert_allclose(tracker.bounds(parts, level)[:2], tracker.bounds(eta, level)[:2], rtol=1e-12)
    assert parts.nnz == 12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 9), st.integers(1, 5))
def test_rows_part_and_whiten_as_arrays_do(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    apart, scale = rng.random(n) < 0.5, rng.normal(size=n) * (rng.random(n) < 0.7)
    rows, W = sp.csr_matrix(X), np.triu(rng.normal(size=(d, d)))
    for found, wanted in zip(losses.split(rows, apart), (X[~apart], X[apart]), strict=True):
        found.check_format(full_check=True)
        assert found.toarray().tolist() == wanted.tolist()
    out = np.zeros((np.count_nonzero(scale), d))
    whiten_rows(unsigned(rows.indptr), unsigned(rows.indices), rows.data, scale, W, out)
    np.testing.assert_allclose(out, (scale[:, None] * X)[scale != 0] @ W, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.02, 1.0]))
def test_whitened_sums_are_bounds_after_any_coming_and_going(seed, sparse, enough):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.7)
    fit = FitSummary.from_fit(X, np.ones(60), np.full(4, 0.1), 0.5, "logistic")
    kind = sp.csr_matrix if sparse else np.asarray
    K, true = WhitenedSum(fit), np.zeros((4, 4))
    moves = []
    for _ in range(12):
        if moves and rng.random() < 0.4:
            rows, weights = moves.pop(rng.integers(len(moves)))
            K.move(kind(rows), weights, sizes(fit, kind(rows)), -1)
            sign = -1
        else:
            rows, weights = X[rng.integers(60, size=rng.integers(1, 15))], None
            weights = rng.random(len(rows)) * (rng.random(len(rows)) < 0.8) * 0.01
            moves.append((rows, weights))
            K.move(kind(rows), weights, sizes(fit, kind(rows)), 1)
            sign = 1
        T = np.linalg.solve(fit.factor, rows.T).T
        true = true + sign * (T * weights[:, None]).T @ T
        if rng.random() < 0.5:
            norm, found = np.linalg.eigvalsh(true)[-1], K.bound(enough)
            assert norm <= found * (1 + 1e-13) + 1e-16
            assert found <= max(norm * (1 + 1e-9) + 1e-12, enough)
    again = WhitenedSum(fit)
    again.restore(K.__getstate__())
    assert again.bound(enough) == K.bound(enough)


def test_few_and_sparse_outer_products_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.6), rng.normal(size=7)
    A, B, rows = np.eye(5), np.eye(5), sp.csr_matrix(X)
    add_few(X, weights, A)
    add_outer(unsigned(rows.indptr), unsigned(rows.indices), rows.data, weights, B)
    for found in (A, B):
        np.testing.assert_allclose(found, np.eye(5) + (X * weights[:, None]).T @ X, atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 240))
def test_triangular_parts_are_those_of_scipy(seed, d):
    rng = np.random.default_rng(seed)
    N = rng.normal(size=(d + 5, d))
    N = N.T @ N + np.eye(d)
    R = triangular.factor(N.copy())
    np.testing.assert_allclose(R, cholesky(N), rtol=1e-9, atol=1e-12)
    assert not np.tril(R, -1).any() and triangular.factor(N - 1e6 * np.eye(d)) is None
    v, X = rng.normal(size=d), rng.normal(size=(4, d))
    np.testing.assert_allclose(triangular.back(R, triangular.half(R, v)), np.linalg.solve(N, v), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        triangular.half_rows(R, X), solve_triangular(R.T, X.T, lower=True).T, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(triangular.inverse_diagonal(R), np.diag(np.linalg.inv(N)), rtol=1e-7)
