"""Formulas are interned values: equal is identical, in many threads and after a pickle too."""

from __future__ import annotations

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from mercer import Gaussian, Linear, Polynomial
from mercer.formula import ROOT, Formula, Input, at_diagonal, statistics
from mercer.formula.inputs import Columns
from mercer.formula.nodes import (
    DIFFERENCE,
    X_J,
    Z_J,
    const,
    dependence,
    dot,
    param,
    reduce_columns,
    sqdist,
    sqnorm,
)
from mercer.kernels import Hamming, parse


def test_equal_formulas_are_one_object() -> None:
    for text in ("gaussian(2)", "polynomial(3, offset=1).normalized()", "bspline(3) + hamming()"):
        assert parse(text).formula() is parse(text).formula()
    assert dot(ROOT) is dot(Input())
    assert sqdist(ROOT) is not sqdist(Input((Columns((0,)),)))
    assert Gaussian(2.0).formula() is not Gaussian(3.0).formula()


def test_numbers_that_are_equal_but_not_the_same_stay_apart() -> None:
    assert const(0.0) is not const(-0.0)
    assert const(1.0) is const(1)
    assert Formula("pow", (dot(ROOT),), 1) is not Formula("pow", (dot(ROOT),), 2)


def test_pickles_come_back_as_the_same_object() -> None:
    f = parse("0.5*gaussian(2) + polynomial(3, offset=1).normalized().on([0, 1])").formula()
    assert pickle.loads(pickle.dumps(f)) is f


def test_interning_in_many_threads() -> None:
    def build(_: int) -> list[int]:
        formulas = [
            parse(f"gaussian({1 + i % 7}) + polynomial({1 + i % 5})").formula() for i in range(60)
        ]
        keep.append(formulas)
        return [id(f) for f in formulas]

    keep: list[list[Formula]] = []
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(build, range(16)))
    assert all(other == ids[0] for other in ids)


def test_formulas_that_nobody_holds_are_forgotten() -> None:
    from mercer.formula.nodes import _POOL

    f = param("unheard_of", 12345.0) * dot(ROOT)
    assert any(node is f for node in _POOL.values())
    del f
    gc.collect()
    held = [node for node in _POOL.values() if node.op == "param" and node.value[1] == 12345.0]
    assert not held


def test_shared_statistics_appear_once() -> None:
    f = (Gaussian() + Gaussian(2.0) * Linear() + Polynomial(2)).formula()
    assert [n.op for n in statistics(f)].count("sqdist") == 1
    assert [n.op for n in statistics(f)].count("dot") == 1


def test_operators_read_like_arithmetic() -> None:
    d = dot(ROOT)
    assert repr(1.0 - d) == "(1 + (-1 * dot))"
    assert repr(2 * d + 1) == "((dot * 2) + 1)"
    assert repr((d - 3.0) ** 2) == "(dot + (-1 * 3))^2"
    assert repr(d.over(2.0)) == "div(dot, 2)"
    assert repr(sqnorm("x", ROOT)) == "‖x‖²"
    assert repr(param("sigma", 2)) == "sigma[2]"
    assert repr(Linear().on([0]).formula()) == "dot[columns [0]]"
    assert repr(Hamming().formula()) == "meanⱼ[eq(xⱼ, zⱼ)][categories]"
    assert repr(Linear().reweight("norm").formula()) == "(dot * (_norm(x) * _norm(z)))"


def test_dependence_names_the_side() -> None:
    f = sqnorm("x", ROOT) * 2.0 + dot(ROOT) + sqnorm("z", ROOT)
    sides = dependence(f)
    assert sides[id(f)] == "pair"
    assert sides[id(sqnorm("x", ROOT))] == "x"
    assert sides[id(sqnorm("z", ROOT))] == "z"
    assert sides[id(const(2.0))] == ""
    body = reduce_columns("sum", X_J * 2.0, ROOT)
    assert dependence(body)[id(body)] == "x"
    number = reduce_columns("sum", const(3.0), ROOT)
    assert dependence(number)[id(number)] == "x"


def test_the_diagonal_speaks_of_one_row() -> None:
    assert at_diagonal(Gaussian().formula()).op == "exp"
    assert not statistics(at_diagonal(Gaussian().formula()))
    for text in ("polynomial(2)", "tanimoto()", "intersection()", "bspline(3)", "cosine()"):
        sides = {
            n.value[0]
            for n in statistics(at_diagonal(parse(text).formula(), "z"))
            if n.op == "sqnorm"
        }
        assert sides <= {"z"}
    body = at_diagonal(reduce_columns("sum", DIFFERENCE**2 + X_J * Z_J, ROOT))
    assert repr(body) == "sumⱼ[(0^2 + (xⱼ * xⱼ))]"


def test_only_known_reductions() -> None:
    with pytest.raises(ValueError, match="sum, prod, max, mean or sets of n, not 'median'"):
        reduce_columns("median", X_J, ROOT)
