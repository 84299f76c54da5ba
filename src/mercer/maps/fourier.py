"""Random Fourier features: shift-invariant kernels as averages of cosines."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from mercer import kernels as k
from mercer._bases import ClassNamePrefixFeaturesOutMixin
from mercer._config import check_memory
from mercer._lazy import record
from mercer._parameters import Count, Flag, check_parameters, random_from
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import KernelParams, estimator, parameter
from mercer.maps._base import FeatureMap, column_index

# Bochner: k(x − z) = E[cos w·(x − z)] · k(0) — frequencies w drawn from a kernel's spectrum.
# `frequencies` is a table with one line a kernel; the rules for composites follow from the
# characteristic function of a sum (product of kernels) and of a mixture (sum of kernels). A new
# kernel registers its line from the file it lives in:
#
#     @frequencies.register
#     def _(kernel: MyKernel, draw: Draw) -> Spectrum: ...


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
    positions = [column_index(c, draw.names, draw.n_features) for c in columns]
    names = tuple(draw.names[j] for j in positions) if draw.names else ()
    mass, inner = frequencies(kernel.kernel, replace(draw, n_features=len(positions), names=names))
    rows = np.zeros((draw.size, draw.n_features))
    for j, column in zip(positions, inner.T, strict=True):
        rows[:, j] += column
    return Spectrum(mass, rows)


@estimator
class RandomFourierMap(KernelParams, ClassNamePrefixFeaturesOutMixin, FeatureMap):
    """φ(x) = √(2 k(0)/n) · (cos w₁·x, …, sin w₁·x, …),  E[φ(x)·φ(z)] = k(x − z).

    By Bochner's theorem a continuous kernel of x − z is the Fourier transform of a non-negative
    spectrum: k(δ)/k(0) = E[cos w·δ] with w drawn from it. n/2 draws give n features, a cosine and a
    sine each, and an error that falls like 1/√n. (If n is odd, the last feature is one cosine
    with a random phase.)

    Spectra: normal for `Gaussian`, multivariate t for `Matern` and `Laplacian(norm=2)`, Cauchy in
    each column for `Laplacian(norm=1)`, a gamma mixture for `RationalQuadratic`, lines for
    `Periodic`; sums, products, powers and positive multiples of these, on all columns or some.
    Others are refused by name.

    Parameters
    ----------
    kernel : Kernel or expression
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    n_components : int, default 100
        n, the width of φ.
    orthogonal : bool, default False
        Draw directions at right angles to each other: the same mean, a smaller error. For kernels
        of the Euclidean distance.
    random_state : int, RandomState or None
        Draws the frequencies. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    frequencies_ : ndarray of shape (⌈n/2⌉, n_features)
        w, as rows.
    kernel_ : Kernel
        k, with a string parsed.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, NIPS 2007;
    Yu and others, Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import DEFAULT, Gaussian
    >>> from mercer.maps import RandomFourierMap
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> F = RandomFourierMap(Gaussian(1.0), n_components=20000, random_state=0).fit_transform(X)
    >>> bool(abs(F[0] @ F[1] - np.exp(-0.5)) < 0.02)
    True
    """

    _takes_sparse = True

    kernel: Any = DEFAULT
    n_components: int = parameter(Count(), default=100)
    _: KW_ONLY
    orthogonal: bool = parameter(Flag(), default=False)
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the width of X and draw the frequencies. `y` is ignored."""
        check_parameters(self, self._parameters)
        rows = self._rows(X, reset=True)
        # A kernel on columns by name finds them in a frame only.
        self.kernel_ = self._given_kernel().fitted(X if hasattr(X, "iloc") else rows)
        self._fit(rows)
        return self

    def _fit(self, X: Any) -> None:
        n = int(self.n_components)
        random = random_from(self.random_state)
        names = tuple(getattr(self, "feature_names_in_", ()))
        draw = Draw(random, -(-n // 2), X.shape[1], bool(self.orthogonal), names)
        mass, self.frequencies_ = frequencies(self.kernel_, draw)
        self._phase = random.uniform(0.0, 2.0 * np.pi)
        self._scale = np.sqrt(2.0 * mass / n)
        self._n_features_out = n

    def _transform(self, X: Any) -> NDArray[Any]:
        n, width, dtype = X.shape[0], self._n_features_out, X.dtype
        n_bytes = n * (width + len(self.frequencies_)) * dtype.itemsize
        check_memory(n, width, n_bytes, "Take fewer rows or a smaller n_components.")
        angles = safe_sparse_dot(X, self.frequencies_.T.astype(dtype), dense_output=True)
        half = width // 2
        out = np.empty((n, width), dtype=dtype)
        np.cos(angles[:, :half], out=out[:, :half])
        np.sin(angles[:, :half], out=out[:, half : 2 * half])
        if width % 2:
            np.cos(angles[:, -1] + dtype.type(self._phase), out=out[:, -1])
        out *= dtype.type(self._scale)
        return out
