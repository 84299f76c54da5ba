"""What a user may have meant by a name that is not there; every message asks here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Names that are looked through, and names that are listed where none is near.
MOST_SEARCHED, MOST_LISTED = 20_000, 20
#: How alike names must be, from 0 to 1: below this, a suggestion would only confuse.
SIMILAR = 0.6


def nearest(name: str, among: Iterable[object], cutoff: float = SIMILAR) -> str | None:
    """The name most like the one given; capitals and blanks at the ends do not count.

    >>> nearest("LABEL", ["age", " Label"]), nearest("rigde", ["ridge", "svm"]), nearest("q", ["a"])
    (' Label', 'ridge', None)
    """
    names = [str(n) for n in among]
    wanted = name.strip().lower()
    same = [n for n in names if n.strip().lower() == wanted]
    near = same or difflib.get_close_matches(name, names[:MOST_SEARCHED], 1, cutoff=cutoff)
    return near[0] if near else None


def suggest(name: str, among: Iterable[object], cutoff: float = SIMILAR) -> str:
    """A sentence to follow "there is no …": the nearest name, or those there are.

    >>> suggest("rigde", ["ridge", "svm"]), suggest("q", ["ridge", "svm"])
    (" Did you mean 'ridge'?", ' There are: ridge, svm.')
    """
    names = [str(n) for n in among]
    near = nearest(name, names, cutoff)
    if near is not None:
        return f" Did you mean {near!r}?"
    more = ", …" if len(names) > MOST_LISTED else ""
    return f" There are: {', '.join(names[:MOST_LISTED])}{more}." if names else ""


#: What names of other libraries, and of the field, are called here.
CALLED_HERE = {
    "SVC": "KernelSVC",
    "SVR": "KernelSVR",
    "SVM": "KernelSVC",
    "KernelSVM": "KernelSVC",
    "NuSVC": "KernelSVC",
    "LinearSVC": "KernelSVC",
    "OneClassSVM": "KernelOneClass",
    "Ridge": "KernelRidge",
    "RidgeClassifier": "KernelRidgeClassifier",
    "LogisticRegression": "KernelLogisticRegression",
    "KernelLogistic": "KernelLogisticRegression",
    "KNeighborsClassifier": "KernelNeighborsClassifier",
    "KNeighborsRegressor": "KernelNeighborsRegressor",
    "PCA": "KernelPCA",
    "KMeans": "KernelKMeans",
    "LinearDiscriminantAnalysis": "KernelFisherDiscriminant",
    "KernelLDA": "KernelFisherDiscriminant",
    "NearestCentroid": "KernelCentroidClassifier",
    "NadarayaWatson": "NadarayaWatsonRegressor",
    "LocallyWeightedRegression": "LocalLinearRegressor",
    "RBF": "Gaussian",
    "rbf": "Gaussian",
    "RBFKernel": "Gaussian",
    "SquaredExponential": "Gaussian",
    "Poly": "Polynomial",
    "DotProduct": "Linear",
    "ExpSineSquared": "Periodic",
    "ChiSquare": "ChiSquared",
    "Exponential": "Laplacian",
    "Nystroem": "NystromMap",
    "RBFSampler": "RandomFourierMap",
    "PolynomialCountSketch": "TensorSketchMap",
    "PolynomialFeatures": "PolynomialMap",
}

#: What arguments of other libraries, and symbols of the field, are called here, likeliest first.
ARGUMENTS_HERE = {
    "lam": ("alpha",),
    "lambda_": ("alpha",),
    "reg": ("alpha",),
    "ridge": ("alpha",),
    "penalty": ("alpha", "C"),
    "C": ("alpha",),
    "alpha": ("C",),
    "max_iter": ("epochs",),
    "n_iter": ("max_iter", "epochs"),
    "epochs": ("max_iter",),
    "k": ("n_neighbors",),
    "h": ("bandwidth",),
    "bias": ("fit_intercept",),
    "intercept": ("fit_intercept",),
    "eps": ("epsilon", "tol"),
    "seed": ("random_state",),
    "metric": ("kernel",),
    "rank": ("n_components",),
}


def called_here(name: str, module: str, names: Iterable[str]) -> str:
    """The end of "module … has no attribute …": what the name is called there, or its nearest.

    >>> called_here("RBF", "mercer", ["Gaussian"]), called_here("Gausian", "mercer", ["Gaussian"])
    ('; RBF is called mercer.Gaussian', ". Did you mean 'Gaussian'?")
    """
    if name.startswith("_"):
        return ""
    names = list(names)
    called = CALLED_HERE.get(name, name)
    if called in names:
        return f"; {name} is called {module}.{called}"
    near = nearest(name, names)
    return f". Did you mean {near!r}?" if near else ""
