"""A block of a few pairs without a plan: the numbers of a Gram, or no answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Laplacian, Linear
from mercer.gram.small import small_block
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
