"""The building blocks: laws that hold for any kernels, on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer import Gaussian, Linear, Polynomial
from mercer.kernels import (
    Constant,
    Exp,
    Kernel,
    On,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
    parse,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(6, 3))
Z = RNG.normal(size=(4, 3))

numbers = st.floats(0.1, 4.0).map(lambda v: round(v, 3))
leaves = st.one_of(
    st.builds(Linear),
    st.builds(Gaussian, numbers),
    st.builds(Polynomial, st.integers(1, 3), st.floats(0, 2)),
    st.builds(mercer.Laplacian, numbers, st.sampled_from([1, 2, "inf"])),
    st.builds(mercer.Matern, st.sampled_from([0.5, 1.5, 2.5]), numbers),
    st.builds(mercer.Periodic, numbers, numbers),
    st.builds(Constant, numbers),
    st.just(mercer.Cosine()),
    st.just(mercer.kernels.ArcCosine(1)),
)


def _grown(children: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        st.tuples(st.floats(-3, 3), children).map(lambda p: p[0] * p[1]),
        st.tuples(children, st.integers(1, 3)).map(lambda p: p[0] ** p[1]),
        st.tuples(children, st.lists(st.floats(0, 2), min_size=1, max_size=3)).map(
            lambda p: p[0].polynomial(p[1])
        ),
        children.map(lambda k: (0.01 * k).exp()),
        st.tuples(children, st.sampled_from([0, [0, 2], [-1], ["a"]])).map(lambda p: p[0].on(p[1])),
        children.map(lambda k: k.warp("tanh")),
        children.map(lambda k: k.reweight("norm")),
        children.map(lambda k: k.normalized()),
    )


trees = st.recursive(leaves, _grown, max_leaves=6)
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(trees)
def test_text_gives_the_same_tree(k: Kernel) -> None:
    assert parse(repr(k)) == k
    assert eval(repr(k), vars(mercer.kernels)) == k


@quick
@given(trees)
def test_parameters_round_trip(k: Kernel) -> None:
    again = k.set_params(**k.get_params(deep=False))
    assert again == k
    assert hash(again) == hash(k)
    for path, value in k.get_params().items():
        assert k.set_params(**{path: value}) == k


@quick
@given(trees)
def test_claims_survive_any_width(k: Kernel) -> None:
    """A claim is an answer for every width, never an error; what holds for all holds for each."""
    anywhere = k.claim(None)
    for width in (1, 3, 10):
        claim = k.claim(width)
        assert claim.holds in (True, False, None)
        if anywhere.holds and anywhere.max_dims is None:
            assert claim.holds
    assert k.latex()


@quick
@given(leaves, leaves)
def test_values_follow_the_operators(a: Kernel, b: Kernel) -> None:
    A, B = a(X, Z), b(X, Z)
    checks = {
        "+": ((a + b)(X, Z), A + B),
        "-": ((a - b)(X, Z), A - B),
        "*": ((a * b)(X, Z), A * B),
        "2*": ((2 * a)(X, Z), 2 * A),
        "/4": ((a / 4)(X, Z), A / 4),
        "neg": ((-a)(X, Z), -A),
        "**3": ((a**3)(X, Z), A**3),
        "+ number": ((a + 1.5)(X, Z), A + 1.5),
        "number +": ((1.5 + a)(X, Z), A + 1.5),
        "- number": ((a - 1.5)(X, Z), A - 1.5),
        "number -": ((1.5 - a)(X, Z), 1.5 - A),
        "q(k)": (a.polynomial([1, 2, 3])(X, Z), 1 + 2 * A + 3 * A**2),
        "exp": ((0.1 * a).exp()(X, Z), np.exp(0.1 * A)),
        "warp": (a.warp(np.tanh)(X, Z), a(np.tanh(X), np.tanh(Z))),
        "on": (a.on([2, 0])(X, Z), a(X[:, [2, 0]], Z[:, [2, 0]])),
        "reweight": (
            a.reweight(lambda V: V[:, 0])(X, Z),
            X[:, :1] * A * Z[:, 0],
        ),
        "normalized": (
            a.normalized()(X, Z),
            A / np.sqrt(np.outer(a.diag(X), a.diag(Z))),
        ),
        "distance": (
            a.distance(X, Z) ** 2,
            np.maximum(a.diag(X)[:, None] - 2 * A + a.diag(Z), 0),
        ),
    }
    for name, (value, expected) in checks.items():
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(value, expected, atol=1e-11 * scale, rtol=0, err_msg=name)


@quick
@given(leaves)
def test_sums_of_valid_kernels_are_proved_and_negatives_refuted(k: Kernel) -> None:
    if k.claim(2).holds:
        assert (k + Gaussian()).claim(2).holds
        assert (k * Gaussian()).claim(2).holds
        assert (-k).claim(2).holds is False
        assert (-k - Gaussian()).claim(2).holds is False
        assert (k - Gaussian()).claim(2).holds is None
    assert (-mercer.Sigmoid()).claim(2).holds is None


def test_two_indefinite_terms_may_add_up_to_a_kernel() -> None:
    k = mercer.kernels.Bilinear([[2, 0], [0, -1]]) + mercer.kernels.Bilinear([[-1, 0], [0, 2]])
    assert k.claim(2).holds is None
    assert np.linalg.eigvalsh(k(np.eye(2)))[0] >= 0


def test_the_zero_function_is_a_kernel_and_so_is_its_negative() -> None:
    for k in (0 * Gaussian(), -(0 * Gaussian()), Constant(0.0), -Constant(0.0), 0 * -Linear()):
        assert k.claim().holds, k
        assert not k(X).any()


def test_columns_that_are_counted_free_a_kernel_of_its_limit() -> None:
    k = mercer.kernels.Wendland().on([0, 1, 2])
    assert k.claim(50).holds
    assert k.claim(50).max_dims is None
    assert mercer.kernels.Wendland().on([0, 1, 2, 3]).claim(50).holds is None
    assert mercer.kernels.Wendland().warp("tanh").claim(2).holds is None


def test_operators_build_the_documented_classes() -> None:
    k = Gaussian()
    assert k + 2.0 == Sum(k, Constant(2.0))
    assert 2 + k == Sum(Constant(2.0), k)
    assert -k == Scaled(-1.0, k)
    assert k - Linear() == Sum(k, Scaled(-1.0, Linear()))
    assert k * 2 == 2 * k == Scaled(2.0, k)
    assert np.float64(2) * k == Scaled(2.0, k)
    assert k * Linear() == Product(k, Linear())
    assert k**2 == Power(k, 2)
    assert k.polynomial([1, 2]) == PolynomialOf(k, (1.0, 2.0))
    assert k.exp() == Exp(k)
    assert k.on(np.array([0, 1])) == On(k, (0, 1))


@pytest.mark.parametrize(
    "operation",
    [
        lambda k: k + "1",
        lambda k: "1" + k,
        lambda k: k * None,
        lambda k: k - [1],
        lambda k: [1] - k,
        lambda k: k / "2",
        lambda k: 1 / k,
        lambda k: k ** Gaussian(),
        lambda k: k + True,
        lambda k: np.ones(3) * k,
    ],
)
def test_what_is_no_kernel_is_a_type_error(operation) -> None:
    with pytest.raises(TypeError):
        operation(Linear())


def test_kernels_of_different_kinds_differ() -> None:
    kernels = [
        Linear(),
        Gaussian(),
        Gaussian(2.0),
        Gaussian([1.0, 2.0]),
        Gaussian([2.0, 1.0]),
        Polynomial(1),
        Linear() ** 1,
        Linear() + Linear(),
        2 * Linear(),
        Linear().on(0),
        Linear().on([0]),
        Linear().on("a"),
        mercer.kernels.SquaredDistance(),
        mercer.kernels.NegativeSquaredDistance(),
        mercer.kernels.Bilinear([[1.0]]),
        mercer.kernels.Bilinear([[1.0, 0], [0, 1.0]]),
    ]
    assert len(set(kernels)) == len(kernels)
    for i, a in enumerate(kernels):
        for j, b in enumerate(kernels):
            assert (a == b) == (i == j)


def test_numbers_are_normalized_so_that_equal_kernels_are_equal() -> None:
    assert Gaussian(2) == Gaussian(np.float32(2.0)) == Gaussian(sigma=2.0)
    assert hash(Gaussian(2)) == hash(Gaussian(2.0))
    assert Polynomial(np.int64(3)) == Polynomial(3.0)
    assert Gaussian([1, 2]) == Gaussian((1.0, 2.0)) == Gaussian(np.array([1, 2], dtype=np.int8))
    assert mercer.Laplacian(norm=np.inf) == mercer.Laplacian(norm="inf")


def test_sum_of_a_list_begins_with_nothing() -> None:
    assert sum([Linear(), Gaussian()]) == Linear() + Gaussian()
    assert 0 + Linear() == Linear()
    assert 0.5 + Linear() == mercer.kernels.Constant(0.5) + Linear()
