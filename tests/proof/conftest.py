"""The kernels the proof tests share: every leaf that is one, and every leaf that is not."""

import numpy as np
import pytest

import mercer.kernels as mk

#: (leaf, domain, the most columns it is valid in, the columns to try it with)
VALID = [
    (mk.Linear(), "", None, 3),
    (mk.Polynomial(3), "", None, 3),
    (mk.Polynomial(2, offset=1.0), "", None, 3),
    (mk.Gaussian(), "", None, 3),
    (mk.Gaussian(sigma=[0.5, 1.0, 2.0]), "", None, 3),
    (mk.Laplacian(), "", None, 3),
    (mk.Laplacian(0.3, norm=1), "", None, 3),
    (mk.Laplacian(norm="inf"), "", 2, 2),
    (mk.BSpline(1), "", None, 3),
    (mk.BSpline(3, width=2.0), "", None, 3),
    (mk.Bilinear([[2.0, 1.0], [1.0, 2.0]]), "", None, 2),
    (mk.Constant(2.0), "", None, 3),
    (mk.Matern(0.5), "", None, 3),
    (mk.Matern(1.5, 0.7), "", None, 3),
    (mk.Matern(2.5), "", None, 3),
    (mk.PowerExponential(power=0.7), "", None, 3),
    (mk.PowerExponential(power=1.0, norm=1), "", None, 3),
    (mk.PowerExponential(power=1.5, norm=1.5), "", None, 3),
    (mk.PowerExponential(power=1.0, norm=4), "", 2, 2),
    (mk.PowerExponential(power=1.5, norm=1), "", 1, 1),
    (mk.RationalQuadratic(0.5), "", None, 3),
    (mk.Periodic(2.0), "", None, 3),
    (mk.Cosine(), "", None, 3),
    (mk.ChiSquared(0.5), "x ≥ 0", None, 3),
    (mk.Intersection(), "x ≥ 0", None, 3),
    (mk.Tanimoto(), "", None, 3),
    (mk.ArcCosine(0), "", None, 3),
    (mk.ArcCosine(1), "", None, 3),
    (mk.ArcCosine(2), "", None, 3),
    (mk.Hamming(), "", None, 3),
    (mk.Delta(), "", None, 3),
    (mk.Anova(2), "", None, 3),
    (mk.Wendland(0), "", 3, 3),
    (mk.Wendland(2), "", 3, 3),
]


def _indefinite() -> list[tuple[str, object, int | None, int]]:
    """(name, not a kernel, columns, the most points a good search needs)."""
    return [
        ("sigmoid", mk.Sigmoid(1.0, -1.0), None, 1),
        ("-gaussian", -mk.Gaussian(), None, 1),
        ("gaussian - 2 linear", mk.Gaussian() - 2 * mk.Linear(), None, 1),
        ("box", mk.Uniform(), None, 3),
        ("power above 2", mk.PowerExponential(power=3.0), None, 3),
        ("power above the norm", mk.PowerExponential(power=2.0, norm=1), 2, 8),
        ("box function", lambda x, z: float(np.linalg.norm(x - z) <= 1), None, 3),
        ("box of numbers", lambda x, z: 1.0 if -1 <= x - z <= 1 else 0.0, None, 3),
        ("squared distance", mk.SquaredDistance(), None, 2),
        ("negative squared distance", mk.NegativeSquaredDistance(), None, 2),
        ("epanechnikov", mk.Epanechnikov(), None, 3),
        ("epanechnikov 3-D", mk.Epanechnikov(0.37), 3, 3),
        ("tricube", mk.Tricube(width=13.0), None, 3),
        ("b-spline 0", mk.BSpline(0), None, 3),
        ("b-spline 2", mk.BSpline(2), None, 3),
        ("b-spline 4", mk.BSpline(4, width=0.3), None, 4),
        ("b-spline 6 3-D", mk.BSpline(6), 3, 6),
        ("laplacian inf 3-D", mk.Laplacian(norm="inf"), 3, 5),
        ("laplacian inf 5-D", mk.Laplacian(30.0, norm="inf"), 5, 5),
        ("bilinear", mk.Bilinear([[1.0, 2.0], [2.0, 1.0]]), None, 1),
        ("negative constant", mk.Constant(-1.0), None, 1),
        ("polynomial, negative offset", mk.Polynomial(2, offset=-1.0), None, 2),
        ("difference of gaussians", mk.Gaussian() - 0.1 * mk.Gaussian(0.5), None, 3),
        ("negative coefficient", mk.Linear().polynomial([1, -1, 3]), None, 2),
        ("on x ≥ 0", mk.ChiSquared() - mk.Intersection(), None, 1),
        ("on columns 3 and 7", mk.Gaussian().on([3, 7]) - 2 * mk.Gaussian().on(0), None, 1),
    ]


INDEFINITE = _indefinite()


def pytest_generate_tests(metafunc):
    if "valid" in metafunc.fixturenames:
        metafunc.parametrize("valid", VALID, ids=[repr(entry[0]) for entry in VALID])
    if "indefinite" in metafunc.fixturenames:
        metafunc.parametrize("indefinite", INDEFINITE, ids=[entry[0] for entry in INDEFINITE])


@pytest.fixture(scope="session")
def valid_leaves():
    return [entry[0] for entry in VALID]
