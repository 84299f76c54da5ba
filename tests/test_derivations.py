"""Derivations whose lines agree, formulas as they are written, and separators of small data."""

import itertools
import math

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelExpansion,
    KernelPerceptron,
    KernelRidge,
    Linear,
    Polynomial,
    data,
    theory,
)
from mercer.maps import PolynomialMap, PowersMap


def test_every_line_of_the_dual_of_ridge_has_one_value():
    rng = np.random.default_rng(0)
    phi, t = rng.normal(size=(5, 9)), rng.normal(size=5)
    lines = theory.ridge_dual(phi, t, 0.3)
    assert len(lines.lines) == 7
    assert lines.residual < 1e-10
    w = KernelRidge(Linear(), alpha=0.3, fit_intercept=False).fit(phi, t).expansion_.primal()
    np.testing.assert_allclose(lines.lines[-1].value, w, rtol=1e-8)
    assert str(lines).count("\n") == 6
    with pytest.raises(ValueError, match="independent"):
        theory.ridge_dual(phi.T, np.ones(9))


def test_a_wrong_line_would_be_seen():
    broken = theory.Derivation.of([("a", [1.0, 2.0]), ("b", [1.0, 2.5])])
    assert broken.residual == 0.25
    assert [line.residual for line in broken] == [0.0, 0.25]


@pytest.mark.parametrize(("degree", "offset"), [(2, 1.0), (3, 2.0), (4, 0.0), (5, 0.5)])
def test_the_binomial_sum_is_the_polynomial_kernel(degree, offset):
    x, z = [0.3, -1.2], [0.7, 0.4]
    found = theory.binomial_expansion(degree, offset, x, z)
    assert found.residual < 1e-11
    assert found.lines[0].value == pytest.approx(Polynomial(degree, offset)([x], [z])[0, 0])


def test_the_series_of_the_gaussian_converges():
    x, z = [0.3, -1.2], [0.7, 0.4]
    gaps = [theory.gaussian_series(x, z, 0.8, order).residual for order in (1, 2, 4, 8, 16)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-12
    first = theory.gaussian_series(x, z, 0.8).lines[0].value
    assert first == pytest.approx(Gaussian(0.8)([x], [z])[0, 0])


@pytest.mark.parametrize(("n", "degree"), [(1, 3), (3, 4), (5, 5)])
def test_the_counting_table_counts_the_columns_of_the_map(n, degree):
    table = theory.monomial_table(n, degree)
    powers = PolynomialMap(degree).fit(np.ones((1, n))).powers_
    shapes = [tuple(sorted((int(e) for e in row if e), reverse=True)) for row in powers]
    assert {s: c for s, c in table.items() if c} == {s: shapes.count(s) for s in set(shapes)}
    assert sum(table.values()) == math.comb(n + degree - 1, degree)


def test_phi_is_written_with_its_roots():
    def written(degree, offset=0.0, n=2):
        return PolynomialMap(degree, offset).fit(np.ones((1, n))).formula()

    assert written(2) == "[x₁², √2 x₁x₂, x₂²]"
    assert written(3) == "[x₁³, √3 x₁²x₂, √3 x₁x₂², x₂³]"
    assert written(3, 1.0, 1) == "[1, √3 x, √3 x², x³]"
    assert "√6 x₁x₂" in written(3, 1.0)
    names = PolynomialMap(2).fit(np.ones((1, 2))).formula(["u", "v"])
    assert names == "[u², √2 uv, v²]"


def test_f_on_xor_is_x1_plus_x2_squared():
    X, y = data.xor()
    f = KernelPerceptron(Polynomial(2), tie="first", shuffle=False).fit(X, y).expansion_
    assert f.formula() == "(x₁ + x₂)²"
    assert f.formula(["a", "b"]) == "(a + b)²"


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3, offset=2.0)])
def test_a_formula_has_the_values_of_f(kernel):
    rng = np.random.default_rng(1)
    points, Z = rng.integers(-3, 4, (3, 2)).astype(float), rng.normal(size=(5, 2))
    f = KernelExpansion(kernel, points, np.array([1.0, -2.0, 0.5]), 0.25)
    text = f.formula(["a", "b"]).replace("−", "-").replace(" ", "+").replace("+-+", "-")
    for raised, power in zip("²³", "23", strict=True):
        text = text.replace(raised, f"**{power}")
    # As Python: juxtaposition is a product.
    for left, right in (("ab", "a*b"), ("2b", "2*b"), ("3b", "3*b")):
        text = text.replace(left, right)
    text = text.replace("++", "+").replace("+++", "+")
    for sign in "ab":
        text = "".join(
            "*" if c == "+" and text[i + 1] == sign and text[i - 1].isdigit() and text[i - 2] != "*"
            else c
            for i, c in enumerate(text)
        )  # fmt: skip
    values = [eval(text.replace("+*", "*"), {"a": a, "b": b}) for a, b in Z]
    np.testing.assert_allclose(values, f(Z), rtol=1e-9)


def test_what_has_no_formula_says_so():
    with pytest.raises(TypeError, match="no monomials"):
        KernelExpansion(Gaussian(), np.ones((1, 2)), [1.0]).formula()
    with pytest.raises(ValueError, match="one output"):
        KernelExpansion(Linear(), np.ones((1, 2)), np.ones((1, 2))).formula()
    assert KernelExpansion(Linear(), np.zeros((1, 2)), [1.0]).formula() == "0"


def test_powers_are_columns_without_cross_terms():
    X = np.array([[2.0, 3.0]])
    phi = PowersMap(3).fit(X)
    assert phi.transform(X).tolist() == [[2, 3, 4, 9, 8, 27]]
    assert phi.get_feature_names_out().tolist() == ["x0", "x1", "x0^2", "x1^2", "x0^3", "x1^3"]
    with pytest.raises(ValueError, match="degree"):
        PowersMap(0).fit(X)


def test_the_version_space_is_exactly_the_separators():
    X, y = data.blobs(20)
    space = theory.version_space(X, y, 73)
    for angle, low, high in zip(space.angles, space.lower, space.upper, strict=True):
        w = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        middle = (low + high) / 2
        assert (y * (X @ w - middle) > 0).all() == (low < high)
    assert space
    assert not theory.version_space(*data.xor())


def fewest_by_force(X, y):
    """The fewest errors over very many lines."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(200_000, 2))
    b = -np.einsum(
        "ij,ij->i", w, X[rng.integers(len(X), size=len(w))] + 0.3 * rng.normal(size=w.shape)
    )
    return int(((X @ w.T + b > 0) != (y[:, None] > 0)).sum(axis=0).min())


@pytest.mark.parametrize("seed", range(4))
def test_the_fewest_errors_a_line_can_make(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 2)), rng.choice([-1, 1], 9)
    y[:2] = -1, 1
    w, b, errors = theory.fewest_errors(X, y)
    assert errors == fewest_by_force(X, y)
    assert int((np.sign(X @ w + b) != y).sum()) == errors


def test_fewest_errors_on_small_sets_of_the_lectures():
    assert theory.fewest_errors(*data.xor())[2] == 1
    assert theory.fewest_errors(*data.blobs(30))[2] == 0
    for flips in itertools.product([-1, 1], repeat=3):  # three points: any labels are separable
        if len(set(flips)) == 2:
            assert theory.fewest_errors([[0.0, 0], [1, 0], [0, 1]], flips)[2] == 0
    with pytest.raises(ValueError, match="at most"):
        theory.fewest_errors(np.zeros((500, 2)), [1, -1] * 250)


def test_a_wider_margin_has_a_smaller_bound():
    bounds = [theory.margin_bound(50_000, 1.0, rho) for rho in (0.1, 0.2, 0.5)]
    assert bounds == sorted(bounds, reverse=True)
    assert theory.margin_bound(100, 1.0, 0.1) == 1.0
    assert theory.margin_bound(50_000, 1.0, 0.5, misses=500) == pytest.approx(bounds[2] + 0.01)
    with pytest.raises(ValueError, match="margin"):
        theory.margin_bound(10, 1.0, 0.0)
    with pytest.raises(ValueError, match="not possible"):
        theory.margin_bound(10, 1.0, 0.5, misses=11)


def test_the_margin_bound_holds_on_held_out_data():
    X, y = data.blobs(4000, noise=0.2)
    found = theory.separability(Linear(), X[:2000], y[:2000])
    bound = theory.margin_bound(2000, theory.radius(Linear(), X), found.margin)
    error = np.mean(np.sign(found.separator(X[2000:])) != y[2000:])
    assert error <= bound < 1
