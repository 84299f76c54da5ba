# What type checkers see, and what `__init__.py` loads on first use.
from mercer.learners.centroids import KernelCentroidClassifier as KernelCentroidClassifier
from mercer.learners.intervals.quantiles import KernelQuantileRegressor as KernelQuantileRegressor
from mercer.learners.learned.estimators import RFMClassifier as RFMClassifier
from mercer.learners.learned.estimators import RFMRegressor as RFMRegressor
from mercer.learners.local import LocalLinearRegressor as LocalLinearRegressor
from mercer.learners.logistic import KernelLogisticRegression as KernelLogisticRegression
from mercer.learners.neighbors import KernelNeighborsClassifier as KernelNeighborsClassifier
from mercer.learners.neighbors import KernelNeighborsRegressor as KernelNeighborsRegressor
from mercer.learners.perceptrons.dual import KernelPerceptron as KernelPerceptron
from mercer.learners.perceptrons.primal import Perceptron as Perceptron
from mercer.learners.processes.classification import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from mercer.learners.processes.regression import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from mercer.learners.ridges.estimators import KernelRidge as KernelRidge
from mercer.learners.ridges.estimators import KernelRidgeClassifier as KernelRidgeClassifier
from mercer.learners.smoothers import NadarayaWatsonClassifier as NadarayaWatsonClassifier
from mercer.learners.smoothers import NadarayaWatsonRegressor as NadarayaWatsonRegressor
from mercer.learners.structure.density import KernelDensity as KernelDensity
from mercer.learners.structure.fisher import KernelFisherDiscriminant as KernelFisherDiscriminant
from mercer.learners.structure.kmeans import KernelKMeans as KernelKMeans
from mercer.learners.structure.pca import KernelPCA as KernelPCA
from mercer.learners.structure.spectral import SpectralClustering as SpectralClustering
from mercer.learners.svms.classifier import KernelSVC as KernelSVC
from mercer.learners.svms.regression import KernelOneClass as KernelOneClass
from mercer.learners.svms.regression import KernelSVR as KernelSVR
from mercer.learners.templates import DeformableTemplateClassifier as DeformableTemplateClassifier
