"""Pictures of kernels: their titles, and their shapes around a point."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._examples import count
from mercer._figures import (
    INK,
    QUIET,
    axes,
    color_of,
    few_ticks_in_space,
    legend,
    row_of_axes,
    shades,
    tidy,
)
from mercer.kernels import BSpline, Gaussian, Kernel, Laplacian, Linear, Polynomial, as_kernel

#: Parameters that a title always tells, by their sign; others where they are not the default.
_SIGNS = {"sigma": "σ", "length": "ℓ", "degree": "d", "rate": "λ", "eta": "η", "nu": "ν"}


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
    filled = ax.contourf(*where, values, levels=24, cmap="gray_r")
    low, high = values.min(), values.max()
    # No line at the lowest value: where k is 0 on a whole region it would frame the picture.
    ax.contour(*where, values, np.linspace(low, high, 9)[1:-1], colors="white", linewidths=0.4)
    ax.plot(*at[0], marker="+", color=color_of(1), markersize=12)
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
    ax.plot_surface(a, b, values, cmap="gray_r", rcount=61, ccount=61, linewidth=0, alpha=0.95)
    ax.set_xlabel("z₁", labelpad=-4)
    ax.set_ylabel("z₂", labelpad=-4)
    return few_ticks_in_space(tidy(ax, kernel_title(k)), 0.95)


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
    columns = 2 if len(pairs) == 4 else 3
    row = row_of_axes(ax, len(pairs), (2.5, 2.6), *["3d"] * len(pairs), columns=columns)
    for each, (kernel, center) in zip(row, pairs, strict=True):
        kernel_surface(kernel, center, ax=each)
    return row


# --- Pictures of kernel matrices: as images or tables of numbers, and by their eigenvalues --------


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
        Lines separate the classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    largest : int, default 1000
        Of more rows, evenly spread ones are taken.
    title : str or None
        Above the picture; None writes the kernel.
    numbers : bool, optional
        Write the entries; by default up to 8 rows.
    sort : bool, optional
        Order the rows by class, alike ones beside each other; by default unless the numbers are
        written, whose order is the data's own.

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
    n = count(X)
    index = np.arange(n) if n <= largest else np.linspace(0, n - 1, largest).astype(int)
    numbers = n <= 8 if numbers is None else numbers
    sort = not numbers if sort is None else sort
    if y is not None:
        y = np.asarray(y)[index]
    K = np.asarray(k.gram(X).block(index, index), dtype=float)
    if sort and y is not None:
        chain = chained(K, y)
        index, y, K = index[chain], y[chain], K[np.ix_(chain, chain)]
    top, clipped = _brightest(K)
    most = top or float(np.abs(K).max(initial=0.0))
    look = {"vmin": -most, "vmax": most, "cmap": shades()} if (K < 0).any() else {"cmap": "gray_r"}
    image = ax.imshow(K, interpolation="nearest", **{"vmax": top, **look})
    if numbers:
        _entries(image, K, index)
    else:
        ax.figure.colorbar(image, ax=ax, shrink=0.85, extend="max" if clipped else "neither")
        if y is not None:
            _class_lines(ax, y)
    return tidy(ax, kernel_title(k) if title is None else title)


def chained(K: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An order by class in which each point is followed by the most alike of the rest.

    >>> K = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 1.5], [1.0, 1.5, 2.0]])
    >>> chained(K, np.zeros(3, dtype=int)).tolist()
    [0, 2, 1]
    """
    order: list[int] = []
    for c in np.unique(y):
        left = np.flatnonzero(y == c).tolist()
        here = min(left, key=lambda i: float(K[i, left].sum()))  # begins at an end of the class
        while left:
            left.remove(here)
            order.append(here)
            if left:
                here = left[int(K[here, left].argmax())]
    return np.array(order)


def _entries(image: Any, K: np.ndarray, index: np.ndarray) -> None:
    """The numbers themselves, and the names of the examples beside them."""
    ax = image.axes
    for (i, j), value in np.ndenumerate(K):
        color = "white" if sum(image.to_rgba(value)[:3]) < 1.5 else INK
        ax.text(j, i, f"{value:.3g}", ha="center", va="center", color=color)
    names = [f"$x^{{{i + 1}}}$" for i in index]
    ax.set_xticks(range(len(index)), names)
    ax.set_yticks(range(len(index)), names)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)


def _class_lines(ax: Any, y: np.ndarray) -> None:
    edges = np.flatnonzero(y[1:] != y[:-1]) + 0.5
    for edge in edges:
        ax.axhline(edge, color=INK, linewidth=0.8)
        ax.axvline(edge, color=INK, linewidth=0.8)
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
