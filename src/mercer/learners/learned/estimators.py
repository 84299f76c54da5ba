"""RFMRegressor and RFMClassifier: ridge regression whose kernel learns which directions matter."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._arrays import host, is_chunked
from mercer._bases import BaseEstimator, MultiOutputMixin
from mercer._machine.threads import single_threaded_blas
from mercer._notices import log
from mercer._parameters import (
    Anything,
    Check,
    Count,
    Either,
    Maybe,
    Number,
    OneOf,
    Positive,
    check_parameters,
)
from mercer.expansion import KernelExpansion
from mercer.gram.gradients import outer_product
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import (
    ClassifierMixin,
    RegressorMixin,
    check_fitted,
    refuse_text,
    targets,
)
from mercer.learners._options import labeled, weights_or_none
from mercer.learners.learned.heads import calibrated, held_out_scores, log_shares, logits_of
from mercer.learners.learned.leaves import PATH_ROWS, Leaves, grown, mapped, rows_of_leaf
from mercer.learners.ridges.estimators import KernelRidge
from mercer.learners.saving import Savable
from mercer.maps.learned.choice import METRICS, Recipe, Search, family
from mercer.maps.learned.inputs import INPUTS, merged
from mercer.maps.learned.metric import metric_for, sample, squared, standardized, unless_auto
from mercer.maps.learned.rounds import PENALTIES, kernel_of, solved, threads_for


@estimator
class _Learned(Savable, BaseEstimator):
    """What both share: choose, learn the metric, solve."""

    _parameters: ClassVar[dict[str, Check]]

    metric: str = parameter(OneOf("auto", *METRICS), default="auto")
    rounds: Any = parameter(Either(OneOf("auto"), Maybe(Count(0))), default="auto", was=None)
    _: KW_ONLY
    norm: float | str = parameter(Either(OneOf("auto"), Number(0.1, 2.0)), default="auto")
    inputs: str = parameter(OneOf("auto", *INPUTS), default="auto")
    power: Any = parameter(
        Either(OneOf("auto"), Maybe(Number(0.01, 2.0))), default="auto", was=None
    )
    length: Any = parameter(Either(OneOf("auto"), Maybe(Positive())), default="auto", was=None)
    alpha: float | str = parameter(Either(OneOf("auto"), Positive()), default="auto", was="loo")
    n_centers: int | None = parameter(Maybe(Count()), default=None)

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        who = type(self).__name__
        if is_chunked(X):
            raise TypeError(f"{who} learns from rows in one process: give it an array, X.compute()")
        refuse_text(X, who)
        rows: np.ndarray = validate_data(self, host(X), reset=reset, dtype=np.float64, order="C")
        return rows

    def _learn(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Recipe, np.ndarray, np.ndarray, np.ndarray]:
        """The kernel with its metric, for targets (n, T) of comparable spread.

        Returns how it was chosen; then different rows, their mean targets and their weights.
        """
        X, Y, w = merged(X, Y, weights)
        w = w / w.mean()
        settings = family(self.inputs, self.norm, self.metric, X.shape[1])
        penalties = PENALTIES if self.alpha == "auto" else np.array([float(self.alpha)])
        rounds, length, power = map(unless_auto, (self.rounds, self.length, self.power))
        search = Search(length, power, penalties)
        recipe, self.inputs_, roots = metric_for(X, Y, w, settings, rounds, search)
        Z, mean = self.inputs_(X), np.average(Y, axis=0, weights=w)
        root, last = roots[-1] if roots else None, len(roots)
        self.alpha_ = recipe.penalties[last]
        self.kernel_ = kernel_of(recipe.shapes[last], root, Z)
        if not roots and len(penalties) > 1:  # with a metric these errors are blind: it saw them
            some = sample(len(Z), PATH_ROWS)
            shape, t = recipe.shapes[0], Y[some] - mean
            with single_threaded_blas():
                self.alpha_ = solved(self.kernel_, shape, Z[some], t, w[some], penalties).penalty
        self.norm_, self.rounds_ = recipe.member.norm, len(roots)
        self.chosen_ = {
            "metric": recipe.member.metric,
            "rounds": len(roots),
            "norm": recipe.member.norm,
            "inputs": recipe.member.inputs,
            "power": recipe.shapes[last].power,
        }
        log("%s: %s", type(self).__name__, self.chosen_)
        self.metric_ = np.ones(Z.shape[1]) if root is None else squared(root)
        self.metrics_ = [squared(one) for one in roots]
        self.error_ = recipe.error
        return recipe, X, Y, w

    def _ridge(
        self, recipe: Recipe, Z: np.ndarray, Y: np.ndarray, w: np.ndarray
    ) -> KernelExpansion | Leaves:
        """f of least squares, with the means of the targets as intercepts."""
        if self.n_centers is None and len(Z) > rows_of_leaf(len(Z)):
            return grown(recipe, self.kernel_, self.alpha_, Z, Y, w)
        mean = np.average(Y, axis=0, weights=w)
        ridge = KernelRidge(
            self.kernel_,
            alpha=self.alpha_,
            fit_intercept=False,
            solver="auto" if self.n_centers is None else "nystrom",
            n_centers=self.n_centers,
        )
        with threads_for(len(Z)):
            f = ridge.fit(Z, Y - mean, sample_weight=w).expansion_
        return KernelExpansion(self.kernel_, f.points, f.coef.reshape(len(f), -1), mean)

    def _keep(self, f: KernelExpansion | Leaves, Z: np.ndarray, w: np.ndarray) -> None:
        """f, and how much it changes along each column."""
        some = sample(len(Z), PATH_ROWS)
        for name in ("expansion_", "leaves_"):
            vars(self).pop(name, None)
        if isinstance(f, Leaves):
            self.leaves_: Leaves = f
            slopes = f.steepness(PATH_ROWS)
        else:
            self.expansion_: KernelExpansion = f
            coef = f.coef.reshape(len(f), -1)
            slopes = outer_product(self.kernel_, Z[some], f.points, coef, w[some], diagonal=True)
        folded = self.inputs_.folded(slopes)
        total = folded.sum()
        self.importances_ = folded / total if total > 0 else folded

    def _scores(self, X: Any) -> np.ndarray:
        check_fitted(self, "importances_")
        f = vars(self).get("leaves_") or self.expansion_
        return np.asarray(f(self.inputs_(self._rows(X, reset=False))), dtype=np.float64)


class RFMRegressor(MultiOutputMixin, RegressorMixin, _Learned):
    """A recursive feature machine: f(x) = Σᵢ αᵢ exp(−(‖M^½(x − xᵢ)‖ₚ/length)^power) + b, M learned.

    Fit by ridge regression, see how f changes with x, bend the metric, fit again: M becomes the
    average of ∇f ∇fᵀ. Useless columns fade, directions that matter stretch. Columns are brought to
    one spread before; equal rows count as one. Length, power and λ are chosen by leave-one-out
    errors; norm, metric, inputs and rounds by folds that learn M without their rows. Nothing needs
    to be tuned.

    Parameters
    ----------
    metric : {"auto", "full", "diagonal", "fixed"}, default "auto"
        What is learned: all of M, one weight per column, nothing; or what the folds choose.
    rounds : "auto" or int, default "auto"
        How often the metric is bent; "auto": as often as the folds choose, at most five times.
    norm : "auto" or float, default "auto"
        p, up to 2; "auto" tries 1, for which thresholds in single columns cost little, and 2.
    inputs : {"auto", "values", "ranks", "both"}, default "auto"
        What columns become: values of mean 0 and variance 1, ranks among the training rows, or both
        side by side; "auto" tries values and both.
    power : "auto" or float, default "auto"
        Larger is smoother; "auto" chooses by the leave-one-out error.
    length : "auto" or float, default "auto"
        In units of the median distance; "auto" chooses by the leave-one-out error.
    alpha : "auto" or float, default "auto"
        λ; "auto" chooses by the leave-one-out error.
    n_centers : int or None
        Solve in the span of so many rows, as in `KernelRidge`; None: exactly up to 20,000 rows, or
        as many as memory allows, and of more rows in leaves.

    Attributes
    ----------
    metric_ : ndarray of shape (n_inputs, n_inputs) or (n_inputs,)
        M, or its diagonal; ones where the metric is fixed. Its columns are those of `inputs_`.
    metrics_ : list of ndarray
        M after each round.
    importances_ : ndarray of shape (n_features,)
        The share of each column in the average of ‖∇f‖², columns being of one spread.
    rounds_ : int
    norm_ : float
    chosen_ : dict
        What was chosen, as parameters: with them a fit on more rows takes less time.
    expansion_ : KernelExpansion
        f as a function of the rows that `inputs_` makes.
    leaves_ : Leaves
        In place of `expansion_`, f of many rows: split where f changes most, with an expansion and
        a metric of its own per leaf, and borders in which f goes over from one to the next.
    kernel_ : Kernel
        With its metric.
    alpha_ : float
    inputs_ : callable
        Rows as the kernel takes them.
    error_ : float
        Mean squared error on the folds, in units of the variances of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RFMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> model = RFMRegressor().fit(X, np.sin(2 * X[:, 0]))
    >>> bool(model.importances_[0] > 0.9), model.score(X, np.sin(2 * X[:, 0])) > 0.99
    (True, True)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose, learn the metric, solve. Weights multiply the squared errors."""
        check_parameters(self, self._parameters)
        X = self._rows(X, reset=True)
        y = np.asarray(targets(X, y, type(self).__name__, multi_output=True), dtype=np.float64)
        weights = weights_or_none(sample_weight, X)
        Y = y.reshape(len(y), -1)
        Y, mean, spread = standardized(Y, weights)
        recipe, X, Y, w = self._learn(X, Y, weights)
        Z = self.inputs_(X)
        scale, b = (spread, mean[0]) if y.ndim == 1 else (np.diag(spread), mean)
        self._keep(mapped(self._ridge(recipe, Z, Y, w), scale, b), Z, w)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for every row."""
        return self._scores(X)


@estimator
class RFMClassifier(ClassifierMixin, _Learned):
    """A recursive feature machine for classes: as `RFMRegressor`, on centered codes of the classes.

    Scores become probabilities by a logistic regression on those of rows that folds left out. The
    most probable class is predicted.

    Parameters
    ----------
    metric, rounds, norm, inputs, power, length, alpha, n_centers
        As in `RFMRegressor`.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the examples of each class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    metric_, metrics_, importances_, rounds_, norm_, chosen_, expansion_, leaves_, kernel_, alpha_
    inputs_, error_
        As in `RFMRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RFMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> model = RFMClassifier().fit(X, np.where(X[:, 0] * X[:, 1] > 0, "like", "unlike"))
    >>> model.predict([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0]])
    array(['like', 'unlike'], dtype='<U6')
    """

    _parameters: ClassVar[dict[str, Check]] = _Learned._parameters | {"class_weight": Anything()}

    _: KW_ONLY
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose, learn the metric, solve; then calibrate the probabilities."""
        check_parameters(self, self._parameters)
        X = self._rows(X, reset=True)
        y = targets(X, y, type(self).__name__, labels=True)
        weights = weights_or_none(sample_weight, X)
        self.classes_, codes, weights = labeled(type(self).__name__, y, weights, self.class_weight)
        n_classes = len(self.classes_)
        first = 1 if n_classes == 2 else 0
        Y = (codes[:, None] == np.arange(first, n_classes)).astype(np.float64)
        recipe, X, Y, w = self._learn(X, Y, weights)
        some, Z = sample(len(X), PATH_ROWS), self.inputs_(X)
        with single_threaded_blas():
            held_out = held_out_scores(recipe, X[some], Y[some], w[some])
            calibration = calibrated(held_out, Y[some], w[some])
        self._keep(logits_of(self._ridge(recipe, Z, Y, w), calibration), Z, w)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The logarithms of the odds: one per class, or one in all for two classes."""
        scores = self._scores(X)
        of_file = vars(self).get("_calibration")  # of a file of an earlier version
        return scores if of_file is None else np.asarray(of_file.decision_function(scores))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class."""
        return np.exp(log_shares(self.decision_function(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        winners = log_shares(self.decision_function(X)).argmax(axis=1)
        labels: np.ndarray = self.classes_[winners]
        return labels
