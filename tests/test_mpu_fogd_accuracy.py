"""mpu-fogd: the accuracies that its defaults and the settings of the paper are to reach."""

import os
from pathlib import Path

import numpy as np
import pytest

import onlinekit
from naive import bundled
from onlinekit_plugins.random_features import MPUFOGDClassifier

LABELS = [False, True]


BUNDLED = {"Bananas": 0.865, "ImageSegments": 0.875, "Phishing": 0.875}


def prequential(model, X, y):
    return float(np.mean(np.asarray(model.prequential_many(X, y)) == y))


@pytest.mark.parametrize("name", BUNDLED)
def test_accuracy_of_the_defaults(name):
    X, y = bundled(name)
    classes = None if len(np.unique(y)) > 2 else (False, True)
    got = np.mean([prequential(MPUFOGDClassifier(seed=seed, classes=classes), X, y) for seed in (1, 2, 3)])
    assert got >= BUNDLED[name]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_rotation_clip_makes_the_step_of_the_directions_harmless(name):
    X, y = bundled(name)
    classes = None if len(np.unique(y)) > 2 else (False, True)
    small, large = (prequential(MPUFOGDClassifier(beta=beta, classes=classes), X, y) for beta in (1e-3, 1e-2))
    assert abs(small - large) < 0.02


def test_moving_directions_pays_on_segments():
    X, y = bundled("ImageSegments")
    moving, fixed = (prequential(MPUFOGDClassifier(beta=beta, classes=None), X, y) for beta in (1e-3, 0.0))
    assert moving > fixed + 0.005


def test_it_is_found_by_name_where_it_is_installed():
    names = {spec.name: spec.target for spec in onlinekit.specs("learner")}
    assert names.get("mpu-fogd", "MPUFOGDClassifier").endswith("MPUFOGDClassifier")


def real(name):
    loader = Path(os.environ.get("ONLINEKIT_DATA", "data")) / f"{name}.npz"
    if not loader.is_file():
        pytest.skip(f"{name} is not in ONLINEKIT_DATA")
    with np.load(loader) as parts:
        return {key: parts[key] for key in parts.files}


def paper_split(name):
    """Rows in one random order, features in [-1, 1]; the first 60 % to learn, the last 20 % to test."""
    parts = real(name)
    X, y = (np.concatenate([parts[k], parts[f"{k}_test"]]) if f"{k}_test" in parts else parts[k] for k in "Xy")
    if name == "cod_rna":
        X, y = parts["X_test"], parts["y_test"]
    X = X.astype(float)
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / np.where(high > low, high - low, 1) - 1.0
    order = np.random.default_rng(1).permutation(len(y))
    cut = int(0.6 * len(y)), int(0.8 * len(y))
    return X[order[: cut[0]]], y[order[: cut[0]]], X[order[cut[1] :]], y[order[cut[1] :]]


def accuracy_after(model, X, y, X_test, y_test):
    model.learn_many(X, y)
    return float(np.mean(np.asarray(model.predict_many(X_test)) == y_test))


@pytest.mark.slow
def test_codrna_as_in_the_paper():
    X, y, X_test, y_test = paper_split("cod_rna")
    model = MPUFOGDClassifier.paper(2000, sigma=0.352, dtype="float32")
    assert accuracy_after(model, X, y > 0, X_test, y_test > 0) >= 0.960


@pytest.mark.slow
def test_skin_as_in_the_paper():
    X, y, X_test, y_test = paper_split("skin")
    model = MPUFOGDClassifier.paper(400, sigma=0.128)
    assert accuracy_after(model, X, y > 0, X_test, y_test > 0) >= 0.9985


@pytest.mark.slow
def test_letter_with_the_clip():
    X, y, X_test, y_test = paper_split("letter_scale")
    model = MPUFOGDClassifier(400, sigma=0.594, standardize=False, classes=None)
    assert accuracy_after(model, X, y, X_test, y_test) >= 0.885


@pytest.mark.slow
@pytest.mark.parametrize("name, passes", [("mnist", 1), ("usps", 5)])
def test_hundreds_of_dense_features_do_not_collapse(name, passes):
    X, y, X_test, y_test = paper_split(name)
    X, y = X[:15000], y[:15000]
    for factor in (0.5, 1.0):
        model = MPUFOGDClassifier(400, beta=1e-2, sigma=factor * np.sqrt(X.shape[1]), standardize=False, classes=None)
        for _ in range(passes):
            right = accuracy_after(model, X, y, X_test, y_test)
        assert right > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, least", [("elec2", 0.895), ("covtype", 0.87), ("rialto", 0.61), ("insects_gradual_bal", 0.84)]
)
def test_accuracy_of_the_defaults_on_streams(name, least):
    parts, n = real(name), {"elec2": None, "covtype": 40000, "rialto": 30000, "insects_gradual_bal": 15000}[name]
    X, y = parts["X"][:n].astype(float), parts["y"][:n]
    binary = len(np.unique(y)) == 2
    labels = (y > 0) if binary else y
    got = [prequential(MPUFOGDClassifier(seed=s, classes=LABELS if binary else None), X, labels) for s in (1, 2, 3)]
    assert np.mean(got) >= least
