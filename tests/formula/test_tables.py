"""The tables over formulas: simplification keeps values, derivatives are slopes, mpmath agrees."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import Gaussian, Laplacian, Linear
from mercer.formula import ROOT, Formula, NotRenderable, derive, evaluate, pairwise_mp, simplify
from mercer.formula.evaluate import evaluate_into, in_powers_of_e
from mercer.formula.nodes import DIFFERENCE, X_J, Z_J, const, dot, param, reduce_columns, sqdist
from mercer.kernels import parse

A, B = dot(ROOT), sqdist(ROOT)
P = param("p", 0.7)
numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 3.0])
atoms = st.one_of(st.just(A), st.just(B), st.just(P), numbers.map(const))


def _grown(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] * p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0].over(p[1] * p[1] + 1.0)),
        pair.map(lambda p: p[0].apply("max", p[1])),
        pair.map(lambda p: p[0].apply("min", p[1])),
        st.tuples(inner, st.integers(0, 3)).map(lambda p: p[0] ** p[1]),
        inner.map(lambda f: f.apply("tanh").exp()),
        inner.map(lambda f: (f * f + 1.0).log()),
        inner.map(lambda f: (f * f + 1.0).sqrt()),
        inner.map(lambda f: (f * f + 1.0).rsqrt()),
        inner.map(lambda f: f.apply("sin")),
        inner.map(lambda f: f.apply("cos")),
        inner.map(lambda f: f.apply("tanh").apply("arcsin")),
        inner.map(lambda f: f.apply("tanh").apply("arccos")),
        inner.map(lambda f: f.apply("abs")),
        inner.map(lambda f: f.apply("step")),
        inner.map(lambda f: f.apply("sign")),
    )


formulas = st.recursive(atoms, _grown, max_leaves=8)
VALUES = {A: np.array([0.3, -1.2, 0.9]), B: np.array([1.1, 0.2, 2.0])}
quick = settings(max_examples=80, deadline=None)


@quick
@given(formulas)
def test_simplify_keeps_the_value(f: Formula) -> None:
    with np.errstate(all="ignore"):
        before = np.broadcast_to(evaluate(f, VALUES), 3)
        after = np.broadcast_to(evaluate(simplify(f), VALUES), 3)
    smooth = np.isfinite(before) & (np.abs(before) < 1e8)
    if any(n.op in ("step", "sign") for n in f.walk()):
        return  # a rounding before a jump may land on its other side
    np.testing.assert_allclose(after[smooth], before[smooth], rtol=1e-9, atol=1e-9)
    assert simplify(simplify(f)) is simplify(f)
    assert all(n.op != "param" for n in simplify(f).walk())


@quick
@given(formulas, st.sampled_from([A, B, P]))
def test_derivatives_are_slopes(f: Formula, wrt: Formula) -> None:
    if any(n.op in ("step", "sign", "abs", "max", "min") for n in f.walk()):
        return  # corners: a difference quotient straddles them

    def at(shift: float) -> np.ndarray:
        known = dict(VALUES) | {P: 0.7}
        known[wrt] = known[wrt] + shift
        return np.broadcast_to(evaluate(f, known), 3)

    with np.errstate(all="ignore"):
        slope = np.broadcast_to(evaluate(derive(f, wrt), VALUES), 3)
        h = 1e-5
        quotient = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    fine = np.isfinite(quotient) & (np.abs(quotient) < 1e4) & (np.abs(at(0)) < 1e4)
    np.testing.assert_allclose(slope[fine], quotient[fine], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda a: a.apply("abs"), [1.0, -1.0]),
        (lambda a: a.apply("max", 0.0), [1.0, 0.0]),
        (lambda a: a.apply("min", 0.0), [0.0, 1.0]),
        (lambda a: a.apply("step"), [0.0, 0.0]),
        (lambda a: a.apply("sign"), [0.0, 0.0]),
        (lambda a: a.apply("eq", 2.0), [0.0, 0.0]),
        (lambda a: a.apply("exp2"), [math.log(2) * 4, math.log(2) / 4]),
        (lambda a: a.over(4.0), [0.25, 0.25]),
        (lambda a: const(1.0).over(a), [-0.25, -0.25]),
        (lambda a: a**-1, [-0.25, -0.25]),
    ],
)
def test_slopes_at_corners_and_elsewhere(make, expected) -> None:
    known = {A: np.array([2.0, -2.0])}
    slope = np.broadcast_to(evaluate(derive(make(A), A), known), 2)
    np.testing.assert_allclose(slope, expected)


def test_slopes_of_reductions() -> None:
    p = param("p", 2.0)
    total = reduce_columns("sum", (p * DIFFERENCE) ** 2, ROOT)
    assert "sumⱼ" in repr(derive(total, p))
    assert derive(total, param("other", 1.0)) is const(0.0)
    with pytest.raises(NotImplementedError, match="maximum over columns"):
        derive(reduce_columns("max", p * X_J, ROOT), p)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7, 10])
def test_whole_powers(n: int) -> None:
    u = np.array([1.5, -2.0])
    np.testing.assert_allclose(evaluate(A**n, {A: u}), u**n)
    assert simplify(const(1.5) ** n).value == pytest.approx(1.5**n)


def test_simplify_rules() -> None:
    assert simplify(A * 2.0 * 3.0) is const(6.0) * A
    assert simplify(A + 0.0) is A
    assert simplify(A * 0.0 + 0.0) is const(0.0)
    assert simplify(A * 1.0) is A
    assert simplify(A * 0.0) is const(0.0)
    assert simplify(const(2.0) + const(3.0)) is const(5.0)
    assert simplify(A**1) is A
    assert simplify(A**0) is const(1.0)
    assert simplify((A**2) ** 3) is A**6
    assert simplify(2.0 * (A + 3.0)) is simplify(2.0 * A + 6.0)
    assert simplify(A.over(4.0)) is simplify(0.25 * A)
    assert simplify(A.exp()).op == "exp2"
    assert simplify(const(1000.0).exp()).value == math.inf


def test_a_difference_is_never_multiplied_out() -> None:
    """c·xⱼ − c·zⱼ would cancel far from the origin, where xⱼ − zⱼ is exact."""
    body = simplify(reduce_columns("sum", (3.0 * DIFFERENCE).apply("sin"), ROOT)).args[0]
    assert any(node is DIFFERENCE for node in body.walk())


def test_evaluate_wants_all_statistics() -> None:
    with pytest.raises(KeyError, match="no value was given for the statistic sqdist"):
        evaluate(A + B, {A: 1.0})


def test_fifty_digits_are_fifty_digits() -> None:
    value = pairwise_mp(Gaussian(1.0).formula(), [0.0], [1.0], dps=50)
    with mpmath.workdps(60):
        assert abs(value - mpmath.exp(mpmath.mpf(-1) / 2)) < mpmath.mpf(10) ** -48
    x, z = [0.1, 0.2], [0.3, -0.4]
    for text in ("bilinear([[2, 1], [1, 2]])", "gaussian([1, 2])", "hamming()", "cosine().on([1])"):
        k = parse(text)
        assert float(pairwise_mp(k.formula(), x, z)) == pytest.approx(k([x], [z])[0, 0], abs=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Linear().warp(np.tanh),
        lambda: Linear().reweight(lambda V: V[:, 0]),
        lambda: Laplacian().on(["age"]),
    ],
)
def test_what_has_no_exact_form_says_so(make) -> None:
    with pytest.raises(NotRenderable):
        pairwise_mp(make().formula(), [0.1, 0.2], [0.3, 0.4])


def test_body_of_a_maximum() -> None:
    f = reduce_columns("max", X_J * Z_J, ROOT)
    assert float(pairwise_mp(f, [1.0, 2.0], [3.0, -1.0])) == 3.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "write",
    [
        lambda s: (-0.5 * s).exp(),
        lambda s: (1.0 + s.sqrt()) * (-1.0 * s.sqrt()).exp(),  # read twice
        lambda s: Formula("mul", (s, s, s)),  # one argument three times
        lambda s: (3.0 - s).plus() ** 3,
        lambda s: s.over(s + 2.0),
        lambda s: s,
    ],
)
def test_in_place_gives_the_same_bits(write: Any, dtype: Any) -> None:
    statistic = sqdist(ROOT)
    formula = write(statistic)
    values = np.random.default_rng(0).exponential(size=(7, 5)).astype(dtype)
    expected = np.asarray(evaluate(formula, {statistic: values}))
    apart = np.empty_like(values)
    evaluate_into(apart, formula, {statistic: values})
    np.testing.assert_array_equal(apart, expected)
    evaluate_into(values, formula, {statistic: values})
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_two_are_those_of_e(dtype):
    """In float32 2^(c u) is computed as e^(c ln 2 u), with the digits of that precision."""
    formula = simplify((const(-0.3) * B).exp() + 2.0 * (const(-4.0) * B).exp() + A.apply("exp2"))
    assert "exp2" in {node.op for node in formula.walk()}
    assert {node.op for node in in_powers_of_e(B.apply("exp2")).walk()} == {"exp2", "sqdist"}
    distances = np.linspace(0.0, 30.0, 200).astype(dtype)
    known = {A: distances / 10, B: distances}
    out = np.empty_like(distances)
    evaluate_into(out, formula, known)
    wide = {node: value.astype(np.float64) for node, value in known.items()}
    expected = evaluate(formula, wide)
    np.testing.assert_allclose(out, expected, rtol=8 * np.finfo(dtype).eps)
