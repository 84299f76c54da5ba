"""Small made data sets of things other than vectors: drawn digits, messages, characters."""

from __future__ import annotations

import itertools
from datetime import datetime
from typing import Any

import numpy as np

from mercer.data.dataset import Pair

#: Height and width of a drawn digit, and half the width of the pen, in pixels.
SIZE, PEN = 40, 2.2


def _arc(x: float, y: float, wide: float, high: float, begin: float, end: float) -> list[Any]:
    """Part of an ellipse, degrees clockwise from the right (rows grow downwards)."""
    t = np.radians(np.linspace(begin, end, 80))
    return list(zip(x + wide * np.cos(t), y + high * np.sin(t), strict=True))


#: The digits as pen strokes in a box of height 1.
DIGITS: dict[int, list[list[Any]]] = {
    0: [_arc(0.5, 0.5, 0.38, 0.5, 0, 360)],
    1: [[(0.5, 0.0), (0.5, 1.0)]],
    2: [[*_arc(0.5, 0.26, 0.28, 0.26, -180, 40), (0.2, 1.0), (0.8, 1.0)]],
    3: [[*_arc(0.44, 0.25, 0.3, 0.25, -150, 65), *_arc(0.44, 0.75, 0.32, 0.27, -65, 150)]],
    4: [[(0.65, 1.0), (0.65, 0.0), (0.12, 0.65), (0.95, 0.65)]],
    5: [[(0.75, 0.0), (0.3, 0.0), (0.27, 0.42), *_arc(0.46, 0.69, 0.31, 0.31, -100, 150)]],
    6: [[*_arc(0.75, 0.7, 0.55, 0.7, -90, -180), *_arc(0.48, 0.7, 0.28, 0.3, 180, 540)]],
    7: [[(0.2, 0.0), (0.8, 0.0), (0.4, 1.0)]],
    8: [_arc(0.5, 0.24, 0.24, 0.24, 90, 450), _arc(0.5, 0.74, 0.28, 0.26, -90, 270)],
    9: [[*_arc(0.52, 0.3, 0.28, 0.3, 0, 360), *_arc(0.25, 0.3, 0.55, 0.7, 0, 90)]],
}
#: Characters as strokes in their order: h to the right, v down, d falling left, n falling right,
#: c right and then down; each with its path in a box of height 1.
CHARACTERS: dict[str, list[tuple[str, list[tuple[float, float]]]]] = {
    "十": [("h", [(0.1, 0.4), (0.9, 0.4)]), ("v", [(0.5, 0.05), (0.5, 0.95)])],
    "口": [
        ("v", [(0.15, 0.15), (0.15, 0.9)]),
        ("c", [(0.15, 0.15), (0.85, 0.15), (0.85, 0.9)]),
        ("h", [(0.15, 0.9), (0.85, 0.9)]),
    ],
    "三": [("h", [(0.15, y), (0.85, y)]) for y in (0.1, 0.5, 0.9)],
    "土": [
        ("h", [(0.2, 0.4), (0.8, 0.4)]),
        ("v", [(0.5, 0.05), (0.5, 0.9)]),
        ("h", [(0.05, 0.9), (0.95, 0.9)]),
    ],
    "大": [
        ("h", [(0.1, 0.35), (0.9, 0.35)]),
        ("d", [(0.5, 0.05), (0.45, 0.5), (0.1, 0.95)]),
        ("n", [(0.5, 0.4), (0.9, 0.95)]),
    ],
    "日": [
        ("v", [(0.2, 0.05), (0.2, 0.95)]),
        ("c", [(0.2, 0.05), (0.8, 0.05), (0.8, 0.95)]),
        ("h", [(0.2, 0.5), (0.8, 0.5)]),
        ("h", [(0.2, 0.95), (0.8, 0.95)]),
    ],
}


def check_size(n: int, noise: float) -> None:
    """Refuse what no toy can be made of."""
    if int(n) != n or n < 2:
        raise ValueError(f"n must be a whole number ≥ 2, got {n!r}")
    if not noise >= 0:
        raise ValueError(f"noise must be ≥ 0, got {noise!r}")


def glyphs(
    n: int = 10, noise: float = 0.0, size: int = SIZE, pen: float = PEN, random_state: Any = 0
) -> Pair:
    """The digits 0 to 9 drawn with a pen, size × size pixels in [0, 1], over and over up to n.

    Noise slants and moves each one. They are the ten figures of Gordon and Smola's table of loops,
    joints, angles and ink.

    Parameters
    ----------
    n : int, default 10
        Number of images.
    noise : float, default 0.0
        How much each is slanted and moved.
    size : int, default 40
        Pixels along one side.
    pen : float, default 2.2
        Width of the pen, in pixels.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair of ndarray
        X and y; also as attributes ``.X`` and ``.y``.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.glyphs()
    >>> X.shape, y.tolist()
    ((10, 1600), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    rows, columns = np.mgrid[:size, :size].astype(float)
    X, y = np.empty((n, size * size)), np.arange(n) % 10
    for i, digit in enumerate(y):
        bend = np.eye(2) + noise * rng.normal(size=(2, 2))
        near = np.full((size, size), np.inf)
        for stroke in DIGITS[int(digit)]:
            points = ((np.asarray(stroke) - 0.5) @ bend + 0.5) * 0.7 * size + 0.15 * size
            for (x1, y1), (x2, y2) in itertools.pairwise(points):
                dx, dy = x2 - x1, y2 - y1
                along = ((columns - x1) * dx + (rows - y1) * dy) / max(dx * dx + dy * dy, 1e-12)
                t = np.clip(along, 0, 1)
                near = np.minimum(near, np.hypot(columns - x1 - t * dx, rows - y1 - t * dy))
        X[i] = np.clip(pen - near, 0, 1).ravel()
    return Pair(X, y)


def stroke_paths(character: str) -> list[np.ndarray]:
    """The strokes of a character of `strokes` as lines to draw: (x, y), y downwards.

    Parameters
    ----------
    character : str
        One of those that `strokes` has.

    Returns
    -------
    list of ndarray of shape (n, 2)
        One line per stroke, in writing order.

    Examples
    --------
    >>> from mercer import data
    >>> len(data.stroke_paths("十"))
    2
    """
    if character not in CHARACTERS:
        raise ValueError(f"there is no character {character!r}; there are {', '.join(CHARACTERS)}")
    return [np.asarray(path, dtype=float) for _, path in CHARACTERS[character]]


def strokes(n: int = 60, noise: float = 0.1, random_state: Any = 0) -> Pair:
    """Draw characters as strings of strokes in writing order, such as "vch" for 口.

    Letters: h to the right, v down, d and n falling to the left and right, c around a corner.
    With probability `noise` two strokes that follow each other change places.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.1
        Probability that two strokes change places.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair
        A list of strings, and an array of characters.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.strokes(6, noise=0)
    >>> print(y[1], X[1])
    口 vch
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    names = list(CHARACTERS)
    X, y = [], [names[i % len(names)] for i in range(n)]
    for name in y:
        order = [letter for letter, _ in CHARACTERS[name]]
        if rng.random() < noise:
            i = int(rng.integers(len(order) - 1))
            order[i], order[i + 1] = order[i + 1], order[i]
        X.append("".join(order))
    return Pair(np.array(X, dtype=object), np.array(y))


_WORDS = {
    kind: words.split()
    for kind, words in {
        "ham": "meeting lecture notes kernel proof draft thanks tomorrow homework seminar room "
        "question paper agenda chapter exam slides coffee",
        "spam": "free winner prize click offer cheap pills money urgent bonus guarantee casino "
        "credit limited deal cash discount lottery",
        "both": "please the you we today send your time new all this week best",
    }.items()
}
_HOSTS = {
    "ham": ("eecs.example.edu", "library.example.org"),
    "spam": ("win.example.biz", "promo.example.net"),
}
_HOURS = {"ham": (8, 19), "spam": (0, 24)}


def mail(n: int = 60, noise: float = 0.2, random_state: Any = 0) -> Pair:
    """Made messages with headers, "ham" and "spam" in turn: words, sender, path, date, links.

    `noise` is the share of telling words that come from the other kind of mail.

    Parameters
    ----------
    n : int
        Number of examples.
    noise : float, default 0.2
        Share of telling words that come from the other kind of mail.
    random_state : int, RandomState or None
        Draws the examples; the same number draws the same ones.

    Returns
    -------
    Pair
        A list of messages, and an array of "ham" and "spam".

    Examples
    --------
    >>> from mercer import data
    >>> messages, y = data.mail(4)
    >>> messages[1].splitlines()[0], str(y[1])
    ('Received: from win.example.biz by mx.example.com; Mon, 19 Jan 2026 08:34:00 +0000', 'spam')
    """
    check_size(n, noise)
    rng = np.random.default_rng(random_state)
    X, y = [], ["spam" if i % 2 else "ham" for i in range(n)]
    for kind in y:
        other = "ham" if kind == "spam" else "spam"
        own = [str(rng.choice(_WORDS[other if rng.random() < noise else kind])) for _ in range(9)]
        words = [*own, *map(str, rng.choice(_WORDS["both"], 6))]
        body = " ".join(words[i] for i in rng.permutation(len(words)))
        host = str(rng.choice(_HOSTS[kind]))
        day = int(rng.integers(1, 29))
        hour, minute = int(rng.integers(*_HOURS[kind])), int(rng.integers(60))
        date = f"{datetime(2026, 1, day, hour, minute):%a, %d %b %Y %H:%M:%S} +0000"
        link = f" http://{host}/{own[0]}" if kind == "spam" and rng.random() > noise else ""
        X.append(
            f"Received: from {host} by mx.example.com; {date}\nFrom: {own[1]}@{host}\n"
            f"Date: {date}\nSubject: {own[2]} {own[3]}\n"
            f"Content-Type: text/plain; charset=utf-8\n\n{body}{link}\n"
        )
    return Pair(np.array(X, dtype=object), np.array(y))
