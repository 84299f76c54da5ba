"""Random Fourier features: shift-invariant kernels as averages of cosines."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from mercer._bases import ClassNamePrefixFeaturesOutMixin
from mercer._config import check_memory
from mercer._parameters import Count, Flag, check_parameters, random_from
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import KernelParams, estimator, parameter
from mercer.maps._base import FeatureMap
from mercer.maps.frequencies import Draw, frequencies


@estimator
class RandomFourierMap(KernelParams, ClassNamePrefixFeaturesOutMixin, FeatureMap):
    """φ(x) = √(2 k(0)/n) · (cos w₁·x, …, sin w₁·x, …),  E[φ(x)·φ(z)] = k(x − z).

    By Bochner's theorem a continuous kernel of x − z is the Fourier transform of a non-negative
    spectrum: k(δ)/k(0) = E[cos w·δ] with w drawn from it. n/2 draws give n features, a cosine and a
    sine each, and an error that falls like 1/√n. (If n is odd, the last feature is one cosine
    with a random phase.)

    Spectra: normal for `Gaussian`, multivariate t for `Matern` and `Laplacian(norm=2)`, Cauchy in
    each column for `Laplacian(norm=1)`, a gamma mixture for `RationalQuadratic`, lines for
    `Periodic`; sums, products, powers and positive multiples of these, on all columns or some.
    Others are refused by name.

    Parameters
    ----------
    kernel : Kernel or expression
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    n_components : int, default 100
        n, the width of φ.
    orthogonal : bool, default False
        Draw directions at right angles to each other: the same mean, a smaller error. For kernels
        of the Euclidean distance.
    random_state : int, RandomState or None
        Draws the frequencies. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    frequencies_ : ndarray of shape (⌈n/2⌉, n_features)
        w, as rows.
    kernel_ : Kernel
        k, with a string parsed.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, NIPS 2007;
    Yu and others, Orthogonal random features, NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import DEFAULT, Gaussian
    >>> from mercer.maps import RandomFourierMap
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> F = RandomFourierMap(Gaussian(1.0), n_components=20000, random_state=0).fit_transform(X)
    >>> bool(abs(F[0] @ F[1] - np.exp(-0.5)) < 0.02)
    True
    """

    _takes_sparse = True

    kernel: Any = DEFAULT
    n_components: int = parameter(Count(), default=100)
    _: KW_ONLY
    orthogonal: bool = parameter(Flag(), default=False)
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the width of X and draw the frequencies. `y` is ignored."""
        check_parameters(self, self._parameters)
        rows = self._rows(X, reset=True)
        # A kernel on columns by name finds them in a frame only.
        self.kernel_ = self._given_kernel().fitted(X if hasattr(X, "iloc") else rows)
        self._fit(rows)
        return self

    def _fit(self, X: Any) -> None:
        n = int(self.n_components)
        random = random_from(self.random_state)
        names = tuple(getattr(self, "feature_names_in_", ()))
        draw = Draw(random, -(-n // 2), X.shape[1], bool(self.orthogonal), names)
        mass, self.frequencies_ = frequencies(self.kernel_, draw)
        self._phase = random.uniform(0.0, 2.0 * np.pi)
        self._scale = np.sqrt(2.0 * mass / n)
        self._n_features_out = n

    def _transform(self, X: Any) -> NDArray[Any]:
        n, width, dtype = X.shape[0], self._n_features_out, X.dtype
        n_bytes = n * (width + len(self.frequencies_)) * dtype.itemsize
        check_memory(n, width, n_bytes, "Take fewer rows or a smaller n_components.")
        angles = safe_sparse_dot(X, self.frequencies_.T.astype(dtype), dense_output=True)
        half = width // 2
        out = np.empty((n, width), dtype=dtype)
        np.cos(angles[:, :half], out=out[:, :half])
        np.sin(angles[:, :half], out=out[:, half : 2 * half])
        if width % 2:
            np.cos(angles[:, -1] + dtype.type(self._phase), out=out[:, -1])
        out *= dtype.type(self._scale)
        return out
