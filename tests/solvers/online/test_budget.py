"""Points that are given up: what a budget keeps of f."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.online.budget import BudgetPerceptron, Store, merged
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run


def _data(n=80, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.integers(0, max(2, outputs), size=n)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize(("kernel", "dimensions"), [(Linear(), 2), (Polynomial(2, offset=1.0), 6)])
def test_projection_on_the_whole_space_changes_nothing(kernel, dimensions, outputs):
    """As many independent points as φ has dimensions span it: the plain perceptron comes back."""
    X, labels = _data(outputs=outputs)
    rule = Rule(outputs, outputs > 1, bias=True)
    plain = DualPerceptron(kernel.gram(X), labels, rule)
    run(plain, Schedule(len(X), 4))
    store = Store(dimensions, outputs, "project")
    kept = BudgetPerceptron(kernel.gram(X), labels, rule, store, random=None, block=7)
    run(kept, Schedule(len(X), 4))
    assert len(plain.journal) > 20 > len(store) == dimensions
    np.testing.assert_array_equal(kept.journal.positions, plain.journal.positions)
    alpha = np.zeros((len(X), outputs))
    np.add.at(alpha, plain.journal.positions, plain.journal.units)
    f = kernel(X) @ alpha
    g = kernel(X, np.vstack(store.points)) @ store.weights[: len(store)]
    np.testing.assert_allclose(g, f, atol=1e-6 * np.abs(f).max())


def test_projection_is_the_nearest_function_in_the_span():
    kernel = Gaussian(1.0)
    X, _ = _data(6)
    store = Store(5, 1, "project")
    for i in range(5):
        k = kernel(X[i : i + 1], X[:i])[0] if i else np.zeros(0)
        assert store.project(k, 1.0) is None
        store.put(i, X[i : i + 1], i, np.ones(1), 1)
    k = kernel(X[5:], X[:5])[0]
    c = store.project(k, 1.0)
    np.testing.assert_allclose(c, np.linalg.solve(kernel(X[:5]), k), rtol=1e-8)


def test_dependent_points_are_not_stored_twice():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    store = Store(3, 1, "project")
    walker = BudgetPerceptron(
        Linear().gram(X), np.array([1, 0, 1]), Rule(1, False), store, random=None
    )
    walker.walk(slice(0, 3))
    assert store.names == [0, 2]  # 2x is in the span of x
    np.testing.assert_allclose(store.weights[:2, 0], [1 - 2, 1])


@pytest.mark.parametrize("outputs", [1, 3])
def test_merging_loses_the_least(outputs):
    """Against a search over the line: ‖αₘφₘ + αₙφₙ − α_zφ_z‖² as the kernel itself measures it."""
    rng = np.random.default_rng(3)
    kernel = Gaussian([1.0, 2.0])
    points, weights = rng.normal(size=(6, 2)), rng.normal(size=(6, outputs))
    m = int(np.argmin((weights**2).sum(axis=1)))
    n, h, z_weights = merged(weights, m, np.log(kernel(points[m : m + 1], points)[0]))
    assert n != m

    def loss(partner, share, z_weights=None):
        z = share * points[m] + (1 - share) * points[partner]
        P = np.vstack([points[m], points[partner], z])
        K = kernel(P)
        if z_weights is None:  # the best weights at that place
            z_weights = K[2, 0] * weights[m] + K[2, 1] * weights[partner]
        c = np.vstack([weights[m], weights[partner], -z_weights])
        return float(np.einsum("io,ij,jo->", c, K, c))

    best = min(loss(p, s) for p in range(6) if p != m for s in np.linspace(0, 1, 201))
    assert loss(n, h, z_weights) <= best + 1e-9


def test_merging_in_a_run_keeps_scores_and_points_together():
    """The scores that decide inside a block are those of the points that are left."""
    kernel = Gaussian(0.8)
    X, labels = _data(60)
    made = []
    for block in (1, 7, 60):
        store = Store(5, 1, "merge")
        walker = BudgetPerceptron(
            kernel.gram(X), labels, Rule(1, False), store, random=None, block=block
        )
        run(walker, Schedule(60, 2))
        made.append(walker.journal.positions.copy())
        assert len(store) == 5
        assert store.names.count(-1) >= 1
    np.testing.assert_array_equal(made[1], made[0])
    np.testing.assert_array_equal(made[2], made[0])
