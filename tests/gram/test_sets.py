"""Sums over all sets of n columns of the products of their bodies, in every engine of the host."""

import itertools
import math

import numpy as np
import pytest

from mercer._tiles import Scratch
from mercer.formula import pairwise_mp
from mercer.formula.nodes import ROOT, X_J, reduce_columns
from mercer.gram.row_values import over_sets
from mercer.kernels import Anova

RNG = np.random.default_rng(3)


def by_definition(X, degree, sigma):
    each = np.exp(-((X[:, None] - X[None]) ** 2) / (2 * sigma**2))
    sets = itertools.combinations(range(X.shape[1]), degree)
    return sum(np.prod(each[:, :, list(s)], axis=2) for s in sets)


@pytest.mark.parametrize(("columns", "degree"), [(4, 2), (7, 7), (13, 12), (40, 2), (12, 6)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_any_degree_up_to_the_columns_keeps_its_digits(columns, degree, dtype, tolerance):
    """With Newton's identities the sums cancelled: six digits were lost at degree 10 of 12."""
    X = RNG.normal(size=(20, columns)).astype(dtype)
    gram = Anova(degree, 1.5).gram(X)
    exact = by_definition(X.astype(float), degree, 1.5)
    slack = tolerance * math.comb(columns, degree)
    np.testing.assert_allclose(gram.dense(), exact, atol=slack)
    np.testing.assert_allclose(gram @ np.ones(20), exact.sum(axis=1), atol=20 * slack)
    np.testing.assert_array_equal(gram.diagonal(), math.comb(columns, degree))


@pytest.mark.parametrize(("columns", "degree"), [(3, 3), (3, 4), (20, 5), (20, 21)])
def test_compiled_loops_agree(columns, degree):
    X = RNG.normal(size=(20, columns))
    gram = Anova(degree, 1.5).gram(X)
    plain, compiled = np.empty((20, 20)), np.empty((20, 20))
    for use, out in ((False, plain), (True, compiled)):
        engine = gram._filler(gram._plan()._replace(compiled=use))
        engine.fill(slice(0, 20), slice(0, 20), out, Scratch(0))
    np.testing.assert_allclose(compiled, plain, rtol=1e-13)
    assert (plain > 0).all() == (degree <= columns)
    exact = float(pairwise_mp(gram.formula, X[0], X[1]))
    assert plain[0, 1] == pytest.approx(exact, rel=1e-13)


def test_more_columns_than_there_are_is_zero_at_once():
    assert (Anova(10**9)(np.ones((3, 2))) == 0).all()


@pytest.mark.parametrize("degree", [2, 5, 10])
def test_the_derivative(degree):
    X, h = RNG.normal(size=(6, 11)), 1e-5
    found = Anova(degree, 1.5).gradient(X)["sigma"]
    ends = Anova(degree, 1.5 + h)(X) - Anova(degree, 1.5 - h)(X)
    np.testing.assert_allclose(found, ends / (2 * h), rtol=1e-6, atol=1e-6)
    with pytest.raises(NotImplementedError, match="sets of 11 columns have no derivative"):
        Anova(11).gradient(X)


def test_the_recursion():
    values = RNG.normal(size=(5, 3))
    for size in range(1, 6):
        sets = itertools.combinations(values, size)
        np.testing.assert_allclose(over_sets(values, size), sum(map(math.prod, sets)))
    with pytest.raises(ValueError, match="sets of n"):
        reduce_columns("sets of none", X_J, ROOT)
