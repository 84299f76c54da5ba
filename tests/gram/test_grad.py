"""G.grad: derivatives in parameters as lazy Grams."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Periodic, Polynomial, RationalQuadratic
from mercer.gram.host import HostGram
from mercer.kernels import PowerExponential


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Gaussian(1.3), "sigma"),
        (0.5 * Gaussian(1.3) * Polynomial(2, 1.0) + Laplacian(0.7, norm=1), "right__rate"),
        (0.5 * Gaussian(1.3) * Polynomial(2, 1.0) + Laplacian(0.7), "left__left__factor"),
        (RationalQuadratic(1.5, 2.0).normalized(), "kernel__alpha"),
        (PowerExponential(1.7, 0.7), "length"),
        (PowerExponential(1.7, 0.7), "power"),
        (PowerExponential(1.7, 0.7, 1), "power"),
        (PowerExponential(1.7, 1.2, 1.5), "length"),
        (Periodic(2.0, 1.5).on([0, 1]), "kernel__period"),
    ],
)
def test_products_with_the_derivative_match_differences(kernel, name):
    rng = np.random.default_rng(0)
    X, Z, v = rng.normal(size=(9, 3)), rng.normal(size=(7, 3)), rng.normal(size=7)
    value, h = kernel.get_params()[name], 1e-5
    up, down = (kernel.set_params(**{name: value + s * h})(X, Z) @ v for s in (1, -1))
    assert kernel.gram(X, Z).grad(name) @ v == pytest.approx(
        (up - down) / (2 * h), rel=1e-5, abs=1e-7
    )
    square = kernel.gram(X).grad(name)
    assert square.shape == (9, 9)
    assert np.allclose(square.dense(), square.dense().T)


def test_an_unknown_parameter_is_named():
    gram = HostGram(Gaussian() + Linear(), np.ones((2, 2)))
    with pytest.raises(ValueError, match="left__sigma"):
        gram.grad("sigma")
