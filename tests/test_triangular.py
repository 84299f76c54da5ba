"""Products with triangular matrices, by BLAS and without it."""

import numpy as np
import pytest

from mercer._machine import triangular


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (300, 70), (600, 200)])
@pytest.mark.parametrize("by_blas", [True, False])
def test_the_product_is_numpys(monkeypatch, dtype, shape, by_blas):
    rng = np.random.default_rng(0)
    if not by_blas:
        monkeypatch.setattr(triangular, "_product", lambda kind: None)
    B, T = rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[1], shape[1])).astype(dtype)
    expected = B.astype(float) @ np.triu(T)
    triangular.multiply_upper(B, T)
    np.testing.assert_allclose(B, expected, atol=100 * np.finfo(dtype).eps * shape[1])


def test_a_blas_that_is_not_there_is_done_without(monkeypatch):
    monkeypatch.setattr(triangular, "PLATFORMS", set())
    assert triangular._function("dtrmm") is None
    with pytest.raises(ValueError, match="no product"):  # BLAS would read beyond the end
        triangular.multiply_upper(np.ones((3, 2)), np.ones((3, 3)))
