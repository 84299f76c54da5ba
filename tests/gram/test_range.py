"""Numbers too large for the dtype are an error that says so, never inf or NaN in K."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mercer import Gaussian, Linear, Polynomial
from mercer.kernels import ArcCosine, Intersection, Kernel, SquaredDistance, parse

X = np.full((4, 3), 1e3)
SMALL = np.full((2, 3), 1.0)

OVER_SINGLE = [
    "polynomial(20)",
    "polynomial(20).normalized()",
    "polynomial(20) + gaussian()",
    "1e38*polynomial(2)",
    "linear().exp()",
    "intersection()**20",
    "(100*gaussian()).exp()",
    "polynomial(20).reweight('inverse_norm')",
]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("text", OVER_SINGLE)
def test_float32_overflow(text: str, form) -> None:
    k = parse(text)
    rows = form(X.astype(np.float32))
    for call in (lambda: k(rows), lambda: k(rows, rows), lambda: k.gram(rows, rows) @ np.ones(4)):
        with pytest.raises(ValueError, match="k overflows") as told:
            call()
        assert "float32" in str(told.value)
        assert "scale the data" in str(told.value)


def test_float64_has_room_where_float32_has_not() -> None:
    for text in ("polynomial(20)", "1e38*polynomial(2)", "intersection()**20"):
        assert np.isfinite(parse(text)(X)).all(), text
        with pytest.raises(ValueError, match="use float64"):
            parse(text)(X.astype(np.float32))


def test_float64_overflows_too() -> None:
    for k in (Polynomial(100), Linear().exp(), (1e3 * Gaussian()).exp(), Intersection() ** 100):
        with pytest.raises(ValueError, match="overflows"):
            k(X)
        with pytest.raises(ValueError, match="overflows"):
            k(X, X)
    with pytest.raises(ValueError, match="overflows"):
        Polynomial(100).diag(X)


def test_diag_alone_overflows() -> None:
    with pytest.raises(ValueError, match="overflows"):
        Polynomial(20).diag(X.astype(np.float32))


def test_a_small_side_makes_room() -> None:
    """|k(x, z)| ≤ √(k(x, x) k(z, z)): what cannot overflow is not refused."""
    k = Polynomial(10)
    assert np.isfinite(k((X / 10).astype(np.float32), SMALL.astype(np.float32))).all()
    with pytest.raises(ValueError, match="overflows"):
        k((X / 10).astype(np.float32))


def test_weights_count() -> None:
    k: Kernel = Linear().reweight(lambda V: np.full(len(V), 1e20))
    assert np.isfinite(k(SMALL)).all()
    with pytest.raises(ValueError, match="overflows"):
        k(SMALL.astype(np.float32))


def test_normalizing_what_is_negative_is_told_about() -> None:
    with pytest.raises(ValueError, match="k\\(x, x\\) overflows or is negative"):
        (Linear() - 50.0).normalized()(SMALL)


@pytest.mark.parametrize("rows", [1, 60])
def test_divisors_of_normalized_parts_do_not_underflow_together(rows) -> None:
    """1 / (‖x‖² ‖z‖²) is 4e-45 here, but for what it is multiplied with in between."""
    X = np.random.default_rng(0).normal(size=(rows, 56)).astype(np.float32) * np.float32(2e10)
    wide, angle = X.astype(float), Linear().normalized()
    kernel = (angle * Linear()).normalized()
    np.testing.assert_allclose(kernel(X, X.copy()), angle(wide) ** 2, atol=2e-6)
    with pytest.raises(ValueError, match="k overflows"):
        (Linear() * Linear()).normalized()(X)


def test_normalizing_zero_rows_gives_zero() -> None:
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    for dtype in (np.float32, np.float64):
        for form in (np.asarray, sparse.csr_matrix):
            K = Linear().normalized()(form(rows.astype(dtype)))
            np.testing.assert_allclose(K, [[0, 0, 0], [0, 1, 0.8], [0, 0.8, 1]], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_what_grows_with_the_distance_overflows_too(form, dtype) -> None:
    """k(x, x) = 0 says nothing of k(x, z)."""
    far = 1e15 if dtype == "float32" else 1e70
    rows = form(far * np.random.default_rng(0).normal(size=(9, 3)).astype(dtype))
    k = SquaredDistance()
    assert np.isfinite(k(rows)).all()
    assert np.isfinite(Gaussian()(rows)).all()
    for large in (k**3, (k - 1.0) ** 3 + Gaussian(), k.exp()):
        for call in (lambda k=large: k(rows), lambda k=large: k.gram(rows, rows.copy())):
            with pytest.raises(ValueError, match=f"k overflows.*{dtype}"):
                call()
    with pytest.raises(ValueError, match="overflows"):
        k(form(1e200 * rows.astype(float)))


def test_rows_near_one_another_do_not_overflow_far_from_zero() -> None:
    rows = (1e7 + np.arange(20.0)).reshape(-1, 1).astype(np.float32)
    assert (SquaredDistance() ** 5)(rows).max() == pytest.approx(19.0**10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_divisor_that_underflows_is_said_and_one_that_does_not_is_none(dtype) -> None:
    """k(x, x) = ‖x‖¹² leaves the range long before ‖x‖² does; 1 + ‖x‖² never does."""
    tiny = float(np.finfo(dtype).tiny)
    X = (tiny**0.09 * np.random.default_rng(0).normal(size=(40, 2))).astype(dtype)
    with pytest.raises(ValueError, match=r"divides by .*‖x‖².* which underflows in row"):
        (ArcCosine(2) ** 3).normalized()(X)
    right = (ArcCosine(2).normalized() ** 3)(X)
    np.testing.assert_allclose(right.diagonal(), 1.0, rtol=1e-5)
    one = Polynomial(2, 1.0).normalized()((tiny * X).astype(dtype))
    np.testing.assert_array_equal(one, 1.0)
