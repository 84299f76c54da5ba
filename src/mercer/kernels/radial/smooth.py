"""Kernels of the distance that are valid in every dimension: the Gaussian and its relatives."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Among, Declared, Number, Positive, checked, declare
from mercer.formula.inputs import FrozenArray, Scale
from mercer.formula.nodes import DIFFERENCE, Formula, Input, const, l1, linf, reduce_columns, sqdist
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule, within
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.parameters.widths import SIZE, WORDS, Meaning, PerColumn, Spread, Width

#: Why a kernel of the difference x − z is positive semi-definite.
FOURIER = "its Fourier transform is non-negative (Bochner)"


def _sigma_of(gamma: Any) -> float:
    return math.sqrt(0.5 / checked("Gaussian", "gamma", gamma, Positive()))


@kernel
class Gaussian(Kernel):
    """k(x, z) = exp(−‖x − z‖² / (2σ²)), σ a number, one per column, "scale" or "median".

    The handwritten notes take σ = 1; Klein's exp(−‖x−z‖²) is σ = 1/√2; others write γ = 1/(2σ²).

    Parameters
    ----------
    sigma : float, array of shape (n_features,), "scale" or "median", default 1.0
        Width; larger is smoother. An array has one per column.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> Gaussian.from_gamma(0.5)
    Gaussian()
    >>> Gaussian(sigma=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    sigma: Any = 1.0
    examples: ClassVar[Examples] = "gaussian()", "gaussian(0.7)", "gaussian([1.0, 2.0, 0.5])"
    proof: ClassVar[Rule] = Rule(True, "Gaussian", FOURIER)

    parameters: ClassVar[Declared] = declare(sigma=Width(check=PerColumn()))
    spellings: ClassVar[Declared] = declare(
        gamma=("sigma", _sigma_of), length_scale=("sigma", lambda length: length)
    )

    @classmethod
    def from_gamma(cls, gamma: float | str) -> Gaussian:
        """exp(−γ‖x − z‖²)."""
        return cls(gamma if gamma in WORDS else _sigma_of(gamma))

    def lower(self, rows: Input, path: str = "") -> Formula:
        if isinstance(self.sigma, np.ndarray):
            lengths = Scale(FrozenArray.of(self.sigma), f"{path}sigma")
            return (-0.5 * sqdist(rows.then(lengths))).exp()
        return (sqdist(rows) * const(-0.5).over(self._named(path, "sigma") ** 2)).exp()

    def latex(self, x: str = "x", z: str = "z") -> str:
        if isinstance(self.sigma, np.ndarray):
            terms = rf"\sum_j ({x}_j - {z}_j)^2 / (2\sigma_j^2)"
            return rf"\exp\left(-{terms}\right)"
        width = self._tex("sigma", r"(2\sigma^2)", lambda sigma: 2 * sigma**2)
        return rf"\exp\left(-\|{x} - {z}\|^2 / {width}\right)"


def _rate_of_scale(kernel: Any, rows: Spread) -> float:
    if kernel.norm == 2:
        return 1.0 / rows.length
    n_terms = rows.n_columns if kernel.norm == 1 else 1
    return 1.0 / (n_terms * math.sqrt(rows.variance))


@kernel
class Laplacian(Kernel):
    """k(x, z) = exp(−rate ‖x − z‖) in the norm 1, 2 or ∞ (the last up to two dimensions).

    Parameters
    ----------
    rate : float, "scale" or "median", default 1.0
        Larger is narrower.
    norm : {1, 2, inf}, default 2
        The distance that is meant.

    Examples
    --------
    >>> from mercer import Laplacian
    >>> Laplacian(1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    rate: float | str = 1.0
    norm: Any = 2
    examples: ClassVar[Examples] = (
        "laplacian(0.7)",
        "laplacian(norm=1)",
        "laplacian(norm=inf)",
    )

    parameters: ClassVar[Declared] = declare(
        rate=Width(
            Meaning("√(2/(D·var)), norm 1: 1/(D·√var), norm ∞: 1/√var", _rate_of_scale),
            Meaning("1/m, m in that norm", lambda kernel, rows: 1.0 / rows.median(kernel.norm)),
        ),
        norm=Among(1, 2, "inf", spelled={"∞": "inf", math.inf: "inf"}),
    )
    spellings: ClassVar[Declared] = declare(
        gamma=("rate", lambda gamma: gamma),
        sigma=("rate", lambda sigma: 1.0 / sigma),
        length_scale=("rate", lambda length: 1.0 / length),
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        distance = {1: l1, 2: lambda r: sqdist(r).sqrt(), "inf": linf}[self.norm](rows)
        return (-(self._named(path, "rate") * distance)).exp()

    def claim(self, n_features: int | None = None) -> Claim:
        if self.norm != "inf":
            return Claim(True, f"Laplacian, norm {self.norm}", self, FOURIER)
        because = "in the plane the maximum norm is the 1-norm, turned by 45°"
        return within(Claim(True, "Laplacian, norm ∞", self, because, max_dims=2), n_features)

    def latex(self, x: str = "x", z: str = "z") -> str:
        index = {1: "_1", 2: "", "inf": r"_\infty"}[self.norm]
        return rf"\exp\left(-{self._tex('rate', 'r')} \|{x} - {z}\|{index}\right)"


def _length_of_scale(kernel: Any, rows: Spread) -> float:
    p = kernel.norm
    return rows.length if p == 2 else rows.n_columns ** (1.0 / p) * math.sqrt(rows.variance)


@kernel
class PowerExponential(Kernel):
    """k(x, z) = exp(−(‖x − z‖ₚ / length)^power), a kernel for power ≤ p ≤ 2.

    ‖d‖ₚ = (Σⱼ |dⱼ|^p)^(1/p). The Laplacian has power 1, the Gaussian norm and power 2. A small
    power bends only near x = z and has a long tail; with norm and power 1, k is a product over the
    columns, for which thresholds cost little.

    Parameters
    ----------
    length : float, "scale" or "median", default 1.0
        Width; larger is smoother.
    power : float, default 1.0
        Larger is smoother; above 2 it is no kernel, not even of one column.
    norm : float, default 2
        p, the norm of the difference, from 0.1 to 16.

    Examples
    --------
    >>> from mercer.kernels import PowerExponential
    >>> PowerExponential(2.0, power=0.5)([[0.0]], [[8.0]]).round(4)
    array([[0.1353]])
    >>> PowerExponential(norm=1)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    length: float | str = 1.0
    power: float = 1.0
    norm: float = 2
    examples: ClassVar[Examples] = (
        "power_exponential()",
        "power_exponential(2, power=0.7)",
        "power_exponential(power=1.0, norm=1)",
        "power_exponential(3, power=1.3, norm=1.5)",
        "power_exponential(power=1.5, norm=1)",
        "power_exponential(power=0.5, norm=4)",
        "power_exponential(power=3)",
    )

    parameters: ClassVar[Declared] = declare(
        length=Width(
            Meaning("√(D·var/2), norm p ≠ 2: D^(1/p)·√var", _length_of_scale),
            Meaning("m in that norm", lambda kernel, rows: rows.median(kernel.norm)),
        ),
        power=Number(0.01, 16.0),
        norm=Number(0.1, 16.0),
    )
    spellings: ClassVar[Declared] = declare(
        length_scale=("length", lambda length: length),
        p=("norm", lambda p: p),
        q=("power", lambda q: q),
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        length, power = self._named(path, "length"), self._named(path, "power")
        if self.norm == 2:
            return (-sqdist(rows).sqrt().over(length).apply("power", power)).exp()
        if self.norm == 1:
            u = l1(rows).over(length)
        else:
            size = DIFFERENCE.apply("abs").over(length).apply("power", self.norm)
            u = reduce_columns("sum", size, rows)
        return (-u.apply("power", power.over(self.norm))).exp()

    def claim(self, n_features: int | None = None) -> Claim:
        p, q = self.norm, self.power
        rule = f"exp(−‖x − z‖^{q:g}), norm {p:g}"
        if q > 2:
            because = "not even of one column: 1 − k(t) vanishes faster than t² at 0 (Schoenberg)"
            return Claim(False, rule, self, because)
        if q <= p <= 2:
            because = "‖x − z‖^q is of negative type for q ≤ p ≤ 2: stable laws (Schoenberg)"
            return Claim(True, rule, self, because)
        dims = 2 if q <= 1 <= p else 1
        because = (
            "every norm of the plane is a mean of |aᵀx| (Dor)"
            if dims == 2
            else "one column: |x − z|^q"
        )
        return within(Claim(True, rule, self, because, max_dims=dims), n_features)

    def latex(self, x: str = "x", z: str = "z") -> str:
        p = "" if self.norm == 2 else f"_{{{self.norm:g}}}"
        unit = self._tex("length", "l")
        ratio = rf"\|{x} - {z}\|{p}" + ("" if unit == "1" else f" / {unit}")
        return rf"\exp\left(-\left({ratio}\right)^{{{self.power:g}}}\right)"


@kernel
class Matern(Kernel):
    """Matérn: ν = 1/2: e^(−r); 3/2: (1 + a)e^(−a), a = √3 r; 5/2: (1 + a + a²/3)e^(−a), a = √5 r.

    r = ‖x − z‖ / length.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default 1.5
        Smoothness: functions are about so many times differentiable.
    length : float, "scale" or "median", default 1.0
        Width; larger is smoother.

    Examples
    --------
    >>> from mercer import Matern
    >>> Matern(0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5
    length: float | str = 1.0
    examples: ClassVar[Examples] = (
        "matern(0.5)",
        "matern(1.5, length=0.5)",
        "matern(2.5, length=2)",
    )

    parameters: ClassVar[Declared] = declare(
        nu=Among(0.5, 1.5, 2.5, why="other ν need Bessel functions; ν → ∞ is Gaussian"),
        length=Width(),
    )
    spellings: ClassVar[Declared] = declare(length_scale=("length", lambda length: length))

    def lower(self, rows: Input, path: str = "") -> Formula:
        a = (const(2 * self.nu).sqrt() * sqdist(rows).sqrt()).over(self._named(path, "length"))
        if self.nu == 0.5:
            return (-a).exp()
        # Far out, the polynomial must not become infinite before it meets 0.
        a = a.apply("min", 1e4)
        decay = (-a).exp()
        if self.nu == 1.5:
            return (1.0 + a) * decay
        return (1.0 + a + const(1.0).over(3.0) * a * a) * decay

    def claim(self, n_features: int | None = None) -> Claim:
        return Claim(True, f"Matérn ν = {self.nu:g}", self, FOURIER)

    def latex(self, x: str = "x", z: str = "z") -> str:
        text = {
            0.5: r"\exp\left(-u\right)",
            1.5: r"\left(1 + \sqrt{3} u\right) \exp\left(-\sqrt{3} u\right)",
            2.5: r"\left(1 + \sqrt{5} u + \tfrac{5}{3} u^2\right) \exp\left(-\sqrt{5} u\right)",
        }[self.nu]
        return in_units(text, x, z, self._tex("length", "l"))


def in_units(text: str, x: str, z: str, unit: str) -> str:
    """LaTeX in which u stands for ‖x − z‖ / unit; a fraction with an exponent gets brackets."""
    distance = rf"\|{x} - {z}\|"
    if unit == "1":
        return text.replace("u", distance)
    ratio = rf"\tfrac{{{distance}}}{{{unit}}}"
    return text.replace("u^", rf"\left({ratio}\right)^").replace("u", ratio)


#: Where ‖x − z‖², in units of its scale, is cut off; rows that go beyond are refused.
FARTHEST = 1e300


@kernel
class RationalQuadratic(Kernel):
    """k(x, z) = (1 + ‖x − z‖² / (2 α length²))^(−α): a mixture of Gaussians of all widths.

    Parameters
    ----------
    alpha : float, default 1.0
        How alike the widths are that are mixed; large values come near to one Gaussian.
    length : float, "scale" or "median", default 1.0
        Width; larger is smoother.

    Examples
    --------
    >>> from mercer import RationalQuadratic
    >>> RationalQuadratic()([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    alpha: float = 1.0
    length: float | str = 1.0
    examples: ClassVar[Examples] = ("rational_quadratic(0.5, length=2)",)
    proof: ClassVar[Rule] = Rule(True, "rational quadratic", "a mixture of Gaussians, weights ≥ 0")

    parameters: ClassVar[Declared] = declare(alpha=SIZE, length=Width())
    spellings: ClassVar[Declared] = declare(length_scale=("length", lambda length: length))

    def _check_together(self) -> None:
        if not isinstance(self.length, str):
            both = math.sqrt(self.alpha) * self.length
            checked("RationalQuadratic", "√alpha · length", both, SIZE)

    def lower(self, rows: Input, path: str = "") -> Formula:
        alpha, length = self._named(path, "alpha"), self._named(path, "length")
        u = sqdist(rows).over(length**2).over(2.0 * alpha)
        # ln(1 + u) for a small u: the digits that 1 + u drops are added back.
        u = u.apply("min", FARTHEST)
        inside = (1.0 + u).plus()
        log = inside.log() + (u - (inside - 1.0).plus()).over(inside)
        return (-alpha * log).exp()

    def latex(self, x: str = "x", z: str = "z") -> str:
        symbol = rf"({2 * self.alpha:g} l^2)"
        scale = self._tex("length", symbol, lambda length: 2 * self.alpha * length**2)
        return rf"\left(1 + \|{x} - {z}\|^2 / {scale}\right)^{{-{self.alpha:g}}}"


# The squared distance and its negative: a dissimilarity and a similarity, neither a kernel.


@kernel
class SquaredDistance(Kernel):
    """k(x, z) = ‖x − z‖²: a dissimilarity, not a kernel (its diagonal is zero).

    Examples
    --------
    >>> from mercer.kernels import SquaredDistance
    >>> SquaredDistance()([[0.0]], [[3.0]])
    array([[9.]])
    """

    tex = r"\|x - z\|^2"
    proof: ClassVar[Rule] = Rule(False, "zero diagonal", "k(x, x) = 0 while k(x, z) ≠ 0")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return sqdist(rows)


@kernel
class NegativeSquaredDistance(SquaredDistance):
    """k(x, z) = −‖x − z‖²: a similarity, positive only on vectors that sum to zero.

    Examples
    --------
    >>> from mercer.kernels import NegativeSquaredDistance
    >>> NegativeSquaredDistance()([[0.0]], [[3.0]])
    array([[-9.]])
    """

    tex = r"-\|x - z\|^2"

    def lower(self, rows: Input, path: str = "") -> Formula:
        return -sqdist(rows)
