"""scikit-learn's `check_estimator` for every public learner and map, and for some variants."""

import pytest
from adaptors import USED
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer.learners
import mercer.maps
from mercer.learners import (
    DeformableTemplateClassifier,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelRidge,
    Perceptron,
)
from mercer.maps import NystromMap, PolynomialMap, RandomFourierMap, TensorSketchMap

DEFAULTS = [
    getattr(package, name)()
    for package in (mercer.learners, mercer.maps)
    for name in package.__all__
]
#: What `tests/learners/test_check_estimator.py`, the list of variants of learners, does not have.
VARIANTS = [
    KernelRidge(alpha=0),
    KernelPCA(fit_inverse_transform=True),
    KernelNeighborsClassifier(weights="kernel", class_weight="balanced"),
    KernelNeighborsClassifier(radius=1.3, outlier_label="most_frequent"),
    KernelNeighborsRegressor(radius=0.9),
    Perceptron(PolynomialMap(2, offset=1.0)),
    DeformableTemplateClassifier(rounds=0, max_frequency=0),
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
