"""The algebra as methods of `Kernel`, which derives from `Algebra` (see `core`).

The building blocks themselves are classes of `algebra` and `on_inputs`, which need `Kernel` first:
hence the imports inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mercer.kernels.parameters import is_number

if TYPE_CHECKING:
    from mercer.kernels.core import Kernel


class Algebra:
    """Sums, products, powers and the other building blocks, as methods."""

    def __add__(self: Any, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Sum

        right = _as_term(other)
        return NotImplemented if right is None else Sum(self, right)

    def __radd__(self: Any, other: float) -> Kernel:
        from mercer.kernels.algebra import Sum

        if isinstance(other, int) and other == 0:
            return self  # sum([k1, k2]) begins with 0
        left = _as_term(other)
        return NotImplemented if left is None else Sum(left, self)

    def __mul__(self: Any, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Product, Scaled
        from mercer.kernels.core import Kernel

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(other, self) if is_number(other) else NotImplemented

    def __rmul__(self: Any, other: float) -> Kernel:
        return self * other

    def __neg__(self: Any) -> Kernel:
        return self * -1.0

    def __sub__(self: Any, other: Kernel | float) -> Kernel:
        return self + (-other)

    def __rsub__(self: Any, other: float) -> Kernel:
        return other + (-self)

    def __truediv__(self: Any, other: float) -> Kernel:
        if not is_number(other):
            return NotImplemented
        if other == 0:
            raise ValueError(f"{self!r} cannot be divided by 0")
        return self * (1.0 / other)

    def __pow__(self: Any, degree: int) -> Kernel:
        from mercer.kernels.algebra import Power

        return Power(self, degree)

    def polynomial(self: Any, coefficients: Sequence[float]) -> Kernel:
        """q(k) = c₀ + c₁k + c₂k² + …"""
        from mercer.kernels.algebra import PolynomialOf

        return PolynomialOf(self, coefficients)  # type: ignore[arg-type]

    def exp(self: Any) -> Kernel:
        """exp(k)."""
        from mercer.kernels.algebra import Exp

        return Exp(self)

    def warp(self: Any, phi: Any) -> Kernel:
        """k(φ(x), φ(z)); φ takes a set of rows (a function, a transformer, a registered name).

        A matrix A stands for φ(x) = Ax, a vector of scales for one factor per column.
        """
        from mercer.kernels.on_inputs import Warp

        return Warp(self, phi)

    def metric(self: Any, M: Any) -> Kernel:
        """k(M^½x, M^½z): the distance of x and z becomes √((x − z)ᵀM(x − z)).

        M is a positive semi-definite matrix, or a vector of one weight per column.

        >>> from mercer.kernels import SquaredDistance
        >>> SquaredDistance().metric([4.0, 0.25])
        SquaredDistance().warp([2.0, 0.5])
        """
        from mercer.kernels.on_inputs import Warp, root_of_metric

        return Warp(self, root_of_metric(M))

    def reweight(self: Any, f: Any) -> Kernel:
        """f(x) k(x, z) f(z); f takes a set of rows and gives one number for each."""
        from mercer.kernels.on_inputs import Reweight

        return Reweight(self, f)

    def normalized(self: Any) -> Kernel:
        """k(x, z) / √(k(x, x) k(z, z))."""
        from mercer.kernels.algebra import Normalized

        return Normalized(self)

    def on(self: Any, columns: Any) -> Kernel:
        """The same kernel on some columns: an index, a name, or a list of them."""
        from mercer.kernels.on_inputs import On

        return On(self, columns)


def _as_term(value: Any) -> Kernel | None:
    """A kernel as it is, a number as a constant; None for anything else."""
    from mercer.kernels.core import Kernel
    from mercer.kernels.dots import Constant

    if isinstance(value, Kernel):
        return value
    return Constant(value) if is_number(value) else None
