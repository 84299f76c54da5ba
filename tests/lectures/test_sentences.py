"""What the chapters say of a number or a picture, checked against what their blocks show.

Each chapter is run once. A check quotes its sentences, which must be there, and looks at the text
and the figures below them; `after` runs a block again with the lines changed that a reader is told
to change.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import data, plot, theory

pytest.importorskip("matplotlib").use("Agg")
ROOT = Path(__file__).parents[2]
#: By the chapter: what is checked of it.
CHECKS = {}


class Chapter:
    """A chapter's words, and what each of its blocks found, printed and drew."""

    def __init__(self, tools, number):
        text = (ROOT / "docs" / "learn" / f"lecture_{number}.md").read_text("utf-8")
        self.words = " ".join(re.sub("[*`]", "", text).split())
        self.tools, self.blocks = tools, []
        page = tools.Page(number)
        for code in tools.blocks(text):
            if "lecture_items" not in code:
                before = dict(page.names)
                self.blocks.append((code, before, page.run(code), dict(page.names)))

    def says(self, *sentences):
        for sentence in sentences:
            assert sentence in self.words, sentence

    def of(self, part):
        """The only block with these words in it."""
        (found,) = (block for block in self.blocks if part in block[0])
        return found

    def text(self, part):
        return self.of(part)[2].text

    def numbers(self, part):
        return [float(v) for v in re.findall(r"-?\d+\.?\d*", self.text(part))]

    def axes(self, part):
        return [ax for figure in self.of(part)[2].figures for ax in figure.axes]

    def names(self, part):
        return self.of(part)[3]

    def after(self, part, *changes):
        """The text of a block, and its names, with other lines in it."""
        code, before, _, _ = self.of(part)
        for old, new in changes:
            assert old in code
            code = code.replace(old, new)
        page = self.tools.Page("changed")
        page.names |= before
        return page.run(code).text, page.names


def of_chapter(number):
    """Enter a check of a chapter."""
    return lambda check: CHECKS.setdefault(number, []).append(check)


def drawn(ax):
    """The lines of an axes by their names."""
    return {line.get_label(): np.asarray(line.get_ydata(), dtype=float) for line in ax.lines}


# --- 1. The kernel trick ----------------------------------------------------------------------


@of_chapter("000")
def features_and_lines(one):
    one.says("Two inputs became four features.", "No threshold is good enough.",
             "where a line separates them")  # fmt: skip
    assert one.names("def phi")["phi"](np.ones((1, 2))).shape == (1, 4)
    more = ("np.exp(X[:, 0])", "np.exp(X[:, 0]), X[:, 0] ** 2")
    assert "not" not in one.after("def phi", more)[0]
    said = one.text("on the parabola")
    assert re.findall("True|False", said) == ["False", "True"]
    assert "parabola: separable? True" in one.after("on the parabola", ("Map(2)", "Map(3)"))[0]


@of_chapter("000")
def how_many_features(one):
    one.says("With a hundred inputs and degree six that is 1.6 billion.", "has six features")
    assert one.text("plot.monomial_growth()") == "1,609,344,100\n"
    assert one.text("PolynomialMap(2, offset=1).fit(u)").split("\n")[0].count(",") == 5


@of_chapter("000")
def the_same_mistakes_in_the_same_order(one):
    one.says("It makes exactly the same mistakes in the same order.",
             "Both have then made the same mistakes, and have not finished.")  # fmt: skip
    names = one.names("rebuilt")
    X, y = names["X"], names["y"]
    made = [[v.index for v in names[m].steps(X, y) if v.updated] for m in ("primal", "dual")]
    assert made[0] == made[1]
    _, early = one.after("rebuilt", ("epochs=5", "epochs=1"))
    assert early["primal"].n_mistakes_ == early["dual"].n_mistakes_ < names["dual"].n_mistakes_


@of_chapter("000")
def xor_by_hand(one):
    one.says("One mistake, and it has converged.", "four on one diagonal, zero on the other",
             "puts the boundary in the middle", "A second update happens")  # fmt: skip
    assert one.text("t={visit.epoch}").count("wrong") == 1
    assert one.text("model.expansion_.formula()") == "f(x) = (x₁ + x₂)²\n"
    machine = mercer.KernelSVC(mercer.Polynomial(2), C=10).fit(*data.xor())
    np.testing.assert_allclose(machine.decision_function(data.xor()[0]), data.xor()[1], atol=1e-3)
    assert "mistakes: 2" in one.text("other.n_mistakes_")


@of_chapter("000")
def a_narrow_gaussian_draws_islands_and_a_wide_one_a_line(one):
    one.says("a narrow one draws an island around each point, a wide one draws almost a line")
    X, y = one.names("(0.1, 0.6, 3.0)")["X"], one.names("(0.1, 0.6, 3.0)")["y"]
    narrow, wide = (mercer.KernelSVC(mercer.Gaussian(s), C=10).fit(X, y) for s in (0.1, 3.0))
    away = X[y > 0] + [0.0, 0.35]
    near = (np.linalg.norm(away[:, None] - X, axis=2) < 0.3).any(axis=1)
    assert np.ptp(narrow.decision_function(away[~near])) < 0.2  # nothing but the offset there
    plane = theory.separability("linear()", X, wide.predict(X), fit_intercept=True)
    assert plane.separable  # its answers are those of a line


@of_chapter("000")
def what_is_held_out_tells_and_stopping_early_helps(one):
    one.says("a perceptron that stops early overfits less",
             "two thousand steps were not quite enough", "arrives at the same place")  # fmt: skip
    for ax in one.axes("more = data.moons"):
        training, held = (next(v for k, v in drawn(ax).items() if k.startswith(word))
                          for word in ("training", "held out"))  # fmt: skip
        ends = training[[0, -1]]
        assert ends.min() == 0
        assert held.min() < held[int(ends[1] < ends[0]) * -1] - 0.02
    said = one.text("largest difference")
    assert "NotConverged" in said
    assert float(re.search(r"in the end: ([\d.]+)", said)[1]) < 0.01


# --- 2. Kernel methods ------------------------------------------------------------------------


@of_chapter("001")
def maps_that_separate_two_rings(two):
    two.says("These two rings are not linearly separable", "Two features are enough",
             "Three of the four are valid.")  # fmt: skip
    assert re.findall(r"\d\.\d", two.text("Fisher's discriminant:")) == ["1.0"] * 3
    assert "separable: False" in two.text("certificate")
    X, y = two.names("certificate")["X"], two.names("certificate")["y"]
    assert theory.separability("linear()", X**2, y, fit_intercept=True).separable
    said = two.text("smallest eigenvalue").splitlines()
    assert [line.startswith("NOT") for line in said] == [False, False, True, False]
    assert "-0.000" not in two.text("smallest eigenvalue")
    narrow = two.after("smallest eigenvalue", ("Gaussian(1.0))", "Gaussian(1.0), Gaussian(0.01))"))
    assert float(narrow[0].splitlines()[-1].split()[3]) > 0.95


@of_chapter("001")
def more_terms_come_closer(two):
    two.says("More terms come closer.")
    (ax,) = two.axes("taylor_truncations")
    lines = drawn(ax)
    exact = next(v for k, v in lines.items() if "Gauss" in k)
    off = [np.abs(v - exact).max() for k, v in lines.items() if "N = " in k]
    assert off == sorted(off, reverse=True)
    assert off[-1] < 0.02


@of_chapter("001")
def the_degree_of_the_digits_hardly_matters(two):
    two.says("The number of features changes a million times; the error hardly does.")
    said = {d: two.after("y[800:]", ("Polynomial(4", f"Polynomial({d}"))[0] for d in (2, 8)}
    right = [float(one.splitlines()[1][:5]) for one in said.values()]
    assert abs(right[0] - right[1]) < 0.02
    few, many = (mercer.Polynomial(d, offset=1).n_dims(64) for d in (2, 8))
    assert many / few > 1e6
    linear, quartic = two.numbers("y[800:]")[0], two.numbers("y[800:]")[1]
    assert quartic > linear + 0.05  # "it helps"


@of_chapter("001")
def distances_and_the_mean(two):
    two.says("Under a Gaussian nothing is farther away than √2".replace("√2", "$\\sqrt2$"),
             "The point moves to a place with many examples.")  # fmt: skip
    assert max(two.numbers('print("Gaussian: "')[-4:]) == 1.414
    _, names = two.after("mercer import preimage", ("preimage(k, X)", "preimage(Gaussian(0.1), X)"))
    X, narrow = names["X"], names["z"][0]
    around = lambda z: np.sum(np.linalg.norm(X - z, axis=1) < 0.2)  # noqa: E731
    assert around(narrow) > around(two.names("mercer import preimage")["z"][0])
    assert around(narrow) >= np.quantile([around(x) for x in X], 0.5)
    own, best = two.numbers("mercer import preimage")
    assert own < best


@of_chapter("001")
def kernel_components_pull_two_rings_apart(two):
    names = two.names("KernelPCA(Gaussian(0.2), 2)")
    near = mercer.KernelNeighborsClassifier("gaussian(1)", 3)
    y, held = names["y"], np.arange(len(names["y"])) % 3 == 0
    wide = mercer.KernelPCA(mercer.Gaussian(0.5), 2).fit_transform(names["X"])
    right = [
        near.fit(Z[~held], y[~held]).score(Z[held], y[held]) for Z in (names["components"], wide)
    ]
    assert right[0] > 0.9
    assert right[0] > right[1] + 0.1
    values, sums = np.array(two.numbers("largest eigenvalues")).reshape(2, -1)
    assert values.tolist() == sums.tolist()


@of_chapter("001")
def primal_or_dual(two):
    two.says("for 40 examples the dual, for 1000 the primal")
    few, many = two.text("N = {n:4}").splitlines()
    assert "the dual" in few
    assert ": primal" in many


@of_chapter("001")
def local_lines_beside_means(two):
    two.says("With few inputs the local line is more accurate", "Both suffer when there are many",
             "the mean sags, the line does not")  # fmt: skip
    table = np.array(two.numbers("inputs   weighted mean")).reshape(-1, 3)
    assert (table[:3, 2] < table[:3, 1]).all()
    assert (table[3:, 1:].min(axis=0) > 3 * table[0, 1:]).all()
    names = two.names("plot.query_weights")
    X, t = names["X"], names["t"]
    mean, line = (cls(bandwidth=0.7).fit(X, t).predict([[9.8]])[0] for cls in
                  (mercer.NadarayaWatsonRegressor, mercer.LocalLinearRegressor))  # fmt: skip
    truth = 4.9 + 2 * np.sin(9.8)
    assert abs(line - truth) < abs(mean - truth)


# --- 3. Perceptron and kernels ----------------------------------------------------------------


@of_chapter("002")
def hebb_and_perceptron_end_differently(three):
    three.says("On the same data they end differently.")
    words = [text.get_text() for text in three.axes("hebb_and_perceptron")[0].get_legend().texts]
    assert words == ["Hebb: 2 wrong", "perceptron: 0 wrong"]


@of_chapter("002")
def the_bound_is_that_of_the_theorem(three):
    three.says("it holds for the worst one", "The picture shows the two closing in.",
               "a wider gap. Bound and mistakes fall together.")  # fmt: skip
    part = "print(theory.report(dual, near, y))"
    model, near, y = (three.names(part)[name] for name in ("dual", "near", "y"))
    report = theory.report(model, near, y)
    assert str(report) in three.text(part)
    R, rho, b = (report[name][0] for name in ("radius R", "half width ρ", "offset b*, ‖w*‖ = 1"))
    bound = (b**2 + 1) * (R**2 + 1) / rho**2
    assert report["mistakes"] == (pytest.approx(bound), model.n_mistakes_)
    label = f"(b*² + 1)(R² + 1)/ρ² = {bound:,.0f}"
    legend = three.axes(part)[0].get_legend().texts
    assert [t.get_text() for t in legend] == ["9 mistakes", label]
    (proof,) = three.axes("convergence_proof")
    assert label in [t.get_text() for t in proof.texts]
    low, high = map(int, re.search(r"from (\d+) to (\d+)", three.text(part)).groups())
    assert low < high < bound
    _, wide = three.after("theory.hebb(stretched", ("data.blobs(40)", "data.blobs(40, noise=0.2)"))
    near = wide["X"] + [1.0, 0.5]
    dual = mercer.KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50)
    less = theory.report(dual.fit(near, wide["y"]), near, wide["y"])["mistakes"]
    assert less[0] < bound
    assert less[1] < model.n_mistakes_


@of_chapter("002")
def noise_gaps_and_fewest_errors(three):
    three.says("it never stops. The library says so.", "XOR needs one error at least")
    assert "NotConverged" in three.text("noisy[:4] *= -1")
    hard, easy = (ax.get_title() for ax in three.axes("plot.hardness"))
    assert float(hard.split("= ")[1]) > 20 * float(easy.split("= ")[1])
    assert "at least 1 error" in three.text("theory.fewest_errors")
    _, apart = three.after("theory.fewest_errors", ("distance=1.4", "distance=3.0"))
    assert apart["errors"] < three.names("theory.fewest_errors")["errors"]


@of_chapter("002")
def quadrics_and_glyphs(three):
    three.says("boundaries are circles, hyperbolas and parabolas", "so do 6 and 9")
    for ax in three.axes("quadrics"):
        assert ax.get_title() in ("circle", "hyperbola", "parabola")
    lines = three.text("GlyphFeatures((40, 40))").splitlines()[1:]
    rows = {digit: found for digit, *found in (line.split() for line in lines)}
    assert rows["6"][:4] == rows["9"][:4]
    assert rows["2"][:3] == rows["3"][:3] == rows["5"][:3] == ["0", "0", "0"]
    axes = three.axes("GlyphFeatures((40, 40))")
    axes[0].figure.canvas.draw()
    boxes = [ax.title.get_window_extent() for ax in axes]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    assert all(ax.title.get_fontsize() >= 9 for ax in axes)


@of_chapter("002")
def features_that_many_need_and_few_do_not(three):
    three.says("they are easy", "the same values in random order need a far larger one")
    shot = re.findall(r"features: ([\d.]+)", three.text("RandomFourierMap"))
    few, many = map(float, shot)
    assert few < 0.75
    assert many > 0.95
    names = three.names("PolarMap(winding")
    Z, y = data.spirals(160)
    unrolled = names["PolarMap"](winding=4 * np.pi, unrolled=True).fit_transform(Z)
    assert theory.separability("linear()", unrolled, y, fit_intercept=True).separable
    assert not theory.separability("linear()", Z, y, fit_intercept=True).separable
    smooth, rough = (float(v) for v in re.findall(r"= +([\d.]+)", three.text("squared_norm")))
    assert rough > 100 * smooth
    found = re.findall(r"^\w+ +([\d.]+)$", three.text("people"), re.M)
    raw, scaled, ranks = map(float, found)
    assert min(scaled, ranks) > raw + 0.2
    assert not re.search(r"\d\.?\d{9}", three.text("people"))  # sixteen digits of a width


@of_chapter("002")
def blocks_spectra_and_eigenvalues(three):
    three.says("Sorted by class, a good kernel shows blocks.", "then fall faster",
               "Odd B-splines pass. The box fails")  # fmt: skip
    picture = three.axes("plot.gram(Gaussian(0.5)")[0].images[0].get_array()
    half = len(picture) // 2
    own = [picture[:half, :half].mean(), picture[half:, half:].mean()]
    assert min(own) > 3 * picture[:half, half:].mean()
    narrow, wide = (np.linalg.eigvalsh(mercer.Gaussian(s)(np.linspace(0, 1, 60)[:, None]))[::-1]
                    for s in (0.2, 0.5))  # fmt: skip
    assert (wide / wide[0])[4] < 0.1 * (narrow / narrow[0])[4]
    assert three.text("GaussianMixture(2").splitlines()[0].startswith("✗ BSpline(degree=2)")
    assert three.text("GaussianMixture(2").count("✓") == 2
    words = [[t.get_text() for t in ax.get_legend().texts] for ax in three.axes("plot.fourier")]
    assert ["<" in " ".join(w) for w in words] == [False, False, True]


# --- 4. Similarities and support vectors ------------------------------------------------------


@of_chapter("003")
def more_examples_come_closer_to_the_truth(four):
    four.says("With more examples the map of answers comes closer to the truth.")
    wrong = [float(re.search(r"([\d.]+)% wrong", ax.get_title())[1])
             for ax in four.axes("def truth")]  # fmt: skip
    assert wrong == sorted(wrong, reverse=True)
    four.says("Set n_neighbors=15, and take 20 and 50 examples in place of 2 and 10.")
    many = ("n_neighbors=1)", "n_neighbors=15)")
    assert four.after("def truth", ("(2, 10,", "(20, 50,"), many)[1]["model"].n_neighbors == 15


@of_chapter("003")
def pixels_know_nothing_of_their_neighbors(four):
    four.says("Its pixels overlap nowhere.", "turned by half a circle, a 6 is a 9",
              "is not a kernel")  # fmt: skip
    assert four.numbers("moved = np.roll")[0] == 0
    said = four.text("RotationInvariant(Cosine()")
    assert "four rotations: 1.0" in said
    assert "not a kernel" in said
    far, near = four.numbers("TangentDistance(16, 16).tangent_distance(large[300:]")
    assert near < far
    same, _ = four.after("moved = np.roll", ("stroke, 2,", "stroke, 1,"),
                         ("stroke[3:13, 7] = 1", "stroke[3:13, 7:9] = 1"))  # fmt: skip
    assert float(re.search(r"similarity: ([\d.]+)", same)[1]) == 10.0


@of_chapter("003")
def lazy_and_eager_come_closer(four):
    four.says("The two pictures come closer.")
    names = four.names("lazy, eager =")
    X, y = names["T3"], names["c3"]
    grid = np.random.default_rng(0).uniform(X.min(0), X.max(0), (2000, 2))
    lazy = [mercer.KernelNeighborsClassifier("gaussian(0.4)", n).fit(X, y) for n in (1, 15)]
    apart = [np.mean(model.predict(grid) != names["eager"].predict(grid)) for model in lazy]
    assert apart[1] < apart[0]


@of_chapter("003")
def kernels_that_are_none(four):
    four.says("Illegal kernels sometimes work, but not always. You are warned:")
    said = four.text("Sigmoid(0.5, 0.5)")
    assert re.findall(r"([\d.]+) right", said) == ["1.00", "0.00"]
    assert "KernelWarning" in said
    for k in (mercer.Sigmoid(0.5, 0.5), -1.0 * mercer.Linear()):
        assert not mercer.prove(k, n_features=2)


@of_chapter("003")
def what_can_be_separated(four):
    four.says("Then the perceptron converges", "every Gaussian does it")
    separable, not_ = data.blobs(40), data.blobs(40, distance=0.8)
    assert theory.separability("linear()", *separable, fit_intercept=True).separable
    assert not theory.separability("linear()", *not_, fit_intercept=True).separable
    assert "30 of 30" in four.text("labelings of five points")
    straight, _ = four.after("labelings of five points", ("gaussian(0.5)", "linear()"))
    assert "30 of 30" not in straight
    assert four.text("E9, signs") == "9\n"


@of_chapter("003")
def perceptrons_thrash_and_machines_do_not(four):
    four.says("an update that fixes one example breaks others", "always the same one",
              "it needs few examples to describe it", "the machine is the same",
              "All of these are support vectors.")  # fmt: skip
    accuracy = drawn(four.axes("plot.accuracy_over_visits")[0])["accuracy"]
    assert (np.diff(accuracy) < -0.02).sum() >= 5
    names = four.names("widest = KernelSVC")
    X, y, fits = names["X2"], names["y2"], names["fits"]
    ways = np.array([m.coef_[0] / np.linalg.norm(m.coef_[0]) for m in fits])
    assert np.ptp(ways[:, 0]) > 0.1  # another line for each order
    order = np.random.default_rng(0).permutation(len(X))
    again = mercer.KernelSVC("linear()", C=1e4).fit(X[order], y[order])
    np.testing.assert_allclose(
        again.decision_function(X), names["widest"].decision_function(X), atol=1e-3
    )
    assert len(names["widest"].support_) < 0.1 * len(X)
    assert float(re.search(r"scores: (\S+)", four.text("alone.decision_function"))[1]) < 1e-5
    counts = [int(v) for v in re.findall(r"(\d+) support", four.text("for C in (1e4, 1, 0.01)"))]
    assert counts == sorted(counts)
    errors = [float(v) for v in re.findall(r"most ([\d.]+)", four.text("theory.margin_bound"))]
    assert errors == sorted(errors, reverse=True)


# --- 5. All of it, once more ------------------------------------------------------------------


@of_chapter("004")
def the_notes(five):
    five.says("On the line it has two thresholds.", "up to four thresholds become possible",
              "so that the first example always moves")  # fmt: skip
    names = five.names("h(x) = sign(")
    (a, b), c = names["model"].coef_[0], names["model"].intercept_[0]
    roots = np.sort(np.roots([b, a, c]))
    assert np.isreal(roots).all()
    x, y = names["X"][:, 0], names["y"]
    assert (y == np.where((x - roots[0]) * (x - roots[1]) * b > 0, 1, -1)).all()
    _, four = five.after("h(x) = sign(", ("PowersMap(2)", "PowersMap(4)"))
    assert four["model"].coef_.shape == (1, 4)
    hand, library = re.findall(r"\[([^\]]*)\]", five.text("by hand:"))
    assert hand == library
    assert five.numbers("alpha_init")[0] == 1.0
    left, right = (ax for ax in five.axes("the left one cannot converge"))
    assert (left.get_title(), right.get_title()) == ("x·x'", "x·x' + (x·x')²")
    circles = five.names("the left one cannot converge")["circles"]
    assert five.names("the left one cannot converge")["fitted"].score(*circles) > 0.95
    wrong = mercer.KernelPerceptron("linear()", fit_intercept=True, epochs=50, averaging="average")
    assert wrong.fit(*circles).score(*circles) < 0.8
    more, _ = five.after("products = np.einsum", ("two = Linear(), Polynomial(2)",
                                                  "two = Linear(), Polynomial(3)"))  # fmt: skip
    assert "8 features" in more


@pytest.mark.parametrize("number", CHECKS)
def test_what_a_chapter_says_is_so(number, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import pages

    chapter = Chapter(pages, number)
    for check in CHECKS[number]:
        check(chapter)
    pages.Page("end").plt.close("all")


def test_the_proof_s_formulas_are_those_without_a_bias_too():
    X, y = data.blobs(20)
    curves = plot.proof_curves(mercer.KernelPerceptron("linear()", shuffle=False).fit(X, y), X, y)
    assert curves.formulas == ("jρ", "√j R", "(R/ρ)²")
