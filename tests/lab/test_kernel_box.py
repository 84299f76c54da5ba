"""The kernel box: errors under their characters, numbers as sliders, mathematics, proofs."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from mercer.kernels import parse
from mercer.kernels.catalog import LEAVES, examples
from mercer.kernels.expressions.errors import GrammarError
from mercer.kernels.expressions.numbers import numbers_in
from mercer.lab.compute.kernels import complete, formula
from mercer.lab.compute.presets import VIEW
from mercer.lab.mathml import mathml

ERRORS = [
    ("2*gausian(1)", "gausian", "gaussian"),
    ("gaussian(-1)", "-1", ""),
    ("linear() + gaussian(sigma=0)", "sigma=0", ""),
    ("gaussian(sgma=2)", "sgma", ""),
    ("linear().normalised()", "normalised", "normalized"),
    (" 'σσ' + gausian(1)", "gausian", "gaussian"),
    ("gaussian(1) + 'a'", "gaussian(1) + 'a'", ""),
    ("linear() +* 2", "*", ""),
    ("(linear()\n + foo(1))", "foo", ""),
]


@pytest.mark.parametrize(("text", "part", "hint"), ERRORS)
def test_errors_name_the_characters_that_cause_them(text, part, hint):
    with pytest.raises(GrammarError) as caught:
        parse(text)
    error = caught.value
    assert text[error.start : error.end] == part
    assert error.hint == hint


def test_an_unfinished_text_is_wrong_at_its_end():
    with pytest.raises(GrammarError) as caught:
        parse("gaussian(1) +")
    assert caught.value.end >= len("gaussian(1) +")


def test_numbers_know_their_parameter_and_bounds():
    text = "0.5*gaussian(0.2) + polynomial(3, offset=1) * laplacian(2, norm=1)"
    found = numbers_in(text)
    assert [text[n.start : n.end] for n in found] == ["0.5", "0.2", "3", "1", "2"]
    assert [n.name for n in found] == ["factor", "sigma", "degree", "offset", "rate"]
    assert [n.whole for n in found] == [False, False, True, False, False]
    sigma, degree = found[1], found[2]
    assert (sigma.low, sigma.default, sigma.width) == (0.0, 1.0, True)
    assert (degree.low, degree.default) == (1.0, None)
    kernel = parse(text)
    for n in found:
        changed = parse(f"{text[: n.start]}{2 * n.value:g}{text[n.end :]}")
        assert changed == kernel.set_params(**{n.path: 2 * n.value})


def test_a_number_under_another_name_has_no_default():
    (gamma,) = numbers_in("rbf(0.5)")
    assert (gamma.value, gamma.default) == (0.5, None)


def test_completion_offers_what_fits():
    assert [c.insert for c in complete("0.5*gaus")] == ["gaussian()"]
    assert complete("poly")[0].insert == "polynomial("
    assert "spectrum" not in {c.insert for c in complete("spec")}
    assert complete("gaussian(1)") == []
    assert {c.insert for c in complete("linear().e")} == {"exp()"}


@pytest.mark.parametrize("name", [n for n, cls in LEAVES.items() if cls.takes == "vectors"])
def test_every_formula_is_well_formed(name):
    for kernel in examples(LEAVES[name]):
        ET.fromstring(formula(kernel))


def test_a_difference_is_written_as_one():
    assert "<mo>+</mo><mo>−</mo>" not in formula(parse("gaussian(0.5) - linear() - 2*linear()"))


def test_mathematics():
    found = mathml(r"\left(x \cdot z + 1\right)^{3} \sum_{j=1}^n \sqrt{\frac{a}{b}}")
    assert [e.tag for e in ET.fromstring(found)] == ["msup", "munderover", "msqrt"]
    assert "<mo>&lt;</mo>" in mathml("a < b")


def test_the_box(ask):
    facts = ask("kernel", text="2*gaussian(0.2)").facts
    factor, sigma = facts["numbers"]
    assert (factor["symbol"], sigma["symbol"], sigma["log"]) == ("c", "σ", True)
    assert "σ" in facts["mathml"]
    wrong = ask("kernel", text="gausian(1)").facts["problem"]
    assert (wrong["start"], wrong["end"], wrong["hint"]) == (0, 7, "gaussian")
    assert ask("completions", text="gau").facts["completions"][0]["insert"] == "gaussian()"


def test_proofs_and_counterexamples(ask):
    yes = ask("proof", text="gaussian(1) + 2*linear()").facts
    assert yes["answer"] == "kernel"
    assert len(yes["proof"]["parts"]) == 2
    no = ask("proof", text="linear() - 2*gaussian(1)").facts
    assert no["answer"] == "not a kernel"
    c, K = no["vector"], no["matrix"]
    value = sum(c[i] * K[i][j] * c[j] for i in range(len(c)) for j in range(len(c)))
    assert value == pytest.approx(no["value"])
    assert value < 0


def test_a_counterexample_lies_in_the_picture_if_it_can(ask):
    no = ask("proof", text="gaussian(0.5) - linear()").facts  # found far outside
    assert max(abs(v) for point in no["points"] for v in point) <= VIEW
    c, K = np.array(no["vector"]), np.array(no["matrix"])
    assert no["value"] == pytest.approx(c @ K @ c)
    assert no["value"] < 0
    far = ask("proof", text="1 - 0.3*linear()").facts  # nothing refutes it in the picture
    assert max(abs(v) for point in far["points"] for v in point) > VIEW
