"""Any layout and any number type of the rows gives the same K."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import Gaussian, Linear
from mercer.kernels import parse

RNG = np.random.default_rng(2)
X = np.round(4 * RNG.normal(size=(40, 24))) / 4
K = parse("gaussian(3) + 0.1*linear() * laplacian(0.1, norm=1)")
EXPECTED = K(X)


def read_only(A: np.ndarray) -> np.ndarray:
    A = A.copy()
    A.setflags(write=False)
    return A


FORMS = {
    "Fortran order": np.asfortranarray(X),
    "every other row": np.repeat(X, 2, axis=0)[::2],
    "reversed twice": X[::-1, ::-1].copy()[::-1, ::-1],
    "every other column": np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": read_only(X),
    "big-endian": X.astype(">f8"),
    "list of lists": X.tolist(),
    "tuple of tuples": tuple(map(tuple, X.tolist())),
    "list of arrays": list(X),
    "matrix": np.asmatrix(X),
    "object": X.astype(object),
    "DataFrame": pd.DataFrame(X),
    "csr": sparse.csr_matrix(X),
    "csc": sparse.csc_matrix(X),
    "coo array": sparse.coo_array(X),
    "memmap": None,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_the_same_rows(name: str, tmp_path) -> None:
    rows = FORMS[name]
    if name == "memmap":
        rows = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X.shape)
        rows[:] = X
    np.testing.assert_allclose(K(rows), EXPECTED, atol=1e-13)
    np.testing.assert_allclose(K(rows, X), EXPECTED, atol=1e-13)
    np.testing.assert_allclose(K(X, rows), EXPECTED, atol=1e-13)
    np.testing.assert_allclose(K.gram(rows).block([1, 5], slice(3, 9)), EXPECTED[[1, 5], 3:9])
    np.testing.assert_allclose(K.diag(rows), np.diag(EXPECTED))
    np.testing.assert_allclose(K.gram(rows) @ np.ones(40), EXPECTED.sum(1))


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        ("float32", "float32"),
        (">f4", "float32"),
        ("float16", "float32"),
        ("float64", "float64"),
        ("longdouble", "float64"),
        ("int8", "float64"),
        ("uint16", "float64"),
        ("int64", "float64"),
        ("bool", "float64"),
        ("object", "float64"),
    ],
)
def test_number_types(dtype: str, result: str) -> None:
    rows = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype)
    for k in (Linear(), Gaussian(), Linear() + 1.0):
        value = k(rows)
        assert value.dtype == result
        np.testing.assert_allclose(value, k(np.array([[1.0, 0, 1], [0, 1, 1]])), atol=1e-6)
        assert k.diag(rows).dtype == result


def test_float32_stays_float32_and_meets_float64_as_float64() -> None:
    single = X.astype(np.float32)
    for text in ("constant(2)", "gaussian([" + "1.0," * 24 + "])", "hamming()", "cosine()"):
        k = parse(text)
        assert k(single).dtype == np.float32, text
        assert k.gram(single).dtype == np.float32
        assert (k.gram(single) @ np.ones(40)).dtype == np.float32
        assert k(single, X).dtype == np.float64
    assert all(v.dtype == np.float32 for v in parse("2*gaussian() + 3").gradient(single).values())


def test_the_rows_are_never_written_to() -> None:
    given = read_only(X.astype(np.float32))
    for text in (
        "gaussian(3)",
        "gaussian(0.01)",
        "laplacian()",
        "cosine()",
        "linear().normalized()",
    ):
        k = parse(text)
        k(given)
        k.gram(given) @ np.ones(40)
    np.testing.assert_array_equal(given, X.astype(np.float32))
