"""KernelSVR and KernelOneClass: a tube around the targets, and a border around the examples."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._bases import MultiOutputMixin, OutlierMixin
from mercer._parameters import Flag, Maybe, NonNegative, Positive, Share
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import NumbersBeside, estimator, parameter
from mercer.learners._base import RegressorMixin
from mercer.learners.svms.shared import SupportVectorBase, sparse_like, weights_of
from mercer.solvers.quadratic.problem import (
    Quadratic,
    Task,
    epsilon_svr,
    nu_svr,
    one_class,
    start_from,
)


@estimator
class KernelSVR(MultiOutputMixin, RegressorMixin, NumbersBeside, SupportVectorBase):
    """min ½‖w‖² + C Σᵢ max(0, |yᵢ − f(xᵢ)| − ε),  f(x) = Σᵢ aᵢ k(xᵢ, x) + b.

    Examples inside the tube of radius ε around f cost nothing and are no support vectors. Several
    targets, in columns, are as many problems over the same kernel.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    C : float
        The price of a deviation beyond ε; ``inf`` allows none and raises `NoTubeError`
        (`mercer.solvers.quadratic.hard_margin`) where no f is within ε of every target.
    epsilon : float
        The radius of the tube.
    nu : float or None
        In (0, 1]: instead of ε, an upper bound on the share of examples outside the tube, whose
        radius is then found (`epsilon_`).
    tol, max_iter, warm_start
        As in `KernelSVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, n_iter_
        As in scikit-learn's `SVR`.
    epsilon_ : the radius of the tube, one per target of several.
    slack_ : max(0, |yᵢ − f(xᵢ)| − ε) for every training example.
    dual_objective_ : the value of the dual problem that was minimized.
    expansion_ : f as a `KernelExpansion`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.learners import KernelSVR
    >>> X = np.arange(5.0).reshape(-1, 1)
    >>> model = KernelSVR(Linear(), C=100.0, epsilon=0.0).fit(X, 2 * X.ravel() + 1)
    >>> model.predict([[10.0]]).round(3)
    array([21.])
    """

    kernel: Any = DEFAULT
    C: float = parameter(
        Positive(infinite=True, why="math.inf allows no error at all"), default=1.0
    )
    epsilon: float = parameter(NonNegative("errors up to epsilon cost nothing"), default=0.1)
    _: KW_ONLY
    nu: float | None = parameter(
        Maybe(Share("it bounds the share of examples beyond the margin")), default=None
    )
    warm_start: bool = parameter(Flag(), default=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for f."""
        X, y = self._start(X, y, sample_weight=sample_weight, whole=True, multi_output=True)
        y = np.asarray(y, dtype=np.float64)
        weights = weights_of(sample_weight, X)
        rows = np.flatnonzero(weights)
        bounds = float(self.C) * weights[rows]
        columns = y[rows].reshape(len(rows), -1)
        problems = [self._problem(column, bounds) for column in columns.T]
        start = self._previous(rows, *problems)
        method = "hard tube" if math.isinf(self.C) else "solve" if start is None else "resume"
        begun = problems if start is None else [problems[0].starting(start)]
        found = self._solve(X, [Task(rows, problem, method) for problem in begun])
        # Two groups meet at b ± ε, one at b.
        b = np.array([one.thresholds.mean() for one in found])
        radii = np.full(len(found), float(self.epsilon))
        if self.nu is not None:
            radii = np.array([(one.thresholds[0] - one.thresholds[1]) / 2 for one in found])
        net = np.array([one.a.sum(axis=0) for one in found])
        support = np.flatnonzero(net.any(axis=0))
        coef = np.ascontiguousarray(net[:, support])
        self._keep(X, rows[support], *((coef[0], float(b[0])) if y.ndim == 1 else (coef.T, b)))
        self.dual_coef_, self.intercept_ = sparse_like(X, coef), b
        self.n_support_: Any = np.count_nonzero(coef, axis=1).astype(np.int32)
        self.slack_: np.ndarray = np.full(y.shape, np.nan)
        errors = np.abs(columns - np.stack([one.image for one in found], axis=1) - b)
        self.slack_[rows] = np.maximum(0.0, errors - radii).reshape(y[rows].shape)
        self.n_iter_: int = max(one.n_iter for one in found)
        self.dual_objective_: float = sum(one.objective for one in found)
        self.epsilon_: float | np.ndarray = float(radii[0]) if y.ndim == 1 else radii
        self._solved = (rows, problems[0], found[0].a)
        return self

    def _problem(self, y: np.ndarray, bounds: np.ndarray) -> Quadratic:
        """The dual problem of one target."""
        if self.nu is None:
            return epsilon_svr(y, bounds, float(self.epsilon))
        if math.isinf(self.C):
            raise ValueError("C=inf allows no deviation, so nu has none to bound: use epsilon")
        return nu_svr(y, bounds, float(self.nu))

    def _previous(
        self, rows: np.ndarray, problem: Quadratic, *others: Quadratic
    ) -> np.ndarray | None:
        """The last solution of a single target as a start, where the examples are the same and the
        sums are zero."""
        old = getattr(self, "_solved", None)
        if others or not self.warm_start or old is None or not np.array_equal(old[0], rows):
            return None
        if problem.start is not None or old[1].start is not None:
            return None
        if not np.isfinite([problem.upper, old[1].upper]).all():
            return None
        return start_from(old[2], old[1], problem)

    def predict(self, X: Any) -> Any:
        """f(x)."""
        return self._values(self._checked(X))


@estimator
class KernelOneClass(OutlierMixin, NumbersBeside, SupportVectorBase):
    """min ½‖w‖² − ρ + (1/νn) Σᵢ max(0, ρ − w·φ(xᵢ)): the half-space of φ that holds most examples.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    nu : float
        In (0, 1]: an upper bound on the share of outliers, a lower one on that of support vectors.
    tol, max_iter
        As in `KernelSVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, n_iter_
        As in scikit-learn's `OneClassSVM`.
    margins_ : (w·φ(xᵢ) − ρ) / ‖w‖ for every training example.
    slack_ : max(0, ρ − w·φ(xᵢ)).
    dual_objective_ : the value of the dual problem that was minimized.
    expansion_ : w·φ(x) − ρ as a `KernelExpansion`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learners import KernelOneClass
    >>> X = np.array([[0.0], [0.1], [-0.1], [0.05], [9.0]])
    >>> KernelOneClass(nu=0.3).fit(X).predict([[0.0], [9.5]])
    array([ 1, -1])
    """

    kernel: Any = DEFAULT
    nu: float = parameter(Share(), default=0.5)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve for w and ρ; y is ignored."""
        X, _ = self._start(X, sample_weight=sample_weight)
        weights = weights_of(sample_weight, X)
        rows = np.flatnonzero(weights)
        (found,) = self._solve(X, [Task(rows, one_class(weights[rows], float(self.nu)))])
        a, b = found.a[0], float(found.thresholds[0])
        support = np.flatnonzero(a)
        self._keep(X, rows[support], a[support], b)
        self.dual_coef_, self.intercept_ = sparse_like(X, a[support][None]), np.array([b])
        self.offset_: float = -b
        self.n_support_: np.ndarray = np.array([len(support)], dtype=np.int32)
        self.n_iter_, self.dual_objective_ = found.n_iter, found.objective
        self._rows, self._decided = rows, found.image + b
        self._length = math.sqrt(max(0.0, float(a @ found.image)))
        return self

    def _per_example(self, values: np.ndarray) -> np.ndarray:
        table = np.full(self.shape_fit_[0], np.nan)
        table[self._rows] = values
        return table

    @property
    def margins_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._per_example(self._decided / (self._length or math.inf))

    @property
    def slack_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._per_example(np.maximum(0.0, -self._decided))

    def decision_function(self, X: Any) -> Any:
        """w·φ(x) − ρ: positive inside."""
        return self._values(self._checked(X))

    def score_samples(self, X: Any) -> Any:
        """w·φ(x)."""
        return self._values(self._checked(X)) + self.offset_

    def predict(self, X: Any) -> Any:
        """1 inside, −1 outside."""
        return 2 * (self._values(self._checked(X)) >= 0) - 1
