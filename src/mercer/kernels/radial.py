"""Kernels of the distance between x and z: Gaussian and its relatives, and the compact ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.formula.inputs import FrozenArray, Scale
from mercer.formula.nodes import Formula, Input, const, l1, linf, sqdist
from mercer.kernels.catalog import frozen, kernel
from mercer.kernels.claims import Claim, Rule, within
from mercer.kernels.core import Kernel
from mercer.kernels.parameters import check_width, is_number

_FOURIER = "its Fourier transform is non-negative (Bochner)"


@kernel
class Gaussian(Kernel):
    """k(x, z) = exp(−‖x − z‖² / (2σ²)), σ a number or one per column.

    The handwritten notes take σ = 1; Klein's exp(−‖x−z‖²) is σ = 1/√2; others write γ = 1/(2σ²):

    >>> from mercer import Gaussian
    >>> Gaussian.from_gamma(0.5)
    Gaussian()
    >>> Gaussian(sigma=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    sigma: Any = 1.0
    examples = "gaussian()", "gaussian(0.7)", "gaussian([1.0, 2.0, 0.5])"
    proof = Rule(True, "Gaussian", _FOURIER)

    def __post_init__(self) -> None:
        if is_number(self.sigma):
            self._make_width("sigma")
            return
        try:
            sigma = np.array(self.sigma)
            sigma = sigma.astype(float, casting="same_kind")  # text and complex numbers raise
        except (TypeError, ValueError):
            raise TypeError(
                f"Gaussian: sigma must be a number or one per column, got {self.sigma!r}"
            ) from None
        if sigma.ndim != 1 or not sigma.size:
            raise ValueError(f"Gaussian: one sigma per column is a 1-D list, got {sigma.shape}")
        if not np.isfinite(sigma).all() or (sigma <= 0).any():
            raise ValueError(f"Gaussian: sigma must be positive, got {sigma.tolist()}")
        check_width("Gaussian", "sigma", sigma)
        sigma.setflags(write=False)
        self._set("sigma", sigma)

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """exp(−γ‖x − z‖²)."""
        if not is_number(gamma):
            raise TypeError(f"gamma must be a number, got {type(gamma).__name__}")
        if not 0 < gamma < math.inf:
            raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
        sigma = math.sqrt(0.5 / gamma)
        return cls(sigma)

    def lower(self, rows: Input, path: str = "") -> Formula:
        if isinstance(self.sigma, np.ndarray):
            return (-0.5 * sqdist(rows.then(Scale(FrozenArray.of(self.sigma))))).exp()
        return (sqdist(rows) * const(-0.5).over(self._named(path, "sigma") ** 2)).exp()

    def latex(self, x: str = "x", z: str = "z") -> str:
        if isinstance(self.sigma, np.ndarray):
            terms = rf"\sum_j ({x}_j - {z}_j)^2 / (2\sigma_j^2)"
            return rf"\exp\left(-{terms}\right)"
        width = f"{2 * self.sigma**2:g}"
        return rf"\exp\left(-\|{x} - {z}\|^2 / {width}\right)"


@kernel
class Laplacian(Kernel):
    """k(x, z) = exp(−rate ‖x − z‖) in the norm 1, 2 or ∞ (the last up to two dimensions)."""

    rate: float = 1.0
    norm: Any = 2
    examples = "laplacian(0.7)", "laplacian(norm=1)", "laplacian(norm=inf)"

    def __post_init__(self) -> None:
        self._make_width("rate")
        norm = math.inf if self.norm in ("inf", "∞") else self.norm
        if norm not in (1, 2, math.inf):
            raise ValueError(f"Laplacian: norm must be 1, 2 or inf, got {self.norm!r}")
        self._set("norm", "inf" if norm == math.inf else int(norm))

    def lower(self, rows: Input, path: str = "") -> Formula:
        distance = {1: l1, 2: lambda r: sqdist(r).sqrt(), "inf": linf}[self.norm](rows)
        return (-(self._named(path, "rate") * distance)).exp()

    def claim(self, n_features: int | None = None) -> Claim:
        if self.norm != "inf":
            return Claim(True, f"Laplacian, norm {self.norm}", self, _FOURIER)
        because = "in the plane the maximum norm is the 1-norm, turned by 45°"
        return within(
            Claim(True, "Laplacian, norm ∞", self, because, max_dims=2),
            n_features,
        )

    def latex(self, x: str = "x", z: str = "z") -> str:
        index = {1: "_1", 2: "", "inf": r"_\infty"}[self.norm]
        return rf"\exp\left(-{self.rate:g} \|{x} - {z}\|{index}\right)"


@kernel
class Matern(Kernel):
    """Matérn: ν = 1/2: e^(−r); 3/2: (1 + a)e^(−a), a = √3 r; 5/2: (1 + a + a²/3)e^(−a), a = √5 r.

    r = ‖x − z‖ / length.
    """

    nu: float = 1.5
    length: float = 1.0
    examples = "matern(0.5)", "matern(1.5, length=0.5)", "matern(2.5, length=2)"

    def __post_init__(self) -> None:
        self._make_float("nu")
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern: nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")
        self._make_width("length")

    def lower(self, rows: Input, path: str = "") -> Formula:
        a = (const(2 * self.nu).sqrt() * sqdist(rows).sqrt()).over(self._named(path, "length"))
        if self.nu == 0.5:
            return (-a).exp()
        a = a.apply(
            "min", 1e4
        )  # far out, the polynomial must not become infinite before it meets 0
        decay = (-a).exp()
        if self.nu == 1.5:
            return (1.0 + a) * decay
        return (1.0 + a + const(1.0).over(3.0) * a * a) * decay

    def claim(self, n_features: int | None = None) -> Claim:
        return Claim(True, f"Matérn ν = {self.nu:g}", self, _FOURIER)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\mathrm{{Mat\acute{{e}}rn}}_{{{self.nu:g}}}(\|{x} - {z}\| / {self.length:g})"


@kernel
class RationalQuadratic(Kernel):
    """k(x, z) = (1 + ‖x − z‖² / (2 α length²))^(−α): a mixture of Gaussians of all widths."""

    alpha: float = 1.0
    length: float = 1.0
    examples = ("rational_quadratic(0.5, length=2)",)
    proof = Rule(True, "rational quadratic", "a mixture of Gaussians, weights ≥ 0")

    def __post_init__(self) -> None:
        self._make_width("alpha", "length")
        check_width(type(self).__name__, "√alpha · length", math.sqrt(self.alpha) * self.length)

    def lower(self, rows: Input, path: str = "") -> Formula:
        alpha, length = self._named(path, "alpha"), self._named(path, "length")
        u = sqdist(rows).over(length**2).over(2.0 * alpha)
        # ln(1 + u) for a small u: the digits that 1 + u drops are added back.
        u = u.apply("min", 1e300)
        inside = (1.0 + u).plus()
        log = inside.log() + (u - (inside - 1.0).plus()).over(inside)
        return (-alpha * log).exp()

    def latex(self, x: str = "x", z: str = "z") -> str:
        scale = f"{2 * self.alpha * self.length**2:g}"
        return rf"\left(1 + \|{x} - {z}\|^2 / {scale}\right)^{{-{self.alpha:g}}}"


@kernel
class SquaredDistance(Kernel):
    """k(x, z) = ‖x − z‖²: a dissimilarity, not a kernel (its diagonal is zero)."""

    proof = Rule(False, "zero diagonal", "k(x, x) = 0 while k(x, z) ≠ 0")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return sqdist(rows)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\|{x} - {z}\|^2"


@kernel
class NegativeSquaredDistance(SquaredDistance):
    """k(x, z) = −‖x − z‖²: a similarity, positive only on vectors that sum to zero."""

    def lower(self, rows: Input, path: str = "") -> Formula:
        return -sqdist(rows)

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"-\|{x} - {z}\|^2"


@frozen
class _Compact(Kernel):
    """Zero where ‖x − z‖ > width."""

    width: float = 1.0

    def __post_init__(self) -> None:
        self._make_width("width")

    def _squared(self, rows: Input, path: str) -> Formula:
        """u² = ‖x − z‖² / width²."""
        return sqdist(rows).over(self._named(path, "width") ** 2)

    def claim(self, n_features: int | None = None) -> Claim:
        name = type(self).__name__
        return Claim(False, name, self, "its Fourier transform dips below zero")

    def latex(self, x: str = "x", z: str = "z") -> str:
        u = rf"\tfrac{{\|{x} - {z}\|}}{{{self.width:g}}}"
        return self._profile_latex.replace("u", u)

    _profile_latex = "u"


@kernel
class Epanechnikov(_Compact):
    """k(x, z) = (1 − u²)₊, u = ‖x − z‖ / width: a weight for smoothing, not a kernel."""

    _profile_latex = r"\left(1 - u^2\right)_+"
    examples = ("epanechnikov(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 - self._squared(rows, path)).plus()


@kernel
class Tricube(_Compact):
    """k(x, z) = (1 − u³)³₊, u = ‖x − z‖ / width: a weight for smoothing, not a kernel."""

    _profile_latex = r"\left(1 - u^3\right)_+^3"
    examples = ("tricube(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        u2 = self._squared(rows, path)
        return (1.0 - u2 * u2.sqrt()).plus() ** 3


@kernel
class Uniform(_Compact):
    """k(x, z) = 1 where ‖x − z‖ ≤ width, else 0: Gordon and Smola's indicator, not a kernel."""

    _profile_latex = r"\mathbb{1}\left[u \leq 1\right]"
    examples = ("uniform(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 - self._squared(rows, path)).apply("step")


@kernel
class Wendland(Kernel):
    """k(x, z) = φ₃ₙ(‖x − z‖ / width): zero beyond width, valid in up to three dimensions.

    φ₃₀ = (1−r)²₊, φ₃₁ = (1−r)⁴₊(4r + 1), φ₃₂ = (1−r)⁶₊(35r² + 18r + 3)/3,
    φ₃₃ = (1−r)⁸₊(32r³ + 25r² + 8r + 1).
    """

    smoothness: int = 1
    width: float = 1.0
    examples = (
        "wendland(0, width=3)",
        "wendland(1, width=3)",
        "wendland(2, width=3)",
        "wendland(3, width=3)",
    )
    proof = Rule(True, "Wendland function", _FOURIER, max_dims=3)

    def __post_init__(self) -> None:
        self._make_integer("smoothness", 0, 3)
        self._make_width("width")

    def lower(self, rows: Input, path: str = "") -> Formula:
        r = sqdist(rows).sqrt().over(self._named(path, "width")).apply("min", 1.0)
        tail = (1.0 - r) ** (2 * self.smoothness + 2)
        shape = {
            0: const(1.0),
            1: 4.0 * r + 1.0,
            2: const(35.0).over(3.0) * r * r + 6.0 * r + 1.0,
            3: 32.0 * r**3 + 25.0 * r * r + 8.0 * r + 1.0,
        }[self.smoothness]
        return tail * shape

    def latex(self, x: str = "x", z: str = "z") -> str:
        return rf"\phi_{{3{self.smoothness}}}(\|{x} - {z}\| / {self.width:g})"
