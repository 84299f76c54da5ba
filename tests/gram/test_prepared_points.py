"""Points that stay: the same K as a Gram of both sides gives."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, KernelExpansion, KernelSVC, Laplacian, Linear, Polynomial
from mercer.gram import prepared_points as prepared
from mercer.gram.dispatch import make_gram
from mercer.gram.plan import planner
from mercer.gram.plan.accuracy import TOLERANCE
from mercer.gram.plan.folded import folded_sum
from mercer.gram.prepared_points import SEVERAL, prepared_points
from mercer.gram.standing_points import StandingPoints

KERNELS = [Gaussian(3.0), Polynomial(3, 1.0), Linear(), 2 * Gaussian(2.0) + Gaussian(9.0)]
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 30)), rng.normal(size=(25, 30))


def block_of(points, rows):
    """K and the norms of rows that are made in one piece; None where that is left to a Gram."""
    made = []
    found = points.over(rows, lambda K, norms: made.append((K, norms)) or norms, 1)
    return None if found is None else made[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_block_and_gram_are_those_of_both_sides(kernel, dtype, shift):
    rows, points = X + shift, Z + shift
    found = prepared_points(kernel, points, np.dtype(dtype))
    expected = make_gram(kernel, rows, points).dense()
    error = 4 * TOLERANCE[np.dtype(dtype).itemsize] * np.abs(expected).max()
    block, norms = block_of(found, rows)
    assert block.dtype == dtype
    assert np.abs(block - expected).max() <= error
    assert np.abs(found.gram(rows).dense() - expected).max() <= error
    assert np.abs(expected).max() <= found.bound(norms) * (1 + 1e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [SEVERAL - 1, SEVERAL, 80])
def test_values_per_row_go_into_the_product_of_several_rows(kernel, dtype, rows):
    points, asked = rng.normal(size=(90, 4)), rng.normal(size=(rows, 4))
    found = prepared_points(kernel, points, np.dtype(dtype))
    expected = make_gram(kernel, asked, points).dense()
    error = 4 * TOLERANCE[np.dtype(dtype).itemsize] * np.abs(expected).max()
    assert np.abs(block_of(found, asked)[0] - expected).max() <= error


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_with_a_triangle_is_that_of_k(kernel, dtype, compiled, threads, monkeypatch):
    monkeypatch.setattr(planner, "COMPILE_WORK", 0 if compiled else 10**12)
    monkeypatch.setattr(prepared, "threads_for", lambda flops: threads)
    rows = rng.normal(size=(2 * prepared.PANEL_ROWS + 7, 30)).astype(dtype)
    T = np.triu(rng.normal(size=(25, 25)))
    K = make_gram(kernel, rows, Z.astype(dtype)).dense()
    features = StandingPoints(kernel, Z.astype(dtype)).times_upper(rows, T)
    assert features.dtype == dtype
    error = 100 * TOLERANCE[np.dtype(dtype).itemsize] * np.abs(K).max()
    assert np.abs(features - K @ T).max() <= error


def test_a_product_with_a_triangle_is_left_to_a_gram():
    T, few = np.eye(len(Z)), np.ascontiguousarray(Z[:, :3])
    assert StandingPoints(Gaussian(), few).times_upper(few, T) is None  # differences are as fast
    assert StandingPoints(Polynomial(3), Z).times_upper(1e120 * X, T) is None  # and says: overflows
    assert StandingPoints(Laplacian(1.0, norm=1), Z).times_upper(X, T) is None
    with mercer.config(memory="1MB"):
        assert StandingPoints(Gaussian(3.0), Z).times_upper(X, T) is None


def test_a_sum_of_a_product_and_two_values_is_one_product():
    epilogue = prepared_points(Gaussian(2.0), Z, np.dtype(np.float64)).form.program.epilogue
    factor, short = folded_sum(epilogue)
    assert factor == -2.0
    assert {node.op for node in short.walk()} == {"exp2", "mul", "max", "const", "tile"}
    tile, x = (next(n for n in epilogue.walk() if n.op == op) for op in ("tile", "rowx"))
    assert folded_sum(epilogue * tile) is None
    assert folded_sum(epilogue * x) is None
    assert folded_sum(tile**2) is None


def test_sparse_rows_are_those_of_dense_ones():
    found = prepared_points(Gaussian(3.0), sp.csr_array(Z), np.dtype(np.float64))
    expected = make_gram(Gaussian(3.0), X, Z).dense()
    assert np.abs(block_of(found, sp.csr_array(X))[0] - expected).max() < 1e-12


def test_other_kernels_and_rows_are_left_to_a_gram():
    assert prepared_points(Laplacian(1.0, norm=1), Z, np.dtype(np.float64)) is None
    assert prepared_points(mercer.Cosine(), Z, np.dtype(np.float64)) is None
    narrow = prepared_points(Gaussian(1e-4), Z + 100.0, np.dtype(np.float32))
    assert block_of(narrow, X + 100.0) is None
    assert narrow.gram(X + 100.0) is None
    large = prepared_points(Polynomial(9), 1e3 * Z, np.dtype(np.float32))
    assert block_of(large, 1e6 * X) is None
    with mercer.config(memory="1 GB"):
        assert block_of(prepared_points(Gaussian(3.0), Z, np.dtype(np.float64)), X) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_expansion_refuses_what_is_not_finite(bad):
    f = KernelExpansion(Gaussian(3.0), Z, rng.normal(size=len(Z)))
    rows = np.tile(X, (20, 1))
    rows[3, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infin"):
        f(rows)


def test_prepared_points_are_not_saved():
    f = KernelExpansion(Gaussian(3.0), Z, rng.normal(size=len(Z)))
    rows = np.tile(X, (20, 1))
    size, values = len(pickle.dumps(f)), f(rows)
    assert len(pickle.dumps(f)) == size
    assert np.array_equal(pickle.loads(pickle.dumps(f))(rows), values)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 5, 26, 70])
def test_labels_are_those_of_scores(classes, dtype, compiled, monkeypatch):
    """float32 decides only where float64 decides alike, whatever counts the votes."""
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr("mercer.learners.svms.labels.may_compile", lambda: compiled)
    y = np.arange(300) % classes
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


def test_one_thread_makes_a_block_that_is_soon_made(monkeypatch):
    """Whatever the threads: two of them would wait for one another longer than K takes."""
    points, rows = rng.normal(size=(70, 120)), rng.normal(size=(3000, 120))
    with mercer.config(threads=2):
        found = prepared_points(Gaussian(30.0), points, np.dtype(np.float32))
        assert block_of(found, rows) is not None
        monkeypatch.setattr("mercer.gram.prepared_points.ONE_PIECE", 1e8)
        assert block_of(found, rows) is None


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_are_those_of_all_rows_at_once(kernel, dtype, monkeypatch):
    rows, seen = rng.normal(size=(200, 30)), []
    found = prepared_points(kernel, Z, np.dtype(dtype))
    whole, norms = block_of(found, rows)
    monkeypatch.setattr(prepared, "FEW", 77 * len(Z) * np.dtype(dtype).itemsize)

    def sums(K, of_rows):
        seen.append(len(K))
        return np.stack([K.sum(axis=1), of_rows], axis=1)

    expected = np.stack([whole.sum(axis=1), norms], axis=1)
    assert np.abs(found.over(rows, sums, 1) - expected).max() <= 1e-5 * expected.max()
    assert seen == [77, 77, 46]
    monkeypatch.setattr(prepared, "SOON", 100)
    assert found.over(rows, sums, 1) is None
