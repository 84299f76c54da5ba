"""Formulas of x and z as they stand on a blackboard: read, recognized, computed, proved."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from mercer.kernels import Written, parse
from mercer.kernels.expressions.errors import GrammarError
from mercer.kernels.expressions.numbers import numbers_in

RNG = np.random.RandomState(0)
X, Z = RNG.uniform(0.1, 1.5, (2, 6, 3))
DOT, APART = X @ Z.T, np.linalg.norm(X[:, None] - Z[None], axis=2)
L1 = np.abs(X[:, None] - Z[None]).sum(axis=2)
NX, NZ = np.linalg.norm(X, axis=1)[:, None], np.linalg.norm(Z, axis=1)[None]

#: What is typed, and the same by NumPy.
FORMULAS = {
    "exp(-|x-z|^2/2)": np.exp(-(APART**2) / 2),
    "exp(-‖x − z‖²/(2·0.5²))": np.exp(-(APART**2) / 0.5),
    "(1 + x·z)^2": (1 + DOT) ** 2,
    "3 (2x·z + 1)^3": 3 * (2 * DOT + 1) ** 3,
    "min(x, z)": np.minimum(X[:, None], Z[None]).sum(axis=2),
    "max(x, z)": np.maximum(X[:, None], Z[None]).sum(axis=2),
    "exp(-2|x-z|)": np.exp(-2 * APART),
    "exp(-|x-z|_1/3)": np.exp(-L1 / 3),
    "exp(-|x - z|^1.5)": np.exp(-(APART**1.5)),
    "tanh(0.5 x·z - 1)": np.tanh(0.5 * DOT - 1),
    "1/(1 + |x-z|^2)": 1 / (1 + APART**2),
    "(2 + 3|x-z|²)^-1.5": (2 + 3 * APART**2) ** -1.5,
    "exp(-|x|^2/2)·exp(x·z)·exp(-|z|^2/2)": np.exp(-(APART**2) / 2),
    "x·z/(|x||z|)": DOT / (NX * NZ),
    "log(1 + |x - z|^2)": np.log(1 + APART**2),
    "|x + z|^2": NX**2 + 2 * DOT + NZ**2,
    "√(x·z) + |x - z|_inf": np.sqrt(DOT) + np.abs(X[:, None] - Z[None]).max(axis=2),
    "x1 z1 + 2 x₃·z₃": np.outer(X[:, 0], Z[:, 0]) + 2 * np.outer(X[:, 2], Z[:, 2]),
    "cos(3(x1 - z1))": np.cos(3 * (X[:, :1] - Z[:, :1].T)),
    "max(0, 1 - |x-z|)": np.maximum(0, 1 - APART),
    "gaussian(0.5) - x·z": np.exp(-2 * APART**2) - DOT,
    "sin(x1)sin(z1)": np.outer(np.sin(X[:, 0]), np.sin(Z[:, 0])),
    "|x·z|^0.5": np.abs(DOT) ** 0.5,
    "(linear()+1)^3": (DOT + 1) ** 3,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_computes_what_it_says(text):
    kernel = parse(text)
    assert np.allclose(kernel(X, Z), FORMULAS[text], rtol=1e-12, atol=1e-14)
    assert parse(repr(kernel)) == kernel
    assert np.allclose(kernel(X), kernel(X.copy(), X), rtol=1e-12)  # one triangle, or both
    assert r"\mathrm" not in kernel.latex()


def test_known_kernels_are_recognized():
    assert parse("exp(-|x-z|^2/2)") == Gaussian(1.0)
    assert parse("exp(-0.5*|z-x|^2/4)") == Gaussian(2.0)
    assert parse("exp(-3|x-z|_1)") == Laplacian(3.0, norm=1)
    assert parse("(x·z)^3") == Polynomial(3)
    assert parse("(x·z + 1)²") == Polynomial(2, offset=1.0)
    assert parse("tanh(2x·z - 1)") == Sigmoid(2.0, -1.0)
    assert parse("x·z + exp(-|x-z|²/2)") == Linear() + Gaussian(1.0)
    assert isinstance(parse("log(1 + x·z)"), Written)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("exp(-|x-z|^2/2)", True),
        ("exp(x·z)", True),
        ("x·z/(|x||z|)", True),  # f(x) k(x, z) f(z)
        ("exp(-|x|^2 - |z|^2)", True),
        ("x1·z1 + cos(2(x2 - z2))", True),
        ("|x-z|^2", False),
        ("-2x·z", False),
        ("tanh(x·z - 1)", False),
        ("log(1 + |x-z|^2)", False),
        ("x1 + z1", False),
        ("1/(x·z)", False),
        ("|x|^2·|z|^2/exp(x·z)", False),
        ("(x1·z1)^-2", True),
        ("cos(1/|x| - 1/|z|)", True),
    ],
)
def test_the_answer_is_for_what_was_written(text, answer):
    found = mercer.prove(parse(text), n_features=2)
    assert bool(found) is answer
    if not answer:
        assert found.value < 0
        K = np.asarray(parse(text)(found.points))
        assert np.linalg.eigvalsh((K + K.T) / 2).min() < 0


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        ("x1·z2", "not symmetric", "x1·z2"),
        ("cos(x - z)", "vectors", "cos(x - z)"),
        ("1 + x", "vectors", "1 + x"),
        ("exp(-|x-z|^2/2", "never closed", "("),
        ("min(x)", "two numbers", "min(x)"),
        ("2*xz", "x·z", "xz"),
        ("2·gausian(1)^2", "gaussian", "gausian"),
        ("log(1 + gaussian(1))·x·z", "cannot stand here", "log(1 + gaussian(1))"),
        ("x·z + 1/0", "divided by 0", "1/0"),
    ],
)
def test_errors_point_at_what_was_typed(text, words, part):
    with pytest.raises(GrammarError, match=words) as caught:
        parse(text)
    assert text[caught.value.start : caught.value.end] == part


#: Parts of formulas, of x alone; those of z alone follow.
HALVES = ["|x|", "x1", "sin(x1)", "exp(-|x|^2/2)", "1/(1 + |x|^2)", "x·x", "exp(x1)", "√(|x|)"]
PAIRS = [
    "x·z",
    "exp(x·z)",
    "exp(-|x-z|^2/2)",
    "(1+x·z)^2",
    "gaussian(0.5)",
    "1/exp(x·z)",
    "2",
    "-1",
]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_products_of_halves_are_proved_where_they_are_kernels(data):
    f = data.draw(st.lists(st.sampled_from(HALVES), min_size=1, max_size=3))
    parts = [*f, *(re.sub(r"x(?!p)", "z", part) for part in f)]
    parts += data.draw(st.lists(st.sampled_from(PAIRS), max_size=2))
    order = data.draw(st.permutations(parts))
    signs = [data.draw(st.sampled_from("··/")) if "gaussian" not in part else "·" for part in order]
    text = order[0] + "".join(f"{sign}({p})" for sign, p in zip(signs[1:], order[1:], strict=True))
    parted = None
    try:
        kernel = parse(text)
    except GrammarError as error:  # a sign may have parted a factor from its twin
        parted = str(error)
    if parted is not None:
        assert re.search("symmetric|cannot stand", parted)
        return
    powers = [1, *(1 if sign == "·" else -1 for sign in signs[1:])]
    values = [value(part) ** power for part, power in zip(order, powers, strict=True)]
    expected = np.prod(values, axis=0)
    assert np.allclose(kernel(X, Z), expected, rtol=1e-9)
    assert parse(repr(kernel)) == kernel
    if kernel.claim().holds:
        K = np.asarray(kernel(np.vstack([X, -Z])))
        assert np.linalg.eigvalsh((K + K.T) / 2).min() > -1e-9 * np.abs(K).max()


def value(part):
    """A part by NumPy, from the text alone."""
    scope = {"np": np, "APART": APART, "DOT": DOT}
    text = part.replace("gaussian(0.5)", "exp(-2*|x-z|^2)").replace("√", "np.sqrt")
    text = text.replace("|x-z|^2", "APART**2").replace("x·z", "DOT").replace("^", "**")
    text = re.sub(r"\b(exp|sin)\b", r"np.\1", text)
    for side, S, norm in (("x", X, NX), ("z", Z, NZ)):
        scope[f"{side}1"], scope[f"N{side}"] = (S[:, :1] if side == "x" else S[:, :1].T), norm
        text = text.replace(f"|{side}|", f"N{side}").replace(f"{side}·{side}", f"N{side}**2")
    return eval(text, scope) * np.ones(DOT.shape)


def test_numbers_of_a_formula_have_their_places():
    text = "0.5·exp(−|x−z|²/8) + 3"
    found = numbers_in(text)
    assert [text[n.start : n.end] for n in found] == ["0.5", "8", "3"]
    assert [n.value for n in found] == [0.5, 8.0, 3.0]
    assert found[1].name == "sigma"
    assert math.isclose(parse(text).left.kernel.sigma, 2.0)


def test_written_kernels_learn_are_saved_and_leave_python(tmp_path):
    y = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
    model = mercer.KernelSVC("log(2 + x·z)", C=10).fit(X, y)
    model.save(tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.kernel_ == model.kernel_
    assert np.array_equal(again.decision_function(Z), model.decision_function(Z))


def test_the_command_proves_what_is_typed():
    runner = pytest.importorskip("click.testing").CliRunner()
    from mercer.cli.app import app

    done = runner.invoke(app, ["prove", "log(1 + |x-z|^2)"])
    assert done.exit_code == 1
    assert "not a kernel: log(1 + |x - z|^2)" in done.output
