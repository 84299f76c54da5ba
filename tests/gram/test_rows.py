"""Rows: what a model holds of its points gives the numbers of a Gram that is made anew."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, Kernel, KernelExpansion, KernelSVC, Laplacian, Linear
from mercer.gram import rows as examples
from mercer.gram.dispatch import held, make_gram
from mercer.gram.rows import Rows
from mercer.kernels import parse
from mercer.maps import NystromMap

KERNELS = [
    "gaussian(3)",
    "polynomial(3, 1)",
    "linear()",
    "2 * gaussian(2) + gaussian(9)",
    "laplacian(0.5, norm=1)",
    "matern(1.5)",
    "cosine()",
    "gaussian(1.3) * linear() + polynomial(2)",
    "gaussian(1).on([0, 2])",
]


def problem(n: int, m: int, columns: int, dtype: Any, shift: float = 0.0) -> Any:
    rng = np.random.default_rng(0)
    return tuple((rng.normal(size=(k, columns)) + shift).astype(dtype) for k in (n, m))


@pytest.mark.parametrize("text", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 5.0])
@pytest.mark.parametrize("shape", [(9, 14, 4), (40, 25, 30), (700, 90, 30), (300, 200, 4)])
def test_held_rows_give_the_bits_of_a_fresh_gram(
    text: str, dtype: Any, shift: float, shape: tuple[int, int, int]
) -> None:
    k, (X, Z) = parse(text), problem(*shape, dtype, shift)
    rows = held(k, Z)
    for n in (len(X), 3, len(X)):  # other rows in between change nothing
        np.testing.assert_array_equal(make_gram(k, X[:n], rows).dense(), k(X[:n], Z))
    V = np.random.default_rng(1).normal(size=(len(Z), 2))
    np.testing.assert_array_equal(make_gram(k, X, rows) @ V, k.gram(X, Z) @ V)


@pytest.mark.parametrize("first", [np.float32, np.float64])
def test_each_precision_has_its_own_numbers(first: Any) -> None:
    k, (X, Z) = Gaussian(3.0), problem(400, 90, 30, np.float32)
    rows = held(k, Z)
    for dtype in (first, np.float32, np.float64):
        K = make_gram(k, X.astype(dtype), rows).dense()
        assert K.dtype == dtype
        np.testing.assert_array_equal(K, k(X.astype(dtype), Z))


@pytest.mark.parametrize("text", ["gaussian(3)", "polynomial(3, 1)", "linear()"])
@pytest.mark.parametrize("n", [5, 400])
def test_sparse_points_are_made_dense_once(text: str, n: int) -> None:
    k, (X, Z) = parse(text), problem(n, 90, 30, np.float64)
    rows, expected = held(k, sp.csr_array(Z)), k(X, Z)
    for x in (sp.csr_array(X), sp.csr_array(X)):
        found = make_gram(k, x, rows).dense()
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_what_is_found_of_held_rows_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    k, (X, Z) = Gaussian(3.0), problem(600, 90, 30, np.float64)
    seen: list[int] = []
    compute = examples.squared_norms
    monkeypatch.setattr(
        examples, "squared_norms", lambda rows, c=None: seen.append(len(rows)) or compute(rows, c)
    )
    rows = held(k, Z)
    for _ in range(3):
        make_gram(k, X.copy(), rows).dense()
    assert seen == [600, 90, 600, 600]


def test_nothing_piles_up_in_held_rows() -> None:
    k, (X, Z) = Gaussian(3.0), problem(700, 300, 80, np.float64)
    Z[:, 40:] = 0.0  # columns that are left out, in a copy, where X has none there, too
    rows, sizes = held(k, Z), []
    assert isinstance(rows, Rows)
    for n in (700, 600, 500, 400):
        make_gram(k, np.hstack([X[:n, :40], np.zeros((n, 40))]), rows).dense()
        sizes.append(len(rows.kept))
    assert sizes[0] == sizes[-1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [3, 800])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(norm=np.inf), Linear()], ids=repr)
def test_what_is_not_finite_is_refused(bad: float, n: int, kernel: Kernel) -> None:
    X, Z = problem(n, 25, 30, np.float64)
    f = KernelExpansion(kernel, Z, Z[:, 0])
    f(X)
    X[n // 2, 2] = bad
    with pytest.raises(ValueError, match=r"X contains (NaN|infinite)"):
        f(X)


def test_other_widths_and_too_large_numbers_are_refused() -> None:
    X, Z = problem(5, 25, 30, np.float64)
    f = KernelExpansion(parse("polynomial(3, 1)"), Z, Z[:, 0])
    with pytest.raises(ValueError, match="columns"):
        f.gram(X[:, :7])
    with pytest.raises(ValueError, match="k overflows"):
        f.gram(1e120 * X)


def test_held_rows_are_not_saved() -> None:
    X, Z = problem(800, 25, 30, np.float64)
    f = KernelExpansion(Gaussian(3.0), Z, Z[:, 0])
    size, values = len(pickle.dumps(f)), f(X)
    assert len(pickle.dumps(f)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(X), values)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("columns", [3, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_of_a_sample_are_k_times_a_triangle(
    threads: int, columns: int, dtype: Any
) -> None:
    X, Z = problem(600, 40, columns, dtype)
    phi = NystromMap(Gaussian(3.0), n_components=None).fit(Z)
    with mercer.config(threads=threads):
        features = phi.transform(X)
    expected = Gaussian(3.0)(X, Z) @ phi.normalization_
    assert features.dtype == dtype
    error = float(np.finfo(dtype).eps) * len(Z) * np.abs(phi.normalization_).max()
    np.testing.assert_allclose(features, expected, atol=error)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 5, 26, 70])
def test_labels_are_those_of_scores(
    classes: int, dtype: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """float32 decides only where float64 decides alike, whatever counts the votes."""
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr("mercer.learners.svms.classifier.may_compile", lambda: compiled)
    y, rng = np.arange(300) % classes, np.random.default_rng(0)
    rows = (rng.normal(size=(300, 20)) + rng.normal(size=(classes, 20))[y]).astype(dtype)
    model = KernelSVC(Gaussian(4.0), C=10).fit(rows, y)
    asked = (np.tile(rows, (3, 1)) + 0.3 * rng.normal(size=(900, 20))).astype(dtype)
    f = make_gram(model.kernel_, asked, model.expansion_.points) @ model.expansion_.coef
    f = np.atleast_2d((f + model.intercept_).T).T
    votes = np.zeros((len(asked), classes))
    first, second = np.triu_indices(classes, 1)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        score = -f[:, pair] if classes == 2 else f[:, pair]
        votes[:, i] += score > 0
        votes[:, j] += score <= 0
    certain = np.abs(f).min(axis=1) > (0 if dtype == np.float64 else 1e-5)
    assert certain.mean() > 0.4
    expected = model.classes_[votes.argmax(axis=1)]
    assert np.array_equal(model.predict(asked)[certain], expected[certain])


def test_rows_that_are_the_same_array_give_the_bits_of_a_copy() -> None:
    X = np.random.default_rng(0).normal(size=(12, 30))
    for kernel in (Linear(), Gaussian(5.0) + Linear()):
        assert np.array_equal(kernel(X, X), kernel(X, X.copy()))
        assert np.array_equal(kernel(X[2:9], X), kernel(X[2:9].copy(), X))
