"""Explicit feature maps: φ(x)·φ(z) = k(x, z), of the length that `n_dims` says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mercer
from mercer.kernels import parse

RNG = np.random.default_rng(5)
X = RNG.normal(size=(7, 3))
Z = RNG.normal(size=(4, 3))

FINITE = [
    "linear()",
    "polynomial(2)",
    "polynomial(3, offset=1)",
    "constant(2)",
    "cosine()",
    "bilinear([[2, 1, 0], [1, 2, 0], [0, 0, 1]])",
    "bilinear([[1, 0, 0], [0, 0, 0], [0, 0, 0]])",
    "from_features('square')",
    "2.5*linear()",
    "linear() + polynomial(2)",
    "linear() + 3",
    "linear() * polynomial(2, offset=1)",
    "(linear() + 1) ** 3",
    "linear().polynomial([1, 0, 2])",
    "linear().polynomial([0])",
    "linear().polynomial([0, 0, 1]).normalized()",
    "linear().on([2, 0])",
    "polynomial(2).on(1)",
    "linear().warp('tanh')",
    "linear().reweight('norm')",
    "linear().normalized()",
]


@pytest.mark.parametrize("text", FINITE)
def test_inner_products_of_features(text: str) -> None:
    k = parse(text)
    phi = k.feature_map(3)
    A, B = phi.transform(X), phi.transform(Z)
    assert A.shape == (7, k.n_dims(3))
    assert isinstance(k.n_dims(3), int)
    np.testing.assert_allclose(A @ B.T, k(X, Z), atol=1e-10)
    np.testing.assert_allclose(k.features(X), A, atol=1e-12)
    names = k.feature_names(["a", "b", "c"])
    assert len(names) == A.shape[1]


def test_float32_features_stay_float32() -> None:
    for text in FINITE:
        k = parse(text)
        if text.startswith("from_features") or "norm'" in text:
            continue
        assert k.features(X.astype(np.float32)).dtype == np.float32, text


def test_names_of_features() -> None:
    names = ["a", "b"]
    assert parse("linear() + 3").feature_names(names) == ["a", "b", "1"]
    assert parse("linear()*linear()").feature_names(names) == [
        "(a)(a)",
        "(a)(b)",
        "(b)(a)",
        "(b)(b)",
    ]
    assert parse("2*linear().on([1])").feature_names(names) == ["b"]
    assert parse("linear().normalized().reweight('norm')").feature_names(names) == ["a", "b"]
    assert len(set(parse("polynomial(2)").feature_names(names))) == 3
    assert parse("(linear() + 1)**2").feature_names(names) == [f"phi{i}" for i in range(9)]


def test_lengths_are_exact_however_large() -> None:
    assert parse("polynomial(4, offset=1)").n_dims(784) == 15943435565
    assert parse("polynomial(6)").n_dims(100) == 1609344100
    assert parse("polynomial(2)").n_dims(1000) == 500500
    assert parse("linear()**40").n_dims(1000) == 1000**40


INFINITE = [
    "gaussian()",
    "laplacian()",
    "linear() + gaussian()",
    "linear()*gaussian()",
    "linear().exp()",
]


@pytest.mark.parametrize("text", INFINITE)
def test_no_finite_map_names_the_approximate_ones(text: str) -> None:
    k = parse(text)
    assert k.n_dims(3) == math.inf
    for call in (lambda: k.feature_map(3), lambda: k.features(X)):
        with pytest.raises(ValueError, match="no finite feature map") as told:
            call()
        assert "NystromMap" in str(told.value)
        assert "RandomFourierMap" in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["-linear()", "constant(-1)", "polynomial(2, offset=-1)", "linear().polynomial([1, -1])"],
)
def test_what_is_negative_has_no_map(text: str) -> None:
    with pytest.raises(ValueError, match="has no feature map"):
        parse(text).features(X)
    with pytest.raises(ValueError, match="negative eigenvalue"):
        mercer.kernels.Bilinear([[-1.0]]).features(X[:, :1])


def test_distances_are_those_of_the_features() -> None:
    k = parse("polynomial(2, offset=1)")
    A, B = k.features(X), k.features(Z)
    direct = np.linalg.norm(A[:, None] - B[None], axis=2)
    np.testing.assert_allclose(k.distance(X, Z), direct, atol=1e-10)
    assert (np.diag(k.distance(X)) == 0).all()
    to_mean = np.linalg.norm(A - B.mean(axis=0), axis=1)
    np.testing.assert_allclose(mercer.distance_to_mean(k, X, Z), to_mean, atol=1e-10)


def test_float32_distances_do_not_cancel() -> None:
    near = (1e3 + RNG.normal(size=(20, 3))).astype(np.float32)
    direct = np.linalg.norm(near[:, None].astype(float) - near[None], axis=2)
    value = mercer.Linear().distance(near)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, direct, atol=1e-4)
    center = near.astype(float).mean(axis=0)
    to_mean = mercer.distance_to_mean(mercer.Linear(), near, near)
    assert to_mean.dtype == np.float32
    np.testing.assert_allclose(to_mean, np.linalg.norm(near - center, axis=1), atol=1e-4)
