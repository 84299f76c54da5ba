"""PolarMap: the lecture's angle, and spirals that become linearly separable."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from mercer.maps import PolarMap


def separable(F: np.ndarray, y: np.ndarray) -> bool:
    """Is there (w, b) with y(w·φ + b) ≥ 1 everywhere?"""
    columns = np.column_stack([F, np.ones(len(F))])
    answer = linprog(
        np.zeros(columns.shape[1]),
        A_ub=-y[:, None] * columns,
        b_ub=-np.ones(len(y)),
        bounds=(None, None),
    )
    assert answer.status in (0, 2)
    return answer.status == 0


def spirals(rng: np.random.Generator, winding: float) -> tuple[np.ndarray, np.ndarray]:
    r = rng.uniform(0.2, 4.0, size=200)
    y = np.where(np.arange(200) % 2, 1.0, -1.0)
    phi = winding * r + np.pi * (y > 0) + rng.normal(scale=0.15, size=200)
    return np.column_stack([r * np.sin(phi), r * np.cos(phi)]), y


@pytest.mark.parametrize("winding", [2.0, -3.0])
def test_two_spirals_are_linear_after_cos_and_sin(rng, winding):
    X, y = spirals(rng, winding)
    assert not separable(X, y)
    assert not separable(PolarMap().fit_transform(X), y)
    assert separable(PolarMap(winding=winding).fit_transform(X), y)
    assert not separable(PolarMap(winding=-winding).fit_transform(X), y)


def test_convention_of_the_lecture(rng):
    X = rng.normal(size=(100, 2))
    r, phi = PolarMap().fit_transform(X).T
    np.testing.assert_allclose(np.column_stack([r * np.sin(phi), r * np.cos(phi)]), X)
    assert (r >= 0).all()
    assert (np.abs(phi) <= np.pi).all()


@pytest.mark.parametrize(
    ("x", "r", "phi"),
    [
        ((0, 0), 0, 0),
        ((0, 1), 1, 0),
        ((1, 0), 1, np.pi / 2),
        ((0, -1), 1, np.pi),
        ((-0.0, -1), 1, np.pi),
        ((-0.0, -0.0), 0, 0),
        ((-1, 0), 1, -np.pi / 2),
        ((3, 4), 5, np.arctan2(3, 4)),
    ],
)
def test_single_points(x, r, phi):
    np.testing.assert_allclose(PolarMap().fit_transform([x]), [[r, phi]])


def test_columns_are_chosen_and_the_rest_passes(rng):
    X = rng.normal(size=(7, 4))
    phi = PolarMap(columns=(3, -3)).fit(X)
    F = phi.transform(X)
    np.testing.assert_allclose(F[:, 0], np.hypot(X[:, 3], X[:, 1]))
    np.testing.assert_allclose(F[:, 1], np.arctan2(X[:, 3], X[:, 1]))
    np.testing.assert_array_equal(F[:, 2:], X[:, [0, 2]])
    assert list(phi.get_feature_names_out()) == ["r", "phi", "x0", "x2"]
    np.testing.assert_allclose(phi.inverse_transform(F), X)


def test_names(rng):
    X = pd.DataFrame(rng.normal(size=(5, 3)), columns=["north", "age", "east"])
    phi = PolarMap(columns=("east", "north"), winding=2.0).set_output(transform="pandas").fit(X)
    F = phi.transform(X)
    assert list(F.columns) == ["cos(phi-2r)", "sin(phi-2r)", "age"]
    angle = np.arctan2(X.east, X.north) - 2.0 * np.hypot(X.east, X.north)
    np.testing.assert_allclose(F["cos(phi-2r)"], np.cos(angle))
    np.testing.assert_allclose(F["sin(phi-2r)"], np.sin(angle))
    assert PolarMap(winding=-0.5).fit(X).get_feature_names_out()[0] == "cos(phi+0.5r)"


def test_float32_stays():
    X = np.array([[1.0, 2.0]], dtype=np.float32)
    assert PolarMap().fit_transform(X).dtype == np.float32
    assert PolarMap(winding=1.5).fit_transform(X).dtype == np.float32


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"columns": (0, 2)}, ValueError, "no column 2"),
        ({"columns": (0, -3)}, ValueError, "no column -3"),
        ({"columns": (0, 0)}, ValueError, "different"),
        ({"columns": (0, -2)}, ValueError, "different"),
        ({"columns": ("a", "b")}, ValueError, "no column names"),
        ({"columns": (0, 1.0)}, TypeError, "index or a name"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        PolarMap(**parameters).fit([[1.0, 2.0]])


def test_bad_input():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        PolarMap().fit([[1.0]])
    with pytest.raises(ValueError, match="'c'"):
        PolarMap(columns=("a", "c")).fit(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match="cannot be inverted"):
        PolarMap(winding=1.0).fit([[1.0, 2.0]]).inverse_transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="3 columns"):
        PolarMap().fit([[1.0, 2.0]]).inverse_transform([[1.0, 2.0, 3.0]])
