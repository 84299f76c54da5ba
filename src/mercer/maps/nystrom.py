"""Features of any kernel from a sample, and Mercer's expansion k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z) on it.

With k_x = (k(x, x₁), …, k(x, xₘ)) and K the kernel matrix of the sample, the features are k_x A for
some A with AAᵀ = K⁻¹: any A gives the same inner products. Cholesky's is found in a tenth of the
time of the eigenvectors', leaves out the examples that add nothing, and is triangular, so that
products with it take fewer operations. Eigenvectors are computed when they are asked for, and
where K has negative eigenvalues, which only they can leave out.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._bases import ClassNamePrefixFeaturesOutMixin
from mercer._config import check_memory
from mercer._linalg import independent, inverse_lower
from mercer._machine.cholesky import multiply_upper
from mercer._machine.threads import blas_for, threads_for
from mercer._notices import KernelWarning, warn
from mercer._parameters import Count, Maybe, random_from
from mercer._tiles import Scratch, Tiling
from mercer.gram import HOST, held, make_gram, solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import KernelMap, dtype_of, n_rows
from mercer.maps.centers import CenterChoice, choose_centers, given_index, uniform_centers
from mercer.tuning import PANEL_ROWS


@estimator
class NystromMap(ClassNamePrefixFeaturesOutMixin, KernelMap):
    """φ(x) = (k(x, x₁), …, k(x, xₘ)) A with AAᵀ = K⁻¹, K the kernel matrix of a sample x₁, …, xₘ.

    φ(x)·φ(z) = k(x, z) wherever x or z is in the sample, so with all points in it the kernel matrix
    comes back exactly, whatever its rank; elsewhere it is the projection on the sample's span. The
    columns of φ are an orthonormal basis of that span, by Cholesky's method; examples that add
    nothing to it, up to rounding, have none. Mercer's own basis has φᵢ(x) = Σⱼ uᵢⱼ k(xⱼ, x) / λᵢ
    where K u = λ u: the eigenvectors, continued to all x, take the place of his eigenfunctions.
    `eigenfunctions` gives these.

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k. With "precomputed" the rows given are k(x, all training points).
    n_components : int or None, default 100
        m, the size of the sample (all points, if there are not more). None takes all points.
    centers : {"uniform", "kmeans++", "leverage", "greedy"}, indices or examples
        Who chooses the sample. "uniform": any points alike. "kmeans++": points far from each other
        in feature space. "leverage": points that have directions of their own, by approximate ridge
        leverage scores. "greedy": always the point that is represented worst, by pivoted Cholesky,
        which needs memory for N×m numbers and knows its error. Or the sample itself, as indices of
        examples or as examples of any origin; `n_components` does not count then.
    random_state : int, RandomState or None
        Draws the sample. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    normalization_ : ndarray of shape (m, n_out)
        A; zero in the rows of examples that add nothing.
    eigenvalues_ : ndarray of shape (n_out,)
        λ, the non-zero eigenvalues of the sample's kernel matrix, largest first. λ/m estimate the
        eigenvalues of the integral operator of k under the distribution of the data.
    eigenvectors_ : ndarray of shape (m, n_out)
        u, as columns.
    component_indices_ : ndarray of shape (m,) or None
        The rows of X that are the sample; None where it is not from X.
    error_ : float
        Of "greedy": Σᵢ (k(xᵢ, xᵢ) − ‖φ(xᵢ)‖²) over all points, which bounds the norm of the
        difference between K and its approximation; NaN otherwise.
    components_ : array
        The sample itself (None with "precomputed").
    kernel_ : Kernel
        k, with a string parsed and a function wrapped.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import NystromMap
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> phi = NystromMap("gaussian(1)", n_components=None).fit(X)
    >>> phi.eigenvalues_.round(4)
    array([1.9281, 0.8647, 0.2072])
    >>> F = phi.transform(X)
    >>> (F @ F.T).round(4)
    array([[1.    , 0.6065, 0.1353],
           [0.6065, 1.    , 0.6065],
           [0.1353, 0.6065, 1.    ]])
    """

    #: Examples of the sample that add something to its span, if not all.
    _kept: NDArray[np.intp] | None = field(default=None, init=False)
    eigenvalues_: NDArray[np.float64] = field(init=False)
    eigenvectors_: NDArray[np.float64] = field(init=False)

    kernel: Any = DEFAULT
    n_components: int | None = parameter(Maybe(Count()), default=100)
    _: KW_ONLY
    centers: Any = parameter(CenterChoice(), default="uniform")
    random_state: Any = None

    def _fit(self, X: Any) -> None:
        n = n_rows(X)
        if self._precomputed and X.shape[1] != n:
            raise ValueError(f"a precomputed kernel matrix must be square, not {X.shape}")
        index, points = self._choose(X, n)
        self.component_indices_, self.components_ = index, None
        self._dtype = dtype_of(X)
        if self._precomputed:
            K = X[index][:, index]
            K = K.toarray() if hasattr(K, "toarray") else K
        else:
            self.components_ = _select(X, index) if points is None else points
            # In double precision, so that eigenvalues which are 0 do not come out as noise.
            K = self.kernel_(_in_double(self.components_))
        self._factorize(np.asarray(K, dtype=np.float64))
        if not self._precomputed:
            self._compared  # noqa: B018 - computed once and kept: `transform` changes nothing

    def _choose(self, X: Any, n: int) -> tuple[Any, Any]:
        """The sample: indices of rows of X, or None and the points that were given."""
        self.error_: float = math.nan
        if isinstance(self.centers, str):
            m = n if self.n_components is None else min(n, int(self.n_components))
            _check_sample(m)
            random = random_from(self.random_state)
            if self.centers == "uniform":
                return uniform_centers(n, m, random), None
            gram = solver_gram(self.kernel_, X)
            centers = choose_centers(gram, self.centers, m, random)
            self.error_ = centers.error
            return centers.index, None
        _check_sample(n_rows(self.centers))
        index = given_index(self.centers, n)
        if index is not None:
            return index, None
        if self._precomputed:
            raise ValueError(
                "with a precomputed matrix, centers are indices of its rows: k between other "
                "points and these is not in it"
            )
        return None, self._rows(self.centers, reset=False)

    def _factorize(self, K: NDArray[np.float64]) -> None:
        """K = FFᵀ; F in the rows that add something is triangular, and its inverse is A."""
        for name in ("eigenvalues_", "eigenvectors_", "_factor", "_rotation", "_compared"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self._kept, K = None, (K + K.T) / 2
        with blas_for(10.0 * len(K) ** 3):
            rounding = self._rounding(len(K)) * max(0.0, float(K.diagonal().max()))
            kept, F = independent(K, rounding)
            if not len(kept) or not _rest(K, F, kept) <= 2 * rounding:
                self._decompose(K)
                return
            if np.array_equal(kept, np.arange(len(K))):
                self.normalization_ = np.ascontiguousarray(inverse_lower(F).T)
            else:
                self._kept, self.normalization_ = kept, np.zeros_like(F)
                self.normalization_[kept] = inverse_lower(F[kept]).T
        self._factor, self._n_features_out = F, len(kept)

    def _rounding(self, m: int) -> float:
        """The share of m×m numbers that is rounding: A multiplies that of k(x, xⱼ), in the
        precision of the data, too."""
        return float(max(m * np.finfo(np.float64).eps, np.finfo(self._dtype).eps))

    def _decompose(self, K: NDArray[np.float64]) -> None:
        """The positive part of a K that has negative eigenvalues."""
        values, vectors = np.linalg.eigh(K)
        values, vectors = values[::-1], vectors[:, ::-1]
        zero = self._rounding(len(K)) * np.abs(values).max()
        if values[-1] < -zero:
            warn(
                f"{self.kernel_!r} is not positive semi-definite on the sample (an eigenvalue is "
                f"{values[-1]:.3g}, the largest {values[0]:.3g}): the negative part is left out",
                KernelWarning,
            )
        used = values > zero
        if not used.any():
            raise ValueError(f"{self.kernel_!r} has no positive eigenvalue on the sample")
        self.eigenvalues_ = values[used]
        self.eigenvectors_ = np.ascontiguousarray(vectors[:, used])
        self.normalization_ = self.eigenvectors_ / np.sqrt(self.eigenvalues_)
        self._n_features_out = int(used.sum())

    def __getattr__(self, name: str) -> Any:
        fields = vars(self)
        if name in ("eigenvalues_", "eigenvectors_") and "_factor" in fields:
            # F = U S Vᵀ, so that K = U S² Uᵀ.
            self.eigenvectors_, roots, self._rotation = np.linalg.svd(self._factor, False)
            self.eigenvalues_ = np.square(roots)
        elif name == "normalization_" and "eigenvectors_" in fields:
            # In files of earlier versions eigenvectors were all that there was.
            self.normalization_ = self.eigenvectors_ / np.sqrt(self.eigenvalues_)
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _transform(self, X: Any) -> NDArray[Any]:
        out = dtype_of(X)
        n, width = n_rows(X), self._n_features_out
        check_memory(
            n, width, n * width * out.itemsize, "Take fewer rows or a smaller n_components."
        )
        # The precision of fit decided what is rounding; a Gram takes its operands' wider type.
        A = self.normalization_.astype(self._dtype, copy=False)
        A = A if self._kept is None else A[self._kept]
        if self._precomputed:
            index = self.component_indices_
            return np.asarray(X[:, index if self._kept is None else index[self._kept]] @ A, out)
        gram = make_gram(self.kernel_, X, self._compared)
        if gram.engine != HOST.name or "_factor" not in vars(self):
            return np.asarray(gram @ A, dtype=out)
        K, T = np.empty(gram.shape, dtype=gram.dtype), np.ascontiguousarray(A, dtype=gram.dtype)

        def body(rows: slice, columns: slice, tile: NDArray[Any], scratch: Scratch) -> None:
            multiply_upper(tile, T)

        # Whole rows, which are multiplied in place while a cache holds them.
        threads = threads_for(gram.cost.flops + float(K.size) * len(T))
        tiling = Tiling(gram.shape, (PANEL_ROWS, len(T)), threads)
        gram.sweep(body, out=K, tiling=tiling, what="features")
        return K.astype(out, copy=False)

    @cached_property
    def _compared(self) -> Any:
        """The examples of the sample that add something, which rows are compared with."""
        points = self.components_ if self._kept is None else _select(self.components_, self._kept)
        return held(self.kernel_, points)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: state[name] for name in state if name != "_compared"}

    def eigenfunctions(self, X: Any) -> NDArray[Any]:
        """φᵢ(x): k(x, z) ≈ Σ λᵢ φᵢ(x) φᵢ(z). On the sample they are the vectors u."""
        features = self.transform(X)
        roots = np.sqrt(self.eigenvalues_).astype(features.dtype)
        if "_factor" in vars(self):
            features = features @ self._rotation.T.astype(features.dtype)
        return np.asarray(features / roots)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


def _check_sample(m: int) -> None:
    check_memory(m, m, 3 * m * m * 8, "Take a smaller n_components.")


def _rest(K: NDArray[Any], F: NDArray[Any], kept: NDArray[Any]) -> float:
    """The largest entry of K − FFᵀ, which is 0 in the rows and columns that are kept."""
    if len(kept) == len(K):
        return 0.0
    rest = np.delete(np.arange(len(K)), kept)
    return float(np.abs(K[np.ix_(rest, rest)] - F[rest] @ F[rest].T).max())


def _select(X: Any, chosen: NDArray[Any]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def _in_double(X: Any) -> Any:
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
