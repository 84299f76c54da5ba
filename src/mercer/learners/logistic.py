"""KernelLogisticRegression: probabilities from a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from mercer._arrays import is_chunked, is_tensor, winners
from mercer._examples import count as n_rows
from mercer._parameters import Count, Either, Flag, Maybe, OneOf, Positive, random_from
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, KernelLearner, as_scores, check_fitted, labels_at
from mercer.learners._options import (
    check_width,
    given_centers,
    labeled,
    points_of,
    solver_for,
    warn_if_stopped,
    weights_or_none,
)
from mercer.learners._stepwise import Stepwise
from mercer.learners.ridges.leave_one_out import leave_one_out_alpha
from mercer.maps.centers import CenterChoice
from mercer.solvers.requirements import solvers_for
from mercer.solvers.smooth import Binary, Multinomial, SmoothSolution, minimize


@estimator
class KernelLogisticRegression(Stepwise, ClassifierMixin, KernelLearner):
    """min Σᵢ wᵢ log-loss(yᵢ, f(xᵢ)) + (α/2)aᵀKa,  f(x) = Σⱼ aⱼ k(xⱼ, x) + w₀  (Ritter).

    Two classes: P(Y = 0|x) = 1/(1 + exp(f(x))), where Y = 0 is ``classes_[0]``: f > 0 speaks for
    ``classes_[1]``, so P(Y = 1|x) = 1/(1 + exp(−f(x))). More classes have an f each, and
    P(Y = c|x) = exp(f_c)/Σ exp(f): one model of all classes, not one against the rest.

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k. One that is known not to be positive semi-definite is used, with a warning.
    alpha : "auto" or float, default "auto"
        α > 0. "auto" takes what `KernelRidge` would for the same targets, times the largest slope
        of the link (1/4 for two classes), by which squares approximate the log-loss. With
        scikit-learn's C = 1/α the objective is that of its `LogisticRegression`.
    fit_intercept : bool, default True
        Learn w₀, one for each class.
    solver : {"auto", "newton", "nystrom", "gradient"}
        "newton": exact, by products with K, which is kept where it fits. "nystrom": the same in the
        span of `n_centers` examples. "gradient": the lecture's rule, a ← a − η(K(p − y) + αKa), w₀
        ← w₀ − ηΣ(p − y), slow, for teaching. "auto": "newton" for N ≤ 20000; "nystrom" otherwise.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the examples of each class.
    n_centers : int or None
        Of "nystrom"; None takes 20 √N, at most 5000.
    centers : {"uniform", "kmeans++", "leverage", "greedy"}, indices or examples
        Of "nystrom": who chooses the centers (see `mercer.maps.NystromMap`), or the centers
        themselves, as indices of training examples or as examples of any origin.
    learning_rate : "auto" or float, default "auto"
        η of "gradient"; "auto" takes one that is safe for this K.
    tol : float, default 1e-4
        How near to its minimum, relative, the objective must be; with "gradient" the size of the
        gradient, relative to the first.
    max_iter : int or None
        Steps; None means 100, for "gradient" 1000.
    random_state : int, RandomState or None
        Draws centers, and the columns of the preconditioner. None draws as 0 does, the same in
        every fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
        a; with "nystrom" the coefficients of the centers.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    alpha_ : float
        α as used.
    expansion_ : KernelExpansion
        f.
    objective_ : float
        What was minimized; `objectives_` lists it from the start, after every step.
    n_iter_ : int
    solver_, solver_reason_ : str
        Which solver it was, and why.
    centers_ : indices of training examples, the centers as they were given, or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learners import KernelLogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = KernelLogisticRegression("linear()", alpha=0.1).fit(X, y)
    >>> model.predict_proba([[0.0], [1.5], [3.0]]).round(3)
    array([[0.982, 0.018],
           [0.5  , 0.5  ],
           [0.018, 0.982]])
    """

    _learns_from_pieces = True

    kernel: Any = DEFAULT
    alpha: Any = parameter(Either(Positive(), OneOf("auto")), default="auto", was="loo")
    _: KW_ONLY
    fit_intercept: bool = parameter(Flag(), default=True)
    solver: str = parameter(OneOf("auto", more=lambda: solvers_for("logistic")), default="auto")
    class_weight: Any = None
    n_centers: int | None = parameter(Maybe(Count()), default=None)
    centers: Any = parameter(CenterChoice(), default="uniform")
    learning_rate: Any = parameter(
        Either(Maybe(Positive()), OneOf("auto")), default="auto", was=None
    )
    tol: float = parameter(Positive(why="the minimum itself is never reached"), default=1e-4)
    max_iter: int | None = parameter(Maybe(Count()), default=None)
    random_state: Any = None

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimize the penalized log-loss. Weights multiply the losses."""
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True)
        loss, rate = self._loss(X, y, sample_weight), self.learning_rate
        gram = solver_gram(self.kernel_, X)
        self.alpha_: float = self._penalty(X, loss, gram.dtype.itemsize < 8)
        found = minimize(
            gram,
            loss,
            self.alpha_,
            solver=solver_for(self),
            intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            max_iter=self.max_iter,
            n_centers=self.n_centers,
            centers=given_centers(self),
            learning_rate=None if rate in ("auto", None) else float(rate),
            random=random_from(self.random_state),
        )
        self._keep(X, found)
        return self

    def _penalty(self, X: Any, loss: Any, single: bool) -> float:
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        best = leave_one_out_alpha(
            self.kernel_, X, loss.y, loss.weights, intercept=bool(self.fit_intercept), single=single
        )
        return best * loss.steepest

    def _loss(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self.classes_, codes, weights = labeled(
            type(self).__name__, y, weights_or_none(sample_weight, X), self.class_weight
        )
        if is_chunked(codes):
            from mercer.engines.cluster.learning.newton import PieceLoss

            return PieceLoss(codes, len(self.classes_), weights)
        if len(self.classes_) == 2:
            return Binary(codes, weights)
        return Multinomial(codes, len(self.classes_), weights)

    def _keep(self, X: Any, found: SmoothSolution) -> None:
        self._n_train = n_rows(X)
        binary = len(self.classes_) == 2
        self.solver_, self.solver_reason_ = found.solver, found.reason
        self.centers_: Any = found.centers
        self.dual_coef_: Any = found.coef[:, 0] if binary else found.coef
        self.intercept_: Any = found.intercept
        self.objective_, self.objectives_ = found.objective, np.array(found.objectives)
        self.n_iter_: int = found.n_iter
        points = points_of(self.kernel_, X, self.centers_)
        intercept = float(self.intercept_[0]) if binary else self.intercept_
        self.expansion_: KernelExpansion = KernelExpansion(
            self.kernel_, points, self.dual_coef_, intercept
        )
        warn_if_stopped(
            type(self).__name__,
            found.stopped,
            str(found.n_iter) if found.stopped == "max_iter" else f"objective {found.objective:g}",
            "Raise alpha, max_iter or tol, or scale the data.",
        )

    # --- predicting -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Any:
        """f(x): the log-odds of the second of two classes, or one score per class."""
        check_fitted(self)
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self._n_train)
        return as_scores(self.expansion_(X))

    def predict_proba(self, X: Any) -> Any:
        """P(Y = c|x), one column per class."""
        scores = self.decision_function(X)
        if is_tensor(scores):
            return self.predict_log_proba(X).exp()
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return np.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> Any:
        """log P(Y = c|x), exact where P itself is too small for a float."""
        scores = self.decision_function(X)
        if is_tensor(scores):
            return _log_shares(scores)
        if scores.ndim == 2:
            return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return -np.column_stack([np.logaddexp(0.0, scores), np.logaddexp(0.0, -scores)])

    def predict(self, X: Any) -> Any:
        """The most probable class (at a tie the first)."""
        return labels_at(winners(self.decision_function(X)), self.classes_)


def _log_shares(scores: Any) -> Any:
    """log P for scores on a device."""
    import torch

    if scores.ndim == 1:
        scores = torch.stack([torch.zeros_like(scores), scores], dim=1)
    return scores.log_softmax(dim=1)
