"""NystromMap: Mercer's expansion on a sample, exact where the sample is everything."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.maps import NystromMap


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),
        Gaussian(50.0),  # nearly all ones: numerically of low rank
        Laplacian(1.0),
        Linear(),  # of rank 3
        Polynomial(2, 1.0),
        Gaussian(1.0) + 2.0 * Linear(),
        "0.5*gaussian(2) + polynomial(3, offset=1)",
        pytest.param(lambda x, z: float(np.exp(-np.abs(x - z).sum())), id="function"),
    ],
    ids=repr,
)
def test_on_all_points_the_kernel_matrix_comes_back(rng, relative_error, kernel):
    X = rng.normal(size=(60, 3))
    X[30:35] = X[:5]  # equal points: K is singular
    phi = NystromMap(kernel, n_components=None).fit(X)
    F = phi.transform(X)
    K = phi.kernel_(X)
    assert relative_error(F @ F.T, K) < 1e-12
    assert F.shape[1] == len(phi.eigenvalues_) <= 60
    # Mercer: k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z)
    E = phi.eigenfunctions(X)
    assert relative_error((E * phi.eigenvalues_) @ E.T, K) < 1e-12
    np.testing.assert_allclose(F, phi.kernel_(X, phi.components_) @ phi.normalization_, atol=1e-7)


def test_rank_is_the_width(rng):
    X = rng.normal(size=(40, 3))
    assert NystromMap(Linear(), None).fit_transform(X).shape == (40, 3)
    assert NystromMap(Polynomial(2), None).fit_transform(X).shape == (40, 6)
    assert NystromMap(Polynomial(2), None).fit_transform(X.astype(np.float32)).shape == (40, 6)


def test_eigenvalues_and_vectors_are_those_of_the_sample(rng):
    X = rng.normal(size=(50, 2))
    phi = NystromMap(Gaussian(0.5), 20, random_state=3).fit(X)
    sample = X[phi.component_indices_]
    np.testing.assert_array_equal(phi.components_, sample)
    assert len(set(phi.component_indices_)) == 20
    K = Gaussian(0.5)(sample)
    np.testing.assert_allclose(phi.eigenvalues_, np.linalg.eigvalsh(K)[::-1])
    np.testing.assert_allclose(K @ phi.eigenvectors_, phi.eigenvectors_ * phi.eigenvalues_)
    np.testing.assert_allclose(phi.eigenfunctions(sample), phi.eigenvectors_, atol=1e-8)


def test_exact_wherever_one_point_is_in_the_sample(rng):
    X = rng.normal(size=(50, 2))
    phi = NystromMap(Gaussian(1.0), 15, random_state=0).fit(X)
    F = phi.transform(X)
    sample = phi.component_indices_
    np.testing.assert_allclose(F @ F[sample].T, Gaussian(1.0)(X, X[sample]), atol=1e-7)
    rest = Gaussian(1.0)(X) - F @ F.T
    assert np.linalg.eigvalsh(rest)[0] > -1e-7  # a projection: what is missing is PSD
    assert np.abs(rest).max() > 1e-6


def test_more_components_err_less(rng):
    X = rng.normal(size=(200, 3))
    K = Gaussian(1.0)(X)
    errors = []
    for m in (10, 40, 160):
        F = NystromMap(Gaussian(1.0), m, random_state=0).fit_transform(X)
        errors.append(np.linalg.norm(F @ F.T - K))
    assert errors[0] > 2 * errors[1] > 8 * errors[2]


def test_a_function_a_string_and_a_kernel_are_the_same(rng):
    X = rng.normal(size=(20, 2))
    maps = ["gaussian(1)", Gaussian(1.0), lambda x, z: np.exp(-0.5 * ((x - z) ** 2).sum())]
    first, *others = [
        (lambda F: F @ F.T)(NystromMap(k, 8, random_state=0).fit_transform(X)) for k in maps
    ]
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-10)


def test_precomputed(rng):
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    k = Gaussian(1.0)
    direct = NystromMap(k, 10, random_state=0).fit(X)
    given = NystromMap("precomputed", 10, random_state=0).fit(k(X))
    np.testing.assert_allclose(given.transform(k(Z, X)), direct.transform(Z), atol=1e-9)
    with pytest.raises(ValueError, match="square"):
        NystromMap("precomputed").fit(k(Z, X))


def test_sparse_rows(rng):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    dense = NystromMap(Gaussian(1.0), 10, random_state=0).fit(X)
    thin = NystromMap(Gaussian(1.0), 10, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-9)


def test_float32_stays_and_is_accurate(rng, relative_error):
    X = rng.normal(size=(80, 3)).astype(np.float32)
    for kernel in (Gaussian(1.0), Gaussian(30.0), Linear()):
        F = NystromMap(kernel, None).fit_transform(X)
        assert F.dtype == np.float32
        assert relative_error(F @ F.T, kernel(X.astype(float))) < 1e-5
    # Fitted in double precision, with eigenvalues down to 1e-13, and used on single.
    wide = NystromMap(Gaussian(3.0), None).fit(X.astype(float))
    F = wide.transform(X)
    assert F.dtype == np.float32
    assert relative_error(F @ F.T, Gaussian(3.0)(X.astype(float))) < 1e-5


def test_float32_rounding_is_neither_rank_nor_indefiniteness(rng):
    X = rng.normal(size=(800, 400)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NystromMap(Linear(), None).fit(X).eigenvalues_.shape == (400,)


def test_an_indefinite_kernel_warns_and_is_clipped(rng):
    X = np.array([[1.0], [2.0], [3.0]])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        phi = NystromMap(lambda x, z: float(abs(x - z)[0] <= 1), None).fit(X)
    np.testing.assert_allclose(phi.eigenvalues_, [1 + np.sqrt(2), 1])
    F = phi.transform(X)
    np.testing.assert_allclose(phi.eigenfunctions(X) * np.sqrt(phi.eigenvalues_), F)
    # A second fit forgets the eigenvectors of the first.
    phi.set_params(kernel=Gaussian(1.0)).fit(X)
    assert phi.eigenvalues_.shape == (3,)
    np.testing.assert_allclose(phi.transform(X) @ phi.transform(X).T, Gaussian(1.0)(X))


def test_examples_that_add_nothing_are_left_out(rng):
    X = np.repeat(rng.normal(size=(7, 2)), 3, axis=0)
    phi = NystromMap(Gaussian(0.5), None).fit(X)
    assert phi.normalization_.shape == (21, 7)
    assert np.count_nonzero(phi.normalization_.any(axis=1)) == 7
    np.testing.assert_allclose(phi.eigenvalues_, np.linalg.eigvalsh(Gaussian(0.5)(X))[:-8:-1])
    np.testing.assert_allclose(phi.eigenvectors_.T @ phi.eigenvectors_, np.eye(7), atol=1e-12)


def test_a_map_of_an_earlier_version_has_eigenvectors_only(rng):
    X, Z = rng.normal(size=(20, 2)), rng.normal(size=(5, 2))
    phi = NystromMap(Gaussian(1.0), None).fit(X)
    E, F = phi.eigenfunctions(Z), phi.transform(Z)
    for name in ("normalization_", "_factor", "_rotation", "_kept"):
        del vars(phi)[name]
    np.testing.assert_allclose(phi.eigenfunctions(Z), E, atol=1e-6)
    np.testing.assert_allclose(phi.transform(Z) @ phi.transform(Z).T, F @ F.T, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
def test_a_negative_kernel_is_refused():
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        NystromMap(-Gaussian(1.0)).fit([[1.0], [2.0]])


def test_strings_and_columns_of_a_frame(rng):
    words = ["kernel", "kernels", "colonel", "machine", "machines", "kernel"]

    def shared(a: str, b: str) -> float:
        return float(len(set(a) & set(b)))

    phi = NystromMap(shared, None).fit(words)
    F = phi.transform(words)
    np.testing.assert_allclose(F @ F.T, [[shared(a, b) for b in words] for a in words], atol=1e-9)
    np.testing.assert_allclose(phi.transform(["colonel"]), F[2:3], atol=1e-12)

    frame = pd.DataFrame({"age": rng.normal(size=6), "word": words, "size": rng.normal(size=6)})
    k = Gaussian(1.0).on(["age"]) + 0.5 * Gaussian(2.0).on(["size", "age"])
    F = NystromMap(k, None).fit_transform(frame)
    numbers = frame[["age", "size"]].to_numpy()
    want = Gaussian(1.0)(numbers[:, :1]) + 0.5 * Gaussian(2.0)(numbers)
    np.testing.assert_allclose(F @ F.T, want, atol=1e-12)
    with pytest.raises(ValueError, match="0 sample"):
        NystromMap(k).fit(frame.iloc[:0])


def test_names_and_frames(rng):
    X = pd.DataFrame(rng.normal(size=(10, 2)), columns=["a", "b"])
    phi = NystromMap(n_components=4, random_state=0).set_output(transform="pandas").fit(X)
    F = phi.transform(X)
    assert list(F.columns) == [f"nystrommap{i}" for i in range(4)]


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"kernel": None}, TypeError),
        ({"kernel": 3}, TypeError),
        ({"kernel": "__import__('os')"}, ValueError),
    ],
)
def test_bad_parameters(parameters, error):
    with pytest.raises(error):
        NystromMap(**parameters).fit([[1.0, 2.0], [2.0, 3.0]])
