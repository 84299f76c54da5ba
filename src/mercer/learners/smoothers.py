"""Smoothers: the answer at x is made of the examples near x, weighted by k(x/h, xₙ/h)."""

from __future__ import annotations

import copy
import math
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np

from mercer._arrays import host, is_chunked, is_sparse, is_tensor, like
from mercer._bases import MultiOutputMixin
from mercer._config import get_config
from mercer._examples import count, take
from mercer._lazy import record
from mercer._notices import DataWarning, KernelWarning, warn
from mercer._parameters import Either, Flag, OneOf, Positive, Several
from mercer.formula import simplify
from mercer.formula.inputs import numeric
from mercer.gram import formula_of
from mercer.kernels import DEFAULT, Kernel
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import (
    ClassifierMixin,
    KernelLearner,
    RegressorMixin,
    check_fitted,
    labels_at,
)
from mercer.learners._options import fetched, labeled, together, weights_or_none
from mercer.learners._widths import own_widths
from mercer.solvers.local.bandwidth import copies, leave_one_out_bandwidth, rule_of_thumb
from mercer.solvers.local.means import weighted_means
from mercer.solvers.local.weights import Weights

#: Examples in pieces that a bandwidth is chosen on, drawn with a fixed seed.
BANDWIDTH_ROWS = 2000


@record
class Estimate:
    """At each query: the estimated value; the variance of the targets around it; the factor that
    turns this into the variance of the estimate; and whether no example was near."""

    value: np.ndarray
    variance: np.ndarray | None
    share: np.ndarray | None
    far: np.ndarray


@record
class Sample:
    """Training examples: inputs, targets, weights; `group` maps more examples to these."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    group: np.ndarray | None


def divide(X: Any, bandwidth: Any) -> Any:
    """x / h for every row, h a number or one per column; columns that are no numbers stay."""
    h = np.asarray(bandwidth, dtype=float)
    if (h == 1).all():
        return X
    if is_chunked(X):
        return X.mapped(partial(divide, bandwidth=h), X.shape[1:], X.dtype)
    if is_tensor(X):
        import torch

        wide = torch.promote_types(X.dtype, torch.float32)
        return X.to(wide) / torch.as_tensor(h, device=X.device).to(wide)
    if hasattr(X, "iloc"):
        each = np.broadcast_to(h, X.shape[1])
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        parts = [c / h if c.dtype.kind in "biuf" else c for c, h in zip(columns, each, strict=True)]
        return type(X)(dict(zip(X.columns, parts, strict=True)), index=X.index)
    rows = numeric(X)
    if is_sparse(rows):
        return rows.multiply((1.0 / h).astype(rows.dtype)).tocsr()
    return rows / h.astype(rows.dtype)


@estimator
class Smoother(KernelLearner):
    """The base of smoothers: examples kept, a bandwidth chosen, weights made."""

    _needs_psd = False
    _needs_width = False

    kernel: Any = DEFAULT
    bandwidth: Any = parameter(
        Either(OneOf("auto", "rule"), Several(Positive())), default="auto", was="loo"
    )
    _: KW_ONLY
    per_column: bool = parameter(Flag(), default=False)

    def _estimate(
        self, weights: Weights, queries: Any, sample: Sample, spread: bool = False
    ) -> Estimate:
        """What is fitted at each query; `queries` are the examples before division by h."""
        found = weighted_means(weights, sample.y, sample.weight, spread=spread)
        return Estimate(found.mean, found.variance, found.concentration, found.far)

    def _with_numbers(self, kernel: Kernel, X: Any, sample_weight: Any) -> Kernel:
        """The bandwidth is the width that the data chooses here, so that words become 1."""
        if kernel.is_opaque:
            return super()._with_numbers(kernel, X, sample_weight)
        return kernel.with_widths()

    # --- fit -----------------------------------------------------------------------------

    def _keep(self, X: Any, y: np.ndarray, sample_weight: Any) -> None:
        """Keep the examples that have weight, and choose the bandwidth on them."""
        y = y if y.ndim == 2 else y[:, None]
        index = np.arange(count(X))
        self.sample_weight_ = weights_or_none(sample_weight, X)
        if self.sample_weight_ is not None and not self.sample_weight_.all():
            together(self, X, "weights of 0")
            index = np.flatnonzero(self.sample_weight_)
            X, y, self.sample_weight_ = take(X, index), y[index], self.sample_weight_[index]
        self.X_fit_: np.ndarray | Any = index if self.kernel_.takes_matrix else X
        self.y_fit_: np.ndarray = np.asarray(y, dtype=np.float64)
        self._choose()

    def _choose(self) -> None:
        self.loo_error_: float = np.nan
        given = self.bandwidth
        if not isinstance(given, str):
            self.bandwidth_: float = self._checked(given)
            return
        if self.kernel_.is_opaque:
            # x/h has no meaning for strings, graphs or a given matrix: k is used as it is.
            self.bandwidth_ = 1.0
            return
        if own := own_widths(self.kernel_):
            warn(
                f"{self.kernel_!r} has a width of its own ({', '.join(own)}), and "
                f"bandwidth={given!r} chooses h for k(x/h, z/h) beside it: give bandwidth=1 to use "
                "the kernel as it is, or leave its width at 1",
                KernelWarning,
            )
        everyone, share = self._without_copies(), 1.0
        if is_chunked(self.X_fit_):
            everyone, share = self._sample()
        start = rule_of_thumb(
            self.kernel_,
            host(everyone.X),
            per_column=self.per_column,
            sample_weight=everyone.weight,
        )
        if given == "rule":
            self.bandwidth_ = start * share
            return
        choice = leave_one_out_bandwidth(
            partial(self._left_out, everyone),
            everyone.y,
            start,
            everyone.weight,
            partial(self._by_workers, everyone) if get_config().cluster is not None else None,
        )
        self.bandwidth_, self.loo_error_ = choice.bandwidth * share, choice.error
        self.bandwidths_tried_: tuple[tuple[Any, float], ...] = choice.tried

    def _checked(self, given: Any) -> Any:
        h = np.asarray(given, dtype=float)
        if self.kernel_.is_opaque and (h != 1).any():
            raise ValueError(
                f"{self.kernel_!r} is not a function of vectors, so x/h has no meaning: leave "
                "bandwidth at 1 (or 'auto') and set the kernel's own parameters"
            )
        if h.ndim and h.size != self.n_features_in_:
            raise ValueError(
                f"one bandwidth per column was given ({h.size} of them), but X has "
                f"{self.n_features_in_} columns"
            )
        return h if h.ndim else float(h)

    def _sample(self) -> tuple[Sample, float]:
        """Some of the examples in pieces, and what a bandwidth for them is to be multiplied by.

        The best bandwidth falls with the number of examples N as N^(−1/(D + 4)).
        """
        n, size = count(self.X_fit_), min(BANDWIDTH_ROWS, count(self.X_fit_))
        rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        weight = None if self.sample_weight_ is None else self.sample_weight_[rows]
        share = (size / n) ** (1.0 / (self.n_features_in_ + 4))
        return Sample(self.X_fit_[rows], self.y_fit_[rows], weight, None), share

    def _without_copies(self) -> Sample:
        if is_chunked(self.X_fit_):
            return Sample(self.X_fit_, self.y_fit_, self.sample_weight_, None)
        found = copies(host(self.X_fit_), self.y_fit_)
        if found is None:
            return Sample(self.X_fit_, self.y_fit_, self.sample_weight_, None)
        first, group = found
        weight = np.bincount(group, weights=self.sample_weight_).astype(np.float64)
        return Sample(take(self.X_fit_, first), self.y_fit_[first], weight, group)

    def _left_out(self, sample: Sample, h: Any, rows: np.ndarray) -> np.ndarray:
        """The prediction of some examples, each from all the others."""
        scaled = divide(sample.X, h)
        everyone = len(rows) == count(sample.X)
        queries = scaled if everyone else take(scaled, rows)
        weights = Weights(self._formula, queries, scaled, rows)
        return self._estimate(weights, take(sample.X, rows), sample).value

    def _by_workers(self, sample: Sample, grid: list[Any], rows: np.ndarray) -> list[np.ndarray]:
        """`_left_out` for every bandwidth of a grid, a task each."""
        from mercer.engines.cluster.pool import Call, gather_until

        model: Any = copy.copy(self)
        model.X_fit_ = model.y_fit_ = None  # the sample is all that a task looks at
        calls = [Call(model._left_out, (sample, h, rows)) for h in grid]
        found = gather_until(calls, "bandwidth", math.inf)
        for one in found:
            if isinstance(one, Exception):
                raise one
        return found

    def leave_one_out(self) -> np.ndarray:
        """The prediction of every training example from all the others, at the bandwidth found.

        Copies of an example (the same x, always with the same y) are left out together.
        """
        check_fitted(self, "X_fit_")
        if self.kernel_.takes_matrix:
            raise TypeError("leave-one-out needs the training examples; a given matrix is not kept")
        sample = self._without_copies()
        values = self._left_out(sample, self.bandwidth_, np.arange(count(sample.X)))
        return self._shaped(values if sample.group is None else values[sample.group])

    # --- predict ---------------------------------------------------------------------------

    @property
    def _formula(self) -> Any:
        return simplify(formula_of(self.kernel_))

    def _evaluate(self, X: Any, spread: bool = False) -> Estimate:
        check_fitted(self, "X_fit_")
        X = self._examples(X, reset=False)
        if self.kernel_.takes_matrix:
            weights = Weights(self._formula, X, self.X_fit_)
        else:
            points = divide(self.X_fit_, self.bandwidth_)
            queries = divide(X, self.bandwidth_)
            weights = Weights(self._formula, queries, points)
        sample = Sample(self.X_fit_, self.y_fit_, self.sample_weight_, None)
        found = self._estimate(weights, X, sample, spread)
        if found.far.any():
            warn(
                f"{int(found.far.sum())} of {len(found.far)} examples are so far from all training "
                "examples that k is 0 there to machine precision; their nearest neighbors alone "
                "answer. A larger bandwidth, or a kernel with longer tails, reaches farther.",
                DataWarning,
            )
        return found

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values


class SmoothingRegressor(MultiOutputMixin, RegressorMixin, Smoother):
    """What smoothers of numbers share: predict with local spread, and bands."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the examples and choose the bandwidth."""
        X, y = self._start(X, y, multi_output=True)
        y = fetched(y)
        self._one_output = y.ndim == 1
        self._keep(X, y, sample_weight)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The value at each row; with `return_std` also the local spread of the targets there."""
        found = self._evaluate(X, spread=return_std)
        value = like(self._shaped(found.value), X)
        if not return_std:
            return value
        assert found.variance is not None
        return value, like(self._shaped(np.sqrt(found.variance)), X)

    def confidence_band(self, X: Any, level: float = 0.95) -> tuple[Any, Any, Any]:
        """The value at each row, and a lower and an upper end that hold the mean there.

        Pointwise, normal: value ± z·s(x)·√share, s² the local variance with one degree of freedom
        taken off for the fit, share the variance of the value for noise of variance 1. The bias of
        the smoother is not in it. Where one example makes the value there is no variance to see,
        and the band is infinite.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        from scipy.special import ndtri

        found = self._evaluate(X, spread=True)
        assert found.variance is not None
        assert found.share is not None
        share = found.share[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(found.variance * share / (1.0 - share))
        error = np.where(share < 1 - 1e-9, error, np.inf)
        half = float(ndtri(0.5 + 0.5 * level)) * error
        parts = (found.value, found.value - half, found.value + half)
        return tuple(like(self._shaped(p), X) for p in parts)  # type: ignore[return-value]

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._one_output else values


class NadarayaWatsonRegressor(SmoothingRegressor):
    """y(x) = Σₙ k(x/h, xₙ/h) tₙ / Σₙ k(x/h, xₙ/h): the weighted average of nearby targets.

    Far from all data, where k rounds to 0, the answer is still that of the formula: weights are
    taken relative to the largest, from log k, and for a Gaussian it tends to the nearest
    neighbor's value. Where k is truly 0 (compact kernels) or has no logarithm, it is the nearest
    neighbor's value at once. Both warn; neither is ever NaN.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        Any k with k(x, z) ≥ 0; it need not be positive semi-definite.
    bandwidth : "auto", "rule", number or one per column, default "auto"
        h. "auto" minimizes the exact leave-one-out error, "rule" is a rule of thumb. Kernels on
        other things than vectors have no h. Copies of an example (where the same x always comes
        with the same y) are left out together: one of them would give the other away.
    per_column : bool
        Whether "auto" and "rule" choose one h for each column.

    Attributes
    ----------
    bandwidth_ : the bandwidth in use
    loo_error_ : its mean squared leave-one-out error, where it was chosen by that
    X_fit_, y_fit_ : the examples kept (those of positive weight)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NadarayaWatsonRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> NadarayaWatsonRegressor("gaussian()", bandwidth=0.5).fit(X, y).predict([[1.0]]).round(4)
    array([1.213])
    """

    _learns_from_pieces = True


@estimator
class NadarayaWatsonClassifier(ClassifierMixin, Smoother):
    """h(x) = argmax over classes c of Σₙ k(x/h, xₙ/h) [tₙ = c]: the weighted majority.

    For labels ±1 this is sign Σₙ k(x, xₙ) tₙ; a tie goes to the first class. The shares of the
    weights are the probabilities. Parameters as in `NadarayaWatsonRegressor`; "auto" minimizes the
    squared error of the leave-one-out probabilities.

    Parameters
    ----------
    kernel, bandwidth, per_column
        As in `NadarayaWatsonRegressor`.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the examples of each class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    bandwidth_ : float or ndarray of shape (n_features,)
        The bandwidth in use.
    loo_error_ : float
        Its mean squared leave-one-out error, where it was chosen by that.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NadarayaWatsonClassifier
    >>> X, y = np.array([[0.0], [1.0], [5.0]]), np.array(["a", "a", "b"])
    >>> model = NadarayaWatsonClassifier(bandwidth=1.0).fit(X, y)
    >>> model.predict([[4.0]]), model.predict_proba([[2.5]]).round(3)
    (array(['b'], dtype='<U1'), array([[0.893, 0.107]]))
    """

    _learns_from_pieces = True

    _: KW_ONLY
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the examples and choose the bandwidth."""
        X, y = self._start(X, y, labels=True)
        given, who = weights_or_none(sample_weight, X), type(self).__name__
        self.classes_, index, weights = labeled(who, fetched(y), given, self.class_weight)
        self._keep(X, np.eye(len(self.classes_))[index], weights)
        return self

    def predict_proba(self, X: Any) -> Any:
        """The share of each class in the weights at each row."""
        shares = np.clip(self._evaluate(X).value, 0.0, 1.0)
        return like(np.asarray(shares / shares.sum(axis=1, keepdims=True)), X)

    def predict(self, X: Any) -> Any:
        """The class of the largest share."""
        return labels_at(self.predict_proba(X).argmax(axis=1), self.classes_)
