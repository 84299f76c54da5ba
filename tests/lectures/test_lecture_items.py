"""What the lectures show that was last to be there: the XOR walk, strokes, novelty, the board."""

from fractions import Fraction

import numpy as np
import pytest

import mercer
from mercer import (
    KernelKMeans,
    KernelOneClass,
    KernelPerceptron,
    KernelRidge,
    Linear,
    data,
    plot,
    selection,
    theory,
)
from mercer.maps import GlyphFeatures, PolarMap, PolynomialMap

pytest.importorskip("matplotlib").use("Agg")


def test_the_film_of_the_walk_shades_f_and_writes_its_sums():
    """000, lines 170-200: f = (x₁ + x₂)², white where it is 0, and the sums term by term."""
    film = plot.film(
        KernelPerceptron("polynomial(2)", tie="first", shuffle=False), *data.xor(), frames=8
    )
    captions = [film.caption(i) for i in range(4)]
    assert captions[0] == "epoch 1, visit 1: mistake 1\n$x^{1}$: 0×4 + 0×0 + 0×4 + 0×0 = 0, so -1"
    assert captions[1].endswith("1×0 + 0×4 + 0×0 + 0×4 = 0, so -1")
    assert captions[2].endswith("1×4 + 0×0 + 0×4 + 0×0 = 4, so 1")
    shade = film.figure.axes[0].collections[0].get_array().reshape(120, 120)
    line = np.linspace(0, 119, 120).astype(int)
    assert np.abs(shade[line, 119 - line]).max() < 1e-6  # x₁ = −x₂
    assert shade.min() >= -1e-6
    assert shade[line, line].max() == 1
    assert not film.figure.axes[0].lines or len(film.figure.axes[0].collections) == 4


def test_the_expansion_is_verified_in_symbols():
    """001, line 181: "Try to verify this!" for all x and z at once."""
    for degree, offset, n in [(2, 0, 2), (3, 0, 2), (2, 1, 3), (4, 3, 2)]:
        found = theory.verify_expansion(degree, offset, n)
        assert found.residual == 0.0
        left = found.lines[0].value
        assert sum(left.values()) == Fraction(n + offset) ** degree  # at x = z = (1, …, 1)
    assert r"\sqrt{2} \, x_{1}x_{2}" in theory.verify_expansion(2).latex()


def test_a_wrong_feature_is_found(monkeypatch):
    """001, line 181."""
    weights = PolynomialMap.weights_.fget
    monkeypatch.setattr(PolynomialMap, "weights_", property(lambda self: 2 * weights(self)))
    assert theory.verify_expansion(2).residual == 6.0  # 8 instead of 2 before x₁x₂z₁z₂


def test_digits_of_784_pixels():
    """001, lines 244-254."""
    X, y = data.digits(28)
    assert X.shape == (1797, 784)
    assert X.min() == 0
    assert X.max() == 1
    small = data.digits().X
    means = X.reshape(-1, 28, 28)[:, 2:26, 2:26].mean(axis=(1, 2))
    assert np.corrcoef(means, small.mean(axis=1))[0, 1] > 0.9
    assert mercer.KernelNeighborsClassifier("linear()", 1).fit(X[:500], y[:500]).score(
        X[500:700], y[500:700]
    ) > 0.9  # fmt: skip
    with pytest.raises(ValueError, match="8 to 64"):
        data.digits(4)


@pytest.mark.parametrize(("n", "m", "word"), [(40, 64, "dual"), (100, 20, "fewer")])
def test_the_reason_compares_n_and_m(n, m, word):
    """001, lines 423-437."""
    rng = np.random.default_rng(0)
    model = KernelRidge(Linear()).fit(rng.normal(size=(n, m)), rng.normal(size=n))
    assert str(n) in model.solver_reason_
    assert str(m) in model.solver_reason_
    assert word in model.solver_reason_


def test_spirals_through_polar_coordinates_at_once():
    """002, lines 358-360: nothing has to be fitted before."""
    X, y = data.spirals(120)
    model = KernelPerceptron(Linear().warp(PolarMap(winding=4 * np.pi)), shuffle=False).fit(X, y)
    assert model.score(X, y) == 1.0
    fitted = PolarMap(winding=4 * np.pi).fit(X)
    np.testing.assert_array_equal(PolarMap(winding=4 * np.pi).transform(X), fitted.transform(X))


def test_images_are_broken_into_strokes():
    """002, lines 361-363: 十 is a line down and a line to the right, whatever the pen."""
    from mercer.data import object_toys

    image = np.zeros((40, 40))
    image[8:33, 19:22] = image[18:21, 6:34] = 1
    down, right = GlyphFeatures((40, 40)).fit(image.reshape(1, -1)).strokes(image.reshape(1, -1))[0]
    assert np.ptp(down[:, 0]) <= 2 < 20 < np.ptp(down[:, 1])
    assert down[0, 1] < down[-1, 1]
    assert np.ptp(right[:, 1]) <= 2 < 20 < np.ptp(right[:, 0])
    assert right[0, 0] < right[-1, 0]
    X, _ = data.glyphs(10)
    found = GlyphFeatures((40, 40)).fit(X).strokes(X)
    assert [len(found[d]) for d in (0, 1, 2, 3, 5, 7)] == [1] * 6
    two = np.asarray(object_toys.DIGITS[2][0]) * 28 + 6
    far = np.abs(found[2][0][:, None] - two[None]).max(axis=2).min(axis=1)
    assert np.median(far) < 2  # along the pen


def test_novelty_and_clusters_are_drawn():
    """002, lines 121-122."""
    X, _ = data.circles(60)
    ax = plot.decision_regions(KernelOneClass("gaussian(0.3)", nu=0.2).fit(X), X)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["-1", "1"]
    ax = plot.decision_regions(KernelKMeans("gaussian(0.5)", 3, random_state=0).fit(X), X)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["0", "1", "2"]


def test_clicks_follow_a_neuron():
    """002, lines 121-122: click or no click, by the sign of ⟨w, x⟩ + b where there is no noise."""
    X, y = data.clicks(300, noise=0)
    assert theory.separability("linear()", X, np.where(y > 0, 1, -1), True).separator is not None
    assert 0.1 < np.mean(data.clicks(300).y != y) < 0.4


def test_the_board_of_a_class(monkeypatch):
    """002, lines 13-37: tries, the time of the best, a dash for who failed, ties to the earlier."""
    from mercer.selection import contest as module

    clock = iter(range(1000, 2000))
    monkeypatch.setattr(module.time, "time", lambda: float(next(clock)))
    X, y = data.moons(40)
    contest = selection.Contest(X, y)
    assert contest.enter("late", [1] * 40) == 0.5
    assert contest.enter("early", [-1] * 40) == 0.5
    assert contest.enter("late", y[:7]) is None
    assert contest.enter("broken", KernelRidge()) is None
    assert contest.enter("early", y) == 1.0
    assert contest.enter("early", [-1] * 40) == 0.5
    assert contest.enter("third", [-1] * 40) == 0.5
    assert contest.board() == [
        ("early", 3, 1004.0, 1.0), ("late", 2, 1000.0, 0.5), ("third", 1, 1006.0, 0.5),
        ("broken", 1, 1003.0, None),
    ]  # fmt: skip
    assert str(contest).splitlines()[-1].endswith("–")
