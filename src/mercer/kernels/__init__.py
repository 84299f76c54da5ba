"""Kernels and their algebra.

Each kernel is one class whose `lower` is its formula, in the file where it belongs; ``@kernel``
enters it in the catalog, and that is all there is to do (see `catalog`). The building blocks are
in `algebra` and `on_inputs`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer._lazy import unknown
from mercer.kernels import columnwise, densities, dots, opaque, radial  # noqa: F401  (each of these files enters its kernels in the catalog)
from mercer.kernels.algebra import Exp, Normalized, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.catalog import KERNELS, LATER, kernel, register
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Kernel
from mercer.kernels.expressions.mathematics import Written
from mercer.kernels.grammar import bare, parse
from mercer.kernels.on_inputs import On, Reweight, Warp
from mercer.kernels.opaque import OpaqueKernel
from mercer.kernels.opaque import Similarity as Similarity
from mercer.kernels.parameters import Width
from mercer.kernels.radial import Gaussian as Gaussian

if TYPE_CHECKING:  # type checkers cannot read the catalog; `make format` writes this file from it
    from mercer.kernels import names
    from mercer.kernels.names import *  # noqa: F403

__all__ = [
    "DEFAULT", "Claim", "Exp", "Kernel", "Normalized", "On", "OpaqueKernel", "PolynomialOf",
    "Power", "Product", "Reweight", "Rule", "Scaled", "Sum", "Warp", "Width", "Written",
    "as_kernel", "kernel", "parse", "register",
]  # fmt: skip
globals().update(KERNELS.loaded)
if TYPE_CHECKING:
    __all__ += names.__all__
else:
    _BESIDE_KERNELS = __all__
    #: Tables that version 0.2 had among the public names, and where they are.
    _FORMER = {
        **dict.fromkeys(("LEAVES", "examples", "leaves"), "mercer.kernels.catalog"),
        "BESIDE": "mercer.kernels.grammar",
        "Meaning": "mercer.kernels.parameters",
    }
    del __all__  # asked for, it is made of the catalog, which imports all that is in it

    def __dir__() -> list[str]:
        return [*_BESIDE_KERNELS, *KERNELS]

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        if f"{__name__}.{name}" in LATER:
            return import_module(f"{__name__}.{name}")
        if name[:1].isupper() and name in KERNELS:
            globals().update(KERNELS)
            return KERNELS[name]
        if name in _FORMER:
            from mercer._deprecated import warn_of

            warn_of(f"{__name__}.{name}", f"{_FORMER[name]}.{name}")
            return getattr(import_module(_FORMER[name]), name)
        raise unknown(__name__, name, __dir__())


#: The kernel of every learner and map that is not given one.
DEFAULT = Gaussian("scale")


def as_kernel(kernel: object, **beside: Any) -> Kernel:
    """A Kernel from a Kernel or its class, an expression, "precomputed", or a function.

    A function takes two examples, or two sets of them and gives a matrix. `beside` are the `gamma`,
    `degree` and `coef0` that scikit-learn's estimators take beside the name of a kernel.

    Parameters
    ----------
    kernel : Kernel, type, str or callable
        What is to become a kernel.
    **beside : float or None
        The `gamma`, `degree` and `coef0` that scikit-learn's estimators take beside a name.

    Returns
    -------
    Kernel
        Ready to use, or with widths that `fitted` replaces by numbers.

    Examples
    --------
    >>> as_kernel("gaussian(2)"), as_kernel("rbf"), as_kernel("poly", degree=2, coef0=1)
    (Gaussian(sigma=2.0), Gaussian(sigma='scale'), Polynomial(degree=2, offset=1.0, gamma='scale'))
    """
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        return bare(kernel, **beside)
    if isinstance(kernel, str) and kernel.strip().isidentifier():
        return bare(kernel.strip(), **beside)
    given = [f"{name}={value!r}" for name, value in beside.items() if value is not None]
    if given and kernel == DEFAULT:  # KernelSVC(gamma=0.1): nobody has named a kernel
        return bare("rbf", **beside)
    if given:
        raise ValueError(
            f"{', '.join(given)} goes with the bare name of a kernel such as 'rbf'; {kernel!r} "
            "has its own parameters: write them there, as in 'gaussian(gamma=0.1)'"
        )
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return parse(kernel)
    if callable(kernel):
        return Similarity(kernel, blocks="auto")
    raise TypeError(
        "kernel must be a Kernel, an expression such as 'gaussian(sigma=2)', a bare name such as "
        "'rbf', a function of two examples or of two sets of them, or 'precomputed'; got "
        f"{type(kernel).__name__}" + (". Data go to fit(X, y)" if hasattr(kernel, "shape") else "")
    )
