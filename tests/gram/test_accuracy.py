"""float32 within 1e-5 and float64 within 1e-12 of the largest entry, where it is hard.

The references are differences of rows in extended precision, nothing of the library's own.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import Gaussian, Laplacian, Linear, Periodic, Polynomial
from mercer.formula import Formula, evaluate, simplify
from mercer.formula.nodes import ROOT, statistics
from mercer.gram import accuracy
from mercer.gram.fill import direct
from mercer.kernels import Uniform

LIMIT = {np.dtype(f"f{size}").name: error for size, error in accuracy.PROMISED.items()}
RNG = np.random.default_rng(11)


def gaps(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return X.astype(np.longdouble)[:, None, :] - Z.astype(np.longdouble)[None, :, :]


def near_rows(center: np.ndarray, columns: int, spread: float = 1.0) -> np.ndarray:
    """Rows around centers, with exact and near duplicates among them."""
    X = center + spread * RNG.normal(size=(len(center), columns)) / np.sqrt(columns)
    X[5] = X[4]
    X[7] = X[6] + 1e-3 * spread * RNG.normal(size=columns)
    X[9] = np.nextafter(X[8], np.inf)
    return X


def far(n: int, columns: int) -> np.ndarray:
    return near_rows(np.full((n, 1), 1e4), columns)


def clusters(n: int, columns: int) -> np.ndarray:
    return near_rows(1e4 * (np.arange(n) % 2)[:, None], columns)


def cube(n: int, columns: int) -> np.ndarray:
    X = RNG.uniform(size=(n, columns))
    for i in range(0, n - 1, 2):  # partners at about a standard deviation of 0.01
        X[i + 1] = X[i] + 0.01 * RNG.normal(size=columns) / np.sqrt(columns)
    return X


HARD = {"far": far, "clusters": clusters, "cube": cube}


def distance_kernels(place: str, columns: int):
    """Kernels of the difference with their values; on the cube at σ = 0.01."""
    s = 0.01 if place == "cube" else 1.0
    sigmas = s * np.linspace(0.5, 2.0, columns) * np.sqrt(columns)

    def squared(g):
        return (g**2).sum(-1)

    return [
        (Gaussian(s), lambda g: np.exp(-squared(g) / (2 * s**2))),
        (Gaussian(sigmas), lambda g: np.exp(-squared(g / sigmas) / 2)),
        (Laplacian(1 / s), lambda g: np.exp(-np.sqrt(squared(g)) / s)),
        (Laplacian(0.2 / s, norm=1), lambda g: np.exp(-0.2 * np.abs(g).sum(-1) / s)),
        (Laplacian(1 / s, norm="inf"), lambda g: np.exp(-np.abs(g).max(-1) / s)),
        (mercer.Matern(0.5, s), lambda g: np.exp(-np.sqrt(squared(g)) / s)),
        (
            mercer.Matern(1.5, s),
            lambda g: (1 + np.sqrt(3 * squared(g)) / s) * np.exp(-np.sqrt(3 * squared(g)) / s),
        ),
        (mercer.RationalQuadratic(0.7, s), lambda g: (1 + squared(g) / (1.4 * s**2)) ** -0.7),
        (mercer.kernels.Epanechnikov(2 * s), lambda g: np.maximum(1 - squared(g) / (4 * s**2), 0)),
        (
            mercer.kernels.Wendland(0, 3 * s),
            lambda g: np.maximum(1 - np.sqrt(squared(g)) / (3 * s), 0) ** 2,
        ),
        (
            mercer.kernels.BSpline(1, 3 * s),
            lambda g: np.maximum(1 - np.abs(g) / (3 * s), 0).prod(-1),
        ),
        (
            Periodic(1.3 * s, np.sqrt(columns)),
            lambda g: np.exp(-2 * (np.sin(np.pi * g / (1.3 * s)) ** 2).sum(-1) / columns),
        ),
        (
            0.5 * Gaussian(s) + Laplacian(1 / s) * Gaussian(2 * s),
            lambda g: (
                0.5 * np.exp(-squared(g) / (2 * s**2))
                + np.exp(-np.sqrt(squared(g)) / s - squared(g) / (8 * s**2))
            ),
        ),
    ]


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("place", HARD)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_where_they_cancel(dtype, place, columns) -> None:
    X = HARD[place](100, columns).astype(dtype)
    Z = X[:60].copy()  # not the same object: no diagonal is known here
    G = gaps(X, Z)
    V = RNG.normal(size=60).astype(dtype)
    for k, f in distance_kernels(place, columns):
        expected = f(G).astype(float)
        limit = LIMIT[dtype]
        if dtype == "float64" and place != "cube" and isinstance(k, Periodic):
            limit = 1e-10  # the phase itself, 10⁴ periods on, has no more digits in float64
        elif (
            dtype == "float64"
            and place != "cube"
            and isinstance(getattr(k, "sigma", 0), np.ndarray)
        ):
            limit = 4e-12  # nor has x / σ, 10⁴ from the origin
        value = k(X, Z)
        assert value.dtype == dtype
        error = np.abs(value - expected).max() / expected.max()
        assert error <= limit, f"{k}: {error:.1e}"
        square = k(X)
        error = np.abs(square[:, :60] - expected).max() / expected.max()
        assert error <= limit, f"{k}, square: {error:.1e}"
        assert (square == square.T).all()
        product = np.abs(k.gram(X, Z) @ V - expected @ V).max() / (expected @ np.abs(V)).max()
        assert product <= limit, f"{k}, product: {product:.1e}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_near_duplicates_under_the_laplacian(dtype) -> None:
    """√s has no slope at 0: distances of 1e-6 of the norm must come out right."""
    X = far(80, 30).astype(dtype)
    X[40:] = X[:40] + (1e-2 * RNG.normal(size=(40, 30))).astype(dtype)
    expected = np.exp(-np.sqrt((gaps(X, X) ** 2).sum(-1))).astype(float)
    assert np.abs(Laplacian()(X) - expected).max() <= LIMIT[dtype]
    assert np.abs(Laplacian()(sparse.csr_matrix(X)) - expected).max() <= LIMIT[dtype]


@pytest.mark.parametrize("place", ["far", "clusters"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_rows_cancel_too(dtype, place) -> None:
    X = HARD[place](70, 25).astype(dtype)
    X[:, ::3] = 0
    expected = np.exp(-(gaps(X, X) ** 2).sum(-1) / 2).astype(float)
    S = sparse.csr_matrix(X)
    for value in (Gaussian()(S), Gaussian()(S, S), Gaussian()(X, S), Gaussian()(S, X)):
        assert value.dtype == dtype
        assert np.abs(value - expected).max() <= LIMIT[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["linear()", "polynomial(3, offset=1)", "cosine()", "tanimoto()"])
def test_products_far_from_the_origin(text, dtype) -> None:
    X = far(50, 20).astype(dtype)
    wide = X.astype(np.longdouble)
    d = wide @ wide.T
    n = np.diag(d)
    expected = {
        "linear()": d,
        "polynomial(3, offset=1)": (d + 1) ** 3,
        "cosine()": d / np.sqrt(np.outer(n, n)),
        "tanimoto()": d / (n[:, None] + n[None, :] - d),
    }[text].astype(float)
    value = mercer.parse(text)(X)
    assert np.abs(value - expected).max() <= LIMIT[dtype] * expected.max()


def test_a_centered_product_serves_its_neighbors_too() -> None:
    """One product for ‖x − z‖² and x·z: the shift that centering needs is put back."""
    X = (20 + RNG.normal(size=(120, 40))).astype(np.float32)
    k = Gaussian(8.0) + 1e-5 * Linear() + 1e-10 * Polynomial(2)
    G = k.gram(X)
    assert [s.kind for s in G.program.sources] == ["product"]
    assert any(m.center for m in G.methods.values())
    wide = X.astype(float)
    d = wide @ wide.T
    expected = np.exp(-(gaps(X, X) ** 2).sum(-1) / 128).astype(float) + 1e-5 * d + 1e-10 * d**2
    assert np.abs(G.dense() - expected).max() <= 1e-5 * expected.max()


def test_a_center_takes_no_digits_of_rows_near_zero() -> None:
    """x·z of rows that are tiny beside the mean of all: ‖x‖² is all that it is measured by."""
    X = RNG.normal(size=(300, 60)) + 1.0
    X[:100] = 1e-5 * RNG.normal(size=(100, 60))
    d = X.astype(np.longdouble) @ X.T.astype(np.longdouble)
    n = np.diag(d)
    expected = (d / (n[:, None] + n[None, :] - d)).astype(float)
    k = Laplacian(1e6) + mercer.kernels.Tanimoto()
    found = k(X) - np.exp(-1e6 * np.sqrt((gaps(X, X) ** 2).sum(-1))).astype(float)
    assert np.abs(found - expected).max() <= LIMIT["float64"]


def test_what_k_reads_of_other_rows_is_not_as_long_as_these() -> None:
    X = 1e-6 * RNG.normal(size=(300, 60))
    X[1] = X[0]
    k = mercer.kernels.Wendland(0, 1e-5) + mercer.Cosine().normalized()  # of rows of length 1
    assert k(X)[0, 1] == pytest.approx(2.0, abs=1e-12)


def test_the_method_follows_the_data() -> None:
    def kinds(k, X):
        return [s.kind for s in k.gram(X).program.sources]

    wide = RNG.normal(size=(100, 40))
    assert kinds(Gaussian(8.0), wide[:, :3]) == ["direct"]  # few columns
    assert kinds(Gaussian(8.0), wide[:5]) == ["direct"]  # little work
    assert kinds(Gaussian(8.0), wide.astype(np.float32)) == ["product"]
    assert kinds(Gaussian(0.01), wide.astype(np.float32)) == ["repaired"]
    assert kinds(Laplacian(), wide) == ["repaired"]
    assert kinds(mercer.kernels.Uniform(8.0), wide) == ["repaired"]
    huge = (1e25 * wide).astype(np.float32)
    assert kinds(Gaussian(8.0), huge) == ["direct"]
    np.testing.assert_array_equal(Gaussian(8.0)(huge), np.eye(100))
    with pytest.raises(ValueError, match="overflows float32"):
        Gaussian()(sparse.csr_matrix(np.where(np.arange(40) == 7, huge, 0)))


def test_the_diagonal_is_exact() -> None:
    X = (1e3 + RNG.normal(size=(90, 30))).astype(np.float32)
    for k in (Gaussian(0.1), Laplacian(), mercer.Matern(2.5, 0.1), Gaussian(5.0)):
        G = k.gram(X)
        assert (np.diag(G.dense()) == 1).all()
        assert (np.diag(G.block(np.arange(90), np.arange(90))) == 1).all()
        assert (G.diagonal() == 1).all()


def test_tiny_vectors_have_an_angle() -> None:
    """‖x‖² ‖z‖² underflows in float32 long before x is zero."""
    rows = np.array([[1e-13, 0.0], [1e-13, 1e-13], [0.0, 0.0]], dtype=np.float32)
    expected = [[1.0, 0.75, 0.5], [0.75, 1.0, 0.5], [0.5, 0.5, 0.5]]
    np.testing.assert_allclose(mercer.kernels.ArcCosine(0)(rows), expected, atol=1e-6)
    np.testing.assert_allclose(mercer.Cosine()(rows)[0, 1], np.sqrt(0.5), atol=1e-6)


def test_numbers_that_were_not_moved_bear_any_kernel() -> None:
    """A step at some distance is never sure of its side, unless x and z are what they were."""
    ends, dtype = accuracy.Ends(100.0, 50.0, 50.0), np.dtype(np.float32)
    for kernel, moved in ((Uniform(3.0), False), (Gaussian(2.0), True)):
        formula = simplify(kernel.lower(ROOT))
        node = next(n for n in formula.walk() if n.op == "sqdist")
        assert accuracy.tolerates_rounding(formula, node, ends, 0.0, dtype)
        assert accuracy.tolerates_rounding(formula, node, ends, 1e-8, dtype) is moved
        assert not accuracy.tolerates_rounding(formula, node, ends, 1e-3, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", ["sqdist", "l1", "linf"])
def test_differences_round_alike_whether_scipy_is_there_or_not(op, dtype, monkeypatch) -> None:
    import scipy.spatial  # noqa: F401

    x, z = (RNG.normal(size=(n, 13)).astype(dtype) for n in (9, 7))
    found = []
    for _ in range(2):
        found.append(np.empty((9, 7), dtype))
        direct(Formula(op, value=ROOT), x, z, found[-1])
        monkeypatch.delitem(sys.modules, "scipy.spatial", raising=False)
    np.testing.assert_array_equal(*found)


def rows_that_cancel(rng, n: int, columns: int) -> np.ndarray:
    """Rows whose products lose digits: far from 0, all sums rounded one way, near one another."""
    spread = {
        "random": lambda: rng.normal(size=(n, columns)),
        "one number": lambda: np.repeat(0.1 + 1e-3 * rng.normal(size=(n, 1)), columns, axis=1),
        "few numbers": lambda: rng.choice([0.1, 0.3, 0.7], size=(n, columns)),
        "outlier": lambda: rng.normal(size=(n, columns)) * 1e5 ** (np.arange(n) == 3)[:, None],
        "clusters": lambda: 1e-4 * rng.normal(size=(n, columns)) + rng.integers(0, 2, (n, 1)),
    }
    X = spread[rng.choice(list(spread))]()
    offset = 10.0 ** rng.uniform(-1, 9) * (rng.normal(size=columns) if rng.random() < 0.5 else 1.0)
    X = 10.0 ** rng.uniform(-6, 2) * (X + (offset if rng.random() < 0.7 else 0.0))
    X[1] = X[0]
    return X


def kernel_of_width(rng, width: float) -> mercer.Kernel:
    made = [
        lambda: mercer.kernels.SquaredDistance(),
        lambda: mercer.kernels.NegativeSquaredDistance(),
        lambda: mercer.kernels.SquaredDistance() * mercer.kernels.SquaredDistance(),
        lambda: Gaussian(width),
        lambda: mercer.RationalQuadratic(0.7, width),
        lambda: mercer.Matern(2.5, width),
        lambda: mercer.kernels.Wendland(1, width),
        lambda: mercer.kernels.Tricube(width),
        lambda: mercer.kernels.SquaredDistance() + Gaussian(width),
    ]
    return made[rng.integers(len(made))]()


@pytest.mark.parametrize("seed", range(150))
def test_no_rows_break_the_estimate(seed) -> None:
    """Whatever is asked at once: each k is right beside itself, or beside the largest k of Z."""
    rng = np.random.default_rng(seed)
    columns = int(np.exp(rng.uniform(np.log(17), np.log(300))))
    dtype = rng.choice(["float32", "float64"])
    Z, more = np.split(rows_that_cancel(rng, 130, columns).astype(dtype), [100])
    X = np.concatenate([Z, more])
    s = np.square(gaps(X, Z)).sum(-1).astype(float)
    width = np.sqrt(np.median(s[s > 0]) if s.any() else 1.0) * 10.0 ** rng.uniform(-8, 2)
    k = kernel_of_width(rng, float(width))
    formula = simplify(k.lower(ROOT))
    expected = evaluate(formula, dict.fromkeys(statistics(formula), s))
    size = np.maximum(np.abs(expected), np.abs(expected[:100]).max())
    limit = LIMIT[dtype] * (max(1.0, columns / 20) if dtype == "float32" else 1.0)
    f = mercer.KernelExpansion(k, Z, np.eye(100))
    found = {
        "square": (k(Z), slice(100)),
        "copy": (k(Z, Z.copy()), slice(100)),
        "gram": (k.gram(X, Z).dense(), slice(130)),
        "block": (k.gram(Z).block(np.arange(7), np.arange(100)), slice(7)),
        "one row": (np.concatenate([f(X[i : i + 1]) for i in range(98, 106)]), slice(98, 106)),
        "fifty": (np.concatenate([f(X[i : i + 50]) for i in (0, 50, 100)]), slice(130)),
        "all": (f(X), slice(130)),
    }
    for road, (K, rows) in found.items():
        off = np.abs(K - expected[rows]) / np.where(size > 0, size, 1.0)[rows]
        assert off.max() <= limit, f"{k}, {columns} columns, {road}: {off.max():.1e}"


@pytest.mark.parametrize("kernel", [Laplacian(0.3), mercer.kernels.PowerExponential(2.0, 0.7)])
@pytest.mark.parametrize("error", [1e-6, 1e-4, 1e-2])
def test_from_where_on_an_error_of_the_distance_is_tolerated(kernel, error) -> None:
    formula = simplify(kernel.formula())
    (node,) = statistics(formula)
    ends, tolerance = accuracy.Ends(900.0, 400.0, 300.0), 8e-6
    first = accuracy.steady_from(formula, node, ends, error, tolerance)

    def change(s: np.ndarray) -> np.ndarray:
        k, moved = (evaluate(formula, {node: at}) for at in (s, s + error))
        return np.abs(moved - k)

    beyond = np.geomspace(max(first, 1e-12), 1600.0, 5000)
    assert (change(beyond) <= 1.05 * tolerance).all()
    assert change(np.array([first / 2]))[0] > tolerance  # near pairs alone are excluded


def test_a_smooth_kernel_tolerates_an_error_at_all_distances_and_a_jump_at_none() -> None:
    ends = accuracy.Ends(900.0, 400.0, 300.0)
    for kernel, first in ((Gaussian(30.0), 0.0), (Uniform(), np.inf)):
        formula = simplify(kernel.formula())
        (node,) = [n for n in statistics(formula) if n.op == "sqdist"]
        assert accuracy.steady_from(formula, node, ends, 1e-6, 8e-6) == first
