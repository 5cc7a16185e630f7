"""mpu-fogd: sparse rows, collapse, and the merging of replicas."""

import math
import time
import warnings

import numpy as np
import pytest
from river import datasets

from naive import bundled, proba, wavy
from onlinekit_plugins.random_features import FOGDClassifier, MPUFOGDClassifier, merge


def test_sparse_rows_cost_what_they_hold_and_agree_with_a_batch():
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random(300, 2000, 0.01, format="csr", random_state=1)
    y = np.asarray(X[:, :1000].sum(1)).ravel() > np.asarray(X[:, 1000:].sum(1)).ravel()
    one, many, both = (MPUFOGDClassifier(50, standardize=False, sigma=4.0) for _ in range(3))
    want = []
    for t in range(300):
        x = dict(zip(X[[t]].indices.tolist(), X[[t]].data.tolist(), strict=True))
        want.append(one.predict_one(x))
        one.learn_one(x, y[t])
    many.learn_many(X, y)
    assert both.prequential_many(X, y).tolist() == want
    for model in (many, both):
        np.testing.assert_allclose(model.weights, one.weights, rtol=0, atol=1e-9)
        assert (model.predict_many(X) == one.predict_many(X)).all()
    # Dense rows say the same.
    dense = MPUFOGDClassifier(50, standardize=False, sigma=4.0)
    dense._grow_features(one._schema.names)
    dense.learn_many(X.toarray(), y)
    np.testing.assert_allclose(dense.weights, one.weights, rtol=0, atol=1e-9)


def test_forty_thousand_keys_cost_what_a_row_holds():
    rng = np.random.default_rng(0)
    spent = []
    for n_keys in (400, 40000):
        model = MPUFOGDClassifier(50)
        model._grow_features(range(n_keys))
        stream = [{int(k): 1.0 for k in rng.integers(0, n_keys, 30)} for _ in range(600)]
        for t, x in enumerate(stream[:100]):
            model.learn_one(x, t % 2)
        start = time.process_time()
        for t, x in enumerate(stream[100:]):
            model.predict_one(x)
            model.learn_one(x, t % 2)
        spent.append(time.process_time() - start)
    assert spent[1] < 3 * spent[0]
    assert model.n_features == 40000 and np.isfinite(model.weights).all()


def test_few_entries_a_row_are_learned():
    """Two topics of 200 words each; five words of its topic in a text, and none of a thousand others known before."""
    rng = np.random.default_rng(0)
    model = MPUFOGDClassifier(200)
    right = []
    for t in range(3000):
        y = bool(t % 2)
        x = {f"word{k}": 1.0 for k in rng.integers(0, 200, 5) + (200 if y else 0)} | {f"rare{t}": 1.0}
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right[1500:]) > 0.8 and model.n_features > 3000


def test_collapse_is_told():
    """The paper's settings on raw, large features: finite and useless, so it must be said."""
    X, y = (np.repeat(part, 3, axis=0) for part in bundled("ImageSegments"))
    model = MPUFOGDClassifier.paper(50, sigma=100.0, classes=None)
    with pytest.warns(RuntimeWarning, match="90 %") as told:
        for start in range(0, len(X), 500):
            model.learn_many(X[start : start + 500], y[start : start + 500])
    assert len(told) < 4, "once for every stretch, not for every row"
    assert np.isfinite(model.weights).all()
    assert np.mean(np.asarray(model.predict_many(X), dtype=object) == y) < 0.3
    model = MPUFOGDClassifier.paper(50, sigma=100.0, classes=None)
    with pytest.warns(RuntimeWarning, match="90 %"):
        for x, label in zip(X[:3000].tolist(), y, strict=False):
            model.learn_one(dict(enumerate(x)), label)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = MPUFOGDClassifier(50)
        for x, label in datasets.Bananas().take(2500):
            quiet.learn_one(x, label)


@pytest.mark.parametrize("door", ["one", "many"])
@pytest.mark.parametrize("share", [0.5, 0.25])
def test_a_collapse_with_two_classes_is_told(door, share):
    """Useless, it changes the weights on some 85 % of the samples; the limit on the rotation prevents it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 60))
    margin = X[:, 0] + 0.5 * X[:, 1]
    y = margin > np.quantile(margin, 1 - share)
    model, sound = MPUFOGDClassifier(50, beta=0.05, max_rotation=np.inf), MPUFOGDClassifier(50, beta=0.05)
    with pytest.warns(RuntimeWarning, match="more than a radian"):
        if door == "many":
            model.learn_many(X[:4000], y[:4000])
        else:
            for x, label in zip(X[:4000].tolist(), y.tolist(), strict=False):
                model.learn_one(dict(enumerate(x)), label)
    before = model.n_updates
    wrong = np.mean(model.prequential_many(X[4000:], y[4000:]) != y[4000:])
    assert 0.5 < (model.n_updates - before) / 2000 <= 0.9 and wrong > min(share, 1 - share) - 0.03
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sound.learn_many(X[:4000], y[:4000])
        assert np.mean(sound.prequential_many(X[4000:], y[4000:]) == y[4000:]) > 0.8


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
@pytest.mark.parametrize("rotation", [0.1, np.inf])
def test_noise_is_no_collapse(share, rotation):
    """Labels that nothing predicts, and labels turned round at random: no model can be better, and none is undone."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 5))
    labels = (rng.random(8000) < share, (X[:, 0] * X[:, 1] > 0) ^ (rng.random(8000) < share))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in labels:
            MPUFOGDClassifier(100, max_rotation=rotation, beta=1e-4 if rotation > 1 else 1e-3).learn_many(X, y)
        for name in ("Phishing", "Bananas"):
            MPUFOGDClassifier(50, max_rotation=rotation).learn_many(*bundled(name))


def shards(n=4, **params):
    X, y = wavy(2000, 4, seed=9)
    models = []
    for k in range(n):
        model = MPUFOGDClassifier(60, **params)
        model.learn_many(X[k::n], y[k::n])
        models.append(model)
    return models, X, y


def test_merging_averages_state_and_scaler():
    models, X, y = shards()
    whole = merge(models)
    np.testing.assert_allclose(whole.weights, np.mean([m.weights for m in models], axis=0))
    np.testing.assert_allclose(
        whole._arrays["directions"][:4], np.mean([m._arrays["directions"][:4] for m in models], axis=0)
    )
    one = MPUFOGDClassifier(60)
    one.learn_many(X, y)
    np.testing.assert_allclose(whole._stats[1:4, :4], one._stats[1:4, :4], rtol=1e-9)
    assert whole.sigma_used == pytest.approx(one.sigma_used, rel=0.01)
    assert whole.n_updates == sum(m.n_updates for m in models)
    right = np.mean(np.array(whole.predict_many(X)) == y)
    assert right > np.mean([np.mean(np.array(m.predict_many(X)) == y) for m in models]) - 0.01
    whole.learn_many(X, y)  # and it goes on learning


def test_merging_with_weights_and_one_model():
    models, X, _ = shards(2)
    assert (merge(models, [1, 0]).weights == models[0].weights).all()
    np.testing.assert_allclose(merge(models, [3, 1]).weights, 0.75 * models[0].weights + 0.25 * models[1].weights)
    assert (proba(merge(models[:1]), X[:50]) == proba(models[0], X[:50])).all()
    for weights in ([1.0], [0.0, 0.0], [-1.0, 2.0], [math.nan, 1.0]):
        with pytest.raises(ValueError, match="weights"):
            merge(models, weights)
    with pytest.raises(ValueError, match="one model"):
        merge([])


def test_merging_features_and_classes_by_name():
    a, b = (MPUFOGDClassifier(20, sigma=1.2, classes=None) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(200):
        p, q, r = rng.normal(size=3)
        a.learn_one({"p": p, "q": q}, "yes" if p > 0 else "no")
        b.learn_one({"r": r, "q": q, "p": p}, ["no", "maybe", "yes"][int(np.digitize(p, [-0.5, 0.5]))])
    whole = merge([a, b])
    assert set(whole.predict_proba_one({"p": 1.0})) == {"yes", "no", "maybe"}
    assert whole.predict_one({"p": 2.5}) == "yes" and whole.predict_one({"p": -2.5}) == "no"
    assert whole._schema.names == ["p", "q", "r"]
    turned = merge([b, a])
    for x in ({"p": 0.7, "q": 0.1}, {"r": 2.0}):
        left, right = whole.predict_proba_one(x), turned.predict_proba_one(x)
        assert all(left[k] == pytest.approx(right[k], abs=1e-12) for k in left)


@pytest.mark.parametrize(
    "change",
    [dict(seed=2), dict(sigma=1.5), dict(n_components=61), dict(standardize=False), dict(features="sincos"),
     dict(dtype="float32"), dict(directions=(np.ones((60, 4)), np.ones(60)))],
    ids=str,
)  # fmt: skip
def test_merging_refuses_what_does_not_belong_together(change):
    a, b = MPUFOGDClassifier(60), MPUFOGDClassifier(**{"n_components": 60, **change})
    with pytest.raises(ValueError, match=next(iter(change))):
        merge([a, b])
    with pytest.raises(ValueError, match="FOGDClassifier"):
        merge([a, FOGDClassifier(60)])
