"""What a formula of one product decides by itself: found once, and the same as looked at anew."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Cosine, Gaussian, Laplacian, Linear, Polynomial
from mercer.gram.base import simplified
from mercer.gram.dispatch import make_gram
from mercer.gram.one_product import OneProduct, one_product
from mercer.gram.plan import planner

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
KERNELS = [Gaussian(0.7), Polynomial(3, 1.0), Linear(), 2 * Gaussian(2.0) + Gaussian(0.1)]
rng = np.random.default_rng(0)


def test_small_rows_keep_digits_and_large_ones_do_not():
    form = one_product(simplified(Gaussian(1.0)), SINGLE)
    assert form.keeps_digits(20, 1.0)
    for bad in (1e12, np.nan, np.inf, 1e300):
        assert not form.keeps_digits(20, bad)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_largest_value_is_that_of_the_diagonal(kernel):
    form = one_product(simplified(kernel), DOUBLE)
    X = rng.normal(size=(30, 4))
    expected = make_gram(kernel, X).diagonal().max()
    assert form.largest(np.einsum("ij,ij->i", X, X)) == pytest.approx(expected, rel=1e-12)


def test_a_difference_of_powers_has_its_largest_value_anywhere():
    kernel = 2 * Linear() - Polynomial(2, 0.0)
    form, norms = one_product(simplified(kernel), DOUBLE), np.array([0.1, 1.0, 1.9])
    assert form.largest(norms) == pytest.approx(1.0)


def test_a_value_too_large_is_infinite():
    assert one_product(simplified(Polynomial(9)), DOUBLE).largest(np.array([1e200])) == np.inf


def test_one_formula_is_looked_at_once():
    assert one_product(simplified(Gaussian(3.0)), SINGLE) is one_product(
        simplified(Gaussian(3.0)), SINGLE
    )
    assert one_product(simplified(Laplacian(1.0, norm=1)), SINGLE) is None
    assert one_product(simplified(Cosine()), SINGLE) is None


def test_a_loop_is_compiled_from_a_number_of_pairs_on(monkeypatch):
    pytest.importorskip("numba")
    form = OneProduct(simplified(Gaussian(1.5)), DOUBLE)
    monkeypatch.setattr(planner, "COMPILE_WORK", 9 * form.operations)
    tile, n = np.zeros((3, 3)), np.zeros(3)
    first = form.loop(9)
    first.module.fill(first.numbers, n, n, 0, 3, tile)
    assert np.array_equal(tile, np.ones((3, 3)))
    assert form.loop(9) is first
    assert form.loop(8) is None
