"""Cholesky in place, and what is solved with it."""

import numpy as np
import pytest

from mercer._machine import cholesky


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_one_triangle_holds_the_factor_and_the_other_what_it_held(n, dtype):
    R = np.random.default_rng(n).normal(size=(n, n + 5))
    A = R @ R.T + n * np.eye(n)
    L = np.linalg.cholesky(A)
    for lower, own in ((1, np.triu), (0, np.tril)):
        found = A.astype(dtype)
        other = ~own(np.ones((n, n), bool))
        found[other] = 17.0
        assert cholesky.factorize(found, lower)
        expected = own(L.T if lower else L)
        np.testing.assert_allclose(own(found), expected, atol=20 * np.finfo(dtype).eps * n)
        assert (found[other] == 17.0).all()


def test_what_is_not_definite_is_told():
    assert not cholesky.factorize(np.diag([1.0, -1.0]), lower=1)


def test_what_lapack_would_misread_is_refused():
    for A in (np.eye(4)[:, ::2], np.ones((2, 3)), np.eye(3).T[1:]):
        with pytest.raises(ValueError, match="in C order"):
            cholesky.factorize(A, lower=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [(), (1,), (4,)])
@pytest.mark.parametrize("lower", [0, 1])
def test_what_is_solved_and_inverted(dtype, columns, lower):
    rng = np.random.default_rng(3)
    R, B = rng.normal(size=(60, 70)), rng.normal(size=(60, *columns))
    A = R @ R.T + 60 * np.eye(60)
    U, kept = A.astype(dtype), np.array(B)
    assert cholesky.factorize(U, lower)
    own, close = (np.triu if lower else np.tril), 500 * np.finfo(dtype).eps
    T = own(U).astype(float).T  # as LAPACK sees it
    np.testing.assert_allclose(cholesky.solve(U, B, lower), np.linalg.solve(A, B), atol=close)
    for transposed in (False, True):
        found = cholesky.solve_triangular(U, B, lower, transposed)
        np.testing.assert_allclose(found, np.linalg.solve(T.T if transposed else T, B), atol=close)
        assert found.shape == B.shape
        assert (kept == B).all()
    inverse, triangle = U.copy(), U.copy()
    cholesky.invert(inverse, lower)
    np.testing.assert_allclose(own(inverse), own(np.linalg.inv(A)), atol=close)
    cholesky.invert_triangle(triangle, lower)
    np.testing.assert_allclose(own(triangle).T, np.linalg.inv(T), atol=close)


def test_a_singular_triangle_is_told():
    for call in (cholesky.invert, cholesky.invert_triangle):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            call(np.diag([1.0, 0.0, 2.0]), 1)
    with pytest.raises(np.linalg.LinAlgError, match="row 2"):
        cholesky.solve_triangular(np.diag([1.0, 0.0, 2.0]), np.ones(3), 1, False)


def test_no_rows_at_all():
    empty = np.empty((0, 0))
    assert cholesky.factorize(empty, 1)
    assert cholesky.solve(empty, np.empty((0, 2)), 1).shape == (0, 2)
    assert cholesky.solve_triangular(empty, np.empty(0), 1, False).shape == (0,)
    cholesky.invert(empty, 1)
    cholesky.invert_triangle(empty, 1)
