"""Pictures of images: rows of pixels shown as what they are, near ones, turned ones, bent ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
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

Shape = tuple[int, int]


def image_shape(pixels: int, shape: Shape | None) -> Shape:
    """The given (height, width), or that of a square image."""
    if shape is None:
        side = math.isqrt(pixels)
        shape = (side, side)
    if shape[0] * shape[1] != pixels:
        raise ValueError(f"{pixels} pixels are no image of {shape[0]} × {shape[1]}: give its shape")
    return shape


def images(
    X: Any,
    shape: Shape | None = None,
    titles: Sequence[str] = (),
    columns: int | None = None,
    signed: Any = False,
    ax: Any = None,
) -> Any:
    """Rows of pixels as a sheet of images, dark ink on white.

    Parameters
    ----------
    X : array of shape (n, n_pixels) or (n, height, width)
        Images; a row of NaN leaves its field empty.
    shape : (height, width), optional
        By default a square.
    titles : list of str
        One short text per image.
    columns : int, optional
        By default as many as make the sheet about as wide as high.
    signed : bool, or one bool per image
        Blue for negative and red for positive pixels, as for tangents and weights.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> digits = data.digits()
    >>> ax = plot.images(digits.X[:10], titles=[str(d) for d in digits.y[:10]], columns=5)
    >>> len(ax.images)
    10
    """
    X = np.asarray(X, dtype=float)
    if X.ndim == 3:
        shape = X.shape[1], X.shape[2]
    X = X.reshape(len(X), -1)
    height, width = image_shape(X.shape[1], shape)
    columns = min(columns or math.ceil(math.sqrt(len(X) * height / width)), len(X))
    rows = math.ceil(len(X) / columns)
    lines = max((t.count("\n") + 1 for t in titles), default=0)
    aspect = height / width
    # One field is 1 wide; a line of text takes the height of 0.16 fields.
    step_x, step_y = 1.12, aspect + 0.12 + 0.17 * lines
    inch = 0.95 if columns < 8 else 0.85
    size = (max(inch * columns * step_x, 2.5), max(inch * rows * step_y, 1.2))
    ax = bare(axes(ax, size))
    both = np.broadcast_to(signed, len(X))
    for i, row in enumerate(X):
        x, y = i % columns * step_x, -(i // columns) * step_y
        reach = float(np.nanmax(np.abs(row), initial=0.0)) or 1.0
        if not np.isnan(row).all():
            ax.imshow(
                row.reshape(height, width), extent=(x, x + 1, y - aspect, y), aspect="equal",
                cmap="RdBu_r" if both[i] else "gray_r", vmin=-reach if both[i] else 0.0, vmax=reach,
            )  # fmt: skip
        if i < len(titles) and titles[i]:
            ax.text(x + 0.5, y + 0.03, titles[i], ha="center", va="bottom", fontsize="small")
    ax.set_xlim(-0.06, columns * step_x - 0.06)
    ax.set_ylim(-(rows - 1) * step_y - aspect - 0.06, 0.17 * lines + 0.06)
    return ax


def neighbor_images(
    model: Any, X: Any, y: Any, queries: Any, shape: Shape | None = None, ax: Any = None
) -> Any:
    """Each query image and the training images nearest to it, with their classes and distances.

    `model` is a fitted `KernelNeighborsClassifier`, X and y its training set; one row per query.

    Parameters
    ----------
    model : KernelNeighborsClassifier
        Fitted.
    X : array of shape (n, n_pixels)
        Its training images.
    y : array of shape (n,)
        Their classes.
    queries : array of shape (m, n_pixels)
        Images whose neighbors are shown.
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
    >>> from mercer import KernelNeighborsClassifier, data, plot
    >>> d = data.digits()
    >>> model = KernelNeighborsClassifier("linear()", n_neighbors=4).fit(d.X[:300], d.y[:300])
    >>> ax = plot.neighbor_images(model, d.X[:300], d.y[:300], d.X[300:302])
    """
    queries = np.atleast_2d(np.asarray(queries, dtype=float))
    far, index = require_fitted(model).kneighbors(queries)
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    shown, titles = [], []
    for i, query in enumerate(queries):
        shown += [query, *X[index[i]]]
        titles += [
            "query",
            *(f"{y[j]}, d = {d:.2f}" for j, d in zip(index[i], far[i], strict=True)),
        ]
    return images(np.array(shown), shape, titles, 1 + index.shape[1], ax=ax)


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
    return tidy(ax, f"one image turned, in ℝ{_raised(len(flat))}", "first direction", "second")


def _plane_of(curve: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Two orthonormal directions in which a closed curve shows its first two harmonics.

    The first alone is a circle for every image, and the second, often the widest, runs around
    twice; with a third of the second the curve is simple and still has a shape of its own.
    """
    waves = np.exp(1j * np.outer([1, 2], angles)) @ curve
    first, second = np.linalg.norm(waves, axis=1) + 1e-300
    both = waves[0] / first + 0.35 * first / second * waves[1] / second
    return np.linalg.qr(np.column_stack([both.real, both.imag]))[0].T


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


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


def support_images(
    model: Any, shape: Shape | None = None, most: int = 12, output: int = 0, ax: Any = None
) -> Any:
    """αᵢ and xᵢ: the images a fitted machine keeps, those with the largest |αᵢ| first.

    Parameters
    ----------
    model : KernelSVC, KernelPerceptron or the like
        Fitted on rows of pixels.
    shape : (height, width) or None
        Of an image; None takes a square.
    most : int, default 12
        Images to show.
    output : int, default 0
        Which of several outputs.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelSVC, data, plot
    >>> d = data.digits()
    >>> pair = d.y < 2
    >>> ax = plot.support_images(KernelSVC("gaussian(2)").fit(d.X[pair], d.y[pair]), most=6)
    """
    f = require_fitted(model).expansion_
    coef = np.asarray(f.coef, dtype=float)
    coef = coef if coef.ndim == 1 else coef[:, output]
    order = np.argsort(-np.abs(coef), kind="stable")[:most]
    titles = [f"α = {coef[i]:+.3g}" for i in order]
    ax = images(np.asarray(f.points)[order], shape, titles, min(6, len(order)), ax=ax)
    ax.set_title(f"{len(order)} of {len(coef)} support vectors")
    return ax
