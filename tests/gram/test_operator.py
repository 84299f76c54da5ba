"""Gram as users meet it: views, products, threads, SciPy, and what it says when misused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg

import mercer
from mercer import Gaussian, Laplacian, Linear, Polynomial
from mercer._machine.threads import single_threaded_blas
from mercer.formula import ROOT
from mercer.gram.host import HostGram
from mercer.kernels import parse
from mercer.testing import check_engine

RNG = np.random.default_rng(6)
X = RNG.normal(size=(90, 5))
Z = RNG.normal(size=(40, 5))


def test_the_numpy_engine_keeps_the_contract() -> None:
    with single_threaded_blas():  # small products wait longer for threads than they take
        check_engine(HostGram)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [300, 513, 1000])
def test_any_number_of_threads_gives_the_same_bits(n: int, threads: int) -> None:
    rows = RNG.normal(size=(n, 40))
    V = RNG.normal(size=(n, 3))
    with mercer.config(threads=threads):
        G = (Polynomial(2) + Gaussian(6.0)).gram(rows)
        dense, product = G.dense(), G @ V
        assert (dense == dense.T).all()
        assert (G.dense() == dense).all()
        assert (product == G @ V).all(), "the same call gives the same bits"
    with mercer.config(threads=1):
        np.testing.assert_allclose(dense, G.dense(), rtol=1e-13)
        np.testing.assert_allclose(product, G @ V, rtol=1e-10)


def test_callers_in_many_threads() -> None:
    expected = Gaussian()(X)

    def work(i: int) -> float:
        with mercer.config(threads=1 + i % 3):
            G = Gaussian().gram(X)
            return float(
                np.abs(G.dense() - expected).max() + np.abs(G @ np.eye(90) - expected).max()
            )

    with ThreadPoolExecutor(6) as pool:
        assert max(pool.map(work, range(24))) < 1e-12


def test_conjugate_gradients_of_scipy() -> None:
    y = RNG.normal(size=90)
    operator = Gaussian(0.5).gram(X).as_linear_operator()
    shifted = operator + sparse.linalg.aslinearoperator(sparse.eye(90))
    solution, failed = cg(shifted, y, rtol=1e-12)
    assert failed == 0
    np.testing.assert_allclose(
        solution, np.linalg.solve(Gaussian(0.5)(X) + np.eye(90), y), atol=1e-9
    )
    oblong = Linear().gram(X, Z).as_linear_operator()
    K = X @ Z.T
    np.testing.assert_allclose(oblong.rmatvec(y), K.T @ y, atol=1e-12)
    np.testing.assert_allclose(oblong @ np.eye(40), K, atol=1e-12)
    np.testing.assert_allclose(oblong.H @ np.eye(90), K.T, atol=1e-12)
    assert oblong.shape == (90, 40)


def test_blocks_by_slice_position_and_mask() -> None:
    G = Polynomial(2).gram(X, Z)
    K = G.dense()
    mask = np.arange(90) % 7 == 0
    np.testing.assert_allclose(G.block(slice(5, 20), [3, -1, 3]), K[5:20][:, [3, -1, 3]])
    np.testing.assert_allclose(G.block(mask, slice(None, None, 4)), K[mask][:, ::4])
    np.testing.assert_allclose(G.block(slice(None, None, -1), slice(0, 2)), K[::-1, :2])
    np.testing.assert_allclose(G.take(mask).take(columns=[1, 0]).dense(), K[mask][:, [1, 0]])
    np.testing.assert_allclose(G.take(mask) @ np.ones(40), K[mask].sum(1))
    assert G.block([], [0]).shape == (0, 1)
    assert G.block(slice(3, 3), slice(0, 4)).shape == (0, 4)
    assert G.take(rows=[]).shape == (0, 40)
    assert (G.take(rows=[]) @ np.ones(40)).shape == (0,)
    assert (G @ np.empty((40, 0))).shape == (90, 0)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([90], "row 90 does not exist; there are 90"),
        ([0, -91], "row -91 does not exist"),
        ([0.5], "rows are chosen by a slice or a list of indices"),
        ([[0]], "rows are chosen by a slice or a list of indices"),
        (3, "rows are chosen by a slice or a list of indices"),
        (np.zeros(5, dtype=bool), "a mask of length 90 is needed"),
        ("abc", "rows are chosen by"),
    ],
)
def test_positions_that_do_not_exist(index, message: str) -> None:
    with pytest.raises(IndexError) as told:
        Linear().gram(X).block(index, [0])
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("V", "kind", "message"),
    [
        (
            np.ones(41),
            ValueError,
            "it multiplies vectors of length 40, not an array of shape (41,)",
        ),
        (np.ones((40, 2, 2)), ValueError, "not an array of shape (40, 2, 2)"),
        (3.0, ValueError, "not an array of shape ()"),
        (np.ones(40, dtype=complex), TypeError, "V must hold real numbers"),
        (np.array(["a"] * 40), TypeError, "V must hold real numbers"),
    ],
)
def test_products_with_something_else(V, kind, message: str) -> None:
    with pytest.raises(kind) as told:
        Linear().gram(X, Z) @ V
    assert message in str(told.value)


def test_out_must_fit() -> None:
    G = Linear().gram(X, Z)
    out = np.empty((90, 40))
    assert G.dense(out) is out
    np.testing.assert_allclose(out, X @ Z.T)
    strided = np.empty((90, 80))[:, ::2]
    np.testing.assert_allclose(G.dense(strided), X @ Z.T)
    for wrong in (np.empty((90, 41)), np.empty((90, 40), dtype=np.float32)):
        with pytest.raises(ValueError, match=r"out must have shape \(90, 40\) and dtype float64"):
            G.dense(wrong)


def test_only_a_square_matrix_has_a_diagonal() -> None:
    with pytest.raises(ValueError, match="only K\\(X, X\\) has a diagonal"):
        Linear().gram(X, Z).diagonal()
    G = Gaussian().gram(X)
    first = G.diagonal()
    first[:] = 7
    assert (G.diagonal() == 1).all(), "what is given away is a copy"


def test_transposes() -> None:
    G = (Polynomial(2).normalized() + Linear().reweight("norm") + Gaussian()).gram(X, Z)
    K = G.dense()
    v = RNG.normal(size=90)
    np.testing.assert_allclose(G.T.dense(), K.T)
    np.testing.assert_allclose(G.T @ v, K.T @ v)
    np.testing.assert_allclose(G.T.T.dense(), K)
    np.testing.assert_allclose(G.take([5, 7], slice(0, 9)).T.dense(), K[[5, 7], :9].T)
    np.testing.assert_allclose(G.T.block([3], [5, 7]), K[[5, 7]][:, [3]].T)
    symmetric = Gaussian().gram(X)
    assert symmetric.T is symmetric


def test_gradients_of_composites() -> None:
    """Against central differences in every parameter of a deep kernel, square and oblong."""
    k = parse(
        "0.7*gaussian(1.3).on([0, 1]).normalized() * (polynomial(2, offset=0.5) + laplacian(0.4))"
        " + (0.3*matern(2.5, length=2)).exp() - bspline(3, width=4).warp('tanh') * periodic(3)"
        " + anova(2, sigma=1.5).polynomial([1, 2, 0.5]) + sigmoid(0.1, 0.2) + rational_quadratic()"
    )
    slopes = k.gradient(X[:8], Z[:6])
    params = k.get_params()
    named = {path for path, value in params.items() if isinstance(value, float)}
    fixed = {p for p in named if isinstance(params.get(p.rpartition("__")[0]), mercer.Matern)}
    assert set(slopes) == named - {p for p in fixed if p.endswith("__nu")}
    for path, slope in slopes.items():
        h = 1e-6
        up = k.set_params(**{path: params[path] + h})(X[:8], Z[:6])
        down = k.set_params(**{path: params[path] - h})(X[:8], Z[:6])
        np.testing.assert_allclose(slope, (up - down) / (2 * h), atol=1e-6, err_msg=path)
    square = k.gradient(X[:8])
    for path in slopes:
        up = k.set_params(**{path: params[path] + 1e-6})(X[:8])
        down = k.set_params(**{path: params[path] - 1e-6})(X[:8])
        np.testing.assert_allclose(square[path], (up - down) / 2e-6, atol=1e-6, err_msg=path)


def test_it_shows_what_it_is() -> None:
    G = Gaussian(2.0).gram(X.astype(np.float32), Z.astype(np.float32))
    assert repr(G) == "Gram(Gaussian(sigma=2.0), shape=(90, 40), dtype=float32)"


def test_a_formula_will_do_for_a_kernel() -> None:
    # Up to rounding: a loop that another test has compiled serves the one and not the other.
    found = HostGram(Gaussian().formula(), X).dense()
    np.testing.assert_allclose(found, Gaussian()(X), rtol=1e-13)


def test_explain_shows_every_part() -> None:
    wide = RNG.normal(size=(100, 30)).astype(np.float32)
    k = 0.5 * Gaussian(4.0) + Polynomial(2, 1.0).normalized() * Laplacian().on([0, 1])
    e = k.explain(wide)
    text = str(e)
    assert repr(e) == text
    for part in ("kernel", "formula", "for each pair", "once for each row", "epilogue", "plan"):
        assert f"\n{part}" in "\n" + text
    assert "Gaussian(sigma=4.0)" in e.tree
    assert "Scaled(factor=0.5)" in e.tree
    assert any("matrix product" in s for s in e.sources)
    assert any("direct differences" in s for s in e.sources)
    assert e.flops > 0
    assert e.bytes == 100 * 100 * 4
    assert e.source == ""
    assert "tiles of" in text
    wide[::2] += 1e4
    far = k.explain(wide)
    assert any("near pairs by direct differences" in s for s in far.sources)
    assert "centered" in str(Gaussian(4.0).explain(wide))
    black = mercer.kernels.Similarity(max).explain([1, 2, 3])
    assert "blocks of an opaque kernel" in str(black)


def test_explain_shows_the_generated_source(monkeypatch) -> None:

    monkeypatch.setattr("mercer.tuning.COMPILED_PAIRS", 0)
    e = Gaussian().explain(X)
    assert "def fill(" in e.source
    assert "generated source" in str(e)
    assert "one compiled loop" in str(e.plan)


def test_one_slope_without_the_others() -> None:
    k = Gaussian(2.0) + Polynomial(2, 1.0)
    G = k.gram(X, Z)
    np.testing.assert_allclose(
        G.grad("left__sigma") @ np.ones(40), k.gradient(X, Z)["left__sigma"].sum(1)
    )
    with pytest.raises(ValueError, match="has no scalar parameter 'sigma'"):
        G.grad("sigma")


def test_long_sparse_rows_are_multiplied_as_they_are() -> None:
    """Above a few thousand columns a tile of dense rows would be mostly zeros."""
    S = sparse.random(60, 9000, density=0.002, random_state=0, format="csr")
    T = sparse.random(50, 9000, density=0.002, random_state=1, format="csr")
    for k in (Linear(), Gaussian(2.0), Laplacian(0.1), Polynomial(2, 1.0).normalized()):
        expected = k(S.toarray(), T.toarray())
        np.testing.assert_allclose(k(S, T), expected, atol=1e-12)
        np.testing.assert_allclose(k.gram(S, T) @ np.ones(50), expected.sum(1), atol=1e-10)
        np.testing.assert_allclose(k(S), k(S.toarray()), atol=1e-12)


def test_input_maps_have_names() -> None:
    maps = {
        "gaussian([1, 2])": "scaled columns",
        "bilinear([[2, 1], [1, 2]])": "matrix 2×2",
        "cosine()": "unit length",
        "linear().warp('tanh')": "warp 'tanh'",
        "intersection()": "x ≥ 0",
        "hamming()": "categories",
        "linear().on([1, 0])": "columns [1, 0]",
    }
    for text, name in maps.items():
        assert f"[{name}]" in repr(parse(text).formula()), text
    assert "Precomputed()(x, x)" in repr(mercer.Precomputed().normalized().lower(ROOT))
