"""Rounding never refutes a true kernel: valid leaves as black boxes stay undecided."""

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.proof import Undecided, prove
from mercer.proof.confirm import asymmetric, indefinite
from mercer.proof.search import Search
from mercer.proof.target import Target


def _one_pair(kernel):
    return mk.Similarity(lambda x, z: kernel(x[None], z[None])[0, 0])


def _blocks(kernel):
    return mk.Similarity(lambda X, Z: kernel(X, Z), blocks=True)


def _data(n_features):
    """Near-duplicates, far from the origin, tiny, and all of it at once."""
    rng = np.random.default_rng(5)
    X = np.abs(rng.standard_normal((5, n_features)))
    twins = np.concatenate([X, X * (1 + 1e-15), X + 1e-9])
    return [twins, twins + 1e4, twins + 1e8, 1e-6 * twins, np.concatenate([X, X + 1e6])]


def test_a_valid_leaf_as_a_black_box_is_undecided(valid):
    leaf, _, _, n_features = valid
    answer = prove(_blocks(leaf), n_features=n_features, seconds=0.1)
    assert isinstance(answer, Undecided), str(answer)
    answer = prove(_one_pair(leaf), n_features=n_features, seconds=0.05)
    assert isinstance(answer, Undecided), str(answer)


def test_also_on_near_duplicates_and_large_offsets(valid):
    leaf, _, _, n_features = valid
    for data in _data(n_features):
        answer = Search(Target(_blocks(leaf))).on_data(data)
        assert answer is None, str(answer)
    assert isinstance(prove(_one_pair(leaf), data=data, seconds=0.05), Undecided)


@pytest.mark.parametrize(
    "f",
    [
        # the loss of digits is in the function itself: acos near 1, and a canceling square
        lambda x, z: 1 - np.arccos(np.clip(x @ z / np.sqrt((x @ x) * (z @ z)), -1, 1)) / np.pi,
        lambda x, z: np.exp(-(x @ x - 2 * (x @ z) + z @ z) / 2),
        lambda x, z: (x @ z + 1) ** 9,
        lambda x, z: float(np.exp(-0.5 * ((np.sin(x) - np.sin(z)) ** 2).sum())),
    ],
    ids=["angle", "expanded gaussian", "degree 9", "warped"],
)
def test_careless_functions(f):
    for n_features in (1, 3):
        for data in _data(n_features):
            answer = Search(Target(mk.Similarity(f))).on_data(data)
            assert answer is None, str(answer)
    answer = prove(f, seconds=0.6)
    assert isinstance(answer, Undecided), str(answer)


def test_the_bound_of_the_black_box():
    """A value is believed below −8nε Σ|cKc| and not above it."""
    eps = np.finfo(float).eps
    points, c = np.array([[1.0], [2.0]]), np.array([1.0, -1.0])

    def off_by(gap):  # cᵀKc = −2 gap
        return Target(mk.Similarity(lambda x, z: 1.0 + gap * (x[0] != z[0])))

    assert indefinite(off_by(20 * eps), points, c) is None
    value, exact = indefinite(off_by(100 * eps), points, c)
    assert value == pytest.approx(-200 * eps)
    assert not exact


def test_float32_inside_the_function():
    def single(x, z):
        return np.exp(-np.float32(0.5) * np.square(np.float32(x) - np.float32(z)).sum())

    assert isinstance(prove(single, data=_data(3)[0], seconds=0.5), Undecided)
    X = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)
    assert isinstance(prove(mk.Precomputed(), data=X @ X.T), Undecided)


def test_the_bound_of_asymmetry():
    eps = np.finfo(float).eps
    points = np.array([[1.0], [2.0]])

    def off_by(gap):
        return Target(mk.Similarity(lambda x, z: 1.0 + gap * (x[0] < z[0])))

    assert asymmetric(off_by(60 * eps), points) is None
    assert asymmetric(off_by(70 * eps), points) is not None


def test_noise_of_the_function_is_no_counterexample():
    rng = np.random.default_rng(0)

    def noisy(x, z):
        return float(np.exp(-((x - z) ** 2).sum()) + 1e-7 * rng.standard_normal())

    assert isinstance(prove(noisy, n_features=1, seconds=1.0), Undecided)


def test_a_formula_is_refuted_below_float64_rounding():
    """50 digits see what float64 cannot, in both directions."""
    points = np.array([[0.0], [1e-9], [2e-9]])
    c = np.array([1.0, -2.0, 1.0])
    assert indefinite(Target(mk.Gaussian()), points, c) is None
    value, exact = indefinite(Target(mk.Tricube()), points, c)
    assert exact
    assert value < 0
    assert abs(value) < 1e-16
