"""Drawings in five numbers; the digits of the lecture are in tests/lectures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import ndimage
from sklearn.utils.estimator_checks import check_estimator

from mercer.maps import GlyphFeatures
from mercer.maps.drawings.glyphs import loops


def strokes(*lines, size=32, pen=1.5):
    """An image of straight lines, (row, column) to (row, column)."""
    rows, columns = np.mgrid[:size, :size].astype(float)
    near = np.full((size, size), np.inf)
    for (y1, x1), (y2, x2) in lines:
        dy, dx = y2 - y1, x2 - x1
        t = np.clip(((rows - y1) * dy + (columns - x1) * dx) / (dx * dx + dy * dy), 0, 1)
        near = np.minimum(near, np.hypot(rows - y1 - t * dy, columns - x1 - t * dx))
    return (near <= pen).astype(float)


def described(image):
    return GlyphFeatures(image.shape).fit_transform(image.reshape(1, -1))[0]


T = strokes(((6, 5), (6, 26)), ((6, 16), (26, 16)))
PLUS = strokes(((16, 5), (16, 27)), ((5, 16), (27, 16)))
X = strokes(((5, 5), (27, 27)), ((5, 27), (27, 5)))
L = strokes(((5, 6), (26, 6)), ((26, 6), (26, 24)))
BOX = strokes(((6, 6), (6, 25)), ((6, 25), (25, 25)), ((25, 25), (25, 6)), ((25, 6), (6, 6)))
BAR = strokes(((4, 16), (28, 16)))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (BAR, (0, 0, 0, 0)),
        (T, (0, 1, 0, 0)),
        (PLUS, (0, 0, 1, 0)),
        (X, (0, 0, 1, 0)),
        (L, (0, 0, 0, 1)),
        (BOX, (1, 0, 0, 4)),
    ],
    ids=["bar", "T", "plus", "X", "L", "box"],
)
def test_plain_drawings(image, expected):
    assert tuple(described(image)[:4].astype(int)) == expected


@pytest.mark.parametrize("pen", [0.8, 1.5, 2.5])
def test_ink_does_not_depend_on_the_pen(pen):
    plus = strokes(((16, 5), (16, 27)), ((5, 16), (27, 16)), pen=pen)
    assert abs(described(plus)[4] - 2.0) < 0.25


def test_a_skeleton_is_thin_and_connected_and_keeps_loops():
    images = np.stack([T, PLUS, X, L, BOX])
    lines = GlyphFeatures((32, 32)).fit(images.reshape(5, -1)).skeleton(images.reshape(5, -1))
    for image, line in zip(images, lines, strict=True):
        assert ndimage.label(line, np.ones((3, 3)))[1] == 1
        squares = line[1:, 1:] & line[1:, :-1] & line[:-1, 1:] & line[:-1, :-1]
        assert squares.sum() <= 1  # four lines may meet in a square
        assert (image[line] == 1).all()
    assert np.array_equal(loops(np.pad(lines, ((0, 0), (2, 2), (2, 2)))), [0, 0, 0, 0, 1])


def test_loops_are_per_image_and_not_across():
    ring = np.pad(np.pad(np.zeros((2, 2)), 1, constant_values=1), 2).astype(bool)
    assert np.array_equal(loops(np.stack([ring, ~ring & False, ring])), [1, 0, 1])
    speck = np.pad(np.pad(np.zeros((1, 1)), 1, constant_values=1), 2).astype(bool)
    assert np.array_equal(loops(speck[None]), [0])


def test_scale_and_offset_of_gray_values_do_not_matter():
    assert np.array_equal(described(T), described(3.0 * T - 1.0))


def test_blank_images_have_nothing():
    assert not described(np.zeros((8, 8))).any()
    assert not described(np.full((8, 8), 7.0)).any()


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(GlyphFeatures(), on_fail=None)
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]


def test_names():
    features = GlyphFeatures((32, 32)).fit(T.reshape(1, -1))
    names = ["loops", "3-joints", "4-joints", "angles", "ink"]
    assert list(features.get_feature_names_out()) == names


def test_images_of_another_shape():
    with pytest.raises(ValueError, match="16 columns, which are no 3 × 3 images"):
        GlyphFeatures((3, 3)).fit(np.ones((2, 16)))
