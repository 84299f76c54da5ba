"""xᵀAz: the value keeps every digit of A, and its sign is decided on the exact numbers."""

from fractions import Fraction

import numpy as np
import pytest

from mercer import prove
from mercer.formula.definite import sign_of
from mercer.formula.inputs import FrozenArray
from mercer.kernels import Bilinear
from mercer.proof import Counterexample, Proof

RNG = np.random.default_rng(7)


def _exact(A, x, z):
    """Σ xᵢ Aᵢⱼ zⱼ without rounding."""
    terms = (
        Fraction(float(x[i])) * Fraction(float(A[i, j])) * Fraction(float(z[j]))
        for i in range(len(x))
        for j in range(len(z))
    )
    return sum(terms, Fraction(0))


def test_small_eigenvalues_are_kept():
    assert Bilinear(np.diag([1e12, 1e-6]))([[0.0, 1e6]]).item() == pytest.approx(1e6, rel=1e-15)
    assert Bilinear(np.diag([1e16, -1.0]))([[0.0, 1.0]]).item() == -1.0


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
def test_graded_matrices_keep_their_digits(n):
    """Rows and columns of very different size: an error relative to the largest would show."""
    B = RNG.standard_normal((n, n + 2))
    scale = 10.0 ** RNG.integers(-60, 60, n)
    A = (B @ B.T) * scale[:, None] * scale
    A = (A + A.T) / 2
    X = RNG.standard_normal((3, n)) / scale
    K = Bilinear(A)(X)
    for i in range(3):
        for j in range(3):
            assert K[i, j] == pytest.approx(float(_exact(A, X[i], X[j])), abs=1e-12 * n)


@pytest.mark.parametrize("n", [2, 7, 30])
def test_indefinite_matrices_without_a_diagonal(n):
    A = RNG.standard_normal((n, n))
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    X = RNG.standard_normal((3, n))
    assert np.allclose(Bilinear(A)(X), X @ A @ X.T, rtol=0, atol=1e-13 * n**2)
    answer = prove(Bilinear(A))
    assert isinstance(answer, Counterexample)
    assert answer.exact


def _nearly_singular():
    """(name, A, whether xᵀAx ≥ 0 for all x), known from how A was made."""
    ones = np.ones((4, 4))
    below, above = ones.copy(), ones.copy()
    below[0, 0] = np.nextafter(1.0, 0.0)  # (1, −1): 1 − ε/2 − 2 + 1 < 0
    above[0, 0] = np.nextafter(1.0, 2.0)
    whole = RNG.integers(-9, 10, (12, 5)).astype(float)
    last = np.array([[1.0, 1e8], [1e8, 1e16]])
    lower = last.copy()
    lower[1, 1] = np.nextafter(1e16, 0.0)
    return [
        ("ones", ones, True),
        ("one ulp below", below, False),
        ("one ulp above", above, True),
        ("whole numbers of rank 5", whole @ whole.T, True),
        ("graded, singular", last, True),
        ("graded, one ulp below", lower, False),
        ("huge and negative", np.diag([1e16, -1.0]), False),
        ("tiny", np.diag([5e-324, 1.0]), True),
        ("tiny and negative", np.diag([-5e-324, 1e300]), False),
        ("largest", np.diag([1.7e308, 1e-308]), True),
    ]


@pytest.mark.parametrize("case", _nearly_singular(), ids=lambda case: case[0])
def test_the_sign_is_decided_on_the_exact_numbers(case):
    _, A, valid = case
    sign = sign_of(FrozenArray.of(A))
    assert sign.holds is valid
    answer = prove(Bilinear(A))
    assert isinstance(answer, Proof if valid else Counterexample)
    if not valid:
        w = [sum(map(Fraction, column)) for column in sign.witness.array.T.tolist()]
        form = sum(w[i] * Fraction(A[i, j]) * w[j] for i in range(len(w)) for j in range(len(w)))
        assert form < 0
        assert answer.exact
        assert answer.value < 0


def test_rounding_of_a_product_is_seen_and_not_hidden():
    """B Bᵀ in float64 may be indefinite in its last digits; whichever it is, it is told."""
    for seed in range(20):
        B = np.random.default_rng(seed).standard_normal((6, 3))
        A = (B @ B.T + (B @ B.T).T) / 2
        answer = prove(Bilinear(A))
        assert isinstance(answer, Proof | Counterexample)
        assert bool(answer) == (answer.holds is True)


def test_large_matrices():
    B = RNG.standard_normal((120, 150))
    assert prove(Bilinear(B @ B.T)).holds is True  # by Cholesky with a bound
    assert prove(Bilinear(B[:, :3] @ B[:, :3].T), n_features=120, seconds=0.5).holds is not True
    assert prove(Bilinear(B @ B.T - 200 * np.eye(120))).holds is False


def test_parts_of_an_expression():
    k = 2.0 * Bilinear(np.diag([1e16, -1.0])) + 0.0
    answer = prove(k)
    assert isinstance(answer, Counterexample)
    assert answer.exact
