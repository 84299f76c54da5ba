"""Repaired matrices: positive semi-definite, symmetric, of the same type, and unchanged if fine."""

import numpy as np
import pytest

from mercer.proof import repair


def _indefinite(n=30, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_positive_semi_definite_afterwards(how, dtype):
    K = _indefinite().astype(dtype)
    fixed = repair(K, how=how)
    assert fixed.dtype == dtype
    assert (fixed == fixed.T).all()
    values = np.linalg.eigvalsh(fixed.astype(float))
    assert values[0] >= -100 * np.finfo(dtype).eps * values[-1]
    assert fixed is not K


def test_each_way_does_what_it_says():
    K = _indefinite()
    values = np.linalg.eigvalsh(K)
    assert np.linalg.eigvalsh(repair(K, "clip")) == pytest.approx(np.maximum(values, 0), abs=1e-12)
    assert np.linalg.eigvalsh(repair(K, "flip")) == pytest.approx(np.sort(np.abs(values)))
    shifted = repair(K, "shift")
    off = ~np.eye(len(K), dtype=bool)
    assert (shifted[off] == K[off]).all()
    assert np.diagonal(shifted) - np.diagonal(K) == pytest.approx(-values[0])


def test_a_kernel_matrix_stays_as_it_is():
    A = np.random.default_rng(1).standard_normal((20, 3))
    K = A @ A.T
    K = (K + K.T) / 2
    for how in ("clip", "flip", "shift"):
        fixed = repair(K, how)
        assert (fixed == K).all()
        assert fixed is not K
    assert repair(np.eye(2, dtype=int)).dtype == np.float64
    assert repair(np.zeros((0, 0))).shape == (0, 0)


def test_bad_input():
    with pytest.raises(ValueError, match="symmetric"):
        repair(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="square"):
        repair(np.ones((2, 3)))
    with pytest.raises(ValueError, match="square"):
        repair(np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        repair(np.array([[np.nan]]))
    with pytest.raises(ValueError, match="'clip', 'flip', 'shift'"):
        repair(np.eye(2), how="hope")
    with pytest.raises(TypeError, match="dtype"):
        repair(np.array([["a"]]))
