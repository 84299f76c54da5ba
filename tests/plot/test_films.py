"""Films: what their frames show, and the files that they become."""

import base64
import io
import re
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import mercer
from mercer import (
    KernelKMeans,
    KernelLogisticRegression,
    KernelOneClass,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    LocalLinearRegressor,
    Perceptron,
    data,
    plot,
)
from mercer.maps import PolynomialMap
from mercer.plot.films import reel
from mercer.plot.films.field import Field, chosen

X, Y = data.blobs(14)
XOR = data.xor()


def heights(ax):
    return np.array([bar.get_height() for bar in ax.patches[: len(ax.containers[0])]])


def ring(ax):
    return next(c for c in ax.collections if c.get_gid() == "rings").get_offsets()


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_which_steps_are_shown():
    assert chosen([3, 5], 10, 100) == list(range(10))
    assert chosen([3, 5], 100, 4) == [0, 3, 5, 99]
    assert chosen([], 100, 3) == [0, 50, 99]
    assert chosen(range(50), 100, 5)[-1] == 99
    assert len(chosen([7], 1000, 20)) == 20


@pytest.mark.parametrize("kind", ["dual", "primal"])
def test_a_perceptron_visit_by_visit(kind):
    options = {"fit_intercept": True, "shuffle": False, "epochs": 50}
    model = KernelPerceptron("linear()", **options) if kind == "dual" else Perceptron(**options)
    near = X + [1.0, 0.5]
    film, fitted = plot.film(model, near, Y, 100), model.fit(near, Y)
    assert len(film) == min(100, fitted.n_visits_)
    assert film.caption(0) == "epoch 1, visit 1: mistake 1"
    left, bars, proof, count = film.figure.axes
    np.testing.assert_array_equal(ring(left), near[:1])
    np.testing.assert_array_equal(heights(bars), np.eye(14)[0] * (1 if Y[0] == 1 else -1))
    assert len(left.lines) == 1  # the cross on a mistake
    assert film.caption(-1).endswith("right")
    assert not left.lines
    assert "w" in words(left)
    visits = list(model.steps(near, Y))
    np.testing.assert_array_equal(heights(bars), visits[-1].alpha)
    curves = plot.proof_curves(fitted, near, Y)
    norm = next(line for line in proof.lines if line.get_label() == "‖w‖")
    np.testing.assert_array_equal(norm.get_ydata(), curves.norm)
    assert count.lines[1].get_ydata() == [fitted.n_mistakes_]
    assert count.get_title() == f"mistakes: {fitted.n_mistakes_}"
    assert any(curves.formulas[2] in word for word in words(count))
    assert fitted.n_mistakes_ <= curves.bound


def test_the_proof_pinches_frame_by_frame():
    film = plot.film(KernelPerceptron("polynomial(2)", shuffle=False), *XOR, 100)
    lengths, frames = [], set()
    for i in range(len(film)):
        film.caption(i)
        proof = film.figure.axes[2]
        norm = next(line for line in proof.lines if line.get_label() == "‖w‖")
        lengths.append(len(norm.get_xdata()))
        limits = proof.get_xlim() + proof.get_ylim()
        frames.add(limits)
    visits = list(KernelPerceptron("polynomial(2)", shuffle=False).steps(*XOR))
    assert lengths == [visit.mistakes + 1 for visit in visits]
    assert len(frames) == 1  # the axes do not move


def test_classes_that_no_plane_parts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that it has not converged is what the film shows
        film = plot.film(KernelPerceptron("linear()", 3, shuffle=False), *XOR, 5)
        film.caption(-1)
    assert film.figure.axes[2].get_title() == "‖w‖: not separable"


def test_the_plane_shows_the_function_of_the_model():
    for model in (KernelPerceptron("gaussian(0.5)"), Perceptron(PolynomialMap(2)), Perceptron()):
        model.set_params(random_state=0, max_updates=9)
        field = Field(model.fit(X, Y), X, Y, 5)
        alpha = list(model.steps(X, Y))[-1].alpha
        grid = np.column_stack([field.a.ravel(), field.b.ravel()])
        f = field.scores(alpha, 0.0)
        np.testing.assert_allclose(f.ravel(), model.decision_function(grid), atol=1e-9)


def test_the_gradient_goes_down():
    model = KernelLogisticRegression("gaussian(1)", 0.1, solver="gradient", max_iter=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        film, fitted = plot.film(model, X, Y, 6), model.fit(X, Y)
    assert film.caption(0).startswith("gradient, step 1: objective")
    assert film.caption(-1) == f"gradient, step 40: objective {fitted.objective_:.4g}"
    _, curve, bars = film.figure.axes
    np.testing.assert_array_equal(heights(bars), fitted.dual_coef_)
    assert curve.lines[1].get_ydata()[-1] == fitted.objective_
    assert len(film) <= 7
    newton = plot.film(model.set_params(solver="newton", max_iter=None), X, Y)
    assert newton.caption(0).startswith("newton, step 1")


def test_the_pairs_of_smo():
    model = KernelSVC("gaussian(1)", C=0.5)
    film, steps = plot.film(model, X, Y, 100), list(model.steps(X, Y))
    assert len(film) == len(steps)
    left, gap, bars = film.figure.axes
    for i, step in enumerate(steps):
        assert film.caption(i).endswith(f"the pair {step.pair[0]}, {step.pair[1]}")
        np.testing.assert_array_equal(ring(left), X[list(step.pair)])
        np.testing.assert_array_equal(heights(bars), step.coef)
        assert gap.lines[2].get_ydata() == [step.gap]
    bounds = [line.get_ydata()[0] for line in bars.lines if line.get_linestyle() == "--"]
    assert bounds == [-0.5, 0.5]


def test_the_window_slides():
    x, t = data.sine_linear_noise(30)
    model = LocalLinearRegressor(bandwidth=0.7)
    film = plot.film(model, x, t, 4)
    ends = []
    for i in range(4):
        film.caption(i)
        curve = next(
            line for line in film.figure.axes[0].lines if line.get_label() == "curve so far"
        )
        ends.append(curve.get_xdata()[-1])
    np.testing.assert_allclose(ends, np.linspace(x.min(), x.max(), 4), atol=0.04)
    query, curve = curve.get_xdata()[50], curve.get_ydata()[50]
    assert curve == pytest.approx(model.fit(x, t).predict([[query]])[0])


def test_an_svm_in_space():
    """Gordon and Smola, line 447: the film of a machine with a polynomial kernel."""
    circles, y = data.circles(20)
    model = KernelSVC("polynomial(2)", C=10.0)
    film = plot.film(model, circles, y, 7, space=True)
    assert film.caption(0) == "the inputs rise to φ(x): 0 %"
    left, space = film.figure.axes
    model.fit(circles, y)
    phi = model.kernel_.features(circles)
    flat = np.concatenate([np.ma.getdata(c._offsets3d[2]) for c in space.collections[1:]])
    np.testing.assert_allclose(flat, phi[:, 2].min())
    before = len(left.collections)
    assert film.caption(-1) == "a plane in feature space is a curve in the input"
    assert len(left.collections) > before  # the curve below
    lifted = np.sort(
        np.concatenate([np.ma.getdata(c._offsets3d[2]) for c in space.collections[2:]])
    )
    np.testing.assert_allclose(lifted, np.sort(phi[:, 2]), atol=1e-12)
    with pytest.raises(ValueError, match="room for 3"):
        plot.film(KernelSVC("gaussian(1)"), circles, y, space=True)


def test_the_part_of_a_plane_inside_a_box(monkeypatch):
    from mpl_toolkits.mplot3d import art3d

    from mercer.plot.lifting import plane_in_space

    class Canvas:
        drawn = ()

        def add_collection3d(self, polygons):
            self.drawn = np.array(polygons[0])

    monkeypatch.setattr(art3d, "Poly3DCollection", lambda polygons, **look: polygons)
    w, b, low, high = np.array([1.0, 1.0, 1.0]), -1.5, np.zeros(3), np.ones(3)
    canvas = Canvas()
    plane_in_space(canvas, w, b, low, high)  # through the middle: the regular hexagon
    np.testing.assert_allclose(canvas.drawn @ w + b, 0.0, atol=1e-12)
    sides = np.linalg.norm(canvas.drawn - np.roll(canvas.drawn, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, np.full(6, np.sqrt(0.5)))
    plane_in_space(other := Canvas(), w, 1.0, low, high)
    assert not len(other.drawn)


def test_what_has_no_film():
    with pytest.raises(TypeError, match="no film of KernelSVC: its kernel has no width"):
        plot.film(KernelSVC("linear()"), *data.blobs(9, classes=3))
    with pytest.raises(ValueError, match="over one input"):
        plot.film(LocalLinearRegressor(), X, Y)


@pytest.mark.parametrize(
    ("model", "points"),
    [
        (KernelRidge("gaussian(0.5)"), data.sine_linear_noise(20)),
        (KernelRidge("linear()", alpha=0.1), data.sine_linear_noise(20)),
        (KernelOneClass("gaussian(0.3)"), (data.moons(30)[0],)),
        (KernelKMeans("gaussian(0.3)", 2), (data.moons(30)[0],)),
        (KernelPerceptron("gaussian(0.5)", random_state=0), data.blobs(30, classes=3)),
        (KernelSVC("2*gaussian(0.3) + 1"), data.hard_line(20)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_all_others_go_from_wide_to_narrow(model, points):
    film = plot.film(model, *points, frames=5)
    name, values = "sigma", [0.3, 0.5]
    if "linear" in repr(model.kernel):
        name, values = "alpha", [0.1]
    middle = film.caption(2)
    assert any(middle.startswith(f"{name} = {value:g}") for value in values), middle
    pictures = []
    for i in (0, 4):
        film.caption(i)
        buffer = io.BytesIO()
        film.figure.savefig(buffer, format="png", dpi=30)
        pictures.append(buffer.getvalue())
    assert pictures[0] != pictures[1]
    if len(points) == 2 and "training error" in middle:  # that of the model itself
        said = model.fit(*points).predict(points[0])
        wrong = np.mean(said != points[1])
        error = (
            f"{wrong:.1%}"
            if hasattr(model, "classes_")
            else f"{np.mean((said - points[1]) ** 2):.3g}"
        )
        assert middle.endswith(error)


def test_the_page_of_a_perceptron_computes(tmp_path):
    model = KernelPerceptron("gaussian(0.5)", random_state=0)
    film = plot.film(model, *data.moons(30), frames=4)
    text = film.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert '"law"' in text
    assert "image/png" not in text
    assert len(text) < 300_000
    bias = plot.film(
        KernelPerceptron("gaussian(0.5)", fit_intercept=True), *data.moons(30), frames=4
    )
    assert "image/png" in bias.save(tmp_path / "y.html", dpi=20).read_text(encoding="utf-8")


PLANE, LINE = data.blobs(30, classes=3), data.sine_linear_noise(30)


@pytest.mark.parametrize(
    ("model", "points", "page"),
    [
        (mercer.KernelRidgeClassifier("gaussian(0.4)", alpha=0.2), PLANE, True),
        (mercer.KernelSVC("gaussian(0.4)", C=3.0), PLANE, True),
        (mercer.KernelNeighborsClassifier("gaussian(0.4)", n_neighbors=3), PLANE, True),
        (mercer.KernelRidge("gaussian(1)", alpha=0.3), LINE, True),
        (mercer.NadarayaWatsonRegressor(bandwidth=0.6), LINE, True),
        (mercer.LocalLinearRegressor(bandwidth=0.6), LINE, True),
        (mercer.KernelSVC("gaussian(0.4)", class_weight="balanced"), PLANE, False),
        (mercer.GaussianProcessRegressor("gaussian(1)"), LINE, False),
    ],
)
def test_the_page_of_a_fit_has_sliders_where_it_can(model, points, page, tmp_path):
    film = plot.film(model, *points, frames=2)
    text = film.save(tmp_path / "x.html", dpi=20).read_text(encoding="utf-8")
    assert ("image/png" in text) is not page
    assert ('"sliders"' in text) is page


@pytest.fixture
def short():
    figure = Figure(figsize=(2, 1))

    def draw(i):
        figure.clear()
        figure.text(0.1, 0.5, f"frame {i}")
        return f"caption {i} & more"

    return plot.Film(figure, draw, 3)


def test_a_gif(short, tmp_path):
    with Image.open(short.save(tmp_path / "film.gif", dpi=20)) as gif:
        assert (gif.n_frames, gif.format) == (3, "GIF")
        assert gif.info["duration"] == 250
        gif.seek(2)
        assert gif.info["duration"] == 2000


def test_a_page_with_a_slider(short, tmp_path):
    page = short.save(tmp_path / "film.html", dpi=20).read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert 'type="range" min="0" max="2"' in page
    assert "http" not in page  # nothing is fetched
    assert "caption 0 &amp; more" in page
    pictures = re.search(r"pictures = \[(.*?)\]", page).group(1)
    frames = [base64.b64decode(part) for part in re.findall(r'"([^"]+)"', pictures)]
    assert len(frames) == 3
    assert Image.open(io.BytesIO(frames[0])).size == tuple(20 * short.figure.get_size_inches())
    assert frames[0] != frames[1]


def test_a_notebook_shows_the_player(monkeypatch, short):
    film = plot.Film(short.figure, lambda i: "</script><b>", 1)
    shown = film._repr_html_()
    assert "<figure" in shown
    assert shown.count("</script>") == 1


def test_a_sheet_of_all_frames(short, tmp_path):
    with Image.open(short.save(tmp_path / "film.png", dpi=20)) as sheet:
        assert sheet.size == tuple(2 * 20 * short.figure.get_size_inches())


def test_an_mp4_gets_every_frame(short, tmp_path, monkeypatch):
    """With matplotlib's other writer in the place of ffmpeg, which is not everywhere."""
    from matplotlib import animation

    written = []

    class Writer(animation.PillowWriter):
        def finish(self):
            written.extend(self._frames)

    monkeypatch.setattr(reel.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(animation, "FFMpegWriter", Writer)
    short.save(tmp_path / "film.mp4", dpi=20)
    assert [frame.size for frame in written] == [(40, 20)] * 3
    assert written[0].tobytes() != written[1].tobytes()


def test_an_mp4_needs_ffmpeg(short, tmp_path, monkeypatch):
    monkeypatch.setattr(reel.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="needs the program ffmpeg"):
        short.save(tmp_path / "film.mp4")
    with pytest.raises(ValueError, match=r"not as '\.avi'"):
        short.save(tmp_path / "film.avi")


def test_a_film_says_how_it_is_saved():
    film = plot.film(KernelPerceptron("linear()", shuffle=False), *data.blobs(20), frames=3)
    assert "film.save(" in repr(film)
