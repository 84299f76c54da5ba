"""Weights that are all there at once, as for few pairs, or tile by tile: the same sums."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Polynomial
from mercer.gram.host import HostGram
from mercer.kernels import Epanechnikov
from mercer.solvers.local.weights import Weights

rng = np.random.default_rng(0)
X, Z, V = rng.normal(size=(30, 3)), rng.normal(size=(40, 3)), rng.normal(size=(40, 2))


def in_tiles(monkeypatch, *given):
    with monkeypatch.context() as patch:
        patch.setattr(HostGram, "is_small", False)
        return Weights(*given).product(V)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.7), Laplacian(1.0, norm=1), Epanechnikov(3.0), Polynomial(2, 1.0)],
    ids=repr,
)
@pytest.mark.parametrize("left_out", [False, True])
def test_few_pairs_give_what_tiles_give(kernel, left_out, monkeypatch):
    queries, own = (Z, np.arange(len(Z))[::-1].copy()) if left_out else (X, None)
    given = kernel.formula(), queries, Z, own
    expected = in_tiles(monkeypatch, *given)
    W = np.asarray(kernel(queries, Z))
    if left_out:
        W[np.arange(len(Z)), own] = 0.0
    assert np.allclose(expected, W @ V, rtol=1e-10)
    assert np.allclose(Weights(*given).product(V), expected, rtol=1e-10)


def test_a_weight_below_zero_is_refused_either_way(monkeypatch):
    given = Linear().formula(), X, Z
    with pytest.raises(ValueError, match="negative values"):
        Weights(*given).product(V)
    with pytest.raises(ValueError, match="negative values"):
        in_tiles(monkeypatch, *given)
