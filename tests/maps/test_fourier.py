"""RandomFourierMap: cosines at frequencies drawn from a kernel's spectrum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.maps import RandomFourierMap

KERNELS = [
    Gaussian(1.5),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(0.7, norm=1),
    Laplacian(0.7, norm=2),
    Matern(0.5, 1.2),
    Matern(1.5, 1.2),
    Matern(2.5, 1.2),
    RationalQuadratic(0.8, 1.3),
    Periodic(2.5, 1.1),
    2.0 * Gaussian(1.0) + 0.5,
    Gaussian(2.0) * Laplacian(0.5),
    Gaussian(1.0) + 3.0 * Periodic(2.0, 0.9),
    Gaussian(1.0).on([0, 2]),
    Matern(1.5, 0.8).on([1]) + Gaussian(2.0),
    Laplacian(0.7, norm="inf").on([0, -1]),
    Laplacian(0.7, norm="inf").on([1]),
    (2.0 * Gaussian(2.0)) ** 3,
    (5.0 * Matern(1.5, 2.0)).normalized(),
    Gaussian(1.0).on([1]).on([2, 0]),
]
RADIAL = [Gaussian(1.5), Laplacian(0.7), Matern(2.5, 1.2), RationalQuadratic(0.8, 1.3)]


@pytest.mark.parametrize("n_components", [40_000, 40_001])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_mean_is_the_kernel(rng, kernel, n_components):
    X, Z = rng.normal(size=(12, 3)), rng.normal(size=(9, 3))
    phi = RandomFourierMap(kernel, n_components, random_state=1).fit(X)
    K = kernel(X, Z)
    mass = float(kernel.diag(X)[0])
    # n/2 cosines, each within ±mass: 5 standard errors.
    assert np.abs(phi.transform(X) @ phi.transform(Z).T - K).max() < 5 * mass / np.sqrt(20_000)


@pytest.mark.parametrize("n_components", [1, 3])
def test_an_odd_feature_is_unbiased_too(rng, n_components):
    X = rng.normal(size=(4, 2))
    draws = []
    for seed in range(2000):
        F = RandomFourierMap("gaussian(1)", n_components, random_state=seed).fit_transform(X)
        draws.append(F @ F.T)
    error = np.abs(np.mean(draws, axis=0) - Gaussian(1.0)(X))
    assert (error < 4.5 * np.std(draws, axis=0) / np.sqrt(2000) + 1e-12).all()


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_orthogonal_directions_keep_the_mean(rng, kernel):
    X = rng.normal(size=(12, 3))
    phi = RandomFourierMap(kernel, 40_000, orthogonal=True, random_state=1).fit(X)
    F = phi.transform(X)
    assert np.abs(F @ F.T - kernel(X)).max() < 5 / np.sqrt(20_000)
    W = phi.frequencies_[:3]
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-12)


def _error(X: np.ndarray, n: int, **options: object) -> float:
    """The root mean square error over entries and seeds."""
    K = Gaussian(2.0)(X)
    squares = []
    for seed in range(25):
        F = RandomFourierMap("gaussian(2)", n, random_state=seed, **options).fit_transform(X)
        squares.append(np.mean((F @ F.T - K) ** 2))
    return float(np.sqrt(np.mean(squares)))


def test_error_falls_like_one_over_root_n(rng):
    X = rng.normal(size=(30, 5))
    errors = [_error(X, n) for n in (50, 200, 800)]
    assert 1.7 < errors[0] / errors[1] < 2.35
    assert 1.7 < errors[1] / errors[2] < 2.35


def test_orthogonal_directions_err_less(rng):
    X = 0.4 * rng.normal(size=(30, 16))
    assert _error(X, 32, orthogonal=True) < 0.8 * _error(X, 32)


def test_the_diagonal_is_exact_for_pairs(rng):
    X = rng.normal(size=(10, 3))
    F = RandomFourierMap("3*matern(1.5, 1)", 6, random_state=0).fit_transform(X)
    np.testing.assert_allclose((F**2).sum(axis=1), 3.0)


def test_sparse_rows_and_float32(rng):
    X = rng.normal(size=(10, 6)) * (rng.random((10, 6)) < 0.5)
    phi = RandomFourierMap(n_components=11, random_state=0).fit(X)
    np.testing.assert_allclose(phi.transform(sparse.csr_array(X)), phi.transform(X), atol=1e-12)
    F = phi.transform(X.astype(np.float32))
    assert F.dtype == np.float32
    np.testing.assert_allclose(F, phi.transform(X), atol=1e-5)


def test_names_and_seed(rng):
    X = rng.normal(size=(10, 3))
    phi = RandomFourierMap(n_components=3, random_state=4).fit(X)
    assert list(phi.get_feature_names_out()) == [f"randomfouriermap{i}" for i in range(3)]
    again = RandomFourierMap(n_components=3, random_state=4).fit_transform(X)
    np.testing.assert_array_equal(phi.transform(X), again)


def test_columns_by_name(rng):
    X = pd.DataFrame(rng.normal(size=(10, 3)), columns=["a", "b", "c"])
    kernel = Gaussian(1.0).on(["b"]).on(["c", "b"])
    F = RandomFourierMap(kernel, 40_000, random_state=0).fit_transform(X)
    assert np.abs(F @ F.T - kernel(X)).max() < 0.04
    for wrong in ("d", 3, -4):
        with pytest.raises(ValueError, match="no column"):
            RandomFourierMap(Gaussian(1.0).on([wrong])).fit(X)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(2),
        Gaussian(1.0) + Linear(),
        -Gaussian(1.0),
        Gaussian(1.0) + Constant(-1.0),
        Laplacian(1.0, norm=np.inf),
        Gaussian([1.0, 2.0]),
        pytest.param(lambda x, z: 1.0, id="function"),
    ],
    ids=repr,
)
def test_kernels_without_a_spectrum_are_refused(rng, kernel):
    with pytest.raises(ValueError):
        RandomFourierMap(kernel).fit(rng.normal(size=(5, 3)))


def test_the_refusal_says_what_would_work(rng):
    with pytest.raises(ValueError, match=r"Linear\(\).*Gaussian.*Matern.*NystromMap"):
        RandomFourierMap(Linear()).fit(rng.normal(size=(5, 3)))


@pytest.mark.parametrize("kernel", [Laplacian(1.0, norm=1), Periodic(1.0, 1.0)], ids=repr)
def test_orthogonal_needs_a_radial_kernel(rng, kernel):
    with pytest.raises(ValueError, match="orthogonal"):
        RandomFourierMap(kernel, orthogonal=True).fit(rng.normal(size=(5, 3)))


def test_one_column_is_the_same_in_every_norm(rng):
    X = rng.normal(size=(8, 1))
    for norm in (1, 2, np.inf):
        kernel = Laplacian(1.0, norm=norm)
        F = RandomFourierMap(kernel, 40_000, random_state=0).fit_transform(X)
        assert np.abs(F @ F.T - kernel(X)).max() < 0.04


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"kernel": 3}, TypeError),
        ({"kernel": "gaussian(0)"}, ValueError),
        ({"kernel": "gausian(1)"}, ValueError),
    ],
)
def test_bad_parameters(parameters, error):
    with pytest.raises(error):
        RandomFourierMap(**parameters).fit([[1.0, 2.0]])
