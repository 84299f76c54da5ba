"""Learners: scikit-learn estimators over `mercer.solvers`; each one loads on first use.

`catalog.py` names the supervised ones for users and commands. One family per file or folder:
`ridges`, `processes`, `svms`, `perceptrons`, `logistic`; by closeness `neighbors`, `smoothers`,
`local`, `centroids`; with intervals `intervals`; on images `templates`; without targets
`structure`. `_base.py` is what all of them share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import by_name

if TYPE_CHECKING:
    from mercer.learners.centroids import KernelCentroidClassifier
    from mercer.learners.intervals.quantiles import KernelQuantileRegressor
    from mercer.learners.learned.estimators import RFMClassifier, RFMRegressor
    from mercer.learners.local import LocalLinearRegressor
    from mercer.learners.logistic import KernelLogisticRegression
    from mercer.learners.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
    from mercer.learners.perceptrons.dual import KernelPerceptron
    from mercer.learners.perceptrons.primal import Perceptron
    from mercer.learners.processes.classification import GaussianProcessClassifier
    from mercer.learners.processes.regression import GaussianProcessRegressor
    from mercer.learners.ridges.estimators import KernelRidge, KernelRidgeClassifier
    from mercer.learners.smoothers import NadarayaWatsonClassifier, NadarayaWatsonRegressor
    from mercer.learners.structure.density import KernelDensity
    from mercer.learners.structure.fisher import KernelFisherDiscriminant
    from mercer.learners.structure.kmeans import KernelKMeans
    from mercer.learners.structure.pca import KernelPCA
    from mercer.learners.structure.spectral import SpectralClustering
    from mercer.learners.svms.classifier import KernelSVC
    from mercer.learners.svms.regression import KernelOneClass, KernelSVR
    from mercer.learners.templates import DeformableTemplateClassifier

_WHERE = {
    "DeformableTemplateClassifier": "templates",
    "GaussianProcessClassifier": "processes.classification",
    "GaussianProcessRegressor": "processes.regression",
    "KernelCentroidClassifier": "centroids",
    "KernelDensity": "structure.density",
    "KernelFisherDiscriminant": "structure.fisher",
    "KernelKMeans": "structure.kmeans",
    "KernelLogisticRegression": "logistic",
    "KernelNeighborsClassifier": "neighbors",
    "KernelNeighborsRegressor": "neighbors",
    "KernelOneClass": "svms.regression",
    "KernelPCA": "structure.pca",
    "KernelPerceptron": "perceptrons.dual",
    "KernelQuantileRegressor": "intervals.quantiles",
    "KernelRidge": "ridges.estimators",
    "KernelRidgeClassifier": "ridges.estimators",
    "KernelSVC": "svms.classifier",
    "KernelSVR": "svms.regression",
    "LocalLinearRegressor": "local",
    "NadarayaWatsonClassifier": "smoothers",
    "NadarayaWatsonRegressor": "smoothers",
    "Perceptron": "perceptrons.primal",
    "RFMClassifier": "learned.estimators",
    "RFMRegressor": "learned.estimators",
    "SpectralClustering": "structure.spectral",
}

__all__ = [
    "DeformableTemplateClassifier", "GaussianProcessClassifier", "GaussianProcessRegressor",
    "KernelCentroidClassifier", "KernelDensity", "KernelFisherDiscriminant", "KernelKMeans",
    "KernelLogisticRegression", "KernelNeighborsClassifier", "KernelNeighborsRegressor",
    "KernelOneClass", "KernelPCA", "KernelPerceptron", "KernelQuantileRegressor", "KernelRidge",
    "KernelRidgeClassifier", "KernelSVC", "KernelSVR", "LocalLinearRegressor",
    "NadarayaWatsonClassifier", "NadarayaWatsonRegressor", "Perceptron", "RFMClassifier",
    "RFMRegressor", "SpectralClustering",
]  # fmt: skip

__getattr__ = by_name(__name__, {name: f"{__name__}.{file}" for name, file in _WHERE.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
