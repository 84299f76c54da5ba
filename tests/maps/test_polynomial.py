"""PolynomialMap: φ(x)·φ(z) = (x·z + c)^d, and how many features that takes."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer.kernels import Polynomial
from mercer.maps import PolynomialMap


@pytest.mark.parametrize("offset", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_inner_products_are_the_kernel(rng, relative_error, m, degree, offset):
    X, Z = rng.normal(size=(20, m)), rng.normal(size=(15, m))
    phi = PolynomialMap(degree, offset).fit(X)
    K = phi.transform(X) @ phi.transform(Z).T
    assert relative_error(K, Polynomial(degree, offset)(X, Z)) < 1e-13


@pytest.mark.parametrize(("m", "degree"), [(1, 3), (2, 2), (3, 3), (4, 6), (30, 3)])
def test_counts(m, degree):
    X = np.zeros((1, m))
    exact = PolynomialMap(degree).fit(X)
    up_to = PolynomialMap(degree, 1.0).fit(X)
    assert exact.n_output_features_ == comb(degree + m - 1, degree) == exact.transform(X).shape[1]
    assert up_to.n_output_features_ == comb(degree + m, degree) == up_to.transform(X).shape[1]
    assert len(up_to.get_feature_names_out()) == comb(degree + m, degree)


def test_second_order_features_of_1000_inputs():
    X = np.ones((1, 1000), dtype=np.float32)
    assert PolynomialMap(2).fit_transform(X).shape == (1, 500_500)


def test_the_lectures_maps():
    x = np.array([[0.5, -3.0]])
    (a, b), c = x[0], 1.7
    root = np.sqrt
    np.testing.assert_allclose(PolynomialMap(2).fit_transform(x), [[a * a, root(2) * a * b, b * b]])
    np.testing.assert_allclose(
        PolynomialMap(3).fit_transform(x),
        [[a**3, root(3) * a * a * b, root(3) * a * b * b, b**3]],
    )
    np.testing.assert_allclose(
        PolynomialMap(2, c).fit_transform(x),
        [[c, root(2 * c) * a, root(2 * c) * b, a * a, root(2) * a * b, b * b]],
    )


def test_powers_weights_and_names_describe_the_output(rng):
    X = rng.normal(size=(6, 3))
    phi = PolynomialMap(3, 0.5).fit(X)
    monomials = np.prod(X[:, None, :] ** phi.powers_[None], axis=2)
    np.testing.assert_allclose(phi.transform(X), monomials * phi.weights_, rtol=1e-12)
    names = list(phi.get_feature_names_out())
    for name, powers in zip(names, phi.powers_, strict=True):
        parts = [f"x{j}" if p == 1 else f"x{j}^{p}" for j, p in enumerate(powers) if p]
        assert name == (" ".join(parts) or "1")
    assert names[:5] == ["1", "x0", "x1", "x2", "x0^2"]
    assert "x0^2 x2" in names


@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_give_the_same_features(rng, kind, degree, offset):
    X = rng.normal(size=(40, 6))
    X[rng.random(X.shape) < 0.5] = 0.0
    X[3] = 0.0
    phi = PolynomialMap(degree, offset).fit(X)
    S = phi.fit(kind(X)).transform(kind(X))
    assert isinstance(S, kind)
    np.testing.assert_allclose(S.toarray(), phi.transform(X), rtol=1e-12, atol=0)
    assert S.nnz == np.count_nonzero(S.toarray())
    assert S.has_sorted_indices


def test_sparse_rows_with_unsorted_and_repeated_entries():
    X = sparse.csr_array((np.array([2.0, 1.0, 3.0, 0.0]), [2, 0, 2, 1], [0, 4]), shape=(1, 3))
    F = PolynomialMap(2).fit_transform(X)
    np.testing.assert_allclose(F.toarray(), PolynomialMap(2).fit_transform([[1.0, 0.0, 5.0]]))
    assert F.nnz == 3
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])
    np.testing.assert_array_equal(X.data, [2.0, 1.0, 3.0, 0.0])


def test_sparse_rows_reach_where_dense_ones_cannot():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((20, 784)) * (rng.random((20, 784)) < 0.01))
    phi = PolynomialMap(4, 1.0)
    F = phi.fit_transform(X)
    assert F.shape[1] == phi.n_output_features_ == 15_943_435_565
    used, columns = np.unique(F.indices, return_inverse=True)
    F = sparse.csr_array((F.data, columns, F.indptr), shape=(20, len(used)))
    np.testing.assert_allclose((F @ F.T).toarray(), (X @ X.T + np.ones((20, 20))) ** 4)
    with mercer.config(memory="4GB"), pytest.raises(ValueError, match="15943435565 features"):
        PolynomialMap(4, 1.0).fit(X.toarray())
    with pytest.raises(ValueError, match="more than a sparse matrix can number"):
        PolynomialMap(40).fit_transform(X)


def test_absurd_widths_are_refused_with_the_exact_count():
    narrow = mercer.config(memory="4GB")
    with narrow, pytest.raises(ValueError, match="1609344100 features") as caught:
        PolynomialMap(6).fit(np.zeros((1, 100)))
    assert "TensorSketchMap" in str(caught.value)
    with pytest.raises(ValueError, match=str(comb(1059, 60))):
        PolynomialMap(60).fit(np.zeros((1, 1000)))


def test_the_memory_limit_counts_rows():
    X = np.ones((10_000, 20))
    phi = PolynomialMap(3).fit(X)
    with mercer.config(memory="100MB"):
        assert phi.transform(X[:1000]).shape == (1000, 1540)
        with pytest.raises(ValueError, match="10000 rows of 1540 features"):
            phi.transform(X)
        with pytest.raises(ValueError, match="10000 rows of 1540 features"):
            phi.transform(sparse.csr_array(X))


def test_float32_stays_and_is_accurate(rng, relative_error):
    X = rng.normal(size=(50, 6))
    F = PolynomialMap(4, 1.0).fit(X).transform(X.astype(np.float32))
    assert F.dtype == np.float32
    assert relative_error(F, PolynomialMap(4, 1.0).fit_transform(X)) < 1e-6
    assert PolynomialMap(2).fit_transform(sparse.csr_array(X.astype("f4"))).dtype == np.float32


def test_batches_of_rows_are_seamless(rng):
    X = rng.normal(size=(3000, 12))
    phi = PolynomialMap(3).fit(X)
    F = phi.transform(X)
    for i in (0, 1, 700, 719, 720, 721, 2999):
        np.testing.assert_array_equal(F[i], phi.transform(X[i : i + 1])[0])


def test_a_degree_whose_weights_overflow_is_refused():
    with pytest.raises(ValueError, match="overflow"):
        PolynomialMap(1100).fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="overflow"):
        PolynomialMap(1100, 1.0).fit([[1.0]])
