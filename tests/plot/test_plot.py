"""Every picture is drawn, on given axes or its own, and shows what it should."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from mercer import Gaussian, KernelPerceptron, Polynomial, Sigmoid, data, plot  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    X, y = data.moons(60, noise=0.05)
    return X, y, KernelPerceptron("gaussian(0.4)", epochs=30).fit(X, y)


def test_each_function_takes_and_gives_back_an_axes(moons):
    X, y, model = moons
    scores = model.decision_function(X)
    calls = [
        lambda ax: plot.kernel_shape(Gaussian(), ax=ax),
        lambda ax: plot.kernel_shape("polynomial(3)", center=[1.0], ax=ax),
        lambda ax: plot.gram(Gaussian(0.5), X, y, ax=ax, largest=30),
        lambda ax: plot.spectrum(Gaussian(0.5), X, ax=ax),
        lambda ax: plot.monomial_growth(ax=ax),
        lambda ax: plot.decision_regions(model, X, y, ax=ax, points=30),
        lambda ax: plot.mistakes_against_bound(model, X, y, ax=ax),
        lambda ax: plot.contributions(model.expansion_, X[:1], ax=ax),
        lambda ax: plot.calibration(y, 1 / (1 + np.exp(-scores)), bins=3, ax=ax),
        lambda ax: plot.roc(y, scores, ax=ax),
        lambda ax: plot.confusion(y, model.predict(X), ax=ax),
        lambda ax: plot.residuals(y, scores, ax=ax),
        lambda ax: plot.predicted_against_truth(y, scores, ax=ax),
        lambda ax: plot.learning_curve(model, X, y, sizes=[0.5, 1.0], cv=2, ax=ax),
    ]
    for call in calls:
        _, ax = plt.subplots()
        assert call(ax) is ax
        assert ax.has_data()
        assert call(None) is not ax
        plt.close("all")


def test_the_shape_of_a_kernel_peaks_at_its_centre():
    ax = plot.kernel_shape(Gaussian(), center=[0.5])
    x, k = ax.lines[0].get_data()
    assert abs(x[np.argmax(k)] - 0.5) < 0.03


def test_the_spectrum_shows_negative_eigenvalues_apart():
    X, _ = data.moons(30)
    apart = "|λ|, λ < 0"
    assert apart not in {line.get_label() for line in plot.spectrum(Gaussian(), X).get_lines()}
    drawn = plot.spectrum(Sigmoid(1.0, -1.0), X).get_lines()
    assert apart in {line.get_label() for line in drawn}


def test_the_growth_of_monomials_is_the_lectures_number():
    ax = plot.monomial_growth(features=[100], degree=6)
    assert ax.lines[0].get_ydata()[-1] == Polynomial(6).n_dims(100) == 1_609_344_100


def test_the_bound_lies_above_the_mistakes(moons):
    X, y, model = moons
    ax = plot.mistakes_against_bound(model, X, y)
    bound = ax.lines[1].get_ydata()[0]
    assert bound >= model.n_mistakes_


def test_contributions_add_up_to_the_score(moons):
    X, _, model = moons
    ax = plot.contributions(model.expansion_, X[:1], most=1000)
    total = sum(bar.get_width() for bar in ax.patches)
    assert total == pytest.approx(float(model.expansion_(X[:1])[0]))


def test_a_map_is_shown_beside_what_it_maps():
    X, y = data.circles(40)
    left, right = plot.before_and_after(X, y, np.square)
    assert left is not right
    flat = plot.before_and_after(X, y, lambda Z: (Z**2).sum(axis=1))[1]
    assert flat.collections


class _Line:
    def predict(self, X, return_std=False):
        mean = 2 * X[:, 0]
        return (mean, np.ones(len(X))) if return_std else mean


class _PlainLine:
    def predict(self, X):
        return 2 * X[:, 0]


def test_a_curve_has_a_band_where_the_model_knows_its_spread():
    X, y = data.linear_noise(20)
    assert plot.regression_curve(_Line(), X, y, truth=np.sin).collections
    bands = plot.regression_curve(_PlainLine(), X, y).collections
    assert len(bands) == 1  # the points alone


def test_what_cannot_be_drawn_is_named(moons):
    X, y, model = moons
    with pytest.raises(ValueError, match="2 columns"):
        plot.decision_regions(model, np.zeros((3, 3)), y)
    with pytest.raises(ValueError, match="one input"):
        plot.regression_curve(_PlainLine(), X, y)
    with pytest.raises(ValueError, match="one or two"):
        plot.kernel_shape(Gaussian(), center=[1.0, 2.0, 3.0])


def test_confusion_counts_every_pair():
    truth, said = ["a", "a", "a very long name indeed", "b"], ["a", "b", "b", "b"]
    ax = plot.confusion(truth, said)
    seen = {(t.get_position(), t.get_text()) for t in ax.texts}
    assert seen == {((0, 0), "1"), ((2, 0), "1"), ((2, 1), "1"), ((2, 2), "1")}
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "a very long n…", "b"]


def test_residuals_name_their_size():
    ax = plot.residuals(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    assert "± 1 (rms)" in [t.get_text() for t in ax.get_legend().get_texts()]
    _, rest = ax.collections[0].get_offsets().T
    assert rest.tolist() == [1.0, -1.0]


def test_the_bound_is_drawn_to_scale():
    X, y = data.moons(60, noise=0.05)
    near = KernelPerceptron("gaussian(0.4)", epochs=30).fit(X, y)
    assert plot.mistakes_against_bound(near, X, y).get_yscale() == "linear"


def test_a_bright_diagonal_does_not_hide_the_rest():
    X = np.random.default_rng(0).normal(size=(50, 40))
    assert plot.gram("gaussian(3)", X).images[0].get_clim()[1] < 0.6
    near, _ = data.moons(50)
    assert plot.gram("gaussian(2)", near).images[0].get_clim()[1] == pytest.approx(1.0)
    assert plot.gram("linear()", near[:1]).has_data()
