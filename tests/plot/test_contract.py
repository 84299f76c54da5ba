"""Every picture takes an axes or makes one, draws into it, and gives it back."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer import (
    DeformableTemplateClassifier,
    Gaussian,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    NadarayaWatsonRegressor,
    Perceptron,
    data,
    explain_rows,
    plot,
    stats,
)
from mercer.maps import EmailFeatures, PolynomialMap, PowersMap

X, Y = data.moons(40, noise=0.05)
B, C = data.blobs(30)
D = data.digits()
SOME, KIND = D.X[D.y < 2][:60], D.y[D.y < 2][:60]


def perceptron():
    return KernelPerceptron("gaussian(0.4)", epochs=30, shuffle=False).fit(X, Y)


def smoother():
    return NadarayaWatsonRegressor(bandwidth=0.5).fit(*data.linear_noise(30))


def reasons():
    return explain_rows(KernelSVC("gaussian(0.4)").fit(X, Y), X, X[:10])


def words(ax):
    messages, y = data.mail(20)
    phi = EmailFeatures(("words",)).fit(messages)
    return plot.deciding_words(
        KernelSVC("linear()").fit(phi.transform(messages), y), phi, messages[0], ax=ax
    )


#: One call per picture with a single axes; those in space come in their own list.
FLAT = {
    "accuracy_over_visits": lambda ax: plot.accuracy_over_visits(perceptron(), X, Y, ax=ax),
    "beeswarm": lambda ax: plot.beeswarm(reasons(), ax=ax),
    "calibration": lambda ax: plot.calibration(Y > 0, np.linspace(0, 1, 40), bins=3, ax=ax),
    "change_points": lambda ax: plot.change_points(
        stats.change_points(X, permutations=9, random_state=0), ax=ax
    ),
    "confusion": lambda ax: plot.confusion(Y, perceptron().predict(X), ax=ax),
    "contributions": lambda ax: plot.contributions(perceptron().expansion_, X[:1], ax=ax),
    "convergence_proof": lambda ax: plot.convergence_proof(perceptron(), X, Y, ax=ax),
    "deciding_words": words,
    "decision_regions": lambda ax: plot.decision_regions(perceptron(), X, Y, ax=ax, points=30),
    "deformed_templates": lambda ax: plot.deformed_templates(
        DeformableTemplateClassifier((8, 8)).fit(SOME, KIND), SOME[:2], ax=ax
    ),
    "dependence": lambda ax: plot.dependence(reasons(), "x0", ax=ax),
    "eigenfunctions": lambda ax: plot.eigenfunctions(Gaussian(0.2), ax=ax),
    "error_curves": lambda ax: plot.error_curves([1, 2], {"training": [0.1, 0.2]}, ax=ax),
    "feature_space": lambda ax: plot.feature_space(*data.hard_line(), PowersMap(2), ax=ax),
    "fourier": lambda ax: plot.fourier("gaussian(1)", ax=ax),
    "glyph": lambda ax: plot.glyph(data.glyphs()[0][6], ax=ax),
    "gram": lambda ax: plot.gram(Gaussian(0.5), X, Y, ax=ax, largest=30),
    "hardness": lambda ax: plot.hardness(B, C, ax=ax),
    "hebb_and_perceptron": lambda ax: plot.hebb_and_perceptron(B, C, ax=ax),
    "images": lambda ax: plot.images(D.X[:6], ax=ax),
    "kernel_shape": lambda ax: plot.kernel_shape(Gaussian(), ax=ax),
    "learning_curve": lambda ax: plot.learning_curve(
        KernelRidge("gaussian(1)"), X, Y.astype(float), sizes=[0.5, 1.0], cv=2, ax=ax
    ),
    "margin": lambda ax: plot.margin(B, C, ax=ax),
    "mistakes_against_bound": lambda ax: plot.mistakes_against_bound(perceptron(), X, Y, ax=ax),
    "monomial_growth": lambda ax: plot.monomial_growth(ax=ax),
    "neighbor_images": lambda ax: plot.neighbor_images(
        KernelNeighborsClassifier("linear()", n_neighbors=2).fit(SOME, KIND),
        SOME, KIND, SOME[:1], ax=ax,
    ),
    "network": lambda ax: plot.network(perceptron().expansion_, X[:1], ax=ax),
    "points": lambda ax: plot.points(X, Y, ax=ax),
    "predicted_against_truth": lambda ax: plot.predicted_against_truth(Y, 2 * Y, ax=ax),
    "query_weights": lambda ax: plot.query_weights(smoother(), 4.0, ax=ax),
    "regression_curve": lambda ax: plot.regression_curve(smoother(), [[0.0], [9]], [0, 1], ax=ax),
    "regression_curves": lambda ax: plot.regression_curves(
        {"a": smoother()}, [[0.0], [9]], [0, 1], ax=ax
    ),
    "residuals": lambda ax: plot.residuals(Y, 2 * Y, ax=ax),
    "roc": lambda ax: plot.roc(Y, X[:, 1], ax=ax),
    "rotation_curve": lambda ax: plot.rotation_curve(D.X[0], ax=ax, steps=16),
    "separators": lambda ax: plot.separators([([1.0, 0.0], 0.0)], B, C, ax=ax),
    "spectrum": lambda ax: plot.spectrum(Gaussian(0.5), X, ax=ax),
    "strokes": lambda ax: plot.strokes(data.stroke_paths("十"), ax=ax),
    "support_images": lambda ax: plot.support_images(KernelSVC("linear()").fit(SOME, KIND), ax=ax),
    "tangent_vectors": lambda ax: plot.tangent_vectors(D.X[0], ax=ax),
    "taylor_truncations": lambda ax: plot.taylor_truncations(ax=ax),
    "thresholds": lambda ax: plot.thresholds(
        KernelSVC("gaussian(1)").fit(*data.easy_line()), *data.easy_line(), ax=ax
    ),
    "version_space": lambda ax: plot.version_space(B, C, ax=ax),
    "waterfall": lambda ax: plot.waterfall(reasons(), 3, ax=ax),
    "weight_vectors": lambda ax: plot.weight_vectors(
        Perceptron(fit_intercept=True).fit(B, C), B, C, ax=ax
    ),
    "witness": lambda ax: plot.witness(
        stats.mmd_test(B, X, permutations=9, random_state=0), ax=ax, points=60
    ),
}  # fmt: skip
SPATIAL = {
    "feature_space": lambda ax: plot.feature_space(*data.xor(), PolynomialMap(2), ax=ax),
    "kernel_surface": lambda ax: plot.kernel_surface("gaussian(1)", ax=ax),
}
#: These give a tuple of axes.
SEVERAL = {"before_and_after", "deformation", "kernel_gallery"}
HELPERS = {"Film", "film", "LinearInFeatures", "ProofCurves", "errors_over", "proof_curves"}


def test_every_picture_is_tried_and_there_are_many():
    assert set(plot.__all__) == {*FLAT, *SPATIAL, *SEVERAL, *HELPERS}
    assert len({*FLAT, *SPATIAL, *SEVERAL}) >= 40


@pytest.mark.parametrize("name", sorted(FLAT))
def test_a_picture_draws_into_the_axes_it_is_given(name):
    _, ax = plt.subplots()
    assert FLAT[name](ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", sorted(SPATIAL))
def test_a_picture_in_space_needs_axes_in_space(name):
    ax = plt.figure().add_subplot(projection="3d")
    assert SPATIAL[name](ax) is ax
    with pytest.raises(ValueError, match='projection="3d"'):
        SPATIAL[name](plt.subplots()[1])


@pytest.mark.parametrize("name", ["gram", "images", "margin", "network", "thresholds"])
def test_without_axes_a_figure_is_made(name):
    assert FLAT[name](None).figure.get_layout_engine() is not None


@pytest.mark.parametrize("name", sorted({*FLAT, *SPATIAL, *SEVERAL}))
def test_every_docstring_has_an_example(name):
    words = inspect.getdoc(getattr(plot, name))
    assert ">>> " in words
    assert len(words.splitlines()[0]) <= 100


def test_an_unfitted_model_is_named():
    for call in (
        lambda: plot.decision_regions(KernelSVC(), B, C),
        lambda: plot.mistakes_against_bound(KernelPerceptron(), B, C),
        lambda: plot.regression_curve(KernelRidge(), B[:, :1], C),
        lambda: plot.query_weights(NadarayaWatsonRegressor(), 0.0),
        lambda: plot.weight_vectors(Perceptron(), B, C),
        lambda: plot.support_images(KernelSVC()),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(ValueError, match="1 or 2 columns"):
        plot.decision_regions(perceptron(), np.zeros((3, 3)), [1, 1, -1])
    with pytest.raises(ValueError, match="one input"):
        plot.regression_curve(smoother(), X, Y)
    with pytest.raises(ValueError, match="one or two"):
        plot.kernel_shape(Gaussian(), center=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="needs 2 axes"):
        plot.before_and_after(X, Y, np.square, ax=[plt.subplots()[1]])
    with pytest.raises(ValueError, match="no line separates"):
        plot.margin(*data.xor())
    with pytest.raises(ValueError, match="give its shape"):
        plot.images(np.zeros((2, 12)))
