"""Random expression trees, three deep, against a plain NumPy transcription of the definitions.

The transcription below knows nothing of the library: it is float64, pair by pair, from the
textbook. Every way to compute K is compared with it, in float32 and float64, dense and sparse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import BSpline

import mercer
from mercer.kernels import Kernel
from mercer.testing import vector_kernels

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
LIMIT = {"float32": 1e-5, "float64": 1e-12}
SIGMAS = np.array([0.8, 1.5, 2.5])


# --- the definitions --------------------------------------------------------------------------


def gap(X, Z):
    return X[:, None, :] - Z[None, :, :]


def norm2(X, Z):
    return np.sqrt((gap(X, Z) ** 2).sum(-1))


def sizes(X, Z):
    return np.linalg.norm(X, axis=1)[:, None], np.linalg.norm(Z, axis=1)[None, :]


def cubic_spline(u):
    u = np.abs(u)
    inner, outer = 2 / 3 - u**2 + u**3 / 2, (2 - u) ** 3 / 6
    return np.where(u < 1, inner, np.where(u < 2, outer, 0.0))


def matern(X, Z, nu, length):
    a = np.sqrt(2 * nu) * norm2(X, Z) / length
    return {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a**2 / 3}[nu] * np.exp(-a)


def angle(X, Z):
    """Kahan's angle between vectors, accurate for small and large ones."""
    a, b = sizes(X, Z)
    U, V = X / np.where(a, a, 1), Z / np.where(b, b, 1).T
    apart = np.linalg.norm(U[:, None] - V[None], axis=2)
    together = np.linalg.norm(U[:, None] + V[None], axis=2)
    return np.where((a == 0) | (b == 0), np.pi / 2, 2 * np.arctan2(apart, together))


def arc_cosine(X, Z, n):
    t, (a, b) = angle(X, Z), sizes(X, Z)
    J = {
        0: np.pi - t,
        1: np.sin(t) + (np.pi - t) * np.cos(t),
        2: 3 * np.sin(t) * np.cos(t) + (np.pi - t) * (1 + 2 * np.cos(t) ** 2),
    }[n]
    return a**n * b**n * J / np.pi


def anova(X, Z, degree, sigma):
    g = np.exp(-(gap(X, Z) ** 2) / (2 * sigma**2))
    return sum(
        np.prod(g[:, :, list(s)], axis=2) for s in itertools.combinations(range(X.shape[1]), degree)
    )


def quotient(u, v):
    with np.errstate(all="ignore"):
        return np.where(v == 0, 0.0, u / v)


def wendland(X, Z, n, width):
    r = norm2(X, Z) / width
    shape = {
        0: 1,
        1: 4 * r + 1,
        2: (35 * r**2 + 18 * r + 3) / 3,
        3: 32 * r**3 + 25 * r**2 + 8 * r + 1,
    }[n]
    return np.maximum(1 - r, 0) ** (2 * n + 2) * shape


def spline(X, Z, degree, width):
    """The centered B-spline as SciPy has it, on its own knots."""
    knots = np.arange(degree + 2) - (degree + 1) / 2
    basis = BSpline.basis_element(knots, extrapolate=False)
    return np.nan_to_num(basis(gap(X, Z) / width)).prod(-1)


MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])

LEAVES: list[tuple[Kernel, Function]] = [
    (mercer.Linear(), lambda X, Z: X @ Z.T),
    (mercer.Polynomial(2), lambda X, Z: (X @ Z.T) ** 2),
    (mercer.Polynomial(3, 1.0), lambda X, Z: (X @ Z.T + 1) ** 3),
    (mercer.Gaussian(1.5), lambda X, Z: np.exp(-(norm2(X, Z) ** 2) / 4.5)),
    (
        mercer.Gaussian(SIGMAS).on([0, 1, 2]),
        lambda X, Z: np.exp(-0.5 * ((gap(X, Z)[:, :, :3] / SIGMAS) ** 2).sum(-1)),
    ),
    (mercer.Laplacian(0.7), lambda X, Z: np.exp(-0.7 * norm2(X, Z))),
    (mercer.kernels.PowerExponential(1.3, 0.8), lambda X, Z: np.exp(-((norm2(X, Z) / 1.3) ** 0.8))),
    (mercer.Laplacian(0.3, norm=1), lambda X, Z: np.exp(-0.3 * np.abs(gap(X, Z)).sum(-1))),
    (
        mercer.Laplacian(0.7, norm="inf").on([0, 1]),
        lambda X, Z: np.exp(-0.7 * np.abs(gap(X, Z)[:, :, :2]).max(-1)),
    ),
    (
        mercer.kernels.BSpline(1, 3.0),
        lambda X, Z: np.maximum(1 - np.abs(gap(X, Z)) / 3, 0).prod(-1),
    ),
    (mercer.kernels.BSpline(3, 2.0), lambda X, Z: cubic_spline(gap(X, Z) / 2).prod(-1)),
    (
        mercer.kernels.Bilinear(MATRIX).on([0, 1, 2]),
        lambda X, Z: X[:, :3] @ MATRIX @ Z[:, :3].T,
    ),
    (mercer.kernels.Constant(0.7), lambda X, Z: np.full((len(X), len(Z)), 0.7)),
    (mercer.Matern(0.5, 2.0), lambda X, Z: matern(X, Z, 0.5, 2.0)),
    (mercer.Matern(1.5), lambda X, Z: matern(X, Z, 1.5, 1.0)),
    (mercer.Matern(2.5, 3.0), lambda X, Z: matern(X, Z, 2.5, 3.0)),
    (
        mercer.RationalQuadratic(0.5, 2.0),
        lambda X, Z: (1 + norm2(X, Z) ** 2 / 4) ** -0.5,
    ),
    (
        mercer.Periodic(3.0, 2.0),
        lambda X, Z: np.exp(-2 * (np.sin(np.pi * gap(X, Z) / 3) ** 2).sum(-1) / 4),
    ),
    (mercer.Cosine(), lambda X, Z: quotient(X @ Z.T, np.multiply(*sizes(X, Z)))),
    (
        mercer.ChiSquared(0.3),
        lambda X, Z: np.exp(-0.3 * quotient(gap(X, Z) ** 2, X[:, None, :] + Z[None, :, :]).sum(-1)),
    ),
    (mercer.kernels.Intersection(), lambda X, Z: np.minimum(X[:, None, :], Z[None, :, :]).sum(-1)),
    (
        mercer.kernels.Tanimoto(),
        lambda X, Z: quotient(X @ Z.T, sizes(X, Z)[0] ** 2 + sizes(X, Z)[1] ** 2 - X @ Z.T),
    ),
    (mercer.kernels.ArcCosine(0), lambda X, Z: arc_cosine(X, Z, 0)),
    (mercer.kernels.ArcCosine(1), lambda X, Z: arc_cosine(X, Z, 1)),
    (mercer.kernels.ArcCosine(2), lambda X, Z: arc_cosine(X, Z, 2)),
    (mercer.kernels.Hamming(), lambda X, Z: (gap(X, Z) == 0).mean(-1)),
    (mercer.kernels.Delta().on(0), lambda X, Z: (gap(X, Z)[:, :, 0] == 0).astype(float)),
    (mercer.kernels.Anova(2, 1.5), lambda X, Z: anova(X, Z, 2, 1.5)),
    (mercer.kernels.Anova(3, 0.9), lambda X, Z: anova(X, Z, 3, 0.9)),
    (mercer.kernels.BSpline(5, 1.5), lambda X, Z: spline(X, Z, 5, 1.5)),
    *(
        (
            mercer.kernels.Wendland(n, 6.0).on([0, 1, 2]),
            lambda X, Z, n=n: wendland(X[:, :3], Z[:, :3], n, 6.0),
        )
        for n in range(4)
    ),
]

#: Not kernels, but they compute; only where nothing asks for a positive diagonal.
SIMILARITIES: list[tuple[Kernel, Function]] = [
    (mercer.Sigmoid(0.1, -0.5), lambda X, Z: np.tanh(0.1 * X @ Z.T - 0.5)),
    (mercer.kernels.SquaredDistance(), lambda X, Z: norm2(X, Z) ** 2),
    (mercer.kernels.NegativeSquaredDistance(), lambda X, Z: -(norm2(X, Z) ** 2)),
    (mercer.kernels.Epanechnikov(3.3), lambda X, Z: np.maximum(1 - (norm2(X, Z) / 3.3) ** 2, 0)),
    (mercer.kernels.Tricube(3.3), lambda X, Z: np.maximum(1 - (norm2(X, Z) / 3.3) ** 3, 0) ** 3),
    (mercer.kernels.Uniform(3.3), lambda X, Z: (norm2(X, Z) <= 3.3).astype(float)),
    (mercer.kernels.BSpline(2, 2.1), lambda X, Z: spline(X, Z, 2, 2.1)),
    (mercer.kernels.BSpline(4, 1.3), lambda X, Z: spline(X, Z, 4, 1.3)),
    (
        mercer.kernels.BSpline(0, 3.1),
        lambda X, Z: (np.abs(gap(X, Z)) <= 1.55).all(-1).astype(float),
    ),
]


# --- the building blocks ------------------------------------------------------------------------


def diagonal(f, X):
    return np.array([f(x[None], x[None])[0, 0] for x in X])


def weight(X):
    """x ↦ 1 / (1 + largest entry), for arrays and CSR alike."""
    largest = X.max(axis=1).toarray() if sparse.issparse(X) else np.asarray(X).max(axis=1)
    return 1.0 / (1.0 + np.ravel(largest))


def halved(X):
    return X * 0.5


def normalized(k, f):
    def g(X, Z):
        return quotient(f(X, Z), np.sqrt(np.outer(diagonal(f, X), diagonal(f, Z))))

    return k.normalized(), g


def grow(rng, depth):
    """A kernel and its transcription."""
    if depth == 0:
        return LEAVES[rng.integers(len(LEAVES))]
    k, f = grow(rng, depth - 1)
    h, g = grow(rng, int(rng.integers(depth)))
    c = float(rng.uniform(0.2, 2.0))
    choice = int(rng.integers(10))
    if choice <= 1:
        return k + h, lambda X, Z: f(X, Z) + g(X, Z)
    if choice == 2:
        return k * h, lambda X, Z: f(X, Z) * g(X, Z)
    if choice == 3:
        return c * k + 1.5, lambda X, Z: c * f(X, Z) + 1.5
    if choice == 4:
        return k**2, lambda X, Z: f(X, Z) ** 2
    if choice == 5:
        return k.polynomial([1, 0, c]), lambda X, Z: 1 + c * f(X, Z) ** 2
    if choice == 6:
        n, unit = normalized(k, f)
        return (c * n).exp(), lambda X, Z: np.exp(c * unit(X, Z))
    if choice == 7:
        return k.warp(halved), lambda X, Z: f(X * 0.5, Z * 0.5)
    if choice == 8:
        return k.reweight(weight), lambda X, Z: weight(X)[:, None] * f(X, Z) * weight(Z)
    return normalized(k, f)


def tree(seed):
    rng = np.random.default_rng(seed)
    k, f = grow(rng, 3)
    if seed % 3 == 0:  # a difference, which is not a kernel in general, at the top
        h, g = SIMILARITIES[seed // 3 % len(SIMILARITIES)]
        return k - 0.5 * h, lambda X, Z: f(X, Z) - 0.5 * g(X, Z)
    return k, f


def data(seed, n, m, columns):
    """Not negative, with zeros, ties, equal rows and a zero row, all exact in float32."""
    rng = np.random.default_rng(1000 + seed)
    X = np.maximum(np.round(8 * rng.normal(0.3, 1.0, size=(n + m, columns))) / 8, 0)
    X[3] = X[1]
    X[2] = 0
    X[n + 1] = X[1]
    return X[:n], X[n:]


def close(value, expected, dtype, what):
    assert value.shape == expected.shape, what
    assert value.dtype == dtype, what
    scale = np.abs(expected).max() or 1.0
    error = np.abs(value - expected).max() / scale
    assert error <= LIMIT[dtype], f"{what}: {error:.1e}"


def compare(k, f, X, Z, dtype, form):
    X, Z = X.astype(dtype), Z.astype(dtype)
    XX, XZ = f(X.astype(float), X.astype(float)), f(X.astype(float), Z.astype(float))
    A, B = form(X), form(Z)
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(len(X), size=5), slice(1, len(Z) - 1)
    V = rng.normal(size=(len(Z), 3)).astype(dtype)
    square, oblong = k.gram(A), k.gram(A, B)
    close(square.dense(), XX, dtype, "square")
    close(oblong.dense(), XZ, dtype, "oblong")
    close(oblong.block(rows, columns), XZ[rows, columns], dtype, "block")
    close(oblong.tile(slice(2, 5), columns), XZ[2:5, columns], dtype, "tile")
    close(oblong.T.dense(), XZ.T, dtype, "transpose")
    close(k.diag(A), np.diag(XX), dtype, "diag")
    scale = np.abs(XZ) @ np.abs(V)
    error = np.abs(oblong @ V - XZ @ V) / scale.max()
    assert error.max() <= LIMIT[dtype], f"product: {error.max():.1e}"
    W = np.ones(len(X), dtype=dtype)
    error = np.abs(square @ W - XX @ W) / np.abs(XX).sum(1).max()
    assert error.max() <= LIMIT[dtype], f"square product: {error.max():.1e}"


def test_every_kernel_on_vectors_has_a_transcription() -> None:
    """A kernel that joins the catalog joins these definitions; one of a given map has none."""
    written = {
        type(part) for k, _ in LEAVES + SIMILARITIES for part in (k, getattr(k, "kernel", k))
    }
    tried = {type(part) for k in vector_kernels(4) for part in (k, getattr(k, "kernel", k))}
    assert tried - written == {mercer.kernels.FromFeatures}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_leaves(dtype, form) -> None:
    X, Z = data(0, 11, 7, 4)
    for k, f in LEAVES + SIMILARITIES:
        compare(k, f, X, Z, dtype, form)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("part", range(3))
def test_trees(part, dtype, form) -> None:
    for seed in range(part * 20, part * 20 + 20):
        k, f = tree(seed)
        X, Z = data(seed, 9, 8, 4)
        try:
            compare(k, f, X, Z, dtype, form)
        except Exception as error:
            error.add_note(f"seed {seed}: {k!r}")
            raise


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trees_on_wide_rows(dtype, form) -> None:
    """Wide enough that distances come out of matrix products, repaired where they cancel."""
    for seed in range(200, 208):
        k, f = tree(seed)
        X, Z = data(seed, 90, 110, 22)
        try:
            compare(k, f, X / 2, Z / 2, dtype, form)
        except Exception as error:
            error.add_note(f"seed {seed}: {k!r}")
            raise
