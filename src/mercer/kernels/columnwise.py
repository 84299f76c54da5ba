"""Kernels that treat each column by itself and then add, multiply or count."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import host, is_sparse
from mercer._parameters import Count, Declared, declare
from mercer.formula.inputs import Categories, NonNegative
from mercer.formula.nodes import (
    DIFFERENCE,
    PI,
    SETS,
    X_J,
    Z_J,
    Formula,
    Input,
    const,
    reduce_columns,
)
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule, zero_function
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.parameters.widths import SIZE, Meaning, Spread, Width


@kernel
class BSpline(Kernel):
    """k(x, z) = Πⱼ Bₙ((xⱼ − zⱼ) / width), Bₙ the centered B-spline: the box convolved n times.

    Odd degrees (the lecture's B₂ₙ₊₁) are squares in the Fourier domain and so kernels; even ones
    compute and are refuted.

    Parameters
    ----------
    degree : int
        The degree n of the spline; only odd ones are kernels.
    width : float, "scale" or "median", default 1.0
        Distance of two knots; larger is smoother.

    Examples
    --------
    >>> from mercer.kernels import BSpline
    >>> BSpline(1)([[0.0]], [[0.25]])
    array([[0.75]])
    """

    degree: int
    width: float | str = 1.0
    tex = r"\prod_j B_{<degree>}\left((x_j - z_j) / <width|w>\right)"
    examples: ClassVar[Examples] = (
        "bspline(3, width=2)",
        "bspline(0)",
        "bspline(1)",
        "bspline(2)",
        "bspline(5, width=2)",
    )

    parameters: ClassVar[Declared] = declare(
        degree=Count(0, 25, floats=True, why="beyond 25 its terms cancel in double precision"),
        # The box convolved n times has the variance (n + 1)/12 of its width squared.
        width=Width(
            Meaning(
                "√(6·D·var/(degree + 1))",
                lambda kernel, rows: rows.length * math.sqrt(12.0 / (kernel.degree + 1)),
            ),
            Meaning(
                "m·√(12/(degree + 1))",
                lambda kernel, rows: rows.median() * math.sqrt(12.0 / (kernel.degree + 1)),
            ),
        ),
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        n = self.degree
        # Measured from the right edge of the support, so that few terms cancel.
        edge = (n + 1) / 2 - DIFFERENCE.apply("abs").over(self._named(path, "width"))
        if n == 0:
            return reduce_columns("prod", edge.apply("step"), rows)
        value = const(0.0)
        for k in range((n + 1) // 2 + 1):
            # n! in two factors, each of which is a float64 number exactly.
            low = math.factorial(min(n, 15))
            weight = (
                const((-1.0) ** k * math.comb(n + 1, k)).over(low).over(math.factorial(n) // low)
            )
            value = value + weight * (edge - float(k)).plus() ** n
        return reduce_columns("prod", value, rows)

    def claim(self, n_features: int | None = None) -> Claim:
        if self.degree % 2:
            because = "its Fourier transform is an even power of sinc"
            return Claim(True, f"B-spline of odd degree {self.degree}", self, because)
        because = "its Fourier transform, an odd power of sinc, dips below zero"
        return Claim(False, f"B-spline of even degree {self.degree}", self, because)


def _on_circles(kernel: Any, rows: Spread) -> Spread:
    """The rows that the periodic kernel is a Gaussian of: each column on a circle."""
    dense = rows.rows.toarray() if is_sparse(rows.rows) else host(rows.rows)
    angles = (2.0 * math.pi / kernel.period) * dense
    return Spread(np.hstack([np.cos(angles), np.sin(angles)]), rows.weight)


@kernel
class Periodic(Kernel):
    """k(x, z) = exp(−2 Σⱼ sin²(π(xⱼ − zⱼ)/period) / length²).

    Parameters
    ----------
    period : float, default 1.0
        After which everything repeats.
    length : float, "scale" or "median", default 1.0
        Width within a period; larger is smoother.

    Examples
    --------
    >>> from mercer import Periodic
    >>> Periodic(7.0)([[0.0]], [[7.0], [3.5]]).round(4)
    array([[1.    , 0.1353]])
    """

    period: float = 1.0
    length: float | str = 1.0
    examples: ClassVar[Examples] = ("periodic(2, length=0.7)",)
    proof: ClassVar[Rule] = Rule(True, "periodic", "a Gaussian of (cos, sin) of each column")

    parameters: ClassVar[Declared] = declare(
        period=SIZE,
        length=Width(
            Meaning(
                "√(D·var) of (cos, sin) of 2πx/period", lambda k, rows: _on_circles(k, rows).length
            ),
            Meaning("m of (cos, sin) of 2πx/period", lambda k, rows: _on_circles(k, rows).median()),
        ),
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        phase = (PI * DIFFERENCE).over(self._named(path, "period"))
        total = reduce_columns("sum", phase.apply("sin") ** 2, rows)
        return (-2.0 * total.over(self._named(path, "length") ** 2)).exp()

    def latex(self, x: str = "x", z: str = "z") -> str:
        wave = rf"\sum_j \sin^2(\pi ({x}_j - {z}_j) / {self.period:g})"
        square = self._tex("length", "l^2", lambda length: length**2)
        return rf"\exp\left(-2 {wave} / {square}\right)"


@kernel
class ChiSquared(Kernel):
    """k(x, z) = exp(−γ Σⱼ (xⱼ − zⱼ)² / (xⱼ + zⱼ)) for x, z ≥ 0 (histograms).

    Parameters
    ----------
    gamma : float, "scale" or "median", default 1.0
        Rate γ; larger is narrower.

    Examples
    --------
    >>> from mercer import ChiSquared
    >>> ChiSquared()([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    gamma: float | str = 1.0
    tex = r"\exp\left(-<gamma|\gamma> \sum_j \frac{(x_j - z_j)^2}{x_j + z_j}\right)"
    examples: ClassVar[Examples] = ("chi_squared(0.5)",)
    proof: ClassVar[Rule] = Rule(
        True,
        "exponential chi-squared",
        "(x−z)²/(x+z) = x + z − 4xz/(x+z) is conditionally negative (Schoenberg)",
        domain="x ≥ 0",
    )

    # (x − z)²/(x + z) is about (x − z)²/(2·mean): the words are those of a Gaussian of that.
    parameters: ClassVar[Declared] = declare(
        gamma=Width(
            Meaning(
                "2·mean/(D·var)",
                lambda kernel, rows: 2.0 * rows.mean / (rows.n_columns * rows.variance),
            ),
            Meaning("mean/m²", lambda kernel, rows: rows.mean / rows.median() ** 2),
        )
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        body = (DIFFERENCE**2).over(X_J + Z_J)
        total = reduce_columns("sum", body, rows.then(NonNegative("ChiSquared")))
        return (-(self._named(path, "gamma") * total)).exp()


@kernel
class Intersection(Kernel):
    """k(x, z) = Σⱼ min(xⱼ, zⱼ) for x, z ≥ 0 (histograms).

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[3.0, 1.0]], [[2.0, 5.0]])
    array([[3.]])
    """

    tex = r"\sum_j \min(x_j, z_j)"
    proof: ClassVar[Rule] = Rule(
        True, "histogram intersection", "min(x, z) = ∫ 1[t ≤ x] 1[t ≤ z] dt", domain="x ≥ 0"
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        return reduce_columns("sum", X_J.apply("min", Z_J), rows.then(NonNegative("Intersection")))


@kernel
class Hamming(Kernel):
    """k(x, z) = the share of columns in which x and z agree (categories of any type).

    Examples
    --------
    >>> from mercer.kernels import Hamming
    >>> Hamming()([["red", "small"]], [["red", "large"]])
    array([[0.5]])
    """

    takes_words = True
    tex = r"\tfrac{1}{D} \sum_j \mathbb{1}[x_j = z_j]"
    proof: ClassVar[Rule] = Rule(True, "share of agreeing columns", "φ(x) = one-hot columns / √D")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return reduce_columns("mean", X_J.apply("eq", Z_J), rows.then(Categories()))


@kernel
class Delta(Kernel):
    """k(x, z) = 1 where all columns of x and z agree, else 0.

    Examples
    --------
    >>> from mercer.kernels import Delta
    >>> Delta()([[1.0, 2.0]], [[1.0, 2.0], [1.0, 3.0]])
    array([[1., 0.]])
    """

    takes_words = True
    tex = r"\mathbb{1}[x = z]"
    proof: ClassVar[Rule] = Rule(True, "equality", "φ(x) = the one-hot vector of x")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return reduce_columns("prod", X_J.apply("eq", Z_J), rows.then(Categories()))


@kernel
class Anova(Kernel):
    """k(x, z) = Σ over all sets S of `degree` columns of Πⱼ∈S exp(−(xⱼ − zⱼ)² / (2σ²)).

    In one pass over the columns: with each further one, every sum over sets of s columns grows by
    its Gaussian times the sum over sets of s − 1. Zero where the data has fewer columns than the
    degree.

    Parameters
    ----------
    degree : int, default 2
        How many columns take part in each product.
    sigma : float, "scale" or "median", default 1.0
        Width of the Gaussians; larger is smoother.

    Examples
    --------
    >>> from mercer.kernels import Anova
    >>> Anova(2)([[0.0, 0.0, 0.0]], [[0.0, 0.0, 9.0]]).round(6)
    array([[1.]])
    """

    degree: int = 2
    sigma: float | str = 1.0
    examples: ClassVar[Examples] = "anova()", "anova(3, sigma=2)"
    proof: ClassVar[Rule] = Rule(True, "ANOVA", "a sum of products of Gaussians of single columns")

    # A product of `degree` columns is a Gaussian of that many columns.
    parameters: ClassVar[Declared] = declare(
        degree=Count(1, floats=True),
        sigma=Width(
            Meaning(
                "√(degree·var/2)",
                lambda kernel, rows: math.sqrt(kernel.degree * rows.variance / 2.0),
            ),
            Meaning(
                "m·√(degree/D)",
                lambda kernel, rows: rows.median() * math.sqrt(kernel.degree / rows.n_columns),
            ),
        ),
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        rate = const(-0.5).over(self._named(path, "sigma") ** 2)
        how = "sum" if self.degree == 1 else f"{SETS}{self.degree}"
        return reduce_columns(how, (rate * DIFFERENCE**2).exp(), rows)

    def claim(self, n_features: int | None = None) -> Claim:
        if n_features is not None and n_features < self.degree:
            return zero_function(self)  # there is no set of that many columns
        return super().claim(n_features)

    def latex(self, x: str = "x", z: str = "z") -> str:
        width = self._tex("sigma", r"(2\sigma^2)", lambda sigma: 2 * sigma**2)
        body = rf"e^{{-({x}_j - {z}_j)^2 / {width}}}"
        return rf"\sum_{{|S| = {self.degree}}} \prod_{{j \in S}} {body}"
