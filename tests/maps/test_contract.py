"""What scikit-learn expects of a transformer, and what our estimators add for kernels."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import mercer.maps
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.kernels.estimators import KernelParams
from mercer.maps import (
    ExplicitMap,
    NystromMap,
    PolarMap,
    PolynomialMap,
    RandomFourierMap,
    SpectrumRepair,
    TaylorGaussianMap,
    TensorSketchMap,
)

MAPS = [
    PolynomialMap(),
    PolynomialMap(3, 1.0),
    TaylorGaussianMap(),
    RandomFourierMap(random_state=0),
    RandomFourierMap("matern(1.5, 2)", 7, orthogonal=True, random_state=0),
    NystromMap(random_state=0),
    NystromMap(Linear() + Gaussian(2.0), 5, random_state=0),
    NystromMap("precomputed", random_state=0),
    TensorSketchMap(random_state=0),
    PolarMap(),
    PolarMap(winding=2.0),
    ExplicitMap(),
    ExplicitMap(Polynomial(2, 1.0)),
    SpectrumRepair(),
    SpectrumRepair("flip"),
    SpectrumRepair("shift"),
]

#: Each class, and each option that takes another way through the code, once.
CHECKED = [
    PolynomialMap(),
    TaylorGaussianMap(),
    RandomFourierMap("matern(1.5, 2)", 7, orthogonal=True, random_state=0),
    NystromMap(random_state=0),
    NystromMap("precomputed", random_state=0),
    TensorSketchMap(random_state=0),
    PolarMap(),
    ExplicitMap(),
    SpectrumRepair(),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    assert len(results) > 30
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed


@pytest.mark.parametrize("estimator", MAPS, ids=repr)
def test_clone_and_names(rng, estimator):
    X = rng.normal(size=(8, 8))
    X = X @ X.T
    fitted = clone(estimator).fit(X)
    assert not hasattr(clone(fitted), "n_features_in_")
    assert repr(clone(estimator)) == repr(estimator)
    assert len(fitted.get_feature_names_out()) == fitted.transform(X).shape[1]


@pytest.mark.parametrize("estimator", MAPS, ids=repr)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[np.nan, 1.0], [1.0, 1.0]], "NaN"),
        ([[np.inf, 1.0], [1.0, 1.0]], "inf"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((2, 0)), "0 feature"),
        ([1.0, 2.0], "1D array"),
        ([["a", "b"], ["c", "d"]], "convert|dtype|numeric"),
    ],
)
def test_bad_input(estimator, X, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X)


def test_importing_mercer_leaves_scikit_learn_alone():
    code = (
        "import sys, mercer, mercer.maps, mercer.kernels.estimators, mercer.formula.monomials;"
        "assert 'sklearn' not in sys.modules;"
        "from mercer.maps import PolarMap;"
        "assert 'sklearn' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_the_subpackage():
    assert set(mercer.maps.__all__) <= set(dir(mercer.maps))
    for name in mercer.maps.__all__:
        assert issubclass(getattr(mercer.maps, name), TransformerMixin)
    with pytest.raises(AttributeError, match="SphericalMap"):
        mercer.maps.SphericalMap


# KernelParams


def test_nested_names_are_shown():
    names = NystromMap(Gaussian(1.0) + Polynomial(2)).get_params()
    assert names["kernel__left__sigma"] == 1.0
    assert names["kernel__right__degree"] == 2
    assert set(NystromMap(Gaussian(1.0)).get_params(deep=False)) == {
        "centers",
        "kernel",
        "n_components",
        "random_state",
    }


def test_set_params_rebinds_the_kernel():
    kernel = Gaussian(1.0) + Linear()
    phi = NystromMap(kernel)
    assert phi.set_params(kernel__left__sigma=3.0, n_components=7) is phi
    assert phi.kernel == Gaussian(3.0) + Linear()
    assert phi.n_components == 7
    assert kernel == Gaussian(1.0) + Linear()


def test_a_new_kernel_and_its_parameter_together():
    phi = NystromMap("gaussian(1)").set_params(kernel__degree=4, kernel=Polynomial(2))
    assert phi.kernel == Polynomial(4)


def test_expression_strings_have_parameters_too():
    phi = NystromMap("gaussian(1) + linear()")
    assert phi.get_params()["kernel__left__sigma"] == 1.0
    assert phi.kernel == "gaussian(1) + linear()"
    assert phi.set_params(kernel__left__sigma=2.0).kernel == Gaussian(2.0) + Linear()
    assert NystromMap("no kernel (").get_params()["kernel"] == "no kernel ("
    assert "kernel__sigma" not in NystromMap("precomputed").get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma": 1.0}, "'sigma'.*kernel"),
        ({"base__sigma": 1.0}, "'base'"),
        ({"n_components__sigma": 1.0}, "no parameters of its own"),
        ({"kernel__nonsense": 1.0}, "nonsense"),
    ],
)
def test_wrong_names(parameters, message):
    with pytest.raises(ValueError, match=message):
        NystromMap(Gaussian(1.0)).set_params(**parameters)


def test_nested_estimators_still_work():
    class Wrap(KernelParams, BaseEstimator):
        def __init__(self, kernel=None, inner=None):
            self.kernel = kernel
            self.inner = inner

    inner = Ridge()
    wrap = Wrap(Gaussian(1.0), inner).set_params(inner__alpha=3.0, kernel__sigma=2.0)
    assert wrap.inner is inner
    assert inner.alpha == 3.0
    assert wrap.kernel == Gaussian(2.0)


def test_grid_search_really_fits_different_kernels(rng):
    X = rng.uniform(-3, 3, size=(80, 1))
    y = np.sin(3 * X[:, 0])
    model = make_pipeline(
        NystromMap(Gaussian(1.0) + 0.1 * Linear(), 40, random_state=0), Ridge(1e-3)
    )
    assert isinstance(model, Pipeline)
    sigmas = [0.01, 0.5, 50.0]
    search = GridSearchCV(model, {"nystrommap__kernel__left__sigma": sigmas}, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(np.round(scores, 6))) == 3
    assert search.best_params_ == {"nystrommap__kernel__left__sigma": 0.5}
    assert search.best_estimator_[0].kernel_ == Gaussian(0.5) + 0.1 * Linear()
