"""Functions of the distance that are zero beyond a width: weights for smoothing, and Wendland's."""

from __future__ import annotations

from typing import ClassVar

from mercer._parameters import Count, Declared, declare
from mercer.formula.nodes import Formula, Input, const, sqdist
from mercer.kernels.catalog import frozen, kernel
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.parameters.widths import Meaning, Width
from mercer.kernels.radial.smooth import FOURIER, in_units

#: Beyond the width there is nothing, so that it must reach further than the σ of a Gaussian does.
_COMPACT_WIDTH = Width(
    Meaning("3·√(D·var/2)", lambda kernel, rows: 3.0 * rows.length),
    Meaning("2·m", lambda kernel, rows: 2.0 * rows.median()),
)


@frozen
class _Compact(Kernel):
    """Zero where ‖x − z‖ > width."""

    width: float | str = 1.0
    parameters: ClassVar[Declared] = declare(width=_COMPACT_WIDTH)

    def _squared(self, rows: Input, path: str) -> Formula:
        """u² = ‖x − z‖² / width²."""
        return sqdist(rows).over(self._named(path, "width") ** 2)

    def claim(self, n_features: int | None = None) -> Claim:
        name = type(self).__name__
        return Claim(False, name, self, "its Fourier transform dips below zero")

    def latex(self, x: str = "x", z: str = "z") -> str:
        return in_units(self._profile_latex, x, z, self._tex("width", "w"))

    _profile_latex = "u"


@kernel
class Epanechnikov(_Compact):
    """k(x, z) = (1 − u²)₊, u = ‖x − z‖ / width: a weight for smoothing, not a kernel.

    Parameters
    ----------
    width : float, "scale" or "median", default 1.0
        Distance from which on the weight is zero.

    Examples
    --------
    >>> from mercer.kernels import Epanechnikov
    >>> Epanechnikov(2.0)([[0.0]], [[1.0], [3.0]])
    array([[0.75, 0.  ]])
    """

    _profile_latex = r"\left(1 - u^2\right)_+"
    examples: ClassVar[Examples] = ("epanechnikov(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 - self._squared(rows, path)).plus()


@kernel
class Tricube(_Compact):
    """k(x, z) = (1 − u³)³₊, u = ‖x − z‖ / width: a weight for smoothing, not a kernel.

    Parameters
    ----------
    width : float, "scale" or "median", default 1.0
        Distance from which on the weight is zero.

    Examples
    --------
    >>> from mercer.kernels import Tricube
    >>> Tricube(2.0)([[0.0]], [[1.0], [3.0]]).round(4)
    array([[0.6699, 0.    ]])
    """

    _profile_latex = r"\left(1 - u^3\right)_+^3"
    examples: ClassVar[Examples] = ("tricube(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        u2 = self._squared(rows, path)
        return (1.0 - u2 * u2.sqrt()).plus() ** 3


@kernel
class Uniform(_Compact):
    """k(x, z) = 1 where ‖x − z‖ ≤ width, else 0: Gordon and Smola's indicator, not a kernel.

    Parameters
    ----------
    width : float, "scale" or "median", default 1.0
        Distance up to which k is one.

    Examples
    --------
    >>> from mercer.kernels import Uniform
    >>> Uniform()([[1.0], [2.0], [3.0]])
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """

    _profile_latex = r"\mathbb{1}\left[u \leq 1\right]"
    examples: ClassVar[Examples] = ("uniform(2)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 - self._squared(rows, path)).apply("step")


@kernel
class Wendland(Kernel):
    """k(x, z) = φ₃ₙ(‖x − z‖ / width): zero beyond width, valid in up to three dimensions.

    φ₃₀ = (1−r)²₊, φ₃₁ = (1−r)⁴₊(4r + 1), φ₃₂ = (1−r)⁶₊(35r² + 18r + 3)/3,
    φ₃₃ = (1−r)⁸₊(32r³ + 25r² + 8r + 1).

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}, default 1
        Which of the four functions.
    width : float, "scale" or "median", default 1.0
        Distance from which on k is zero.

    Examples
    --------
    >>> from mercer.kernels import Wendland
    >>> Wendland(1)([[0.0]], [[0.5], [2.0]])
    array([[0.1875, 0.    ]])
    """

    smoothness: int = 1
    width: float | str = 1.0
    examples: ClassVar[Examples] = (
        "wendland(0, width=3)",
        "wendland(1, width=3)",
        "wendland(2, width=3)",
        "wendland(3, width=3)",
    )
    proof: ClassVar[Rule] = Rule(True, "Wendland function", FOURIER, max_dims=3)

    parameters: ClassVar[Declared] = declare(
        smoothness=Count(0, 3, floats=True, why="no smoother one is tabulated here"),
        width=_COMPACT_WIDTH,
    )

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
        text = (
            r"\left(1 - u\right)_+^2",
            r"\left(1 - u\right)_+^4 \left(4 u + 1\right)",
            r"\left(1 - u\right)_+^6 \left(\tfrac{35}{3} u^2 + 6 u + 1\right)",
            r"\left(1 - u\right)_+^8 \left(32 u^3 + 25 u^2 + 8 u + 1\right)",
        )[self.smoothness]
        return in_units(text, x, z, self._tex("width", "w"))
