"""What the support vector machines share: problems solved, support kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._arrays import host, is_chunked, is_sparse
from mercer._config import config
from mercer._examples import count
from mercer._notices import warn
from mercer._parameters import Among, Count, Either, Positive
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import KernelLearner, as_scores, check_fitted
from mercer.learners._options import NotConverged, check_width, finite_weights
from mercer.learners.svms.many_classes import PairExpansion
from mercer.solvers.quadratic.parallel import solve_all
from mercer.solvers.quadratic.problem import Solutions, Task, Tasks
from mercer.solvers.requirements import resident


@estimator
class SupportVectorBase(KernelLearner):
    """Fits by the solver of the place where X is, predicts by one product over support vectors."""

    _learns_from_pieces = True

    expansion_: KernelExpansion = field(init=False)
    support_: np.ndarray = field(init=False)
    support_vectors_: Any = field(init=False)
    shape_fit_: tuple[int, ...] = field(init=False)

    _: KW_ONLY
    tol: float = parameter(Positive(why="a gap of 0 is never reached"), default=1e-3)
    max_iter: int = parameter(Either(Count(), Among(-1)), default=-1)

    # --- fitting ----------------------------------------------------------------------------

    def _solve(self, X: Any, tasks: Sequence[Task]) -> Solutions:
        """Solve where X is; without slack, on the host. Warns where the gap is not closed."""
        tol, steps, who = float(self.tol), int(self.max_iter), type(self).__name__
        tasks = Tasks.of(tasks)
        hard = tasks.method not in ("solve", "resume")
        if is_chunked(X) and (hard or self.kernel_.takes_matrix):
            raise TypeError(
                "C=inf is solved on rows in one process, and these are in pieces: take a finite C "
                "(a large one allows little slack), or X.compute()"
                if hard
                else f"{who} learns from rows in pieces by kernels of rows: give k, not K"
            )
        if hard:
            with config(device="cpu"):
                gram = solver_gram(self.kernel_, host(X))
            each, interrupted = solve_all(gram, tasks, tol, steps, who)
        else:
            gram = resident(solver_gram(self.kernel_, X))
            each, interrupted = gram.solver("svm", solve_all)(gram, tasks, tol, steps, who)
        solved = Solutions.of(each)
        late = ~solved.converged
        self.fit_status_: int = int(late.any())
        self.shape_fit_ = tuple(getattr(X, "shape", (count(X),)))
        message = "interrupted: the model is what the solver had found so far"
        if late.any() and not interrupted:
            gap, taken = solved.gap[late].max(), solved.n_iter[late].max()
            message = (
                f"Solver terminated early (max_iter={steps})"
                if steps > 0
                else f"no solution after {taken} steps, or none within the rounding of k"
            )
            message += (
                f": the gap is {gap:.2g}, tol={tol:g} was asked for. Scale the data, raise "
                "max_iter, or use float64."
            )
        if late.any() or interrupted:
            warn(message, NotConverged)
        return solved

    def _keep(self, X: Any, support: np.ndarray, *coef: Any, kind: Any = KernelExpansion) -> None:
        """Sets `support_`, `support_vectors_` and the expansion over them."""
        self.support_ = support.astype(np.int32)
        points = self.kernel_.points(X, support)
        self.support_vectors_ = np.empty((0, 0)) if self.kernel_.takes_matrix else points
        self.expansion_ = kind(self.kernel_, points, *coef)

    # --- predicting -------------------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        """Rows that the fitted model takes."""
        check_fitted(self)
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self.shape_fit_[0])
        return X

    def _values(self, X: Any, then: Callable[[Any], Any] = lambda scores: scores) -> Any:
        """The scores of every checked row, or what `then` makes of them."""
        if isinstance(self.expansion_, PairExpansion):
            return self.expansion_(X, lambda scores: then(as_scores(scores)))
        return then(as_scores(self.expansion_(X)))

    @property
    def coef_(self) -> np.ndarray:
        """w = Σ αᵢ φ(xᵢ), one row per output, where φ is finite; it cannot be written to."""
        try:
            w = np.atleast_2d(self.expansion_.primal().T)
        except (TypeError, ValueError) as error:
            # So that hasattr(model, "coef_") says no.
            raise AttributeError(
                f"coef_ needs a kernel with a finite feature map: {error}"
            ) from None
        w.flags.writeable = False  # a change would not reach the model
        return w


def sparse_like(X: Any, coef: np.ndarray) -> Any:
    """Coefficients as scikit-learn keeps them: a sparse array after a fit on sparse rows."""
    return sp.csr_array(coef) if is_sparse(X) else coef


def weights_of(sample_weight: Any, X: Any) -> np.ndarray:
    """One weight ≥ 0 per example, not all of them zero."""
    n = count(X)
    if sample_weight is None:
        return np.ones(n)
    given = host(sample_weight)
    values = np.asarray(given)  # before any other function of NumPy: it may only look like an array
    if values.ndim == 1 and len(values) and not values.any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    weights = finite_weights(given, n)
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative: it multiplies the bound C")
    return weights
