"""Kernels of the distance between x and z.

Those of `smooth` are valid in every dimension; those of `compact` are zero beyond a width, which
only Wendland's survive as kernels; `distances` holds the squared distance itself.
"""

from __future__ import annotations

from mercer.kernels.radial.compact import Epanechnikov, Tricube, Uniform, Wendland
from mercer.kernels.radial.smooth import (
    FARTHEST,
    Gaussian,
    Laplacian,
    Matern,
    NegativeSquaredDistance,
    PerColumn,
    PowerExponential,
    RationalQuadratic,
    SquaredDistance,
)

__all__ = [
    "FARTHEST", "Epanechnikov", "Gaussian", "Laplacian", "Matern", "NegativeSquaredDistance",
    "PerColumn", "PowerExponential", "RationalQuadratic", "SquaredDistance", "Tricube", "Uniform",
    "Wendland",
]  # fmt: skip
