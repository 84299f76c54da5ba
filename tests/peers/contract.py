"""scikit-learn's `check_estimator` for every public learner and map, and for variants of them."""

import pytest
from adaptors import USED
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer.learners
import mercer.maps
from mercer.learners import (
    DeformableTemplateClassifier,
    KernelCentroidClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelOneClass,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    KernelSVR,
    LocalLinearRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    Perceptron,
)
from mercer.maps import NystromMap, PolynomialMap, RandomFourierMap, TensorSketchMap

DEFAULTS = [
    getattr(package, name)()
    for package in (mercer.learners, mercer.maps)
    for name in package.__all__
]
VARIANTS = [
    KernelSVC("poly"),
    KernelSVC("linear"),
    KernelSVC("laplacian", C=10.0),
    KernelSVC(nu=0.2),
    KernelSVC(class_weight="balanced", break_ties=True),
    KernelSVC("matern(1.5) + linear()"),
    KernelSVR("linear"),
    KernelSVR(nu=0.5),
    KernelSVR("rbf", gamma=0.1, C=10.0),
    KernelOneClass("laplacian", nu=0.2),
    KernelRidge("linear"),
    KernelRidge("poly", degree=2, coef0=1),
    KernelRidge(alpha=0),
    KernelRidge(alphas=[0.1, 1.0, 10.0]),
    KernelRidge(fit_intercept=True),
    KernelRidge(solver="cg", tol=1e-12),
    KernelRidge(solver="eigh"),
    KernelRidge(solver="nystrom", random_state=0),
    KernelRidgeClassifier("linear"),
    KernelRidgeClassifier(alphas=[0.1, 1.0], class_weight="balanced"),
    KernelLogisticRegression("linear"),
    KernelLogisticRegression(solver="newton"),
    KernelLogisticRegression(class_weight="balanced"),
    KernelNeighborsClassifier("linear", weights="distance"),
    KernelNeighborsClassifier(weights="kernel", class_weight="balanced"),
    KernelNeighborsClassifier(radius=1.3, outlier_label="most_frequent"),
    KernelNeighborsRegressor(weights="distance"),
    KernelNeighborsRegressor(radius=0.9),
    KernelCentroidClassifier("linear"),
    KernelCentroidClassifier(prototype="medoid", shrinkage=0.2),
    NadarayaWatsonClassifier(bandwidth="rule"),
    NadarayaWatsonRegressor("epanechnikov()", bandwidth=2.0),
    LocalLinearRegressor(bandwidth="rule"),
    KernelPerceptron("poly", averaging="average"),
    KernelPerceptron(averaging="vote", multi_class="ovr"),
    KernelPerceptron(budget=20),
    Perceptron(averaging="average", fit_intercept=True),
    Perceptron(PolynomialMap(2, offset=1.0)),
    DeformableTemplateClassifier(rounds=0, order=0),
    NystromMap("poly", n_components=20, random_state=0),
    RandomFourierMap("laplacian()", random_state=0),
    RandomFourierMap(orthogonal=True, random_state=0),
    TensorSketchMap(3, 1.0, random_state=0),
]
CASES = [
    pytest.param(estimator, check, id=f"{estimator}-{check.func.__name__}".replace("\n", ""))
    for model in (*DEFAULTS, *VARIANTS)
    for estimator, check in estimator_checks_generator(model)
]


@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_contract(estimator, check):
    USED.add(type(estimator).__name__)
    check(estimator)
