"""Sparse rows: dicts and CSR rows with few of many known features, against the loop and an obvious reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import onlinekit
from naive import SparseScaler
from onlinekit.schema import Schema, distinct
from onlinekit_plugins.linear import LogisticRegression, OGDClassifier, PAClassifier

LEARNERS = [(spec.name, {}) for spec in onlinekit.specs("learner")] + [("bayes-logistic", {"covariance": "diag"})]
SPARSE = [(name, p) for name, p in LEARNERS if getattr(onlinekit.create("learner", name, **p), "sparse", False)]


def text(n, width, seed=0, low=1, high=25):
    """n rows of a few of `width` columns, labels by the parity of a few columns."""
    rng = np.random.default_rng(seed)
    X = sparse.lil_array((n, width))
    for t in range(n):
        columns = rng.choice(width, rng.integers(low, high), replace=False)
        X[t, columns] = rng.normal(1.0, 1.0, len(columns))
    X = X.tocsr()
    weights = rng.normal(size=width)
    return X, X @ weights > 0


def dicts(X):
    X = sparse.csr_array(X)
    for t in range(X.shape[0]):
        part = slice(X.indptr[t], X.indptr[t + 1])
        yield dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))


def loop(model, X, y):
    predictions = []
    for x, label in zip(dicts(X), y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, label)
    return predictions


def same(a, b, X):
    for x in dicts(X):
        pa, pb = a.predict_proba_one(x), b.predict_proba_one(x)
        assert list(pa) == list(pb)
        np.testing.assert_allclose(list(pa.values()), list(pb.values()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "parameters"), SPARSE)
@pytest.mark.parametrize("standardize", [False, True])
def test_csr_is_the_loop_while_columns_come(name, parameters, standardize):
    X, y = text(120, 700, low=1, high=60)
    rows, one = (onlinekit.create("learner", name, standardize=standardize, **parameters) for _ in range(2))
    got = rows.prequential_many(X, y)
    assert got.tolist() == loop(one, X, y)
    assert rows.n_features == one.n_features
    same(rows, one, X[:40])
    np.testing.assert_array_equal(rows.predict_many(X), [one.predict_one(x) for x in dicts(X)])
    learned = onlinekit.create("learner", name, standardize=standardize, **parameters)
    learned.learn_many(X[:50], y[:50])
    learned.learn_many(X[50:], y[50:])
    same(learned, one, X[:40])


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([LogisticRegression, OGDClassifier, PAClassifier]),
    st.booleans(),
    st.integers(1, 9),
)
def test_csr_is_the_loop_for_any_cut(seed, learner, standardize, cut):
    X, y = text(30, 400, seed, low=0, high=80)
    labels = np.array(["a", "b", "c"])[(np.arange(30) * 7 + seed) % 3]
    one, rows = (learner(classes=None, standardize=standardize) for _ in range(2))
    want = loop(one, X, labels)
    got = [p for t in range(0, 30, cut) for p in rows.prequential_many(X[t : t + cut], labels[t : t + cut])]
    assert got == want
    same(rows, one, X)


@pytest.mark.parametrize("learner", [LogisticRegression, PAClassifier])
def test_scaling_without_centring_counts_every_zero(learner):
    X, y = text(200, 300, low=1, high=20)
    model, scaler = learner(standardize=True), SparseScaler(300)
    model.learn_one(dict.fromkeys(range(300), 0.0), True)
    scaler.learn({})
    plain = learner()
    plain.learn_one(dict.fromkeys(range(300), 0.0), True)
    for x, label in zip(dicts(X), y, strict=True):
        assert model.predict_proba_one(x)[True] == pytest.approx(
            plain.predict_proba_one(scaler.scaled(x))[True], abs=1e-9
        )
        scaler.learn(x)
        model.learn_one(x, label)
        plain.learn_one(scaler.scaled(x), label)


def test_full_rows_after_sparse_ones_see_the_statistics_of_all_rows():
    X, y = text(100, 300, low=1, high=20)
    model = LogisticRegression(standardize=True)
    model.learn_one(dict.fromkeys(range(300), 0.0), True)
    model.learn_many(X, y)
    model.learn_many(X.toarray()[:1], y[:1])
    every = np.vstack([np.zeros((1, 300)), X.toarray(), X.toarray()[:1]])
    np.testing.assert_allclose(model._stats[1, :300], every.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model._stats[2, :300], every.var(axis=0), atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_entry_is_named_or_skipped(bad):
    X, y = text(60, 400)
    X = sparse.lil_array(X)
    X[30, 7] = bad
    X = X.tocsr()
    model = LogisticRegression()
    before = model.__getstate__()
    with pytest.raises(ValueError, match=r"row 30: feature 7 is"):
        model.learn_many(X, y)
    assert str(model.__getstate__()) == str(before)
    model, clean = LogisticRegression(on_invalid="skip"), LogisticRegression()
    model.learn_many(X, y)
    keep = np.arange(60) != 30
    clean.learn_many(X[keep], y[keep])
    assert model.n_skipped == 1
    same(model, clean, X[keep])
    with pytest.raises(ValueError, match=r"row 30: feature 7 is"):
        clean.predict_many(X)


def test_predictions_never_grow_and_ignore_new_columns():
    X, y = text(60, 400)
    model = LogisticRegression()
    model.learn_many(X[:, :350], y)
    known = model.n_features
    np.testing.assert_allclose(model.predict_proba_many(X), model.predict_proba_many(X[:, :350]))
    assert model.predict_one({"zzz": float("nan")}) in (True, False)
    assert model.n_features == known


def test_growth_costs_nothing_of_the_order_of_the_features():
    model = LogisticRegression()
    for t in range(1000):
        model.learn_one({f"w{t}-{j}": 1.0 for j in range(30)}, t % 2 == 0)
    assert model.n_features == 30_000
    assert "values" not in model._schema.__dict__  # the getter of all features was never made


def test_columns_of_integer_names_are_those_of_the_index():
    schema = Schema(["a", 3, True, 2.0, 1 << 40, "3"])
    asked = np.array([3, 1, 2, 0, 7, 3, 1 << 40, 1 << 41])
    want = [schema.index.get(name, -1) for name in asked.tolist()]
    assert want == [1, 2, 3, -1, -1, 1, 4, -1]
    for _ in range(2):
        assert schema.columns(asked).tolist() == want
    schema.extend([7, 0])
    assert schema.columns(asked).tolist() == [1, 2, 3, 7, 6, 1, 4, -1]
    assert schema.columns(asked[:0]).tolist() == []


def test_reading_a_row_again_sees_what_has_changed():
    schema = Schema(["a", "b"])
    x = {"b": 2.0, "c": 1.0}
    assert [part.tolist() for part in schema.read(x)[:2]] == [[1, 2], [2.0, 1.0]]  # column 2: not known
    assert [part.tolist() for part in schema.entries(x)] == [[1, -1], [2.0, 1.0]]
    x["b"] = 5.0
    assert schema.read(x)[1].tolist() == [5.0, 1.0]
    schema.extend(["d", "c"])
    index, _, all_known = schema.read(x)
    assert index.tolist() == [1, 3] and all_known


def test_keys_not_known_say_nothing_at_full_capacity_too():
    model = onlinekit.create("learner", "logistic")
    for t in range(64):
        model.learn_one({f"w{8 * t + j}": 1.0 for j in range(8)}, t % 2 == 0)
    assert model.n_features == model._capacity == 512
    known, more = {"w3": 1.0}, {"w3": 1.0, "new": 1e300, "other": float("inf")}
    assert model.predict_one(more) == model.predict_one(known)
    model.learn_one({"w512": 1.0}, True)
    assert model.n_features < model._capacity
    assert model.predict_one(more) == model.predict_one(known)
    assert model.predict_proba_one(more) == model.predict_proba_one(known)


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**31 - 1), max_size=60))
def test_distinct_is_unique_with_the_inverse(values):
    values = np.array(values, dtype=np.int32)
    found, which = distinct(values)
    names, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(found, names)
    np.testing.assert_array_equal(which, inverse)
