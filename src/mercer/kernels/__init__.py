"""Kernels and their algebra.

Each kernel is one class whose `lower` is its formula, in the file where it belongs; ``@kernel``
enters it in the catalog, and that is all there is to do (see `catalog`). The building blocks are
in `algebra` and `on_inputs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.kernels import (  # noqa: F401  (each of these files enters its kernels in the catalog)
    columnwise,
    densities,
    dots,
    graphs,
    images,
    opaque,
    radial,
    strings,
)
from mercer.kernels.algebra import Exp, Normalized, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.catalog import LEAVES, examples, kernel, leaves, register
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Kernel
from mercer.kernels.grammar import parse
from mercer.kernels.on_inputs import On, Reweight, Warp
from mercer.kernels.opaque import OpaqueKernel, Precomputed, Similarity

if TYPE_CHECKING:  # type checkers cannot read the catalog; `make format` writes this file from it
    from mercer.kernels.names import *  # noqa: F403

__all__ = [
    "KERNELS",
    "LEAVES",
    "Claim",
    "Exp",
    "Kernel",
    "Normalized",
    "On",
    "OpaqueKernel",
    "PolynomialOf",
    "Power",
    "Product",
    "Reweight",
    "Rule",
    "Scaled",
    "Sum",
    "Warp",
    "as_kernel",
    "examples",
    "kernel",
    "leaves",
    "parse",
    "register",
]
#: The kernels of this package, by the name of their class.
KERNELS = {cls.__name__: cls for cls in LEAVES.values()}
globals().update(KERNELS)
if not TYPE_CHECKING:
    __all__ += list(KERNELS)


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
