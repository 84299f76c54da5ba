"""The lectures' derivations, line by line, each line computed and compared with the first.

After "Lecture 09: Kernel Methods" (J. Abernethy) and "Perceptron and Kernels" (G. Gordon and
A. Smola): how many monomials there are, why ridge regression has a dual, why the polynomial kernel
is a dot product, and what is inside the Gaussian.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, prod
from typing import Any

import numpy as np

from mercer._escape.terminal import printable
from mercer.formula.written import lowered, monomial, number, raised, summed, term, to_latex
from mercer.maps import PolynomialMap, TaylorGaussianMap


@dataclass(frozen=True)
class Line:
    """One line: what it says, what it comes to, and how far that is from the first line.

    Parameters
    ----------
    formula : str
        What the line says.
    value : float or array
        What it comes to.
    residual : float
        Relative deviation from the first line.

    Examples
    --------
    >>> from mercer import theory
    >>> theory.binomial_expansion(2, 1.0, [1.0], [2.0]).lines[0].formula
    '(x·z + 1)²'
    """

    formula: str
    value: Any
    residual: float


@dataclass(frozen=True)
class Derivation:
    """Lines that should all have one value; `residual` is the largest relative deviation.

    Parameters
    ----------
    lines : tuple of Line
        From the first formula to the last.

    Examples
    --------
    >>> from mercer import theory
    >>> derivation = theory.binomial_expansion(2, 1.0, [1.0], [2.0])
    >>> derivation.residual < 1e-12
    True
    """

    lines: tuple[Line, ...]

    @classmethod
    def of(cls, steps: list[tuple[str, Any]]) -> Derivation:
        first = np.asarray(steps[0][1], dtype=float)
        size = max(float(np.abs(first).max()), 1e-300)
        return cls(
            tuple(Line(f, v, float(np.abs(np.asarray(v) - first).max()) / size) for f, v in steps)
        )

    @property
    def residual(self) -> float:
        return max(line.residual for line in self.lines)

    def latex(self) -> str:
        """The lines as LaTeX, one below the other."""
        rows = " \\\\\n".join(f"& {to_latex(line.formula)}" for line in self.lines)
        return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    @printable
    def __str__(self) -> str:
        width = max(len(line.formula) for line in self.lines)
        return "\n".join(f"{line.formula:{width}}  ({line.residual:.0e})" for line in self.lines)


def monomial_table(n_features: int, degree: int) -> dict[tuple[int, ...], int]:
    """How many monomials of a degree have each shape: exponents in falling order, and their count.

    For a shape with j different factors: C(n, j) ways to choose them, times the ways to give them
    the exponents. The counts add up to C(n + d − 1, d).

    Parameters
    ----------
    n_features : int
        Number of inputs.
    degree : int
        Of the monomials.

    Returns
    -------
    dict of tuple to int
        Exponents to the number of monomials that have them.

    Examples
    --------
    >>> from mercer import theory
    >>> theory.monomial_table(785, 4)
    {(4,): 785, (3, 1): 615440, (2, 2): 307720, (2, 1, 1): 240944760, (1, 1, 1, 1): 15701566860}
    """

    def shapes(rest: int, most: int) -> Iterator[tuple[int, ...]]:
        if rest == 0:
            yield ()
        for first in range(min(rest, most), 0, -1):
            for others in shapes(rest - first, first):
                yield (first, *others)

    table = {}
    for shape in shapes(degree, degree):
        same = prod(factorial(shape.count(e)) for e in set(shape))
        table[shape] = comb(n_features, len(shape)) * (factorial(len(shape)) // same)
    return table


def ridge_dual(features: Any, t: Any, alpha: float = 1.0) -> Derivation:
    """w = (ΦᵀΦ + λI)⁻¹Φᵀt turned into Φᵀ(ΦΦᵀ + λI)⁻¹t, by the matrix inversion lemma used twice.

    Parameters
    ----------
    features : array of shape (n, m)
        The matrix Φ, one row per example. The rows must be independent (n ≤ m), because the lines
        in the middle invert ΦΦᵀ; the first and the last line need no such thing.
    t : array of shape (n,)
        The targets.
    alpha : float, default 1.0
        The penalty λ > 0.

    Returns
    -------
    Derivation
        From the primal to the dual solution.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import theory
    >>> derivation = theory.ridge_dual(np.array([[1.0, 2, 0], [0, 1, 3]]), [1.0, 2.0])
    >>> derivation.residual < 1e-12
    True
    >>> print(derivation.lines[-1].formula)
    = Φᵀ(λI + ΦΦᵀ)⁻¹ t = Φᵀa
    """
    P, t = np.asarray(features, dtype=float), np.asarray(t, dtype=float)
    K, lam = P @ P.T, float(alpha)
    if np.linalg.matrix_rank(K) < len(K):
        raise ValueError("the middle lines invert ΦΦᵀ: the rows of Φ must be independent (N ≤ M)")
    inv, I_N, I_M = np.linalg.inv, np.eye(len(K)), np.eye(P.shape[1])
    L = inv(lam * I_N)
    steps = [
        ("w = (λI + ΦᵀΦ)⁻¹ Φᵀt", inv(lam * I_M + P.T @ P) @ P.T @ t),
        (
            "= [λ⁻¹I − λ⁻¹Φᵀ(I + λ⁻¹ΦΦᵀ)⁻¹Φλ⁻¹] Φᵀt",
            (I_M / lam - P.T / lam @ inv(I_N + K / lam) @ P / lam) @ P.T @ t,
        ),
        (
            "= [λ⁻¹Φᵀ − λ⁻¹Φᵀ(λI + ΦΦᵀ)⁻¹ΦΦᵀ] t",
            (P.T / lam - P.T / lam @ inv(lam * I_N + K) @ K) @ t,
        ),
        (
            "= Φᵀ[λ⁻¹I − λ⁻¹(λ(ΦΦᵀ)⁻¹ + I)⁻¹] t",
            P.T @ (I_N / lam - inv(lam * inv(K) + I_N) / lam) @ t,
        ),
        (
            "= Φᵀ[λ⁻¹I − λ⁻²((ΦΦᵀ)⁻¹ + λ⁻¹I)⁻¹] t",
            P.T @ (I_N / lam - inv(inv(K) + I_N / lam) / lam**2) @ t,
        ),
        (
            "= Φᵀ[(λI)⁻¹ − (λI)⁻¹((ΦΦᵀ)⁻¹ + (λI)⁻¹)⁻¹(λI)⁻¹] t",
            P.T @ (L - L @ inv(inv(K) + L) @ L) @ t,
        ),
        ("= Φᵀ(λI + ΦΦᵀ)⁻¹ t = Φᵀa", P.T @ inv(lam * I_N + K) @ t),
    ]
    return Derivation.of(steps)


def binomial_expansion(degree: int, offset: float, x: Any, z: Any) -> Derivation:
    """(x·z + c)^d = Σᵢ C(d, i) c^{d−i} (x·z)^i = φ(x)·φ(z), with φ written out.

    The proof that the polynomial kernel is a dot product, at two points x and z: each (x·z)^i is
    the dot product of all monomials of degree i, so the sum is one too.

    Parameters
    ----------
    degree : int
        The power d.
    offset : float
        The number c.
    x, z : array of shape (n_features,)
        Two points.

    Returns
    -------
    Derivation
        From the kernel to a dot product, each line with its value.

    Examples
    --------
    >>> from mercer import theory
    >>> for line in theory.binomial_expansion(2, 1.0, [1.0, 2.0], [3.0, -1.0]):
    ...     print(line.formula)
    (x·z + 1)²
    = 1 + 2 (x·z) + (x·z)²
    = φ₀(x)·φ₀(z) + 2 φ₁(x)·φ₁(z) + φ₂(x)·φ₂(z)
    = φ(x)·φ(z), φ(x) = [1, √2 x₁, √2 x₂, x₁², √2 x₁x₂, x₂²]
    """
    x, z = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(z, dtype=float))
    product = float(x[0] @ z[0])
    weights = [comb(degree, i) * offset ** (degree - i) for i in range(degree + 1)]

    def dot(feature_map: Any) -> float:
        return float(feature_map.fit_transform(x)[0] @ feature_map.fit_transform(z)[0])

    parts = [1.0, *(dot(PolynomialMap(i)) for i in range(1, degree + 1))]
    low = [lowered(i) for i in range(degree + 1)]
    names = ["", "(x·z)", *(f"(x·z){raised(i)}" for i in range(2, degree + 1))]
    kept = [i for i, w in enumerate(weights) if w]
    whole = PolynomialMap(degree, offset)
    steps = [
        (f"(x·z + {number(offset)}){raised(degree)}", (product + offset) ** degree),
        (
            "= " + summed(term(weights[i], names[i]) for i in kept),
            sum(w * product**i for i, w in enumerate(weights)),
        ),
        (
            "= " + summed(term(weights[i], f"φ{low[i]}(x)·φ{low[i]}(z)") for i in kept),
            sum(w * p for w, p in zip(weights, parts, strict=True)),
        ),
        (f"= φ(x)·φ(z), φ(x) = {whole.fit(x).formula()}", dot(whole)),
    ]
    return Derivation.of(steps)


def verify_expansion(degree: int, offset: int = 0, n_features: int = 2) -> Derivation:
    """(x·z + c)^d and φ(x)·φ(z) multiplied out in symbols, each with its exact coefficients.

    The values of both lines are tables: exponents of x₁, …, z₁, … to a fraction. That they are the
    same table proves the identity for all x and z, not for some numbers only.

    Parameters
    ----------
    degree : int
        The power d.
    offset : int, default 0
        The number c.
    n_features : int, default 2
        How many coordinates x and z have.

    Returns
    -------
    Derivation
        Two lines; the residual is the largest difference of two coefficients, 0 if it is proved.

    Examples
    --------
    >>> from mercer import theory
    >>> found = theory.verify_expansion(2, 1)
    >>> found.residual
    0.0
    >>> found.lines[0].formula
    '(x·z + 1)² = 1 + 2 x₁z₁ + 2 x₂z₂ + x₁²z₁² + 2 x₁x₂z₁z₂ + x₂²z₂²'
    """
    m = int(n_features)
    unit = np.eye(2 * m, dtype=int)
    factor = {tuple(unit[i] + unit[m + i]): Fraction(1) for i in range(m)}
    if offset:
        factor[(0,) * 2 * m] = Fraction(offset)
    left = {(0,) * 2 * m: Fraction(1)}
    for _ in range(degree):
        product: dict[Any, Fraction] = {}
        for (a, u), (b, v) in itertools.product(left.items(), factor.items()):
            powers = tuple(map(sum, zip(a, b, strict=True)))
            product[powers] = product.get(powers, Fraction(0)) + u * v
        left = product
    phi = PolynomialMap(degree, float(offset)).fit(np.zeros((1, m)))
    pairs = zip(phi.powers_.tolist(), phi.weights_, strict=True)
    right = {(*p, *p): Fraction(float(w) ** 2).limit_denominator(10**6) for p, w in pairs}
    names = [f"{v}{lowered(i + 1)}" if m > 1 else v for v in "xz" for i in range(m)]

    def written(table: dict[Any, Fraction]) -> str:
        order = sorted(table, key=lambda powers: (sum(powers), [-p for p in powers]))
        return summed(term(float(table[powers]), monomial(powers, names)) for powers in order)

    apart = {p: left.get(p, Fraction(0)) - right.get(p, Fraction(0)) for p in {*left, *right}}
    start = f"(x·z + {number(offset)}){raised(degree)}" if offset else f"(x·z){raised(degree)}"
    return Derivation(
        (
            Line(f"{start} = {written(left)}", left, 0.0),
            Line(f"φ(x)·φ(z) = {written(right)}, φ(x) = {phi.formula()}", right,
                 float(max(map(abs, apart.values())))),
        )
    )  # fmt: skip


def gaussian_series(x: Any, z: Any, sigma: float = 1.0, order: int = 8) -> Derivation:
    """exp(−‖x−z‖²/2σ²) as three factors, as a Taylor series, and as φ(x)·φ(z) cut at `order`.

    The residual of the last two lines is what the terms beyond `order` would add.

    Parameters
    ----------
    x, z : array of shape (n_features,)
        Two points.
    sigma : float, default 1.0
        Width of the Gaussian.
    order : int, default 8
        The highest power that is kept.

    Returns
    -------
    Derivation
        From the Gaussian to a dot product.

    Examples
    --------
    >>> from mercer import theory
    >>> lines = theory.gaussian_series([0.5], [1.0], order=2).lines
    >>> [f"{line.residual:.3f}" for line in lines]
    ['0.000', '0.000', '0.014', '0.014']
    """
    x, z = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(z, dtype=float))
    s, dot = sigma**2, float(x[0] @ z[0])
    outer = float(np.exp(-(x[0] @ x[0]) / (2 * s)) * np.exp(-(z[0] @ z[0]) / (2 * s)))
    phi = TaylorGaussianMap(sigma, order)
    steps = [
        ("exp(−‖x−z‖²/2σ²)", float(np.exp(-((x - z) ** 2).sum() / (2 * s)))),
        ("= exp(−‖x‖²/2σ²) exp(x·z/σ²) exp(−‖z‖²/2σ²)", outer * float(np.exp(dot / s))),
        (
            f"≈ exp(−‖x‖²/2σ²) Σₙ≤{order} (x·z)ⁿ/(n! σ²ⁿ) exp(−‖z‖²/2σ²)",
            outer * sum((dot / s) ** n / factorial(n) for n in range(order + 1)),
        ),
        (
            "= φ(x)·φ(z), φ(x) = exp(−‖x‖²/2σ²) (…, ψₙ(x)/√(n! σ²ⁿ), …)",
            float(phi.fit_transform(x)[0] @ phi.fit_transform(z)[0]),
        ),
    ]
    return Derivation.of(steps)
