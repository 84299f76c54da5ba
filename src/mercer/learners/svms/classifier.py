"""KernelSVC: the widest margin between classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import are_float_rows, host, is_chunked, is_tensor, like, winners
from mercer._config import config
from mercer._machine.jit import may_compile
from mercer._machine.threads import blas_for
from mercer._parameters import Flag, Maybe, OneOf, Positive, Share
from mercer._steps import PairStep, recorded
from mercer.expansion import KernelExpansion
from mercer.gram.accuracy import rounding
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import NumbersBeside, estimator, parameter
from mercer.learners._base import ClassifierMixin, classes_of, labels_at
from mercer.learners.svms.many_classes import MANY_CLASSES, PairExpansion
from mercer.learners.svms.pairs import Pairs, as_pairs
from mercer.learners.svms.shared import SupportVectorBase, sparse_like, weights_of
from mercer.tuning import NUMPY_PAIRS

# --- From one score per pair of classes to one per class; arrays and tensors alike ----------------


#: Classes up to which votes are counted by a product, whose matrix has a row per pair: it is exact,
#: because votes are whole numbers, and takes a sixth of the time of a loop over 26 classes.
PRODUCT = 64


def pair_votes(values: Any, classes: int) -> Any:
    """Votes a class; a positive score of the pair (i, j) votes for i.

    >>> pair_votes(np.array([[1.0, -1.0, 2.0]]), 3)
    array([[1., 1., 1.]])
    """
    won = values > 0
    if isinstance(won, np.ndarray) and classes <= PRODUCT:
        # A pair that is lost is a vote for its second class, as a pair that is won is one less.
        signed, second = _members(classes)
        return _counted(won, signed) + second
    ones = 2 * _like(won, values) - 1
    # Half a vote for or against, from each of the pairs of a class.
    return 0.5 * (_sums(ones, classes) + (classes - 1))


def one_against_rest(values: Any, classes: int) -> Any:
    """Votes, and within equal votes the sum of scores, squeezed into (−1/3, 1/3)."""
    sums = _sums(values, classes)
    return pair_votes(values, classes) + sums / (3 * (abs(sums) + 1))


def pairs_per_class(chosen: np.ndarray, classes: int) -> np.ndarray:
    """How many of the chosen pairs each class is one of.

    >>> pairs_per_class(np.array([[True, False, True]]), 3)
    array([[1., 2., 1.]])
    """
    if classes <= PRODUCT:
        return _counted(chosen, np.abs(_members(classes)[0]))
    return _sums(chosen.astype(np.float64), classes, 1)


def _counted(pairs: np.ndarray, members: np.ndarray) -> np.ndarray:
    with blas_for(2.0 * pairs.size * members.shape[1]):
        return (pairs.astype(np.float32) @ members).astype(np.float64)


@lru_cache(maxsize=8)
def _members(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """1 where a class is the first of a pair and −1 where it is the second; its pairs as second."""
    first, second = np.triu_indices(classes, 1)
    signed = np.zeros((len(first), classes), dtype=np.float32)
    signed[np.arange(len(first)), first] = 1.0
    signed[np.arange(len(first)), second] = -1.0
    return signed, np.arange(classes, dtype=np.float32)


def _sums(values: Any, classes: int, second: int = -1) -> Any:
    """For each class the scores of the pairs that it is the first of, less those of the others.

    With ``second=1`` those are added.
    """
    sums = _like(like(np.zeros((len(values), classes)), values), values)
    start = 0
    for i in range(classes - 1):
        pairs = values[:, start : start + classes - 1 - i]  # (i, i + 1), (i, i + 2), …
        sums[:, i] += pairs.sum(axis=1)
        sums[:, i + 1 :] += second * pairs
        start += classes - 1 - i
    return sums


def _like(array: Any, values: Any) -> Any:
    """The same numbers in the precision of `values`."""
    return array.astype(values.dtype) if isinstance(array, np.ndarray) else array.to(values.dtype)


# --- Labels by scores in float32, and again in float64 where those do not decide ------------------
# A label needs the signs of scores and none of their digits. In float32 a product takes half the
# time, an exponential a third; predictions took 0.55 to 0.9 of the time of float64, from 500 rows
# of 20 columns to 2000 of 784. The error of k has a bound relative to the largest k (`rounding`),
# and so a score Σᵢ αᵢ kᵢ has that times Σ|α|. A row with a score nearer to zero, whose sign could
# make another class the winner, is computed again: every label is the one that float64 gives.


SINGLE = np.dtype(np.float32)


def quick_winners(
    expansion: KernelExpansion, X: Any, classes: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The index of the class of every row by float32, and the rows that need more digits.

    None where float32 is no gain, or has too few digits for the kernel.
    """
    points = expansion.points
    if (
        not are_float_rows(X)
        or not are_float_rows(points)
        or X.shape[0] * points.shape[0] < NUMPY_PAIRS
    ):
        return None
    many = expansion if isinstance(expansion, PairExpansion) and may_compile() else None
    # Rows in float32 have no more digits: a compiled pass over many classes is the gain then.
    exact = many is not None and X.dtype == points.dtype == SINGLE
    if (not exact and not X.dtype == points.dtype == np.float64) or expansion.has_monomials(X):
        return None
    gram = expansion.gram_in_single(X)
    error = None if gram is None else 0.0 if exact else rounding(gram)
    if error is None:
        return None
    bounds = np.asarray(error * gram.largest * expansion.weights, dtype=SINGLE)
    if many is not None:
        judged = many.in_panels(gram, lambda K, scratch: many.judged(K, bounds, scratch))
    else:
        judged = expansion.over(gram, lambda scores: _judged(scores, bounds, classes))
    return judged[:, 0], np.flatnonzero(judged[:, 1])


def _judged(scores: np.ndarray, bounds: np.ndarray, classes: int) -> np.ndarray:
    """The winner of every row, and whether another class could win with other signs of scores."""
    near = np.abs(scores) <= bounds
    if scores.ndim == 1:
        return np.stack([winners(scores), near], axis=1)
    votes = pair_votes(scores, classes)
    best = winners(votes)
    rows = np.flatnonzero(near.any(axis=1))
    doubtful = np.zeros(len(scores), dtype=bool)
    if len(rows):
        unsure, own = pairs_per_class(near[rows], classes), (np.arange(len(rows)), best[rows])
        most = votes[rows] + unsure
        least = votes[rows][own] - unsure[own]
        most[own] = -1
        doubtful[rows] = most.max(axis=1) >= least
    return np.stack([best, doubtful], axis=1)


def _with_probability(model: KernelSVC) -> bool:
    if not model.probability:
        raise AttributeError("probabilities need KernelSVC(probability=True), before fit")
    return True


@estimator
class KernelSVC(ClassifierMixin, NumbersBeside, SupportVectorBase):
    """min ½‖w‖² + C Σᵢ max(0, 1 − yᵢf(xᵢ)),  f(x) = w·φ(x) + b = Σᵢ yᵢαᵢ k(xᵢ, x) + b.

    Several classes are told apart two by two, and vote. The optimum, the stopping rule and the
    attributes are those of LIBSVM in scikit-learn's `SVC`. CUDA tensors are learned from on their
    GPU, all pairs at once; support vectors, scores and predictions are tensors then.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        k; by default a Gaussian whose width the data chooses (`mercer.kernels.DEFAULT`).
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    C : float
        The price of slack; ``inf`` allows none (a hard margin) and raises
        `NotSeparableError` (`mercer.solvers.quadratic.hard_margin`), with a certificate, where the
        classes cannot be separated.
    nu : float or None
        In (0, 1]: instead of C, an upper bound on the share of examples on the wrong side of the
        margin and a lower bound on the share of support vectors.
    tol : float
        The gap of the optimality conditions at which the solver stops (LIBSVM's).
    class_weight : dict, "balanced" or None
        C is multiplied by the weight of the class (with `nu`, the weight of its examples is).
    decision_function_shape : "ovr" or "ovo"
        One score per class, or one per pair of classes.
    break_ties : bool
        Ties between votes go to the larger sum of scores, not to the first class ("ovr" only).
    probability : bool
        Whether `predict_proba` exists: a sigmoid of the decision values, fitted on held-out folds
        by scikit-learn's `CalibratedClassifierCV`, which takes five more fits.
        `KernelLogisticRegression` has probabilities of its own.
    random_state : int, RandomState or None
        Shuffles the examples before they are split into those folds; None takes them in order.
        Nothing else is random.
    max_iter : int
        A limit on the steps of the solver, for each pair; -1 for one that only problems without a
        useful solution meet (two million, or a hundred per example).
    warm_start : bool
        Start from the previous fit on the same examples: for a path of growing or falling C.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, n_iter_, class_weight_
        As in scikit-learn's `SVC`; `dual_coef_` is sparse after a fit on sparse rows.
    margins_ : yᵢ f(xᵢ) / ‖w‖ for every training example, its signed distance to the surface; with
        more than two classes one column per pair, NaN where the example is of neither class.
    slack_ : max(0, 1 − yᵢ f(xᵢ)), likewise.
    margin_ : 1/‖w‖ for each pair, the distance of the closest examples where there is no slack
        (the whole street between the classes is twice as wide).
    dual_objective_ : the value of the dual, Σα − ½‖w‖² negated as LIBSVM prints it, for each pair.
    expansion_ : f as a `KernelExpansion`, one column per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.learners import KernelSVC
    >>> X, y = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]), [0, 0, 1, 1]
    >>> model = KernelSVC(Linear(), C=np.inf).fit(X, y)
    >>> model.decision_function([[1.5, 7.0]]).round(3)
    array([0.5])
    >>> model.margins_.round(3)
    array([1., 1., 1., 1.])
    """

    kernel: Any = DEFAULT
    C: float = parameter(
        Positive(infinite=True, why="math.inf allows no error at all"), default=1.0
    )
    _: KW_ONLY
    nu: float | None = parameter(
        Maybe(Share("it bounds the share of examples beyond the margin")), default=None
    )
    class_weight: Any = None
    decision_function_shape: str = parameter(OneOf("ovr", "ovo"), default="ovr")
    break_ties: bool = parameter(Flag(), default=False)
    probability: bool = parameter(Flag(), default=False)
    warm_start: bool = parameter(Flag(), default=False)
    random_state: Any = None

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve one problem for each pair of classes."""
        known, old = getattr(self, "classes_", None), None
        if self.warm_start:
            old = as_pairs(getattr(self, "_solved", None))
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True, whole=True)
        if self.probability and is_chunked(X):
            raise TypeError(
                "probability=True fits on folds of rows in one process, and these are in pieces: "
                "KernelLogisticRegression has probabilities of its own"
            )
        C, nu = float(self.C), None if self.nu is None else float(self.nu)
        weights = weights_of(sample_weight, X)
        counted = slice(None) if sample_weight is None else weights > 0
        labels = y[counted]
        self.classes_: np.ndarray = classes_of(labels, type(self).__name__)
        codes = np.full(len(y), -1)
        codes[counted] = np.searchsorted(self.classes_, labels)
        if self.class_weight is None:
            self.class_weight_: np.ndarray = np.ones(len(self.classes_))
        else:
            chosen = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
            self.class_weight_ = chosen
            weights = weights * np.where(codes < 0, 0.0, chosen[codes])
        pairs = Pairs.of(codes, weights, C, nu)
        again = known is not None and np.array_equal(known, self.classes_)
        exact = host(X) if math.isinf(C) else X
        if math.isinf(C) and getattr(exact, "dtype", None) == np.float32:
            exact = exact.astype(np.float64)  # the nearest points of close hulls need the digits
            X = X if is_tensor(X) else exact
        pairs.finish(self._solve(exact, pairs.tasks(old if again else None)))
        self._gather(X, codes, pairs)
        self.__dict__.pop("calibrated_", None)
        if self.probability:
            from mercer.learners.svms.calibrated import calibrated  # imports much

            self.calibrated_: Any = calibrated(self, host(X), y, host(sample_weight))
        return self

    def _gather(self, X: Any, codes: np.ndarray, pairs: Pairs) -> None:
        """One expansion over the union of all support vectors, and LIBSVM's own layout of it."""
        used, classes = np.flatnonzero(pairs.coef), len(self.classes_)
        rows = pairs.rows[used]
        # By class, as LIBSVM lists them.
        support = rows
        if classes > 2:
            supports = np.zeros(len(codes), dtype=bool)
            supports[rows] = True
            support = np.flatnonzero(supports)
        order = np.argsort(codes[support], kind="stable")
        support = support[order]
        self.n_support_: np.ndarray = np.bincount(codes[support], minlength=classes).astype(
            np.int32
        )
        if classes == 2:
            # scikit-learn counts the second class as the positive one where there are two.
            coef, self.intercept_ = -pairs.coef[used[order]], -pairs.intercept
            self.dual_coef_: Any = sparse_like(X, coef[None])
            self._keep(X, support, coef, self.intercept_[0])
        else:
            self._gather_pairs(X, codes, pairs, used, support)
        self.n_iter_, self.margin_ = pairs.n_iter, pairs.margin
        self.dual_objective_: np.ndarray = pairs.objective
        self._solved, self._n = pairs, len(codes)

    def _gather_pairs(
        self, X: Any, codes: np.ndarray, pairs: Pairs, used: np.ndarray, support: np.ndarray
    ) -> None:
        """Coefficients of several pairs; `used`: their entries that are not 0."""
        rows, column, values = pairs.rows[used], pairs.pair[used], pairs.coef[used]
        where = np.full(len(codes), -1)
        where[support] = np.arange(len(support))
        at = where[rows]
        dual = np.zeros((len(self.classes_) - 1, len(support)))
        first, second = pairs.first[column], pairs.second[column]
        dual[np.where(codes[rows] == first, second - 1, first), at] = values
        self.dual_coef_, self.intercept_ = sparse_like(X, dual), pairs.intercept
        if len(self.classes_) >= MANY_CLASSES:
            compact = dual, self.n_support_, self.intercept_
            self._keep(X, support, *compact, kind=PairExpansion)
            return
        coef = np.zeros((len(support), len(pairs)))
        coef[at, column] = values
        self._keep(X, support, coef, self.intercept_)

    # --- what the pictures of the lectures show ---------------------------------------------

    def steps(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[PairStep]:
        """Every step of sequential minimal optimization on two classes: which pair moved, and how.

        Each has the `number`, the `pair` of examples, `coef` (one signed number per example),
        `intercept` and the `gap` that is left. After the last one `coef` and `intercept` are those
        of `fit` up to `tol`. These are LIBSVM's steps in double precision, over a K in memory;
        `fit` takes the same with rows of K in float32 or, of many rows, conjugate ones.

        >>> from mercer.learners import KernelSVC
        >>> X, y = [[-1.0], [0.0], [2.0], [3.0]], [0, 0, 1, 1]
        >>> *_, last = KernelSVC("linear()", C=10).steps(X, y)
        >>> last.pair, last.coef.tolist(), last.intercept
        ((2, 1), [0.0, -0.5, 0.5, 0.0], -1.0)
        """
        if math.isinf(float(self.C)) or self.nu is not None:
            raise ValueError("steps() shows the problem with a finite C, not that of nu or C=inf")
        model = clone(self).set_params(probability=False)
        with config(device="cpu"):
            found = recorded(lambda: model.fit(host(X), y, sample_weight))
        if len(model.classes_) > 2:
            raise ValueError(
                f"steps() shows one problem, not those of {len(model.classes_)} classes"
            )
        return (model._as_fitted(step) for step in found)

    def _as_fitted(self, step: PairStep) -> PairStep:
        """With one coefficient per example, positive for the second class."""
        rows, coef = self._solved.rows, np.zeros(self._n)
        coef[rows] = 0.0 - step.coef[0]
        pair = tuple(int(rows[i]) for i in reversed(step.pair))
        return replace(step, coef=coef, intercept=-float(step.intercept[0]), pair=pair)

    @property
    def margins_(self) -> np.ndarray:
        check_is_fitted(self)
        pairs = as_pairs(self._solved)
        each = np.repeat(pairs.margin, np.diff(pairs.starts))
        return pairs.per_example(pairs.signed * each, self._n)

    @property
    def slack_(self) -> np.ndarray:
        check_is_fitted(self)
        pairs = as_pairs(self._solved)
        return pairs.per_example(np.maximum(0.0, 1.0 - pairs.signed), self._n)

    # --- predicting -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Any:
        """f(x); positive for the second class of two, one column per class ("ovr") or a pair."""
        X = self._checked(X)
        wide = self.decision_function_shape == "ovo"
        return self._values(X) if wide else self._votes(X, one_against_rest)

    def predict(self, X: Any) -> Any:
        """The class with most votes."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        X = self._checked(X)
        if self.break_ties:
            return labels_at(winners(self._votes(X, one_against_rest)), self.classes_)
        quick = quick_winners(self.expansion_, X, len(self.classes_))
        if quick is None:
            return labels_at(winners(self._votes(X, pair_votes)), self.classes_)
        found, doubtful = quick
        if len(doubtful):
            found[doubtful] = winners(self._votes(X[doubtful], pair_votes))
        return labels_at(found, self.classes_)

    def _votes(self, X: Any, votes: Callable[[Any, int], Any]) -> Any:
        """One number per class from the scores of all pairs; of two classes, their one score."""
        classes = len(self.classes_)
        return self._values(X) if classes == 2 else self._values(X, lambda f: votes(f, classes))

    @available_if(_with_probability)
    def predict_proba(self, X: Any) -> Any:
        """P(class | x), with ``probability=True``."""
        check_is_fitted(self)
        if not hasattr(self, "calibrated_"):
            raise NotFittedError(
                "probability=True was set after fit, and probabilities are fitted on held-out "
                "folds: call fit again"
            )
        return like(np.asarray(self.calibrated_.predict_proba(host(X))), X)

    @available_if(_with_probability)
    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x), with ``probability=True``."""
        with np.errstate(divide="ignore"):
            return like(np.log(host(self.predict_proba(X))), X)
