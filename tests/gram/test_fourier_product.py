"""K V by Fourier series on the host: the same numbers as from all pairs, and where it is used."""

import numpy as np
import pytest

import mercer
from mercer.gram import fourier_product
from mercer.gram.fourier_series import Price
from mercer.kernels import Gaussian, Laplacian


@pytest.fixture
def eager(monkeypatch):
    """A series wherever there is one, in several steps."""
    monkeypatch.setattr(fourier_product, "WAVE_PAIRS", 0)
    monkeypatch.setattr(fourier_product, "PRICE", Price(1e-9, 0.0))
    monkeypatch.setattr(fourier_product, "PANEL_ROWS", 32)


KERNELS = [
    Gaussian(0.4),
    0.5 * Gaussian(0.5) + 2.0 * Gaussian(3.0) + 0.25,
    Gaussian([0.7, 1.0]) * 3.0,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_sums_are_those_of_all_pairs(eager, monkeypatch, kernel, dtype, limit, threads):
    monkeypatch.setattr(fourier_product, "threads_for", lambda work: threads)
    rng = np.random.default_rng(0)
    X = (rng.random((150, 2)) + 1000.0).astype(dtype)
    Z = (rng.random((1200, 2)) + 1000.2).astype(dtype)
    for gram, other in ((kernel.gram(X, Z), Z), (kernel.gram(Z), Z)):
        V = rng.normal(size=(len(other), 3))
        assert fourier_product.series_of(gram, 3) is not None
        left = X if len(gram.points()) == len(X) else Z
        K = kernel(left.astype(float), other.astype(float))
        want, scale = K @ V, K.max() * np.linalg.norm(V, axis=0).max()
        for got, expected in ((gram @ V, want), (gram @ V[:, 0], want[:, 0])):
            assert got.dtype == dtype
            assert got.shape == expected.shape
            assert np.abs(got - expected).max() <= limit * scale


def test_many_rows_take_it_by_themselves_and_predictions_agree():
    X = np.random.default_rng(1).random((9000, 1))
    G = Gaussian(0.2).gram(X)
    assert fourier_product.series_of(G, 1) is not None
    v = np.random.default_rng(2).normal(size=9000)
    np.testing.assert_allclose(G @ v, G.times(v, relative=True), atol=1e-12 * np.linalg.norm(v))
    assert "Fourier series" in str(Gaussian(0.2).explain(X))


def test_tiny_weights_keep_their_digits(eager):
    """Far from all data a weighted mean is made of weights that a series rounds away."""
    rng = np.random.default_rng(3)
    X, far = rng.random((4000, 2)), np.array([[4.2, 4.2]])
    y = np.sin(X[:, 0])
    G, w = Gaussian(0.5).gram(far, X), Gaussian(0.5)(far, X)
    assert fourier_product.series_of(G, 1) is not None
    assert 0 < w.sum() < 1e-15
    np.testing.assert_allclose(G.times(y, relative=True), w @ y, rtol=1e-8)
    model = mercer.NadarayaWatsonRegressor(Gaussian(0.5), bandwidth=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(far), w @ y / w.sum(), rtol=1e-8)


def test_few_pairs_many_columns_and_other_kernels_have_no_series(eager, monkeypatch):
    X = np.random.default_rng(4).random((300, 6))
    assert fourier_product.series_of(Laplacian(1.0).gram(X[:, :2]), 1) is None
    assert fourier_product.series_of(Gaussian(1.0).gram(X), 1) is None
    assert fourier_product.series_of(Gaussian(1e-9).gram(X[:, :2]), 1) is None
    few = Gaussian(1.0).gram(X[:, :1])
    assert fourier_product.series_of(few, 1) is not None
    with mercer.config(memory=500):
        assert fourier_product.series_of(few, 1) is None
    monkeypatch.setattr(fourier_product, "WAVE_PAIRS", 1e9)
    assert fourier_product.series_of(few, 1) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stated_error_counts_rounding_and_no_sum_of_weights_is_negative(eager, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1))
    X[:30] = 9.0 + rng.random((30, 1))  # the tail: k to all others is next to nothing
    X = X.astype(dtype)
    gram = Gaussian(0.3).gram(X)
    assert fourier_product.series_of(gram, 2) is not None
    stated = float(gram.series_in_words().split("error ≤ ")[1].split(";")[0])
    V = np.stack([np.arange(3000) >= 30, rng.normal(size=3000)], axis=1).astype(dtype)
    found = gram @ V
    assert found[:, 0].min() >= 0
    assert found[:, 1].min() < 0
    K = np.exp(-np.square(X.astype(float) - X.T.astype(float)) / (2 * 0.3**2))
    assert np.abs(found - K @ V).max() <= stated * np.abs(V).sum(axis=0).max()
    one = gram @ np.eye(3000, 1, -50, dtype=dtype)[:, 0]
    assert np.abs(one - K[:, 50]).max() <= stated
