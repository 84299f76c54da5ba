"""Weights of examples and classes in perceptrons: an update goes as many times as far."""

import numpy as np
import pytest

import mercer
from mercer import KernelPerceptron, Perceptron

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
TWO = np.where(X[:, 0] + 0.6 * RNG.normal(size=60) > 0.3, 1, -1)
THREE = RNG.integers(0, 3, 60)
WEIGHT = RNG.integers(0, 4, 60) / 2.0
OPTIONS = {"shuffle": False, "epochs": 3}
pytestmark = pytest.mark.filterwarnings("ignore:not converged")


def test_the_plain_loop():
    w, b = np.zeros(3), 0.0
    for _ in range(3):
        for x, t, weight in zip(X, TWO, WEIGHT, strict=True):
            if weight and t * (w @ x + b) <= 0:
                w, b = w + 0.5 * weight * t * x, b + 0.5 * weight * t
    model = Perceptron(fit_intercept=True, learning_rate=0.5, **OPTIONS)
    model.fit(X, TWO, sample_weight=WEIGHT)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], b, atol=1e-12)


@pytest.mark.parametrize("averaging", ["last", "average", "vote"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_primal_and_dual_are_twins(averaging, y):
    options = OPTIONS | {"averaging": averaging, "fit_intercept": True}
    primal = Perceptron(**options).fit(X, y, sample_weight=WEIGHT)
    dual = KernelPerceptron("linear", **options).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X), atol=1e-9)
    kept = KernelPerceptron("linear", budget=60, **(options | {"averaging": "last"}))
    kept.fit(X, y, sample_weight=WEIGHT)
    last = KernelPerceptron("linear", **(options | {"averaging": "last"}))
    last.fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(kept.decision_function(X), last.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("kind", [KernelPerceptron, Perceptron])
def test_no_weight_is_absence_and_classes_have_weights(kind):
    kernel = () if kind is Perceptron else ("linear",)
    some = WEIGHT > 0
    weighted = kind(*kernel, **OPTIONS).fit(X, THREE, sample_weight=some)
    without = kind(*kernel, **OPTIONS).fit(X[some], THREE[some])
    np.testing.assert_allclose(weighted.decision_function(X), without.decision_function(X))
    each = {0: 1.0, 1: 5.0, 2: 0.5}
    heavy = kind(*kernel, class_weight=each, **OPTIONS).fit(X, THREE, sample_weight=WEIGHT)
    product = WEIGHT * np.array([each[c] for c in THREE])
    same = kind(*kernel, **OPTIONS).fit(X, THREE, sample_weight=product)
    np.testing.assert_allclose(heavy.decision_function(X), same.decision_function(X))
    balanced = kind(*kernel, class_weight="balanced", **OPTIONS).fit(X, THREE)
    sizes = np.bincount(THREE)
    same = kind(*kernel, class_weight=dict(enumerate(60 / (3 * sizes))), **OPTIONS).fit(X, THREE)
    np.testing.assert_allclose(balanced.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize("kind", [KernelPerceptron, Perceptron])
def test_partial_fit_takes_weights(kind, tmp_path):
    kernel = () if kind is Perceptron else ("linear",)
    whole = kind(*kernel, epochs=1, shuffle=False).fit(X, TWO, sample_weight=WEIGHT)
    parts = kind(*kernel)
    for part in (slice(0, 25), slice(25, 60)):
        parts.partial_fit(X[part], TWO[part], classes=[-1, 1], sample_weight=WEIGHT[part])
        mercer.save(parts, tmp_path / "model")
        parts = mercer.load(tmp_path / "model")
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X))
    with pytest.raises(ValueError, match="'balanced' needs the labels of all examples"):
        kind(*kernel, class_weight="balanced").partial_fit(X, TWO, classes=[-1, 1])


def test_held_out_examples_have_weight():
    model = KernelPerceptron(validation_fraction=0.3, random_state=0)
    labels = np.where(WEIGHT > 0, TWO, 7)  # a class without any weight is no class
    model.fit(X, labels, sample_weight=WEIGHT)
    assert model.classes_.tolist() == [-1, 1]
    assert model.history_[-1]["validation_score"] > 0.4
