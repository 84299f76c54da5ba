"""A letter in five numbers: Gordon and Smola's naive character reader, from real images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._parameters import Count, Maybe, Number, Pair
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap

NAMES = ("loops", "3-joints", "4-joints", "angles", "ink")


@estimator
class GlyphFeatures(FeatureMap):
    """x ↦ (loops, joints of 3 lines, joints of 4, sharp angles, ink) of the drawing in image x.

    A loop is a white region that ink encloses. Joints and angles are those of the skeleton, lines
    of one pixel that Zhang and Suen's thinning leaves of the strokes. Ink is the length of these
    lines in units of the drawing's height, so that neither the pen nor the size matters.

    Parameters
    ----------
    shape : (height, width) or None
        Of an image; None takes a square.
    threshold : float
        What counts as ink: pixels above this share of the way from the image's smallest to its
        largest value.
    angle : float
        Degrees by which a line must turn to have an angle there.

    Attributes
    ----------
    n_features_in_ : int
        Pixels of an image.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import GlyphFeatures
    >>> six = np.zeros((16, 12))
    >>> six[2:14, 2:4] = six[7:9, 2:10] = six[12:14, 2:10] = six[7:14, 8:10] = 1
    >>> features = GlyphFeatures((16, 12)).fit_transform(six.reshape(1, -1))
    >>> features[0, :3]  # one loop, one joint of three lines
    array([1., 1., 0.])
    """

    shape: Any = parameter(Maybe(Pair(Count())), default=None)
    threshold: float = parameter(Number(0, 1, open_low=True, open_high=True), default=0.5)
    angle: float = parameter(Number(0, 180, open_low=True, open_high=True), default=60.0)

    def _fit(self, X: Any) -> None:
        height, width = (1, X.shape[1]) if self.shape is None else self.shape
        if height * width != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, which are no {height} × {width} images")
        self._shape = (height, width)

    def _ink(self, X: Any) -> NDArray[Any]:
        """Pixels with ink, with a white border."""
        low, high = X.min(axis=1, keepdims=True), X.max(axis=1, keepdims=True)
        ink = (low + self.threshold * (high - low) < X) & (low < high)
        return np.pad(ink.reshape(-1, *self._shape), ((0, 0), (2, 2), (2, 2)))

    def _transform(self, X: Any) -> NDArray[Any]:
        ink = self._ink(X)
        out = np.zeros((len(X), len(NAMES)))
        out[:, 0] = loops(ink)
        self._describe(ink, out[:, 1:])
        return out.astype(X.dtype, copy=False)

    def _describe(self, ink: NDArray[Any], out: NDArray[Any]) -> None:
        """Count joints and angles and measure lines; of the ink its skeleton remains."""
        from mercer.maps.drawings.strokes import describe

        # Spurs and joints are judged by the size of the drawing area: 28 pixels give 3 and 2.
        size, pixels = max(self._shape), ink[:1].size
        spur, reach, least = max(2, round(size / 9)), max(2, round(size / 12)), self.angle
        masks, lists = np.empty((3, *ink.shape[1:]), np.bool_), np.empty((2, pixels, 2), np.int64)
        describe(ink, spur, reach, math.radians(least), masks, lists, np.empty(pixels), out)

    def skeleton(self, X: Any) -> NDArray[Any]:
        """The thinned and pruned strokes of each image, for looking at: (n, height, width)."""
        check_is_fitted(self)
        ink = self._ink(self._rows(X, reset=False))
        self._describe(ink, np.empty((len(ink), len(NAMES) - 1)))
        return ink[:, 2:-2, 2:-2]

    def strokes(self, X: Any) -> list[list[NDArray[Any]]]:
        """The lines that each drawing is made of, as `plot.strokes` draws them: (x, y), y downward.

        A line goes straight on over a crossing and ends where no line continues it; each runs from
        its upper (or left) end, and they are listed from top to bottom.

        >>> from mercer import data
        >>> from mercer.maps import GlyphFeatures
        >>> X, y = data.glyphs(10)
        >>> [len(GlyphFeatures((40, 40)).fit(X).strokes(X[i:i + 1])[0]) for i in (0, 1, 4)]
        [1, 1, 2]
        """
        return [traced(lines) for lines in self.skeleton(X)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Loops, 3-joints, 4-joints, angles, ink."""
        check_is_fitted(self, "n_features_in_")
        return np.asarray(NAMES, dtype=object)


def loops(ink: NDArray[Any], smallest: int = 2) -> NDArray[Any]:
    """White regions that ink encloses, of `smallest` pixels at least; n × height × width in."""
    from scipy.ndimage import label

    # All images at once: white pixels touch along edges, and never those of another image.
    touching = np.zeros((3, 3, 3), dtype=int)
    touching[1] = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    regions, holes = label(~ink, structure=touching)
    sizes = np.bincount(regions.ravel(), minlength=holes + 1)
    image_of = np.zeros(holes + 1, dtype=int)
    image_of[regions] = np.arange(len(ink))[:, None, None]
    outside = np.zeros(holes + 1, dtype=bool)
    outside[regions[:, 0, 0]] = outside[0] = True
    return np.bincount(image_of[~outside & (sizes >= smallest)], minlength=len(ink))


def traced(skeleton: NDArray[Any]) -> list[NDArray[Any]]:
    """The lines of a skeleton, joined where one goes on in the direction of another."""
    ink = {(int(x), int(y)) for y, x in np.argwhere(skeleton)}
    around = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]

    def beside(p: Any) -> list[Any]:
        near = [(p[0] + dx, p[1] + dy) for dx, dy in around]
        near = [q for q in near if q in ink]
        # A step to a corner is no step of its own where a step to the side leads there, too.
        straight = {q for q in near if q[0] == p[0] or q[1] == p[1]}
        return [q for q in near if q in straight or not {(q[0], p[1]), (p[0], q[1])} & straight]

    left = {frozenset((p, q)) for p in ink for q in beside(p)}

    def follow(p: Any, q: Any) -> list[Any]:
        path = [p, q]
        left.discard(frozenset((p, q)))
        while True:
            back = path[max(len(path) - 6, 0)]
            way = np.subtract(path[-1], back)
            ahead = [q for q in beside(path[-1]) if frozenset((path[-1], q)) in left]
            fits = [float(way @ np.subtract(q, path[-1])) for q in ahead]
            if not ahead or (len(beside(path[-1])) > 2 and max(fits) <= 0.7 * np.hypot(*way)):
                return path
            path.append(ahead[int(np.argmax(fits))])
            left.discard(frozenset(path[-2:]))

    paths = []
    ends = sorted(ink, key=lambda p: (len(beside(p)) != 1, p[1], p[0]))
    for p in ends:
        for q in beside(p):
            if frozenset((p, q)) in left:
                path = np.array(follow(p, q), dtype=float)
                upside = (path[-1][1], path[-1][0]) < (path[0][1], path[0][0])
                paths.append(path[::-1] if upside else path)
    paths = [path for path in paths if len(path) > 3]
    return sorted(paths, key=lambda path: (path[0][1], path[0][0]))
