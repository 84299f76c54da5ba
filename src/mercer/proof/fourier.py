"""The spectrum of a translation-invariant kernel: by Bochner, k is a kernel iff it is ≥ 0."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._escape.terminal import printable

from .results import shorten
from .target import Target, check_dimension

# ∫ g(r) cos(ωr) dr and its radial relatives for functions with kinks, jumps and long tails.
# The integrand's own part g is cut into panels on which a polynomial fits it to rounding; jumps and
# kinks are closed in by halving. Panels are also short against the wave, so that one set of nodes
# serves all frequencies.


ORDER = 16
MAX_PANELS = 20_000
FIT = 1e-13

Function = Callable[[np.ndarray], np.ndarray]


def nodes_for(g: Function, end: float, omega: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, weights and values of g on [0, end], fine enough for waves up to ``omega``."""
    x, w = np.polynomial.legendre.leggauss(ORDER)
    # values at the nodes → Legendre coefficients; the last ones tell whether the fit is good
    fit = (np.polynomial.legendre.legvander(x, ORDER - 1) * w[:, None]).T
    fit *= (np.arange(ORDER) + 0.5)[:, None]
    count = max(16, math.ceil(end * omega / 8))
    edges = np.linspace(0.0, end, count + 1)
    left, width = edges[:-1], np.diff(edges)
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    total, top = 0, 0.0
    while len(left):
        r = left[:, None] + width[:, None] * (x + 1) / 2
        values = g(r.ravel()).reshape(r.shape)
        top = max(top, float(np.abs(values).max()))
        rough = np.abs(values @ fit.T)[:, -3:].max(axis=1) > FIT * top
        rough &= width > 1e-14 * end
        if total + 2 * len(left) > MAX_PANELS:  # noise, not a kink: take it as it is
            rough[:] = False
        good = ~rough
        done.append((r[good].ravel(), (width[good, None] * w / 2).ravel(), values[good].ravel()))
        total += int(good.sum())
        half = width[rough] / 2
        left = np.concatenate([left[rough], left[rough] + half])
        width = np.concatenate([half, half])
    r, weights, values = (np.concatenate(parts) for parts in zip(*done, strict=True))
    keep = values != 0
    return r[keep], weights[keep], values[keep]


def radial_transform(
    profile: Function, n_features: int, end: float, frequencies: np.ndarray
) -> tuple[np.ndarray, float]:
    """∫ k(‖t‖) e^{−iω·t} dt over ℝᵈ for every |ω|, and ∫ |k(‖t‖)| dt, which bounds it."""
    r, weights, values = nodes_for(profile, end, float(frequencies[-1]))
    area = 2 * math.pi ** (n_features / 2) / math.gamma(n_features / 2)
    mass = area * weights * values * r ** (n_features - 1)
    spectrum = np.empty(len(frequencies))
    step = max(1, 2_000_000 // max(1, len(r)))
    for start in range(0, len(frequencies), step):
        part = slice(start, start + step)
        spectrum[part] = _wave(np.outer(frequencies[part], r), n_features) @ mass
    return spectrum, float(np.abs(mass).sum())


def _wave(z: np.ndarray, n_features: int) -> np.ndarray:
    """The mean of e^{iz u₁} over the unit sphere of ℝᵈ: Γ(d/2) (2/z)^ν J_ν(z), ν = d/2 − 1."""
    if n_features == 1:
        return np.cos(z)
    if n_features == 3:
        return np.sinc(z / np.pi)
    from scipy.special import j0, jv

    if n_features == 2:
        return j0(z)
    order = n_features / 2 - 1
    with np.errstate(all="ignore"):
        wave = math.gamma(n_features / 2) * jv(order, z) * (2 / z) ** order
    # the power overflows or 0/0 appears only where the wave is 1 − z²/2d to all digits
    near = z < 1e-4
    wave[near] = 1 - z[near] ** 2 / (2 * n_features)
    return wave


TOLERANCE = 1e-11  # of ∫|k|: the quadrature's own error is some hundred times smaller
GRID_TOLERANCE = 1e-6
SPAN = 64.0  # the highest frequency, times the length on which k falls to half

Lag = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class FourierCheck:
    """S(ω) = ∫ k(t) e^{−iω·t} dt on a range of frequencies, and where it is negative.

    Attributes
    ----------
    kernel : Kernel or callable
        What was looked at.
    n_features : int
        The dimension.
    frequencies, spectrum : ndarray
        |ω| and S(ω). For a product over columns, of the column with the deepest dip; where k is
        neither radial nor a product, the smallest value over the directions of ω.
    passes : bool
        True if S ≥ −tolerance at every frequency looked at. That is strong evidence, not a proof.
    minimum, minimum_at : float
        The smallest value of the spectrum, and its frequency.
    tolerance : float
        The size of the numerical error allowed for.
    method : {"radial", "product", "grid"}
        Which transform was used.

    Examples
    --------
    >>> from mercer.kernels import Uniform
    >>> from mercer.proof import fourier_check
    >>> found = fourier_check(Uniform(), n_features=1)
    >>> found.passes, bool(found.minimum < 0)
    (False, True)
    """

    kernel: Any
    n_features: int
    frequencies: np.ndarray = field(repr=False)
    spectrum: np.ndarray = field(repr=False)
    tolerance: float
    method: str

    @property
    def passes(self) -> bool:
        return bool(self.minimum >= -self.tolerance)

    @property
    def minimum(self) -> float:
        return float(self.spectrum.min())

    @property
    def minimum_at(self) -> float:
        return float(self.frequencies[int(self.spectrum.argmin())])

    @property
    def negative_at(self) -> np.ndarray:
        """The frequencies at which the spectrum is below zero by more than the tolerance."""
        return self.frequencies[self.spectrum < -self.tolerance]

    def __bool__(self) -> bool:
        return self.passes

    @printable
    def __str__(self) -> str:
        plural = "" if self.n_features == 1 else "s"
        head = f"{shorten(self.kernel)} in {self.n_features} dimension{plural}"
        looked = f"{len(self.frequencies)} frequencies up to {self.frequencies[-1]:.4g}"
        if self.passes:
            return f"✓ the spectrum of {head} is ≥ 0 ({self.method}, {looked})"
        share = abs(self.minimum) / float(np.abs(self.spectrum).max())
        return (
            f"✗ the spectrum of {head} is negative ({self.method}, {looked})\n"
            f"├─ lowest: {self.minimum:.4g} at ω = {self.minimum_at:.4g}, {share:.2g} of its peak\n"
            f"└─ first below zero at ω = {self.negative_at[0]:.4g}"
        )


def fourier_check(k: Any, n_features: int) -> FourierCheck:
    """S(ω) = ∫ k(t) e^{−iω·t} dt: is the spectrum of k(x − z) non-negative in this dimension?

    Parameters
    ----------
    k : Kernel, str or callable
        A translation-invariant kernel, an expression, a function of two examples, or a function
        of one argument: the radial profile r ↦ k(r) on an array of distances.
    n_features : int
        The dimension. The same profile may pass in one and fail in the next.

    Returns
    -------
    FourierCheck

    Notes
    -----
    Radial kernels go through the radial (Hankel) transform, products over columns through one
    cosine transform per column, and anything else through a Fourier transform on a grid, in at
    most three dimensions. Kernels that do not fade are multiplied by a wide Gaussian first: that
    blurs the spectrum but cannot make a non-negative one negative.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.proof import fourier_check
    >>> tent = lambda r: np.maximum(0, 1 - r)
    >>> fourier_check(tent, n_features=1).passes, fourier_check(tent, n_features=2).passes
    (True, False)
    """
    n_features = check_dimension(n_features)
    if _is_profile(k):
        return _radial(k, lambda r: _values(k, r), n_features)
    from .prover import as_kernel

    kernel = as_kernel(k)
    lag = _lag(kernel, n_features)
    if kernel.radial() or _is_radial(lag, n_features):
        axis = np.eye(n_features)[0]
        return _radial(kernel, lambda r: lag(r[:, None] * axis), n_features)
    if _is_product(lag, n_features):
        return _product(kernel, lag, n_features)
    return _grid(kernel, lag, n_features)


def _is_profile(k: Any) -> bool:
    """True for a plain function of one argument."""
    if isinstance(k, str | type) or hasattr(k, "claim") or not callable(k):
        return False
    try:
        parameters = inspect.signature(k).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.default is p.empty and p.kind in positional for p in parameters) == 1


def _values(profile: Any, r: np.ndarray) -> np.ndarray:
    """profile(r), for functions of arrays and of single numbers."""
    try:
        values = np.asarray(profile(r), dtype=np.float64)
        if values.shape == r.shape:
            return values
    except (TypeError, ValueError):
        pass  # `max(0, 1 - r)` and the like
    return np.array([float(profile(float(value))) for value in r])


# -- what k depends on -------------------------------------------------------------------------


def _lag(kernel: Any, n_features: int) -> Lag:
    """t ↦ k(t, 0); an error if k(x, z) is not a function of x − z, and an even one."""
    target = Target(kernel)
    origin = np.zeros((1, n_features))
    if target.slow and n_features == 1:
        try:
            target.row(origin, origin)
        except Exception:  # perhaps a function of two numbers, and not of two rows
            target = Target(kernel, scalars=True)

    def lag(points: np.ndarray) -> np.ndarray:
        return target.row(points, origin)

    if kernel.stationary():
        return lag
    rng = np.random.default_rng(0)
    for scale in (0.25, 1.0, 4.0):
        x, z, shift = scale * rng.standard_normal((3, 6, n_features))
        try:
            here = np.concatenate([target.row(x, z[:1]), target.row(x[:1], x[:1])])
            there = np.concatenate(
                [target.row(x + shift[0], z[:1] + shift[0]), target.row(z[:1], z[:1])]
            )
            mirrored = target.row(z[:1], z[:1] * 0), target.row(-z[:1], z[:1] * 0)
        except ValueError as error:
            name = shorten(kernel)
            raise ValueError(f"{name} cannot be evaluated everywhere: {error}") from error
        size = np.abs(here).max()
        if not np.allclose(here, there, rtol=0, atol=1e-9 * size):
            raise ValueError(
                f"{shorten(kernel)} is not translation invariant: k(x + t, z + t) ≠ k(x, z), "
                "so it has no spectrum; try prove"
            )
        if not np.allclose(*mirrored, rtol=0, atol=1e-9 * size):
            raise ValueError(f"{shorten(kernel)} is not symmetric: k(t, 0) ≠ k(−t, 0)")
    return lag


def _is_radial(lag: Lag, n_features: int) -> bool:
    if n_features == 1:
        return True
    rng = np.random.default_rng(1)
    for radius in np.geomspace(0.05, 20.0, 48):
        directions = np.concatenate([np.eye(n_features)[:2], rng.standard_normal((6, n_features))])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        values = lag(radius * directions)
        if np.ptp(values) > 1e-9 * max(np.abs(values).max(), abs(lag(directions[:1] * 0)[0])):
            return False
    return True


def _is_product(lag: Lag, n_features: int) -> bool:
    rng = np.random.default_rng(2)
    top = lag(np.zeros((1, n_features)))[0]
    if top == 0:
        return False
    for scale in np.geomspace(0.05, 20.0, 12):
        points = scale * rng.standard_normal((6, n_features))
        product = np.full(6, 1.0)
        for j in range(n_features):
            product *= lag(points * np.eye(n_features)[j]) / top
        if not np.allclose(lag(points) / top, product, rtol=0, atol=1e-9):
            return False
    return True


# -- the three transforms ----------------------------------------------------------------------


def _extent(profile: Lag, n_features: int) -> tuple[float, float]:
    """The length on which k falls to half, and the distance from which on it is zero."""
    r = np.exp2(np.arange(-100, 101) / 4)
    top = float(profile(np.zeros(1))[0])
    values = profile(r)
    if not np.isfinite(values).all() or not np.isfinite(top):
        raise ValueError("the function is not finite everywhere")
    size = max(abs(top), float(np.abs(values).max()))
    fallen = np.nonzero(np.abs(values - top) > 0.5 * size)[0]
    length = float(r[fallen[0]]) if len(fallen) else 1.0
    heavy = np.abs(values) * np.maximum(1.0, r / length) ** (n_features - 1) > 1e-16 * size
    if not heavy.any():
        return length, float(r[0])
    last = int(np.nonzero(heavy)[0][-1])
    return length, float(r[last + 1]) if last + 1 < len(r) else math.inf


def _radial(kernel: Any, profile: Lag, n_features: int) -> FourierCheck:
    length, end = _extent(profile, n_features)
    windowed = profile
    if end > 120 * length:
        width = 12 * length

        def windowed(r: np.ndarray) -> np.ndarray:
            return profile(r) * np.exp(-0.5 * (r / width) ** 2)

        end = 8.5 * width
    top = SPAN / length
    low = np.geomspace(1e-3, 1.0, 96) / length
    # Bessel functions of high order are slow
    linear = np.linspace(0.0, top, 480 if n_features < 4 else 240)
    frequencies = np.unique(np.concatenate([low, linear]))
    spectrum, bound = radial_transform(windowed, n_features, end, frequencies)
    return FourierCheck(kernel, n_features, frequencies, spectrum, TOLERANCE * bound, "radial")


def _product(kernel: Any, lag: Lag, n_features: int) -> FourierCheck:
    """Π S_j(ω_j) is negative somewhere iff one of its factors is."""
    columns = [
        _radial(kernel, lambda r, axis=axis: lag(r[:, None] * axis), 1)  # type: ignore[misc]
        for axis in np.eye(n_features)
    ]
    deepest = min(columns, key=lambda column: column.minimum / column.tolerance)
    return replace(deepest, n_features=n_features, method="product")


def _grid(kernel: Any, lag: Lag, n_features: int) -> FourierCheck:
    """Sums over a lattice: S folded at the lattice's own frequency, ≥ 0 if S is."""
    if n_features > 3:
        raise ValueError(
            f"{shorten(kernel)} is neither radial nor a product over columns; "
            f"its spectrum is computed in at most 3 dimensions, not in {n_features}"
        )
    slow = Target(kernel).slow
    n = {2: 96 if slow else 256, 3: 36 if slow else 80}[n_features]
    axes = np.eye(n_features)
    lengths = [_extent(lambda r, u=u: lag(r[:, None] * u), 1)[0] for u in axes]  # type: ignore[misc]
    step = np.array(lengths) / 2
    ticks = np.arange(n) - n // 2
    mesh = np.stack(np.meshgrid(*[ticks] * n_features, indexing="ij"), axis=-1)
    window = np.exp(-0.5 * (mesh**2).sum(axis=-1) / (n / 11) ** 2)
    # k is even: half of the lattice is enough
    half = mesh[: n // 2 + 1].reshape(-1, n_features) * step
    values = np.zeros(mesh.shape[:-1])  # the first row and column of the far half have no mirror
    values[: n // 2 + 1] = lag(half).reshape(n // 2 + 1, *mesh.shape[1:-1])
    inner = (slice(1, None),) * n_features
    values[0] *= 0
    mirrored = values[inner][(slice(None, None, -1),) * n_features]
    values[inner][n // 2 :] = mirrored[n // 2 :]
    values *= window
    cell = float(np.prod(step))
    spectrum = np.fft.fftn(np.fft.ifftshift(values)).real * cell
    omega = [2 * np.pi * np.fft.fftfreq(n, d=h) for h in step]
    radius = np.sqrt(sum(np.meshgrid(*[w**2 for w in omega], indexing="ij")))
    edges = np.linspace(0, radius.max(), 129)
    bins = np.clip(np.digitize(radius.ravel(), edges) - 1, 0, 127)
    lowest = np.full(128, np.inf)
    where = np.zeros(128)
    order = np.argsort(spectrum.ravel())[::-1]
    lowest[bins[order]] = spectrum.ravel()[order]  # the last to be written is the smallest
    where[bins[order]] = radius.ravel()[order]
    filled = np.isfinite(lowest)
    tolerance = GRID_TOLERANCE * float(np.abs(values).sum()) * cell
    return FourierCheck(kernel, n_features, where[filled], lowest[filled], tolerance, "grid")
