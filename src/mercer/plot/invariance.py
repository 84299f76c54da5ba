"""Pictures of images that are turned, changed a little, or bent to fit one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import (
    INK,
    axes,
    bare,
    color_of,
    legend_below,
    require_fitted,
    row_of_axes,
    tidy,
)
from mercer.formula.written import raised
from mercer.plot.rasters import Shape, image_shape, images


def turned(image: Any, angles: Any, shape: Shape | None = None) -> np.ndarray:
    """The image turned about its center by each angle (degrees, counterclockwise), as rows."""
    from scipy.ndimage import rotate

    flat = np.asarray(image, dtype=float).ravel()
    square = flat.reshape(image_shape(len(flat), shape))
    return np.array([rotate(square, a, reshape=False, order=1).ravel() for a in angles])


def rotation_curve(image: Any, shape: Shape | None = None, steps: int = 72, ax: Any = None) -> Any:
    """r(α) in ℝ²⁵⁶: all rotations of one image as a curve, with its tangent at the image itself.

    The curve is seen in a plane that mixes its first two harmonics, the tangent is that of
    `TangentDistance`, and thumbnails show the image every 45 degrees. After D. Klein's slides: the
    tangent is a good stand-in for small rotations, and leaves the curve before a 6 becomes a 9.

    Parameters
    ----------
    image : array
        One image, as a row of pixels or a matrix.
    shape : (height, width) or None
        Of an image; None takes a square.
    steps : int, default 72
        Rotations that are computed.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.rotation_curve(data.glyphs()[0][6])
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    from mercer.kernels.images.tangent import tangents

    flat = np.asarray(image, dtype=float).ravel()
    shape = image_shape(len(flat), shape)
    angles = np.linspace(0, 360, steps + 1)
    curve = turned(flat, angles, shape)
    mean, basis = curve[:-1].mean(axis=0), _plane_of(curve[:-1], np.radians(angles[:-1]))
    along = tangents(flat[None], shape, ("rotate",), 0.7).ravel() @ basis.T
    path = (curve - mean) @ basis.T
    ax = axes(ax, (5.2, 4.8))
    ax.plot(*path.T, color=color_of(0), label="all rotations")
    half = 0.45 * float(np.ptp(path, axis=0).max()) * along / max(np.linalg.norm(along), 1e-300)
    ax.plot(*np.array([path[0] - half, path[0] + half]).T, color=color_of(1), linewidth=2,
            label="tangent at 0°")  # fmt: skip
    center = path[:-1].mean(axis=0)
    for i in range(0, steps, max(steps // 8, 1)):
        ax.plot(*path[i], "o", color=INK, markersize=4)
        small = OffsetImage(curve[i].reshape(shape), zoom=26 / max(shape), cmap="gray_r")
        away = path[i] - center
        position = path[i] + 0.24 * np.ptp(path, axis=0).max() * away / max(
            np.linalg.norm(away), 1e-12
        )
        ax.add_artist(AnnotationBbox(small, position, frameon=False, pad=0))
        ax.update_datalim([position])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.14)
    ax.autoscale_view()
    legend_below(ax)
    return tidy(ax, f"one image turned, in ℝ{raised(len(flat))}", "first direction", "second")


def _plane_of(curve: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Two orthonormal directions in which a closed curve shows its first two harmonics.

    The first alone is a circle for every image, and the second, often the widest, runs around
    twice; with a third of the second the curve is simple and still has a shape of its own.
    """
    waves = np.exp(1j * np.outer([1, 2], angles)) @ curve
    first, second = np.linalg.norm(waves, axis=1) + 1e-300
    both = waves[0] / first + 0.35 * first / second * waves[1] / second
    return np.linalg.qr(np.column_stack([both.real, both.imag]))[0].T


#: The seven small changes of `TangentDistance`, in its order.
TANGENTS = ("right", "down", "turned", "larger", "wider", "slanted", "thicker")


def tangent_vectors(image: Any, shape: Shape | None = None, ax: Any = None) -> Any:
    """x − t, t = ∂x/∂(small change) and x + t for the seven changes that tangent distance allows.

    Parameters
    ----------
    image : array
        One image, as a row of pixels or a matrix.
    shape : (height, width) or None
        Of an image; None takes a square.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.tangent_vectors(data.glyphs()[0][4])
    """
    from mercer.kernels.images.tangent import tangents

    x = np.asarray(image, dtype=float).ravel()
    shape = image_shape(len(x), shape)
    T = tangents(x[None], shape)[0].reshape(len(TANGENTS), -1)
    T *= 0.45 * np.linalg.norm(x) / np.linalg.norm(T, axis=1, keepdims=True)
    empty = np.full_like(x, np.nan)
    sheet = [empty, *np.clip(x - T, 0, None), x, *T, empty, *np.clip(x + T, 0, None)]
    titles = ["x − t", *TANGENTS, "x", *["t"] * 7, "x + t"]
    signed = [False] * 9 + [True] * 7 + [False] * 8
    return images(np.array(sheet), shape, titles, 8, signed, ax)


def deformed_templates(model: Any, X: Any, ax: Any = None) -> Any:
    """Every class's ideal image bent to fit each image of X, and the price: the lowest wins.

    `model` is a fitted `DeformableTemplateClassifier`; the first row shows its templates, each row
    below an image and all templates as they fit it best.

    Parameters
    ----------
    model : DeformableTemplateClassifier
        Fitted.
    X : array of shape (n, n_pixels)
        Images.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DeformableTemplateClassifier, data, plot
    >>> d = data.digits()
    >>> few = np.isin(d.y, (0, 1, 2))
    >>> model = DeformableTemplateClassifier((8, 8)).fit(d.X[few][:90], d.y[few][:90])
    >>> ax = plot.deformed_templates(model, d.X[few][90:92])
    """
    prices = require_fitted(model).energies(X)
    ideal = np.asarray(model.templates_, dtype=float)
    shape = ideal.shape[1], ideal.shape[2]
    sheet = [np.full(ideal[0].size, np.nan), *ideal.reshape(len(ideal), -1)]
    titles = ["", *(f"ideal {label}" for label in model.classes_)]
    bent = [model.deform(X, label).reshape(len(prices), -1) for label in model.classes_]
    for i, row in enumerate(np.asarray(X, dtype=float)):
        best = int(prices[i].argmin())
        sheet += [row, *(b[i] for b in bent)]
        titles += [
            "image",
            *(f"{p:.0f}{' ← best' if c == best else ''}" for c, p in enumerate(prices[i])),
        ]
    return images(np.array(sheet), shape, titles, 1 + len(ideal), ax=ax)


def deformation(model: Any, image: Any, label: Any = None, ax: Any = None) -> tuple[Any, ...]:
    """p + u(p): how the ideal image of a class is bent to fit one image, as a grid drawn on it.

    Left the image, in the middle the ideal image with the places where it is read, right what is
    read there. By default the class is the one that fits best. Gives the three axes.

    Parameters
    ----------
    model : DeformableTemplateClassifier
        Fitted.
    image : array
        One image, as the model takes it.
    label : object or None
        The class whose ideal image is bent; None takes the one that fits best.
    ax : three matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    three matplotlib Axes
        The image, the grid, and what is read there.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DeformableTemplateClassifier, data, plot
    >>> d = data.digits()
    >>> few = np.isin(d.y, (0, 1, 2))
    >>> model = DeformableTemplateClassifier((8, 8)).fit(d.X[few][:90], d.y[few][:90])
    >>> left, middle, right = plot.deformation(model, d.X[few][91])
    """
    row = np.asarray(image, dtype=float).reshape(1, -1)
    prices = require_fitted(model).energies(row)[0]
    c = int(prices.argmin()) if label is None else list(model.classes_).index(label)
    label, ideal = model.classes_[c], np.asarray(model.templates_[c], dtype=float)
    bent, u = model.deform(row, label)[0], model.displacements(row, label)[0]
    panels = row_of_axes(ax, 3, (2.6, 2.8))
    titles = ("image", f"ideal {label}, and where it is read", f"bent, price {prices[c]:.0f}")
    for panel, picture, title in zip(panels, (row.reshape(ideal.shape), ideal, bent), titles,
                                     strict=True):  # fmt: skip
        bare(panel, title).imshow(picture, cmap="gray_r")
        panel.title.set_size("medium")
    rows, columns = np.indices(ideal.shape) + u
    for x, y in (*zip(columns, rows, strict=True), *zip(columns.T, rows.T, strict=True)):
        panels[1].plot(x, y, color=color_of(1), linewidth=0.9, alpha=0.8)
    return panels
