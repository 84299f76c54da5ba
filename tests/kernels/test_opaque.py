"""Black boxes and maps: functions as kernels, and what they are told when they misbehave."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import Gaussian, Linear
from mercer.kernels import FromFeatures, Similarity, register

RNG = np.random.default_rng(1)
X = RNG.normal(size=(5, 3))
Z = RNG.normal(size=(4, 3))


def skewed(a: np.ndarray, b: np.ndarray) -> float:
    """Not symmetric on purpose."""
    return float(a[0] * b[1] + 2 * a @ b)


def skewed_blocks(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.outer(A[:, 0], B[:, 1]) + 2 * A @ B.T


def test_a_function_of_two_examples() -> None:
    expected = [[skewed(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(Similarity(skewed)(X, Z), expected)
    np.testing.assert_allclose(Similarity(skewed_blocks, blocks=True)(X, Z), expected)
    np.testing.assert_allclose(Similarity(skewed)(X.tolist(), Z.tolist()), expected)
    np.testing.assert_allclose(Similarity(skewed).diag(X), [skewed(x, x) for x in X])
    np.testing.assert_allclose(
        Similarity(skewed_blocks, blocks=True).diag(X), [skewed(x, x) for x in X]
    )
    np.testing.assert_allclose(Similarity(lambda a, b: float(a @ b))(pd.DataFrame(X)), X @ X.T)


@pytest.mark.parametrize("k", [Similarity(skewed), Similarity(skewed_blocks, blocks=True)])
@pytest.mark.parametrize(
    "build",
    [
        lambda k: k,
        lambda k: 2 * k + Gaussian(),
        lambda k: (k * k).reweight("norm"),
        lambda k: (k + 50.0).normalized(),
    ],
)
def test_the_transpose_of_an_asymmetric_function(k, build) -> None:
    """K[i, j] = k(xᵢ, xⱼ) ≠ K[j, i]: no triangle is saved, and T is really the transpose."""
    kernel = build(k)
    K = kernel(X)
    assert np.abs(K - K.T).max() > 0.01
    S = kernel.gram(X)
    v = RNG.normal(size=5)
    np.testing.assert_allclose(S.T.dense(), K.T)
    np.testing.assert_allclose(S.T @ v, K.T @ v)
    np.testing.assert_allclose(S.T.take(slice(1, 3), [0, 4]).dense(), K.T[1:3][:, [0, 4]])
    np.testing.assert_allclose(S.T.T.dense(), K)
    np.testing.assert_allclose(S.diagonal(), np.diag(K))
    np.testing.assert_allclose(S.T.diagonal(), np.diag(K))
    G = kernel.gram(X, Z)
    np.testing.assert_allclose(G.T.dense(), G.dense().T)
    np.testing.assert_allclose(G.T @ v, G.dense().T @ v)
    np.testing.assert_allclose(G.as_linear_operator().rmatvec(v), G.dense().T @ v)


def test_a_function_that_misbehaves() -> None:
    for k, data, kind, message in [
        (Similarity(lambda a, b: np.nan), X, ValueError, "gave nan for a pair of examples"),
        (Similarity(lambda a, b: np.inf), X, ValueError, "gave inf for a pair of examples"),
        (Similarity(lambda A, B: np.ones((2, 2)), blocks=True), X, ValueError, "expected (5, 5)"),
        (Similarity(lambda A, B: A @ B.T * np.nan, blocks=True), X, ValueError, "gave nan"),
        (Similarity(skewed), "abc", TypeError, "wrap it in a list"),
        (Linear().warp(lambda V: "abc"), X, ValueError, "gave back a single value"),
        (Linear().warp(lambda V: 3.0), X, ValueError, "gave back a single value"),
        (Similarity(skewed), [], ValueError, "X is empty"),
        (Similarity(skewed), 3, TypeError, "a list of examples, got int"),
        (Similarity(skewed), np.arange(3.0), ValueError, "2-D"),
        (Linear().warp(lambda V: V[:1]), X, ValueError, "was given 5 rows and gave back 1"),
        (Linear().warp(lambda V: V / 0), X, ValueError, "X contains"),
        (Linear().reweight(lambda V: V), X, ValueError, "f gave 15 numbers for 5 rows"),
        (Linear().reweight(lambda V: V[:, 0] * np.nan), X, ValueError, "NaN or infinite"),
    ]:
        with np.errstate(all="ignore"), pytest.raises(kind) as told:
            k(data)
        assert message in str(told.value), k


@pytest.mark.parametrize(
    ("value", "what"),
    [(np.eye(2), "an array of shape (2, 2)"), ("near", "'near'"), ([1, [2]], "[1, [2]]")],
)
def test_a_function_that_gives_no_number(value, what) -> None:
    with pytest.raises(ValueError, match="one number is needed") as told:
        Similarity(lambda x, z: value)(np.eye(3))
    assert what in str(told.value)


def test_opaque_kernels_have_no_formula() -> None:
    k = Similarity(skewed) + Linear()
    assert k.is_opaque
    with pytest.raises(TypeError, match="it gives blocks, not a formula"):
        k.formula()
    assert not Linear().is_opaque
    assert k.claim().holds is None
    np.testing.assert_allclose(k.gradient(X) == {}, True)
    assert (2 * k).gradient(X)["factor"].shape == (5, 5)


def test_objects_of_every_container() -> None:
    words = ["cat", "car", "dog"]
    k = Similarity(lambda a, b: float(len(set(a) & set(b))))
    expected = [[3, 2, 0], [2, 3, 0], [0, 0, 3]]
    for data in (
        words,
        tuple(words),
        np.array(words, dtype=object),
        pd.Series(words, index=[5, 5, 1]),
    ):
        G = k.gram(data)
        np.testing.assert_array_equal(G.dense(), expected)
        np.testing.assert_array_equal(G.block([2, 0], [0]), [[0], [3]])
        np.testing.assert_array_equal(
            G.take(columns=slice(1, 3)).dense(), np.array(expected)[:, 1:]
        )
    sets = [frozenset("ab"), frozenset("bc")]
    np.testing.assert_array_equal(Similarity(lambda a, b: len(a & b))(sets), [[2, 1], [1, 2]])
    boxes = [np.ones((2, 2)), np.zeros((2, 2))]
    np.testing.assert_array_equal(Similarity(lambda a, b: (a * b).sum())(boxes), [[4, 0], [0, 0]])
    ragged = [[1, 2, 3], [1]]
    np.testing.assert_array_equal(
        Similarity(lambda a, b: len(a) * len(b))(ragged), [[9, 3], [3, 1]]
    )
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(Similarity(lambda a, b: (a @ b.T)[0, 0])(rows), X @ X.T)


def test_a_map_makes_a_kernel() -> None:
    def phi(V: np.ndarray) -> np.ndarray:
        return np.hstack([V, V**2])

    k = FromFeatures(phi)
    np.testing.assert_allclose(k(X, Z), phi(X) @ phi(Z).T)
    np.testing.assert_allclose(k.features(X), phi(X))
    assert k.n_dims(3) == 6
    assert k.prove()
    np.testing.assert_allclose(FromFeatures(lambda V: sparse.csr_matrix(V))(X), X @ X.T)
    np.testing.assert_allclose(
        FromFeatures(lambda words: [[len(w)] for w in words])(["a", "bcd"]), [[1, 3], [3, 9]]
    )


def test_transformers_are_maps() -> None:
    scaler = StandardScaler().fit(X)
    np.testing.assert_allclose(
        Linear().warp(scaler)(X, Z), scaler.transform(X) @ scaler.transform(Z).T
    )
    squares = PolynomialFeatures(2).fit(X)
    np.testing.assert_allclose(FromFeatures(squares).features(Z), squares.transform(Z))


def test_row_functions_are_called_once_on_each_set() -> None:
    calls = []

    def f(V: np.ndarray) -> np.ndarray:
        calls.append(len(V))
        return V[:, 0]

    k = Linear().reweight(f)
    k(X)
    assert calls == [5]
    k(X, Z)
    assert calls == [5, 5, 4]


def test_a_registered_name_is_looked_up() -> None:
    register("double", lambda V: 2 * np.asarray(V))
    np.testing.assert_allclose(Linear().warp("double")(X), 4 * X @ X.T)
    np.testing.assert_allclose(FromFeatures("double")(X), 4 * X @ X.T)
    for name, f in [("log1p", np.log1p), ("sqrt", np.sqrt), ("square", np.square), ("abs", np.abs)]:
        A = np.abs(X)
        np.testing.assert_allclose(Linear().warp(name)(A), f(A) @ f(A).T)
    norms = np.linalg.norm(X, axis=1)
    cosine = X @ X.T / np.outer(norms, norms)
    np.testing.assert_allclose(Linear().reweight("inverse_norm")(X), cosine)
    np.testing.assert_allclose(Linear().reweight("inverse_norm")(sparse.csr_matrix(X)), cosine)
