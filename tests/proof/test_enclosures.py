"""A counterexample is a proof: decided on enclosures, so that what cancels refutes nothing."""

import math

import mpmath
import numpy as np
import pytest

import mercer.kernels as mk
from mercer.formula.interval import Interval, Open, trace
from mercer.proof import Counterexample, Proof, Undecided, prove

ZERO = [
    mk.Gaussian() ** 4 - mk.Gaussian(0.5),
    mk.Gaussian(0.5) - mk.Gaussian() ** 4,
    mk.Linear() ** 2 - mk.Polynomial(2),
    mk.Exp(mk.Linear()) * mk.Exp(-1 * mk.Linear()) - 1,
    mk.Laplacian(norm=1) * mk.Laplacian(norm=1) - mk.Laplacian(2.0, norm=1),
    mk.Matern(0.5, 0.5) - mk.Laplacian(2.0),
    mk.Polynomial(2, offset=1.0) - mk.Linear().polynomial([1, 2, 1]),
    mk.Cosine() - mk.Linear().normalized(),
]


@pytest.mark.parametrize("k", ZERO, ids=repr)
def test_zero_is_never_refuted(k):
    for sign in (1.0, -1.0):
        answer = prove(sign * k, n_features=2, seconds=0.2)
        assert answer.holds is not False, str(answer)


def _offset(size):
    return lambda x, z: (x + size) * (z + size) - size * (x + z) - size**2


def _offset_in_floats(size):
    """The same, out of sight of the intervals."""

    def function(x, z):
        x, z = float(x[0]), float(z[0])
        return math.fsum([(x + size) * (z + size), -size * (x + z), -(size**2)])

    return function


@pytest.mark.parametrize("size", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("make", [_offset, _offset_in_floats])
def test_what_cancels_in_a_black_box_refutes_nothing(make, size):
    for seed in range(3):
        answer = prove(make(size), n_features=1 if make is _offset else 2, seconds=0.3, seed=seed)
        assert isinstance(answer, Undecided), str(answer)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, z: -math.exp(-abs(float(x[0]) - float(z[0]))),
        lambda x, z: math.tanh(float(x @ z) - 1.0),
        lambda x, z: -float(x @ z),
    ],
)
def test_a_black_box_out_of_sight_can_still_be_refuted(f):
    answer = prove(f, n_features=2)
    assert isinstance(answer, Counterexample)
    assert not answer.exact


def test_the_verdict_and_the_rules_agree():
    zero = mk.Constant(0) * mk.Gaussian()
    for k in (
        -zero,
        -(zero**2),
        -zero.warp(np.exp),
        -zero.normalized(),
        zero + zero,
        -1 * zero.on(0),
    ):
        assert isinstance(prove(k), Proof)
        assert np.array_equal(k(np.ones((2, 2))), np.zeros((2, 2)))
    assert isinstance(prove(-mk.Anova(3), n_features=2), Proof)
    assert isinstance(prove(-mk.Anova(3), n_features=3), Counterexample)
    nothing = mk.FromFeatures(lambda X: 0 * X)
    assert prove(-nothing, n_features=1, seconds=0.3).holds is not False


def _first(X):
    return X[:, 0]


def _random_kernel(rng, depth):
    leaves = (
        mk.Linear(), mk.Gaussian(), mk.Constant(0), mk.Constant(2), mk.Polynomial(2), mk.Cosine(),
        mk.Intersection(), mk.Bilinear(np.ones((2, 2))), mk.Bilinear([[1.0, 0.0], [0.0, -1.0]]),
        mk.Anova(3), mk.FromFeatures(np.zeros_like), mk.Uniform(), mk.SquaredDistance(),
    )  # fmt: skip
    if not depth:
        return leaves[rng.integers(len(leaves))]
    a, b = (_random_kernel(rng, depth - 1) for _ in range(2))
    blocks = (
        lambda: a + b, lambda: a * b, lambda: -a, lambda: 0 * a, lambda: 0.5 * a, lambda: a**2,
        lambda: a.polynomial([0, 1, 2]), lambda: a.polynomial([0, 0]), lambda: a.exp(),
        lambda: a.warp(np.zeros_like), lambda: a.warp(np.abs), lambda: a.reweight(_first),
        lambda: a.reweight(lambda X: np.zeros(len(X))), lambda: a.normalized(), lambda: a - a,
    )  # fmt: skip
    return blocks[rng.integers(len(blocks))]()


def test_no_rule_contradicts_the_search():
    """Whatever the rules refute has a counterexample; whatever they prove has none."""
    rng = np.random.default_rng(3)
    points = np.abs(np.round(4 * rng.standard_normal((12, 2)))) / 2
    for number in range(150):
        k = _random_kernel(rng, 1 + number % 3)
        claim = k.claim(2)
        if claim.holds is False:
            answer = prove(k, n_features=2, seconds=20.0)
            assert isinstance(answer, Counterexample), f"{k!r}\n{answer}"
        elif claim.holds is True:
            try:
                K = k(points)
            except ValueError:  # a normalization of what has no length, or an overflow
                continue
            scale = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
            lowest = np.linalg.eigvalsh(K / scale[:, None] / scale)[0]
            assert lowest > -1e-9 or np.abs(K).max() < 1e-9, f"{k!r}\n{K}"


def test_multiples_of_a_given_matrix():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    for k in (2 * mk.Precomputed(), mk.Precomputed() ** 2 - 1, mk.Precomputed().normalized()):
        answer = prove(k, data=K if "**" not in repr(k) else np.eye(2))
        assert isinstance(answer, Counterexample), str(answer)
        assert "row" in str(answer)
    assert isinstance(prove(2 * mk.Precomputed(), data=np.eye(3)), Undecided)
    assert isinstance(prove((mk.Precomputed() + 1e16) - 1e16, data=np.eye(3)), Undecided)
    assert "matrix itself" in str(prove(3 * mk.Precomputed()))


def test_enclosures_hold_the_value():
    rng = np.random.default_rng(0)
    for op in ("exp", "sqrt", "log", "sin", "cos", "tanh", "arcsin", "arccos", "log1p", "expm1"):
        for u in rng.uniform(0.01, 0.99, 20):
            enclosed = getattr(Interval.of(u), op)()
            name = {"arcsin": "asin", "arccos": "acos"}.get(op, op)
            with mpmath.workdps(80):
                exact = getattr(mpmath, name)(mpmath.mpf(u))
                low, high = map(mpmath.mp.make_mpf, enclosed.ends)
                assert low <= exact <= high
                assert high - low < abs(exact) * mpmath.mpf(10) ** -45


def test_open_questions_are_not_answered():
    third = Interval.of(1) / 3
    with pytest.raises(Open):
        bool(third * 3 == 1)
    with pytest.raises(Open):
        bool(third * 3 <= 1)
    with pytest.raises(Open):
        1 / (third * 3 - 1)
    assert third < 0.5 < third + 1
    assert Interval.of(0.5) * 2 == 1


def test_what_leaves_the_intervals_is_noticed():
    x = np.array([Interval.of(1.5), Interval.of(2.0)], dtype=object)
    assert trace(lambda x: x @ x, x).item() == 6.25
    assert trace(lambda x: np.linalg.norm(x) <= 2.5, x).item() == 1
    inside = trace(lambda x: float(x @ x), x).item()  # one rounding, at the very end
    assert 6.25 - 1e-14 < inside < 6.25 + 1e-14
    rng = np.random.default_rng(0)
    for escape in (
        lambda x: math.exp(x[0]),
        lambda x: x[0] + float(x[1]),
        lambda x: np.asarray(x, dtype=float).sum(),
        lambda x: x[0] + rng.standard_normal(),
    ):
        with pytest.raises(Open):
            trace(escape, x)
