"""Every leaf and every building block through the public contract: one line a kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import kernels
from mercer.kernels import FromFeatures, Similarity, parse
from mercer.testing import check_kernel

LEAVES = [
    "linear()",
    "polynomial(2)",
    "polynomial(3, offset=1)",
    "polynomial(3, offset=-1)",
    "gaussian()",
    "gaussian(0.3)",
    "gaussian([1.0, 2.0, 0.5])",
    "laplacian(0.7)",
    "laplacian(norm=1)",
    "laplacian(norm=inf)",
    "sigmoid(0.5, -1)",
    "bspline(0)",
    "bspline(1)",
    "bspline(2)",
    "bspline(3, width=2)",
    "bspline(5, width=2)",
    "bilinear([[2, 1], [1, 2]])",
    "bilinear([[2, 1], [1, -2]])",
    "bilinear([[0.0]])",
    "constant(2)",
    "constant(0)",
    "constant(-2)",
    "squared_distance()",
    "negative_squared_distance()",
    "matern(0.5)",
    "matern(1.5, length=0.5)",
    "matern(2.5, length=2)",
    "rational_quadratic(0.5, length=2)",
    "periodic(2, length=0.7)",
    "cosine()",
    "chi_squared(0.5)",
    "intersection()",
    "tanimoto()",
    "arc_cosine(0)",
    "arc_cosine(1)",
    "arc_cosine(2)",
    "hamming()",
    "delta()",
    "anova()",
    "anova(3, sigma=0.5)",
    "epanechnikov(2)",
    "tricube(2)",
    "uniform(2)",
    "wendland(0, width=3)",
    "wendland(1, width=3)",
    "wendland(2, width=3)",
    "wendland(3, width=3)",
    "from_features('square')",
    "precomputed()",
]

BLOCKS = [
    "2*gaussian()",
    "-gaussian()",
    "0*squared_distance()",
    "gaussian() + linear()",
    "gaussian() - 2*linear()",
    "gaussian() - gaussian(2) - linear()",
    "gaussian() * linear()",
    "(gaussian() + linear()) * (laplacian() + 1)",
    "(linear() + 1) ** 3",
    "linear().polynomial([1, 0, 2])",
    "linear().polynomial([0])",
    "gaussian().polynomial([1, -2, 1])",
    "gaussian().exp()",
    "linear().normalized()",
    "polynomial(2, offset=1).normalized()",
    "(2*gaussian()).exp().normalized()",
    "gaussian().warp('tanh')",
    "gaussian().reweight('norm')",
    "gaussian().on(0)",
    "gaussian().on([-1])",
    "linear().on([0, 0])",
    "wendland().on([0, 1]) * linear()",
    "(0.5*gaussian(2) + polynomial(2, offset=1).normalized()) * laplacian(norm=1)",
]


@pytest.mark.parametrize("text", LEAVES + BLOCKS)
def test_contract(text: str) -> None:
    check_kernel(parse(text))


def test_every_vector_leaf_is_listed() -> None:
    """A leaf that joins LEAVES must join the contract; kernels on objects have their own files."""
    tried = {type(parse(text)) for text in LEAVES}
    elsewhere = {"strings", "densities", "graphs", "images"}
    missing = [
        cls.__name__
        for cls in kernels.leaves()
        if cls not in tried and not elsewhere & set(cls.__module__.split(".")) and cls != Similarity
    ]
    assert not missing


def _common(a: str, b: str) -> float:
    return float(len(set(a) & set(b)))


def _both(X: np.ndarray) -> np.ndarray:
    return np.hstack([X, np.square(X)])


def test_black_boxes_and_maps() -> None:
    words = ["cat", "car", "dog", "do", "tree", "trace"]
    check_kernel(Similarity(_common), words)
    check_kernel(0.5 * Similarity(_common) + 1.0, words)
    check_kernel(
        Similarity(lambda a, b: float(a @ b)), np.random.default_rng(0).normal(size=(6, 2))
    )
    check_kernel(FromFeatures(_both))
    check_kernel(
        kernels.Linear().warp(lambda X: X[:, :1]), np.random.default_rng(0).normal(size=(9, 2))
    )


def test_named_columns_of_a_frame() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(8, 3)), columns=["age", "height", "weight"])
    check_kernel(parse("gaussian(2).on(['age']) + linear().on(['height', 'weight'])"), frame)
