"""Pictures of drawn characters: skeletons with their joints, and strokes in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import axes, bare, color_of, legend, tidy
from mercer.plot.rasters import Shape, image_shape


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
