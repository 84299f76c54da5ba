"""scikit-learn's checks on every learner without arguments, and on variants of them.

A check is excused only where scikit-learn excuses its own counterpart from it, for the same reason.
The defaults that are tested with their learners (`test_ridge`, `test_svm_input`, …) are here, too,
among the slow tests: this file is the whole list.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import (
    KernelCentroidClassifier,
    KernelDensity,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    KernelSVR,
    LocalLinearRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    Perceptron,
    SpectralClustering,
)

#: The one list of what is excused and why, which `make test-peers` reads, too.
CONTRACT = runpy.run_path(str(Path(__file__).parents[1] / "peers" / "exceptions.py"))["CONTRACT"]
#: NuSVC: these weights of classes leave no feasible ν.
INFEASIBLE = ("check_class_weight_classifiers", "check_classifiers_one_label_sample_weights")
#: SVC, too: the largest of the scores of pairs of classes is no class.
PAIRS = ("check_classifiers_train",)
DEFAULTS = [getattr(mercer, name)() for name in mercer.learners.__all__]
FAST = [
    KernelOneClass("linear"),
    KernelNeighborsRegressor("laplacian", n_neighbors=3),
    NadarayaWatsonRegressor("tricube", bandwidth=1.0),
]
VARIANTS = [
    KernelSVC("poly(degree=2, coef0=1.0)"),
    KernelSVC("laplacian"),
    KernelSVR("rational_quadratic", epsilon=0.01),
    KernelSVC("linear"),
    KernelSVC("sigmoid"),
    KernelSVC("gaussian(median)"),
    KernelSVC("rbf + linear"),
    KernelSVC(nu=0.3),
    KernelSVC(probability=True),
    KernelSVC(decision_function_shape="ovo"),
    KernelSVC(class_weight="balanced"),
    KernelSVC("matern(1.5)", C=10.0),
    KernelSVR("linear"),
    KernelSVR("poly"),
    KernelSVR(nu=0.5),
    KernelOneClass("laplacian", nu=0.2),
    KernelRidge(alpha=1.0),
    KernelRidge("linear", fit_intercept=True),
    KernelRidge(alphas=[0.1, 1.0, 10.0]),
    KernelRidge(solver="cg", alpha=0.5),
    KernelRidge(solver="nystrom", random_state=0),
    KernelRidge("poly", solver="eigh"),
    KernelRidgeClassifier(alpha=1.0),
    KernelRidgeClassifier("linear", class_weight="balanced"),
    KernelRidgeClassifier(alphas=[0.1, 1.0]),
    KernelLogisticRegression(alpha=1.0),
    KernelLogisticRegression("linear", class_weight="balanced", tol=1e-10),
    KernelLogisticRegression(solver="nystrom", random_state=0),
    KernelLogisticRegression("poly(degree=2, coef0=1.0)"),
    KernelPerceptron(averaging="average"),
    KernelPerceptron(averaging="vote"),
    KernelPerceptron("laplacian", fit_intercept=True),
    KernelPerceptron(margin=1.0, learning_rate=0.1),
    KernelPerceptron(budget=20),
    Perceptron(averaging="average"),
    KernelNeighborsClassifier(weights="distance"),
    KernelNeighborsClassifier(weights="kernel"),
    KernelNeighborsRegressor(weights="distance"),
    KernelCentroidClassifier("laplacian"),
    KernelCentroidClassifier(prototype="medoid"),
    KernelCentroidClassifier(shrinkage=0.2),
    NadarayaWatsonClassifier("epanechnikov"),
    NadarayaWatsonRegressor(bandwidth="rule"),
    KernelDensity("tricube", 1.0),
    KernelFisherDiscriminant("poly", alpha=1.0),
    KernelKMeans("laplacian", 3),
    SpectralClustering("laplacian", 3, n_centers=20),
    KernelPCA("poly", 2, center=False),
    KernelPCA(n_components=2, fit_inverse_transform=True),
    LocalLinearRegressor(local_degree=0),
    LocalLinearRegressor(bandwidth="rule"),
]
MODELS = [
    *FAST,
    *(pytest.param(model, marks=pytest.mark.slow) for model in (*DEFAULTS, *VARIANTS)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(model) -> None:
    excused = set(CONTRACT.get(type(model).__name__, ()))
    if getattr(model, "nu", None) is not None and isinstance(model, KernelSVC):
        excused.update(INFEASIBLE)
    if getattr(model, "decision_function_shape", "") == "ovo":
        excused.update(PAIRS)
    if isinstance(model, KernelLogisticRegression) and model.solver == "nystrom":
        excused.update(CONTRACT["KernelSVC"])  # equal to the tolerance of the solver, too
    found = check_estimator(model, on_skip=None, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in found if one["status"] == "failed"}
    assert not {name: error for name, error in failed.items() if name not in excused}
    assert sum(one["status"] == "passed" for one in found) > 30


def test_there_are_forty_variants() -> None:
    assert len(FAST) + len(VARIANTS) >= 40
