"""Pictures of feature maps: points before and after, with what separates them in both spaces."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from mercer._figures import (
    INK,
    QUIET,
    axes,
    color_of,
    few_ticks_in_space,
    frame,
    mesh,
    plane,
    row_of_axes,
    scatter,
    tidy,
)
from mercer.plot.models import decision_regions
from mercer.theory import separability


class LinearInFeatures:
    """sign(w·φ(x) + b): the widest separator of φ(x), as a classifier of x; pictures draw it.

    `found` is False where no plane separates the classes in φ-space.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The examples.
    y : array of shape (n,)
        Two classes.
    feature_map : transformer or callable
        Makes φ(x) of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import data, plot
    >>> X, y = data.circles(40)
    >>> plot.LinearInFeatures(X, y, np.square).found
    True
    """

    def __init__(self, X: Any, y: Any, feature_map: Any) -> None:
        X = np.asarray(X, dtype=float)
        if hasattr(feature_map, "transform"):
            feature_map = feature_map.fit(X).transform
        self.map, self.classes_ = feature_map, np.unique(y)
        self.features: np.ndarray = self.phi(X)
        self.found: bool = False
        if len(self.classes_) == 2:
            result = separability("linear()", self.features, y, fit_intercept=True)
            self.found = bool(result)
            if result.separator is not None:
                self.w: np.ndarray = np.asarray(result.separator.primal(), dtype=float)
                self.b: float = float(result.separator.intercept)

    def phi(self, X: Any) -> np.ndarray:
        mapped = np.asarray(self.map(np.asarray(X, dtype=float)), dtype=float)
        return mapped[:, None] if mapped.ndim == 1 else mapped

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(self.phi(X) @ self.w + self.b)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])


def feature_space(
    X: Any,
    y: Any,
    feature_map: Any,
    ax: Any = None,
    separator: Any = None,
    surface: bool = True,
    labels: bool = True,
) -> Any:
    """φ(x) with the widest plane w·φ + b = 0 between two classes: the data lifted.

    One or two features are drawn flat, three in space; of more, the first three without a plane.
    The line or the surface that all inputs are mapped to is drawn faintly.

    Parameters
    ----------
    X : array of shape (n, 1) or (n, 2)
        Examples on a line or in the plane.
    y : array of shape (n,)
        Two classes.
    feature_map : transformer or callable
        Makes φ(x) of rows.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    separator : LinearInFeatures, optional
        Drawn instead of the one found here.
    surface : bool, default True
        Whether to draw where the whole line or plane of inputs goes.
    labels : bool, default True
        Whether to name the classes.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import data, plot
    >>> from mercer.maps import PolynomialMap
    >>> ax = plot.feature_space(*data.xor(), PolynomialMap(2))
    >>> ax.name
    '3d'
    """
    X = plane(X, "feature_space", (1, 2, 3))
    model = LinearInFeatures(X, y, feature_map) if separator is None else separator
    phi = model.features
    if phi.shape[1] == 1:
        phi = np.column_stack([phi, np.zeros(len(phi))])
    if phi.shape[1] > 2:
        return _in_space(model, X, y, phi, axes(ax, (4.6, 4.2), "3d"), surface, labels)
    ax = axes(ax)
    if X.shape[1] == 1 and surface:
        low, high = frame(X, 0.12)
        ax.plot(*model.phi(np.linspace(low, high, 200)).T, color=QUIET, linewidth=1, zorder=1)
    low, high = frame(phi, 0.12)
    if model.found and model.features.shape[1] == 2:
        straight_line(ax, model.w, model.b, low, high)
    elif model.found:
        ax.axvline(-model.b / model.w[0], color=INK)
    scatter(ax, phi, y, labels=labels)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return tidy(ax, "feature space", "φ₁", "φ₂")


def straight_line(ax: Any, w: np.ndarray, b: float, low: Any, high: Any, **look: Any) -> None:
    """The line w·x + b = 0, clipped by the frame."""
    point = -b * w / (w @ w)
    way = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    reach = 2 * float(np.linalg.norm(np.subtract(high, low))) + float(np.linalg.norm(point))
    ends = np.array([point - reach * way, point + reach * way])
    ax.plot(*ends.T, **{"color": INK, "linewidth": 1.4, "scalex": False, "scaley": False, **look})


def _in_space(
    model: Any, X: Any, y: Any, phi: np.ndarray, ax: Any, surface: bool, labels: bool
) -> Any:
    if surface and X.shape[1] == 2 and model.features.shape[1] == 3:
        a, _, grid = mesh(X, 25, 0.05)
        sheet = model.phi(grid).T.reshape(3, *a.shape)
        ax.plot_wireframe(*sheet, color=QUIET, linewidth=0.4, alpha=0.5, rcount=13, ccount=13)
    if model.found and model.features.shape[1] == 3:
        plane_in_space(ax, model.w, model.b, *frame(phi[:, :3], 0.1))
    scatter(ax, phi[:, :3], y, 34.0, labels)
    ax.set(xlabel="φ₁", ylabel="φ₂", zlabel="φ₃")
    tidy(ax, "feature space")
    return few_ticks_in_space(ax, 0.82)


def plane_in_space(
    ax: Any, w: np.ndarray, b: float, low: Any, high: Any, alpha: float = 0.45
) -> None:
    """The part of w·φ + b = 0 inside a box: a polygon between the points where it cuts edges."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    corners = np.array(list(product(*zip(low, high, strict=True))))
    cuts = []
    for begin, end in combinations(corners, 2):
        if np.count_nonzero(begin != end) == 1:  # an edge of the box
            f, g = w @ begin + b, w @ end + b
            if f * g < 0:
                cuts.append(begin + f / (f - g) * (end - begin))
    if len(cuts) < 3:
        return
    middle = np.mean(cuts, axis=0)
    first = (cuts[0] - middle) / np.linalg.norm(cuts[0] - middle)
    second = np.cross(w, first)
    cuts.sort(key=lambda at: np.arctan2(second @ (at - middle), first @ (at - middle)))
    ax.add_collection3d(Poly3DCollection([cuts], facecolors=color_of(2), alpha=alpha, linewidths=0))


def before_and_after(X: Any, y: Any, feature_map: Any, ax: Any = None) -> tuple[Any, Any]:
    """Linear in φ-space, curved in the input: both spaces, each with the same boundary.

    Left the data (one or two columns) with {x : w·φ(x) + b = 0}, right `feature_space`. Gives both
    axes; given ones need projection="3d" on the right for three features.

    Parameters
    ----------
    X : array of shape (n, 1) or (n, 2)
        Examples on a line or in the plane.
    y : array of shape (n,)
        Two classes.
    feature_map : transformer or callable
        Makes φ(x) of rows.
    ax : pair of matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    pair of matplotlib Axes
        The input space and the feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import data, plot
    >>> left, right = plot.before_and_after(*data.hard_line(), lambda x: np.hstack([x, x**2]))
    """
    from mercer.plot.models import points

    X = plane(X, "before_and_after", (1, 2))
    model = LinearInFeatures(X, y, feature_map)
    kind = "3d" if model.features.shape[1] > 2 else None
    left, right = row_of_axes(ax, 2, (3.5, 3.3), None, kind)
    if model.found:
        decision_regions(model, X, y, left)
    else:
        points(X, y, left)
    tidy(left, "input space")
    feature_space(X, y, feature_map, right, model, labels=False)
    return left, right
