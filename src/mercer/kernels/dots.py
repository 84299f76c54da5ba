"""Kernels made of the inner product x·z and of norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import is_sparse
from mercer._config import check_memory
from mercer._parameters import Count, Declared, Number, declare
from mercer.formula import nodes
from mercer.formula.definite import factors, sign_of
from mercer.formula.inputs import Factor, FrozenArray, Matrix, Unit, check_finite, numeric
from mercer.formula.monomials import Monomials, power_coefficients
from mercer.formula.nodes import (
    PI,
    X_J,
    Z_J,
    Formula,
    Input,
    const,
    dot,
    reduce_columns,
    sqdist,
    sqnorm,
)
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule, zero_function
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.parameters import GAMMA, WHOLE_POWER


def _dense(X: Any) -> np.ndarray:
    rows = numeric(X)
    return rows.toarray() if is_sparse(rows) else rows


@kernel
class Linear(Kernel):
    """k(x, z) = x·z.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    tex = r"x \cdot z"
    proof: ClassVar[Rule] = Rule(True, "inner product", "φ(x) = x")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows)

    def features(self, X: Any) -> np.ndarray:
        return _dense(X)

    def n_dims(self, n_features: int) -> int | float:
        return n_features

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return list(names)


@kernel
class Constant(Kernel):
    """k(x, z) = c, valid for c ≥ 0 (φ(x) = √c).

    Parameters
    ----------
    value : float, default 1.0
        The number c.

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    value: float = 1.0
    tex = r"<value>"
    examples: ClassVar[Examples] = "constant(2)", "constant(0)", "constant(-2)"

    parameters: ClassVar[Declared] = declare(value=Number())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return self._named(path, "value")

    def claim(self, n_features: int | None = None) -> Claim:
        if self.value < 0:
            return Claim(False, "negative constant", self, "k(x, x) < 0", negative=True)
        if self.value == 0:
            return zero_function(self)
        return Claim(True, "constant ≥ 0", self, "φ(x) = √c")

    def features(self, X: Any) -> np.ndarray:
        if self.value < 0:
            raise ValueError(f"{self!r} has no feature map: it is negative")
        rows = numeric(X)
        return np.full((rows.shape[0], 1), math.sqrt(self.value), dtype=rows.dtype)

    def n_dims(self, n_features: int) -> int | float:
        return 1

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return ["1"]


@kernel
class Polynomial(Kernel):
    """k(x, z) = (γ x·z + offset)^degree: all monomials up to that degree (exactly it at offset 0).

    Parameters
    ----------
    degree : int
        The highest power.
    offset : float, default 0.0
        Added to the product; above 0, lower powers take part.
    gamma : float, "scale" or "median", default 1.0
        Factor of the product.

    Examples
    --------
    >>> from mercer import Polynomial
    >>> Polynomial(2)([[1, 1], [-1, 1]])
    array([[4., 0.],
           [0., 4.]])
    >>> Polynomial(4, offset=1.0).n_dims(784)
    15943435565
    """

    degree: int
    offset: float = 0.0
    gamma: float | str = 1.0
    examples: ClassVar[Examples] = (
        "polynomial(3, offset=1)",
        "polynomial(2)",
        "polynomial(3, offset=-1)",
        "polynomial(2, offset=1, gamma=0.5)",
    )
    parameters: ClassVar[Declared] = declare(degree=WHOLE_POWER, offset=Number(), gamma=GAMMA)
    spellings: ClassVar[Declared] = declare(coef0=("offset", lambda offset: offset))

    def lower(self, rows: Input, path: str = "") -> Formula:
        inner = self._named(path, "gamma") * dot(rows)
        return (inner + self._named(path, "offset")) ** self.degree

    def claim(self, n_features: int | None = None) -> Claim:
        if self.offset < 0 or (not isinstance(self.gamma, str) and self.gamma < 0):
            return Claim(None, "polynomial", self, "the rule needs an offset ≥ 0 and a γ ≥ 0")
        if self.gamma == 0 and self.offset == 0:
            return zero_function(self)
        return Claim(True, "polynomial of x·z", self, "φ(x) = all monomials, multinomial weights")

    def features(self, X: Any) -> np.ndarray:
        if self.offset < 0 or self.number("gamma") < 0:
            raise ValueError(f"{self!r} has no feature map: the offset or γ is negative")
        rows = _dense(X)
        check_finite(rows, "X")
        monomials = self._monomials(rows.shape[1])
        n_bytes = monomials.n_bytes(len(rows), rows.itemsize)
        check_memory(len(rows), monomials.n_out, n_bytes, "The kernel itself never builds φ.")
        return monomials.dense(rows)

    def _monomials(self, n_features: int) -> Monomials:
        gamma = 1.0 if isinstance(self.gamma, str) else self.gamma
        powers = power_coefficients(self.degree, self.offset)
        return Monomials(n_features, [a * gamma**n for n, a in enumerate(powers)])

    def n_dims(self, n_features: int) -> int | float:
        m = n_features + (self.offset != 0)
        return math.comb(self.degree + m - 1, self.degree)

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return self._monomials(len(names)).names(names)

    def latex(self, x: str = "x", z: str = "z") -> str:
        offset = f" + {self.offset:g}" if self.offset else ""
        gamma = "" if self.gamma == 1 else self._tex("gamma", r"\gamma") + r" \, "
        return rf"\left({gamma}{x} \cdot {z}{offset}\right)^{{{self.degree}}}"


@kernel
class Sigmoid(Kernel):
    """k(x, z) = tanh(eta x·z + nu): a similarity; not positive semi-definite in general.

    Parameters
    ----------
    eta : float, "scale" or "median", default 1.0
        Factor of the product.
    nu : float, default 0.0
        Added to the product.

    Examples
    --------
    >>> from mercer import Sigmoid
    >>> Sigmoid(1.0, 0.0)([[1.0]], [[0.5]]).round(4)
    array([[0.4621]])
    """

    eta: float | str = 1.0
    nu: float = 0.0
    examples: ClassVar[Examples] = ("sigmoid(0.5, -1)",)
    proof: ClassVar[Rule] = Rule(None, "sigmoid", "tanh has negative Taylor coefficients")

    parameters: ClassVar[Declared] = declare(eta=GAMMA, nu=Number())
    spellings: ClassVar[Declared] = declare(
        gamma=("eta", lambda eta: eta), coef0=("nu", lambda nu: nu)
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        inside = self._named(path, "eta") * dot(rows) + self._named(path, "nu")
        return inside.apply("tanh")

    def latex(self, x: str = "x", z: str = "z") -> str:
        eta = self._tex("eta", r"\eta")
        offset = f" {self.nu:+g}".replace("+", "+ ").replace("-", "- ") if self.nu else ""
        front = "" if eta == "1" else rf"{eta} \, "
        return rf"\tanh({front}{x} \cdot {z}{offset})"


@kernel
class Bilinear(Kernel):
    """k(x, z) = xᵀ A z for a symmetric matrix A; valid where A is positive semi-definite.

    Parameters
    ----------
    A : array of shape (n_features, n_features)
        A symmetric matrix.

    Examples
    --------
    >>> from mercer.kernels import Bilinear
    >>> Bilinear([[2, 0], [0, 1]])([[1.0, 1.0]], [[3.0, 4.0]]).round(12)
    array([[10.]])
    """

    A: Any
    tex = r"x^\top A \, z"
    examples: ClassVar[Examples] = (
        "bilinear([[2, 1], [1, 2]])",
        "bilinear([[2, 1], [1, -2]])",
        "bilinear([[0.0]])",
    )

    def _check_together(self) -> None:
        A = np.array(self.A)
        if A.dtype.kind not in "biuf":
            raise TypeError(f"Bilinear needs a matrix of real numbers, got dtype {A.dtype}")
        A = A.astype(float)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
            raise ValueError(f"Bilinear needs a square matrix, got shape {A.shape}")
        if not np.isfinite(A).all():
            raise ValueError("Bilinear: A has NaN or infinite entries")
        if np.abs(A - A.T).max() > 1e-12 * np.abs(A).max():
            raise ValueError(
                "Bilinear needs a symmetric matrix: xᵀAz ≠ zᵀAx otherwise. Use (A + A.T) / 2."
            )
        A = np.where(A == A.T, A, A / 2 + A.T / 2)  # what is kept is exactly symmetric
        A.setflags(write=False)
        self._set("A", A)

    @property
    def _factors(self) -> tuple[Factor, Factor]:
        """x ↦ L₊ᵀx and x ↦ L₋ᵀx with A = L₊L₊ᵀ − L₋L₋ᵀ."""
        return factors(FrozenArray.of(self.A))

    def lower(self, rows: Input, path: str = "") -> Formula:
        up, down = self._factors
        # An empty L₊ stands for itself where A = 0, so that the width of the data is checked.
        value = dot(rows.then(up if up.matrix.shape[1] else self._nothing))
        if not down.matrix.shape[1]:
            return value
        return (value if up.matrix.shape[1] else nodes.const(0.0)) - dot(rows.then(down))

    @property
    def _nothing(self) -> Matrix:
        return Matrix(FrozenArray.of(np.zeros((len(self.A), 1))))

    def claim(self, n_features: int | None = None) -> Claim:
        if not self.A.any():
            return zero_function(self)
        sign = sign_of(FrozenArray.of(self.A))
        if sign.holds is None:
            because = f"A has {len(self.A)} rows: too many to decide its sign exactly"
            return Claim(None, "xᵀAz", self, because)
        if sign.holds:
            return Claim(True, "xᵀAz with A ⪰ 0", self, "φ(x) = Lᵀx, A = LLᵀ")
        witness = None if sign.witness is None else sign.witness.array
        return Claim(False, "xᵀAz", self, "A has a negative eigenvalue", witness=witness)

    def features(self, X: Any) -> np.ndarray:
        up, down = self._factors
        if down.matrix.shape[1]:
            raise ValueError("Bilinear has no feature map: A has a negative eigenvalue")
        return (up if up.matrix.shape[1] else self._nothing)(X)  # type: ignore[no-any-return]

    def n_dims(self, n_features: int) -> int | float:
        return int(self._factors[0].matrix.shape[1])


@kernel
class Cosine(Kernel):
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 for a zero vector.

    Examples
    --------
    >>> from mercer import Cosine
    >>> Cosine()([[3.0, 0.0]], [[1.0, 0.0], [0.0, 5.0]])
    array([[1., 0.]])
    """

    tex = r"\frac{x \cdot z}{\|x\| \|z\|}"
    proof: ClassVar[Rule] = Rule(True, "inner product of unit vectors", "φ(x) = x / ‖x‖")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows.then(Unit()))

    def features(self, X: Any) -> np.ndarray:
        return _dense(Unit()(X))

    def n_dims(self, n_features: int) -> int | float:
        return n_features

    def feature_names(self, names: Sequence[str]) -> list[str]:
        return list(names)


@kernel
class Tanimoto(Kernel):
    """k(x, z) = x·z / (‖x‖² + ‖z‖² − x·z), and 0 where both are zero.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    array([[0.5]])
    """

    tex = r"\frac{x \cdot z}{\|x\|^2 + \|z\|^2 - x \cdot z}"
    proof: ClassVar[Rule] = Rule(
        True,
        "Tanimoto series",
        "Σₙ (x·z)ⁿ⁺¹ / (‖x‖² + ‖z‖²)ⁿ⁺¹, and 1/(a + b) = ∫ e^(−ta) e^(−tb) dt",
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        inner = dot(rows)
        return inner.over(sqnorm("x", rows) + sqnorm("z", rows) - inner)


@kernel
class ArcCosine(Kernel):
    """k(x, z) = (1/π) ‖x‖ⁿ ‖z‖ⁿ Jₙ(θ), θ the angle between x and z: a wide layer of ramps^n.

    J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ, J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ).

    Parameters
    ----------
    order : {0, 1, 2}, default 1
        The power n of the ramps: 0 are steps, 1 are ramps; larger is smoother.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> ArcCosine(1)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]).round(4)
    array([[2.    , 0.3183]])
    """

    order: int = 1
    tex = r"\tfrac{1}{\pi} \|x\|^{<order>} \|z\|^{<order>} J_{<order>}(\theta)"
    examples: ClassVar[Examples] = "arc_cosine(0)", "arc_cosine(1)", "arc_cosine(2)"
    proof: ClassVar[Rule] = Rule(True, "expectation of products", "E[Θ(w·x)(w·x)ⁿ Θ(w·z)(w·z)ⁿ]")

    parameters: ClassVar[Declared] = declare(
        order=Count(0, 2, floats=True, why="no other order has a formula here")
    )

    def lower(self, rows: Input, path: str = "") -> Formula:
        # The angle from the chord, θ = 2 arcsin(‖x̂ − ẑ‖/2), is exact near 0, where arccos is not.
        chord = sqdist(rows.then(Unit())).sqrt()
        norms = [sqnorm(side, rows) for side in "xz"]
        if self.order == 0:
            # Near π it is exact from the other chord, ‖x̂ + ẑ‖: each is used up to π/2.
            other = reduce_columns("sum", (X_J + Z_J) ** 2, rows.then(Unit())).sqrt()
            quarter = const(0.5).sqrt()
            near, far = ((0.5 * c).apply("min", quarter).apply("arcsin") for c in (chord, other))
            angle = 2.0 * (near - far) + 0.5 * PI
            # A zero vector has no angle; π/2 is what the expectation over random ramps gives.
            both = norms[0].apply("sign") * norms[1].apply("sign")
            return 1.0 - (both * angle + (1.0 - both) * (0.5 * PI)).over(PI)
        angle = 2.0 * (0.5 * chord).apply("arcsin")
        rest, sin, cos = PI - angle, angle.apply("sin"), angle.apply("cos")
        if self.order == 1:
            return (norms[0].sqrt() * norms[1].sqrt()) * (sin + rest * cos).over(PI)
        value = 3.0 * sin * cos + rest * (1.0 + 2.0 * cos * cos)
        return (norms[0] * norms[1]) * value.over(PI)
