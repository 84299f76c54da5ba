"""What is read off a formula: sign, logarithm, order, reach; each against k itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mercer.formula import evaluate, simplify
from mercer.formula.nodes import ROOT, sqdist
from mercer.formula.profile import log2_of, never_negative, ordering, reach
from mercer.gram.host import HostGram
from mercer.kernels import (
    Anova,
    BSpline,
    ChiSquared,
    Cosine,
    Epanechnikov,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tricube,
    Uniform,
    Wendland,
)

RADIAL: list[Kernel] = [
    Gaussian(0.7),
    2.0 * Gaussian(3.0) + 1.0,
    Laplacian(2.0),
    Matern(0.5),
    Matern(1.5, length=0.2),
    Matern(2.5),
    RationalQuadratic(0.7, 2.0),
    Epanechnikov(2.0),
    Tricube(0.3),
    Uniform(1.5),
    *(Wendland(n, 2.0) for n in range(4)),
]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        *((k, True) for k in RADIAL),
        (Polynomial(2), True),
        (Intersection(), True),
        (ChiSquared(), True),
        (Gaussian() * Laplacian(norm=1), True),
        (Linear(), False),
        (Polynomial(3), False),
        (Cosine(), False),
        (Sigmoid(), False),
        (Gaussian() - Laplacian(), False),
    ],
    ids=repr,
)
def test_sign_by_form(kernel: Kernel, expected: bool) -> None:
    assert never_negative(simplify(kernel.formula())) is expected


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.7),
        3.0 * Gaussian([1.0, 2.0]),
        Laplacian(2.0, norm=1),
        Matern(1.5),
        Matern(2.5),
        RationalQuadratic(0.7),
        Periodic(),
        Gaussian() * Laplacian(),
        Gaussian() ** 3,
        Linear().exp(),
    ],
    ids=repr,
)
def test_logarithm_is_the_logarithm(kernel: Kernel) -> None:

    X = np.random.default_rng(0).normal(size=(7, 2))
    log2 = log2_of(simplify(kernel.formula()))
    assert log2 is not None
    np.testing.assert_allclose(HostGram(log2, X).dense(), np.log2(kernel(X)), atol=1e-12)


def test_logarithm_does_not_underflow_where_k_does() -> None:
    log2 = log2_of(Gaussian().formula())
    assert log2 is not None
    assert evaluate(log2, {sqdist(ROOT): np.array([1e6])})[0] == pytest.approx(-5e5 / math.log(2))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Epanechnikov(), 1.0 + Gaussian()])
def test_no_logarithm_without_an_exponential(kernel: Kernel) -> None:
    assert log2_of(simplify(kernel.formula())) is None


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_radial_kernels_are_ordered_by_distance(kernel: Kernel) -> None:
    assert ordering(simplify(kernel.formula())) == (sqdist(ROOT), -1.0)


def test_a_kernel_that_wiggles_is_not_ordered_by_distance() -> None:
    bump = 3.0 * Gaussian(2.0) - 2.9 * Gaussian(1.0)  # rises before it falls
    statistic, _ = ordering(simplify(bump.formula()))
    assert statistic is not sqdist(ROOT)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian().on([0]) * Gaussian(2.0).on([1]),
        Laplacian(norm="inf"),
        Periodic(),
        Polynomial(3, 1.0),
        Linear().exp(),
        BSpline(3),
        Anova(2),
        -1.0 * Gaussian(),
    ],
    ids=repr,
)
def test_order_agrees_with_k(kernel: Kernel) -> None:

    rng = np.random.default_rng(1)
    X, Z = rng.random((1, 2)), rng.random((40, 2))
    statistic, sign = ordering(simplify(kernel.formula()))
    order = np.argsort(sign * HostGram(statistic, X, Z).dense()[0], kind="stable")
    k = kernel(X, Z)[0][order]
    assert (np.diff(k) >= -1e-12).all()


@pytest.mark.parametrize(
    ("kernel", "norm", "radius"),
    [
        (Epanechnikov(2.0), 2.0, 2.0),
        (Tricube(0.3), 2.0, 0.3),
        (Uniform(1.5), 2.0, 1.5),
        (Wendland(3, 2.0), 2.0, 2.0),
        (Wendland(1) ** 3, 2.0, 1.0),
        (BSpline(3, 0.5), math.inf, 1.0),
        (BSpline(0), math.inf, 0.5),
        (Epanechnikov(2.0) * Polynomial(2), 2.0, 2.0),
    ],
    ids=repr,
)
def test_reach_of_compact_kernels(kernel: Kernel, norm: float, radius: float) -> None:
    found = reach(simplify(kernel.formula()))
    assert found is not None
    assert found.norm == norm
    assert found.radius == pytest.approx(radius, rel=1e-9)
    assert found.floor == 0.0


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(1.5), Linear(), Periodic()])
def test_kernels_without_end_have_no_reach(kernel: Kernel) -> None:
    assert reach(simplify(kernel.formula())) is None


def test_reach_to_working_precision() -> None:
    found = reach(simplify((2.0 * Gaussian(3.0)).formula()), 1e-36)
    assert found is not None
    assert found.radius == pytest.approx(3.0 * math.sqrt(2 * math.log(1e36)))
    assert found.floor == pytest.approx(2e-36)
    assert reach(simplify(RationalQuadratic().formula()), 1e-36) is None
