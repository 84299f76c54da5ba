"""Linear maps of the rows: `warp` by a matrix or by scales, and `metric`."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Laplacian, Linear
from mercer.kernels import parse

X = np.random.default_rng(0).normal(size=(12, 3))
A = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


def test_a_matrix_maps_x_to_Ax_and_scales_multiply_columns():
    k = Laplacian(0.7, norm=1)
    assert np.allclose(k.warp(A)(X), k(X @ A.T), rtol=1e-14)
    assert np.allclose(k.warp([2.0, 0.0, -0.5])(X), k(X * [2.0, 0.0, -0.5]), rtol=1e-14)


def test_a_metric_is_the_quadratic_form_of_the_difference():
    M = A.T @ A
    d = X[:, None] - X[None]
    expected = np.exp(-0.5 * np.einsum("ija,ab,ijb->ij", d, M, d))
    assert np.allclose(Gaussian().metric(M)(X), expected, atol=1e-12)
    assert Gaussian().metric([4.0, 0.0, 1.0]) == Gaussian().warp([2.0, 0.0, 1.0])


def test_text_files_and_proofs_follow(tmp_path):
    k = 2.0 * mercer.kernels.Wendland(1).warp(A) + Linear()
    assert parse(repr(k)) == k
    assert hash(parse(repr(k))) == hash(k)
    assert k.claim(3).holds
    assert mercer.kernels.Wendland(1).claim(5).holds is None
    assert mercer.kernels.Wendland(1).warp(np.ones((2, 5))).claim(5).holds is True
    model = mercer.KernelRidge(k, alpha=0.1).fit(X, X[:, 0])
    mercer.save(model, tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").predict(X), model.predict(X))


def test_widths_see_the_rows_after_the_map():
    assert Gaussian("median").warp(A).fitted(X) == Gaussian("median").fitted(X @ A.T).warp(A)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([[np.nan]], "finite"),
        (["a"], "linear map"),
        ([], "linear map"),
        (np.ones((2, 2, 2)), "linear map"),
    ],
)
def test_what_is_no_linear_map_is_refused(given, says):
    with pytest.raises(ValueError, match=says):
        Linear().warp(given)


@pytest.mark.parametrize("M", [[[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [1.0, -1.0]])
def test_what_is_no_metric_is_refused(M):
    with pytest.raises(ValueError, match="metric"):
        Linear().metric(M)


def test_the_width_of_the_rows_is_checked():
    with pytest.raises(ValueError, match="columns"):
        Linear().warp(A)(X[:, :2])
    with pytest.raises(ValueError, match="columns"):
        Linear().warp([1.0, 2.0])(X)
