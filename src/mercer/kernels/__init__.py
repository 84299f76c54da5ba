"""Kernels and their algebra.

Each leaf is one class whose `lower` is its formula; the building blocks are in `algebra`. To add
a leaf, write its class in the file where it belongs and name it in `LEAVES`.
"""

from __future__ import annotations

from mercer.kernels.algebra import (
    Exp,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.claims import Claim
from mercer.kernels.columnwise import (
    Anova,
    BSpline,
    ChiSquared,
    Delta,
    Hamming,
    Intersection,
    Periodic,
)
from mercer.kernels.core import Kernel
from mercer.kernels.densities import ConditionalExpectation, Fisher
from mercer.kernels.dots import (
    ArcCosine,
    Bilinear,
    Constant,
    Cosine,
    Linear,
    Polynomial,
    Sigmoid,
    Tanimoto,
)
from mercer.kernels.grammar import parse
from mercer.kernels.graphs import RandomWalk, ShortestPath, WeisfeilerLehman
from mercer.kernels.images import Jittered, RotationInvariant, TangentDistance
from mercer.kernels.on_inputs import On, Reweight, Warp
from mercer.kernels.opaque import FromFeatures, OpaqueKernel, Precomputed, Similarity
from mercer.kernels.radial import (
    Epanechnikov,
    Gaussian,
    Laplacian,
    Matern,
    NegativeSquaredDistance,
    RationalQuadratic,
    SquaredDistance,
    Tricube,
    Uniform,
    Wendland,
)
from mercer.kernels.registry import register
from mercer.kernels.strings import (
    BagOfWords,
    LocalAlignment,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)

LEAVES: tuple[type[Kernel], ...] = (
    Linear,
    Polynomial,
    Gaussian,
    Laplacian,
    Sigmoid,
    BSpline,
    Bilinear,
    Constant,
    SquaredDistance,
    NegativeSquaredDistance,
    Matern,
    RationalQuadratic,
    Periodic,
    Cosine,
    ChiSquared,
    Intersection,
    Tanimoto,
    ArcCosine,
    Hamming,
    Delta,
    Anova,
    Epanechnikov,
    Tricube,
    Uniform,
    Wendland,
    ConditionalExpectation,
    Fisher,
    Spectrum,
    Mismatch,
    Subsequence,
    WeightedDegree,
    LocalAlignment,
    BagOfWords,
    WeisfeilerLehman,
    ShortestPath,
    RandomWalk,
    TangentDistance,
    RotationInvariant,
    Jittered,
    FromFeatures,
    Similarity,
    Precomputed,
)


def leaves() -> tuple[type[Kernel], ...]:
    """Every leaf the expression language knows."""
    return LEAVES


def as_kernel(kernel: object) -> Kernel:
    """A Kernel from a Kernel, an expression, "precomputed", or a function of two examples.

    >>> as_kernel("gaussian(2)")
    Gaussian(sigma=2.0)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return Precomputed() if kernel == "precomputed" else parse(kernel)
    if callable(kernel):
        return Similarity(kernel)
    raise TypeError(
        "kernel must be a Kernel, an expression such as 'gaussian(sigma=2)', a function of two "
        f"examples, or 'precomputed'; got {type(kernel).__name__}"
    )


__all__ = [
    "LEAVES",
    "Anova",
    "ArcCosine",
    "BSpline",
    "BagOfWords",
    "Bilinear",
    "ChiSquared",
    "Claim",
    "ConditionalExpectation",
    "Constant",
    "Cosine",
    "Delta",
    "Epanechnikov",
    "Exp",
    "Fisher",
    "FromFeatures",
    "Gaussian",
    "Hamming",
    "Intersection",
    "Jittered",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalAlignment",
    "Matern",
    "Mismatch",
    "NegativeSquaredDistance",
    "Normalized",
    "On",
    "OpaqueKernel",
    "Periodic",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "Precomputed",
    "Product",
    "RandomWalk",
    "RationalQuadratic",
    "Reweight",
    "RotationInvariant",
    "Scaled",
    "ShortestPath",
    "Sigmoid",
    "Similarity",
    "Spectrum",
    "SquaredDistance",
    "Subsequence",
    "Sum",
    "TangentDistance",
    "Tanimoto",
    "Tricube",
    "Uniform",
    "Warp",
    "WeightedDegree",
    "WeisfeilerLehman",
    "Wendland",
    "as_kernel",
    "leaves",
    "parse",
    "register",
]
