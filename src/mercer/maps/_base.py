"""The frame all maps share: validate once, then compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._arrays import is_sparse
from mercer._bases import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from mercer._examples import passes
from mercer._parameters import Check, check_parameters
from mercer.kernels.estimators import KernelParams


def names_in(estimator: Any, input_features: Any) -> np.ndarray:
    """The names of the columns: those `given`, else those that `fit` saw, else x0, x1, …

    That is what scikit-learn says of an estimator whose columns come out as they went in.
    """
    names: np.ndarray = OneToOneFeatureMixin.get_feature_names_out(estimator, input_features)
    return names


class FeatureMap(TransformerMixin, BaseEstimator):
    """A transformer of rows. A subclass writes `_fit(X)` and `_transform(X)` on checked rows.

    float32 stays float32 and anything else numeric becomes float64; NaN, infinities, empty or
    one-dimensional input and a change of width are refused here, before any mathematics.
    """

    #: What each parameter of the constructor may be; `fit` checks them.
    _parameters: ClassVar[dict[str, Check]] = {}
    _takes_sparse = False
    _min_features = 1

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the width of X and draw whatever the map draws. `y` is ignored."""
        check_parameters(self, self._parameters)
        self._fit(self._rows(X, reset=True))
        return self

    def transform(self, X: Any) -> Any:
        """φ(x) for every row of X."""
        check_is_fitted(self)
        return self._transform(self._rows(X, reset=False))

    def _fit(self, X: Any) -> None:
        raise NotImplementedError

    def _transform(self, X: Any) -> Any:
        raise NotImplementedError

    def _rows(self, X: Any, *, reset: bool) -> Any:
        readable = self._takes_sparse or not is_sparse(X)
        if readable and passes(self, X, reset=reset) and X.shape[1] >= self._min_features:
            return X
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._takes_sparse else False,
            dtype=(np.float64, np.float32),
            # After fit the width must be that of fit, and the error should say that.
            ensure_min_features=self._min_features if reset else 1,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelMap(KernelParams, FeatureMap):
    """A map made of a kernel, of whatever examples that kernel takes.

    Rows of numbers are checked like everywhere else. A DataFrame whose columns the kernel picks,
    and the strings, graphs or other objects of an opaque kernel, go to the kernel as they are.
    """

    _takes_sparse = True
    kernel: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the width of X and draw whatever the map draws. `y` is ignored."""
        check_parameters(self, self._parameters)
        self.kernel_ = self._given_kernel()
        X = self._rows(X, reset=True)
        self.kernel_ = self.kernel_.fitted(X)
        self._fit(X)
        return self

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if hasattr(X, "iloc"):
            as_they_are = self.kernel_.takes_objects or self.kernel_.picks_columns
        else:
            as_they_are = self.kernel_.takes_objects and not _is_numeric(X)
        if not as_they_are:
            return super()._rows(X, reset=reset)
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X


def _is_numeric(X: Any) -> bool:
    """Whether X is, or reads as, an array of numbers (of any shape: the check comes later)."""
    if not hasattr(X, "dtype"):
        try:
            X = np.asarray(X)
        except ValueError:  # examples of different lengths
            return False
    return X.dtype.kind in "biuf"


def column_index(column: Any, names: Sequence[str], width: int) -> int:
    """The index of a column given by index or by name."""
    if isinstance(column, str):
        if column not in names:
            there = f"the columns are {list(names)}" if names else "X has no column names"
            raise ValueError(f"there is no column {column!r}; {there}")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
        raise TypeError(f"a column is an index or a name, not {column!r}")
    if not -width <= column < width:
        raise ValueError(f"there is no column {column} in an X of {width} columns")
    return int(column) % width


def n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def dtype_of(X: Any) -> np.dtype[Any]:
    """The precision to compute in: that of an array, double for anything else."""
    dtype = getattr(X, "dtype", None)
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)
