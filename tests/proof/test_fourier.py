"""The numerical spectrum: against closed forms, and passing or failing where it must."""

import math

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.proof import fourier_check


def tent(r):
    return np.maximum(0, 1 - r)


def test_the_tent_passes_on_the_line_and_fails_in_the_plane():
    for k in (
        tent,
        lambda x, z: max(0, 1 - np.linalg.norm(x - z)),
        mk.Similarity(lambda x, z: max(0, 1 - np.linalg.norm(x - z))),
    ):
        assert fourier_check(k, n_features=1).passes
        assert not fourier_check(k, n_features=2).passes
        assert not fourier_check(k, n_features=3)


@pytest.mark.parametrize("n_features", [1, 2])
@pytest.mark.parametrize(
    "k",
    [
        mk.Gaussian(0.01),
        mk.Laplacian(rate=50.0),
        mk.Matern(0.5),
        mk.Matern(1.5, 20.0),
        mk.Matern(2.5),
        mk.RationalQuadratic(0.3),
        mk.BSpline(1),
        mk.BSpline(3, width=0.1),
        mk.BSpline(5),
        mk.Laplacian(norm=1),
        mk.Periodic(0.7),
        mk.Constant(2.0),
    ],
    ids=repr,
)
def test_valid_kernels_pass(k, n_features):
    check = fourier_check(k, n_features)
    assert check.passes, str(check)
    assert check.minimum >= -check.tolerance
    assert len(check.negative_at) == 0


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize(
    "k",
    [
        mk.Uniform(),
        mk.Epanechnikov(5.0),
        mk.Tricube(0.2),
        mk.BSpline(0),
        mk.BSpline(2),
        mk.BSpline(4, width=3.0),
        mk.BSpline(8),
        mk.Gaussian() - 0.5 * mk.Gaussian(3.0),
    ],
    ids=repr,
)
def test_others_fail(k, n_features):
    check = fourier_check(k, n_features)
    assert not check.passes, str(check)
    assert check.minimum < -100 * check.tolerance
    assert check.minimum_at in check.negative_at


def test_dimension_limits():
    for smoothness in range(4):
        k = mk.Wendland(smoothness)
        assert all(fourier_check(k, d) for d in (1, 2, 3))
        assert not fourier_check(k, 5 + 2 * smoothness)
    k = mk.Laplacian(norm="inf")
    assert [fourier_check(k, d).method for d in (1, 2, 3)] == ["radial", "grid", "grid"]
    assert [fourier_check(k, d).passes for d in (1, 2, 3)] == [True, True, False]
    assert fourier_check(mk.Matern(2.5), 5)
    with pytest.raises(ValueError, match="at most 3 dimensions"):
        fourier_check(k, 4)


def test_spectra_in_closed_form():
    for d in (1, 2, 3, 4, 7):
        check = fourier_check(mk.Gaussian(2.0), d)
        expected = (2 * np.pi * 4) ** (d / 2) * np.exp(-2 * check.frequencies**2)
        assert check.spectrum == pytest.approx(expected, abs=1e-12 * expected[0])
    check = fourier_check(mk.Laplacian(), 1)
    assert check.spectrum == pytest.approx(2 / (1 + check.frequencies**2), rel=1e-9)
    check = fourier_check(mk.Laplacian(), 3)
    assert check.spectrum == pytest.approx(
        8 * np.pi / (1 + check.frequencies**2) ** 2, abs=1e-11 * 8 * np.pi
    )
    check = fourier_check(mk.Uniform(), 1)
    w = check.frequencies[1:]
    assert check.spectrum[1:] == pytest.approx(2 * np.sin(w) / w, abs=1e-12)
    assert check.negative_at[0] == pytest.approx(np.pi, abs=0.2)
    check = fourier_check(tent, 1)
    assert check.spectrum == pytest.approx(np.sinc(check.frequencies / 2 / np.pi) ** 2, abs=1e-12)


def test_products_over_columns():
    k = mk.Gaussian(sigma=[1.0, 5.0, 0.1])
    assert fourier_check(k, 3).method == "product"
    assert fourier_check(mk.Gaussian().on(0) * mk.Laplacian().on(1), 2).passes
    check = fourier_check(mk.Gaussian().on(0) * mk.Uniform().on(1), 2)
    assert check.method == "product"
    assert not check.passes


def test_a_profile_of_single_numbers():
    check = fourier_check(lambda r: max(0.0, 1 - r), n_features=2)
    assert check.minimum == pytest.approx(fourier_check(tent, 2).minimum)


def test_a_function_of_two_numbers():
    assert fourier_check(lambda x, z: math.exp(-abs(x - z)), 1).passes
    assert not fourier_check(lambda x, z: math.fabs(x - z) <= 1, 1).passes


def test_what_has_no_spectrum():
    for k in (mk.Linear(), mk.Gaussian() + mk.Linear(), lambda x, z: float(x @ z), "linear()"):
        with pytest.raises(ValueError, match="not translation invariant"):
            fourier_check(k, 2)
    with pytest.raises(ValueError, match="not symmetric"):
        fourier_check(lambda x, z: float(np.exp(-((x - z - 1) ** 2).sum())), 1)
    with pytest.raises(ValueError, match="everywhere"):
        fourier_check(mk.ChiSquared(), 2)
    with pytest.raises(ValueError, match="finite"):
        fourier_check(lambda r: np.where(r < 9, 1.0, np.inf), 1)
    for bad, error in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="n_features"):
            fourier_check(mk.Gaussian(), bad)


def test_no_number_of_the_lattice_is_left_to_chance(monkeypatch):
    """Memory that nobody wrote to may hold anything: here it holds what spoils every sum."""
    expected = fourier_check(mk.Laplacian(norm="inf"), 2).spectrum
    plain = np.empty

    def spoiled(*shape, **options):
        array = plain(*shape, **options)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        return array

    monkeypatch.setattr(np, "empty", spoiled)
    found = fourier_check(mk.Laplacian(norm="inf"), 2)
    assert found.passes
    np.testing.assert_allclose(found.spectrum, expected)


def test_it_prints():
    passes, fails = fourier_check(mk.Gaussian(), 2), fourier_check(mk.Uniform(), 1)
    assert str(passes).startswith("✓ the spectrum of Gaussian() in 2 dimensions is ≥ 0 (radial")
    assert "✗ the spectrum of Uniform() in 1 dimension is negative" in str(fails)
    assert "first below zero at ω = 3." in str(fails)
