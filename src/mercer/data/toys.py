"""Small data sets that are made, not loaded: the pictures of the lectures, and a few more.

Each gives (X, y) and is the same for the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(random_state)


def _check(n: int, noise: float) -> None:
    if int(n) != n or n < 2:
        raise ValueError(f"n must be a whole number ≥ 2, got {n!r}")
    if not noise >= 0:
        raise ValueError(f"noise must be ≥ 0, got {noise!r}")


def xor(n: int = 4, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Lecture 000's four points (1,1), (−1,1), (−1,−1), (1,−1) with labels +, −, +, −.

    More than four repeat them in turn, with Gaussian noise.

    >>> from mercer import data
    >>> data.xor()[1]
    array([ 1, -1,  1, -1])
    """
    _check(n, noise)
    corners = np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    at = np.arange(n) % 4
    X = corners[at] + noise * _generator(random_state).normal(size=(n, 2))
    return X, np.where(at % 2, -1, 1)


def spirals(n: int = 200, noise: float = 0.0, turns: float = 2.0, random_state: Any = 0) -> Pair:
    """Lecture 002's two interlocking spirals: φ = ωr, the second one half a turn behind.

    In the lecture's coordinates, (x₁, x₂) = (r sin φ, r cos φ).
    """
    _check(n, noise)
    rng = _generator(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    r = np.sqrt(rng.uniform(0.02, 1.0, n))
    phi = 2 * math.pi * turns * r + np.where(y > 0, 0.0, math.pi)
    X = np.column_stack([r * np.sin(phi), r * np.cos(phi)])
    return X + noise * rng.normal(size=X.shape), y


def circles(n: int = 200, noise: float = 0.05, factor: float = 0.5, random_state: Any = 0) -> Pair:
    """A circle around another one: separable by x₁² + x₂² (lecture 001)."""
    _check(n, noise)
    rng = _generator(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    angle = rng.uniform(0, 2 * math.pi, n)
    r = np.where(y > 0, factor, 1.0)
    X = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    return X + noise * rng.normal(size=X.shape), y


def moons(n: int = 200, noise: float = 0.1, random_state: Any = 0) -> Pair:
    """Two half circles that reach into each other."""
    _check(n, noise)
    rng = _generator(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    t = rng.uniform(0, math.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[y < 0] = np.array([1.0, 0.5]) - X[y < 0]
    return X + noise * rng.normal(size=X.shape), y


def checkerboard(n: int = 400, squares: int = 4, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Squares of alternating class."""
    _check(n, noise)
    if int(squares) != squares or squares < 2:
        raise ValueError(f"squares must be a whole number ≥ 2, got {squares!r}")
    rng = _generator(random_state)
    X = rng.uniform(0, squares, (n, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2, -1, 1)
    return X + noise * rng.normal(size=X.shape), y


def linear_noise(n: int = 100, noise: float = 1.0, random_state: Any = 0) -> Pair:
    """Lecture 001's first demonstration: y = x + noise on [0, 10]."""
    _check(n, noise)
    rng = _generator(random_state)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, None], x + noise * rng.normal(size=n)


def sine_linear_noise(n: int = 100, noise: float = 0.5, random_state: Any = 0) -> Pair:
    """Lecture 001's second demonstration: y = x/2 + 2 sin x + noise on [0, 10]."""
    _check(n, noise)
    rng = _generator(random_state)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, None], x / 2 + 2 * np.sin(x) + noise * rng.normal(size=n)


def pure_noise(n: int = 100, noise: float = 1.0, random_state: Any = 0) -> Pair:
    """Lecture 001's third demonstration: y has nothing to do with x."""
    _check(n, noise)
    rng = _generator(random_state)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, None], noise * rng.normal(size=n)


TOYS: dict[str, Callable[..., Pair]] = {
    "xor": xor,
    "spirals": spirals,
    "circles": circles,
    "moons": moons,
    "checkerboard": checkerboard,
    "linear_noise": linear_noise,
    "sine_linear_noise": sine_linear_noise,
    "pure_noise": pure_noise,
}
