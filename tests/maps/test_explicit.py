"""ExplicitMap: the map a kernel itself knows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.kernels import Constant, Gaussian, Linear, Polynomial
from mercer.maps import ExplicitMap

FINITE = [
    Linear(),
    Polynomial(3),
    Polynomial(2, 1.5),
    Linear() + Linear() ** 2,
    2.0 * Linear() * Polynomial(2) + Constant(3.0),
    Linear().polynomial([1.0, 0.0, 0.5]),
    Linear().on([0, 2]),
]


@pytest.mark.parametrize("kernel", FINITE, ids=repr)
def test_inner_products_are_the_kernel(rng, relative_error, kernel):
    X, Z = rng.normal(size=(15, 3)), rng.normal(size=(10, 3))
    phi = ExplicitMap(kernel).fit(X)
    F = phi.transform(X)
    assert relative_error(F @ phi.transform(Z).T, kernel(X, Z)) < 1e-12
    assert F.shape[1] == phi.n_output_features_ == kernel.n_dims(3)
    assert len(phi.get_feature_names_out()) == F.shape[1]


def test_is_what_feature_map_returns(rng):
    X = rng.normal(size=(5, 2))
    phi = Polynomial(2).feature_map(2)
    F = phi.fit_transform(X)
    np.testing.assert_allclose(F @ F.T, (X @ X.T) ** 2)


def test_frames_names_and_float32(rng):
    X = pd.DataFrame(rng.normal(size=(5, 2)), columns=["a", "b"])
    phi = ExplicitMap("polynomial(2, offset=1)").set_output(transform="pandas").fit(X)
    assert phi.transform(X).shape == (5, 6)
    F = ExplicitMap(Polynomial(2)).fit_transform(X.to_numpy(dtype=np.float32))
    assert F.dtype == np.float32


def test_infinitely_many_dimensions_are_refused(rng):
    with pytest.raises(ValueError, match="NystromMap"):
        ExplicitMap(Gaussian(1.0)).fit(rng.normal(size=(5, 2)))


def test_the_memory_limit(rng):
    with mercer.config(memory="4GB"), pytest.raises(ValueError, match="1609344100 features"):
        ExplicitMap(Polynomial(6)).fit(np.ones((1, 100)))
    phi = ExplicitMap(Linear() ** 3).fit(np.ones((1, 20)))
    with mercer.config(memory="100MB"), pytest.raises(ValueError, match="10000 rows of 8000"):
        phi.transform(np.ones((10_000, 20)))
