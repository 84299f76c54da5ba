"""Images as rows of pixels, and the maps that move them: each one a sparse matrix on pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula.inputs import check_finite, numeric


def read_images(X: Any, shape: tuple[int, int] | None, name: str = "X") -> np.ndarray:
    """One row of pixels an image, from rows, from n × height × width, or from a list of images."""
    if not hasattr(X, "shape"):
        sizes = {np.shape(image) for image in X}
        if len(sizes) > 1:
            raise ValueError(f"{name} holds images of different sizes: {sorted(sizes)[:4]}")
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        if shape is not None and X.shape[1:] != shape:
            raise ValueError(
                f"{name} holds images of {X.shape[1]} × {X.shape[2]} pixels, "
                f"the kernel is for {shape[0]} × {shape[1]}"
            )
        X = X.reshape(len(X), -1)
    rows = numeric(X)
    if is_sparse(rows):
        rows = rows.toarray()
    if shape is not None and rows.shape[1] != shape[0] * shape[1]:
        raise ValueError(
            f"{name} has rows of {rows.shape[1]} numbers; an image of {shape[0]} × {shape[1]} "
            f"pixels has {shape[0] * shape[1]}"
        )
    check_finite(rows, name)
    return np.ascontiguousarray(rows)


def shape_of(X: Any, shape: tuple[int, int] | None) -> tuple[int, int]:
    """The given shape, that of a stack of images, or the square that a row fills."""
    if shape is not None:
        return shape
    if not hasattr(X, "shape"):
        X = np.asarray(X[0])[None]
    if len(X.shape) == 3:
        return int(X.shape[1]), int(X.shape[2])
    edge = math.isqrt(X.shape[1])
    if edge * edge != X.shape[1]:
        raise ValueError(
            f"rows of {X.shape[1]} numbers are no square images; say shape=(height, width)"
        )
    return edge, edge


def checked_shape(shape: Any, who: str) -> tuple[int, int] | None:
    """(height, width) as two whole numbers ≥ 1, or None."""
    if shape is None:
        return None
    try:
        height, width = shape
        whole = height == int(height) >= 1 and width == int(width) >= 1
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"{who}: shape must be (height, width), got {shape!r}")
    return int(height), int(width)


def moved(shape: tuple[int, int], degrees: float, down: float = 0.0, right: float = 0.0) -> Any:
    """The matrix that turns an image about its center (counter-clockwise), then shifts it.

    Values between pixels are interpolated; beyond the edge an image goes on as it ends there, so
    that a background of −1 is as good as one of 0.
    """
    height, width = shape
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    rows, columns = np.mgrid[:height, :width].astype(float)
    y = rows - down - (height - 1) / 2
    x = columns - right - (width - 1) / 2
    # Where each pixel comes from: the inverse map (rows grow downwards).
    return sampling(
        shape, cos * y + sin * x + (height - 1) / 2, cos * x - sin * y + (width - 1) / 2
    )


def sampling(shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> Any:
    """The sparse matrix that reads an image at these points, between pixels bilinearly."""
    from scipy import sparse

    height, width = shape
    # A quarter turn falls on pixels but for rounding: then it is a plain exchange of pixels.
    y = np.clip(np.round(rows.ravel(), 9), 0, height - 1)
    x = np.clip(np.round(columns.ravel(), 9), 0, width - 1)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, rightmost = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    v, u = y - top, x - left
    targets = np.tile(np.arange(len(y)), 4)
    pixels = np.concatenate([a * width + b for a in (top, bottom) for b in (left, rightmost)])
    weights = np.concatenate([p * q for p in (1 - v, v) for q in (1 - u, u)])
    matrix = sparse.csr_array((weights, (targets, pixels)), shape=(len(y), height * width))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
