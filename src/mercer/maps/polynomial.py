"""Maps made of monomials: the polynomial kernel exactly, the Gaussian by its Taylor series."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from mercer._config import check_memory
from mercer._parameters import Count, NonNegative, Positive, Several
from mercer.formula.monomials import Monomials, power_coefficients
from mercer.formula.written import monomial, term, variables
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap, names_in


class _PowerSeriesMap(FeatureMap):
    """φ with φ(x)·φ(z) = f(x) f(z) Σₙ aₙ (x·z)ⁿ. A subclass gives the aₙ and the rows' scale."""

    _takes_sparse = True
    _instead = ""

    def _coefficients(self) -> list[float]:
        raise NotImplementedError

    def _scaled(self, X: Any) -> tuple[Any, NDArray[Any] | None]:
        """The rows the monomials are taken of, and f(x) for each of them."""
        return X, None

    def _fit(self, X: Any) -> None:
        monomials = Monomials(X.shape[1], self._coefficients())
        if not issparse(X):
            check_memory(1, monomials.n_out, monomials.n_bytes(1, X.dtype.itemsize), self._instead)
            monomials.weights  # noqa: B018  (computed once, here, and kept)
        self._monomials = monomials
        self.n_output_features_ = monomials.n_out

    def _transform(self, X: Any) -> Any:
        monomials = self._monomials
        n, width, size = X.shape[0], monomials.n_out, X.dtype.itemsize
        X, zeroth = self._scaled(X)
        if issparse(X):
            if width > np.iinfo(np.int64).max:
                raise ValueError(f"{width} features are more than a sparse matrix can number")
            check_memory(n, width, monomials.sparse_nnz(X) * (size + 8), self._instead)
            return monomials.sparse(X, zeroth)
        check_memory(n, width, monomials.n_bytes(n, size), self._instead)
        return monomials.dense(X, zeroth)

    @property
    def powers_(self) -> NDArray[np.int64]:
        """The exponents, one row per feature and one column per input."""
        check_is_fitted(self)
        return self._monomials.powers()

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The number each monomial is multiplied by."""
        check_is_fitted(self)
        return self._monomials.weights.copy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """`x0^2`, `x0 x1`, …: the monomials, without their weights."""
        names = names_in(self, input_features)
        return np.asarray(self._monomials.names(list(names)), dtype=object)

    def formula(self, names: Any = None) -> str:
        """φ(x) written out, weights and all: [1, √2 x₁, √2 x₂, x₁², √2 x₁x₂, x₂²]."""
        check_is_fitted(self)
        names = variables(self.n_features_in_) if names is None else list(names)
        both = zip(self.weights_, self.powers_, strict=True)
        return "[" + ", ".join(term(w, monomial(p, names)) for w, p in both) + "]"


@estimator
class PolynomialMap(_PowerSeriesMap):
    """φ(x)·φ(z) = (x·z + c)^d: all monomials of degree d (up to d if c > 0), each weighted.

    A monomial x₁^m₁ x₂^m₂ … of degree n has weight √(C(d, n) c^(d−n) · n!/(m₁! m₂! …)). With c = 0
    only n = d is left, C(d + m − 1, d) features of m inputs. Monomials come in increasing degree,
    and within one degree in the order x₀², x₀x₁, x₁².

    Parameters
    ----------
    degree : int, default 2
        d.
    offset : float, default 0.0
        c ≥ 0.

    Attributes
    ----------
    n_output_features_ : int
        The length of φ(x), exactly.
    powers_, weights_ : ndarray
        The exponents and the weight of every feature.

    Examples
    --------
    "Lecture 09: Kernel Methods" (J. Abernethy) and "Perceptron and Kernels" (G. Gordon, A. Smola)
    write out d = 2 in two variables:

    >>> from mercer.maps import PolynomialMap
    >>> phi = PolynomialMap(degree=2)
    >>> phi.fit_transform([[1.0, 2.0], [3.0, 0.0]])
    array([[1.        , 2.82842712, 4.        ],
           [9.        , 0.        , 0.        ]])
    >>> phi.get_feature_names_out(["a", "b"])
    array(['a^2', 'a b', 'b^2'], dtype=object)
    >>> PolynomialMap(2, offset=1).fit([[0.0, 0.0]]).formula()
    '[1, √2 x₁, √2 x₂, x₁², √2 x₁x₂, x₂²]'
    """

    _instead = (
        "Use the kernel Polynomial(degree, offset), which never builds φ, or TensorSketchMap, "
        "whose width you choose."
    )

    degree: int = parameter(Count(), default=2)
    offset: float = parameter(NonNegative("with a negative one it is no kernel"), default=0.0)

    def _coefficients(self) -> list[float]:
        return power_coefficients(int(self.degree), float(self.offset))


@estimator
class PowersMap(FeatureMap):
    """φ(x) = (x, x², …, x^p), of every column: powers without cross terms and without weights.

    The map with which a linear model fits a curve through the origin ("Lecture 09: Kernel Methods",
    J. Abernethy, p = 5), and the lift x ↦ (x, x²) of a line onto a parabola.

    Parameters
    ----------
    degree : int, default 2
        p.

    Attributes
    ----------
    n_output_features_ : int
        Columns that come out.

    Examples
    --------
    >>> from mercer.maps import PowersMap
    >>> PowersMap(3).fit_transform([[2.0], [-1.0]])
    array([[ 2.,  4.,  8.],
           [-1.,  1., -1.]])
    """

    degree: int = parameter(Count(), default=2)

    def _fit(self, X: Any) -> None:
        self.n_output_features_: Any = int(self.degree) * X.shape[1]

    def _transform(self, X: Any) -> NDArray[Any]:
        return np.hstack([X**p for p in range(1, self.degree + 1)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """`x0`, `x1`, `x0^2`, `x1^2`, …"""
        names = names_in(self, input_features)
        powers = [""] + [f"^{p}" for p in range(2, self.degree + 1)]
        return np.asarray([f"{name}{p}" for p in powers for name in names], dtype=object)


@estimator
class TaylorGaussianMap(_PowerSeriesMap):
    """φ(x) = exp(−‖x‖²/2σ²) · (ψ₀(x), …, ψₙ(x)/√(n! σ²ⁿ), …), n ≤ degree; ψₙ(x)·ψₙ(z) = (x·z)ⁿ.

    The series behind the Gaussian exp(−‖x−z‖²/2σ²) in "Lecture 09: Kernel Methods"
    (J. Abernethy), cut off after `degree`. It is good where ‖x‖‖z‖/σ² is not much more than
    `degree`, and from below on the diagonal.

    Parameters
    ----------
    sigma : float or array of one per column, default 1.0
        σ > 0.
    degree : int, default 4
        The highest degree that is kept; 0 keeps only exp(−‖x‖²/2σ²).

    Attributes
    ----------
    n_output_features_ : int
        C(m + degree, degree) for m inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import TaylorGaussianMap
    >>> X = np.array([[0.0, 1.0], [0.5, 0.5]])
    >>> for degree in (1, 2, 4, 8):
    ...     F = TaylorGaussianMap(degree=degree).fit_transform(X)
    ...     print(degree, round(float(F[0] @ F[1]), 6))
    1 0.70855
    2 0.767596
    4 0.778667
    8 0.778801
    >>> round(float(np.exp(-0.25)), 6)
    0.778801
    """

    _instead = "Use the kernel Gaussian(sigma), RandomFourierMap or NystromMap, or a lower degree."

    sigma: Any = parameter(Several(Positive()), default=1.0)
    degree: int = parameter(Count(0), default=4, name_was="order")

    def _coefficients(self) -> list[float]:
        return [1 / factorial(n) for n in range(self.degree + 1)]

    def _fit(self, X: Any) -> None:
        sigma = np.asarray(self.sigma, dtype=np.float64)
        if sigma.shape not in ((), (X.shape[1],)):
            raise ValueError(
                f"sigma must be one number or one per column ({X.shape[1]}), "
                f"not of shape {sigma.shape}"
            )
        self._scale = 1.0 / sigma
        super()._fit(X)

    def _scaled(self, X: Any) -> tuple[Any, NDArray[Any] | None]:
        scale = self._scale.astype(X.dtype)
        if issparse(X):
            X = X.copy()
            X.data *= scale[X.indices] if scale.ndim else scale
        else:
            X = X * scale
        # A norm that overflows belongs to a point where φ is 0.
        with np.errstate(over="ignore", under="ignore"):
            return X, np.exp(-0.5 * row_norms(X, squared=True)).astype(X.dtype)
