"""The compiled searches find what sorting all distances finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import Gaussian, config
from mercer._machine.jit import compiles
from mercer.solvers.neighbors import panels
from mercer.solvers.neighbors import search as search_module
from mercer.solvers.neighbors.panels import search_panels
from mercer.solvers.neighbors.search import nearest, ranking_among

pytestmark = pytest.mark.skipif(not compiles(), reason="needs Numba")


def sorted_distances(x: np.ndarray, z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    d = cdist(x.astype(float), z.astype(float), "sqeuclidean")
    index = np.argsort(d, axis=1, kind="stable")[:, :k]
    return index, np.take_along_axis(d, index, axis=1)


@pytest.mark.parametrize("columns", [1, 2, 7, 30, 90])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("move", "scale"), [(0, 1), (1e4, 1), (0, 1e-30), (0, 1e18)])
def test_numbers(columns: int, kind: type, move: float, scale: float) -> None:
    rng = np.random.default_rng(columns)
    Z = ((rng.normal(size=(700, columns)) + move) * scale).astype(kind)
    X = ((rng.normal(size=(301, columns)) + move) * scale).astype(kind)
    index, distance = search_panels(X, Z, 4, None)
    known, d = sorted_distances(X, Z, 4)
    np.testing.assert_array_equal(index, known)
    np.testing.assert_allclose(distance, d, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1.0, 1 / 255])
def test_of_equally_near_rows_the_first(kind: type, step: float) -> None:
    rng = np.random.default_rng(1)
    rows = (rng.integers(0, 3, (500, 24)) * step).astype(kind)
    index, distance = search_panels(rows[:50], rows, 6, None)
    known, d = sorted_distances(rows[:50], rows, 6)
    np.testing.assert_allclose(distance, d, rtol=1e-12, atol=1e-300)
    if step == 1.0:
        np.testing.assert_array_equal(index, known)


@pytest.mark.parametrize("k", [1, 7, 14, 15, 16, 40])
@pytest.mark.parametrize("alone", [True, False])
def test_lists_shorter_and_longer_than_a_vector(k: int, alone: bool) -> None:
    """Near ones bound what is listed, up to as many as a vector has numbers."""
    rows = np.random.default_rng(4).normal(size=(900, 2))
    own = np.arange(900) if alone else None
    index, distance = search_panels(rows, rows, k, own)
    d = cdist(rows, rows, "sqeuclidean")
    if alone:
        np.fill_diagonal(d, np.inf)
    known = np.argsort(d, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(index, known)
    np.testing.assert_allclose(distance, np.take_along_axis(d, known, axis=1), rtol=1e-12)


@pytest.mark.parametrize("columns", [3, 8])
@pytest.mark.parametrize("k", [1, 5])
def test_of_many_equally_near_rows_the_first(columns: int, k: int) -> None:
    """Whole numbers of few columns: most queries have more than k at the same distance."""
    rng = np.random.default_rng(2)
    x, z = (np.rint(rng.normal(size=(n, columns))) for n in (300, 900))
    index, _ = search_panels(x, z, k, None)
    far = cdist(x, z, "sqeuclidean")
    assert np.array_equal(index, np.argsort(far, axis=1, kind="stable")[:, :k])


def test_copies_of_one_row_in_the_plane() -> None:
    rows = np.random.default_rng(2).integers(0, 4, (3000, 2)) / 7
    index, distance = search_panels(rows[:900], rows, 5, None)
    np.testing.assert_array_equal(distance, 0.0)
    np.testing.assert_array_equal(rows[index[:, 4]], rows[:900])


@pytest.mark.parametrize("columns", [2, 40])
def test_a_query_that_does_not_count(columns: int) -> None:
    rows = np.random.default_rng(3).normal(size=(800, columns))
    index, _ = search_panels(rows, rows, 3, np.arange(800))
    np.testing.assert_array_equal(index, sorted_distances(rows, rows, 4)[0][:, 1:])


@pytest.mark.parametrize("columns", [2, 40])
def test_what_rounding_hides_is_searched_again(columns: int) -> None:
    """Far clusters: in each of them the products differ by less than their rounding."""
    rng = np.random.default_rng(4)
    Z = 1e-5 * rng.normal(size=(600, columns)) + rng.choice([-100.0, 100.0], (600, 1))
    X = Z[:101] + 1e-7
    index, _ = search_panels(X, Z, 3, None)
    np.testing.assert_array_equal(index, sorted_distances(X, Z, 3)[0])


def test_several_threads_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    Z, X = rng.normal(size=(900, 30)), rng.normal(size=(333, 30))
    monkeypatch.setattr(panels, "threads_for", lambda work: 2)
    monkeypatch.setattr("mercer.tuning.CACHE_ELEMENTS", 600)
    np.testing.assert_array_equal(search_panels(X, Z, 3, None)[0], sorted_distances(X, Z, 3)[0])


@pytest.mark.parametrize(("share", "columns"), [(0.02, 300), (0.1, 60), (0.5, 40), (0.3, 6)])
@pytest.mark.parametrize("alone", [False, True])
def test_sparse_rows(share: float, columns: int, alone: bool) -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(600, columns)) * (rng.random((600, columns)) < share)
    rows[:40] = rows[40:80] + 1e-9 * rng.normal(size=(40, columns))
    Z, own = sp.csr_array(rows), np.arange(600) if alone else None
    rank = ranking_among(Gaussian().formula(), Z)
    found = nearest(rank, Z, Z, 3, own)
    d = cdist(rows, rows, "sqeuclidean")
    if alone:
        np.fill_diagonal(d, np.inf)
    np.testing.assert_allclose(-found.value, np.sort(d, axis=1)[:, :3], rtol=1e-12, atol=1e-300)


def test_little_memory_takes_another_road(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    Z, X = rng.normal(size=(700, 90)), rng.normal(size=(20, 90))
    rank = ranking_among(Gaussian().formula(), Z)
    known = nearest(rank, X, Z, 3).index
    monkeypatch.setattr(search_module, "_compiles", lambda *_: True)
    with config(memory="1MB"):
        np.testing.assert_array_equal(nearest(rank, X, Z, 3).index, known)
