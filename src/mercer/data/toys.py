"""Small data sets that are made, not loaded: the pictures of the lectures, and a few more.

Each gives a pair, ``X, y = data.moons()`` or ``data.moons().X``, and is the same for the same seed.
Nothing is scaled; pixels of images are made in [0, 1]. The lectures: "Kernels and Kernelized
Perceptron" (A. Ritter, 000), "Lecture 09: Kernel Methods" (J. Abernethy, 001), "Perceptron and
Kernels" (G. Gordon and A. Smola, 002) and "Kernel Methods" (D. Klein, 003).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.dataset import Pair
from mercer.data.object_toys import SIZE, check_size, glyphs, mail, strokes


def xor(n: int = 4, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Give Ritter's four points (1,1), (−1,1), (−1,−1), (1,−1) with labels +, −, +, −.

    More than four repeat them in turn, with Gaussian noise.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.0
        Standard deviation by which further points are moved.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> data.xor()[1]
    array([ 1, -1,  1, -1])
    """
    check_size(n, noise)
    corners = np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]])
    at = np.arange(n) % 4
    X = corners[at] + noise * np.random.default_rng(random_state).normal(size=(n, 2))
    return Pair(X, np.where(at % 2, -1, 1))


def spirals(n: int = 200, noise: float = 0.0, turns: float = 2.0, random_state: Any = 0) -> Pair:
    """Gordon and Smola's two interlocking spirals: φ = ωr, the second one half a turn behind.

    In the lecture's coordinates, (x₁, x₂) = (r sin φ, r cos φ). ω = 2π·turns, so
    ``PolarMap(winding=2 * math.pi * turns)`` straightens the arms: 4π for the default.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.0
        How far points leave their arm.
    turns : float, default 2.0
        How often an arm goes around.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.spirals(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [-1, 1])
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    r = np.sqrt(rng.uniform(0.02, 1.0, n))
    phi = 2 * math.pi * turns * r + np.where(y > 0, 0.0, math.pi)
    X = np.column_stack([r * np.sin(phi), r * np.cos(phi)])
    return Pair(X + noise * rng.normal(size=X.shape), y)


def circles(n: int = 200, noise: float = 0.05, factor: float = 0.5, random_state: Any = 0) -> Pair:
    """A circle around another one: separable by x₁² + x₂² (Abernethy).

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.05
        How far points leave their circle.
    factor : float, default 0.5
        Radius of the inner circle over that of the outer one.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.circles(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [-1, 1])
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    angle = rng.uniform(0, 2 * math.pi, n)
    r = np.where(y > 0, factor, 1.0)
    X = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    return Pair(X + noise * rng.normal(size=X.shape), y)


def moons(n: int = 200, noise: float = 0.1, random_state: Any = 0) -> Pair:
    """Two half circles that reach into each other.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.1
        How far points leave their half circle.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.moons(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [-1, 1])
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    y = np.where(np.arange(n) % 2, -1, 1)
    t = rng.uniform(0, math.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[y < 0] = np.array([1.0, 0.5]) - X[y < 0]
    return Pair(X + noise * rng.normal(size=X.shape), y)


def checkerboard(n: int = 400, squares: int = 4, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Draw squares of alternating class.

    Parameters
    ----------
    n : int
        Number of examples.
    squares : int, default 4
        Along one side.
    noise : float, default 0.0
        How far points are moved after their class was decided.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.checkerboard(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [-1, 1])
    """
    check_size(n, noise)
    if int(squares) != squares or squares < 2:
        raise ValueError(f"squares must be a whole number ≥ 2, got {squares!r}")
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, squares, (n, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2, -1, 1)
    return Pair(X + noise * rng.normal(size=X.shape), y)


def blobs(
    n: int = 60, noise: float = 0.35, classes: int = 2, distance: float = 2.0, random_state: Any = 0
) -> Pair:
    """Round clouds, one per class; `distance` between neighbors: 2 separates them, 0.8 does not.

    Two classes are labeled −1 and 1, more 0, 1, 2, …

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.35
        Spread of a cloud.
    classes : int, default 2
        Number of clouds.
    distance : float, default 2.0
        Between neighboring clouds.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data, theory
    >>> [bool(theory.separability("linear()", *data.blobs(distance=d), True)) for d in (2, 0.8)]
    [True, False]
    """
    check_size(n, noise)
    if int(classes) != classes or classes < 2:
        raise ValueError(f"classes must be a whole number ≥ 2, got {classes!r}")
    index = np.arange(n) % classes
    angle = 2 * math.pi * np.arange(classes) / classes + math.pi / 6
    ring = distance / (2 * math.sin(math.pi / classes))
    centers = ring * np.column_stack([np.cos(angle), np.sin(angle)])
    X = centers[index] + noise * np.random.default_rng(random_state).normal(size=(n, 2))
    return Pair(X, 1 - 2 * index if classes == 2 else index)


def clicks(n: int = 200, noise: float = 1.0, random_state: Any = 0) -> Pair:
    """Draw who clicked on a link: (place on the page, match with the question) ↦ 1 or 0.

    P(click) = σ(⟨w, x⟩ + b), the neuron of Gordon and Smola: links far up that match are clicked.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 1.0
        How random a click is: 0 decides by the sign of ⟨w, x⟩ + b alone.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.clicks(50)
    >>> X.shape, sorted(set(y.tolist()))
    ((50, 2), [0, 1])
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    X = np.column_stack([rng.integers(1, 11, n), rng.uniform(0, 1, n)]).astype(float)
    odds = 8 * X[:, 1] - 0.6 * X[:, 0] - 1
    return Pair(X, (odds + noise * rng.logistic(size=n) > 0).astype(int))


def easy_line(n: int = 14, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Draw points of a line that one threshold parts: 1 above 0, −1 below; noise moves them.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.0
        How far points are moved after their class was decided.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.easy_line()
    >>> bool(((X[:, 0] > 0) == (y > 0)).all())
    True
    """
    return _line(n, noise, random_state, lambda x: x > 0)


def hard_line(n: int = 14, noise: float = 0.0, random_state: Any = 0) -> Pair:
    """Draw points of a line, 1 outside and −1 around 0: no threshold separates them, (x, x²) does.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.0
        How far points are moved after their class was decided.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.hard_line()
    >>> bool((abs(X[y > 0]).min() > abs(X[y < 0]).max()))
    True
    """
    return _line(n, noise, random_state, lambda x: np.abs(x) > 1.25)


def _line(n: int, noise: float, random_state: Any, positive: Callable[..., Any]) -> Pair:
    """Evenly spread points, none at 0; a little of the seed in each, so that seeds differ."""
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    x = np.linspace(-3, 3, n) + 0.05 * rng.uniform(-1, 1, n)
    y = np.where(positive(x), 1, -1)
    return Pair((x + noise * rng.normal(size=n))[:, None], y)


def linear_noise(n: int = 100, noise: float = 1.0, random_state: Any = 0) -> Pair:
    """Draw Abernethy's first demonstration: y = x + noise on [0, 10].

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 1.0
        Standard deviation of the noise.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, t = data.linear_noise(50)
    >>> X.shape, t.shape
    ((50, 1), (50,))
    """
    return _noisy(n, noise, random_state, lambda x: x)


def sine_linear_noise(n: int = 100, noise: float = 0.5, random_state: Any = 0) -> Pair:
    """Draw Abernethy's second demonstration: y = x/2 + 2 sin x + noise on [0, 10].

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.5
        Standard deviation of the noise.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, t = data.sine_linear_noise(50)
    >>> X.shape, t.shape
    ((50, 1), (50,))
    """
    return _noisy(n, noise, random_state, lambda x: x / 2 + 2 * np.sin(x))


def pure_noise(n: int = 100, noise: float = 1.0, random_state: Any = 0) -> Pair:
    """Draw Abernethy's third demonstration: y has nothing to do with x.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 1.0
        Standard deviation of y.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, t = data.pure_noise(50)
    >>> X.shape, t.shape
    ((50, 1), (50,))
    """
    return _noisy(n, noise, random_state, np.zeros_like)


def _noisy(n: int, noise: float, random_state: Any, f: Callable[..., Any]) -> Pair:
    """f(x) + noise at random x in [0, 10], in their order."""
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    x = np.sort(rng.uniform(0, 10, n))
    return Pair(x[:, None], f(x) + noise * rng.normal(size=n))


TOYS: dict[str, Callable[..., Pair]] = {
    toy.__name__: toy
    for toy in (
        *(xor, spirals, circles, moons, checkerboard, blobs, clicks, easy_line, hard_line),
        *(linear_noise, sine_linear_noise, pure_noise, glyphs, mail, strokes),
    )
}
#: Toys that are no vectors: their kind, and the shape of images.
KINDS: dict[str, tuple[str, tuple[int, int] | None]] = {
    "glyphs": ("images", (SIZE, SIZE)),
    "mail": ("mail", None),
    "strokes": ("strings", None),
}
