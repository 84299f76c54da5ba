"""Products with triangular matrices, in place."""

import numpy as np
import pytest

from mercer._machine.cholesky import multiply_upper


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 3), (300, 70), (600, 200)])
def test_the_product_is_numpys(dtype, shape):
    rng = np.random.default_rng(0)
    B, T = rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[1], shape[1])).astype(dtype)
    expected = B.astype(float) @ np.triu(T)
    multiply_upper(B, T)
    np.testing.assert_allclose(B, expected, atol=100 * np.finfo(dtype).eps * shape[1])


@pytest.mark.parametrize(
    ("B", "T"),
    [
        (np.ones((3, 2)), np.ones((3, 3))),
        (np.ones((3, 2), dtype=np.float32), np.ones((2, 2))),
        (np.ones((3, 4))[:, ::2], np.ones((2, 2))),
    ],
)
def test_what_would_not_be_overwritten_is_refused(B, T):
    with pytest.raises(ValueError, match="no product in place"):
        multiply_upper(B, T)
