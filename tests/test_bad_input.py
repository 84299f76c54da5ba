"""Bad input: an error of the right type that says what was given, what was expected, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer import ChiSquared, Gaussian, Linear, Polynomial, parse
from mercer.gram.host import HostGram
from mercer.kernels import Bilinear, Intersection

GOOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def with_entry(value: float) -> np.ndarray:
    X = GOOD.copy()
    X[1, 2] = value
    return X


ROWS = {
    "NaN": (with_entry(np.nan), ValueError, ["X contains NaN", "row 1, column 2", "SimpleImputer"]),
    "inf": (with_entry(np.inf), ValueError, ["X contains infinite values", "row 1, column 2"]),
    "-inf": (with_entry(-np.inf), ValueError, ["X contains infinite values"]),
    "NaN in float32": (with_entry(np.nan).astype(np.float32), ValueError, ["X contains NaN"]),
    "NaN in CSR": (sparse.csr_matrix(with_entry(np.nan)), ValueError, ["X contains NaN"]),
    "inf in CSR": (sparse.csr_matrix(with_entry(np.inf)), ValueError, ["X contains infinite"]),
    "NaN in a frame": (pd.DataFrame(with_entry(np.nan)), ValueError, ["X contains NaN"]),
    "NaN in objects": (with_entry(np.nan).astype(object), ValueError, ["X contains NaN"]),
    "1-D": (
        np.array([1.0, 2.0]),
        ValueError,
        ["expected a 2-D array of shape (rows, columns), got shape (2,)", "X.reshape(-1, 1)"],
    ),
    "1-D list": ([1.0, 2.0], ValueError, ["2-D", "X.reshape(1, -1)"]),
    "3-D": (np.zeros((2, 2, 2)), ValueError, ["2-D", "(2, 2, 2)"]),
    "0-D": (np.array(3.0), ValueError, ["a set of examples, got a single number"]),
    "True": (True, TypeError, ["expected an array or a list of examples, got bool"]),
    "None": (None, TypeError, ["expected an array or a list of examples, got NoneType"]),
    "empty": (np.empty((0, 3)), ValueError, ["X is empty: at least one example is needed"]),
    "empty list": ([], ValueError, ["X is empty"]),
    "empty CSR": (sparse.csr_matrix((0, 3)), ValueError, ["X is empty"]),
    "no columns": (np.empty((3, 0)), ValueError, ["X has no columns: shape (3, 0)"]),
    "empty rows": ([[], []], ValueError, ["no columns"]),
    "object": (
        np.array([[1.0, "a"]], dtype=object),
        TypeError,
        ["needs numbers", "dtype object", "str 'a'"],
    ),
    "numbers as text in objects": (np.array([["1", "2"]], dtype=object), TypeError, ["str '1'"]),
    "None in objects": (np.array([[1.0, None]], dtype=object), ValueError, ["X contains NaN"]),
    "text": (np.array([["a", "b"]]), TypeError, ["the data is text", "on([...])"]),
    "a string": ("abc", TypeError, ["got one string; wrap it in a list"]),
    "strings": (["abc", "de"], TypeError, ["the data is text"]),
    "complex": (np.array([[1j]]), TypeError, ["real numbers", "complex128"]),
    "complex CSR": (sparse.csr_matrix(np.array([[1j]])), TypeError, ["real numbers"]),
    "dates": (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, ["real numbers", "datetime64"]),
    "ragged": ([[1.0, 2.0], [1.0]], ValueError, ["the rows do not have the same length"]),
    "a frame with text": (pd.DataFrame({"a": [1.0], "b": ["x"]}), TypeError, ["needs numbers"]),
    "dictionaries": ([{"a": 1}], TypeError, ["needs numbers", "dict"]),
}
KERNELS = [Linear(), Gaussian(), parse("polynomial(2).normalized() + laplacian(norm=1)")]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("k", KERNELS, ids=range(3))
def test_rows(name: str, k) -> None:
    rows, kind, parts = ROWS[name]
    for call in (lambda: k(rows), lambda: k.gram(rows), lambda: k.diag(rows)):
        with pytest.raises(kind) as told:
            call()
        for part in parts:
            assert part in str(told.value), f"{part!r} not in {told.value}"


@pytest.mark.parametrize("name", ROWS)
def test_other_rows(name: str) -> None:
    """As Z, the message names Z."""
    rows, kind, parts = ROWS[name]
    if rows is None:
        return
    with pytest.raises(kind) as told:
        Gaussian()(GOOD, rows)
    message = str(told.value)
    if parts[0].startswith("X "):
        assert message.startswith("Z " + parts[0][2:])


def test_widths_that_differ() -> None:
    for other in (GOOD[:, :2], sparse.csr_matrix(GOOD[:, :2]), pd.DataFrame(GOOD[:, :2])):
        with pytest.raises(ValueError, match="X has 3 columns and Z has 2: they must agree"):
            Gaussian()(GOOD, other)


@pytest.mark.parametrize("k", [ChiSquared(), Intersection(), ChiSquared() * Gaussian()])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_negative_input_where_none_may_be(k, form) -> None:
    for given in ((form(-GOOD),), (GOOD, form(-GOOD))):
        with pytest.raises(ValueError, match="defined for x ≥ 0 only") as told:
            k(*given)
        assert "(-6)" in str(told.value)
        assert "choose another kernel" in str(told.value)


def test_parameters_that_do_not_fit_the_rows() -> None:
    with pytest.raises(ValueError, match=r"2 of them.*but the data has 3 columns"):
        Gaussian([1.0, 2.0])(GOOD)
    with pytest.raises(ValueError, match="the matrix has 2 rows, but the data has 3 columns"):
        Bilinear(np.eye(2))(GOOD)
    with pytest.raises(ValueError, match="there is no column 3; there are 3"):
        Linear().on(3)(GOOD)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Gaussian(0.0), ValueError, "Gaussian: sigma must be a positive number"),
        (lambda: Gaussian(-2), ValueError, "or 'scale' or 'median', got -2"),
        (
            lambda: Polynomial(0),
            ValueError,
            "Polynomial: degree must be a whole number",
        ),
        (
            lambda: Polynomial(2.5),
            ValueError,
            "of at least 1, got 2.5",
        ),
        (lambda: Bilinear([[1, 2], [0, 1]]), ValueError, "Use (A + A.T) / 2"),
        (lambda: parse("__import__('os')"), ValueError, "there is no kernel named '__import__'"),
        (lambda: parse("lambda x, z: x"), ValueError, "not part of the language of kernels"),
        (lambda: parse("(" * 10_000 + "linear()" + ")" * 10_000), ValueError, "10000"),
        (lambda: parse("gausian()"), ValueError, "Did you mean 'gaussian'?"),
        (lambda: parse("laplace()"), ValueError, "Did you mean 'laplacian'?"),
        (lambda: HostGram("gaussian()", GOOD), TypeError, "a Kernel"),
        (lambda: Gaussian().feature_map(3), ValueError, "no finite feature map"),
        (lambda: mercer.config(memory="much"), ValueError, "looks like '4GB'"),
    ],
    ids=range(13),
)
def test_the_list_of_the_issue(make, kind, message: str) -> None:
    with pytest.raises(kind) as told:
        make()
    assert message in str(told.value)


def test_distances_check_their_rows_too() -> None:
    for call in (
        lambda: Gaussian().distance(GOOD, GOOD[:, :2]),
        lambda: Gaussian().distance(with_entry(np.nan)),
        lambda: mercer.distance_to_mean(Gaussian(), GOOD, GOOD[:, :2]),
        lambda: mercer.distance_to_mean(Gaussian(), GOOD, np.empty((0, 3))),
        lambda: Gaussian().gradient(with_entry(np.nan)),
        lambda: Gaussian().explain(with_entry(np.nan)),
    ):
        with pytest.raises(ValueError):
            call()
