"""Pictures of kernel matrices: as images or tables of numbers, and by their eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._examples import count
from mercer._figures import INK, QUIET, axes, color_of, legend, shades, tidy
from mercer.kernels import as_kernel
from mercer.plot.kernels import kernel_title


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
