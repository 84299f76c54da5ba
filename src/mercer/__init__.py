"""Mercer: kernel machines with proofs, at the speed of the matrix product under them.

>>> import mercer
>>> k = 0.5 * mercer.Gaussian(sigma=2.0) + mercer.Polynomial(2, offset=1.0)
>>> bool(k.prove())
True
"""

from __future__ import annotations

from mercer._lazy import by_name

__version__ = "0.1.0"

_WHERE = {
    "mercer._config": ["config", "get_config"],
    "mercer.kernels": [
        "Anova",
        "ArcCosine",
        "BSpline",
        "BagOfWords",
        "Bilinear",
        "ChiSquared",
        "ConditionalExpectation",
        "Constant",
        "Cosine",
        "Delta",
        "Epanechnikov",
        "Fisher",
        "FromFeatures",
        "Gaussian",
        "Hamming",
        "Intersection",
        "Jittered",
        "Kernel",
        "Laplacian",
        "Linear",
        "LocalAlignment",
        "Matern",
        "Mismatch",
        "NegativeSquaredDistance",
        "Periodic",
        "Polynomial",
        "Precomputed",
        "RandomWalk",
        "RationalQuadratic",
        "RotationInvariant",
        "ShortestPath",
        "Sigmoid",
        "Similarity",
        "Spectrum",
        "SquaredDistance",
        "Subsequence",
        "TangentDistance",
        "Tanimoto",
        "Tricube",
        "Uniform",
        "WeightedDegree",
        "WeisfeilerLehman",
        "Wendland",
        "parse",
    ],
    "mercer.gram": ["Gram", "distance_to_mean"],
    "mercer.proof": [
        "Counterexample",
        "Proof",
        "Undecided",
        "fourier_check",
        "prove",
        "repair",
    ],
    "mercer.expansion": ["KernelExpansion"],
    "mercer.learners": [
        "DeformableTemplateClassifier",
        "DeformableTemplateClassifier",
        "KernelCentroidClassifier",
        "KernelLogisticRegression",
        "KernelNeighborsClassifier",
        "KernelNeighborsRegressor",
        "KernelOneClass",
        "KernelPerceptron",
        "KernelRidge",
        "KernelRidgeClassifier",
        "KernelSVC",
        "KernelSVR",
        "LocalLinearRegressor",
        "NadarayaWatsonClassifier",
        "NadarayaWatsonRegressor",
        "Perceptron",
    ],
    "mercer.selection": ["compare"],
    "mercer.store": ["load", "save"],
}
_MODULES = [
    "data",
    "formula",
    "gram",
    "kernels",
    "learners",
    "maps",
    "onnx",
    "plot",
    "proof",
    "report",
    "selection",
    "solvers",
    "store",
    "testing",
    "theory",
]
_HOME = {name: module for module, names in _WHERE.items() for name in names}

__all__ = sorted([*_HOME, *_MODULES, "__version__"])
__getattr__ = by_name(__name__, _HOME, _MODULES)


def __dir__() -> list[str]:
    return __all__
