"""Locally weighted regression: at each x a small least-squares fit of its own."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from mercer._arrays import host, refuse_masked
from mercer._parameters import Count
from mercer.formula.inputs import numeric
from mercer.kernels import as_kernel
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import check_fitted
from mercer.learners.smoothers import Estimate, Sample, SmoothingRegressor, divide
from mercer.solvers.local.least_squares import Fits, local_fits
from mercer.solvers.local.polynomial import Basis, Features, Polynomial
from mercer.solvers.local.weights import Weights


@estimator
class LocalLinearRegressor(SmoothingRegressor):
    """At x, w minimizes Σₙ k(x/h, xₙ/h) (tₙ − wᵀφ(xₙ))², and the prediction is wᵀφ(x).

    By default φ holds all monomials of xₙ − x up to `local_degree`: 0 is the weighted mean, 1 a
    line, which follows slopes and does not sag at the boundary. There is no ridge. Where the
    weighted examples do not determine the fit, the slopes are the smallest possible ones (one
    example in reach: its value, slope 0); with a `feature_map`, w itself is. Far from all data,
    where k rounds to 0, the prediction is the nearest neighbor's value, with a warning.

    Parameters
    ----------
    kernel, bandwidth, per_column
        As in `NadarayaWatsonRegressor`.
    local_degree : {0, 1, 2, 3}, default 1
        Of the polynomial that is fitted: 0 is the weighted mean, 1 a line.
    feature_map : None, function of rows or transformer
        Any φ instead of monomials; put a column of ones in it if you want a constant.

    Attributes
    ----------
    bandwidth_ : float or ndarray of shape (n_features,)
        The bandwidth in use.
    loo_error_ : float
        Its mean squared leave-one-out error, where it was chosen by that.
    X_fit_, y_fit_ : ndarray
        The examples kept (those of positive weight).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalLinearRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = LocalLinearRegressor(bandwidth=1.0).fit(X, 5 + 2 * X[:, 0])
    >>> model.predict([[3.0]]).round(6), model.gradient([[3.0]]).round(6)
    (array([11.]), array([[2.]]))
    """

    _keeps_rows_in_place = False  # its sums of moments are loops on the host

    _: KW_ONLY
    local_degree: int = parameter(Count(0, 3), default=1, name_was="degree")
    feature_map: Any = None

    _beside = ("gamma", "coef0")  # its degree is that of the local polynomials

    def _start(self, X: Any, y: Any = None, **checks: Any) -> tuple[Any, Any]:
        if as_kernel(self.kernel).takes_matrix:
            raise ValueError(
                "LocalLinearRegressor needs the inputs themselves, for the slopes, and a "
                "precomputed matrix does not hold them; NadarayaWatsonRegressor takes one"
            )
        X, y = super()._start(X, y, **checks)
        self.feature_map_: Any = self.feature_map
        if hasattr(self.feature_map, "transform"):
            self.feature_map_ = clone(self.feature_map).fit(X)
        elif self.feature_map is not None and not callable(self.feature_map):
            raise TypeError(
                "feature_map must be a function of rows or a transformer, got "
                f"{type(self.feature_map).__name__}"
            )
        return X, y

    def _examples(self, X: Any, *, reset: bool) -> Any:
        if hasattr(X, "iloc"):
            return super()._examples(X, reset=reset)
        X = host(X)
        refuse_masked(X)
        return validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), order="C")

    def _estimate(
        self, weights: Weights, queries: Any, sample: Sample, spread: bool = False
    ) -> Estimate:
        fits = self._fits(weights, queries, sample, spread)
        return Estimate(fits.value, fits.variance, fits.leverage, fits.far)

    def _fits(self, weights: Weights, queries: Any, sample: Sample, spread: bool = False) -> Fits:
        if self.feature_map_ is None:
            basis: Basis = Polynomial(weights.Z, self.local_degree)
        else:
            basis = Features(self._features(queries), self._features(sample.X))
        return local_fits(weights, sample.y, basis, sample.weight, spread=spread)

    def _features(self, X: Any) -> np.ndarray:
        phi = self.feature_map_
        rows = np.asarray(phi.transform(X) if hasattr(phi, "transform") else phi(X), dtype=float)
        rows = rows[:, None] if rows.ndim == 1 else rows
        if len(rows) != len(X):
            raise ValueError(f"feature_map was given {len(X)} rows and gave back {len(rows)}")
        return rows

    def gradient(self, X: Any) -> np.ndarray:
        """∂y/∂x at each row: the slopes of the local fit (rows × columns, or × outputs ×)."""
        check_fitted(self, "X_fit_")
        if self.feature_map_ is not None or self.local_degree == 0:
            raise ValueError(
                "gradients need monomials of local_degree ≥ 1, not a feature_map or local_degree=0"
            )
        X = self._examples(X, reset=False)
        h = self.bandwidth_
        weights = Weights(self._formula, divide(X, h), divide(self.X_fit_, h))
        columns = numeric(X).shape[1]
        sample = Sample(self.X_fit_, self.y_fit_, self.sample_weight_, None)
        slopes = self._fits(weights, X, sample).coefficients[:, 1 : 1 + columns]
        slopes = slopes / np.broadcast_to(h, columns)[:, None]
        return np.asarray(slopes[:, :, 0] if self._one_output else slopes.transpose(0, 2, 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
