"""Mercer's expansion k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z), with the eigenfunctions found on a sample."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._config import check_memory
from mercer._machine.jit import is_imported
from mercer._machine.threads import blas_for
from mercer._parameters import Anything, Check, Count, Maybe
from mercer.gram.dispatch import solver_gram
from mercer.gram.plan.planner import REPEATS
from mercer.kernels import DEFAULT
from mercer.maps._base import KernelMap, dtype_of, n_rows
from mercer.maps.centers import CenterChoice, choose_centers, given_index, uniform_centers


class NystromMap(ClassNamePrefixFeaturesOutMixin, KernelMap):
    """φ(x) = (√λᵢ φᵢ(x))ᵢ, φᵢ(x) = Σⱼ uᵢⱼ k(xⱼ, x) / λᵢ, where K u = λ u on a sample x₁, …, xₘ.

    The eigenvectors u of the sample's kernel matrix, continued to all x, take the place of Mercer's
    eigenfunctions. φ(x)·φ(z) = k(x, z) wherever x or z is in the sample, so with all points in it
    the kernel matrix comes back exactly, whatever its rank; elsewhere it is the projection on the
    sample's span. Directions in which K is zero up to rounding are left out.

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
        which needs room for N×m numbers and knows its error. Or the sample itself, as indices of
        examples or as examples of any origin; `n_components` does not count then.
    random_state : int, RandomState or None
        Draws the sample.

    Attributes
    ----------
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

    centers: Any = "uniform"  # maps from files of earlier versions have none of their own
    _parameters: ClassVar[dict[str, Check]] = {
        "kernel": Anything(),
        "n_components": Maybe(Count()),
        "centers": CenterChoice(),
        "random_state": Anything(),
    }

    def __init__(
        self,
        kernel: Any = DEFAULT,
        n_components: int | None = 100,
        *,
        centers: Any = "uniform",
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.centers = centers
        self.random_state = random_state

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
        self._decompose(np.asarray(K, dtype=np.float64))

    def _choose(self, X: Any, n: int) -> tuple[Any, Any]:
        """The sample: indices of rows of X, or None and the points that were given."""
        self.error_ = math.nan
        if isinstance(self.centers, str):
            m = n if self.n_components is None else min(n, int(self.n_components))
            _check_sample(m)
            random = check_random_state(self.random_state)
            if self.centers == "uniform":
                return uniform_centers(n, m, random), None
            gram = solver_gram(self.kernel_, X)
            found = choose_centers(gram, self.centers, m, random)
            self.error_ = found.error
            return found.index, None
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

    def _decompose(self, K: NDArray[np.float64]) -> None:
        with blas_for(10.0 * len(K) ** 3):
            values, vectors = np.linalg.eigh((K + K.T) / 2)
        values, vectors = values[::-1], vectors[:, ::-1]
        # 1/√λ multiplies the rounding of k(x, xⱼ), in the precision of the data, too.
        eps = max(len(K) * np.finfo(np.float64).eps, np.finfo(self._dtype).eps)
        zero = eps * np.abs(values).max()
        if values[-1] < -zero:
            warnings.warn(
                f"{self.kernel_!r} is not positive semi-definite on the sample (an eigenvalue is "
                f"{values[-1]:.3g}, the largest {values[0]:.3g}): the negative part is left out",
                UserWarning,
                stacklevel=4,
            )
        kept = values > zero
        if not kept.any():
            raise ValueError(f"{self.kernel_!r} has no positive eigenvalue on the sample")
        self.eigenvalues_ = values[kept]
        self.eigenvectors_ = np.ascontiguousarray(vectors[:, kept])
        self._n_features_out = int(kept.sum())

    def _transform(self, X: Any) -> NDArray[Any]:
        return self._project(X, np.sqrt(self.eigenvalues_))

    def eigenfunctions(self, X: Any) -> NDArray[Any]:
        """φᵢ(x), without √λᵢ: k(x, z) ≈ Σ λᵢ φᵢ(x) φᵢ(z). On the sample they are the vectors u."""
        check_is_fitted(self)
        return self._project(self._rows(X, reset=False), self.eigenvalues_)

    def _project(self, X: Any, divisor: NDArray[np.float64]) -> NDArray[Any]:
        out = dtype_of(X)
        n, width = n_rows(X), self._n_features_out
        check_memory(
            n, width, n * width * out.itemsize, "Take fewer rows or a smaller n_components."
        )
        # The precision of fit decided what is rounding; a Gram takes the wider of its two sides.
        coefficients = (self.eigenvectors_ / divisor).astype(self._dtype)
        if self._precomputed:
            product = X[:, self.component_indices_] @ coefficients
        else:
            repeats = REPEATS if is_imported() else 1
            product = self.kernel_.gram(X, self.components_).times(coefficients, repeats)
        return np.asarray(product, dtype=out)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


def _check_sample(m: int) -> None:
    check_memory(m, m, 3 * m * m * 8, "Take a smaller n_components.")


def _select(X: Any, chosen: NDArray[Any]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def _in_double(X: Any) -> Any:
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
