"""The report: one file, nothing fetched, nothing believed, every section filled."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
from mercer import data, prove, report
from mercer._escape import html
from mercer._machine.deadline import announced
from mercer.data import Dataset, Schema
from mercer.report import svg
from mercer.report.errors import errors
from mercer.report.page import fingerprint
from mercer.report.words import fine_print, summary
from mercer.selection import SearchNode, SearchTree, compare

EVIL = '<script>alert("x")</script>'


class Page(HTMLParser):
    """Checks that tags nest, and keeps what there is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.words.append("" if tag == "wbr" else " ")
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href"):
                self.addresses.append(value)
            assert not name.startswith("on"), "no handler"
        if tag not in ("meta", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, words):
        if not self.open or self.open[-1] != "style":
            self.words.append(words)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@pytest.fixture
def words_only(monkeypatch):
    """Renders a page without its pictures, which take most of the time."""
    monkeypatch.setattr("mercer.report.page.pictures", lambda board, found: iter(()))
    return lambda board, found: Page(report.render(board, found))


def few(found, **options):
    return compare(found, kernels=["gaussian(1)", "linear()"], cv=3, **{"holdout": None, **options})


@pytest.fixture(scope="module")
def moons():
    X, y = data.moons(90, noise=0.25)
    found = Dataset(X, y, "vectors", "classification", "y", "moons", (), None, (),
                    Schema("vectors", target="y"))  # fmt: skip
    return few(found, learners=["logistic"]), found


@pytest.fixture(scope="module")
def moons_page(moons):
    return report.render(*moons)


@pytest.fixture(scope="module")
def table_page(table):
    return report.render(*table)


@pytest.fixture(scope="module")
def table():
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 80
    frame = pd.DataFrame(
        {
            "size <b>": rng.normal(size=n),
            "town": rng.choice(["Rome", EVIL, "a & b"], n),
            "day": [f"2020-01-{1 + i % 28:02d}" for i in range(n)],
            "flag": rng.choice([True, False], n),
            **{f"c{i}": rng.normal(size=n) for i in range(6)},
        }
    )
    frame["price &amp;"] = 3 * frame["size <b>"] + (frame["town"] == EVIL) + rng.normal(size=n) / 3
    frame.loc[3, "size <b>"] = np.nan
    found = data.Dataset.of(frame, target="price &amp;", source=f"table {EVIL}.csv")
    return few(found, learners=["ridge"]), found


def test_it_is_one_file_that_fetches_nothing(moons_page):
    text, page = moons_page, Page(moons_page)
    assert all(a.startswith(("#", "data:image/png;base64,")) for a in page.addresses)
    assert not {"script", "link", "iframe", "object", "base", "form"} & set(page.tags)
    assert "@import" not in text
    assert not re.search(r"url\((?!#|&quot;#)", text)
    assert len(page.ids) == len(set(page.ids)), "pictures do not take each other's parts"


def test_it_is_written_to_a_file_that_names_the_model(moons, words_only, tmp_path):
    path = report.write(*moons, tmp_path / "r.html", model=tmp_path / "my best.mercer")
    shown = Page(path.read_text(encoding="utf-8")).text
    assert "mercer.load('my best.mercer')" in shown
    assert "mercer predict 'my best.mercer' <" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r-errors.csv", "r.html"]
    assert "All of them are in r-errors.csv" in shown


def test_arrays_will_do(moons, words_only):
    board, found = moons
    assert "What predicts the target in the data?" in words_only(board, (found.X, found.y)).text


def test_every_section_says_what_was_found(moons, moons_page):
    board, _ = moons
    page = Page(moons_page)
    best = board.best_row
    for words in ("Scoreboard", "Class by class", "The winner", "Errors worth looking at",
                  "Use the model", best.kernel, "It is a kernel", "knowing nothing",
                  f"{100 * best.mean:.2f}", "baseline", board.folds):  # fmt: skip
        assert words in page.text, words
    assert "The search for a kernel" not in page.text
    drawn = set(re.findall(r'aria-label="([^"]*)"', moons_page))
    assert {"confusion matrix", "decision regions", "kernel matrix", "spectrum"} <= drawn


def test_it_is_the_same_every_time(moons, moons_page):
    assert report.render(*moons) == moons_page


def test_nothing_from_the_data_becomes_part_of_the_page(table_page):
    text, page = table_page, Page(table_page)
    assert "script" not in page.tags
    assert "<script" not in text
    assert page.tags.count("b") == 12, "the numbers on the cards alone"
    assert EVIL in page.text, "it is shown as what it is"
    assert "size <b>" in page.text
    assert "price &amp;" in page.text


def test_regression_has_its_own_pictures_and_words(table_page):
    text, page = table_page, Page(table_page)
    assert 'aria-label="residuals"' in text
    assert 'aria-label="confusion matrix"' not in text
    for words in ("R²", "largest errors", "2020-01-", "The first 6 of 10 columns", "True"):
        assert words in page.text
    assert "k between 80 rows in order by price" in page.text


def test_a_curve_over_one_input():
    X, y = data.sine_linear_noise(60)
    found = Dataset(X, y, "vectors", "regression", "y", "sine")
    assert 'aria-label="fitted curve"' in report.render(few(found, learners=["smoother"]), found)


def test_a_learned_metric_says_which_columns_and_directions_matter():
    import pandas as pd

    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 3)), columns=["a", "b", EVIL])
    y = np.sin(2 * (X["a"] - X["b"])).to_numpy()
    options = {"learners": ["ridge"], "rivals": ["rfm"], "holdout": None, "cv": 2}
    board = compare(X, y, kernels=["gaussian(1)"], **options)
    learner = board.best[-1]
    assert learner.metric_.ndim == 2
    page = report.render(board, (X, y))  # a kernel on values and ranks is drawn, too
    words = Page(page).text
    assert "A full metric, learned in" in words
    leading = re.search(r"leading direction has (\d+) % of it: (.*?) …", words)
    assert int(leading[1]) > 90
    first, second = re.findall(r"([+-]0\.\d+) · (\w)", leading[2])[:2]
    assert {first[1], second[1]} == {"a", "b"}
    assert float(first[0]) * float(second[0]) < -0.3
    assert "<script>" not in page


def test_images_are_shown_as_pictures():
    digits = data.digits()
    part = replace(digits, X=digits.X[:150], y=digits.y[:150])
    board = few(part, learners=["neighbours"])
    text = report.render(board, part)
    wrong = int((board.oof.errors > 0).sum())
    assert text.count("data:image/png;base64") >= min(wrong, 12) > 0
    assert "taken for" in text


@pytest.mark.parametrize("kind", ["strings", "mail"])
def test_texts_are_shown_as_texts(moons, kind):
    board, _ = moons
    words = [f"{EVIL} and {'very ' * 80} long {i}" for i in range(90)]
    X = words if kind == "strings" else [w.encode() for w in words]
    found = Dataset(X, data.moons(90)[1], kind, "classification", "y", "texts")
    text = errors(board, found)
    assert "&lt;script&gt;" in text
    assert "…" in text
    assert "<script" not in text


def test_no_errors_is_said(moons, words_only):
    board, found = moons
    right = replace(board, oof=replace(board.oof, predicted=board.oof.truth))
    assert "no error to look at" in words_only(right, found).text


def test_the_search_is_a_tree(moons, words_only):
    board, found = moons
    nodes = [SearchNode("Gaussian()", 0.9, None, True, "start")]
    nodes += [SearchNode(f"Gaussian() + {i} * Linear()", 0.8 - i / 100, 0, False, "no better")
              for i in range(6)]  # fmt: skip
    nodes.append(SearchNode("Gaussian() * Linear()", 0.95, 0, True, "better"))
    tree = SearchTree(tuple(nodes), 7, "leave-one-out")
    page = words_only(replace(board, search=tree), found)
    assert "The search for a kernel" in page.text
    assert "and 2 more" in page.text
    assert page.text.index("Gaussian() * Linear()") < page.text.index("Gaussian() + 0 * Linear()")


def test_what_is_not_proved_is_printed_as_it_is(moons, words_only):
    board, found = moons
    page = words_only(replace(board, proof=prove("-gaussian()")), found)
    assert "✗ not a kernel" in page.text


def test_many_candidates_unfold(moons, words_only):
    board, found = moons
    extra = [replace(board.rows[0], name=f"n{i}", stopped=True, note="stopped early", mean=0.1)
             for i in range(20)]  # fmt: skip
    page = words_only(replace(board, rows=[*board.rows, *extra]), found)
    assert f"{len(board.rows) + 20 - 14} more" in page.text
    assert "stopped early" in page.text


def test_every_rival_has_a_line(moons, words_only):
    board, found = moons
    rows = [replace(board.rows[0], name=f"n{i}", stopped=True, mean=0.1) for i in range(20)]
    rival = replace(rows[0], name="a forest", kernel="", rival=True, note="stopped after 9 rows")
    page = words_only(replace(board, rows=[*board.rows, *rows, rival]), found)
    assert "a forest stopped after 9 rows" in page.text
    assert f"{len(board.rows) + 20 - 14} more" in page.text, "the rival is not among them"


def test_a_rival_may_win(moons, words_only):
    board, found = moons
    best = replace(board.best_row, name="a forest", kernel="", rival=True)
    page = words_only(replace(board, best_row=best, rows=[best, board.baseline], proof=None), found)
    assert "a forest did best" in page.text
    assert "points the model keeps" not in page.text
    assert "It is a kernel" not in page.text


def test_a_board_of_stopped_candidates_is_drawn(moons):
    board, _ = moons
    stopped = [replace(r, stopped=bool(r.kernel)) for r in board.rows]
    ax = replace(board, rows=stopped).plot()
    assert len(ax.get_yticks()) == len(stopped) - 1


def test_words_for_a_model_that_knows_nothing(moons):
    board, _ = moons
    base = board.baseline.mean
    poor = replace(board, best_row=replace(board.best_row, mean=base, spread=0.1))
    assert "no better than knowing nothing" in summary(poor)
    assert "of a budget of 9 s" in fine_print(replace(board, budget=9.0))


def test_sparse_rows_have_values(moons):
    from scipy.sparse import csr_matrix

    board, found = moons
    text = errors(board, replace(found, X=csr_matrix(found.X)))
    assert "x1" in text


def test_rows_are_named_as_in_the_file(table):
    board, found = table
    moved = replace(found, X=found.X.set_index(found.X.index + 7000))
    shown = set(map(int, re.findall(r'data-head="row">(70\d\d)</td>', errors(board, moved))))
    assert shown == {7000 + int(board.oof.rows[i]) for i in board.oof.worst(12)}


def test_formulas_are_set_or_left_as_text():
    assert svg.formula(r"\exp(-\|x - z\|^2)") is not None
    assert svg.formula(r"\begin{matrix} 1 \end{matrix}") is None


def test_text_is_escaped_once():
    assert html.text("<&\0") == "&lt;&amp;\N{REPLACEMENT CHARACTER}"
    assert html.text(html.text("<")) == "&lt;"
    assert html.tag("p", class_=None, title='"') == '<p title="&quot;"></p>'


def test_every_latex_of_the_library_can_be_set():
    """Kernels that a comparison may choose are drawn, not quoted."""
    from mercer import parse

    for expression in (
        "gaussian(2)", "laplacian(0.3, norm=1)", "matern(1.5, 2)", "rationalquadratic(1, 2)",
        "(0.5*linear() + 1)**3", "gaussian(2) + 0.1*linear()", "polynomial(3).normalized()",
        "spectrum(4, blended=True)", "uniform(1)", "epanechnikov(1)", "hamming()",
        "gaussian(1).on([0, 2]) * linear().on([1])", "chisquared(1)", "spectrum(3).normalized()",
    ):  # fmt: skip
        assert svg.formula(parse(expression).latex()) is not None, expression


def test_without_time_the_formula_is_written_in_characters(moons):
    with announced(0.0, 1.0):
        page = Page(report.render(*moons)).text
    assert re.search(r"k\(x, z\) = (exp\(−‖x − z‖² / 2\)|x · z)", page)
    assert "\\" not in page


def test_the_first_sentence_is_in_the_words_of_the_reader(moons, table, words_only):
    assert "the model gives" in words_only(*moons).text
    board, found = table
    off = np.median(np.abs(board.oof.truth - board.oof.predicted))
    assert f"the model is off by less than {off:.3g} in price" in words_only(board, found).text


def test_that_importances_are_missing_is_said(moons, words_only):
    said = words_only(*moons).text
    assert "Which columns matter Not known: no rows were kept back from the choice." in said


def test_the_page_says_what_made_it(moons):
    board, found = moons
    made = fingerprint(found)
    page = report.render(board, found, command="mercer compare <data>")
    assert f"seed 0, data {made}: <code>mercer compare &lt;data&gt;</code>" in page
    assert fingerprint(replace(found, X=found.X.copy())) == made
    assert fingerprint(replace(found, X=found.X + 1e-9)) != made
    assert fingerprint(replace(found, y=1 - found.y)) != made


def test_the_best_kernel_stands_beside_the_best_rival_with_its_uncertainty(moons, words_only):
    board, found = moons
    kernel = next(r for r in board.rows if r.kernel)
    worse = tuple(s - gap for s, gap in zip(kernel.scores, (0.1, 0.2, 0.3), strict=True))
    rival = replace(kernel, name="a forest", kernel="", rival=True, scores=worse)
    page = words_only(replace(board, rows=[*board.rows, rival]), found)
    words = "is 0.2 ± 0.058 ahead of the best without, a forest (on the same held-out parts: 3)"
    assert words in page.text


def test_folds_are_those_that_have_decided(monkeypatch):
    from mercer.selection import choice

    monkeypatch.setattr(choice, "CHOICE_ROWS", 100)
    X, y = data.moons(300)
    board = few(Dataset.of(X, y), learners=["ridge"], rivals=["linear"], budget=1000)
    assert board.folds.startswith("decided on 100 rows held out, by fits on 266")
