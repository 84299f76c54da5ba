"""The feature map that a kernel itself knows, as a transformer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._config import check_memory
from mercer.kernels.estimators import estimator
from mercer.maps._base import KernelMap, dtype_of, n_rows, names_in


@estimator
class ExplicitMap(KernelMap):
    """φ(x)·φ(z) = k(x, z), exactly, where the feature space of k has finitely many dimensions.

    Sums, products, scalings and so on of such kernels have such maps too: φ of a sum is both maps
    side by side, φ of a product all products of two features.

    Parameters
    ----------
    kernel : Kernel or expression, default "linear()"
        k, with `kernel.n_dims(n_features)` finite.

    Attributes
    ----------
    kernel_ : Kernel
        k, with an expression parsed.
    n_output_features_ : int
        The length of φ(x).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import ExplicitMap
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> F = ExplicitMap("linear() + linear()**2").fit_transform(X)
    >>> (F @ F.T).round(9)
    array([[ 30., 132.],
           [132., 650.]])
    """

    kernel: Any = "linear()"

    def _fit(self, X: Any) -> None:
        width = self.kernel_.n_dims(X.shape[1] if hasattr(X, "shape") else 1)
        if math.isinf(width):
            raise ValueError(
                f"the feature space of {self.kernel_!r} has infinitely many dimensions; "
                "NystromMap approximates any kernel, RandomFourierMap one of x − z, and "
                "TaylorGaussianMap the Gaussian"
            )
        self.n_output_features_: int = int(width)
        self._fits(1, X)

    def _fits(self, n: int, X: Any) -> None:
        n_bytes = n * self.n_output_features_ * dtype_of(X).itemsize
        check_memory(n, self.n_output_features_, n_bytes, "Use the kernel itself, or NystromMap.")

    def _transform(self, X: Any) -> NDArray[Any]:
        self._fits(n_rows(X), X)
        return np.asarray(self.kernel_.features(X), dtype=dtype_of(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The kernel's names for its features: monomials where they are, else `phi0`, `phi1`, …"""
        names = list(names_in(self, input_features))
        return np.asarray(self.kernel_.feature_names(names), dtype=object)
