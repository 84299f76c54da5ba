"""Sums and multiples of Grams, traces and solutions, against the dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer import Gaussian, Laplacian, Linear, Polynomial

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 3))
Z = RNG.normal(size=(25, 3))


@pytest.mark.parametrize("others", [None, Z])
def test_sums_and_multiples_are_grams(others) -> None:
    a, b = Gaussian(2.0), Laplacian(1.0)
    G, H = a.gram(X, others), b.gram(X, others)
    K, L = a(X, others), b(X, others)
    combined = 2 * G + H * 0.5 + 3.0
    np.testing.assert_allclose(combined.dense(), 2 * K + 0.5 * L + 3.0, rtol=1e-12)
    assert combined.kernel == 2 * a + b * 0.5 + 3.0
    slope = G.grad("sigma") + G  # of a formula, and of a kernel
    np.testing.assert_allclose(slope.dense(), G.grad("sigma").dense() + K, atol=1e-12)
    np.testing.assert_allclose((3 * G.grad("sigma")).dense(), 3 * G.grad("sigma").dense())


def test_only_the_same_examples_are_added() -> None:
    with pytest.raises(ValueError, match="different examples"):
        Gaussian().gram(X) + Gaussian().gram(X + 1)
    with pytest.raises(ValueError, match="different examples"):
        Gaussian().gram(X) + Gaussian().gram(X, X[:5])
    rows = sparse.csr_array(np.abs(X))
    total = Linear().gram(rows) + Polynomial(2).gram(rows.copy())
    np.testing.assert_allclose(total.dense(), (Linear() + Polynomial(2))(rows))
    with pytest.raises(TypeError):
        Gaussian().gram(X) + "1"


def test_sums_largest_and_trace() -> None:
    G, K = Polynomial(2).gram(X, Z), Polynomial(2)(X, Z)
    assert G.sum() == pytest.approx(K.sum())
    np.testing.assert_allclose(G.sum(axis=0), K.sum(axis=0))
    np.testing.assert_allclose(G.sum(axis=1), K.sum(axis=1))
    assert G.max() == K.max()
    assert Linear().gram(X).trace() == pytest.approx((X**2).sum())
    with pytest.raises(ValueError, match="axis"):
        G.sum(axis=2)


def test_the_largest_of_many_tiles() -> None:
    many = RNG.normal(size=(1500, 2))
    assert Linear().gram(many).max() == pytest.approx((many @ many.T).max())


@pytest.mark.parametrize("alpha", [0.1, 0.0])
def test_solutions(alpha) -> None:
    G, B = Laplacian(0.5).gram(X), RNG.normal(size=(40, 2))
    expected = np.linalg.solve(G.dense() + alpha * np.eye(40), B)
    np.testing.assert_allclose(G.solve(B, alpha), expected, rtol=1e-9)
    np.testing.assert_allclose(G.solve(B[:, 0], alpha), expected[:, 0], rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"), [((np.ones(3),), "40 rows"), ((np.ones(40), -1.0), "alpha")]
)
def test_what_cannot_be_solved_is_refused(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        Gaussian().gram(X).solve(*given)
    with pytest.raises(ValueError, match="only K"):
        Gaussian().gram(X, Z).solve(np.ones(40))
