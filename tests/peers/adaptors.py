"""Our classes under the names and signatures of their counterparts, as thin as can be."""

import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.neighbors._base import KNeighborsMixin
from sklearn.utils.validation import _num_samples

from mercer._parameters import Anything
from mercer.kernels import Linear, SquaredDistance, as_kernel
from mercer.learners import KernelDensity as Density
from mercer.learners import (
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelOneClass,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    LocalLinearRegressor,
    NadarayaWatsonRegressor,
)
from mercer.learners import KernelPCA as Components
from mercer.maps import NystromMap, RandomFourierMap, TensorSketchMap

#: What of ours a test has used; the plugin clears it before each test.
USED: set[str] = set()
#: scikit-learn's kernels, and the parameters that each has; it ignores the others.
WORDS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "chi2": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
}


def store(model, arguments):
    """What a constructor does: keep its arguments."""
    known = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
    vars(model).update(known)


class ScikitLearnKernel:
    """A mixin: the kernel as scikit-learn's parameters describe it."""

    def fit(self, X, *targets, **options):
        USED.add(type(self).__name__)
        shape = np.shape(X)
        self._columns = shape[1] if len(shape) == 2 else 1
        return super().fit(X, *targets, **options)

    def _given_kernel(self):
        if self.kernel == "additive_chi2":
            return as_kernel(additive_chi2_kernel)  # a function of two matrices
        given = {name: getattr(self, name) for name in WORDS.get(str(self.kernel), ())}
        if given.get("gamma", 0) in (None, "auto"):
            given["gamma"] = 1.0 if self.kernel == "chi2" else 1.0 / self._columns
        return as_kernel("chi_squared" if self.kernel == "chi2" else self.kernel, **given)

    @property
    def _gamma(self):
        return 0.5 / self.kernel_.sigma**2


def _free(parameters):
    """The kernel's parameters are checked where the kernel is made."""
    return parameters | {name: Anything() for name in ("gamma", "degree", "coef0")}


class SVC(ScikitLearnKernel, KernelSVC):
    _parameters = _free(KernelSVC._parameters)
    nu, warm_start = None, False

    def __init__(
        self, *, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        probability=False, tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1,
        decision_function_shape="ovr", break_ties=False, random_state=None,
    ):  # fmt: skip
        store(self, locals())


class NuSVC(ScikitLearnKernel, KernelSVC):
    _parameters = _free(KernelSVC._parameters)
    C, warm_start = 1.0, False

    def __init__(
        self, *, nu=0.5, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        probability=False, tol=1e-3, cache_size=200, class_weight=None, verbose=False, max_iter=-1,
        decision_function_shape="ovr", break_ties=False, random_state=None,
    ):  # fmt: skip
        store(self, locals())


class SVR(ScikitLearnKernel, KernelSVR):
    _parameters = _free(KernelSVR._parameters)
    nu, warm_start = None, False

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1,
        shrinking=True, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        store(self, locals())


class NuSVR(ScikitLearnKernel, KernelSVR):
    _parameters = _free(KernelSVR._parameters)
    epsilon, warm_start = 0.1, False

    def __init__(
        self, *, nu=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        tol=1e-3, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        store(self, locals())


class OneClassSVM(ScikitLearnKernel, KernelOneClass):
    _parameters = _free(KernelOneClass._parameters)

    def __init__(
        self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, nu=0.5,
        shrinking=True, cache_size=200, verbose=False, max_iter=-1,
    ):  # fmt: skip
        store(self, locals())


class Ridge(ScikitLearnKernel, KernelRidge):
    """KernelRidge, whose other parameters have their defaults."""

    _parameters = _free(KernelRidge._parameters)
    alphas, alpha_per_target, fit_intercept, solver = None, False, False, "auto"
    n_centers, preconditioner, tol, max_iter, random_state = None, "nystrom", 1e-6, 1000, None

    def __init__(
        self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None
    ):
        store(self, locals())


class EuclideanNeighbors:
    """A mixin: the linear kernel, whose distances are Euclidean, or a given matrix of distances."""

    class_weight, outlier_label, radius, n_neighbors = None, None, None, 5

    @property
    def kernel(self):
        return "precomputed" if self.metric == "precomputed" else "linear"

    def _given_kernel(self):
        USED.add(type(self).__name__)
        plain = str(getattr(self.metric, "__class__", "")).count("EuclideanDistance")
        plain = plain or self.metric in ("euclidean", "l2", "precomputed")
        if not plain and (self.metric, self.p, self.metric_params) != ("minkowski", 2, None):
            pytest.skip(f"neighbors are those of a kernel, and no kernel has {self.metric!r}")
        return super()._given_kernel()

    def _examples(self, X, *, reset):
        if self.metric == "precomputed":
            # k(x, x) − 2 k(x, z) + k(z, z) is then the square of the distance.
            X = -0.5 * np.asarray(X) ** 2
        return super()._examples(X, reset=reset)

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """In the order of the training examples, as scikit-learn has them unless asked to sort."""
        apart, index = super().radius_neighbors(X, radius)
        if not sort_results:
            for i, found in enumerate(index):
                order = np.argsort(found)
                apart[i], index[i] = apart[i][order], found[order]
        elif not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        return (apart, index) if return_distance else index

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        graph = super().radius_neighbors_graph(X, radius, mode)
        return (
            sort_graph_by_row_values(graph, warn_when_not_sorted=False) if sort_results else graph
        )


class KNeighborsClassifier(EuclideanNeighbors, KernelNeighborsClassifier, KNeighborsMixin):
    def __init__(
        self, n_neighbors=5, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", metric_params=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())


class RadiusNeighborsClassifier(EuclideanNeighbors, KernelNeighborsClassifier):
    def __init__(
        self, radius=1.0, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", outlier_label=None, metric_params=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())


class KNeighborsRegressor(EuclideanNeighbors, KernelNeighborsRegressor, KNeighborsMixin):
    def __init__(
        self, n_neighbors=5, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", metric_params=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())


class RadiusNeighborsRegressor(EuclideanNeighbors, KernelNeighborsRegressor):
    def __init__(
        self, radius=1.0, *, weights="uniform", algorithm="auto", leaf_size=30, p=2,
        metric="minkowski", metric_params=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())


class NearestNeighbors(EuclideanNeighbors, KernelNeighborsRegressor, KNeighborsMixin):
    """The search alone: its targets are never asked for."""

    weights = "uniform"

    def __init__(
        self, *, n_neighbors=5, radius=1.0, algorithm="auto", leaf_size=30, metric="minkowski",
        p=2, metric_params=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())

    def fit(self, X, y=None):
        return super().fit(X, np.zeros(_num_samples(X)))


# --- structure -------------------------------------------------------------------------------


class KernelPCA(ScikitLearnKernel, Components):
    _parameters = _free(Components._parameters)
    center = True

    def __init__(
        self, n_components=None, *, kernel="linear", gamma=None, degree=3, coef0=1,
        kernel_params=None, alpha=1.0, fit_inverse_transform=False, eigen_solver="auto", tol=0,
        max_iter=None, iterated_power="auto", remove_zero_eig=False, random_state=None, copy_X=True,
        n_jobs=None,
    ):  # fmt: skip
        store(self, locals())

    solver = property(lambda self: "blocks" if self.eigen_solver == "arpack" else "auto")
    gamma_ = property(lambda self: self.gamma or 1.0 / self._columns)

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


#: scikit-learn's windows, as functions of ‖x − z‖/h.
DENSITIES = {
    "gaussian": "gaussian(1)",
    "tophat": "uniform()",
    "epanechnikov": "epanechnikov()",
    "exponential": "laplacian(1)",
}


class KernelDensity(Density):
    bandwidths, gamma, degree, coef0 = None, None, None, None

    def __init__(
        self, *, bandwidth=1.0, algorithm="auto", kernel="gaussian", metric="euclidean", atol=0,
        rtol=0, breadth_first=True, leaf_size=40, metric_params=None,
    ):  # fmt: skip
        store(self, locals())

    def fit(self, X, y=None, sample_weight=None):
        USED.add("KernelDensity")
        if self.kernel not in DENSITIES or self.metric != "euclidean":
            pytest.skip("not a window of Euclidean distances that is among the kernels")
        return super().fit(X, y, sample_weight)

    def _given_kernel(self):
        return as_kernel(DENSITIES[self.kernel])


# --- kernels as functions, and maps ----------------------------------------------------------


def kernel_function(name, word, **defaults):
    """A function of scikit-learn's kind that asks the kernel of this name."""

    def function(X, Y=None, *, dense_output=True, **given):
        USED.add(name)
        if given.keys() - defaults.keys():
            raise TypeError(f"{name} has no parameter {given.keys() - defaults.keys()}")
        numbers = defaults | given
        if numbers.get("gamma", 0) is None:
            numbers["gamma"] = 1.0 / np.shape(X)[1]
        return as_kernel(word, **numbers)(X, Y)

    function.__name__ = name
    return function


def euclidean_distances(X, Y=None, *, Y_norm_squared=None, squared=False, X_norm_squared=None):
    USED.add("euclidean_distances")
    return SquaredDistance()(X, Y) if squared else Linear().distance(X, Y)


FUNCTIONS = {
    "linear": kernel_function("linear_kernel", "linear"),
    "cosine": kernel_function("cosine_similarity", "cosine"),
    "chi2": kernel_function("chi2_kernel", "chi_squared", gamma=1.0),
    "rbf": kernel_function("rbf_kernel", "rbf", gamma=None),
    "laplacian": kernel_function("laplacian_kernel", "laplacian", gamma=None),
    "sigmoid": kernel_function("sigmoid_kernel", "sigmoid", gamma=None, coef0=1),
    "poly": kernel_function("polynomial_kernel", "poly", degree=3, gamma=None, coef0=1),
}
FUNCTIONS["polynomial"] = FUNCTIONS["poly"]


class Nystroem(ScikitLearnKernel, NystromMap):
    def __init__(
        self, kernel="rbf", *, gamma=None, coef0=None, degree=None, kernel_params=None,
        n_components=100, random_state=None, n_jobs=None,
    ):  # fmt: skip
        store(self, locals())


class RBFSampler(ScikitLearnKernel, RandomFourierMap):
    kernel, orthogonal = "rbf", False

    def __init__(self, *, gamma=1.0, n_components=100, random_state=None):
        store(self, locals())


class PolynomialCountSketch(TensorSketchMap):
    """γ x·z is the product of √γ x and √γ z."""

    def __init__(self, *, gamma=1.0, degree=2, coef0=0, n_components=100, random_state=None):
        store(self, locals())

    offset = property(lambda self: float(self.coef0))

    def _rows(self, X, *, reset):
        USED.add(type(self).__name__)
        return np.sqrt(self.gamma) * super()._rows(X, reset=reset)


# --- statsmodels -----------------------------------------------------------------------------


class KernelReg:
    """Local constant and local linear regression with a Gaussian and a bandwidth per column."""

    def __init__(
        self, endog, exog, var_type, reg_type="ll", bw="cv_ls", ckertype="gaussian", defaults=None,
        rng=None, **others,
    ):  # fmt: skip
        USED.add("KernelReg")
        chosen = isinstance(bw, str)
        if set(var_type) != {"c"} or ckertype != "gaussian" or (chosen and bw != "cv_ls"):
            pytest.skip("only Gaussians on continuous columns, chosen by least squares, are alike")
        if rng is None:
            warnings.warn("After 0.17 the peer, too, will be silent", FutureWarning, stacklevel=2)
        self.X = np.column_stack([np.ravel(column) for column in np.atleast_2d(exog)])
        self.y = np.ravel(endog)
        kind = LocalLinearRegressor if reg_type == "ll" else NadarayaWatsonRegressor
        model = kind("gaussian(1)", "auto" if chosen else bw, per_column=True)
        self.model = model.fit(self.X, self.y)
        self.bw = self.model.bandwidth_ if chosen else bw

    def fit(self):
        slopes = getattr(self.model, "gradient", np.zeros_like)(self.X)
        return self.model.predict(self.X), slopes

    def r_squared(self):
        return np.corrcoef(self.y, self.model.predict(self.X))[0, 1] ** 2


def named(module, *classes):
    return {f"{module}.{c.__name__}": c for c in classes}


REPLACED = {
    "svm": named("sklearn.svm", SVC, NuSVC, SVR, NuSVR, OneClassSVM),
    "kernel_ridge": {"sklearn.kernel_ridge.KernelRidge": Ridge},
    "neighbors": named(
        "sklearn.neighbors",
        KNeighborsClassifier,
        KNeighborsRegressor,
        NearestNeighbors,
        RadiusNeighborsClassifier,
        RadiusNeighborsRegressor,
    ),
    "pairwise": {
        **{f"sklearn.metrics.pairwise.{f.__name__}": f for f in FUNCTIONS.values()},
        "sklearn.metrics.pairwise.euclidean_distances": euclidean_distances,
        "sklearn.metrics.pairwise.PAIRWISE_KERNEL_FUNCTIONS": FUNCTIONS,
        "sklearn.metrics.pairwise.PAIRWISE_DISTANCE_FUNCTIONS": dict.fromkeys(
            ("euclidean", "l2"), euclidean_distances
        ),
    },
    "kernel_approximation": named(
        "sklearn.kernel_approximation", Nystroem, RBFSampler, PolynomialCountSketch
    ),
    "kernel_pca": named("sklearn.decomposition", KernelPCA),
    "kernel_density": named("sklearn.neighbors", KernelDensity),
    "kernel_regression": {"statsmodels.nonparametric.api.KernelReg": KernelReg},
}
