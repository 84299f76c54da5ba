"""The made data sets are what their names say."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, data, theory
from mercer.data.toys import TOYS
from mercer.maps import PolarMap


def test_xor_is_the_table_of_the_lecture():
    X, y = data.xor()
    assert X.tolist() == [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    assert y.tolist() == [1, -1, 1, -1]


def test_circles_are_separable_by_the_squared_radius_only():
    X, y = data.circles(60, noise=0.02)
    assert not theory.separability(Linear(), X, y, fit_intercept=True)
    r = (X**2).sum(axis=1)[:, None]
    assert theory.separability(Linear(), r, y, fit_intercept=True)


def test_spirals_become_linear_in_polar_coordinates():
    turns = 2.0
    X, y = data.spirals(100, turns=turns)
    assert not theory.separability(Linear(), X, y, fit_intercept=True)
    unrolled = PolarMap(winding=2 * np.pi * turns).fit_transform(X)
    assert theory.separability(Linear(), unrolled, y, fit_intercept=True)


@pytest.mark.parametrize("name", ["moons", "checkerboard"])
def test_curved_classes_need_a_kernel(name):
    X, y = TOYS[name](80, noise=0.0)
    assert not theory.separability(Linear(), X, y, fit_intercept=True)
    assert theory.separability(Gaussian(0.2), X, y)


def test_the_three_regressions_of_the_lecture():
    x, y = data.linear_noise(2000, noise=0.1)
    assert np.polyfit(x[:, 0], y, 1) == pytest.approx([1.0, 0.0], abs=0.02)
    x, y = data.sine_linear_noise(2000, noise=0.0)
    assert y == pytest.approx(x[:, 0] / 2 + 2 * np.sin(x[:, 0]))
    x, y = data.pure_noise(5000)
    assert abs(np.corrcoef(x[:, 0], y)[0, 1]) < 0.05


@pytest.mark.parametrize("name", sorted(TOYS))
def test_same_seed_same_data_and_bad_sizes_are_named(name):
    make = TOYS[name]
    a, b = make(30, noise=0.1, random_state=3), make(30, noise=0.1, random_state=3)
    assert all((u == v).all() for u, v in zip(a, b, strict=True))
    assert not (a[0] == make(30, noise=0.1, random_state=4)[0]).all()
    with pytest.raises(ValueError, match="whole number"):
        make(1)
    with pytest.raises(ValueError, match="noise"):
        make(10, noise=-1.0)


def test_digits_are_images():
    digits = data.digits()
    assert digits.X.shape == (1797, 64)
    assert digits.shape == (8, 8)
    assert digits.X.max() == 1.0
    assert "10 classes" in str(digits)


def test_lines_that_a_threshold_parts_and_that_none_parts():
    for make, parted in ((data.easy_line, True), (data.hard_line, False)):
        x, y = make()
        assert bool(theory.separability(Linear(), x, y, fit_intercept=True)) is parted
        assert theory.separability(Linear(), np.hstack([x, x**2]), y, fit_intercept=True)


def test_mail_and_strokes_can_be_learned():
    from mercer import KernelSVC, Spectrum
    from mercer.maps import EmailFeatures

    messages, y = data.mail(80)
    phi = EmailFeatures().fit(messages[:40])
    model = KernelSVC("linear()").fit(phi.transform(messages[:40]), y[:40])
    assert model.score(phi.transform(messages[40:]), y[40:]) > 0.9
    X, names = data.strokes(60)
    model = KernelSVC(Spectrum(1) + Spectrum(2)).fit(list(X[:40]), names[:40])
    assert model.score(list(X[40:]), names[40:]) > 0.8
    with pytest.raises(ValueError, match="there is no character"):
        data.stroke_paths("x")


@pytest.mark.parametrize(
    ("name", "kind", "shape"),
    [("mail", "mail", None), ("strokes", "strings", None), ("glyphs", "images", (40, 40))],
)
def test_toys_of_objects_say_what_they_are(name, kind, shape):
    made = data.named(name, n=12)
    assert (made.kind, made.shape, len(made)) == (kind, shape, 12)


def test_every_data_set_gives_the_same_kind_of_thing() -> None:
    for name in data.catalog():
        found = getattr(data, name)()
        X, y = found
        assert X is found.X
        assert y is found.y is found[1]
        assert len(X) == len(y) == len(data.Dataset.of(found))
    X, y = data.named("moons")
    assert X.shape == (200, 2)
