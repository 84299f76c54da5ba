"""Lecture 002: the naive character reader, from images instead of by eye."""

from __future__ import annotations

import pytest

from mercer import data
from mercer.maps import GlyphFeatures

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


def features(size=40, pen=2.2):
    images, digits = data.glyphs(size=size, pen=pen)
    found = GlyphFeatures((size, size)).fit_transform(images)
    return dict(zip(digits.tolist(), found, strict=True))


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
