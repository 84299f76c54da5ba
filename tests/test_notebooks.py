"""What notebooks show of kernels, proofs, scoreboards and estimators: escaped, and well-formed."""

from html.parser import HTMLParser

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelSVC, Linear, Sigmoid, prove

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The text of a page whose tags nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("wbr", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(thing):
    page = Page(thing._repr_html_())
    assert "script" not in page.tags
    return page


def test_kernels():
    page = shown(3 * Gaussian(2.0) + Linear().on(EVIL))
    assert "3.0 * Gaussian(sigma=2.0)" in page.text
    assert EVIL in page.text
    assert "$k(x, z) = " in page.text
    assert "✓ a kernel" in page.text
    assert "✗ not a kernel" in shown(-Gaussian()).text
    assert "? not known to be a kernel" in shown(Sigmoid()).text
    assert "✓ a kernel for x ≥ 0" in shown(mercer.kernels.Intersection()).text
    assert "in at most" in shown(mercer.kernels.Wendland()).text


def test_a_name_of_a_column_is_no_command():
    formula = Linear().on([r"}\href{javascript:alert(1)}{x", "a_b"]).latex()
    assert r"\href" not in formula
    assert r"a\_b" in formula


def test_verdicts():
    proof = shown(prove(Gaussian() * Linear().on(EVIL)))
    assert proof.text.startswith("✓ a kernel")
    assert proof.tags.count("li") >= 3
    no = shown(prove(-Gaussian()))
    assert "cᵀKc = -1 < 0" in no.text
    unknown = prove(lambda x, z: float(np.exp(-abs(x - z).sum())), n_features=1)
    assert "? undecided" in shown(unknown).text


def test_estimators():
    model = KernelSVC(Gaussian(2.0).on([EVIL]))
    assert EVIL not in model._repr_html_()
    assert "KernelSVC" in model._repr_html_()


def test_scoreboards():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.array(["yes", EVIL])[rng.integers(0, 2, 40)]
    board = mercer.compare(X, y, kernels=["gaussian()", "linear()"], learners=["ridge"], cv=2)
    page = shown(board)
    assert page.tags.count("tr") == 4  # a heading, two candidates, the baseline
    assert "classification" in page.text
    assert "baseline" in page.text
    assert page.tags.count("b") == page.tags.count("th") > 5
