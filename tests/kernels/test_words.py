"""The field's words: bare names, classes, gamma, degree, coef0, other spellings, functions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel

import mercer
from mercer import Gaussian, Laplacian, Linear, Matern, Polynomial, Sigmoid
from mercer.kernels import Similarity, as_kernel, parse

X = np.random.default_rng(0).normal(size=(12, 4)) * 3 + 1
MEANS = {
    "rbf": Gaussian("scale"),
    "gaussian": Gaussian("scale"),
    "Gaussian": Gaussian("scale"),
    "poly": Polynomial(3, 0.0, "scale"),
    "polynomial": Polynomial(3, 0.0, "scale"),
    "sigmoid": Sigmoid("scale"),
    "laplacian": Laplacian("scale", norm=1),
    "linear": Linear(),
    "matern": Matern(length="scale"),
    "cosine": mercer.Cosine(),
    "precomputed": mercer.Precomputed(),
    "rbf(0.5)": Gaussian(1.0),
    "rbf(gamma=0.5)": Gaussian(1.0),
    "rbf(scale)": Gaussian("scale"),
    "rbf()": Gaussian("scale"),
    "gaussian(gamma=0.5)": Gaussian(1.0),
    "gaussian(gamma=median)": Gaussian("median"),
    "gaussian(scale)": Gaussian("scale"),
    "gaussian('scale')": Gaussian("scale"),
    "gaussian()": Gaussian(1.0),
    "poly(2, coef0=1)": Polynomial(2, 1.0),
    "sigmoid(gamma=0.5, coef0=1)": Sigmoid(0.5, 1.0),
    "0.5*rbf + linear": 0.5 * Gaussian("scale") + Linear(),
    "gaussian.on([0]) * matern(2.5)": Gaussian("scale").on([0]) * Matern(2.5),
}


@pytest.mark.parametrize("text", MEANS)
def test_what_a_word_means(text) -> None:
    assert parse(text) == MEANS[text]
    assert as_kernel(text) == MEANS[text]


def test_classes_are_words() -> None:
    assert as_kernel(Gaussian) == Gaussian("scale")
    assert as_kernel(Laplacian) == Laplacian("scale")
    assert as_kernel(Polynomial) == Polynomial(3, 0.0, "scale")
    assert as_kernel(Gaussian, gamma=0.5) == Gaussian()
    assert mercer.prove(Gaussian)
    with pytest.raises(ValueError, match="needs its A"):
        as_kernel(mercer.kernels.Bilinear)


def test_words_beside_a_name_are_scikit_learns() -> None:
    for name, beside in {
        "rbf": {"gamma": 0.2},
        "poly": {"gamma": 0.2, "degree": 2, "coef0": 1.0},
        "sigmoid": {"gamma": 0.01, "coef0": 0.5},
        "laplacian": {"gamma": 0.3},
        "linear": {},
    }.items():
        given = as_kernel(name, gamma=None, degree=None, coef0=None).set_params()
        assert given == as_kernel(name)
        ours = as_kernel(name, **beside).fitted(X)(X)
        np.testing.assert_allclose(ours, pairwise_kernels(X, metric=name, **beside), rtol=1e-10)


def test_what_a_kernel_does_not_have_is_ignored_as_elsewhere() -> None:
    assert as_kernel("rbf", degree=5, coef0=1.0) == Gaussian("scale")
    assert as_kernel("linear", gamma=2.0) == Linear()


@pytest.mark.parametrize("kernel", [Gaussian(), "gaussian(2)", "rbf + linear", rbf_kernel])
def test_they_stand_beside_a_bare_name_only(kernel) -> None:
    with pytest.raises(ValueError, match=r"gamma=0\.1 goes with the bare name"):
        as_kernel(kernel, gamma=0.1)


def test_other_spellings_in_python() -> None:
    assert Gaussian(gamma=0.5) == Gaussian()
    assert Gaussian(length_scale=2.0) == Gaussian(2.0)
    assert Laplacian(gamma=2.0) == Laplacian(2.0)
    with pytest.raises(TypeError, match="gamma and sigma are one parameter"):
        Gaussian(sigma=1.0, gamma=0.5)
    with pytest.raises(TypeError, match=r"Gaussian has no parameter 'sigm'\. Did you mean 'sigma'"):
        Gaussian(sigm=1.0)
    with pytest.raises(ValueError, match="Gaussian: gamma must be a number, positive"):
        Gaussian(gamma=0.0)


def test_a_function_of_two_matrices_is_found_out() -> None:
    k = as_kernel(rbf_kernel)
    assert k == Similarity(rbf_kernel, blocks="auto")
    np.testing.assert_allclose(k(X), rbf_kernel(X), rtol=1e-12)
    np.testing.assert_allclose(k.diag(X), np.ones(len(X)))
    assert k.fitted(X) == Similarity(rbf_kernel, blocks=True)
    for one in (np.dot, lambda a, b: float(a @ b), lambda a, b: np.exp(-((a - b) ** 2).sum())):
        assert as_kernel(one).fitted(X).blocks is False
    assert as_kernel(lambda a, b: len(set(a) & set(b))).fitted(["ab", "bc"]).blocks is False


def test_functions_work_in_learners() -> None:
    y = X[:, 0] > 1
    ours = mercer.KernelSVC(laplacian_kernel).fit(X, y)
    assert ours.kernel_ == Similarity(laplacian_kernel, blocks=True)
    named = mercer.KernelSVC(Laplacian(0.25, norm=1)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), named.decision_function(X), atol=2e-3)


def test_two_numbers_are_two_examples() -> None:
    assert Gaussian()(1.0, 2.0) == pytest.approx(np.exp(-0.5))
    assert isinstance(Gaussian()(1, 2), float)
    assert Linear()(3.0) == 9.0


def test_prove_has_one_order_of_arguments() -> None:
    assert Gaussian().prove(X)
    with pytest.warns(FutureWarning, match=r"prove\(n_features=3\)"):
        assert Gaussian().prove(3)


def test_short_names_of_parameters() -> None:
    k = 0.5 * Gaussian(2.0) + Linear() * Gaussian(3.0).on([0]) + Polynomial(2)
    params = k.short_params()
    assert params["gaussian__sigma"] == 2.0
    assert params["gaussian_2__sigma"] == 3.0
    assert params["polynomial__degree"] == 2
    assert params["scaled__factor"] == 0.5
    # Full paths are the one listing of a kernel; an estimator shows both.
    assert not set(params) & set(k.get_params())
    listed = mercer.KernelSVC(k).get_params()
    assert all(listed[f"kernel__{name}"] == value for name, value in params.items())
    assert mercer.KernelSVC("rbf + linear").get_params()["kernel__gaussian__sigma"] == "scale"
    changed = k.set_params(gaussian_2__sigma="scale", polynomial=Matern())
    assert changed == 0.5 * Gaussian(2.0) + Linear() * Gaussian("scale").on([0]) + Matern()
    assert Gaussian().set_params(gaussian__sigma=2.0) == Gaussian(2.0)
    with pytest.raises(ValueError, match="its parts are sum, sum_2, scaled, gaussian, product"):
        k.set_params(gausian__sigma=2.0)
