"""Pictures of classifiers show the regions, thresholds, rings and arrows of the model itself."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPerceptron, KernelSVC, Perceptron, data, plot
from mercer.maps import PolarMap, PolynomialMap, PowersMap


def ringed(ax):
    rings = [c for c in ax.collections if c.get_gid() == "rings"]
    return rings[0].get_offsets().data.tolist() if rings else []


def dashed(ax):
    return [c for c in ax.collections if any(style[1] for style in c.get_linestyle())]


def test_points_of_a_line_and_of_the_plane():
    flat = plot.points(*data.easy_line())
    assert all((c.get_offsets()[:, 1] == 0).all() for c in flat.collections)
    X, y = data.xor()
    drawn = plot.points(X, y).collections
    assert drawn[0].get_offsets().data.tolist() == X[y == -1].tolist()


def test_rings_are_support_vectors_whatever_rows_are_shown():
    X, y = data.moons(60)
    model = KernelSVC("gaussian(0.5)").fit(X[:40], y[:40])
    support = X[:40][model.support_].tolist()
    assert sorted(ringed(plot.decision_regions(model, X[:40], y[:40]))) == sorted(support)
    # Shown other rows, none of them a support vector, there is no ring (there was an IndexError).
    assert ringed(plot.decision_regions(model, X[40:], y[40:])) == []
    both = plot.decision_regions(model, X[::-1], y[::-1])
    assert sorted(ringed(both)) == sorted(support)


def test_a_pipeline_is_ringed_where_it_was_fitted():
    X, y = data.moons(60)
    model = make_pipeline(StandardScaler(), KernelSVC("gaussian(0.5)")).fit(X, y)
    assert sorted(ringed(plot.decision_regions(model, X, y))) == sorted(
        X[model[-1].support_].tolist()
    )


def test_a_film_keeps_its_frame():
    X, y = data.moons(40)
    ax = plot.decision_regions(KernelSVC("gaussian(0.5)").fit(X, y), X, y, extent=(-4, 4, -3, 3))
    assert ax.get_xlim() == (-4, 4)
    assert ax.get_ylim() == (-3, 3)
    region = ax.collections[0]
    assert region.get_array().min() < -0.5  # both classes have their part
    assert region.get_array().max() > 0.5


def test_only_machines_with_a_margin_have_dashes():
    X, y = data.moons(60)
    machine = KernelSVC("gaussian(0.5)", C=10.0).fit(X, y)
    assert len(dashed(plot.decision_regions(machine, X, y))) == 2
    assert not dashed(plot.decision_regions(machine, X, y, margins=False))
    perceptron = KernelPerceptron("gaussian(0.5)", epochs=20).fit(X, y)
    assert not dashed(plot.decision_regions(perceptron, X, y))


def test_thresholds_stand_where_the_class_changes():
    X, y = data.hard_line()
    model = Perceptron(PowersMap(2), fit_intercept=True, epochs=500, shuffle=False).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    roots = sorted(np.roots([w[1], w[0], b]).real)
    for draw in (plot.thresholds, plot.decision_regions):  # the second knows a line when it sees it
        ax = draw(model, X, y)
        cuts = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
        assert cuts == pytest.approx(roots, abs=0.01)
        assert [t.get_text() for t in ax.texts] == [f"{c:.3g}" for c in cuts]


@pytest.mark.parametrize("classes", [2, 3])
def test_weight_vectors_point_along_w(classes):
    X, y = data.blobs(60, classes=classes)
    model = Perceptron(fit_intercept=True, shuffle=False).fit(X, y)
    ax = plot.weight_vectors(model, X, y)
    arrows = [t for t in ax.texts if t.arrow_patch is not None]
    assert len(arrows) == len(model.coef_)
    for w, b, drawn in zip(model.coef_, model.intercept_, arrows, strict=True):
        begin, end = np.array(drawn.xyann), np.array(drawn.xy)
        way = end - begin
        assert way @ w == pytest.approx(np.linalg.norm(way) * np.linalg.norm(w))
        if classes == 2:
            assert w @ begin + b == pytest.approx(0, abs=1e-9)
    names = [t.get_text() for t in ax.texts if t.get_text()]
    assert names == (["w"] if classes == 2 else [f"w$_{{{c}}}$" for c in model.classes_])


def in_space(ax):
    """The points of both classes."""
    return np.asarray(np.vstack([np.column_stack(c._offsets3d) for c in ax.collections[-2:]]))


def test_the_lifted_circles_are_cut_by_a_plane(monkeypatch):
    from mpl_toolkits.mplot3d import art3d

    planes = []

    class Noted(art3d.Poly3DCollection):
        def __init__(self, polygons, **look):
            planes.extend(polygons)
            super().__init__(polygons, **look)

    monkeypatch.setattr(art3d, "Poly3DCollection", Noted)
    X, y = data.circles(40)
    left, right = plot.before_and_after(X, y, lambda Z: np.c_[Z, (Z**2).sum(axis=1)])
    assert right.name == "3d"
    points = in_space(right)
    assert np.sort(points[:, 2]) == pytest.approx(np.sort((X**2).sum(axis=1)))
    # One plane is drawn, and it is the boundary of both pictures: the classes lie on its sides.
    assert len(planes) == 1
    corners = np.array(planes[0])
    model = plot.LinearInFeatures(X, y, lambda Z: np.c_[Z, (Z**2).sum(axis=1)])
    assert corners @ model.w + model.b == pytest.approx(np.zeros(len(corners)), abs=1e-9)
    assert [np.unique(np.sign(points[i : i + 20] @ model.w + model.b)).size for i in (0, 20)] == [
        1,
        1,
    ]
    curves = [p.vertices for c in left.collections for p in c.get_paths() if len(p.vertices) > 50]
    assert min(np.abs(model.decision_function(curve)).max() for curve in curves) < 0.05


def test_the_line_is_lifted_onto_the_parabola():
    X, y = data.hard_line()
    left, right = plot.before_and_after(X, y, PowersMap(2))
    points = np.vstack([c.get_offsets().data for c in right.collections])
    assert points[:, 1] == pytest.approx(points[:, 0] ** 2)
    parabola, straight = (line.get_xydata() for line in right.lines)
    assert parabola[:, 1] == pytest.approx(parabola[:, 0] ** 2)
    w = np.linalg.solve(straight, [1.0, 1.0])  # w·φ = 1 on the line
    assert {tuple(np.unique(np.sign(c.get_offsets().data @ w - 1))) for c in right.collections} == {
        (1.0,), (-1.0,),
    }  # fmt: skip
    assert len([line for line in left.lines if line.get_linestyle() == "--"]) == 2


def test_xor_is_lifted_into_three_dimensions():
    ax = plot.feature_space(*data.xor(), PolynomialMap(2))
    points = in_space(ax)
    assert np.abs(points[:, 1]) == pytest.approx(np.full(4, np.sqrt(2)))
    assert ax.get_zlabel() == "φ₃"


def test_spirals_are_straightened():
    X, y = data.spirals(80)
    _, right = plot.before_and_after(X, y, PolarMap(winding=4 * np.pi, unrolled=True))
    heights = [np.unique(np.round(c.get_offsets().data[:, 1], 6)) for c in right.collections]
    assert heights[0] == pytest.approx([np.pi])
    assert heights[1] == pytest.approx([0.0], abs=1e-6)


def test_where_nothing_separates_no_boundary_is_drawn():
    left, right = plot.before_and_after(*data.xor(), lambda Z: Z)
    assert not right.lines
    assert len(left.collections) == 2


def test_a_network_shows_alpha_and_the_score():
    X, y = data.xor()
    model = KernelPerceptron("polynomial(2)", tie="first", shuffle=False).fit(X, y)
    words = [t.get_text() for t in plot.network(model.expansion_, X[:1]).texts]
    assert "+1" in words
    assert any("= 4" in w and "Σ" in w for w in words)


def test_contributions_add_up_to_the_score():
    X, y = data.moons(40)
    f = KernelSVC("gaussian(0.4)").fit(X, y).expansion_
    ax = plot.contributions(f, X[:1], most=1000)
    rest = float(ax.get_title().split("rest: ")[1].rstrip(")"))
    total = sum(bar.get_width() for bar in ax.patches) + rest
    assert total + float(f.intercept) == pytest.approx(float(f(X[:1])[0]), rel=1e-2)


def test_the_words_that_decided_are_the_messages_own():
    from mercer.maps import EmailFeatures

    messages, y = data.mail(40)
    phi = EmailFeatures(("words",)).fit(messages)
    model = KernelSVC("linear()").fit(phi.transform(messages), y)
    ax = plot.deciding_words(model, phi, messages[1], most=5)
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert len(names) == 5
    assert all(name in messages[1] for name in names)
    assert ax.get_title().startswith("taken for spam")
    assert ax.get_xlabel().startswith("← ham")
    plt.close("all")


def test_one_row_is_one_example():
    X, y = data.moons(40)
    model = KernelSVC("gaussian(0.5)").fit(X, y)
    f = model.expansion_
    same = [[bar.get_width() for bar in plot.contributions(f, x).patches] for x in (X[0], X[:1])]
    assert same[0] == same[1]
    texts = [[t.get_text() for t in plot.network(f, x).texts] for x in (X[0], X[:1])]
    assert texts[0] == texts[1]
    assert [b.get_width() for b in plot.contributions(model, X[0]).patches] == same[0]
    assert [t.get_text() for t in plot.network(model, X[0]).texts] == texts[0]
