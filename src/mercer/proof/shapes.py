"""Sets of points worth trying: small and plain ones first, so that counterexamples read well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

#: Powers of two keep the coordinates short; 1 comes first, since integers read best.
SCALES = tuple(2.0**e for e in (0, -1, 1, -2, 2, -3, 3, -4, 4, -6, 6, -9, 9))


def _padded(points: np.ndarray, n_features: int) -> np.ndarray:
    out = np.zeros((len(points), n_features))
    out[:, : points.shape[1]] = points
    return out


def line(n_features: int) -> np.ndarray:
    """Integers on the first axis; 1, 2, 3 come first, the origin and both signs are there."""
    steps = np.array([1, 2, 3, 4, 5, 6, 7, 8, 0, -1, -2, -4], dtype=float)
    return _padded(steps[:, None], n_features)


def diagonal(n_features: int) -> np.ndarray:
    """Multiples of (1, …, 1): what a product or a sum over columns sees all at once."""
    steps = np.array([1, 2, 3, 4, 5, 6, 0, -1, -2], dtype=float)
    return np.repeat(steps[:, None], n_features, axis=1)


def long_line(n_features: int) -> np.ndarray:
    """24 equispaced points: shallow dips of a spectrum need a long run of signs."""
    return _padded(np.arange(24.0)[:, None], n_features)


def grid(n_features: int) -> np.ndarray:
    """{−2, …, 2}² in the first two columns."""
    return _padded(np.array(list(product((0, 1, -1, 2, -2), repeat=2)), float), n_features)


def cube(n_features: int) -> np.ndarray:
    """{−1, 0, 1}³ in the first three columns: holds the K₂,₃ metric that ℓ∞ is undone by."""
    return _padded(np.array(list(product((0, 1, -1), repeat=3)), float), n_features)


def corners(n_features: int) -> np.ndarray:
    """The origin, ±eᵢ (cross-polytope), (1, …, 1), and the corners of a cube."""
    d = min(n_features, 8)
    units = np.eye(d)
    signs = np.array(list(product((1.0, -1.0), repeat=min(d, 3))))
    blocks = [np.zeros((1, d)), units, -units, np.ones((1, d)), _padded(signs, d)]
    return _padded(np.unique(np.concatenate(blocks) + 0.0, axis=0)[::-1], n_features)


def circle(n_features: int) -> np.ndarray:
    """12 points on the unit circle, rounded to short numbers."""
    angle = np.arange(12) * (np.pi / 6)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _padded(np.round(points * 1024) / 1024 + 0.0, n_features)


def mixed(n_features: int) -> np.ndarray:
    """1, 2, 3 on the first axis, then points off all axes: where an asymmetry can show."""
    rng = np.random.default_rng(0)
    oblique = np.round(4 * rng.standard_normal((5, n_features))) / 2
    return np.concatenate([line(n_features)[:3], oblique])


#: (name, the fewest columns it makes sense in, the points)
SHAPES: tuple[tuple[str, int, Callable[[int], np.ndarray]], ...] = (
    ("lines", 1, line),
    ("grids", 2, grid),
    ("cubes", 3, cube),
    ("corners", 2, corners),
    ("diagonals", 2, diagonal),
    ("long lines", 1, long_line),
    ("circles", 2, circle),
)


def clouds(n_features: int, scales: tuple[float, ...], seed: int) -> Iterator[np.ndarray]:
    """Random sets without end: Gaussian, uniform, and heavy-tailed, at changing scales."""
    rng = np.random.default_rng(seed)
    size = (16, n_features)
    while True:
        for draw in (
            rng.standard_normal(size),
            rng.uniform(-1, 1, size),
            rng.standard_normal(size) * np.exp2(rng.integers(-3, 4, (16, 1))),
        ):
            scale = scales[rng.integers(len(scales))]
            # few binary digits: see confirm._short
            yield np.round(draw * 256) / 256 * scale
