"""Bochner: k(x − z) = E[cos w·(x − z)] · k(0) — frequencies w drawn from a kernel's spectrum.

`frequencies` is a table with one line a kernel; the rules for composites follow from the
characteristic function of a sum (product of kernels) and of a mixture (sum of kernels). A new
kernel registers its line from the file it lives in:

    @frequencies.register
    def _(kernel: MyKernel, draw: Draw) -> Spectrum: ...
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer import kernels as k
from mercer._lazy import record


class Spectrum(NamedTuple):
    """`mass` = k(0), and frequencies as rows, distributed as the spectrum divided by its mass."""

    mass: float
    rows: NDArray[np.float64]


@record
class Draw:
    """How many frequencies of how many columns to draw, and how."""

    random: np.random.RandomState
    size: int
    n_features: int
    orthogonal: bool = False
    names: tuple[str, ...] = ()

    def normal(self) -> NDArray[np.float64]:
        """Rows of N(0, I). With `orthogonal`, each n_features of them are at right angles.

        Each row alone is still N(0, I): a uniform direction times a χ-distributed length. The
        correlation between rows is what makes averages over them vary less.
        """
        shape = (self.size, self.n_features)
        if not self.orthogonal:
            return self.random.standard_normal(shape)
        d = self.n_features
        blocks = []
        for _ in range(-(-self.size // d)):
            q, r = np.linalg.qr(self.random.standard_normal((d, d)))
            blocks.append(q * np.sign(np.diag(r)))  # the signs make Q uniform
        lengths = np.sqrt(self.random.chisquare(d, size=(self.size, 1)))
        return np.concatenate(blocks)[: self.size] * lengths

    def position(self, column: int | str) -> int:
        """The index of a column given by index or by name."""
        if isinstance(column, str):
            if column not in self.names:
                raise ValueError(f"there is no column {column!r}; the columns are {self.names}")
            return self.names.index(column)
        if not -self.n_features <= column < self.n_features:
            raise ValueError(f"there is no column {column}; there are {self.n_features}")
        return column % self.n_features

    def only_independent(self, kernel: Any) -> None:
        if self.orthogonal:
            raise ValueError(
                f"orthogonal=True needs a kernel of the Euclidean distance, and {kernel!r} is not"
            )


@singledispatch
def frequencies(kernel: Any, draw: Draw) -> Spectrum:
    supported = sorted(t.__name__ for t in frequencies.registry if t is not object)
    raise ValueError(
        f"RandomFourierMap knows no spectrum to draw from for {kernel!r}. It can do "
        f"{', '.join(supported)} and combinations of these; NystromMap takes any kernel."
    )


@frequencies.register
def _(kernel: k.Gaussian, draw: Draw) -> Spectrum:
    sigma = np.asarray(kernel.sigma, dtype=np.float64)
    if sigma.ndim and sigma.shape != (draw.n_features,):
        raise ValueError(f"{kernel!r} has {sigma.size} widths for {draw.n_features} columns")
    return Spectrum(1.0, draw.normal() / sigma)


@frequencies.register
def _(kernel: k.Laplacian, draw: Draw) -> Spectrum:
    if kernel.norm == 1 or draw.n_features == 1:
        # The product over columns of exp(−rate |δ|), whose spectrum is Cauchy's distribution.
        if draw.n_features > 1:
            draw.only_independent(kernel)
        shape = (draw.size, draw.n_features)
        return Spectrum(1.0, kernel.number("rate") * draw.random.standard_cauchy(shape))
    if kernel.norm == 2:
        return Spectrum(1.0, kernel.number("rate") * _student(1.0, draw))
    if draw.n_features == 2:
        # max(|a|, |b|) = (|a + b| + |a − b|)/2: in the plane it is norm 1, turned.
        draw.only_independent(kernel)
        a, b = kernel.number("rate") / 2 * draw.random.standard_cauchy((2, draw.size))
        return Spectrum(1.0, np.column_stack([a + b, a - b]))
    raise ValueError(
        f"{kernel!r} is no kernel beyond two columns, and here are {draw.n_features}: "
        "RandomFourierMap can do Laplacian with norm=1 or norm=2"
    )


@frequencies.register
def _(kernel: k.Matern, draw: Draw) -> Spectrum:
    return Spectrum(1.0, _student(2.0 * kernel.nu, draw) / kernel.number("length"))


def _student(degrees: float, draw: Draw) -> NDArray[np.float64]:
    """The multivariate t distribution: the spectrum of Matérn with ν = degrees/2 and length 1."""
    return draw.normal() * np.sqrt(degrees / draw.random.chisquare(degrees, size=(draw.size, 1)))


@frequencies.register
def _(kernel: k.RationalQuadratic, draw: Draw) -> Spectrum:
    # A mixture of Gaussians whose 1/σ² has a gamma distribution with mean 1/length².
    precision = draw.random.gamma(kernel.alpha, 1.0 / kernel.alpha, size=(draw.size, 1))
    return Spectrum(1.0, draw.normal() * np.sqrt(precision) / kernel.number("length"))


@frequencies.register
def _(kernel: k.Periodic, draw: Draw) -> Spectrum:
    # exp(a (cos θ − 1)) is the characteristic function of the difference of two Poisson(a/2).
    draw.only_independent(kernel)
    rate = 0.5 / kernel.number("length") ** 2
    counts = draw.random.poisson(rate, size=(2, draw.size, draw.n_features))
    return Spectrum(1.0, 2.0 * np.pi / kernel.period * (counts[0] - counts[1]))


@frequencies.register
def _(kernel: k.Constant, draw: Draw) -> Spectrum:
    if kernel.value < 0:
        raise ValueError(f"{kernel!r} is negative: it has no feature map")
    return Spectrum(float(kernel.value), np.zeros((draw.size, draw.n_features)))


@frequencies.register
def _(kernel: k.Scaled, draw: Draw) -> Spectrum:
    mass, rows = frequencies(kernel.kernel, draw)
    if kernel.factor < 0:
        raise ValueError(f"{kernel!r} is a negative multiple of a kernel: it has no feature map")
    return Spectrum(kernel.factor * mass, rows)


@frequencies.register
def _(kernel: k.Sum, draw: Draw) -> Spectrum:
    left, right = frequencies(kernel.left, draw), frequencies(kernel.right, draw)
    mass = left.mass + right.mass
    from_left = draw.random.random_sample((draw.size, 1)) * mass < left.mass
    return Spectrum(mass, np.where(from_left, left.rows, right.rows))


@frequencies.register
def _(kernel: k.Product, draw: Draw) -> Spectrum:
    left, right = frequencies(kernel.left, draw), frequencies(kernel.right, draw)
    return Spectrum(left.mass * right.mass, left.rows + right.rows)


@frequencies.register
def _(kernel: k.Power, draw: Draw) -> Spectrum:
    # A power is a product with itself, so its frequencies are sums of independent ones.
    parts = [frequencies(kernel.kernel, draw) for _ in range(kernel.degree)]
    return Spectrum(parts[0].mass ** kernel.degree, sum(p.rows for p in parts))  # type: ignore[arg-type]


@frequencies.register
def _(kernel: k.Normalized, draw: Draw) -> Spectrum:
    mass, rows = frequencies(kernel.kernel, draw)
    return Spectrum(float(mass > 0), rows)


@frequencies.register
def _(kernel: k.On, draw: Draw) -> Spectrum:
    columns = kernel.columns if isinstance(kernel.columns, tuple) else (kernel.columns,)
    positions = [draw.position(c) for c in columns]
    names = tuple(draw.names[j] for j in positions) if draw.names else ()
    mass, inner = frequencies(kernel.kernel, replace(draw, n_features=len(positions), names=names))
    rows = np.zeros((draw.size, draw.n_features))
    for j, column in zip(positions, inner.T, strict=True):
        rows[:, j] += column
    return Spectrum(mass, rows)
