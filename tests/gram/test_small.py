"""A block of a few pairs without a plan: the numbers of a Gram, or no answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Laplacian, Linear, Polynomial
from mercer.gram.host import HostGram
from mercer.gram.plan.accuracy import SMALL_WORK
from mercer.gram.small import small_block, square_block
from mercer.kernels import parse

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 4)), RNG.normal(size=(14, 4))


@pytest.mark.parametrize(
    "text",
    [
        "gaussian(1.3)",
        "laplacian(0.5, norm=1)",
        "gaussian(1) + 2 * laplacian(0.3)",
        "matern(1.5)",
        "linear()",
        "polynomial(3, 1)",
        "gaussian(1.3) * linear() + polynomial(2)",
    ],
)
def test_the_bits_are_those_of_a_gram(text: str) -> None:
    k = parse(text)
    block = small_block(k, X, Z)
    if block is not None:
        np.testing.assert_array_equal(block, k.gram(X, Z).dense())
    assert (block is None) == (text == "matern(1.5)")  # which is cut off, far away


@pytest.mark.parametrize("text", ["polynomial(3, 1)", "gaussian(1.3)", "laplacian(1, norm=1)"])
def test_sparse_rows_of_products_and_squared_distances(text: str) -> None:
    k, rows = parse(text), sp.csr_array(np.where(X > 0.5, X, 0.0))
    block = small_block(k, rows, Z)
    if block is not None:
        np.testing.assert_allclose(block, k.gram(rows.toarray(), Z).dense(), rtol=1e-14)
    assert (block is None) == text.startswith("laplacian")


@pytest.mark.parametrize("text", ["cosine()", "gaussian([1, 2, 3, 4])", "gaussian(1).on([0])"])
def test_other_kernels_take_a_gram(text: str) -> None:
    assert small_block(parse(text), X, Z) is None


def test_other_rows_take_a_gram() -> None:
    broken = X.copy()
    broken[0, 0] = np.nan
    for rows in (broken, X.astype(np.float32), X[:, ::-1], X.tolist(), X[:0], X[0]):
        assert small_block(Gaussian(), rows, Z) is None
    assert small_block(Gaussian(), X, Z[:, :2].copy()) is None
    assert small_block(Gaussian(), RNG.normal(size=(400, 4)), RNG.normal(size=(400, 4))) is None


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(norm=1), Laplacian(norm=np.inf), Linear()]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [9, 160])
def test_what_is_no_number_is_for_a_gram_to_say(
    kernel: mercer.Kernel, value: float, n: int
) -> None:
    rows = RNG.normal(size=(n, 4))
    assert small_block(kernel, rows, rows) is not None
    rows[n // 2, 3] = value
    with np.errstate(invalid="ignore"):
        for one, other in ((rows, rows), (rows, Z), (Z, rows)):
            assert small_block(kernel, one, other) is None


def test_what_may_overflow_is_for_a_gram_to_say() -> None:
    k = parse("polynomial(3, 1)")
    assert small_block(k, 1e90 * X, 1e90 * Z) is None
    with pytest.raises(ValueError, match="k overflows"):
        k.gram(1e90 * X, 1e90 * Z)


def test_a_limit_of_memory_is_for_a_plan_to_keep() -> None:
    with mercer.config(memory="1MB"):
        assert small_block(Gaussian(), X, Z) is None


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.5), Laplacian(0.5, norm=1), Laplacian(0.5)], ids=repr
)
@pytest.mark.parametrize("n", [1, 2, 9, 150, 300])
def test_a_square_block_is_the_gram(kernel: mercer.Kernel, n: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, 6))
    K = square_block(kernel, X)
    assert np.abs(K - HostGram(kernel, X).dense()).max() < 1e-15
    assert np.array_equal(K, K.T)
    assert np.array_equal(K.diagonal(), kernel.diag(X))
    assert np.array_equal(kernel(X), K)
    if n * n * 6 <= SMALL_WORK:
        assert np.array_equal(small_block(kernel, X, X), K)


@pytest.mark.parametrize("kernel", [Gaussian(6.0), Polynomial(3, 1.0)], ids=repr)
@pytest.mark.parametrize("shape", [(3, 300), (90, 30), (200, 120)])
def test_a_square_block_of_a_product_is_the_gram(
    kernel: mercer.Kernel, shape: tuple[int, int]
) -> None:
    X = np.random.default_rng(0).normal(size=shape) + 1.0
    K, expected = square_block(kernel, X), HostGram(kernel, X).dense()
    assert np.abs(K - expected).max() <= 1e-13 * np.abs(expected).max()
    assert np.array_equal(K, K.T)
    assert np.array_equal(K.diagonal(), kernel.diag(X))


def test_a_square_block_is_left_to_the_gram() -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))
    assert square_block(Polynomial(3, 1.0), 1e90 * X) is None  # `Gram` says that k overflows
    assert square_block(Gaussian(1e-3), 1e3 + np.tile(X, (1, 4))) is None  # a product cancels
    assert square_block(Gaussian(), np.tile(X, (10, 1))) is None  # worth two threads
    assert square_block(Gaussian(), X.astype(np.float32)) is None
    X[1, 1] = 1e200
    assert square_block(Gaussian(), X) is None
    X[1, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Gaussian()(X)
