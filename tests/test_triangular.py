"""Products with triangular matrices, by BLAS and without it."""

import sys

import numpy as np
import pytest

from mercer._machine import numpy_blas, pools, triangular


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
    monkeypatch.setattr(numpy_blas, "PLATFORMS", set())
    numpy_blas._function.cache_clear()
    assert numpy_blas.blas_function("dtrmm") is None
    numpy_blas._function.cache_clear()
    with pytest.raises(ValueError, match="no product"):  # BLAS would read beyond the end
        triangular.multiply_upper(np.ones((3, 2)), np.ones((3, 3)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@pytest.mark.parametrize(("load", "free"), [("1/300", True), ("9000/9300", False)])
def test_cores_are_free_where_nobody_else_runs(load, free, monkeypatch, tmp_path):
    place = tmp_path / "loadavg"
    place.write_text(f"0.1 0.2 0.3 {load} 4711\n")

    def elsewhere(name, mode):
        return open(place if name == "/proc/loadavg" else name, mode)

    monkeypatch.setattr(pools, "open", elsewhere, raising=False)
    monkeypatch.setattr(pools.os, "cpu_count", lambda: 4)
    pools._cores_are_free.cache_clear()
    assert pools.cores_are_free() == free
    pools._cores_are_free.cache_clear()
