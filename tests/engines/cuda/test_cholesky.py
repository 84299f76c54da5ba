"""Cholesky in blocks as a device does it, by PyTorch's own functions on the CPU."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


from mercer import Gaussian  # noqa: E402
from mercer.engines.cuda.gram import CudaGram  # noqa: E402
from mercer.engines.cuda.solvers import cholesky, evidence  # noqa: E402
from mercer.kernels import NegativeSquaredDistance  # noqa: E402

N = 45


def rows(seed=0, dtype=torch.float64):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(N, 2))).to(dtype)


def positive():
    G = np.random.default_rng(1).normal(size=(N, N))
    return G @ G.T + np.eye(N)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 8 where the module's own number is read."""
    monkeypatch.setattr(cholesky, "FACTOR_COLUMNS", 8)


@pytest.mark.parametrize("block", [1, 8, 44, 45, 100])
def test_blocks_give_the_factor(block):
    A, B = positive(), np.random.default_rng(2).normal(size=(N, 3))
    L = torch.tensor(A)
    assert cholesky.cholesky_in_place(L, block)
    np.testing.assert_allclose(np.tril(L.numpy()), np.linalg.cholesky(A), atol=1e-10)
    X = torch.tensor(B)
    cholesky.solve_lower(L, X, block)
    np.testing.assert_allclose(np.linalg.cholesky(A) @ X.numpy(), B, atol=1e-10)
    cholesky.solve_upper(L, X, block)
    np.testing.assert_allclose(A @ X.numpy(), B, atol=1e-9)
    late = torch.tensor(B)
    late[:20] = 0.0
    wanted = np.linalg.solve(np.linalg.cholesky(A), late.numpy())
    cholesky.solve_lower(L, late, block, first=20)
    np.testing.assert_allclose(late.numpy(), wanted, atol=1e-10)


@pytest.mark.parametrize("block", [1, 8, 44, 45, 100])
def test_the_inverse_takes_the_place_of_the_factor(block):
    A = positive()
    L = torch.tensor(np.linalg.cholesky(A) + 7.0 * np.triu(np.ones((N, N)), 1))  # never read
    evidence.invert_lower(L, block)
    np.testing.assert_allclose(np.tril(L.numpy()) @ np.linalg.cholesky(A), np.eye(N), atol=1e-9)
    evidence.squares_of_inverse(L, block)
    np.testing.assert_allclose(np.tril(L.numpy()), np.tril(np.linalg.inv(A)), atol=1e-9)


@pytest.mark.parametrize("place", [0, 20, N - 1])
def test_no_factor_where_a_later_block_is_not_positive(place):
    A = positive()
    A[place, place] -= 1e3
    assert not cholesky.cholesky_in_place(torch.tensor(A), 8)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_inverse_and_its_diagonal(small_blocks, scaled):
    X, b = rows(), np.random.default_rng(3).normal(size=N)
    s = np.random.default_rng(4).uniform(0.5, 2.0, N) if scaled else np.ones(N)
    A = s[:, None] * Gaussian(1.5)(X.numpy()) * s + 0.1 * np.eye(N)
    found = cholesky.DeviceShifted(CudaGram(Gaussian(1.5), X), s if scaled else None).factor(0.1)
    assert isinstance(found, cholesky.DeviceFactor)
    np.testing.assert_allclose(found.solve(b), np.linalg.solve(A, b), atol=1e-9)
    np.testing.assert_allclose(found.inverse_diagonal(), np.linalg.inv(A).diagonal(), rtol=1e-9)


def test_a_rough_factor_is_corrected_by_the_residual():
    X, b = rows(), np.random.default_rng(3).normal(size=(N, 2))
    A = Gaussian(1.5)(X.numpy()) + 0.1 * np.eye(N)
    rough = torch.tensor(np.linalg.cholesky(1.001 * A))
    shifted = cholesky.DeviceShifted(CudaGram(Gaussian(1.5), X))
    found = cholesky.DeviceFactor(shifted, 0.1, rough).solve(b)
    assert np.linalg.norm(A @ found - b) < 1e-6 * np.linalg.norm(b)


def test_corrections_that_do_not_help_are_not_made():
    X, b = rows(), np.random.default_rng(3).normal(size=N)
    shifted = cholesky.DeviceShifted(CudaGram(Gaussian(1.5), X))
    # A factor of another matrix: each correction by it would make things worse.
    wrong = torch.tensor(np.linalg.cholesky(0.1 * shifted._matrix(0.1).numpy()))
    factor = cholesky.DeviceFactor(shifted, 0.1, wrong)
    np.testing.assert_allclose(factor.solve(b), factor._once(torch.tensor(b)[:, None])[:, 0])


@pytest.mark.parametrize("known", [True, False])
def test_a_kernel_that_is_not_positive_definite(small_blocks, known):
    # Little on the diagonal: rows are exchanged.
    X, b = rows(), np.random.default_rng(3).normal(size=(N, 2))
    A = NegativeSquaredDistance()(X.numpy()) + 1e-3 * np.eye(N)
    kernel = NegativeSquaredDistance() if known else NegativeSquaredDistance().formula()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = cholesky.DeviceShifted(CudaGram(kernel, X)).factor(1e-3)
    # Of a kernel that the rules refute the learner has said it before.
    assert ["not positive semi-definite" in str(w.message) for w in said] == [True] * (not known)
    assert isinstance(found, cholesky.DeviceLU)
    np.testing.assert_allclose(A @ found.solve(b), b, atol=1e-8)
    np.testing.assert_allclose(A @ found.solve(b[:, 0]), b[:, 0], atol=1e-8)
    np.testing.assert_allclose(found.inverse_diagonal(), np.linalg.inv(A).diagonal(), rtol=1e-7)
