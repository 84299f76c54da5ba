"""The polynomial kernel in as many dimensions as you like: tensor sketch."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse
from sklearn.utils import gen_batches

from mercer._bases import ClassNamePrefixFeaturesOutMixin
from mercer._config import check_memory
from mercer._parameters import Count, NonNegative, random_from
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap
from mercer.tuning import CACHE_ELEMENTS


@estimator
class TensorSketchMap(ClassNamePrefixFeaturesOutMixin, FeatureMap):
    """E[φ(x)·φ(z)] = (x·z + c)^d, φ(x) = F⁻¹(F(C₁x̃) ∘ … ∘ F(C_d x̃)), x̃ = (x, √c).

    C₁, …, C_d are independent count sketches: each input goes to one random component of n with a
    random sign. The circular convolution of the d sketches is a count sketch of the d-fold tensor
    product x̃ ⊗ … ⊗ x̃, whose inner products are the polynomial kernel; F is the Fourier transform
    that makes a convolution a product. The variance falls like 1/n_components. A row costs
    O(d (nnz + n log n)) where the exact map costs C(m + d, d).

    Parameters
    ----------
    degree : int, default 2
        d.
    offset : float, default 0.0
        c ≥ 0.
    n_components : int, default 100
        n, the width of φ.
    random_state : int, RandomState or None
        Draws the sketches. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    places_, signs_ : ndarray of shape (degree, n_features + 1)
        Where each input goes, and with which sign (last column: √c).

    References
    ----------
    Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import TensorSketchMap
    >>> X = np.eye(3)
    >>> phi = TensorSketchMap(degree=2, offset=1.0, n_components=4096, random_state=0)
    >>> F = phi.fit_transform(X)
    >>> bool(np.abs(F @ F.T - (X @ X.T + 1) ** 2).max() < 0.2)
    True
    """

    _takes_sparse = True

    degree: int = parameter(Count(), default=2)
    offset: float = parameter(NonNegative("with a negative one it is no kernel"), default=0.0)
    n_components: int = parameter(Count(), default=100)
    _: KW_ONLY
    random_state: Any = None

    def _fit(self, X: Any) -> None:
        width = int(self.n_components)
        random = random_from(self.random_state)
        shape = (self.degree, X.shape[1] + 1)
        self.places_: np.ndarray = random.randint(width, size=shape)
        self.signs_: np.ndarray = random.choice(np.array([-1.0, 1.0]), size=shape)
        self._root = np.sqrt(float(self.offset))
        self._n_features_out = width

    def _transform(self, X: Any) -> NDArray[Any]:
        n, width = X.shape[0], self._n_features_out
        check_memory(
            n, width, n * width * X.dtype.itemsize, "Take fewer rows or a smaller n_components."
        )
        sketches = [self._sketch(*s, X.dtype) for s in zip(self.places_, self.signs_, strict=True)]
        out = np.empty((n, width), dtype=X.dtype)
        for rows in gen_batches(n, max(1, CACHE_ELEMENTS // width)):
            product: Any = 1.0
            for columns, constant in sketches:
                sketch = X[rows] @ columns
                dense = sketch.toarray() if sparse.issparse(sketch) else np.asarray(sketch)
                product = product * fft.rfft(dense + constant, axis=1)
            out[rows] = fft.irfft(product, n=width, axis=1)
        return out

    def _sketch(
        self, columns: NDArray[Any], signs: NDArray[Any], dtype: np.dtype[Any]
    ) -> tuple[Any, NDArray[Any]]:
        """One count sketch: a matrix with one ±1 per row, and where the column √c goes."""
        *_, last = columns
        m = len(columns) - 1
        columns = sparse.csr_array(
            (signs[:-1].astype(dtype), columns[:-1], np.arange(m + 1)),
            shape=(m, self._n_features_out),
        )
        constant = np.zeros(self._n_features_out, dtype=dtype)
        constant[last] = signs[-1] * self._root
        return columns, constant
