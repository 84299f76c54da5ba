"""Lecture 003, "Recap: Nearest-Neighbor": the closest example decides, and more of them help."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import Gaussian, KernelNeighborsClassifier, Linear


def _truth(X: np.ndarray) -> np.ndarray:
    """A wavy border in the unit square."""
    return (X[:, 1] > 0.5 + 0.25 * np.sin(2 * np.pi * X[:, 0])).astype(int)


def test_the_closest_training_example_decides(rng):
    """003, lines 15-16: the label of the closest training example."""
    X, Q, y = rng.random((60, 2)), rng.random((20, 2)), rng.integers(0, 3, 60)
    model = KernelNeighborsClassifier(Gaussian(0.1), n_neighbors=1).fit(X, y)
    closest = np.linalg.norm(Q[:, None] - X, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(Q), y[closest])
    np.testing.assert_array_equal(model.predict(X), y)  # every example is closest to itself


def test_it_requires_a_similarity_function_and_any_will_do():
    """003, line 17: a kernel, which need not know vectors."""

    def shared(a, b):
        return float(len(set(a) & set(b)))

    words = ["perceptron", "neuron", "kernel", "matrix"]
    model = KernelNeighborsClassifier(shared, n_neighbors=1).fit(words, ["p", "n", "k", "m"])
    assert model.predict(["perceptrons", "kernels", "matrices"]).tolist() == ["p", "k", "m"]


def test_lazy_learning_keeps_the_data_around(rng):
    """003, lines 18-19: nothing is extracted at training time; the data is the classifier."""
    X, y = rng.random((30, 2)), rng.integers(0, 2, 30)
    model = KernelNeighborsClassifier(n_neighbors=1).fit(X, y)
    np.testing.assert_array_equal(model.X_fit_, X)
    eager = KernelNeighborsClassifier(n_neighbors=1).fit(X[:1].repeat(2, 0), [0, 1])
    assert len(eager.X_fit_) == 2


def test_2_10_100_10000_examples_approach_the_truth(rng):
    """003, lines 23-31: the map of the nearest neighbor comes closer to the truth."""
    side = np.linspace(0, 1, 60)
    grid = np.column_stack([c.ravel() for c in np.meshgrid(side, side)])
    below, above = grid[_truth(grid) == 0], grid[_truth(grid) == 1]

    def error(n: int) -> float:
        X = np.vstack([rng.choice(below, 1), rng.choice(above, 1), rng.random((n - 2, 2))])
        model = KernelNeighborsClassifier(n_neighbors=1).fit(X, _truth(X))
        return float((model.predict(grid) != _truth(grid)).mean())

    errors = [np.mean([error(n) for _ in range(6)]) for n in (2, 10, 100, 10_000)]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[0] > 0.15
    assert errors[3] < 0.01


def test_nearest_neighbor_for_digits():
    """003, lines 41-46: compare a new image to all training images, assign the closest one's."""
    X, y = load_digits(return_X_y=True)
    X, new = X[:1500] / 16, X[1500:] / 16
    by_distance = KernelNeighborsClassifier(Gaussian(), n_neighbors=1).fit(X, y[:1500])
    assert by_distance.score(new, y[1500:]) > 0.94
    # the dot product of unit images ranks like their distance
    unit = KernelNeighborsClassifier(Linear().normalized(), n_neighbors=1).fit(X, y[:1500])
    cosine = (new @ X.T) / np.linalg.norm(X, axis=1)
    np.testing.assert_array_equal(unit.predict(new), y[cosine.argmax(axis=1)])


@pytest.mark.parametrize("sigma", [0.01, 1.0, 100.0])
def test_the_closest_example_does_not_depend_on_the_width(sigma):
    """003, lines 41-46: a Gaussian of any width ranks by distance, even where it is 0 or 1."""
    X, y = load_digits(return_X_y=True)
    X, new = X[:400] / 16, X[400:450] / 16
    model = KernelNeighborsClassifier(Gaussian(sigma), n_neighbors=1).fit(X, y[:400])
    closest = np.linalg.norm(new[:, None] - X, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), y[closest])
