"""Curves: what a regressor says, what a query weighs, and errors over a parameter."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    LocalLinearRegressor,
    NadarayaWatsonRegressor,
    data,
    plot,
)

X, T = data.sine_linear_noise(60)


def test_each_curve_has_its_color_and_name_and_the_points_are_drawn_once():
    models = {f"h = {h}": NadarayaWatsonRegressor(bandwidth=h).fit(X, T) for h in (0.1, 0.5, 2)}
    ax = plot.regression_curves(models, X, T, truth=np.sin)
    curves = [line for line in ax.lines if line.get_gid() == "curve"]
    assert len({line.get_color() for line in curves}) == 3
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["truth", *models]
    assert len(ax.collections) == 1
    for line, model in zip(curves, models.values(), strict=True):
        x, said = line.get_data()
        assert said == pytest.approx(model.predict(x[:, None]))


class _Line:
    def predict(self, X, return_std=False):
        mean = 2 * X[:, 0]
        return (mean, np.ones(len(X))) if return_std else mean


class _PlainLine:
    def predict(self, X):
        return 2 * X[:, 0]


def test_a_curve_has_a_band_where_the_model_knows_its_spread():
    band = plot.regression_curve(_Line(), X, T).collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(2 * X.max() + 2)
    assert len(plot.regression_curve(_Line(), X, T, band=False).collections) == 1
    assert len(plot.regression_curve(_PlainLine(), X, T).collections) == 1  # the points alone


def test_the_weights_of_a_query_are_the_kernels():
    model = NadarayaWatsonRegressor(Gaussian(1.0), bandwidth=0.5).fit(X, T)
    ax = plot.query_weights(model, 4.0)
    r = np.exp(-((X[:, 0] - 4.0) ** 2) / (2 * 0.5**2))
    assert ax.collections[0].get_sizes() == pytest.approx(6 + 150 * r / r.max())
    mark = ax.lines[-1].get_xydata()[0]
    assert mark == pytest.approx([4.0, (r @ T) / r.sum()])


def test_the_local_line_passes_through_the_answer():
    model = LocalLinearRegressor(bandwidth=0.5).fit(X, T)
    ax = plot.query_weights(model, 4.0)
    (x1, y1), (x2, y2) = ax.lines[1].get_xydata()
    answer = y1 + (y2 - y1) * (4.0 - x1) / (x2 - x1)
    assert answer == pytest.approx(float(model.predict([[4.0]])[0]), rel=1e-6)


def test_errors_over_a_width_are_those_of_the_models():
    Z, y = data.moons(30, noise=0.3)
    more = data.moons(100, noise=0.3, random_state=1)
    widths = [0.05, 0.5, 5.0]
    errors = plot.errors_over(KernelSVC("gaussian(1)"), Z, y, "kernel__sigma", widths, more)
    assert set(errors) == {"training", "leave one out", "held out"}
    for i, width in enumerate(widths):
        model = KernelSVC(Gaussian(width)).fit(Z, y)
        assert errors["training"][i] == pytest.approx(1 - model.score(Z, y))
        assert errors["held out"][i] == pytest.approx(1 - model.score(*more))
    assert errors["training"][0] < errors["held out"][0]  # a narrow Gaussian overfits
    ax = plot.error_curves(widths, errors, "σ")
    best = widths[int(errors["held out"].argmin())]
    assert ax.get_legend().get_texts()[-1].get_text() == f"held out, best σ = {best:g}"
    assert ax.get_xscale() == "log"


def test_errors_of_a_regressor_are_root_mean_squares():
    errors = plot.errors_over(
        KernelRidge("gaussian(1)", fit_intercept=False), X, T, "alpha", [0.01, 1e6], cv=3
    )
    assert set(errors) == {"training", "cross-validation"}
    assert errors["training"][1] == pytest.approx(np.sqrt(np.mean(T**2)), rel=0.05)


def test_few_updates_overfit_less_on_held_out_data():
    """Noise of one part in four: the last updates are spent on it."""
    rng = np.random.default_rng(0)

    def noisy(n, seed):
        Z, y = data.blobs(n, noise=0.5, random_state=seed)
        return Z, np.where(rng.random(n) < 0.25, -y, y)

    model = KernelPerceptron("gaussian(0.15)", epochs=60, random_state=0)
    errors = plot.errors_over(model, *noisy(200, 0), "max_updates", [40, 2000], noisy(600, 1), cv=4)
    assert errors["training"][0] > errors["training"][1]
    gap = errors["held out"] - errors["training"]
    assert gap[0] < gap[1]


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


def test_the_area_under_a_perfect_curve_is_one():
    ax = plot.roc([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert ax.get_legend().get_texts()[0].get_text() == "area 1.0000"


def test_the_old_order_of_arguments_is_told():
    model, names = KernelRidge("gaussian(1)"), ("alpha", [0.01, 1.0])
    with pytest.warns(FutureWarning, match=r"errors_over\(model, X, y, parameter, values\) now"):
        old = plot.errors_over(model, *names, X, T, cv=3)
    new = plot.errors_over(model, X, T, *names, cv=3)
    assert old["training"].tolist() == new["training"].tolist()
