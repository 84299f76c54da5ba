"""Linear algebra for arrays and tensors: the same answers from both, factors in place or not."""

import numpy as np
import pytest

from mercer import _linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(7, 7))
A = A @ A.T + np.eye(7)
B = RNG.normal(size=(7, 2))


@pytest.fixture(params=["numpy", "torch"])
def there(request):
    if request.param == "numpy":
        return np.array
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.tensor


def test_factors_and_solves(there):
    L = _linalg.cholesky(there(A))
    lower = np.tril(np.asarray(L))
    np.testing.assert_allclose(lower @ lower.T, A, atol=1e-12)
    np.testing.assert_allclose(A @ np.asarray(_linalg.cholesky_solve(L, there(B))), B, atol=1e-10)
    np.testing.assert_allclose(lower @ np.asarray(_linalg.solve_lower(L, there(B))), B, atol=1e-10)
    turned = _linalg.solve_lower(L, there(B), transposed=True)
    np.testing.assert_allclose(lower.T @ np.asarray(turned), B, atol=1e-10)
    inverse = np.asarray(_linalg.inverse_lower(there(lower)))
    np.testing.assert_allclose(inverse @ lower, np.eye(7), atol=1e-12)
    values, vectors = (np.asarray(part) for part in _linalg.eigh(there(A)))
    np.testing.assert_allclose(vectors * values @ vectors.T, A, atol=1e-12)
    assert _linalg.dot(there(A), there(A)) == pytest.approx(np.sum(A * A))


def test_a_matrix_without_a_factor_is_put_back(there):
    indefinite = A - 3.0 * np.eye(7)
    given = there(indefinite)
    assert _linalg.cholesky(given) is None
    np.testing.assert_array_equal(np.asarray(given), indefinite)
    turned = np.asfortranarray(A)  # in another order of memory: nothing is overwritten
    lower = np.tril(_linalg.cholesky(turned))
    np.testing.assert_allclose(lower @ lower.T, A, atol=1e-12)
    np.testing.assert_array_equal(turned, A)


def test_adding_to_the_diagonal(there):
    changed = there(A)
    _linalg.add_to_diagonal(changed, 2.0)
    np.testing.assert_allclose(np.asarray(changed), A + 2.0 * np.eye(7))


@pytest.mark.parametrize("rank", [7, 3, 0])
def test_independent_rows_and_their_factor(there, rank):
    low = RNG.normal(size=(7, rank))
    K = A if rank == 7 else low @ low.T
    kept, F = _linalg.independent(there(K), 1e-10)
    assert len(kept) == F.shape[1] == rank
    F = np.asarray(F)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-8)
    np.testing.assert_array_equal(np.triu(F[kept], 1), 0.0)
