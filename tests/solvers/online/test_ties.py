"""Ties: every loop decides as exact arithmetic does, whatever the order in which it adds terms.

The textbook runs on whole numbers, which are exact. The loops get the same numbers times 0.1, and a
rate of 0.1: the scores are the same up to a factor and to rounding, and so must the updates be.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.solvers.online.test_dual import FEW, Textbook, problems

from mercer import KernelPerceptron, Perceptron
from mercer.kernels import Gaussian, Linear, Polynomial, Similarity
from mercer.maps import PolynomialMap
from mercer.solvers.online.budget import BudgetPerceptron, Store
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.primal import PrimalPerceptron
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run


def _made(walker, n, epochs):
    run(walker, Schedule(n, epochs))
    return list(zip(walker.journal.positions, walker.journal.times, strict=True))


@FEW
@given(problems(), st.sampled_from([1, 3]), st.integers(1, 50), st.integers(1, 20))
def test_rounding_decides_no_tie(problem, epochs, block, leaf):
    X, labels, rule, _ = problem
    n, outputs = X.shape[0], rule.outputs
    whole = Rule(outputs, rule.ranked, rule.first)
    expected = Textbook(X @ X.T, labels, whole).run(epochs).mistakes
    rounded = Rule(outputs, rule.ranked, rule.first, rate=0.1)
    Z = 0.1 * X
    dual = DualPerceptron(Linear().gram(Z), labels, rounded, block=block, leaf=leaf)
    assert _made(dual, n, epochs) == expected
    for rows in (Z, sp.csr_array(Z)):
        zeros = np.zeros((outputs, X.shape[1]))
        primal = PrimalPerceptron(rows.__getitem__, labels, rounded, zeros, block=block)
        assert _made(primal, n, epochs) == expected
    store = Store(n, outputs, "oldest")
    kept = BudgetPerceptron(Linear().gram(Z), labels, rounded, store, random=None, block=block)
    assert _made(kept, n, epochs) == expected


@settings(FEW, max_examples=40)
@given(problems())
def test_streams_decide_alike(problem):
    X, labels, rule, _ = problem
    classes = np.arange(max(2, rule.outputs))
    book = Textbook(X @ X.T, labels, Rule(rule.outputs, rule.outputs > 1)).run(1)
    for model in (KernelPerceptron(Linear()), Perceptron()):
        model.set_params(learning_rate=0.1)
        for i in range(len(X)):
            model.partial_fit(0.1 * X[i : i + 1], labels[i : i + 1], classes)
        assert model.mistakes_.tolist() == [i for i, _ in book.mistakes]


@settings(FEW, max_examples=40)
@given(problems())
def test_the_steps_of_b_are_terms_too(problem):
    """b ← b + 0.1 y on whole numbers: the scores are those of a rate of 1, times 0.1."""
    X, labels, rule, _ = problem
    assume(len(np.unique(labels)) == max(2, rule.outputs))
    whole = Rule(rule.outputs, rule.outputs > 1, bias=True)
    book = Textbook(X @ X.T, labels, whole).run(3)
    for model in (KernelPerceptron(Linear(), 3), Perceptron(epochs=3)):
        model.set_params(learning_rate=0.1, fit_intercept=True, shuffle=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, labels)
        assert model.mistakes_.tolist() == [i for i, _ in book.mistakes]


@pytest.mark.parametrize("tie", ["mistake", "first"])
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_the_primal_perceptron_makes_the_mistakes_of_the_dual_on_xor(tie, degree):
    """Lecture 000's own example: φ(x) has √2 x₁x₂ in it, so ⟨w, φ(x)⟩ is −4.4e-16 for 0."""
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    y = [1, -1, 1, -1]
    options = {"tie": tie, "shuffle": False, "epochs": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dual = KernelPerceptron(Polynomial(degree), **options).fit(X, y)
        primal = Perceptron(PolynomialMap(degree), **options).fit(X, y)
    assert primal.mistakes_.tolist() == dual.mistakes_.tolist()
    w = PolynomialMap(degree).fit(X).transform(X).T @ dual.alpha_
    np.testing.assert_allclose(primal.coef_[0], w, atol=1e-14)


@pytest.mark.parametrize("shuffle", [False, True])
def test_sizes_evaluate_no_pair_twice(shuffle):
    """All terms are tiny, so that each visit asks for sizes: once more per pair, in all epochs."""
    seen = Counter()

    def k(x, z):
        seen[float(x[0]), float(z[0])] += 1
        return float(np.exp(-200 * (x[0] - z[0]) ** 2))

    rng = np.random.default_rng(0)
    X, labels = rng.permutation(40)[:, None].astype(float), rng.integers(0, 2, 40)
    walker = DualPerceptron(Similarity(k).gram(X), labels, Rule(1, False), block=16, leaf=4)
    run(walker, Schedule(40, 6, np.random.RandomState(0) if shuffle else None))
    assert max(count for (x, z), count in seen.items() if x != z) == 2
    sizes = walker._sizes.exact(slice(0, 40))
    K = np.array([[k(x, z) for z in X] for x in X])
    steps = np.bincount(walker.journal.positions, np.abs(walker.journal.units[:, 0]), 40)
    np.testing.assert_allclose(sizes[:, 0], K @ steps)


def test_a_small_score_of_small_terms_is_no_tie():
    """Far from all examples k is tiny, and its sign counts: only exact sizes can tell that."""
    X = np.array([[0.0], [9.0], [9.1]])
    model = KernelPerceptron(Gaussian(1.0), shuffle=False, epochs=1).fit(X, [0, 0, 1])
    assert abs(model.expansion_([[9.0]])[0]) > 0
    assert model.mistakes_.tolist() == [0, 2]
    assert Gaussian(1.0)([[0.0]], [[9.0]])[0, 0] < 1e-17  # below the bound, far above the tie
