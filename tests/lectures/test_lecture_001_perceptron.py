"""Lecture 001: the perceptron on feature mappings, with classes 1 and 0."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import KernelPerceptron, Perceptron
from mercer.kernels import FromFeatures, Linear

SOLUTIONS = {
    "solution 1": lambda X: np.column_stack([X, (X**2).sum(axis=1)]),
    "solution 2": np.square,
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_perceptron_separates_the_mapped_circles(name, circles):
    """001, lines 64-85: on (x₁, x₂, x₁² + x₂²) and on (x₁², x₂²), with a bias."""
    X, y = circles
    options = {"epochs": 500, "shuffle": False, "fit_intercept": True}
    kernel = FromFeatures(SOLUTIONS[name])
    assert KernelPerceptron(kernel, **options).fit(X, y).score(X, y) == 1.0
    from sklearn.preprocessing import FunctionTransformer

    primal = Perceptron(feature_map=FunctionTransformer(SOLUTIONS[name]), **options).fit(X, y)
    assert primal.score(X, y) == 1.0


def test_h_is_one_only_above_zero():
    """001, line 64: h(x) = 1 if wᵀφ(x) > 0, else 0: a score of zero is class 0."""
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1, 0])
    model = KernelPerceptron(Linear(), epochs=5, tie="first", shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    on_the_plane = np.array([[0.0, 3.0], [2.0, 3.0], [-2.0, 3.0]])
    np.testing.assert_array_equal(model.decision_function(on_the_plane), [0.0, 2.0, -2.0])
    np.testing.assert_array_equal(model.predict(on_the_plane), [0, 1, 0])
