"""Fourier series of Gaussians: the bound on their error holds, and they are kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.gram.base import simplified
from mercer.gram.fourier_series import Series, mixture, series_of
from mercer.kernels import Gaussian, Laplacian, Linear


def features(series: Series, X: np.ndarray) -> np.ndarray:
    """e^{2πik·(x − c)/L}, one column per term, as the docstring of `Series` has it."""
    columns = np.ones((len(X), 1), dtype=complex)
    for axis, d in enumerate(series.columns):
        m = series.highest[axis]
        turns = (X[:, d] - series.center[axis]) / series.periods[axis]
        wave = np.exp(2j * np.pi * np.outer(turns, np.arange(-m if axis else 0, m + 1)))
        columns = (columns[:, :, None] * wave[:, None, :]).reshape(len(X), -1)
    return columns


@settings(deadline=None, max_examples=40)
@given(
    columns=st.integers(1, 3),
    widths=st.floats(0.2, 20.0),
    digits=st.integers(3, 14),
    seed=st.integers(0, 1000),
)
def test_no_value_is_farther_off_than_promised(columns, widths, digits, seed):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.normal(scale=5.0, size=(2, columns)), axis=0)
    X = rng.uniform(ends[0], ends[1], size=(30, columns))
    X[:2] = ends  # the largest distance there is
    sigma = np.ptp(ends, axis=0).max() / widths
    series = series_of(3.0, 0.5 / sigma**2, ends[0], ends[1], 10.0**-digits, 2e4)
    if series is None:
        assert columns == 3
        return
    assert series.error <= 10.0**-digits
    phi = features(series, X)
    K = (phi * series.weights.ravel() @ phi.conj().T).real
    exact = 3.0 * Gaussian(sigma)(X)
    assert np.abs(K - exact).max() <= 3.0 * (series.error + 1e-14)
    assert (series.weights > 0).all() or digits > 12  # tiny ones may underflow


def test_more_widths_need_more_waves_and_too_many_are_refused():
    terms = [
        series_of(1.0, 0.5 / s**2, np.zeros(2), np.ones(2), 1e-7, 1e5).terms for s in (1, 0.3, 0.1)
    ]
    assert terms == sorted(terms)
    assert series_of(1.0, 0.5 / 0.001**2, np.zeros(2), np.ones(2), 1e-7, 1e5) is None
    assert series_of(1.0, 1e308, np.zeros(1), np.full(1, 1e300), 1e-7, 1e5) is None


def test_what_is_a_mixture_of_gaussians():
    def parts(kernel):
        found = mixture(simplified(kernel))
        return None if found is None else found[1]

    assert parts(Gaussian(1.0)) == ((1.0, pytest.approx(0.5)),)
    both = parts(2.0 * Gaussian(0.5) + Gaussian(1.0) * Gaussian(2.0) + 0.25)
    assert sorted(both) == [
        (0.25, 0.0),
        (1.0, pytest.approx(0.625)),
        (2.0, pytest.approx(2.0)),
    ]
    assert parts(Gaussian([1.0, 2.0])) is not None
    for other in (Laplacian(1.0), Linear(), Gaussian(1.0) + Linear(), Gaussian(1.0) * Linear()):
        assert parts(other) is None
    # Distances of different columns have no series in common.
    assert parts(Gaussian(1.0).on([0]) + Gaussian(1.0).on([1])) is None
