"""TensorSketchMap: unbiased, and its error falls with its width."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Polynomial
from mercer.maps import TensorSketchMap


@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 0.0), (2, 1.0), (3, 0.5)])
def test_unbiased(rng, degree, offset):
    X = rng.normal(size=(5, 4))
    K = Polynomial(degree, offset)(X)
    draws = []
    for seed in range(600):
        F = TensorSketchMap(degree, offset, 16, random_state=seed).fit_transform(X)
        draws.append(F @ F.T)
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(mean - K) <= 4.5 * spread + 1e-9).all()
    # The test has teeth: the standard error is well below the numbers it is about.
    assert spread.max() < 0.1 * np.abs(K).max()


def test_error_falls_like_one_over_root_n(rng):
    X = rng.normal(size=(10, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    K = Polynomial(3, 1.0)(X)

    def error(n: int) -> float:
        F = [TensorSketchMap(3, 1.0, n, random_state=s).fit_transform(X) for s in range(20)]
        return float(np.sqrt(np.mean([(f @ f.T - K) ** 2 for f in F])))

    errors = [error(n) for n in (64, 256, 1024)]
    assert 1.5 < errors[0] / errors[1] < 2.8
    assert 1.5 < errors[1] / errors[2] < 2.8


def test_an_injective_sketch_is_exact():
    # Where no two inputs share a place and d = 1, the sketch only moves and signs numbers.
    X = np.eye(3)
    seed = next(
        s
        for s in range(99)
        if len(set(TensorSketchMap(1, 0.0, 50, random_state=s).fit(X).places_[0, :3])) == 3
    )
    F = TensorSketchMap(1, 0.0, 50, random_state=seed).fit_transform(X)
    np.testing.assert_allclose(F @ F.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 7, 33, 128])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_give_the_same_sketch(rng, kind, width):
    X = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.4)
    phi = TensorSketchMap(3, 0.5, width, random_state=1).fit(X)
    F = phi.transform(kind(X))
    assert isinstance(F, np.ndarray)
    np.testing.assert_allclose(F, phi.transform(X), atol=1e-12)


def test_batches_of_rows_are_seamless(rng):
    X = rng.normal(size=(3000, 3))
    phi = TensorSketchMap(2, 1.0, 256, random_state=0).fit(X)
    F = phi.transform(X)
    for i in (0, 511, 512, 2999):
        np.testing.assert_allclose(F[i], phi.transform(X[i : i + 1])[0], atol=1e-12)


def test_float32_stays(rng, relative_error):
    X = rng.normal(size=(20, 5))
    phi = TensorSketchMap(3, 1.0, 64, random_state=0).fit(X)
    F = phi.transform(X.astype(np.float32))
    assert F.dtype == np.float32
    assert relative_error(F, phi.transform(X)) < 1e-5


def test_names_and_seed(rng):
    X = rng.normal(size=(4, 3))
    phi = TensorSketchMap(n_components=3, random_state=5).fit(X)
    assert list(phi.get_feature_names_out()) == [f"tensorsketchmap{i}" for i in range(3)]
    again = TensorSketchMap(n_components=3, random_state=5).fit_transform(X)
    np.testing.assert_array_equal(phi.transform(X), again)
