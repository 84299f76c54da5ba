"""f(x) = Σᵢ αᵢ k(xᵢ, x) + b as a value."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import Gaussian, KernelExpansion, Linear, Polynomial, Precomputed
from mercer.kernels import Similarity

RNG = np.random.default_rng(8)
POINTS = RNG.normal(size=(6, 3))
X = RNG.normal(size=(4, 3))
ALPHA = np.array([1.0, 0.0, -2.0, 0.5, 0.0, 3.0])
OUTPUTS = RNG.normal(size=(6, 2))
K = Polynomial(2, 1.0)


def test_it_evaluates() -> None:
    f = KernelExpansion(K, POINTS, ALPHA, 0.5)
    np.testing.assert_allclose(f(X), K(X, POINTS) @ ALPHA + 0.5)
    g = KernelExpansion("polynomial(2, offset=1)", POINTS, OUTPUTS, [1.0, -1.0])
    np.testing.assert_allclose(g(X), K(X, POINTS) @ OUTPUTS + [1.0, -1.0])
    assert g.kernel == K
    assert len(f) == 6
    assert repr(g) == "KernelExpansion(Polynomial(degree=2, offset=1.0), 6 points, 2 output(s))"
    assert "1 output" in repr(f)
    whole = KernelExpansion(Linear(), POINTS, np.ones(6, dtype=int))
    assert whole.coef.dtype == np.float64
    single = KernelExpansion(K, POINTS.astype(np.float32), ALPHA.astype(np.float32), 0.5)
    assert single(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "form",
    [np.asarray, sparse.csr_matrix, pd.DataFrame, list],
    ids=["array", "csr", "frame", "list"],
)
def test_pruning_keeps_the_function(form) -> None:
    f = KernelExpansion(K, form(POINTS), ALPHA, 0.5)
    pruned = f.pruned()
    assert len(pruned) == 4
    np.testing.assert_allclose(pruned(X), f(X))
    assert len(f.pruned(tolerance=1.0)) == 2
    both = KernelExpansion(K, form(POINTS), np.column_stack([ALPHA, ALPHA[::-1]]))
    assert len(both.pruned()) == 4, "only rows that are zero in both go"
    np.testing.assert_allclose(both.pruned()(X), both(X))


def test_nothing_left_is_the_constant() -> None:
    f = KernelExpansion(K, POINTS, np.zeros(6), 2.0).pruned()
    assert len(f) == 0
    np.testing.assert_array_equal(f(X), np.full(4, 2.0))
    assert f.squared_norm == 0
    g = KernelExpansion(K, POINTS, np.zeros((6, 2)), [1.0, 2.0]).pruned()
    np.testing.assert_array_equal(g(X), np.tile([1.0, 2.0], (4, 1)))
    np.testing.assert_array_equal(g.squared_norm, [0, 0])


def test_norms_margins_and_the_primal_agree() -> None:
    f = KernelExpansion(K, POINTS, ALPHA, 0.5)
    w = f.primal()
    np.testing.assert_allclose(w, K.features(POINTS).T @ ALPHA)
    assert f.squared_norm == pytest.approx(w @ w)
    np.testing.assert_allclose(K.features(X) @ w + 0.5, f(X))
    y = np.array([1, -1, 1, -1])
    np.testing.assert_allclose(f.margins(X, y), y * f(X) / np.linalg.norm(w))
    both = KernelExpansion(K, POINTS, OUTPUTS)
    np.testing.assert_allclose(both.squared_norm, (both.primal() ** 2).sum(0))


def test_contributions_add_up_to_the_prediction() -> None:
    f = KernelExpansion(K, POINTS, ALPHA, 0.5)
    np.testing.assert_allclose(f.contributions(X[:1]).sum() + 0.5, f(X[:1])[0])
    both = KernelExpansion(K, POINTS, OUTPUTS)
    np.testing.assert_allclose(both.contributions(X[:1]).sum(0), both(X[:1])[0])
    with pytest.raises(ValueError, match="explain one example, got 4"):
        f.contributions(X)


def test_points_of_any_kind() -> None:
    k = Similarity(lambda a, b: float(len(set(a) & set(b))))
    f = KernelExpansion(k, ["cat", "dog"], [1.0, -1.0])
    np.testing.assert_array_equal(f(["car", "do"]), [2.0, -2.0])
    np.testing.assert_array_equal(f.pruned()(["car", "do"]), [2.0, -2.0])
    Q = K(X, POINTS)
    given = KernelExpansion(Precomputed(), np.array([5, 0]), [1.0, 2.0])
    np.testing.assert_allclose(given(Q), Q[:, [5, 0]] @ [1.0, 2.0])
    with pytest.raises(TypeError, match="keeps no points"):
        given.squared_norm


def test_it_is_a_plain_value() -> None:
    f = KernelExpansion(K, POINTS, ALPHA, 0.5)
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(X), f(X))
    with pytest.raises(AttributeError):
        f.coef = ALPHA  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((3, POINTS, ALPHA), TypeError, "kernel must be a Kernel"),
        ((K, POINTS, ALPHA[:3]), ValueError, "6 points need as many coef, got 3"),
        ((K, POINTS, ALPHA * np.nan), ValueError, "coef has NaN or infinite entries"),
        ((K, POINTS, ALPHA.reshape(1, 6, 1)), ValueError, "1-D or 2-D"),
        ((K, POINTS, np.array(["a"] * 6)), ValueError, "coef must be real"),
        ((K, POINTS, ALPHA * 1j), ValueError, "coef must be real"),
        ((K, POINTS, OUTPUTS, [1.0, 2.0, 3.0]), ValueError, "one intercept per output is needed"),
        ((K, POINTS, ALPHA, [1.0]), ValueError, "one intercept per output is needed"),
    ],
)
def test_parts_that_do_not_fit(given, kind, message: str) -> None:
    with pytest.raises(kind) as told:
        KernelExpansion(*given)
    assert message in str(told.value)


def test_margins_need_one_output_labels_and_a_function() -> None:
    f = KernelExpansion(K, POINTS, ALPHA)
    with pytest.raises(ValueError, match="labels -1 and 1"):
        f.margins(X, [0, 1, 1, 0])
    with pytest.raises(ValueError, match="one output"):
        KernelExpansion(K, POINTS, OUTPUTS).margins(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="w ≠ 0"):
        KernelExpansion(K, POINTS, 0 * ALPHA).margins(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="no finite feature map"):
        KernelExpansion(Gaussian(), POINTS, ALPHA).primal()
