"""Pictures of kernels: their shapes, matrices, spectra and series."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import INK, QUIET, axes, color_of, legend, row_of_axes, tidy
from mercer.kernels import BSpline, Gaussian, Kernel, Laplacian, Linear, Polynomial, as_kernel

#: Parameters that a title always tells, by their sign; others where they are not the default.
_SIGNS = {
    "sigma": "σ",
    "gamma": "γ",
    "length": "ℓ",
    "degree": "d",
    "rate": "λ",
    "eta": "η",
    "nu": "ν",
}


def kernel_title(kernel: Kernel) -> str:
    """The name of a kernel with its numbers, a width of 1 too; an expression as it is."""
    if list(kernel.children()) or not dataclasses.is_dataclass(kernel):
        return repr(kernel)
    values = {
        f.name: getattr(kernel, f.name)
        for f in dataclasses.fields(kernel)
        if f.name in _SIGNS or getattr(kernel, f.name) != f.default
    }
    parts = [
        f"{_SIGNS.get(n, n)} = {v:g}"
        for n, v in values.items()
        if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    return ", ".join([type(kernel).__name__, *parts])


def _around(kernel: Any, center: Sequence[float], extent: float, points: int) -> tuple[Any, ...]:
    """The kernel, its center as a row, and z ↦ k(center, z) on a line or a grid."""
    k, at = as_kernel(kernel), np.atleast_2d(np.asarray(center, dtype=float))
    line = np.linspace(-extent, extent, points)
    if at.shape[1] == 1:
        return k, at, line, k(at, line[:, None])[0]
    if at.shape[1] != 2:
        raise ValueError(f"a picture needs one or two coordinates, got {at.shape[1]}")
    a, b = np.meshgrid(line, line)
    return k, at, (a, b), k(at, np.column_stack([a.ravel(), b.ravel()]))[0].reshape(a.shape)


def kernel_shape(
    kernel: Any, center: Sequence[float] = (1.0, 1.0), extent: float = 3.0, ax: Any = None
) -> Any:
    """z ↦ k(x, z) around a point x: what the kernel finds similar to it.

    One coordinate in `center` draws a curve, two a contour map; `kernel_surface` draws the latter
    in space.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    center : list of one or two float
        The point x.
    extent : float, default 3.0
        How far around it is drawn.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.kernel_shape("gaussian(0.5)", center=[0.0])
    """
    k, at, where, values = _around(kernel, center, extent, 201)
    ax = axes(ax, (4.5, 3.8))
    if at.shape[1] == 1:
        ax.plot(where, values, color=color_of(0))
        ax.axvline(at[0, 0], color=QUIET, linewidth=0.8)
        return tidy(ax, kernel_title(k), "z", f"k({at[0, 0]:g}, z)")
    filled = ax.contourf(*where, values, levels=24, cmap="viridis")
    low, high = values.min(), values.max()
    # No line at the lowest value: where k is 0 on a whole region it would frame the picture.
    ax.contour(*where, values, np.linspace(low, high, 9)[1:-1], colors="white", linewidths=0.4)
    ax.plot(*at[0], marker="+", color="white", markersize=12)
    ax.figure.colorbar(filled, ax=ax, shrink=0.85)
    ax.set_aspect("equal")
    return tidy(ax, kernel_title(k), "z₁", "z₂")


def kernel_surface(
    kernel: Any, center: Sequence[float] = (0.0, 0.0), extent: float = 3.0, ax: Any = None
) -> Any:
    """z ↦ k(x, z) as a surface over the plane.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    center : list of two float
        The point x.
    extent : float, default 3.0
        How far around it is drawn.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.kernel_surface("laplacian(1)")
    """
    k, _, (a, b), values = _around(kernel, center, extent, 61)
    ax = axes(ax, (4.4, 3.8), "3d")
    ax.plot_surface(a, b, values, cmap="viridis", rcount=61, ccount=61, linewidth=0, alpha=0.95)
    ax.set_xlabel("z₁", labelpad=-4)
    ax.set_ylabel("z₂", labelpad=-4)
    ax.set_title(kernel_title(k), fontsize="medium")
    ax.set_box_aspect(None, zoom=0.86)
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize="x-small", pad=-1)
    return ax


#: The five pictures of "Perceptron and Kernels", with the point around which each is drawn.
LECTURE_KERNELS: tuple[tuple[Any, tuple[float, float]], ...] = (
    (Linear(), (1.0, 1.0)),
    (Laplacian(1.0), (0.0, 0.0)),
    (Gaussian(1.0), (0.0, 0.0)),
    (Polynomial(3), (1.0, 1.0)),
    (BSpline(3), (0.0, 0.0)),
)


def kernel_gallery(kernels: Any = LECTURE_KERNELS, ax: Any = None) -> tuple[Any, ...]:
    """Draw surfaces side by side: by default the five kernels of G. Gordon and A. Smola's slides.

    `kernels` are kernels, or pairs of a kernel and the point around which it is drawn. Gives one
    axes per kernel.

    Parameters
    ----------
    kernels : list of Kernel, or of pairs (Kernel, point)
        To draw; with a point, around it.
    ax : list of matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    tuple of matplotlib Axes
        One per kernel.

    Examples
    --------
    >>> from mercer import plot
    >>> len(plot.kernel_gallery())
    5
    """
    pairs = [k if isinstance(k, tuple) else (k, (0.0, 0.0)) for k in kernels]
    row = row_of_axes(ax, len(pairs), (2.5, 2.6), *["3d"] * len(pairs), columns=3)
    for each, (kernel, center) in zip(row, pairs, strict=True):
        kernel_surface(kernel, center, ax=each)
    return row


def gram(
    kernel: Any,
    X: Any,
    y: Any = None,
    ax: Any = None,
    largest: int = 1000,
    title: str | None = None,
    numbers: bool | None = None,
    sort: bool | None = None,
) -> Any:
    """Kᵢⱼ = k(xᵢ, xⱼ) as an image, and as a table of numbers where it is small.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    X : array or list
        The examples.
    y : labels, optional
        Lines part the classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    largest : int, default 1000
        Of more rows, evenly spread ones are taken.
    title : str or None
        Above the picture; None writes the kernel.
    numbers : bool, optional
        Write the entries; by default up to 8 rows.
    sort : bool, optional
        Order the rows by class; by default unless the numbers are written, whose order is the
        data's own.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import Polynomial, data, plot
    >>> X, y = data.xor()
    >>> [text.get_text() for text in plot.gram(Polynomial(2), X).texts][:4]
    ['4', '0', '4', '0']
    """
    k = as_kernel(kernel)
    ax = axes(ax)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    index = np.arange(n) if n <= largest else np.linspace(0, n - 1, largest).astype(int)
    numbers = n <= 8 if numbers is None else numbers
    if y is not None:
        y = np.asarray(y)[index]
        if not numbers if sort is None else sort:
            order = np.argsort(y, kind="stable")
            index, y = index[order], y[order]
    K = np.asarray(k.gram(X).block(index, index), dtype=float)
    top, clipped = _brightest(K)
    image = ax.imshow(K, cmap="viridis", interpolation="nearest", vmax=top)
    if numbers:
        middle = (float(K.min()) + float(K.max())) / 2
        for (i, j), value in np.ndenumerate(K):
            color = "white" if value < middle else "black"
            ax.text(j, i, f"{value:.3g}", ha="center", va="center", color=color)
        names = [f"$x^{{{i + 1}}}$" for i in index]
        ax.set_xticks(range(len(index)), names)
        ax.set_yticks(range(len(index)), names)
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    else:
        ax.figure.colorbar(image, ax=ax, shrink=0.85, extend="max" if clipped else "neither")
        if y is not None:
            _class_lines(ax, y)
    ax.set_title(kernel_title(k) if title is None else title)
    return ax


def _class_lines(ax: Any, y: np.ndarray) -> None:
    edges = np.flatnonzero(y[1:] != y[:-1]) + 0.5
    for edge in edges:
        ax.axhline(edge, color="white", linewidth=0.6)
        ax.axvline(edge, color="white", linewidth=0.6)
    bounds = np.concatenate([[-0.5], edges, [len(y) - 0.5]])
    middles = (bounds[1:] + bounds[:-1]) / 2
    ax.set_yticks(middles, [str(y[int(m)]) for m in middles])
    ax.set_xticks([])
    ax.set_ylabel("class")


def _brightest(K: np.ndarray) -> tuple[float | None, bool]:
    """Where colors end: below a diagonal that would leave all the rest in the dark."""
    rest = K[np.arange(len(K))[:, None] != np.arange(len(K))]
    if not len(rest) or not np.isfinite(K).all():
        return None, False
    low, high = np.quantile(rest, [0.002, 0.998])
    clipped = bool(K.max() - low > 1.5 * (high - low) > 0)
    return (float(high), True) if clipped else (None, False)


def spectrum(kernel: Any, X: Any, ax: Any = None) -> Any:
    """Ku = λu: the eigenvalues of a kernel matrix, largest first; negative ones stand out.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    X : array or list
        The examples.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.spectrum("gaussian(0.5)", data.moons(40)[0])
    """
    k = as_kernel(kernel)
    ax = axes(ax)
    K = np.asarray(k(X), dtype=float)
    values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    rounding = len(values) * np.finfo(float).eps * np.abs(values).max()
    negative = values < -rounding
    index = np.arange(1, len(values) + 1)
    shown = np.maximum(np.abs(values), rounding)
    ax.semilogy(index[~negative], shown[~negative], ".-", color=color_of(0), label="λ ≥ 0")
    if negative.any():
        ax.semilogy(index[negative], shown[negative], "x", color=color_of(1), label="|λ|, λ < 0")
    if shown.min() < 1e4 * rounding:  # else it would only squeeze the curve together
        ax.axhline(rounding, color=QUIET, linewidth=0.8, linestyle=":", label="rounding")
    if len(ax.lines) > 1:
        legend(ax, frameon=False)
    return tidy(ax, f"spectrum of {kernel_title(k)}", "index", "eigenvalue")


def fourier(kernel: Any, n_features: int = 1, ax: Any = None, peaks: float = 4.0) -> Any:
    """S(ω) = ∫ k(t) e^{−iωt} dt: a translation-invariant k is a kernel iff S is nowhere negative.

    What dips below zero is filled. `kernel` may be a `FourierCheck`, which is then drawn. `peaks`
    is how far the picture reaches, in widths of the first bump of S.

    Parameters
    ----------
    kernel : Kernel, str or FourierCheck
        A translation-invariant kernel, or what `fourier_check` found.
    n_features : int, default 1
        The dimension.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    peaks : float, default 4.0
        How far the picture reaches, in widths of the first bump.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.fourier("bspline(3)")
    """
    from mercer.proof import FourierCheck, fourier_check

    found = kernel if isinstance(kernel, FourierCheck) else fourier_check(kernel, n_features)
    w, S = found.frequencies, found.spectrum
    ax = axes(ax)
    negative = -found.tolerance > S
    first = np.flatnonzero((0.05 * S.max() > S) | negative)
    shown = w <= (peaks * w[first[0]] if len(first) else w[-1])
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.plot(w[shown], S[shown], color=color_of(0), label="S(ω) ≥ 0" if found.passes else "S(ω)")
    if (negative & shown).any():
        below = np.where(negative, S, 0.0)[shown]
        ax.fill_between(w[shown], below, 0, color=color_of(1), alpha=0.6,
                        label=f"S < 0 from ω = {found.negative_at[0]:.3g}")  # fmt: skip
    legend(ax, frameon=False)
    name = kernel_title(found.kernel) if isinstance(found.kernel, Kernel) else "k"
    return tidy(ax, name, "ω", "S(ω)")


def eigenfunctions(
    kernel: Any, interval: tuple[float, float] = (0.0, 1.0), count: int = 4, ax: Any = None
) -> Any:
    """k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z): Mercer's first eigenfunctions on an interval, with their λᵢ.

    Found on 400 evenly spread points by `NystromMap`; ∫ φᵢ² = 1 under the uniform distribution.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    interval : (low, high)
        Where k lives.
    count : int, default 4
        How many functions to draw.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.eigenfunctions("gaussian(0.2)")
    """
    from mercer.maps import NystromMap

    k = as_kernel(kernel)
    line = np.linspace(*interval, 400)
    phi = NystromMap(k, n_components=None).fit(line[:, None])
    values = phi.eigenvalues_ / len(line)
    functions = phi.transform(line[:, None]) / np.sqrt(values)
    ax = axes(ax)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    for i in range(min(count, len(values))):
        f = functions[:, i] * (1.0 if functions[np.abs(functions[:, i]).argmax(), i] > 0 else -1.0)
        ax.plot(line, f, color=color_of(i), label=f"λ$_{{{i + 1}}}$ = {values[i]:.3g}")
    ax.set_ylim(None, 1.45 * ax.get_ylim()[1])
    legend(ax, frameon=False, ncols=2, loc="upper center")
    return tidy(ax, kernel_title(k), "x", "φᵢ(x)")


def taylor_truncations(
    sigma: float = 1.0, orders: Sequence[int] = (0, 1, 2, 4, 8), at: float = 1.5, ax: Any = None
) -> Any:
    """exp(−(x−z)²/2σ²) and Σ_{n ≤ N} of its Taylor series, for several N: ever closer.

    The series of "Lecture 09: Kernel Methods" (J. Abernethy), by `TaylorGaussianMap` at x = `at`.

    Parameters
    ----------
    sigma : float, default 1.0
        Width of the Gaussian.
    orders : list of int
        Where the series is cut; one curve each.
    at : float, default 1.5
        The point x.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.taylor_truncations(orders=(1, 4))
    """
    from mercer.maps import TaylorGaussianMap

    ax = axes(ax)
    z = np.linspace(at - 4 * sigma, at + 3 * sigma, 300)
    ax.plot(z, Gaussian(sigma)([[at]], z[:, None])[0], color=INK, linewidth=3, alpha=0.35,
            label="Gaussian")  # fmt: skip
    for i, order in enumerate(orders):
        phi = TaylorGaussianMap(sigma, order).fit([[at]])
        values = phi.transform(z[:, None]) @ phi.transform([[at]])[0]
        ax.plot(z, values, color=color_of(i), linewidth=1.3, label=f"N = {order}")
    legend(ax, frameon=False)
    return tidy(ax, f"Taylor series, σ = {sigma:g}", "z", f"k({at:g}, z)")


def monomial_growth(
    inputs: Sequence[int] = range(2, 41), degrees: Sequence[int] = (2, 3, 4), ax: Any = None
) -> Any:
    """C(d + m − 1, d): the number of monomials of degree d over the number m of inputs.

    The curves of "Kernels and Kernelized Perceptron" (A. Ritter), one per degree.

    Parameters
    ----------
    inputs : list of int
        Numbers m of inputs.
    degrees : list of int
        One curve per degree d.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.monomial_growth()
    """
    ax = axes(ax)
    inputs = list(inputs)
    for i, d in enumerate(degrees):
        counts = [math.comb(d + m - 1, d) for m in inputs]
        ax.plot(inputs, counts, color=color_of(i), label=f"d = {d}")
        ax.annotate(f"{counts[-1]:,}", (inputs[-1], counts[-1]), (0, 4), ha="right",
                    textcoords="offset points", color=color_of(i), fontsize="small")  # fmt: skip
    ax.set_yscale("log")
    legend(ax, frameon=False, title="degree", loc="upper left")
    return tidy(ax, "number of terms", "m, input features", "number of monomials")
