"""Pictures of kernels: their titles, and their shapes around a point."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import QUIET, axes, color_of, few_ticks_in_space, row_of_axes, tidy
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
