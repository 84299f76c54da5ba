"""Products by threads of ours."""

import numpy as np
import pytest

import mercer
import mercer.tuning as tuning
from mercer.solvers.linear import blas


@pytest.mark.parametrize("n", [1, 7, 320, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_a_symmetric_matrix(n, dtype):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A = (A + A.T).astype(dtype)
    B = rng.normal(size=(n, 3))
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(blas.symmetric_times(A, B), A @ B, atol=tolerance * n)
    np.testing.assert_allclose(blas.times(A, B), A @ B, atol=tolerance * n)
    spoiled = A.copy()
    edge = tuning.SQUARE_ROWS
    spoiled[edge:, :edge] = np.nan  # below the squares on the diagonal nothing is read
    with mercer.config(threads=1):
        np.testing.assert_allclose(blas.symmetric_times(spoiled, B), A @ B, atol=tolerance * n)


@pytest.mark.parametrize("columns", [1, 40, 300])
def test_half_of_a_symmetric_matrix_is_enough(columns):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(700, 700))
    A, B = A + A.T, rng.normal(size=(700, columns))
    half = blas.mirror_beside_diagonal(np.triu(A))
    assert half[-1, 0] == 0
    np.testing.assert_allclose(blas.symmetric_times(half, B), A @ B, atol=1e-9)


@pytest.mark.parametrize("threads", [2, 3])
def test_shares_of_the_threads_add_up(threads):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1100, 1100))
    A, B = A + A.T, rng.normal(size=(1100, 3))
    assert A.size >= tuning.THREADED_ELEMENTS
    with mercer.config(threads=threads):
        np.testing.assert_allclose(blas.symmetric_times(A, B), A @ B, atol=1e-9)
        np.testing.assert_allclose(blas.times(A, B), A @ B, atol=1e-9)
        np.testing.assert_allclose(blas.transposed_times(A, B), A.T @ B, atol=1e-9)
