"""calibrate(model): intervals and sets that miss the truth no more often than they are allowed to.

    split        |y − f(x)| of examples that f has not seen
    CV+          f without the fold of each example, plus or minus its residual there
    jackknife+   the same with every example as a fold of its own

The last two refit a ridge regression in closed form (`mercer.learners.intervals.deletion`).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host
from mercer._bases import BaseEstimator, MetaEstimatorMixin
from mercer._config import get_config
from mercer._examples import count, take
from mercer._parameters import Check, Count, Number, OneOf, check_parameters, checked, random_from
from mercer.gram import as_rows, check_not_empty, host_gram
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, RegressorMixin, classes_of, encode, targets
from mercer.learners.intervals.deletion import Deletions
from mercer.learners.logistic import KernelLogisticRegression
from mercer.learners.processes.regression import GaussianProcessRegressor
from mercer.learners.ridges.estimators import KernelRidge
from mercer.learners.saving import Savable

#: Beyond so many examples "auto" splits them: the inverse of K + λI takes minutes.
CALIBRATED_ROWS = 5000
#: Solvers of ridge regression that find the same f.
EXACT = ("primal", "eigh", "cholesky", "cg", "gradient")
MISS_RATE: Check = Number(0.0, 1.0, open_low=True, open_high=True)


def calibrate(
    model: Any,
    method: str = "auto",
    *,
    cv: int = 10,
    calibration_share: float = 0.5,
    random_state: Any = None,
) -> Any:
    """P(y in interval) ≥ 1 − α: a model whose intervals cover, whatever the data is like.

    No assumption is made but that examples are drawn alike. The interval of a model that is wrong
    is wide, and still covers.

    Parameters
    ----------
    model : regressor or classifier, not yet fitted
        Of this library or of scikit-learn.
    method : {"auto", "jackknife+", "cv+", "split"}
        "jackknife+" and "cv+" use all examples for both learning and calibration: for
        `KernelRidge` and `GaussianProcessRegressor` in closed form, "cv+" for others by refits.
        They cover 1 − α in practice and 1 − 2α in the worst case. The closed form leaves out
        examples, and not what was chosen with their help: the penalty λ and the numbers of a kernel
        are those of all examples in every fold. "split" learns from a part and
        calibrates by the rest, for any model, and covers 1 − α; the intervals of a
        `KernelQuantileRegressor` are as wide as its outer levels say. "auto": "jackknife+" where
        the closed form is at hand for at most 5000 examples, "split" otherwise.
    cv : int
        Folds of "cv+".
    calibration_share : float
        Of "split": the share of examples for calibration. More make the rate exact, fewer leave
        more to learn from.
    random_state : int, RandomState or None
        Draws the parts and folds. None draws as 0 does, the same in every fit.

    Returns
    -------
    estimator
        `fit(X, y)`, `predict(X)`, and `predict_interval(X, alpha)` of shape (n, 2) for numbers,
        `predict_set(X, alpha)` of shape (n, n_classes) for classes.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.2 * np.random.default_rng(0).normal(size=60)
    >>> model = mercer.calibrate(mercer.KernelRidge("gaussian(1)", alpha=0.1)).fit(x, y)
    >>> model.method_, model.predict_interval([[1.5]], alpha=0.1).round(2)
    ('jackknife+', array([[0.61, 1.19]]))
    """
    if is_classifier(model):
        return ConformalClassifier(
            model, calibration_share=calibration_share, random_state=random_state
        )
    return ConformalRegressor(
        model, method, cv=cv, calibration_share=calibration_share, random_state=random_state
    )


class _Conformal(Savable, MetaEstimatorMixin, BaseEstimator):
    """What both kinds share: the split, and the level of scores that covers."""

    model: Any
    calibration_share: float
    random_state: Any

    def _parts(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Examples to learn from, and to calibrate by."""
        if n < 2:
            raise ValueError(f"calibration needs at least 2 examples, got n_samples = {n}")
        order = random_from(self.random_state).permutation(n)
        held = min(max(1, round(float(self.calibration_share) * n)), n - 1)
        return np.sort(order[held:]), np.sort(order[:held])

    def _refuse_matrix(self) -> None:
        kernel = getattr(self.model, "kernel", None)
        if kernel == "precomputed" or getattr(kernel, "takes_matrix", False):
            raise ValueError("calibration takes parts of the examples: give a kernel, not a matrix")

    def _started(self, X: Any, y: Any, labels: bool) -> tuple[Any, np.ndarray]:
        check_parameters(self, self._parameters)
        self._refuse_matrix()
        X = host(X)
        like_an_array = hasattr(X, "__array__") and not hasattr(X, "shape")
        X = np.asarray(X) if like_an_array else as_rows(X)
        check_not_empty(X, "X")
        return X, targets(X, y, type(self).__name__, labels=labels)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._base().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        return tags

    def _base(self) -> Any:
        raise NotImplementedError

    @property
    def n_features_in_(self) -> int:
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        return self.model_.feature_names_in_


def level(scores: np.ndarray, alpha: float) -> float:
    """The ⌈(n + 1)(1 − α)⌉-th smallest score: one more, drawn alike, is above it with rate α."""
    rank = math.ceil((len(scores) + 1) * (1.0 - alpha) - 1e-9)
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


@estimator
class ConformalRegressor(RegressorMixin, _Conformal):
    """f(x) ± what others were off by: see `mercer.calibrate`, which makes one.

    Attributes
    ----------
    model_ : the fitted model that `predict` asks
    method_ : "jackknife+", "cv+" or "split"
    residuals_ : ndarray
        What f was off by at each example that it had not seen; with "split" how far y was outside
        of f, or of the outer quantiles of a model that has them (below 0 for inside).
    """

    model: Any = None
    method: str = parameter(OneOf("auto", "jackknife+", "cv+", "split"), default="auto")
    _: KW_ONLY
    cv: int = parameter(Count(2), default=10)
    calibration_share: float = parameter(MISS_RATE, default=0.5)
    random_state: Any = None

    def _base(self) -> Any:
        return KernelRidge() if self.model is None else self.model

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model, and learn what it is off by."""
        X, y = self._started(X, y, labels=False)
        y = np.asarray(y, dtype=np.float64)
        self.__dict__.pop("_deletions", None)
        self._folds: list[np.ndarray] = []
        self._models: list[Any] = []
        base, method, n = clone(self._base()), self.method, count(X)
        ridge_like = isinstance(base, (KernelRidge, GaussianProcessRegressor))
        if method == "split" or (method == "auto" and (not ridge_like or n > CALIBRATED_ROWS)):
            return self._split(base, X, y)
        if method == "jackknife+" and not ridge_like:
            raise ValueError(
                f"jackknife+ needs the closed form of KernelRidge or GaussianProcessRegressor, and "
                f"{type(base).__name__} has none: method='cv+' refits it, 'split' does not"
            )
        self.model_: Any = base.fit(X, y)
        if ridge_like and self._ridge().solver_ in EXACT:
            return self._closed_form(y)
        if method == "auto":
            return self._split(clone(base), X, y)
        if method == "jackknife+":
            raise ValueError("jackknife+ needs an exact solver of ridge regression, not centers")
        return self._refit(X, y)

    def _closed_form(self, y: np.ndarray) -> Self:
        self.method_ = "cv+" if self.method == "cv+" else "jackknife+"
        self._folds = self._draw_folds(len(y)) if self.method_ == "cv+" else []
        self._y = self._targets(y)
        self.residuals_: np.ndarray = self._deletions.residuals * self._scale
        return self

    def _draw_folds(self, n: int) -> list[np.ndarray]:
        order = random_from(self.random_state).permutation(n)
        return [np.sort(part) for part in np.array_split(order, min(int(self.cv), n)) if len(part)]

    def _split(self, base: Any, X: Any, y: np.ndarray) -> Self:
        self.method_ = "split"
        learned, held = self._parts(count(X))
        self.model_ = base.fit(take(X, learned), y[learned])
        low, high = self._band(take(X, held))
        self.residuals_ = np.maximum(low - y[held], y[held] - high)
        return self

    def _band(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """What is widened until it covers: the outer quantiles of a model that has them, or f."""
        if hasattr(self.model_, "predict_quantiles"):
            levels = self.model_.predict_quantiles(X)
            return levels[:, 0], levels[:, -1]
        center = np.asarray(host(self.model_.predict(X)), dtype=np.float64)
        return center, center

    def _refit(self, X: Any, y: np.ndarray) -> Self:
        """A model without each fold, for what has no closed form."""
        self.method_, self._folds = "cv+", self._draw_folds(len(y))
        self.residuals_ = np.empty(len(y))
        for fold in self._folds:
            others = np.setdiff1d(np.arange(len(y)), fold)
            model = clone(self._base()).fit(take(X, others), y[others])
            self.residuals_[fold] = y[fold] - np.asarray(host(model.predict(take(X, fold))))
            self._models.append(model)
        return self

    # --- the closed form ----------------------------------------------------------------------

    def _ridge(self) -> Any:
        return getattr(self.model_, "regressor_", self.model_)

    @property
    def _scale(self) -> float:
        """A process learns from normalized targets: the size of one of their units."""
        return float(getattr(self.model_, "_y_scale", 1.0))

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return np.asarray((y - getattr(self.model_, "_y_mean", 0.0)) / self._scale)

    @cached_property
    def _deletions(self) -> Deletions:
        ridge = self._ridge()
        gram = host_gram(ridge.kernel_, host(ridge.X_fit_))
        alpha, intercept = float(np.max(ridge.alpha_)), bool(ridge.fit_intercept)
        return Deletions(gram, self._y, alpha, intercept, self._folds or None)

    def __getstate__(self) -> dict[str, Any]:
        # The inverse is as large as K; it is made again when asked for.
        return {k: v for k, v in super().__getstate__().items() if k != "_deletions"}

    def _without(self, X: Any) -> np.ndarray:
        """f without the example's fold, at each x: (n_rows, n_folds)."""
        if self._models:
            return np.stack([np.asarray(host(m.predict(X))) for m in self._models], axis=1)
        ridge = self._ridge()
        X = ridge._checked(X)
        rows = host_gram(ridge.kernel_, host(X), host(ridge.X_fit_)).dense()
        mean = float(getattr(self.model_, "_y_mean", 0.0))
        return self._deletions.predictions(rows) * self._scale + mean

    # --- answers ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The model's own prediction."""
        check_is_fitted(self)
        return self.model_.predict(X)

    def predict_interval(self, X: Any, alpha: float = 0.1) -> np.ndarray:
        """(n, 2): the ends of an interval that misses y with a rate of at most α.

        An end is infinite where there are too few examples for so small a rate.
        """
        check_is_fitted(self)
        alpha = checked(type(self).__name__, "alpha", alpha, MISS_RATE)
        if self.method_ == "split":
            (low, high), width = self._band(X), level(self.residuals_, alpha)
            return np.stack([low - width, high + width], axis=1)
        n = len(self.residuals_)
        step = int(max(1, get_config().memory_bytes // (64 * n)))
        parts = [take(X, slice(i, i + step)) for i in range(0, count(X), step)]
        return np.concatenate([self._interval(part, alpha) for part in parts])

    def _interval(self, X: Any, alpha: float) -> np.ndarray:
        centers, off = self._without(X), np.abs(self.residuals_)
        if self._folds:
            spread = np.empty((len(centers), len(off)))
            for j, fold in enumerate(self._folds):
                spread[:, fold] = centers[:, j : j + 1]
            centers = spread
        n = len(off)
        rank = math.ceil((1.0 - alpha) * (n + 1) - 1e-9)
        ends = np.tile([-math.inf, math.inf], (len(centers), 1))
        if rank <= n:
            ends[:, 0] = -np.partition(off - centers, rank - 1, axis=1)[:, rank - 1]
            ends[:, 1] = np.partition(centers + off, rank - 1, axis=1)[:, rank - 1]
        return ends


@estimator
class ConformalClassifier(ClassifierMixin, _Conformal):
    """All classes as probable as those of others were: see `mercer.calibrate`, which makes one.

    Attributes
    ----------
    model_ : the fitted model, whose scores rank the classes
    classes_ : ndarray of shape (n_classes,)
    scores_ : ndarray
        The score of the true class of each example kept for calibration.
    """

    model: Any = None
    _: KW_ONLY
    calibration_share: float = parameter(MISS_RATE, default=0.5)
    random_state: Any = None

    def _base(self) -> Any:
        return KernelLogisticRegression() if self.model is None else self.model

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model on a part, and learn its scores of true classes on the rest."""
        X, y = self._started(X, y, labels=True)
        self.classes_: np.ndarray = classes_of(y, type(self).__name__)
        learned, held = self._parts(count(X))
        # Every class is learned from; examples move over where one would be missing.
        missing = np.setdiff1d(self.classes_, y[learned])
        moved = np.array([held[y[held] == label][0] for label in missing], dtype=np.intp)
        learned, held = np.sort([*learned, *moved]).astype(np.intp), np.setdiff1d(held, moved)
        self.model_ = clone(self._base()).fit(take(X, learned), y[learned])
        self.scores_: np.ndarray = np.empty(0)
        if len(held):
            codes = encode(y[held], self.classes_)
            self.scores_ = self._scores(take(X, held))[np.arange(len(held)), codes]
        return self

    def _scores(self, X: Any) -> np.ndarray:
        """A column per class, larger where it is likelier."""
        if hasattr(self.model_, "predict_proba"):
            return np.asarray(host(self.model_.predict_proba(X)))
        scores = np.asarray(host(self.model_.decision_function(X)))
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> Any:
        """The model's own prediction."""
        check_is_fitted(self)
        return self.model_.predict(X)

    def predict_set(self, X: Any, alpha: float = 0.1) -> np.ndarray:
        """(n, n_classes): which classes are in the set, which misses the true one at a rate ≤ α.

        The likeliest class is always in it.
        """
        check_is_fitted(self)
        alpha = checked(type(self).__name__, "alpha", alpha, MISS_RATE)
        scores = self._scores(X)
        inside = -scores <= level(-self.scores_, alpha)
        inside[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return inside
