"""Cholesky in place: by NumPy's LAPACK, and by SciPy's."""

import numpy as np
import pytest

from mercer._machine import cholesky


@pytest.fixture(params=["numpy", "scipy"], autouse=True)
def whose(request, monkeypatch):
    if request.param == "scipy":
        monkeypatch.setattr(cholesky, "_by_numpy", lambda kind: None)
    elif cholesky._by_numpy("d") is None:
        pytest.skip("NumPy's LAPACK has another name here")


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
