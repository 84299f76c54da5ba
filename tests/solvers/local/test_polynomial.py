"""Local polynomials against NumPy's least squares on the weighted design, query by query."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

import mercer
from mercer.kernels import Epanechnikov, Gaussian, Kernel, Laplacian
from mercer.solvers.local import weights as tiles
from mercer.solvers.local.least_squares import Fits, local_fits
from mercer.solvers.local.polynomial import Features, Polynomial
from mercer.solvers.local.weights import Weights


def design(gaps: np.ndarray, degree: int) -> np.ndarray:
    columns = [
        np.prod(gaps[:, list(powers)], axis=1)
        for total in range(degree + 1)
        for powers in combinations_with_replacement(range(gaps.shape[1]), total)
    ]
    return np.column_stack(columns)


def by_hand(kernel: Kernel, X: np.ndarray, Z: np.ndarray, t: np.ndarray, degree: int) -> np.ndarray:
    found = []
    for x in X:
        root = np.sqrt(kernel(x[None], Z)[0])[:, None]
        found.append(np.linalg.lstsq(root * design(Z - x, degree), root * t, rcond=None)[0])
    return np.array(found)


def fit(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, t: np.ndarray, degree: int, **more: object
) -> Fits:
    W = Weights(kernel.formula(), X, Z)
    return local_fits(W, t, Polynomial(Z, degree), **more)  # type: ignore[arg-type]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


@pytest.mark.parametrize(
    ("columns", "degree"), [(1, 0), (1, 1), (1, 2), (1, 3), (2, 2), (3, 3), (6, 1)]
)
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian()], ids=repr)
def test_coefficients(kernel: Kernel, columns: int, degree: int, rng: np.random.Generator) -> None:
    Z, X = 3 * rng.random((400, columns)), 3 * rng.random((12, columns))
    t = np.column_stack([np.sin(Z).sum(axis=1), Z[:, 0] ** 2])
    found = fit(kernel, X, Z, t, degree)
    np.testing.assert_allclose(found.coefficients, by_hand(kernel, X, Z, t, degree), atol=1e-8)
    np.testing.assert_array_equal(found.value, found.coefficients[:, 0])


def test_polynomials_of_that_degree_are_reproduced(rng: np.random.Generator) -> None:
    Z, X = rng.random((300, 2)), rng.random((10, 2))

    def cubic(x: np.ndarray) -> np.ndarray:
        return (1 + x[:, 0] - 2 * x[:, 1] + x[:, 0] ** 2 * x[:, 1])[:, None]

    found = fit(Gaussian(0.2), X, Z, cubic(Z), 3)
    np.testing.assert_allclose(found.value, cubic(X), atol=1e-9)
    slope = np.column_stack([1 + 2 * X[:, 0] * X[:, 1], -2 + X[:, 0] ** 2])
    np.testing.assert_allclose(found.coefficients[:, 1:3, 0], slope, atol=1e-7)


def test_data_far_from_the_origin_lose_no_digits(rng: np.random.Generator) -> None:
    Z, X = rng.random((300, 1)), rng.random((10, 1))
    near = fit(Gaussian(0.1), X, Z, np.sin(6 * Z), 1)
    far = fit(Gaussian(0.1), X + 2.0**30, Z + 2.0**30, np.sin(6 * Z), 1)
    np.testing.assert_allclose(far.value, near.value, atol=1e-6)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_interpolation_on_the_line(degree: int, rng: np.random.Generator) -> None:
    Z = 50 * rng.random((800, 1))
    X, t = np.linspace(0, 50, 4000)[:, None], np.sin(Z)
    found = fit(Gaussian(), X, Z, t, degree)
    some = slice(None, None, 97)
    np.testing.assert_allclose(
        found.coefficients[some], by_hand(Gaussian(), X[some], Z, t, degree), atol=1e-9
    )


def test_tiles_out_of_reach(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "COMPILED_PAIRS", 0)
    Z, X = 30 * rng.random((2000, 2)), 30 * rng.random((300, 2))
    t = np.sin(Z[:, :1])
    W = Weights(Epanechnikov(3.0).formula(), X, Z)
    assert W.near is not None
    found = local_fits(W, t, Polynomial(Z, 1))
    np.testing.assert_allclose(
        found.coefficients[:40], by_hand(Epanechnikov(3.0), X[:40], Z, t, 1), atol=1e-8
    )


# --- singular designs --------------------------------------------------------------------------


def test_one_example_in_reach_gives_its_value() -> None:
    Z, t = np.array([[0.0], [10.0]]), np.array([[3.0], [5.0]])
    found = fit(Epanechnikov(2.0), np.array([[1.0]]), Z, t, 1)
    np.testing.assert_allclose(found.coefficients[0, :, 0], [3.0, 0.0])


def test_a_constant_column_has_no_slope(rng: np.random.Generator) -> None:
    z = rng.random((50, 1))
    Z = np.column_stack([z, np.full(50, 7.0)])
    found = fit(Gaussian(), np.array([[0.5, 7.0], [0.5, 8.0]]), Z, 2 * z, 1)
    np.testing.assert_allclose(found.coefficients[:, :, 0], [[1, 2, 0], [1, 2, 0]], atol=1e-10)


def test_two_equal_columns_share_the_slope(rng: np.random.Generator) -> None:
    z = rng.random((50, 1))
    found = fit(Gaussian(), np.array([[0.5, 0.5]]), np.hstack([z, z]), 2 * z, 1)
    np.testing.assert_allclose(found.coefficients[0, :, 0], [1.0, 1.0, 1.0], atol=1e-10)


def test_units_do_not_matter_where_it_is_singular(rng: np.random.Generator) -> None:
    Z, t = rng.random((3, 5)), rng.normal(size=(3, 1))
    units = np.array([1.0, 1e3, 1e-3, 1.0, 1.0])
    wide = Gaussian(1e9)  # all weights alike, so that only the slopes see the units
    X = rng.random((1, 5))
    one, other = fit(wide, X, Z, t, 1), fit(wide, X * units, Z * units, t, 1)
    np.testing.assert_allclose(one.value, other.value, atol=1e-8)


def test_more_columns_than_examples_interpolates(rng: np.random.Generator) -> None:
    Z, t = rng.random((4, 9)), rng.normal(size=(4, 1))
    np.testing.assert_allclose(fit(Gaussian(), Z, Z, t, 1).value, t, atol=1e-9)


def test_graded_weights_are_solved_by_singular_values(rng: np.random.Generator) -> None:
    """Two near points with all the weight, others 1e-12 of it: normal equations lose the slope."""
    Z = np.array([[0.0], [1e-4], [7.0], [7.5]])
    t = 1.0 + 2.0 * Z
    found = fit(Gaussian(), np.array([[0.0]]), Z, t, 1)
    np.testing.assert_allclose(found.coefficients[0, :, 0], [1.0, 2.0], atol=1e-6)


def test_far_queries_take_the_nearest_value_and_no_slope() -> None:
    Z, t = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [7.0]])
    found = fit(Gaussian(), np.array([[100.0], [1.0]]), Z, t, 1, spread=True)
    assert found.far.tolist() == [True, False]
    np.testing.assert_allclose(found.coefficients[0, :, 0], [7.0, 0.0])
    assert found.variance is not None
    assert found.leverage is not None
    assert found.leverage[0] == 1.0
    assert np.isfinite(found.variance).all()


# --- leave-one-out, spread, features -----------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2])
def test_leave_one_out(columns: int, rng: np.random.Generator) -> None:
    Z, t = rng.random((90, columns)), rng.normal(size=(90, 1))
    W = Weights(Gaussian(0.15).formula(), Z, Z, np.arange(90))
    found = local_fits(W, t, Polynomial(Z, 1))
    for i in range(0, 90, 9):
        rest = np.delete(np.arange(90), i)
        alone = fit(Gaussian(0.15), Z[[i]], Z[rest], t[rest], 1)
        np.testing.assert_allclose(found.value[i], alone.value[0], rtol=1e-7, atol=1e-9)


def test_variance_and_leverage(rng: np.random.Generator) -> None:
    Z, X, v = rng.random((80, 2)), rng.random((6, 2)), rng.random(80)
    t = rng.normal(size=(80, 1))
    found = fit(Gaussian(0.4), X, Z, t, 1, sample_weight=v, spread=True)
    for i, x in enumerate(X):
        w = Gaussian(0.4)(x[None], Z)[0] * v
        P = design(Z - x, 1)
        S = np.linalg.inv(P.T @ (w[:, None] * P))
        beta = S @ (P.T @ (w * t[:, 0]))
        np.testing.assert_allclose(found.coefficients[i, :, 0], beta, atol=1e-9)
        residual = w @ (t[:, 0] - P @ beta) ** 2 / w.sum()
        np.testing.assert_allclose(found.variance[i, 0], residual, rtol=1e-8)  # type: ignore[index]
        row = S[0] @ (P.T * w)
        np.testing.assert_allclose(found.leverage[i], row @ row, rtol=1e-8)  # type: ignore[index]


def test_given_features(rng: np.random.Generator) -> None:
    """Lecture 001: w minimizes Σ rₙ (tₙ − wᵀφ(xₙ))², the answer is wᵀφ(x)."""
    Z, X, t = rng.random((60, 1)), rng.random((5, 1)), rng.normal(size=(60, 2))

    def phi(x: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(x)), x, np.cos(3 * x)])

    W = Weights(Gaussian(0.3).formula(), X, Z)
    found = local_fits(W, t, Features(at_x=phi(X), at_z=phi(Z)), spread=True)
    for i, x in enumerate(X):
        w = Gaussian(0.3)(x[None], Z)[0]
        root = np.sqrt(w)[:, None]
        beta = np.linalg.lstsq(root * phi(Z), root * t, rcond=None)[0]
        np.testing.assert_allclose(found.coefficients[i], beta, atol=1e-8)
        np.testing.assert_allclose(found.value[i], phi(x[None])[0] @ beta, atol=1e-9)


def test_singular_features_take_the_shortest_coefficients() -> None:
    Z = np.linspace(0, 1, 20)[:, None]
    twice = np.hstack([Z, Z])
    W = Weights(Gaussian().formula(), Z[:1], Z)
    found = local_fits(W, 4 * Z, Features(at_x=twice[:1], at_z=twice))
    np.testing.assert_allclose(found.coefficients[0, :, 0], [2.0, 2.0], atol=1e-9)


def test_little_memory_means_blocks_of_queries(rng: np.random.Generator) -> None:
    Z, X, t = rng.random((80, 3)), rng.random((700, 3)), rng.normal(size=(80, 1))
    whole = fit(Gaussian(0.4), X, Z, t, 1, spread=True)
    with mercer.config(memory="1MB"):
        parts = fit(Gaussian(0.4), X, Z, t, 1, spread=True)
    for name in ("value", "coefficients", "variance", "leverage", "far"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)

    def phi(x: np.ndarray) -> np.ndarray:
        return np.hstack([np.ones((len(x), 1)), x, x**2])

    basis = Features(at_x=phi(X), at_z=phi(Z))
    W = Weights(Gaussian(0.4).formula(), X, Z)
    with mercer.config(memory="1MB"):
        parts = local_fits(W, t, basis)
    np.testing.assert_allclose(parts.value, local_fits(W, t, basis).value, rtol=1e-8)


def test_nearly_equal_features_are_solved_by_singular_values() -> None:
    Z = np.linspace(0, 1, 40)[:, None]

    def phi(x: np.ndarray) -> np.ndarray:
        return np.hstack([np.ones_like(x), x, x + 1e-5 * x**2])

    W = Weights(Gaussian().formula(), Z[::9], Z)
    found = local_fits(W, Z**2, Features(at_x=phi(Z[::9]), at_z=phi(Z)), spread=True)
    np.testing.assert_allclose(found.value, Z[::9] ** 2, atol=1e-8)  # κ² = 1e10 would lose it
    assert found.variance is not None
    assert (found.variance < 1e-15).all()


@pytest.mark.parametrize(("off", "slopes"), [(1e-9, (1.5, 1.5)), (1e-4, (3.0, 0.0))])
@pytest.mark.parametrize("kernel", [Epanechnikov(0.5), Gaussian(0.05)], ids=repr)
def test_singular_rows_among_tiles_out_of_reach(
    kernel: Kernel,
    off: float,
    slopes: tuple[float, float],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Points off a line by so little that the slope across it is nothing, or just determined."""
    monkeypatch.setattr(tiles, "COMPILED_PAIRS", 0)
    a = 40 * rng.random((1500, 1))
    Z = np.hstack([a, a + off * rng.random((1500, 1))])
    W = Weights(kernel.formula(), Z[:200], Z)
    assert W.near is not None
    found = local_fits(W, 3 * a, Polynomial(Z, 1))
    np.testing.assert_allclose(found.value, 3 * a[:200], atol=1e-6)
    np.testing.assert_allclose(found.coefficients[:, 1:, 0], [slopes] * 200, atol=1e-4)


def test_tiles_out_of_reach_weigh_nothing(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fresh memory, which may hold anything, holds ones here: they would count as weights."""
    a = 40 * rng.random((1500, 1))
    Z, t = np.hstack([a, a + 1e-4 * rng.random((1500, 1))]), rng.normal(size=(1500, 1))
    queries = Z[np.flatnonzero(a < 10)[:8]]
    expected = fit(Epanechnikov(0.5), queries, Z, t, 1).value
    monkeypatch.setattr(tiles, "COMPILED_PAIRS", 0)
    fit(Epanechnikov(0.5), queries, Z, t, 1)  # what is compiled knows the true np.empty
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.zeros(shape, dtype) + 1)
    np.testing.assert_allclose(fit(Epanechnikov(0.5), queries, Z, t, 1).value, expected)


def test_leave_one_out_with_spread(rng: np.random.Generator) -> None:
    Z, t = 30 * rng.random((2000, 1)), rng.normal(size=(2000, 1))
    W = Weights(Gaussian().formula(), Z, Z, np.arange(2000))
    found = local_fits(W, t, Polynomial(Z, 1), spread=True)
    assert found.variance is not None
    for i in (0, 777, 1999):
        rest = np.delete(np.arange(2000), i)
        alone = fit(Gaussian(), Z[[i]], Z[rest], t[rest], 1, spread=True)
        np.testing.assert_allclose(found.value[i], alone.value[0], rtol=1e-7)
        np.testing.assert_allclose(found.variance[i], alone.variance[0], rtol=1e-7)  # type: ignore[index]


def test_sparse_rows_have_no_slopes() -> None:
    import scipy.sparse as sp

    Z = sp.csr_array(np.eye(3))
    with pytest.raises(TypeError, match="dense rows"):
        local_fits(Weights(Gaussian().formula(), Z, Z), np.ones((3, 1)), Polynomial(Z, 1))
