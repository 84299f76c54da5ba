"""Every leaf and every building block through the public contract: one line a kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import kernels
from mercer.kernels import FromFeatures, Kernel, Similarity, parse
from mercer.testing import check_kernel, kernels_on

BLOCKS = [
    "anova(3, sigma=0.5)",
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
    "gaussian().warp([[1, 0.5], [0, 2], [1, 1]])",
    "laplacian(norm=1).warp([0.5, 0, 3])",
    "wendland().warp([[1, 2, 0, 1]])",
    "(linear() + gaussian()).metric([[2, 1], [1, 2]])",
    "power_exponential(power=0.7).metric([1, 0.25]).normalized()",
    "gaussian().reweight('norm')",
    "gaussian().on(0)",
    "gaussian().on([-1])",
    "linear().on([0, 0])",
    "wendland().on([0, 1]) * linear()",
    "(0.5*gaussian(2) + polynomial(2, offset=1).normalized()) * laplacian(norm=1)",
]


@pytest.mark.parametrize(
    "kernel", kernels_on("vectors", "strings", "graphs", "images", "matrix"), ids=repr
)
def test_contract_of_the_catalog(kernel: Kernel) -> None:
    check_kernel(kernel)


@pytest.mark.parametrize("text", BLOCKS)
def test_contract_of_blocks(text: str) -> None:
    check_kernel(parse(text))


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
