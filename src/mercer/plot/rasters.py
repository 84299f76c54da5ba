"""Pictures of images: rows of pixels shown as what they are, alone and beside near ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import axes, bare, color_of, legend, require_fitted, tidy

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
    """Draw rows of pixels as a sheet of images, dark ink on white.

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
    return tidy(ax, f"{len(order)} of {len(coef)} support vectors")


# --- Pictures of drawn characters: skeletons with their joints, and strokes in their order --------


def landmarks(skeleton: Any, reach: int = 2) -> dict[str, np.ndarray]:
    """Ends, joints of three lines and joints of four or more of a skeleton: (row, column) each.

    Pixels with more than two neighbors that lie within `reach` of each other are one joint; its
    lines are the parts of the skeleton that leave its surroundings, as in `GlyphFeatures`.
    """
    from scipy.ndimage import binary_dilation, convolve, label

    lines = np.pad(np.asarray(skeleton, dtype=bool), reach + 1)
    ring = np.ones((3, 3), dtype=int)
    beside = convolve(lines.astype(int), ring) - 1
    disc = np.hypot(*np.mgrid[-reach : reach + 1, -reach : reach + 1]) <= reach
    around, count = label(binary_dilation(lines & (beside > 2), disc), ring)
    found: dict[str, list[Any]] = {"ends": [], "joints of 3": [], "joints of 4": []}
    found["ends"] = list(np.argwhere(lines & (beside == 1)))
    for joint in range(1, count + 1):
        rim = binary_dilation(around == joint, ring) & lines & (around == 0)
        arms = label(rim, ring)[1]
        if arms > 2:
            center = np.argwhere((around == joint) & lines).mean(axis=0)
            found["joints of 3" if arms == 3 else "joints of 4"].append(center)
    return {k: np.reshape(v, (-1, 2)).astype(float) - reach - 1 for k, v in found.items()}


def glyph(image: Any, shape: Shape | None = None, ax: Any = None) -> Any:
    """Loops, joints and ends of a drawn character, on its skeleton: the features of a naive OCR.

    The table of G. Gordon and A. Smola counts them; `GlyphFeatures` computes them.

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
    >>> ax = plot.glyph(data.glyphs()[0][8])
    """
    from scipy.ndimage import label

    from mercer.maps import GlyphFeatures

    flat = np.asarray(image, dtype=float).reshape(1, -1)
    shape = image_shape(flat.shape[1], shape)
    features = GlyphFeatures(shape).fit(flat)
    skeleton = features.skeleton(flat)[0]
    ax = bare(axes(ax, (3.2, 3.4)))
    picture = flat.reshape(shape)
    ax.imshow(picture, cmap="gray_r", vmin=0, vmax=2.5 * picture.max())
    white = np.pad(picture <= (picture.min() + picture.max()) / 2, 1, constant_values=True)
    regions, _ = label(white)
    inside = ((regions > 0) & (regions != regions[0, 0]))[1:-1, 1:-1]
    if inside.any():
        tint = np.where(inside[..., None], (0.34, 0.71, 0.91, 0.55), 0.0)
        ax.imshow(tint)
        ax.plot([], [], "s", color=color_of(5), alpha=0.55, label="loop")
    rows, columns = np.nonzero(skeleton)
    ax.plot(columns, rows, "s", color=color_of(0), markersize=2.2, label="skeleton")
    marks = {"ends": ("o", 2), "joints of 3": ("^", 1), "joints of 4": ("D", 3)}
    for name, points in landmarks(skeleton, max(2, round(max(shape) / 12))).items():
        if len(points):
            marker, color = marks[name]
            ax.plot(points[:, 1], points[:, 0], marker, color=color_of(color), markersize=8,
                    markeredgecolor="white", label=name)  # fmt: skip
    numbers = features.transform(flat)[0]
    loops, threes, fours, angles, ink = numbers[:5]
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize="x-small")
    words = f"loops {loops:g}, joints {threes:g} + {fours:g},\nangles {angles:g}, ink {ink:.1f}"
    return tidy(ax, words)


def strokes(paths: Sequence[Any], ax: Any = None, title: str = "") -> Any:
    """Pen strokes in their order: numbered at the start, with an arrow at the end.

    `paths` are polylines of (x, y), y downwards, as `data.stroke_paths` gives them.

    Parameters
    ----------
    paths : list of array of shape (n, 2)
        Lines of (x, y), y downwards, as `data.stroke_paths` gives them.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    title : str, default ""
        Above the picture.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> ax = plot.strokes(data.stroke_paths("口"))
    >>> len(ax.lines)
    3
    """
    ax = bare(axes(ax, (2.6, 2.8)), title)
    for i, path in enumerate(paths):
        points = np.asarray(path, dtype=float)
        color = color_of(i)
        ax.plot(*points.T, color=color, linewidth=4, solid_capstyle="round", alpha=0.75)
        ax.annotate("", points[-1], points[-2], arrowprops={"arrowstyle": "-|>", "color": color,
                    "lw": 0, "mutation_scale": 22})  # fmt: skip
        # Inside the stroke, because strokes often begin where another one does.
        start = points[0] + 0.14 * (points[1] - points[0])
        spot = {"boxstyle": "circle,pad=0.2", "facecolor": color, "edgecolor": "white"}
        ax.text(*start, f"{i + 1}", color="white", ha="center", va="center", size=9, bbox=spot)
    ax.margins(0.14)
    ax.set_aspect("equal")
    ax.invert_yaxis()
    return ax
