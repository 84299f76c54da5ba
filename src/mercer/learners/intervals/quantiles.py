"""KernelQuantileRegressor: levels that a share τ of the targets lies below."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError

from mercer._arrays import host, unit_of
from mercer._examples import take
from mercer._parameters import Either, Number, OneOf, Positive, Several
from mercer.gram import host_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import RegressorMixin
from mercer.learners.intervals.deletion import Deletions
from mercer.learners.ridges.leave_one_out import leave_one_out_alpha
from mercer.learners.svms.shared import SupportVectorBase, weights_of
from mercer.solvers.quadratic.problem import Task, pinball
from mercer.tuning import CHOOSING_ROWS


@estimator
class KernelQuantileRegressor(RegressorMixin, SupportVectorBase):
    """min ½‖w‖² + C Σᵢ ρ_τ(yᵢ − f(xᵢ)),  ρ_τ(r) = max(τr, (τ − 1)r),  f(x) = Σᵢ aᵢ k(xᵢ, x) + b.

    A share τ of the targets lies below f, whatever their distribution: use it where the spread or
    the shape of the noise changes with x. Several levels are learned at once and never cross.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    quantiles : float or list of floats in (0, 1), default (0.1, 0.5, 0.9)
        The levels τ.
    C : "auto" or float, default "auto"
        The price of a deviation: larger follows the targets more closely. "auto" takes the one at
        which coefficients are as large as those of the ridge regression of the least leave-one-out
        error, on at most 1000 of the examples (seeded).
    tol : float
        The gap of the solver, in units of the spread of the targets.
    max_iter : int
        As in `KernelSVC`.

    Attributes
    ----------
    quantiles_ : ndarray
        The levels in ascending order.
    C_ : float
        C as used.
    support_, support_vectors_, n_iter_
        As in `KernelSVR`.
    dual_coef_ : ndarray of shape (n_levels, n_support)
    intercept_ : ndarray of shape (n_levels,)
    expansion_ : KernelExpansion
        All levels, before they are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelQuantileRegressor
    >>> x = np.linspace(0, 4, 200)[:, None]
    >>> y = x[:, 0] * (1 + np.random.default_rng(0).uniform(-1, 1, 200))  # between 0 and 2x
    >>> model = KernelQuantileRegressor("gaussian(2)", [0.25, 0.75], C=10.0).fit(x, y)
    >>> model.predict_quantiles([[2.0]]).round(1)  # of numbers between 0 and 4
    array([[1.2, 3.3]])
    """

    kernel: Any = DEFAULT
    quantiles: Any = parameter(
        Several(Number(0.0, 1.0, open_low=True, open_high=True)), default=(0.1, 0.5, 0.9)
    )
    C: Any = parameter(Either(Positive(), OneOf("auto")), default="auto", was="loo")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for one f per level. Weights multiply the deviations."""
        X, y = self._start(X, y, sample_weight=sample_weight, whole=True)
        y = np.asarray(y, dtype=np.float64)
        weights = weights_of(sample_weight, X)
        rows = np.flatnonzero(weights)
        # A unit of the targets that is their spread makes `tol` mean the same for all of them.
        center, unit = float(np.median(y[rows])), float(unit_of(y[rows]))
        unit *= float((y[rows] / unit).std()) or 1.0
        self.quantiles_: np.ndarray = np.unique(
            np.atleast_1d(np.asarray(self.quantiles, dtype=np.float64))
        )
        self.C_ = self._price(X, y, weights) if isinstance(self.C, str) else float(self.C)
        scaled, bounds = (y[rows] - center) / unit, self.C_ / unit * weights[rows]
        tasks = [Task(rows, pinball(scaled, bounds, level), "resume") for level in self.quantiles_]
        found = self._solve(X, tasks)
        coef = unit * np.stack([one.a.sum(axis=0) for one in found], axis=1)
        self.intercept_: np.ndarray = center + unit * np.array(
            [float(one.thresholds[0]) for one in found]
        )
        support = np.flatnonzero(np.abs(coef).sum(axis=1))
        self._keep(X, rows[support], coef[support], self.intercept_)
        self.dual_coef_: np.ndarray = np.ascontiguousarray(coef[support].T)
        self.n_iter_: int = max(1, sum(one.n_iter for one in found))
        return self

    def _price(self, X: Any, y: np.ndarray, weights: np.ndarray) -> float:
        """C at which |a| is about that of ridge regression, whose coefficients are residuals/λ."""
        penalty = leave_one_out_alpha(
            self.kernel_, X, y[:, None], weights, intercept=True, single=False
        )
        rows = np.flatnonzero(weights)
        if len(rows) < 2:  # nothing is left without the only one
            return 1.0 / penalty
        if len(rows) > CHOOSING_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rows, CHOOSING_ROWS, replace=False))
        part = host(X)[np.ix_(rows, rows)] if self.kernel_.takes_matrix else host(take(X, rows))
        try:
            left = Deletions(host_gram(self.kernel_, part), y[rows], penalty, True).residuals
        except LinAlgError:  # k is not positive semi-definite
            left = y[rows] - y[rows].mean()
        typical = float(np.mean(np.abs(left)))
        return 2.0 * typical / penalty if np.isfinite(typical) and typical > 0 else 1.0 / penalty

    def predict_quantiles(self, X: Any) -> np.ndarray:
        """(n, n_levels): the levels in ascending order; none crosses another.

        Where two would, they change places: sorted levels are never farther from the true ones.
        """
        return np.sort(np.asarray(host(self._values(self._checked(X)))), axis=1)

    def predict(self, X: Any) -> Any:
        """The level nearest to ½: the median, where it is among the quantiles."""
        levels = self.predict_quantiles(X)
        return levels[:, int(np.argmin(np.abs(self.quantiles_ - 0.5)))]
