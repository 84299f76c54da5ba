"""A factor in single precision, refined, solves as one in double precision does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

import mercer
from mercer.solvers.linear.factor import Refined, Shifted


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.tuning.REFINED_ROWS", 50)


def rows(n: int = 400) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 3))


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_it_is_as_close_as_a_factor_in_double_precision(small, alpha):
    X, B = rows(), np.random.default_rng(1).normal(size=(400, 3))
    B[:, 1] = 0.0
    gram = mercer.Gaussian(2.0).gram(X)
    factor = Shifted(gram, once=True).factor(alpha)
    assert isinstance(factor, Refined)
    A = gram.dense() + alpha * np.eye(400)
    found, direct = factor.solve(B), cho_solve(cho_factor(A), B)
    left, theirs = (np.linalg.norm(A @ x - B, axis=0).max() for x in (found, direct))
    assert left <= 2 * theirs
    np.testing.assert_allclose(found, direct, rtol=1e-9, atol=1e-12 * np.abs(direct).max())


def test_what_is_badly_conditioned_is_factorized_in_double_precision(small):
    gram = mercer.Gaussian(2.0).gram(rows())
    assert not isinstance(Shifted(gram, once=True).factor(1e-6), Refined)
    assert not isinstance(Shifted(gram).factor(1.0), Refined)


def test_what_does_not_converge_is_factorized_in_double_precision(small, monkeypatch):
    gram, b = mercer.Gaussian(2.0).gram(rows()), np.ones((400, 1))
    monkeypatch.setattr("mercer.tuning.REFINED_STEPS", 1)
    found = Shifted(gram, once=True).factor(0.1).solve(b)
    np.testing.assert_allclose((gram @ found) + 0.1 * found, b, atol=1e-12)


def test_without_room_for_a_second_matrix_there_is_none(small):
    gram = mercer.Gaussian(2.0).gram(rows())
    size = 400 * 400 * 8
    for room, kind in ((1.3, False), (1.7, True)):
        with mercer.config(memory=int(room * size)):
            assert isinstance(Shifted(gram, once=True).factor(1.0), Refined) is kind


def test_an_indefinite_matrix_is_solved_too(small):
    K = np.diag(np.linspace(-3, 4, 60))
    model = mercer.KernelRidge("precomputed", alpha=0.5, solver="cholesky", fit_intercept=False)
    with pytest.warns(UserWarning, match="definite"):
        model.fit(K, np.ones(60))
    np.testing.assert_allclose(model.dual_coef_, 1 / (np.diag(K) + 0.5))
