"""Bandwidths: the rule, the search, and what it does with copies."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Epanechnikov, Gaussian, Kernel, Linear, Polynomial, Uniform
from mercer.solvers.local.bandwidth import (
    Choice,
    copies,
    leave_one_out_bandwidth,
    rule_of_thumb,
    width_of,
)


def valley(bottom: float, n: int = 50) -> Choice:
    """A loss that is least at `bottom`: the prediction error is |log h − log bottom|."""

    def left_out(h: float, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), 1), np.log(h / bottom))

    return leave_one_out_bandwidth(left_out, np.zeros((n, 1)) + 0.0, 1.0)


@pytest.mark.parametrize("bottom", [1.0, 0.3, 30.0, 1e-4, 1e4])
def test_the_bottom_is_found_to_a_thousandth(bottom: float) -> None:
    assert valley(bottom).bandwidth == pytest.approx(bottom, rel=2e-3)


def test_everything_tried_is_kept() -> None:
    found = valley(0.7)
    assert 10 < len(found.tried) < 40
    assert min(error for _, error in found.tried) == pytest.approx(found.error)


def test_a_flat_loss_means_no_bandwidth() -> None:
    found = leave_one_out_bandwidth(lambda h, rows: np.zeros((len(rows), 1)), np.ones((10, 1)), 3.0)
    assert found.bandwidth == 1.0


def test_of_perfect_fits_the_widest_is_taken() -> None:
    def left_out(h: float, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), 1), 0.0 if 0.1 < h < 9 else 1.0) + t[rows]

    t = np.arange(20.0)[:, None]
    assert 4 < leave_one_out_bandwidth(left_out, t, 1.0).bandwidth < 9


def test_columns_are_found_together() -> None:
    bottom = np.array([0.2, 3.0])

    def left_out(h: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), 1), 1.0 + np.sum(np.log(h / bottom) ** 2))

    found = leave_one_out_bandwidth(left_out, np.zeros((30, 1)), np.array([1.0, 1.0]))
    np.testing.assert_allclose(found.bandwidth, bottom, rtol=0.02)


def test_one_example_leaves_nothing_to_search() -> None:
    assert leave_one_out_bandwidth(lambda h, rows: rows, np.zeros((1, 1)), 2.5).bandwidth == 2.5


def test_the_rule_is_the_normal_reference_rule() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1, 10, 100]
    h = rule_of_thumb(Gaussian(), X, per_column=True)
    np.testing.assert_allclose(h, 1.06 * X.std(axis=0) * 200 ** (-1 / 7), rtol=1e-5)
    np.testing.assert_allclose(rule_of_thumb(Gaussian(2.0), X, per_column=True), h / 2, rtol=1e-6)
    np.testing.assert_allclose(rule_of_thumb(Gaussian(), sp.csr_array(X), per_column=True), h)


def test_the_rule_on_constant_columns() -> None:
    X = np.column_stack([np.arange(9.0), np.full(9, 0.1)])
    h = rule_of_thumb(Gaussian(), X, per_column=True)
    assert h[1] == 1.0
    assert rule_of_thumb(Gaussian(), X) == pytest.approx(h[0])
    assert rule_of_thumb(Gaussian(), np.ones((5, 2))) == 1.0


@pytest.mark.parametrize(
    ("kernel", "width"),
    [
        (Gaussian(3.0), 3.0),
        (Epanechnikov(2.0), 2.0 / np.sqrt(5)),
        (Uniform(1.0), 1 / np.sqrt(3)),
        (Linear(), 1.0),
        (Polynomial(2), 1.0),
        (Gaussian().on([1]), 1.0),
    ],
    ids=repr,
)
def test_width_of_a_kernel(kernel: Kernel, width: float) -> None:
    assert width_of(kernel) == pytest.approx(width, rel=0.01)


def test_copies() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])
    y = np.array([[1.0], [2.0], [1.0], [3.0]])
    for rows in (X, sp.csr_array(X), X.astype(np.float32)):
        found = copies(rows, y)
        assert found is not None
        first, group = found
        assert first.tolist() == [0, 1, 3]
        assert group.tolist() == [0, 1, 0, 2]
    found = copies(X[:, :1], y)
    assert found is not None
    assert found[1].tolist() == [0, 1, 0, 2]


def test_measurements_at_the_same_place_are_no_copies() -> None:
    X = np.array([[1.0], [1.0], [2.0]])
    assert copies(X, np.array([[1.0], [2.0], [3.0]])) is None
    assert copies(np.arange(3.0)[:, None], np.ones((3, 1))) is None
    assert copies(["a", "a"], np.ones((2, 1))) is None


def test_an_interrupted_search_keeps_the_best_so_far() -> None:
    calls = []

    def left_out(h: float, rows: np.ndarray) -> np.ndarray:
        calls.append(h)
        if len(calls) > 8:
            raise KeyboardInterrupt
        return np.full((len(rows), 1), np.log(h / 0.3))

    with pytest.warns(UserWarning, match="best of 8 bandwidths"):
        found = leave_one_out_bandwidth(left_out, np.zeros((9, 1)), 1.0)
    assert found.bandwidth in calls[:8]
    assert 0.1 < found.bandwidth < 0.8
