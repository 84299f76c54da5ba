"""Nearest neighbors and radius search against sorted exact distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.formula.nodes import ROOT
from mercer.formula.ranking import Ranking
from mercer.kernels import (
    ChiSquared,
    Cosine,
    Epanechnikov,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Similarity,
    SquaredDistance,
)
from mercer.learners.centroids import means, medoids, shrunk, squared_norms_of
from mercer.solvers.neighbors import search as search_module
from mercer.solvers.neighbors.distances import distances, weights_of, within
from mercer.solvers.neighbors.search import Neighbors, nearest, ranking_among


def rank_of(kernel: Kernel, Z: np.ndarray) -> Ranking:
    return ranking_among(kernel.lower(ROOT), Z)


def search(kernel: Kernel, X: np.ndarray, Z: np.ndarray, k: int, **more: object) -> Neighbors:
    return nearest(rank_of(kernel, Z), X, Z, k, **more)  # type: ignore[arg-type]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


KERNELS: list[Kernel] = [
    Linear(),
    3.0 * Linear() + 2.0,
    Polynomial(2),
    Polynomial(3, 1.0),
    Gaussian(0.5),
    2.0 * Gaussian([1.0, 2.0, 0.5]) + 1.0,
    Laplacian(norm=1),
    Matern(1.5),
    Cosine(),
    Polynomial(2, 1.0).normalized(),
    Gaussian().on([0]) * Laplacian().on([1, 2]),
    Intersection(),
    ChiSquared(),
    Similarity(lambda a, b: float(np.exp(-np.abs(a - b).max()))),
    Similarity(lambda a, b: float(a @ b)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_neighbors_and_distances(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z = rng.random((9, 3)), rng.random((60, 3))
    exact = kernel.distance(X, Z)
    rank = rank_of(kernel, Z)
    found = nearest(rank, X, Z, 4)
    np.testing.assert_array_equal(found.index, np.argsort(exact, axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(
        distances(rank, X, Z, found), np.sort(exact, axis=1)[:, :4], atol=1e-9
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_radius(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z = rng.random((9, 3)), rng.random((60, 3))
    exact = kernel.distance(X, Z)
    radius = float(np.quantile(exact, 0.2))
    found = within(rank_of(kernel, Z), X, Z, radius)
    for i in range(9):
        mine = slice(found.start[i], found.start[i + 1])
        assert set(found.index[mine]) == set(np.flatnonzero(exact[i] <= radius))
        np.testing.assert_allclose(found.distance[mine], np.sort(exact[i][exact[i] <= radius]))
    if not isinstance(kernel, Linear):
        rows = np.repeat(np.arange(9), np.diff(found.start))
        if not np.isnan(found.similarity).any():
            np.testing.assert_allclose(found.similarity, kernel(X, Z)[rows, found.index])


@pytest.mark.parametrize("kernel", [k for k in KERNELS if repr(k) not in ("Linear()",)], ids=repr)
def test_weights_of_neighbors(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z = rng.random((70, 3)), rng.random((90, 3))
    rank = rank_of(kernel, Z)
    found = nearest(rank, X, Z, 5)
    w = weights_of(rank, X, Z, found)
    k = np.take_along_axis(kernel(X, Z), found.index, axis=1)
    np.testing.assert_allclose(
        w / w.sum(axis=1, keepdims=True), k / k.sum(axis=1, keepdims=True), rtol=1e-9
    )


def test_neighbors_are_told_apart_where_k_is_zero() -> None:
    """√(2 − 2k) is √2 for all of these."""
    Z = np.array([[0.0], [100.0], [300.0], [1000.0]])
    X = np.array([[290.0]])
    for kernel in (Gaussian(), Laplacian(50.0), Epanechnikov(), Matern(2.5, length=0.1)):
        found = search(kernel, X, Z, 4)
        assert found.index.tolist() == [[2, 1, 0, 3]], kernel


def test_distances_keep_their_digits_where_k_is_one() -> None:
    """1 − e^(−u) for u = 1e-20: 2 − 2k is 0 in the computer."""
    Z, X = np.array([[1e-10], [1.0]]), np.array([[0.0]])
    rank = rank_of(Gaussian(), Z)
    d = distances(rank, X, Z, nearest(rank, X, Z, 1))
    np.testing.assert_allclose(d, [[1e-10]], rtol=1e-9)


def test_linear_kernel_far_from_the_origin(rng: np.random.Generator) -> None:
    """2x·z − ‖z‖² cancels there; ‖x − z‖² does not."""
    Z, X = rng.random((300, 40)), rng.random((20, 40))
    exact = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    found = search(Linear(), X + 1e7, Z + 1e7, 3)
    near = np.take_along_axis(exact, found.index, axis=1)
    np.testing.assert_allclose(near, np.sort(exact, axis=1)[:, :3], rtol=1e-5)


def test_products_are_measured_again(rng: np.random.Generator) -> None:
    """Two distant clusters in single precision: the product alone mixes up neighbors."""
    Z = 1e-3 * rng.normal(size=(400, 50)).astype(np.float32)
    Z[200:] += 30
    X = Z[::7] + np.float32(1e-5)
    exact = ((X[:, None].astype(float) - Z[None].astype(float)) ** 2).sum(axis=2)
    found = search(Gaussian(), X, Z, 3)
    np.testing.assert_array_equal(found.index, np.argsort(exact, axis=1, kind="stable")[:, :3])


def test_many_equal_points(rng: np.random.Generator) -> None:
    Z = rng.integers(0, 2, size=(500, 30)).astype(np.float32)
    Z[100:] = Z[:100][rng.integers(0, 100, 400)]
    found = search(Gaussian(), Z[:50], Z, 2)
    np.testing.assert_array_equal(Z[found.index[:, 0]], Z[:50])


@pytest.mark.parametrize(("move", "scale"), [(0.0, 1.0), (1e4, 1.0), (0.0, 1e25)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_find_what_panels_find(
    move: float,
    scale: float,
    kind: type,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Z = (scale * (rng.random((400, 30)) + move)).astype(kind)
    compiled = search(Gaussian(), Z, Z, 4, own=np.arange(400))
    monkeypatch.setattr(search_module, "_compiles", lambda *_: False)
    found = search(Gaussian(), Z, Z, 4, own=np.arange(400))
    np.testing.assert_array_equal(found.index, compiled.index)
    np.testing.assert_allclose(found.value, compiled.value)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_what_products_hide_is_searched_again(
    form: type, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far clusters: inside each of them products differ by less than their rounding."""
    monkeypatch.setattr(search_module, "_compiles", lambda *_: False)
    monkeypatch.setattr(search_module, "_better_dense", lambda *_: False)
    Z = 1e-7 * rng.normal(size=(600, 40)) + rng.choice([-100.0, 100.0], (600, 1))
    X = Z[:101] + 1e-9
    exact = ((X[:, None] - Z) ** 2).sum(axis=2)
    found = nearest(rank_of(Gaussian(), Z), form(X), form(Z), 3)
    np.testing.assert_array_equal(found.index, np.argsort(exact, axis=1, kind="stable")[:, :3])


def test_long_lists_are_sorted(rng: np.random.Generator) -> None:
    Z = rng.random((900, 6))
    exact = ((Z[:, None] - Z) ** 2).sum(axis=2)
    found = search(Gaussian(), Z, Z, 600)
    np.testing.assert_array_equal(found.index, np.argsort(exact, axis=1, kind="stable")[:, :600])


@pytest.mark.parametrize("columns", [2, 40])
def test_the_query_itself_does_not_count(columns: int, rng: np.random.Generator) -> None:
    Z = rng.random((60, columns))
    found = search(Gaussian(), Z, Z, 59, own=np.arange(60))
    assert not (found.index == np.arange(60)[:, None]).any()
    assert all(len(set(row)) == 59 for row in found.index.tolist())


def test_all_of_them(rng: np.random.Generator) -> None:
    Z = rng.random((30, 20))
    assert sorted(search(Gaussian(), Z[:1], Z, 30).index[0].tolist()) == list(range(30))


def test_sparse_rows(rng: np.random.Generator) -> None:
    dense = rng.random((80, 30)) * (rng.random((80, 30)) < 0.2)
    Z, X = sp.csr_array(dense), sp.csr_array(dense[:9])
    for kernel in (Gaussian(), Linear(), Polynomial(2)):
        found = nearest(rank_of(kernel, Z), X, Z, 3)
        exact = kernel.distance(dense[:9], dense)
        np.testing.assert_allclose(
            np.take_along_axis(exact, found.index, axis=1), np.sort(exact, axis=1)[:, :3], atol=1e-7
        )


def test_negative_votes_are_refused() -> None:
    Z = np.array([[1.0], [-1.0]])
    rank = rank_of(Linear(), Z)
    with pytest.raises(ValueError, match="cannot weight votes"):
        weights_of(rank, Z, Z, nearest(rank, Z, Z, 2))


# --- means -------------------------------------------------------------------------------------


def test_means_and_shrinkage() -> None:
    weight = np.array([1.0, 3.0, 2.0])
    A = means(np.array([0, 0, 1]), 2, weight)
    np.testing.assert_allclose(A, [[0.25, 0], [0.75, 0], [0, 1]])
    np.testing.assert_allclose(shrunk(A, weight, 1.0), np.tile(weight[:, None] / 6, 2))
    X = np.array([[1.0, 0.0], [1.0, 4.0], [0.0, 5.0]])
    mu = A.T @ X
    np.testing.assert_allclose(squared_norms_of(Linear().gram(X), A), (mu**2).sum(axis=1))


def test_medoids_minimize_the_sum_of_distances(rng: np.random.Generator) -> None:
    X, labels, weight = rng.normal(size=(50, 2)), rng.integers(0, 3, 50), rng.random(50)
    weight[:5] = 0.0
    found = medoids(Gaussian().gram(X), labels, 3, weight)
    d = Gaussian().distance(X)
    for c in range(3):
        members = np.flatnonzero((labels == c) & (weight > 0))
        sums = d[np.ix_(members, members)] @ weight[members]
        assert found[c] == members[sums.argmin()]


def test_a_dissimilarity_ranks_dense_and_sparse_rows_alike() -> None:
    """−2k + k(x, x) + k(z, z) of k = ‖x − z‖² is least for the farthest."""
    Z = np.array([[0.0], [1.0], [5.0]])
    x = np.array([[0.2]])
    rank = ranking_among(SquaredDistance().formula(), Z)
    assert nearest(rank, x, Z, 1).index == 2
    assert nearest(rank, sp.csr_matrix(x), sp.csr_matrix(Z), 1).index == 2
