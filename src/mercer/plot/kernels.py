"""Pictures of kernels, Gram matrices and feature maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import axes, color_of, plane, scatter, tidy
from mercer.kernels import as_kernel


def kernel_shape(
    kernel: Any, center: Sequence[float] = (1.0, 1.0), extent: float = 3.0, ax: Any = None
) -> Any:
    """z ↦ k(center, z) around a point: lecture 002's pictures of what a kernel finds similar.

    One coordinate in `center` draws a curve, two a contour plot.
    """
    k = as_kernel(kernel)
    ax = axes(ax, (4.5, 3.8))
    at = np.atleast_2d(np.asarray(center, dtype=float))
    line = np.linspace(-extent, extent, 241 if at.shape[1] == 1 else 121)
    if at.shape[1] == 1:
        values = k(at, line[:, None])[0]
        ax.plot(line, values, color=color_of(0))
        ax.axvline(at[0, 0], color="0.7", linewidth=0.8)
        return tidy(ax, repr(k), "z", f"k({at[0, 0]:g}, z)")
    if at.shape[1] != 2:
        raise ValueError(f"a picture needs one or two coordinates, got {at.shape[1]}")
    a, b = np.meshgrid(line, line)
    values = k(at, np.column_stack([a.ravel(), b.ravel()]))[0].reshape(a.shape)
    filled = ax.contourf(a, b, values, levels=24, cmap="viridis")
    ax.contour(a, b, values, levels=8, colors="white", linewidths=0.4)
    ax.plot(*at[0], marker="+", color="white", markersize=12)
    ax.figure.colorbar(filled, ax=ax, shrink=0.85)
    ax.set_aspect("equal")
    return tidy(ax, repr(k), "z₁", "z₂")


def gram(
    kernel: Any,
    X: Any,
    y: Any = None,
    ax: Any = None,
    largest: int = 1000,
    title: str | None = None,
) -> Any:
    """K as an image; rows in the order of their class, with lines between the classes."""
    k = as_kernel(kernel)
    ax = axes(ax)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    keep = np.arange(n) if n <= largest else np.linspace(0, n - 1, largest).astype(int)
    if y is not None:
        y = np.asarray(y)[keep]
        order = np.argsort(y, kind="stable")
        keep, y = keep[order], y[order]
    K = k.gram(X).block(keep, keep)
    top, clipped = _brightest(np.asarray(K, dtype=float))
    image = ax.imshow(K, cmap="viridis", interpolation="nearest", vmax=top)
    ax.figure.colorbar(image, ax=ax, shrink=0.85, extend="max" if clipped else "neither")
    if y is not None:
        edges = np.flatnonzero(y[1:] != y[:-1]) + 0.5
        for edge in edges:
            ax.axhline(edge, color="white", linewidth=0.6)
            ax.axvline(edge, color="white", linewidth=0.6)
        bounds = np.concatenate([[-0.5], edges, [len(y) - 0.5]])
        middles = (bounds[1:] + bounds[:-1]) / 2
        ax.set_yticks(middles, [str(y[int(m)]) for m in middles])
        ax.set_xticks([])
        ax.set_ylabel("class")
    ax.set_title(repr(k) if title is None else title)
    return ax


def _brightest(K: np.ndarray) -> tuple[float | None, bool]:
    """Where colours end: below a diagonal that would leave all the rest in the dark."""
    rest = K[np.arange(len(K))[:, None] != np.arange(len(K))]
    if not len(rest) or not np.isfinite(K).all():
        return None, False
    low, high = np.quantile(rest, [0.002, 0.998])
    clipped = bool(K.max() - low > 1.5 * (high - low) > 0)
    return (float(high), True) if clipped else (None, False)


def spectrum(kernel: Any, X: Any, ax: Any = None) -> Any:
    """Eigenvalues of K, largest first; negative ones, if any, stand out."""
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
        ax.legend(frameon=False)
    if shown.min() < 1e4 * rounding:  # else it would only squeeze the curve together
        ax.axhline(rounding, color="0.6", linewidth=0.8, linestyle=":", label="rounding")
        ax.legend(frameon=False)
    return tidy(ax, f"spectrum of {k!r}", "index", "eigenvalue")


def monomial_growth(
    features: Sequence[int] = (2, 5, 10, 50, 100), degree: int = 6, ax: Any = None
) -> Any:
    """C(d + m − 1, d): how many monomials of degree d there are in m features (lecture 000)."""
    ax = axes(ax)
    degrees = np.arange(1, degree + 1)
    for i, m in enumerate(features):
        counts = [math.comb(int(d) + m - 1, int(d)) for d in degrees]
        ax.semilogy(degrees, counts, "o-", color=color_of(i), label=f"m = {m}", markersize=4)
    ax.legend(frameon=False, title="inputs")
    ax.set_xticks(degrees)
    return tidy(ax, "monomials of degree d", "d", "number of terms")


def before_and_after(X: Any, y: Any, feature_map: Any, ax: Any = None) -> Any:
    """Points before and after a map: the same classes, in the first two new coordinates.

    `feature_map` is a transformer or a function of rows. Gives both axes.
    """
    points = plane(X, "before_and_after")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left, right = ax
    scatter(left, points, y)
    tidy(left, "before", "x₁", "x₂")
    transform = getattr(feature_map, "fit_transform", None) or feature_map
    mapped = np.asarray(transform(points), dtype=float)
    if mapped.ndim == 1 or mapped.shape[1] == 1:
        mapped = np.column_stack([mapped.reshape(len(points)), np.zeros(len(points))])
    scatter(right, mapped[:, :2], y)
    tidy(right, "after", "φ₁", "φ₂")
    return left, right
