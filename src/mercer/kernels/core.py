"""Kernel: what k(x, z) is. An immutable value with an algebra; it knows no device, no learner."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer._escape.html import code, tag
from mercer._examples import count, take
from mercer.formula.nodes import ROOT, Formula, Input
from mercer.formula.profile import is_radial, is_stationary
from mercer.kernels._facade import Facade, no_finite_map
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.parameters import Parameters, is_number

#: How tightly an expression binds, for parentheses: sum < product < power < call.
SUM, PRODUCT, POWER, ATOM = range(4)

#: Kernels to try, as expressions or as functions that make one.
Examples = tuple[str | Callable[[], Any], ...]


class Kernel(Facade, Parameters):
    """Base of all kernels: what k says of itself, what can be asked of it, and the algebra.

    Examples
    --------
    >>> from mercer import Gaussian, Linear
    >>> k = 2 * Gaussian(1.0) + Linear()
    >>> k([[0.0]], [[1.0]]).round(4)
    array([[1.2131]])
    >>> bool(k.prove())
    True
    """

    binding: ClassVar[int] = ATOM
    #: False for a black box that may give k(x, z) ≠ k(z, x): no triangle is saved on it.
    symmetric: ClassVar[bool] = True
    #: What its examples are: "vectors", "strings", "graphs", "images", "matrix" or "anything".
    takes: ClassVar[str] = "vectors"
    #: Kernels of this class to try in tests, as expressions or as functions that make one; where
    #: there are none, the class is called without arguments.
    examples: ClassVar[Examples] = ()
    #: k(x, z) in LaTeX; <p> is the parameter p, and <p|π> is π while data is still to choose p.
    tex: ClassVar[str] = ""
    #: Why every kernel of this class is positive semi-definite, or is not.
    proof: ClassVar[Rule] = Rule(None, "no rule", "nothing is known about this kernel")

    # --- what a kernel says of itself -----------------------------------------------------

    def lower(self, rows: Input, path: str = "") -> Formula:
        """The formula of k over `rows`; parameters are named under `path`."""
        raise NotImplementedError

    def claim(self, n_features: int | None = None) -> Claim:
        """What is known about positive semi-definiteness, by rules alone."""
        return self.proof.of(self, n_features)

    def features(self, X: Any) -> np.ndarray:
        """φ(x) for each row, with φ(x)·φ(z) = k(x, z), where a finite φ exists."""
        raise no_finite_map(self)

    def n_dims(self, n_features: int) -> int | float:
        """The length of φ: an exact integer, or infinity."""
        return math.inf

    def feature_names(self, names: Sequence[str]) -> list[str]:
        """A name for each coordinate of φ."""
        return [f"phi{i}" for i in range(int(self.n_dims(len(names))))]

    def latex(self, x: str = "x", z: str = "z") -> str:
        """k(x, z) as LaTeX."""
        tex = self.tex or rf"\mathrm{{{type(self).__name__}}}(x, z)"
        parts = re.split(r"(<\w+\|?[^>]*>)", tex)
        for i, part in enumerate(parts):
            if number := re.fullmatch(r"<(\w+)\|?([^>]*)>", part):
                parts[i] = self._tex(number[1], number[2])
            else:  # names of x and z may hold anything
                parts[i] = re.sub(
                    r"(?<![A-Za-z\\])[xz](?![A-Za-z])", lambda m: {"x": x, "z": z}[m[0]], part
                )
        return "".join(parts)

    def _repr_latex_(self) -> str:
        return f"$k(x, z) = {self.latex()}$"

    def _repr_html_(self) -> str:
        """In a notebook: the expression, the formula, and what the rules say of it."""
        claim = self.claim()
        said = {True: "✓ a kernel", False: "✗ not a kernel", None: "? not known to be a kernel"}
        where = f" for {claim.domain}" if claim.domain else ""
        if claim.max_dims is not None:
            where += f" in at most {claim.max_dims} dimensions"
        reason = f"{claim.rule}: {claim.because}" if claim.because else claim.rule
        verdict = tag("small", f"{said[claim.holds]}{where} ({reason})")
        return tag("div", code(repr(self)), tag("div", self._repr_latex_()), verdict)

    # --- what can be asked of any kernel --------------------------------------------------

    def formula(self) -> Formula:
        """k as an expression over pair statistics; opaque kernels have none."""
        if self.is_opaque:
            raise TypeError(f"{self!r} holds an opaque kernel: it gives blocks, not a formula")
        return self.lower(ROOT)

    @property
    def is_opaque(self) -> bool:
        return any(child.is_opaque for _, child in self.children())

    @property
    def takes_matrix(self) -> bool:
        """Whether the data is K itself, or part of k is: a model then has no examples to keep.

        Nor has it k(x, x) for new examples, of which rows hold k to the training examples only.
        """
        return any(child.takes_matrix for _, child in self.children())

    @property
    def takes_objects(self) -> bool:
        """Whether examples may be anything but rows of numbers: strings, graphs, what not."""
        return self.is_opaque and not self.takes_matrix

    @property
    def takes_words(self) -> bool:
        """Whether columns of words are as good as columns of numbers."""
        return any(child.takes_words for _, child in self.children())

    @property
    def picks_columns(self) -> bool:
        """Whether some part of k looks at some of the columns, by index or by name."""
        return any(child.picks_columns for _, child in self.children())

    def points(self, X: Any, index: Any = None) -> Any:
        """What an expansion over these examples (all of them by default) has to hold.

        >>> from mercer import Linear, Precomputed
        >>> Linear().points([[1.0], [2.0]], [1])
        [[2.0]]
        >>> Precomputed().points([[1.0, 0.0], [0.0, 1.0]], [1])
        [1]
        """
        if self.takes_matrix:
            return np.arange(count(X)) if index is None else index
        return X if index is None else take(X, index)

    def stationary(self) -> bool:
        """Whether k(x, z) depends on x − z only, by the structure of its formula."""
        return not self.is_opaque and is_stationary(self.with_widths().formula())

    def radial(self) -> bool:
        """Whether k(x, z) depends on ‖x − z‖ only, by the structure of its formula."""
        return not self.is_opaque and is_radial(self.with_widths().formula())

    # --- the algebra; its classes need `Kernel` first: hence the imports inside -------------

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


def bracket(kernel: Kernel, binding: int) -> str:
    """The text of a part, in parentheses where it binds less tightly than its place asks."""
    text = repr(kernel)
    return f"({text})" if kernel.binding < binding else text
