"""Weighted means, skipped tiles, interpolation and underflow: each against the plain formula."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.formula import simplify
from mercer.formula.profile import gaussian_exponent
from mercer.kernels import (
    Anova,
    BSpline,
    Epanechnikov,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Similarity,
    Tricube,
    Uniform,
    Wendland,
)
from mercer.learners import NadarayaWatsonRegressor
from mercer.learners.smoothers import divide
from mercer.solvers.local import means
from mercer.solvers.local import weights as tiles
from mercer.solvers.local.means import gather, weighted_means
from mercer.solvers.local.weights import Weights


def plain(kernel: Kernel, X: np.ndarray, Z: np.ndarray, t: np.ndarray) -> np.ndarray:
    K = kernel(X, Z)
    return (K @ t) / K.sum(axis=1)[:, None]


def weights(kernel: Kernel, X: np.ndarray, Z: np.ndarray, **more: object) -> Weights:
    return Weights(kernel.lower(mercer.formula.nodes.ROOT), X, Z, **more)  # type: ignore[arg-type]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.4), Laplacian(3.0), Matern(1.5), Anova(2), Similarity(lambda a, b: float(a @ b))],
    ids=repr,
)
def test_weighted_means(kernel: Kernel, rng: np.random.Generator) -> None:
    X, Z, t = rng.random((30, 3)), rng.random((40, 3)), rng.normal(size=(40, 2))
    found = weighted_means(weights(kernel, X, Z), t)
    np.testing.assert_allclose(found.mean, plain(kernel, X, Z, t), rtol=1e-10, atol=1e-12)
    assert not found.far.any()


def test_variance_and_concentration(rng: np.random.Generator) -> None:
    X, Z, v = rng.random((9, 2)), rng.random((50, 2)), rng.random(50)
    t = 1e6 + rng.normal(size=(50, 1))  # a large mean must not eat the variance
    found = weighted_means(weights(Gaussian(0.3), X, Z), t, v, spread=True)
    w = Gaussian(0.3)(X, Z) * v
    mean = w @ t / w.sum(axis=1)[:, None]
    variance = np.array([w[i] @ (t - mean[i]) ** 2 / w[i].sum() for i in range(9)])
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-8)
    share = (w**2).sum(axis=1) / w.sum(axis=1) ** 2
    np.testing.assert_allclose(found.concentration, share, rtol=1e-12)


# --- leave-one-out -----------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.02, 0.3])
@pytest.mark.parametrize("kernel", [Gaussian(), Epanechnikov(), Matern(2.5)], ids=repr)
@pytest.mark.parametrize("columns", [1, 3])
def test_leave_one_out_is_the_fit_without_the_example(
    kernel: Kernel, columns: int, h: float, rng: np.random.Generator
) -> None:
    X, t = rng.random((120, columns)), rng.normal(size=(120, 1))
    Z = X / h
    found = weighted_means(weights(kernel, Z, Z, own=np.arange(120)), t)
    for i in range(0, 120, 7):
        rest = np.delete(np.arange(120), i)
        alone = weighted_means(weights(kernel, Z[[i]], Z[rest]), t[rest])
        np.testing.assert_allclose(found.mean[i], alone.mean[0], rtol=1e-9, atol=1e-12)


def test_tiny_bandwidth_leaves_the_nearest_other_example(rng: np.random.Generator) -> None:
    """S − k(x, x) would be 1 − 1 = 0 here: the example itself must not be summed at all."""
    X = np.sort(rng.random((40, 1)), axis=0)
    t = rng.normal(size=(40, 1))
    Z = X / 1e-6
    found = weighted_means(weights(Gaussian(), Z, Z, own=np.arange(40)), t)
    gaps = np.abs(X - X.T)
    np.fill_diagonal(gaps, np.inf)
    np.testing.assert_allclose(found.mean, t[gaps.argmin(axis=1)])


# --- underflow ---------------------------------------------------------------------------------


def test_far_queries_are_relative_to_their_largest_weight() -> None:
    Z, t = np.array([[0.0], [1.0], [1.5]]), np.array([[1.0], [2.0], [4.0]])
    X = np.array([[60.0], [61.0]])  # exp(−60²/2) is 0 in the computer
    found = weighted_means(weights(Gaussian(), X, Z), t, spread=True)
    logs = -0.5 * (X - Z.T) ** 2
    w = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.mean, w @ t / w.sum(axis=1)[:, None], rtol=1e-12)
    np.testing.assert_allclose(
        found.concentration, (w**2).sum(axis=1) / w.sum(axis=1) ** 2, rtol=1e-10
    )
    assert found.far.all()


def test_far_queries_are_summed_where_the_data_is(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from mercer.engines.cuda.gram import CudaGram
    from mercer.gram.dispatch import Engine

    asked = []

    def make(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> CudaGram:
        asked.append(np.shape(X))
        return CudaGram(kernel, torch.tensor(X), torch.tensor(Z))

    X, Z = rng.normal(size=(40, 20)) + 60.0, rng.normal(size=(300, 20)).astype(np.float32)
    V = rng.normal(size=(300, 2))
    for own in (None, np.arange(40)):
        W = Weights(Gaussian(1.0).formula(), X, Z, own)
        careful = W.careful(np.arange(40))
        assert careful is not None
        expected = careful.product(V)
        there = Engine("elsewhere", lambda *a: True, make, lambda *a: False, lambda X, name: X)
        monkeypatch.setattr(tiles, "engine_for", lambda *a, there=there: there)
        again = W.careful(np.arange(40))
        assert again is not None
        np.testing.assert_allclose(again.product(V), expected, rtol=1e-9)
        monkeypatch.undo()
    assert asked == [(40, 20), (40, 20)]


def test_single_precision_underflows_earlier_and_is_saved_as_well() -> None:
    Z, t = np.array([[0.0], [1.0]], np.float32), np.array([[1.0], [2.0]])
    found = weighted_means(weights(Gaussian(), np.array([[20.0]], np.float32), Z), t)
    np.testing.assert_allclose(found.mean, [[2.0]], atol=1e-6)
    assert found.far.all()


def test_compact_kernels_fall_back_to_the_nearest_neighbor() -> None:
    Z, t = np.array([[0.0], [1.0], [5.0]]), np.array([[1.0], [2.0], [4.0]])
    X = np.array([[3.2], [0.4], [-9.0]])
    found = weighted_means(weights(Epanechnikov(), X, Z), t, spread=True)
    np.testing.assert_allclose(found.mean[[0, 2], 0], [4.0, 1.0])
    assert found.far.tolist() == [True, False, True]
    assert found.variance is not None
    assert np.isfinite(found.variance).all()


def test_the_nearest_neighbor_must_have_weight() -> None:
    Z, t = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    found = weighted_means(weights(Uniform(), np.array([[9.0]]), Z), t, np.array([1.0, 0.0]))
    assert found.mean[0, 0] == 1.0


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="negative values here"):
        weighted_means(
            weights(mercer.Linear(), np.array([[1.0]]), np.array([[1.0], [-2.0]])), np.ones((2, 1))
        )


def test_rounding_below_zero_is_not_negative() -> None:
    """B-splines are sums that cancel at their edge; −1e-17 there is 0."""
    X = np.linspace(-2, 2, 2001)[:, None]
    found = weighted_means(weights(BSpline(5), X, np.zeros((1, 1))), np.ones((1, 1)))
    np.testing.assert_allclose(found.mean, 1.0)


# --- tiles out of reach ------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip tiles however small the problem is."""
    monkeypatch.setattr(tiles, "COMPILED_PAIRS", 0)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel",
    [Epanechnikov(), Tricube(), Uniform(), Wendland(1), BSpline(3, 0.5), Gaussian(0.1)],
    ids=repr,
)
def test_skipping_changes_nothing(
    kernel: Kernel, columns: int, rng: np.random.Generator, eager: None
) -> None:
    X, Z = 40 * rng.random((700, columns)), 40 * rng.random((1500, columns))
    W, V = weights(kernel, X, Z), rng.normal(size=(1500, 2))
    assert W.near is not None
    touched = sum(r.stop - r.start for runs in W.near.tiling.runs for r in runs)
    assert touched < 0.8 * len(W.near.tiling.runs) * 1500
    np.testing.assert_allclose(W.product(V), kernel(X, Z) @ V, atol=1e-10)


def test_skipping_leaves_one_out(rng: np.random.Generator, eager: None) -> None:
    X = 40 * rng.random((600, 2))
    W = weights(Epanechnikov(2.0), X, X, own=np.arange(600))
    assert W.near is not None
    K = Epanechnikov(2.0)(X)
    np.fill_diagonal(K, 0.0)
    np.testing.assert_allclose(W.product(np.ones((600, 1)))[:, 0], K.sum(axis=1), atol=1e-10)


def test_rows_that_miss_their_tail_are_made_again(eager: None) -> None:
    """One query 20 σ from all others: its weights lie in tiles that were skipped."""
    Z = np.concatenate([np.linspace(0, 1, 2000), [30.0, 60.0]])[:, None]
    X = np.concatenate([np.full((1000, 1), 0.5), np.full((2000, 1), 21.0)])
    W = weights(Gaussian(), X, Z)
    assert W.near is not None
    sums, far = gather(W, lambda w: w.product(np.ones((len(Z), 1))))
    assert (sums > 0).all()
    assert not far.any()
    t = np.arange(2002.0)[:, None]
    mean = weighted_means(W, t).mean
    np.testing.assert_allclose(mean[-1], plain(Gaussian(), X[-1:], Z, t)[0], rtol=1e-10)


def test_duplicated_points_are_one_box(rng: np.random.Generator, eager: None) -> None:
    X = np.repeat(rng.random((8, 2)), 100, axis=0) * 100
    W = weights(Epanechnikov(), X, X)
    np.testing.assert_allclose(W.product(np.ones((800, 1))), 100.0)


def test_nothing_is_skipped_where_everything_is_near(rng: np.random.Generator) -> None:
    X = rng.random((3000, 2))
    assert tiles.near_tiles(Epanechnikov(5.0).formula(), X, X) is None
    assert tiles.near_tiles(Epanechnikov(0.01).formula(), X, X) is not None
    assert tiles.near_tiles(Epanechnikov(0.01).formula(), rng.random((3000, 9)), X) is None


def test_tiles_out_of_reach_are_not_visited(rng: np.random.Generator, eager: None) -> None:
    X = rng.random((3000, 2))
    W, seen = weights(Epanechnikov(0.02), X, X), []
    W.sweep(lambda rows, columns, w: seen.append(w.size))
    assert 0 < sum(seen) < 0.5 * len(X) ** 2


# --- on the line -------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.02, 0.1, 1.0])
def test_interpolation_is_as_good_as_the_sum(h: float, rng: np.random.Generator) -> None:
    Z = rng.normal(size=(300, 1)) / h
    X = np.linspace(-6, 6, 8000)[:, None] / h
    t = rng.normal(size=(300, 1))
    assert means.Stretches.over(X[:, 0], 1.0) is not None or h == 0.02
    found = weighted_means(weights(Gaussian(), X, Z), t)
    logs = -0.5 * (X - Z.T) ** 2
    w = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.mean, w @ t / w.sum(axis=1)[:, None], atol=1e-9)


def test_interpolation_reports_what_it_cannot_do() -> None:
    x = np.linspace(0, 40, 5000)
    panels = means.Stretches.over(x, 1.0)
    assert panels is not None
    values = np.exp(-0.5 * panels.nodes[:, None] ** 2)
    result, doubtful = panels.interpolate(values)
    sure = ~doubtful & (x < 30)
    np.testing.assert_allclose(result[sure, 0], np.exp(-0.5 * x[sure] ** 2), rtol=1e-9)
    assert doubtful[-1]
    assert not doubtful[:100].any()


def test_few_queries_are_not_interpolated() -> None:
    assert means.Stretches.over(np.linspace(0, 1000, 50), 1.0) is None


@pytest.mark.parametrize("kernel", [Laplacian(), Gaussian() + 1.0, Epanechnikov()], ids=repr)
def test_only_a_gaussian_is_interpolated(kernel: Kernel) -> None:
    assert gaussian_exponent(simplify(kernel.formula())) is None


# --- the bandwidth -----------------------------------------------------------------------------


def test_divide_by_a_number_or_by_column() -> None:
    import pandas as pd
    import scipy.sparse as sp

    X = np.array([[2.0, 6.0]])
    np.testing.assert_array_equal(divide(X, 2.0), [[1.0, 3.0]])
    np.testing.assert_array_equal(divide(X, [2.0, 3.0]), [[1.0, 2.0]])
    np.testing.assert_array_equal(divide(sp.csr_array(X), [2.0, 3.0]).toarray(), [[1.0, 2.0]])
    frame = pd.DataFrame({"a": [2.0], "word": ["x"]})
    assert divide(frame, 2.0).to_dict("list") == {"a": [1.0], "word": ["x"]}
    assert divide(X, 1.0) is X


@pytest.mark.parametrize("h", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], []])
def test_impossible_bandwidths(h: object) -> None:
    with pytest.raises(ValueError, match="positive"):
        NadarayaWatsonRegressor(bandwidth=h).fit(np.ones((2, 2)), [0.0, 1.0])


def test_one_bandwidth_too_many() -> None:
    with pytest.raises(ValueError, match="one bandwidth per column"):
        NadarayaWatsonRegressor(bandwidth=[1.0, 2.0, 3.0]).fit(np.ones((2, 2)), [0.0, 1.0])
