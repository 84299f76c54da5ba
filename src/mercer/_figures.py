"""One look for all pictures: colors and marks that survive gray printing, and few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: The laboratory's colors: distinct to most people with a color deficiency, and by lightness.
COLORS = ("#1f5fa8", "#b4540a", "#17805f", "#a8497f", "#c08a00", "#5ba3d9", "#7f7f7f", "#8a7a1c")
#: A second sign beside the color: one mark per class.
MARKERS = "oDs^vP*X"
#: Boundaries, arrows and rings; things of lesser weight.
INK, QUIET = "#1b1c1e", "#8f9299"


def styled() -> Any:
    """A context in which figures are made with the library's look."""
    from matplotlib import style

    return style.context("mercer.plot.mercer")


def axes(ax: Any = None, size: tuple[float, float] = (5.0, 4.0), projection: Any = None) -> Any:
    """The given axes, or those of a new figure; `projection="3d"` for a picture in space."""
    if ax is None:
        return row_of_axes(None, 1, size, projection)[0]
    if projection == "3d" and getattr(ax, "name", "") != "3d":
        raise ValueError('this picture is drawn in space: its axes need projection="3d"')
    return ax


def row_of_axes(
    ax: Any,
    count: int,
    size: tuple[float, float] = (3.5, 3.2),
    *projections: Any,
    columns: int | None = None,
) -> tuple[Any, ...]:
    """The given axes, or a new figure with `count` of them, each of this size, row by row."""
    if ax is not None:
        every = tuple(np.ravel(ax))
        if len(every) != count:
            raise ValueError(f"this picture needs {count} axes, got {len(every)}")
        return every
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    columns = columns or count
    rows = -(-count // columns)
    kinds = (*projections, *[None] * (count - len(projections)))
    with styled(), plt.rc_context({"figure.max_open_warning": 0}):
        figure = plt.figure(figsize=(columns * size[0], rows * size[1]), layout="constrained")
        return tuple(
            figure.add_subplot(rows, columns, i + 1, projection=kinds[i]) for i in range(count)
        )


def few_ticks_in_space(ax: Any, zoom: float) -> Any:
    """Axes in space whose numbers do not crowd the picture; a larger zoom leaves less around it."""
    ax.set_box_aspect(None, zoom=zoom)
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize="x-small", pad=-1)
    return ax


def shades() -> Any:
    """Colors of a score: paper at 0, toward the first class below and the second above."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ends: Any = [[1 - 0.55 * (1 - c) for c in to_rgb(COLORS[i])] for i in (0, 1)]
    return LinearSegmentedColormap.from_list("score", [ends[0], "white", ends[1]])


def shaded(ax: Any, a: Any, b: Any, score: np.ndarray, scale: float | None = None) -> None:
    """f over the plane: the color of its sign, stronger where |f| is large, and none where f = 0.

    The line f = 0 is drawn where f passes it; where f only touches 0, its shade shows that.
    """
    size = scale or float(np.quantile(np.abs(score), 0.9)) or 1.0
    strength = np.sign(score) * np.sqrt(np.minimum(np.abs(score) / size, 1.0))
    ax.pcolormesh(a, b, strength, cmap=shades(), vmin=-1, vmax=1, shading="gouraud",
                  rasterized=True, zorder=0)  # fmt: skip
    level(ax, a, b, score, 0.0)


def level(ax: Any, a: Any, b: Any, score: Any, value: float, width: float = 1.4) -> None:
    """A level line where the score passes it, by more than rounding; dashed unless it is 0."""
    room = 1e-9 * float(np.abs(score).max())
    if score.min() < value - room and score.max() > value + room:
        style = "-" if value == 0 else "--"
        ax.contour(a, b, score, [value], colors=INK, linewidths=width, linestyles=style)


def as_circles(ax: Any, X: np.ndarray) -> None:
    """One scale for both axes, so that circles are round, where the columns are of one size."""
    low, high = X.min(axis=0), X.max(axis=0)
    if 0.2 < (high[0] - low[0]) / max(high[1] - low[1], 1e-300) < 5:
        ax.set_aspect("equal", adjustable="box")


def tidy(ax: Any, title: str = "", x: str = "", y: str = "") -> Any:
    """Title and labels where they are given."""
    if title:
        ax.set_title(title, family=["serif", "sans-serif"])
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    return ax


def bare(ax: Any, title: str = "") -> Any:
    """Axes without ticks and frame, for images and diagrams."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return tidy(ax, title)


def legend(ax: Any, **options: Any) -> None:
    """A legend that covers little, where anything has a label."""
    if ax.get_legend_handles_labels()[1]:
        look = {"loc": "best", "fontsize": "small", "framealpha": 0.85, "edgecolor": "0.85"}
        ax.legend(**{**look, **options})


def color_of(index: int) -> str:
    return COLORS[index % len(COLORS)]


def plane(X: Any, what: str, widths: Sequence[int] = (2,)) -> np.ndarray:
    """Rows as points of the plane (or the line), or an error that says so."""
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] not in widths:
        allowed = " or ".join(map(str, widths))
        raise ValueError(
            f"{what} draws in the plane: X must have {allowed} columns, got {points.shape}"
        )
    return points


def legend_below(ax: Any, ncols: int = 3) -> None:
    """A legend under the picture, where any spot inside would cover something."""
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=ncols, frameon=False)


def note(ax: Any, text: str, at: Any, shift: tuple[float, float] = (5, 5), **look: Any) -> None:
    """A word beside a point, with a white rim that keeps it readable over lines."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=3, foreground="white")]
    ax.annotate(
        text, at, shift, textcoords="offset points", fontweight="bold", path_effects=rim, zorder=6,
        **look,
    )  # fmt: skip


def short(value: float) -> str:
    """Three digits, and whole numbers from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def scatter(
    ax: Any, X: np.ndarray, y: Any, size: float = 0.0, labels: bool = True, classes: Any = None
) -> None:
    """Points by class, in two or three columns, with a legend where the classes are few.

    `classes` are those of a model, whose colors they have; by default those of `y`.
    """
    classes = np.unique(y) if classes is None or not np.isin(y, classes).all() else classes
    size = size or (70.0 if len(X) <= 12 else 26.0)
    for i, label in enumerate(classes):
        part = X[np.asarray(y) == label]
        if not len(part):
            continue
        ax.scatter(
            *part.T, s=size, c=color_of(i), marker=MARKERS[i % len(MARKERS)], edgecolors="white",
            linewidths=0.6, label=str(label) if labels else None, zorder=3,
        )  # fmt: skip
    if labels and len(classes) <= 10:
        legend(ax)


def rings(ax: Any, X: np.ndarray, label: str | None = None) -> None:
    """Circles around points, as for support vectors."""
    if len(X):
        ax.scatter(
            *X.T, s=95, facecolors="none", edgecolors=INK, linewidths=1.0, zorder=4, label=label,
            gid="rings",
        )  # fmt: skip


def arrow(ax: Any, begin: Any, end: Any, color: str = INK, label: str = "") -> None:
    """An arrow in data coordinates, its name at the tip."""
    ax.annotate(
        "", xy=end, xytext=begin, zorder=5,
        arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    if label:
        way = np.subtract(end, begin)
        x, y = 10 * way / max(float(np.linalg.norm(way)), 1e-12)
        note(ax, label, end, (x, y), color=color, ha="center", va="center")


def frame(X: np.ndarray, pad: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper limits of a picture of these rows."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = pad * np.maximum(high - low, 1e-9)
    return low - room, high + room


def mesh(X: np.ndarray, points: int, pad: float = 0.08) -> tuple[np.ndarray, ...]:
    """Two coordinate matrices around the rows, and the same points as rows."""
    low, high = frame(X, pad)
    a, b = np.meshgrid(*(np.linspace(low[i], high[i], points) for i in (0, 1)))
    return a, b, np.column_stack([a.ravel(), b.ravel()]).astype(X.dtype)


def require_fitted(model: Any) -> Any:
    """The model, or scikit-learn's NotFittedError in a sentence."""
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    return model
