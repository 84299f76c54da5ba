"""Pictures of images show the pixels, neighbors, prices and landmarks they claim to show."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from mercer import (
    DeformableTemplateClassifier,
    KernelNeighborsClassifier,
    KernelSVC,
    data,
    plot,
)
from mercer.maps import GlyphFeatures
from mercer.plot.rasters import landmarks

D = data.digits()


def test_images_are_laid_out_row_by_row():
    ax = plot.images(D.X[:5], titles=list("01234"), columns=3)
    assert [t.get_text() for t in ax.texts] == list("01234")
    assert np.array_equal(ax.images[3].get_array(), D.X[3].reshape(8, 8))
    left, _, _, top = ax.images[3].get_extent()
    assert left == 0  # the fourth begins a second row
    assert top < ax.images[0].get_extent()[2]
    wide = plot.images(np.zeros((2, 3, 6)))
    assert wide.images[0].get_array().shape == (3, 6)


def test_neighbors_are_shown_with_class_and_distance():
    X, y = D.X[:200], D.y[:200]
    model = KernelNeighborsClassifier("linear()", n_neighbors=3).fit(X, y)
    ax = plot.neighbor_images(model, X, y, D.X[200:202])
    far, index = model.kneighbors(D.X[200:202])
    assert len(ax.images) == 8
    assert np.array_equal(ax.images[1].get_array().ravel(), X[index[0, 0]])
    assert ax.texts[1].get_text() == f"{y[index[0, 0]]}, d = {far[0, 0]:.2f}"


def test_the_tangent_touches_the_curve_of_rotations():
    ax = plot.rotation_curve(data.glyphs()[0][6], steps=72)
    curve, tangent = (line.get_xydata() for line in ax.lines[:2])
    assert curve[0] == pytest.approx(curve[-1], abs=1e-6)  # a full turn comes back
    assert tangent.mean(axis=0) == pytest.approx(curve[0])
    way, chord = tangent[1] - tangent[0], curve[1] - curve[-2]
    cosine = abs(way @ chord) / np.linalg.norm(way) / np.linalg.norm(chord)
    assert cosine > 0.97
    assert "ℝ¹⁶⁰⁰" in ax.get_title()
    assert len(ax.artists) == 8  # thumbnails


def test_tangents_are_seven_and_lie_between_less_and_more():
    x = data.glyphs()[0][4]
    ax = plot.tangent_vectors(x)
    assert len(ax.images) == 22
    less, tangent, more = (np.asarray(ax.images[i].get_array()).ravel() for i in (0, 8, 15))
    inside = (less > 0) & (more > 0)
    assert more[inside] - less[inside] == pytest.approx(2 * tangent[inside], abs=1e-9)
    assert np.array_equal(ax.images[7].get_array().ravel(), x)


def test_the_cheapest_template_is_called_the_best():
    few = np.isin(D.y, (0, 1, 2))
    X, y = D.X[few], D.y[few]
    model = DeformableTemplateClassifier((8, 8)).fit(X[:90], y[:90])
    ax = plot.deformed_templates(model, X[90:93])
    words = [t.get_text() for t in ax.texts]
    rows = [words[3 + 4 * i : 7 + 4 * i] for i in range(3)]
    best = [[c for c, w in enumerate(row[1:]) if "best" in w] for row in rows]
    assert best == [[int(label)] for label in model.predict(X[90:93])]
    assert words[:3] == ["ideal 0", "ideal 1", "ideal 2"]


def test_the_grid_of_a_deformation_is_where_the_template_is_read():
    few = np.isin(D.y, (0, 1, 2))
    X, y = D.X[few], D.y[few]
    model = DeformableTemplateClassifier((8, 8), stiffness=0.1).fit(X[:90], y[:90])
    image, _, bent = panels = plot.deformation(model, X[91])
    np.testing.assert_allclose(np.ravel(image.images[0].get_array()), X[91])
    lines = panels[1].lines
    assert len(lines) == 16  # eight rows and eight columns
    columns, rows = (np.array([line.get_data()[i] for line in lines[:8]]) for i in (0, 1))
    label = model.predict(X[91:92])[0]
    ideal = model.templates_[list(model.classes_).index(label)]
    read = map_coordinates(ideal, [rows, columns], order=1)
    np.testing.assert_allclose(bent.images[0].get_array(), read, atol=1e-9)
    assert np.abs(rows - np.indices((8, 8))[0]).max() > 0.1  # it is bent
    other = plot.deformation(model, X[91], label=int(label + 1) % 3)
    assert other[1].get_title().startswith(f"ideal {int(label + 1) % 3}")


def test_support_images_come_with_their_weights():
    pair = D.y < 2
    model = KernelSVC("gaussian(2)").fit(D.X[pair], D.y[pair])
    ax = plot.support_images(model, most=4)
    largest = np.sort(np.abs(model.dual_coef_[0]))[::-1][:4]
    shown = [abs(float(t.get_text().split("= ")[1])) for t in ax.texts]
    assert shown == pytest.approx(largest, rel=1e-2)
    assert ax.get_title() == f"4 of {len(model.support_)} support vectors"


@pytest.mark.parametrize("pen", [1.6, 2.2, 3.0])
def test_landmarks_are_those_the_features_count(pen):
    X, y = data.glyphs(pen=pen)
    features = GlyphFeatures((40, 40)).fit(X)
    counts = features.transform(X)
    ends = {0: 0, 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 1, 7: 2, 8: 0, 9: 1}
    for digit, skeleton, row in zip(y, features.skeleton(X), counts, strict=True):
        found = landmarks(skeleton, 3)
        assert (len(found["joints of 3"]), len(found["joints of 4"])) == tuple(row[1:3]), digit
        assert len(found["ends"]) == ends[int(digit)], digit


def test_a_glyph_is_drawn_with_what_it_has():
    ax = plot.glyph(data.glyphs()[0][6])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "loop", "skeleton", "ends", "joints of 3",
    ]  # fmt: skip
    assert ax.get_title().startswith("loops 1, joints 1 + 0")
    assert "loop" not in [t.get_text() for t in plot.glyph(data.glyphs()[0][1]).get_legend().texts]


def test_strokes_are_numbered_in_their_order():
    paths = data.stroke_paths("口")
    ax = plot.strokes(paths)
    assert [t.get_text() for t in ax.texts if t.get_text()] == ["1", "2", "3"]
    assert [line.get_xydata().tolist() for line in ax.lines] == [p.tolist() for p in paths]
    assert ax.yaxis_inverted()
