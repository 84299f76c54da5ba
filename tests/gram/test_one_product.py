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


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_digits_are_kept_as_a_first_look_says_whatever_was_asked_before(kernel, dtype):
    formula = simplified(kernel)
    asked = one_product(formula, dtype)
    norms = np.concatenate([[0.0], 2.0 ** rng.uniform(-30, 60, 200), 2.0 ** np.arange(-3, 20)])
    for norm in rng.permutation(np.tile(norms, 2)):
        assert asked.keeps_digits(norm) == OneProduct(formula, dtype).keeps_digits(norm)
    for bad in (np.nan, np.inf, 1e300):
        assert not asked.keeps_digits(bad)


def test_small_rows_keep_digits_and_large_ones_do_not():
    form = one_product(simplified(Gaussian(1.0)), SINGLE)
    assert form.keeps_digits(1.0)
    assert not form.keeps_digits(1e12)
    assert form.keeps_digits(1.0)


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


def test_a_loop_that_has_run_is_at_hand(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(planner, "COMPILE_WORK", 0)
    monkeypatch.setattr(planner, "READY_WORK", 0)
    form = OneProduct(simplified(Gaussian(1.5)), DOUBLE)
    tile, n = np.zeros((3, 3)), np.zeros(3)
    first = form.loop(9)
    first.module.fill(first.numbers, n, n, 0, 3, tile)
    assert np.array_equal(tile, np.ones((3, 3)))
    assert form.loop(9) is form.loop(9)
    monkeypatch.setattr(planner, "COMPILE_WORK", 10**12)
    monkeypatch.setattr(planner, "READY_WORK", 10**12)
    assert form.loop(9) is None
