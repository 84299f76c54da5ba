"""Columns that are zero everywhere are left out of the products, and nothing else changes."""

import numpy as np
import pytest

import mercer
from mercer.kernels import BSpline, Gaussian, Laplacian, Polynomial


@pytest.fixture(autouse=True)
def free_copies(monkeypatch):
    """Columns are left out of small matrices, too."""
    monkeypatch.setattr("mercer.tuning.COPIED_NUMBER_COST", 0)


def bordered(n, seed, inner=90):
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 100))
    X[:, 95 - inner : 95] = rng.normal(size=(n, inner))
    return X


def width(gram):
    (matrix,) = gram._x.matrices.values()
    return matrix.shape[1]


@pytest.mark.parametrize("kernel", [Gaussian(9.0), Polynomial(2, 1.0), Laplacian(0.1, norm=1)])
def test_the_same_values_from_fewer_columns(kernel):
    X, Z = bordered(300, 0), bordered(7, 1)
    gram = kernel.gram(X, Z)
    assert width(gram) == 90
    np.testing.assert_allclose(gram.dense(), kernel.gram(X[:, 5:95], Z[:, 5:95]).dense())
    np.testing.assert_allclose(kernel(X), kernel(X[:, 5:95]), atol=1e-12)


def test_a_column_that_one_side_uses_stays():
    X, Z = bordered(300, 0), bordered(7, 1)
    X[299, 99] = 3.0
    assert width(Gaussian().gram(X, Z)) == 91
    Z[0, 0] = 2.0
    assert width(Gaussian().gram(X, Z)) == 92
    Z[0, 1] = -2.0
    assert width(Gaussian().gram(X, Z)) == 93


def test_left_alone_where_it_saves_nothing_or_would_be_wrong():
    X = bordered(50, 0)
    thin = bordered(50, 0, inner=95)
    thin[:, 95:97] = 1.0
    assert width(BSpline(3).gram(X)) == 100  # B(0) is not 0
    assert width(Gaussian().gram(thin)) == 100
    assert width(Gaussian().gram(np.zeros((3, 100)))) == 100
    with mercer.config(memory="100kB"):
        assert width(Gaussian().gram(X)) == 100


@pytest.mark.parametrize(("n", "m", "kept"), [(300, 7, 100), (3000, 1000, 90)])
def test_a_copy_that_takes_longer_than_it_saves_is_not_made(n, m, kept, monkeypatch):
    monkeypatch.setattr("mercer.tuning.COPIED_NUMBER_COST", 50)
    assert width(Gaussian(9.0).gram(bordered(n, 0), bordered(m, 1))) == kept
