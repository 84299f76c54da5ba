"""The building blocks: each makes a kernel from kernels, and each is one rule of the algebra."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Declared, Number, declare
from mercer.formula import nodes
from mercer.formula.nodes import Formula, Input, at_diagonal
from mercer.formula.simplify import simplify
from mercer.kernels.catalog import frozen
from mercer.kernels.claims import ZERO, Claim, closed_under, zero_function
from mercer.kernels.core import ATOM, POWER, PRODUCT, SUM, Kernel, bracket
from mercer.kernels.parameters import WHOLE_POWER, Part, is_number


@frozen
class Sum(Kernel):
    """k₁(x, z) + k₂(x, z): the features side by side.

    Parameters
    ----------
    left : Kernel
        The kernel k₁.
    right : Kernel
        The kernel k₂.

    Examples
    --------
    >>> from mercer import Linear
    >>> (Linear() + Linear() ** 2)([[2.0]], [[3.0]])
    array([[42.]])
    """

    left: Kernel
    right: Kernel
    binding: ClassVar[int] = SUM

    parameters: ClassVar[Declared] = declare(left=Part(), right=Part())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.left.lower(rows, f"{path}left__") + self.right.lower(rows, f"{path}right__")

    def claim(self, n_features: int | None = None) -> Claim:
        parts = [self.left.claim(n_features), self.right.claim(n_features)]
        if any(p.negative for p in parts) and all(p.negative or p.rule == ZERO for p in parts):
            because = "all terms are negative"
            return Claim(False, "sum", self, because, tuple(parts), negative=True)
        return closed_under(self, "sum of kernels", parts, "features side by side", zero=all)

    def features(self, X: Any) -> np.ndarray:
        return np.hstack([self.left.features(X), self.right.features(X)])

    def n_dims(self, n_features: int) -> int | float:
        return self.left.n_dims(n_features) + self.right.n_dims(n_features)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return self.left.feature_names(names) + self.right.feature_names(names)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return f"{self.left.latex(x, z)} + {self.right.latex(x, z)}"

    def __repr__(self) -> str:
        right = self.right
        if isinstance(right, Scaled) and right.factor == -1.0:
            return f"{self.left!r} - {bracket(right.kernel, PRODUCT)}"
        # A sum on the right keeps its parentheses, so that the text gives the same tree.
        return f"{self.left!r} + {bracket(right, PRODUCT)}"


@frozen
class Product(Kernel):
    """k₁(x, z) · k₂(x, z): all products of one feature from each.

    Parameters
    ----------
    left : Kernel
        The kernel k₁.
    right : Kernel
        The kernel k₂.

    Examples
    --------
    >>> from mercer import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    left: Kernel
    right: Kernel
    binding: ClassVar[int] = PRODUCT

    parameters: ClassVar[Declared] = declare(left=Part(), right=Part())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.left.lower(rows, f"{path}left__") * self.right.lower(rows, f"{path}right__")

    def claim(self, n_features: int | None = None) -> Claim:
        parts = [self.left.claim(n_features), self.right.claim(n_features)]
        return closed_under(self, "product of kernels", parts, "tensor product (Schur)")

    def features(self, X: Any) -> np.ndarray:
        a, b = self.left.features(X), self.right.features(X)
        return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)

    def n_dims(self, n_features: int) -> int | float:
        return self.left.n_dims(n_features) * self.right.n_dims(n_features)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        right = self.right.feature_names(names)
        return [f"({a})({b})" for a in self.left.feature_names(names) for b in right]

    def latex(self, x: str = "x", z: str = "z") -> str:
        return r" \cdot ".join(latex_factor(k, x, z) for k in (self.left, self.right))

    def __repr__(self) -> str:
        return f"{bracket(self.left, PRODUCT)} * {bracket(self.right, POWER)}"


def latex_factor(kernel: Kernel, x: str, z: str) -> str:
    text = kernel.latex(x, z)
    return rf"\left({text}\right)" if kernel.binding == SUM else text


class SameFeatures(Kernel):
    """A block that changes the length of φ(x) only: its coordinates are those of its part."""

    kernel: Kernel

    def n_dims(self, n_features: int) -> int | float:
        return self.kernel.n_dims(n_features)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return self.kernel.feature_names(names)


@frozen
class Scaled(SameFeatures):
    """c · k(x, z), valid for c ≥ 0; a negative c computes, and is refuted.

    Parameters
    ----------
    factor : float
        The number c.
    kernel : Kernel
        The kernel k inside.

    Examples
    --------
    >>> from mercer import Linear
    >>> (3 * Linear())([[1.0]], [[2.0]])
    array([[6.]])
    """

    factor: float
    kernel: Kernel
    binding: ClassVar[int] = PRODUCT

    parameters: ClassVar[Declared] = declare(factor=Number(), kernel=Part())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self._named(path, "factor") * self.kernel.lower(rows, f"{path}kernel__")

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        if self.factor == 0 or part.rule == ZERO:
            return zero_function(self)
        if self.factor > 0:
            return closed_under(self, f"multiple {self.factor:g} ≥ 0 of a kernel", [part])
        if not part.holds:
            return Claim(None, "negative multiple", self, "the rule needs a kernel", (part,))
        if not part.generic:
            because = "−k is a kernel only if k is zero everywhere"
            return Claim(None, "negative multiple", self, because, (part,))
        because = "−k has a negative diagonal"
        return Claim(False, "negative multiple of a kernel", self, because, (part,), negative=True)

    def features(self, X: Any) -> np.ndarray:
        if self.factor < 0:
            raise ValueError(f"{self!r} has no feature map: the factor is negative")
        phi = self.kernel.features(X)
        return phi * phi.dtype.type(math.sqrt(self.factor))

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"{self.factor:g} \, {latex_factor(self.kernel, x, z)}"

    def __repr__(self) -> str:
        return f"{self.factor!r} * {bracket(self.kernel, POWER)}"


@frozen
class Power(Kernel):
    """k(x, z)ⁿ for a whole number n ≥ 1.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.
    degree : int
        The exponent n.

    Examples
    --------
    >>> from mercer import Linear
    >>> (Linear() ** 3)([[1.0]], [[2.0]])
    array([[8.]])
    """

    kernel: Kernel
    degree: int
    binding: ClassVar[int] = POWER

    parameters: ClassVar[Declared] = declare(kernel=Part(), degree=WHOLE_POWER)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.kernel.lower(rows, f"{path}kernel__") ** self.degree

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        return closed_under(self, f"power {self.degree} of a kernel", [part], "repeated product")

    def features(self, X: Any) -> np.ndarray:
        base = self.kernel.features(X)
        phi = base
        for _ in range(self.degree - 1):
            phi = (phi[:, :, None] * base[:, None, :]).reshape(len(base), -1)
        return phi

    def n_dims(self, n_features: int) -> int | float:
        return _to_the(self.kernel.n_dims(n_features), self.degree)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\left({self.kernel.latex(x, z)}\right)^{{{self.degree}}}"

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)} ** {self.degree}"


#: With more coefficients than this, the code that is generated takes seconds to compile.
MOST_COEFFICIENTS = 100


def _to_the(n: int | float, degree: int) -> int | float:
    """nᵈ, an exact number of coordinates as long as it can be written down."""
    if isinstance(n, int) and n.bit_length() * degree > 1_000_000:
        raise ValueError(f"φ has {n}^{degree} coordinates: too many to be counted"[:200])
    return n**degree


@frozen
class PolynomialOf(Kernel):
    """q(k) = c₀ + c₁k + c₂k² + …, valid for non-negative coefficients.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.
    coefficients : tuple of float
        The numbers c₀, c₁, c₂, …

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().polynomial([1, 0, 2])([[1.0]], [[3.0]])
    array([[19.]])
    """

    kernel: Kernel
    coefficients: tuple[float, ...]

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def _check_together(self) -> None:
        values = self.coefficients
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TypeError(f"polynomial takes a list of coefficients, got {values!r}")
        values = tuple(values)
        if not values:
            raise ValueError("polynomial needs at least one coefficient")
        if len(values) > MOST_COEFFICIENTS:
            raise ValueError(
                f"polynomial takes up to {MOST_COEFFICIENTS} coefficients, got {len(values)}"
            )
        if not all(is_number(v) and abs(v) <= sys.float_info.max for v in values):
            raise ValueError(f"the coefficients must be finite numbers, got {list(values)}")
        self._set("coefficients", tuple(float(v) for v in values))

    def lower(self, rows: Input, path: str = "") -> Formula:
        k = self.kernel.lower(rows, f"{path}kernel__")
        # Horner's scheme: one product and one sum per coefficient.
        value = nodes.const(self.coefficients[-1])
        for c in reversed(self.coefficients[:-1]):
            value = value * k + c
        return value

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        if not any(self.coefficients):
            return zero_function(self)
        if min(self.coefficients) < 0:
            return Claim(
                None, "polynomial of a kernel", self, "the rule needs coefficients ≥ 0", (part,)
            )
        if self.coefficients[0] and part.rule == ZERO:
            return Claim(True, "constant ≥ 0", self, "q(0) = c₀")
        because = "sums and products of kernels"
        claim = closed_under(self, "polynomial with coefficients ≥ 0", [part], because)
        return replace(claim, generic=True) if self.coefficients[0] else claim

    def features(self, X: Any) -> np.ndarray:
        if min(self.coefficients) < 0:
            raise ValueError(f"{self!r} has no feature map: a coefficient is negative")
        base = self.kernel.features(X)
        power = np.ones((len(base), 1), dtype=base.dtype)
        parts = []
        for i, c in enumerate(self.coefficients):
            if i:
                power = (power[:, :, None] * base[:, None, :]).reshape(len(base), -1)
            if c:
                parts.append(power * base.dtype.type(math.sqrt(c)))
        return np.hstack(parts) if parts else np.zeros((len(base), 1), dtype=base.dtype)

    def n_dims(self, n_features: int) -> int | float:
        inner = self.kernel.n_dims(n_features)
        return sum(_to_the(inner, i) for i, c in enumerate(self.coefficients) if c) or 1

    def latex(self, x: str = "x", z: str = "z") -> str:
        k = self.kernel.latex(x, z)
        terms = [
            rf"{c:g} \left({k}\right)^{{{i}}}" if i else f"{c:g}"
            for i, c in enumerate(self.coefficients)
            if c
        ]
        return " + ".join(terms) or "0"

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)}.polynomial({list(self.coefficients)!r})"


@frozen
class Exp(Kernel):
    """exp(k(x, z)): a power series with non-negative coefficients.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().exp()([[1.0]], [[2.0]]).round(4)
    array([[7.3891]])
    """

    kernel: Kernel

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self.kernel.lower(rows, f"{path}kernel__").exp()

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        if part.rule == ZERO:
            return Claim(True, "constant ≥ 0", self, "exp(0) = 1")
        claim = closed_under(self, "exponential of a kernel", [part], "limit of polynomials ≥ 0")
        return replace(claim, generic=True)  # e^k(x, x) ≥ 1

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\exp\left({self.kernel.latex(x, z)}\right)"

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)}.exp()"


@frozen
class Normalized(SameFeatures):
    """k(x, z) / √(k(x, x) k(z, z)): the cosine of the angle in feature space.

    Parameters
    ----------
    kernel : Kernel
        The kernel k inside.

    Examples
    --------
    >>> from mercer import Polynomial
    >>> Polynomial(2).normalized()([[1.0, 1.0]], [[2.0, 0.0]])
    array([[0.5]])
    """

    kernel: Kernel

    parameters: ClassVar[Declared] = declare(kernel=Part())

    def lower(self, rows: Input, path: str = "") -> Formula:
        k = self.kernel.lower(rows, f"{path}kernel__")
        length = simplify(at_diagonal(k))
        if length.op == "const" and length.value < 0:
            raise ValueError(
                f"{self.kernel!r} cannot be normalized: k(x, x) = {length.value:g} is negative"
            )
        return k * (at_diagonal(k, "x").rsqrt() * at_diagonal(k, "z").rsqrt())

    def claim(self, n_features: int | None = None) -> Claim:
        part = self.kernel.claim(n_features)
        return closed_under(self, "normalized kernel", [part], "f(x) k f(z), f = k(x, x)^(−1/2)")

    def features(self, X: Any) -> np.ndarray:
        phi = self.kernel.features(X)
        norms = np.linalg.norm(phi, axis=1, keepdims=True)
        return phi / np.where(norms > 0, norms, 1)

    def latex(self, x: str = "x", z: str = "z") -> str:
        k = self.kernel
        return rf"\frac{{{k.latex(x, z)}}}{{\sqrt{{{k.latex(x, x)} \cdot {k.latex(z, z)}}}}}"

    def __repr__(self) -> str:
        return f"{bracket(self.kernel, ATOM)}.normalized()"
