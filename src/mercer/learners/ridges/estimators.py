"""KernelRidge and KernelRidgeClassifier: least squares with a penalty on ‖f‖²."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer._arrays import host, is_chunked, like, unit_of, winners
from mercer._bases import MultiOutputMixin
from mercer._examples import count as n_rows
from mercer._parameters import (
    Count,
    Either,
    Flag,
    Maybe,
    NonNegative,
    OneOf,
    Positive,
    Several,
    random_from,
)
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import NumbersBeside, estimator, parameter
from mercer.learners._base import (
    ClassifierMixin,
    KernelLearner,
    RegressorMixin,
    as_scores,
    check_fitted,
    labels_at,
)
from mercer.learners._options import (
    check_width,
    finite_dims,
    given_centers,
    labeled,
    points_of,
    refuse_number_beside_path,
    solver_for,
    warn_if_stopped,
    weights_or_none,
)
from mercer.learners._stepwise import Stepwise
from mercer.learners.ridges.leave_one_out import leave_one_out_alpha
from mercer.learners.ridges.posterior import Posteriors
from mercer.maps.centers import CenterChoice
from mercer.solvers.linear.panels import FeaturePanels
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution
from mercer.solvers.linear.ridge import Options, RidgeTask, solve
from mercer.solvers.requirements import solvers_for


def as_columns(targets: Any) -> Any:
    """Targets (N, T) in double precision; in pieces where they are."""
    if is_chunked(targets):
        return targets.columns()
    return np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)


@estimator
class RidgeBase(Stepwise, KernelLearner):
    """Fits targets (N, T) by one of the solvers, and predicts."""

    _learns_from_pieces = True
    _targets: np.ndarray | None = field(default=None, init=False)

    kernel: Any = DEFAULT
    alpha: Any = parameter(Either(Several(NonNegative()), OneOf("auto")), default="auto", was="loo")
    _: KW_ONLY
    alphas: Any = parameter(Maybe(Several(Positive())), default=None)
    alpha_per_target: bool = parameter(Flag(), default=False)
    fit_intercept: bool = parameter(Flag(), default=True)
    solver: str = parameter(OneOf("auto", more=lambda: solvers_for("ridge")), default="auto")
    n_centers: int | None = parameter(Maybe(Count()), default=None)
    centers: Any = parameter(CenterChoice(), default="uniform")
    preconditioner: str | None = parameter(Maybe(OneOf("nystrom", "cholesky")), default="nystrom")
    tol: float = parameter(Positive(why="a residual of 0 is never reached"), default=1e-6)
    max_iter: int = parameter(Count(), default=1000)
    random_state: Any = None

    # --- fitting ----------------------------------------------------------------------------

    def _options(self) -> Options:
        random = random_from(self.random_state)
        tol, max_iter = float(self.tol), int(self.max_iter)
        centers = given_centers(self)
        return Options(self.n_centers, self.preconditioner, tol, max_iter, random, centers)

    def _penalties(
        self, X: Any, columns: np.ndarray, weights: np.ndarray | None, single: bool
    ) -> tuple[np.ndarray, bool]:
        """λ for each target, or the path that all share; `single` precision asks for more."""
        targets = columns.shape[1]
        if self.alphas is not None:
            refuse_number_beside_path(self, "alpha")
            return np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)), True
        if isinstance(self.alpha, str):
            intercept = bool(self.fit_intercept)
            best = leave_one_out_alpha(
                self.kernel_, X, columns, weights, intercept=intercept, single=single
            )
            return np.full(targets, best), False
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if len(alphas) not in (1, targets):
            raise ValueError(
                f"alpha has {len(alphas)} numbers, but there are {targets} targets: give one "
                "for all, or one for each (alphas= is for a path to choose from)"
            )
        return np.broadcast_to(alphas, (targets,)).copy(), False

    def _fit(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Sets everything but what belongs to the kind of learner."""
        options = self._options()
        columns = as_columns(targets)
        gram = solver_gram(self.kernel_, X)
        alphas, path = self._penalties(X, columns, weights, gram.dtype.itemsize < 8)
        problem = RidgeProblem(columns, alphas, weights, bool(self.fit_intercept))
        features = finite_dims(self.kernel_, getattr(self, "n_features_in_", None))
        task = RidgeTask(self.kernel_, X, gram, problem, path, features, options)
        found, solver, self.solver_reason_ = solve(task, solver_for(self))
        self.solver_: str = solver.name
        self._keep(X, problem, found, single=targets.ndim == 1)
        warn_if_stopped(
            type(self).__name__,
            found.stopped,
            str(self.max_iter) if found.stopped == "max_iter" else f"{found.residual:.1e}",
            "Raise alpha, max_iter or tol, or use another solver or float64.",
        )

    def _keep(self, X: Any, problem: RidgeProblem, found: RidgeSolution, single: bool) -> None:
        for name in ("loo_predictions_", "loo_errors_", "dual_coef_path_", "coef_"):
            self.__dict__.pop(name, None)
        self._weights, self._single = problem.weights, single
        self._n_train = len(problem.targets)
        coef, intercept, primal = found.coef, found.intercept, found.primal
        chosen = problem.alphas
        if found.path is not None:
            best = self._choose(problem, found.path, single)
            each = np.arange(coef.shape[1])
            chosen = found.path.alphas[best]
            coef = found.path.coef[best, :, each].T
            intercept = found.path.intercept[best, each]
            primal = None if primal is None else primal[best, :, each].T
        self._lambdas = chosen
        same = bool((chosen == chosen[0]).all())
        self.alpha_ = float(chosen[0]) if same else chosen
        if single:
            coef, intercept = coef[:, 0], intercept[0]
        self.dual_coef_: np.ndarray = np.ascontiguousarray(coef)
        self.intercept_ = float(intercept) if np.ndim(intercept) == 0 else intercept
        self.centers_: Any = found.centers
        self._primal = primal
        if primal is not None:
            self.coef_: np.ndarray = primal[:, 0] if single else primal.T
        self.n_iter_: int = found.n_iter
        points = points_of(self.kernel_, X, found.centers)
        self.X_fit_: Any = points if is_chunked(X) else X
        self.expansion_: KernelExpansion = KernelExpansion(
            self.kernel_, points, self.dual_coef_, self.intercept_
        )
        self.__dict__.pop("_posteriors", None)

    def _choose(self, problem: RidgeProblem, path: RidgePath, single: bool) -> np.ndarray:
        """The index on the path of the least leave-one-out error, for each target."""
        unit = unit_of(problem.targets[:]).max()
        squares = np.square((path.loo - problem.targets[:]) / unit)
        errors = np.stack([np.average(s, axis=0, weights=problem.weights) for s in squares])
        if np.isnan(errors).all(axis=0).any():
            raise ValueError("no alpha gives finite leave-one-out errors; take larger ones")
        per_target = np.nanargmin(errors, axis=0)
        best = np.full(errors.shape[1], np.nanargmin(errors.mean(axis=1)))
        best = per_target if self.alpha_per_target else best
        each = np.arange(len(best))
        loo = path.loo[best, :, each].T
        with np.errstate(over="ignore", under="ignore"):
            errors = errors * unit**2
        self.loo_errors_: Any = errors[:, 0] if single else errors
        self.loo_predictions_: np.ndarray = loo[:, 0] if single else np.ascontiguousarray(loo)
        self.dual_coef_path_: np.ndarray = path.coef[:, :, 0] if single else path.coef
        return best

    # --- predicting -------------------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        check_fitted(self)
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self._n_train)
        return X

    def _values(self, X: Any) -> Any:
        if self._primal is None:
            return as_scores(self.expansion_(X))
        panels = FeaturePanels(self.kernel_, host(X), n_rows(X))
        values = panels.product(self._primal) + self.intercept_
        return like(values[:, 0] if self._single else values, X)

    def _unit_variances(self, X: Any) -> Any:
        """The variance of f(x) for f ~ GP(0, k) and noise of variance λ, whatever the targets."""
        variances = self._posteriors.variances(host(X))
        return like(variances[:, 0] if self._single else variances, X)

    @cached_property
    def _posteriors(self) -> Posteriors:
        return Posteriors(self)

    def __getstate__(self) -> dict[str, Any]:
        # A factorization is as large as K; it is made again when asked for.
        return {k: v for k, v in super().__getstate__().items() if k != "_posteriors"}


@estimator
class KernelRidge(MultiOutputMixin, RegressorMixin, NumbersBeside, RidgeBase):
    """min Σᵢ wᵢ(tᵢ − f(xᵢ))² + λ‖f‖²:  f(x) = aᵀk(x) + b,  a = (K + λI)⁻¹t  (Abernethy).

    With a finite φ of length M < N the same f is wᵀφ(x), w = (ΦᵀΦ + λI)⁻¹Φᵀt, and "auto" computes
    that. b, if asked for, is not penalized (PRML 3.1).

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k. One that is known not to be positive semi-definite is used, with a warning.
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    alpha : "auto", float or array of shape (n_targets,), default "auto"
        λ ≥ 0, one for all targets or one for each. "auto" takes the power of ten, times the mean of
        k(x, x), that has the least leave-one-out error on at most 1000 of the examples (seeded);
        scikit-learn's KernelRidge has 1. λ = 0 gives the least squares; where K is
        singular, of all of them the one of least ‖f‖².
    alphas : array or None
        What "auto" chooses λ from, by leave-one-out error: the whole path and the N refits of
        each λ come from one factorization.
    alpha_per_target : bool, default False
        Choose for each target by itself.
    fit_intercept : bool, default True
        Learn b, which has no penalty; False sets b = 0, as scikit-learn and the lecture do. Without
        b a model of targets far from 0 falls back to 0 away from the examples.
    solver : {"auto", "primal", "eigh", "pivoted", "cholesky", "nystrom", "cg", "gradient"}
        "primal": exact, M×M, for a finite φ of length M. "eigh": exact, for many λ, three N×N
        arrays. "pivoted": exact, from some columns of K and products with it, or by Cholesky if
        sooner. "cholesky": exact, one N×N array. "nystrom": f in the span of `n_centers` examples
        only. "cg": exact up to `tol`, by products with K only, for any N. "gradient": a ← a −
        η(K(Ka + b − t) + λKa), b ← b − ηΣ(Ka + b − t), slow, for teaching. "auto": "primal" where M
        < N; "eigh" for λ = 0, more than 12 λ, or more than 5 on a path; "pivoted" for N ≥ 2000
        where that fits into memory; "cholesky" where K fits into the memory limit and N ≤ 20000
        (more on a GPU); "nystrom" otherwise.
    n_centers : int or None
        Of "nystrom"; None takes 20 √N, at most 5000.
    centers : {"uniform", "kmeans++", "leverage", "greedy"}, indices or examples
        Of "nystrom": who chooses the centers (see `mercer.maps.NystromMap`), or the centers
        themselves, as indices of training examples or as examples of any origin.
    preconditioner : {"nystrom", "cholesky", None}
        Of "cg": columns of K at random, or by pivoted Cholesky.
    tol, max_iter : float, int
        Of "cg": the relative residual to reach, and the most iterations.
    random_state : int, RandomState or None
        Draws centers and columns. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        a; with "nystrom" the coefficients of the centers.
    intercept_ : float or ndarray of shape (n_targets,)
    X_fit_ : the examples (with "precomputed": the matrix)
    expansion_ : KernelExpansion
        f. With "primal", a is computed from the residuals and `predict` uses `coef_`.
    coef_ : ndarray of shape (M,) or (n_targets, M)
        w; with "primal" only.
    alpha_ : float or ndarray of shape (n_targets,)
        λ as used; the best of `alphas`, or of "auto".
    loo_predictions_ : ndarray like y
        f without example i, at xᵢ, for the λ chosen. With `alphas` only, like the next two.
    loo_errors_ : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Mean squared leave-one-out errors.
    dual_coef_path_ : ndarray of shape (n_alphas, *dual_coef_.shape)
    solver_, solver_reason_ : str
        Which solver it was, and why.
    centers_ : indices of training examples, the centers as they were given, or None
        Which examples are the centers.
    n_iter_ : int
        Iterations of "cg" and "pivoted"; 1 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.learners import KernelRidge
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> powers = Linear().polynomial([0, 1, 1, 1, 1, 1])  # φ(x) = (x, x², …, x⁵)
    >>> model = KernelRidge(powers, alpha=1e-8).fit(x, x[:, 0] - 2 * x[:, 0] ** 3)
    >>> model.solver_, model.coef_.round(3) + 0.0
    ('primal', array([ 1.,  0., -2.,  0.,  0.]))
    >>> model = KernelRidge("gaussian(0.5)", alphas=[1e-3, 1e-1, 10]).fit(x, np.sin(3 * x[:, 0]))
    >>> model.alpha_, model.loo_errors_.round(4)
    (0.001, array([0.0073, 0.0433, 0.4392]))
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for a and b. Weights multiply the squared errors."""
        X, y = self._start(X, y, sample_weight=sample_weight, multi_output=True)
        self._fit(X, y, weights_or_none(sample_weight, X))
        self._targets = None if is_chunked(X) else as_columns(y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x); with `return_std` also the standard deviation of a new y at x.

        It counts the noise, so that about 95 % of new targets lie within two of them. It is that of
        a Gaussian process with the kernel s k and noise of variance s λ, for the s that makes the
        targets most likely; that of f alone is in `latent_mean_and_variance`.
        """
        if not return_std:
            return self._values(self._checked(X))
        values, variance = self.latent_mean_and_variance(X)
        noise = self._posteriors.scales[1]
        return values, (variance + like(noise[0] if self._single else noise, values)) ** 0.5

    def latent_mean_and_variance(self, X: Any) -> tuple[Any, Any]:
        """f(x), and its variance in the square of y's units, without the noise.

        >>> model = KernelRidge("gaussian(1)", 0.1).fit([[0.0], [1.0]], [0.0, 5.0])
        >>> mean, variance = model.latent_mean_and_variance([[0.0], [99.0]])
        >>> mean.round(2), variance.round(1)
        (array([0.51, 2.5 ]), array([ 2.3, 46.9]))
        """
        X = self._checked(X)
        variance = self._unit_variances(X)  # says first what is missing
        scale = self._posteriors.scales[0]
        return self._values(X), variance * like(scale[0] if self._single else scale, X)


def signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets ±1: one column per class, or one in all for two classes.

    >>> signs(np.array([0, 2]), 3).tolist()
    [[1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]]
    """
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


@estimator
class KernelRidgeClassifier(ClassifierMixin, RidgeBase):
    """Ridge regression on targets ±1, one for each class (one for two classes); sign or arg max.

    Columns of 0 and 1, one per label, are learned together. All parameters and the other attributes
    are those of `KernelRidge`, but that `fit_intercept` is True: classes are seldom of equal size.
    With `alphas` the penalty is chosen by the squared leave-one-out error of the targets.

    Parameters
    ----------
    kernel, alpha, alphas, alpha_per_target
        As in `KernelRidge`.
    fit_intercept : bool, default True
        Learn b, because classes are seldom of equal size.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the examples of each class.
    solver, n_centers, centers, preconditioner, tol, max_iter, random_state
        As in `KernelRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learners import KernelRidgeClassifier
    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> model = KernelRidgeClassifier("polynomial(2)", alpha=0.1).fit(X, ["a", "b", "a", "b"])
    >>> model.predict([[2.0, 1.0], [2.0, -1.0]])
    array(['a', 'b'], dtype='<U1')
    """

    #: Whether y has a column of 0 and 1 for each label.
    _multilabel = False

    _: KW_ONLY
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for one target per class, or one in all for two classes."""
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True, multi_output=True)
        self._multilabel = not is_chunked(y) and y.ndim == 2
        if self._multilabel:
            self._fit(X, self._of_labels(y), weights_or_none(sample_weight, X))
            return self
        self.classes_, codes, weights = labeled(
            type(self).__name__, y, weights_or_none(sample_weight, X), self.class_weight
        )
        n_classes = len(self.classes_)
        if is_chunked(codes):
            width = () if n_classes == 2 else (n_classes,)
            self._fit(X, codes.mapped(partial(signs, n_classes=n_classes), width, float), weights)
        else:
            self._fit(X, signs(codes, n_classes), weights)
        return self

    def _of_labels(self, y: np.ndarray) -> np.ndarray:
        """Targets ±1 of columns that say 0 or 1 of one label each."""
        if not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"several columns of y must be 0 or 1, one per label; they are {type_of_target(y)}"
            )
        if self.class_weight is not None:
            raise ValueError("class_weight is for one column of classes; use sample_weight")
        self.classes_ = np.arange(y.shape[1])
        return np.where(y > 0, 1.0, -1.0)

    def decision_function(self, X: Any) -> Any:
        """f(x): one score per class or label, or one in all for two classes (> 0: the second)."""
        return self._values(self._checked(X))

    def predict(self, X: Any) -> Any:
        """The class of the highest score; of several labels, 1 for each with a score above 0."""
        scores = self.decision_function(X)
        if self._multilabel:
            return 1 * (scores > 0)
        return labels_at(winners(scores), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
