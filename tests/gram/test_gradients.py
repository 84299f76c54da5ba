"""∇f against differences in 50-digit arithmetic, for every kind of statistic and input map."""

from __future__ import annotations

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer import KernelExpansion
from mercer.formula.precise import pairwise_mp
from mercer.kernels import parse

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(7, 3))
X = np.vstack([RNG.normal(size=(4, 3)), POINTS[:2]])
COEF = RNG.normal(size=(7, 2))

KERNELS = [
    "gaussian(0.8)",
    "gaussian([0.5, 1.0, 2.0])",
    "laplacian(0.7)",
    "laplacian(0.7, norm=1)",
    "laplacian(0.7, norm=inf)",
    "matern(1.5)",
    "rational_quadratic(0.7)",
    "power_exponential(2, power=0.7)",
    "power_exponential(2, power=0.7, norm=1)",
    "power_exponential(2, power=1.2, norm=1.5)",
    "linear()",
    "polynomial(3, offset=1)",
    "polynomial(3, offset=1).normalized()",
    "sigmoid(0.3, 0.1)",
    "cosine()",
    "tanimoto()",
    "arc_cosine(1)",
    "periodic(2.0)",
    "anova(2)",
    "bspline(3, width=2)",
    "wendland(2, width=3)",
    "constant(2)",
    "bilinear([[2, 1, 0], [1, 2, 0], [0, 0, 1]])",
    "gaussian().warp([[1, 0.5, 0], [0, 2, 1]])",
    "laplacian(norm=1).warp([2, 0, 0.5])",
    "gaussian().on([2, 0]) * polynomial(2, offset=1).on([1]) + 0.5 * matern(2.5)",
    "(gaussian() + linear()).exp().normalized()",
]


def exact_gradient(kernel, x, points, coef):
    """Central differences of f in 50 digits, extrapolated once: an error of about h⁴."""
    formula = kernel.formula()

    def difference(d, h):
        ends = np.array(x), np.array(x)
        ends[0][d] += h
        ends[1][d] -= h
        with mpmath.workdps(50):
            values = [
                mpmath.fsum(
                    mpmath.mpf(float(a)) * pairwise_mp(formula, at, z)
                    for a, z in zip(coef, points, strict=True)
                )
                for at in ends
            ]
            return (values[0] - values[1]) / (mpmath.mpf(ends[0][d]) - mpmath.mpf(ends[1][d]))

    h = 2.0**-12
    pairs = [(difference(d, h), difference(d, h / 2)) for d in range(len(x))]
    return np.array([float((4 * fine - coarse) / 3) for coarse, fine in pairs])


@pytest.mark.parametrize("text", KERNELS)
def test_gradients_match_differences_in_50_digits(text):
    kernel = parse(text)
    f = KernelExpansion(kernel, POINTS, COEF)
    rows = np.round(X[:2] * 2**20) / 2**20  # the steps are exact
    found = f.gradient(rows)
    expected = [[exact_gradient(kernel, x, POINTS, c) for c in COEF.T] for x in rows]
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-10)
    single = KernelExpansion(kernel, POINTS, COEF[:, 0])
    assert np.allclose(single.gradient(rows), found[:, 0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_kink_counts_as_zero(norm):
    f = KernelExpansion(mercer.Laplacian(0.7, norm=norm), POINTS, COEF[:, 0])
    expected = np.zeros((len(POINTS), 3))
    for i, x in enumerate(POINTS):
        for a, z in zip(COEF[:, 0], POINTS, strict=True):
            d = x - z
            r = np.linalg.norm(d, norm)
            rise = np.sign(d) if norm == 1 else (d / r if r else 0 * d)
            expected[i] -= a * 0.7 * np.exp(-0.7 * r) * rise
    assert np.allclose(f.gradient(POINTS), expected, atol=1e-13)


@pytest.mark.parametrize("text", ["matern(1.5)", "laplacian(norm=1)", "periodic(3)"])
def test_tiles_and_a_tight_memory_limit_change_nothing(text):
    rng = np.random.default_rng(0)
    rows, points, coef = rng.normal(size=(300, 5)), rng.normal(size=(250, 5)), rng.normal(size=250)
    f = KernelExpansion(parse(text), points, coef)
    whole, product = f.gradient(rows), f.gradient_outer_product(rows)
    assert np.allclose(product, whole.T @ whole / 300, rtol=1e-12)
    with mercer.config(memory="1MB"):
        assert np.allclose(f.gradient(rows), whole, rtol=1e-9, atol=1e-10)
        assert np.allclose(f.gradient_outer_product(rows), product, rtol=1e-9)
    assert np.array_equal(f.gradient(rows), whole), "the same bits"


@pytest.mark.parametrize("name", ["tanh", "square", "sqrt", "log1p", "abs"])
def test_functions_with_a_name_have_derivatives(name):
    rows, h = np.abs(X) + 0.1, 1e-6
    f = KernelExpansion(mercer.Gaussian().warp(name), np.abs(POINTS), COEF)
    steps = [(f(rows + h * e) - f(rows - h * e)) / (2 * h) for e in np.eye(3)]
    assert f.gradient(rows) == pytest.approx(np.stack(steps, axis=-1), rel=1e-6, abs=1e-7)


def test_frames_sparse_rows_and_single_precision():
    kernel = parse("gaussian().on(['b']) + linear().on(['c', 'a'])")
    frame = pd.DataFrame(X, columns=list("abc"))
    f = KernelExpansion(kernel, pd.DataFrame(POINTS, columns=list("abc")), COEF[:, 0])
    by_index = KernelExpansion(
        parse("gaussian().on([1]) + linear().on([2, 0])"), POINTS, COEF[:, 0]
    )
    assert np.allclose(f.gradient(frame), by_index.gradient(X))
    g = KernelExpansion(mercer.Gaussian(), sparse.csr_matrix(POINTS), COEF)
    dense = KernelExpansion(mercer.Gaussian(), POINTS, COEF)
    assert np.allclose(g.gradient(sparse.csr_matrix(X)), dense.gradient(X))
    single = KernelExpansion(mercer.Gaussian(), POINTS.astype(np.float32), COEF)
    assert np.allclose(single.gradient(X.astype(np.float32)), dense.gradient(X), atol=1e-4)


def test_what_has_no_gradient_says_so():
    with pytest.raises(TypeError, match="no gradient"):
        KernelExpansion(mercer.kernels.Similarity(lambda x, z: 1.0), POINTS, COEF).gradient(X)
    for kernel in (mercer.Linear().warp(lambda X: X**2), mercer.Linear().reweight(np.ravel)):
        with pytest.raises(TypeError, match="no gradient"):
            KernelExpansion(kernel, POINTS[:, :1], COEF).gradient(X[:, :1])
