"""Lecture 002: the naive character reader, from images instead of by eye."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mercer.maps import GlyphFeatures

SIZE, PEN = 40, 2.2

#: The lecture's rows of loops, 3-joints, 4-joints.
TABLE = {
    1: (0, 0, 0),
    2: (0, 0, 0),
    3: (0, 0, 0),
    4: (1, 0, 1),
    5: (0, 0, 0),
    6: (1, 1, 0),
    7: (0, 0, 0),
    8: (2, 0, 1),
    9: (1, 1, 0),
    0: (1, 0, 0),
}


def arc(x, y, wide, high, begin, end):
    """Part of an ellipse, degrees clockwise from the right (rows grow downwards)."""
    t = np.radians(np.linspace(begin, end, 80))
    return np.column_stack([x + wide * np.cos(t), y + high * np.sin(t)])


#: The digits as pen strokes in a box of height 1.
STROKES = {
    1: [[(0.5, 0.0), (0.5, 1.0)]],
    2: [[*arc(0.5, 0.26, 0.28, 0.26, -180, 40), (0.2, 1.0), (0.8, 1.0)]],
    3: [[*arc(0.44, 0.25, 0.3, 0.25, -150, 65), *arc(0.44, 0.75, 0.32, 0.27, -65, 150)]],
    4: [[(0.65, 1.0), (0.65, 0.0), (0.12, 0.65), (0.95, 0.65)]],
    5: [[(0.75, 0.0), (0.3, 0.0), (0.27, 0.42), *arc(0.46, 0.69, 0.31, 0.31, -100, 150)]],
    6: [[*arc(0.75, 0.7, 0.55, 0.7, -90, -180), *arc(0.48, 0.7, 0.28, 0.3, 180, 540)]],
    7: [[(0.2, 0.0), (0.8, 0.0), (0.4, 1.0)]],
    8: [
        arc(0.5, 0.24, 0.24, 0.24, 90, 450),
        arc(0.5, 0.74, 0.28, 0.26, -90, 270),
    ],
    9: [[*arc(0.52, 0.3, 0.28, 0.3, 0, 360), *arc(0.25, 0.3, 0.55, 0.7, 0, 90)]],
    0: [arc(0.5, 0.5, 0.38, 0.5, 0, 360)],
}


def drawn(digit, size=SIZE, pen=PEN):
    """The digit as grey values: ink within half a pen of a stroke, soft edges."""
    rows, columns = np.mgrid[:size, :size].astype(float)
    near = np.full((size, size), np.inf)
    scale, margin = 0.7 * size, 0.15 * size
    for stroke in STROKES[digit]:
        points = np.asarray(stroke) * scale + margin
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            dx, dy = x2 - x1, y2 - y1
            square = max(dx * dx + dy * dy, 1e-12)
            t = np.clip(((columns - x1) * dx + (rows - y1) * dy) / square, 0, 1)
            near = np.minimum(near, np.hypot(columns - x1 - t * dx, rows - y1 - t * dy))
    return np.clip(pen - near, 0, 1)


def features(size=SIZE, pen=PEN):
    images = np.array([drawn(digit, size, pen).ravel() for digit in TABLE])
    return dict(zip(TABLE, GlyphFeatures((size, size)).fit_transform(images), strict=True))


@pytest.mark.parametrize("pen", [1.6, 2.2, 3.0])
def test_loops_and_joints_of_drawn_digits_are_the_lectures(pen):
    """002, 275-282: loops, 3-joints and 4-joints, from images by topology, whatever the pen."""
    found = {digit: tuple(int(v) for v in row[:3]) for digit, row in features(pen=pen).items()}
    assert found == TABLE


def test_loops_and_joints_do_not_depend_on_the_size():
    """002, 275-282: the same table at twice the size."""
    found = {digit: tuple(row[:3]) for digit, row in features(80, 4.0).items()}
    assert found == TABLE


def test_angles_of_drawn_digits():
    """002, 281: round digits have none, 7 and 2 one; a 4 that is closed has two, not one, and so
    has a 5 (where its neck meets its belly)."""
    angles = {digit: int(row[3]) for digit, row in features(pen=1.6).items()}
    assert [angles[d] for d in (1, 6, 8, 9, 0)] == [0] * 5
    assert [angles[d] for d in (2, 3, 7)] == [1] * 3
    assert [angles[d] for d in (4, 5)] == [2, 2]


def test_ink_of_drawn_digits():
    """002, 282: least for 1 and 7, most for 8: the order of the table."""
    ink = {digit: row[4] for digit, row in features().items()}
    assert sorted(ink, key=ink.get)[:2] == [1, 7]
    assert max(ink, key=ink.get) == 8
