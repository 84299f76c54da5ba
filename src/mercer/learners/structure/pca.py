"""Principal components of φ(x): the directions in which the images of the examples vary most."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, is_sparse, like
from mercer._bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._examples import count
from mercer._notices import KernelWarning, NumericalWarning, warn
from mercer._parameters import Count, Flag, Maybe, NonNegative, OneOf
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT, Kernel, Linear, NegativeSquaredDistance
from mercer.kernels.estimators import NumbersBeside, estimator, parameter
from mercer.learners._base import KernelLearner
from mercer.learners._options import check_width, warn_if_stopped
from mercer.learners.ridges.estimators import KernelRidge
from mercer.solvers.spectral.components import Components, components
from mercer.tuning import SPECTRAL_RESIDUAL

#: A negative eigenvalue that is not rounding, relative to the largest; as in scikit-learn.
SIGNIFICANT = 1e-5
#: The share of rounding in components from which on a warning says so, and rows that show it.
HIDDEN, SHOWN_ROWS = 1e-3, 16


@estimator
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NumbersBeside, KernelLearner):
    """zⱼ(x) = Σᵢ uᵢⱼ k̃(xᵢ, x) / √λⱼ, where K̃ uⱼ = λⱼ uⱼ and K̃ is K of the centered φ.

    The coordinates of φ(x) along its directions of largest variance: linear PCA for the linear
    kernel, curves and clusters straightened out for others, and coordinates for strings, graphs or
    whatever else k compares. A few components of many examples are found by products with K, which
    is never stored where the memory limit does not allow it.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        The similarity k.
    n_components : int or None, default None
        How many components; at most one per example. None takes all whose eigenvalue is not zero,
        which needs the whole matrix and time that grows with the cube of the examples.
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    center : bool, default True
        Whether φ is centered on its mean first. Without it the first component mostly points to
        the mean.
    solver : {"auto", "dense", "blocks"}
        "dense": all of the matrix at once. "blocks": products with a few columns until the
        eigenvectors do not change in 12 digits (6 for float32). "auto": "dense" up to 500 examples
        or for more than an eighth of the components.
    fit_inverse_transform : bool, default False
        Whether `inverse_transform` is learned: ridge regression from the coordinates to the
        examples. Examples must be rows of numbers then.
    alpha : float, default 1.0
        The penalty of that regression: larger values give smoother pre-images, nearer to 0.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        λ, largest first. λ/N is the variance along a component.
    eigenvectors_ : ndarray of shape (n_examples, n_components)
        u, as columns; zero where λ is.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share of each component in the variance of φ(x), from the trace of K̃.
    expansion_ : z(x) as a kernel expansion, one output per component
    inverse_ : the ridge regression behind `inverse_transform`
    n_iter_ : int, the products of "blocks"

    See Also
    --------
    mercer.maps.NystromMap : features from a sample, for learners that follow

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.1]])
    >>> pca = KernelPCA("linear", n_components=1).fit(X)
    >>> pca.transform([[1.0, 1.0], [4.0, 4.0]]).round(2)
    array([[-0.72],
           [ 3.52]])
    >>> pca.explained_variance_ratio_.round(3)
    array([1.])
    """

    expansion_: KernelExpansion = field(init=False)

    kernel: Any = DEFAULT
    n_components: int | None = parameter(Maybe(Count()), default=None)
    _: KW_ONLY
    center: bool = parameter(Flag(), default=True)
    solver: str = parameter(OneOf("auto", "dense", "blocks"), default="auto")
    fit_inverse_transform: bool = parameter(Flag(), default=False)
    alpha: float = parameter(NonNegative(), default=1.0)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components. `y` is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components and give the coordinates of the examples themselves."""
        X = self._fit(X)
        return like(self._own.astype(np.result_type(self._dtype)), X)

    def _fit(self, X: Any) -> Any:
        X, _ = self._start(X)
        if count(X) < 2:
            raise ValueError("KernelPCA needs at least 2 examples to vary; there is 1 sample")
        kernel: Kernel = self.kernel_
        gram, found = self._found(kernel, X)
        is_linear = self.center and isinstance(kernel, Linear)
        if is_linear and _noise(found, gram.dtype) > SPECTRAL_RESIDUAL[gram.dtype.name]:
            # Centering takes off terms of x alone and of z alone, in which x·z and −‖x − z‖²/2
            # differ; the second has no digits to lose far from 0.
            kernel = 0.5 * NegativeSquaredDistance()
            gram, found = self._found(kernel, X)
        who = type(self).__name__
        warn_if_stopped(who, found.stopped, str(found.n_iter), "Take fewer components")
        self._keep(found, kernel, X, gram.dtype)
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        elif hasattr(self, "inverse_"):
            del self.inverse_
        return X

    def _found(self, kernel: Kernel, X: Any) -> tuple[Any, Components]:
        gram = solver_gram(kernel, X)
        options: Any = {"center": self.center, "solver": self.solver}
        return gram, components(gram, self.n_components, **options)

    def _keep(self, found: Components, kernel: Kernel, X: Any, dtype: np.dtype) -> None:
        zero = found.zeros(dtype)
        if zero.all():
            raise ValueError(
                f"{self.kernel_!r} tells none of the {count(X)} examples apart (they vary by "
                f"{found.total:.3g} in all), so there are no components: are they all the same?"
            )
        negative = found.values < -SIGNIFICANT * np.abs(found.values).max()
        if negative.any() and self.n_components is not None:
            warn(
                f"{int(negative.sum())} of the {self.n_components} components have a negative "
                f"eigenvalue, so that {self.kernel_!r} is not positive semi-definite; they are "
                "taken to be 0. Take fewer components, or make the matrix one: mercer.repair",
                KernelWarning,
            )
        values, vectors = np.where(zero, 0.0, found.values), found.vectors
        if self.n_components is None:
            values, vectors, zero = values[~zero], vectors[:, ~zero], zero[~zero]
        coef = vectors * np.where(zero, 0.0, 1.0 / np.sqrt(np.where(zero, 1.0, values)))
        b = np.zeros(len(values))
        if self.center:
            coef -= coef.mean(axis=0)  # they sum to zero but for rounding
            b = -(found.means @ coef)
        self.eigenvalues_, self.n_iter_ = values, found.n_iter
        self.explained_variance_ratio_: np.ndarray = values / (found.total or 1.0)
        self.expansion_ = KernelExpansion(kernel, self.kernel_.points(X), coef, b)
        self._n_features_out = len(values)
        self._dtype = dtype.name
        self._warn_of_rounding(X, found)

    def _warn_of_rounding(self, X: Any, found: Components) -> None:
        """Warn where k is so large beside what it varies by that rounding hides the components."""
        seen = self.center and not self.kernel_.takes_matrix
        if not seen or _noise(found, np.dtype(self._dtype)) <= HIDDEN:
            return
        some = np.linspace(0, len(found.means) - 1, SHOWN_ROWS).astype(int)
        own = self._own[some]
        off = np.abs(host(self.expansion_(self.kernel_.points(X, some))) - own).max()
        if not off <= HIDDEN * np.abs(own).max():
            warn(
                f"k(x, z) is so large beside what it varies by that rounding changes components by "
                f"{off / np.abs(own).max():.1%}, as transform differs from fit_transform: take the "
                "mean off the rows, X - X.mean(axis=0), or scale the data",
                NumericalWarning,
            )

    @property
    def eigenvectors_(self) -> np.ndarray:
        check_is_fitted(self, "expansion_")
        return np.asarray(self.expansion_.coef * np.sqrt(self.eigenvalues_))

    @property
    def _own(self) -> np.ndarray:
        """The coordinates of the training examples: K̃u/√λ = √λ u."""
        return np.asarray(self.expansion_.coef * self.eigenvalues_)

    def transform(self, X: Any) -> Any:
        """The coordinates of each row along the components."""
        check_is_fitted(self, "expansion_")
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, len(self.expansion_))
        return self.expansion_(X)

    # --- pre-images --------------------------------------------------------------------------

    def _learn_inverse(self, X: Any) -> None:
        rows = host(X)
        if self.kernel_.is_opaque or is_sparse(rows) or not isinstance(rows, np.ndarray):
            kind = "sparse rows" if is_sparse(rows) else repr(self.kernel_)
            raise ValueError(
                "pre-images are learned from dense rows of numbers, and there are none with "
                f"{kind}: leave fit_inverse_transform=False"
            )
        own = self._own.astype(rows.dtype)
        kernel = self._given_kernel().fitted(own)
        self.inverse_: KernelRidge = KernelRidge(kernel, alpha=self.alpha, fit_intercept=False).fit(
            own, rows
        )

    def inverse_transform(self, Z: Any) -> Any:
        """The row whose coordinates are nearest to z, by the ridge regression that `fit` learned.

        The same kernel compares coordinates: with widths of its own where they are numbers, with
        those that the coordinates choose where they are words.
        """
        check_is_fitted(self, "expansion_")
        if not hasattr(self, "inverse_"):
            raise NotFittedError(
                "inverse_transform is learned in fit: make KernelPCA(fit_inverse_transform=True)"
            )
        return self.inverse_.predict(Z)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_inverse_transform
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _noise(found: Components, dtype: np.dtype) -> float:
    """The rounding of the means of K that centering takes off, in units of the largest λ."""
    rounding = float(np.finfo(dtype).eps) * float(np.abs(found.means).max())
    return rounding * len(found.means) ** 0.5 / max(found.values.max(), np.finfo(float).tiny)
