"""What every learner does before the mathematics: k from its spec, examples and targets checked.

Rows of numbers go through scikit-learn's own checks. What only a kernel understands (strings,
graphs, images, the columns of a DataFrame it picks by name) reaches the kernel as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from mercer._arrays import (
    as_pandas,
    host,
    is_chunked,
    is_plain,
    is_sparse,
    is_tensor,
    on_gpu,
    refuse_masked,
)
from mercer._bases import BaseEstimator
from mercer._bases import ClassifierMixin as SklearnClassifier
from mercer._bases import RegressorMixin as SklearnRegressor
from mercer._examples import count, passes
from mercer._notices import KernelWarning, warn
from mercer._parameters import Check, check_parameters
from mercer.gram import keeper_of
from mercer.kernels import Kernel
from mercer.kernels.estimators import KernelParams
from mercer.learners._widths import warn_if_far_off
from mercer.learners.saving import Savable

# --- Learners and tensors: what comes in on a GPU is checked, learned from and answered there -----


def checked_rows(learner: Any, X: Any, *, reset: bool) -> Any:
    """Rows of an engine, with as many columns as `fit` saw; with `reset`, those become the norm.

    scikit-learn's own checks would copy them to the host.
    """
    width = int(X.shape[1])
    if reset:
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = width
        if names := getattr(X, "names", ()):  # columns of a data frame in pieces
            learner.feature_names_in_ = np.asarray(names, dtype=object)
    elif width != learner.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {type(learner).__name__} is expecting "
            f"{learner.n_features_in_} features as input"
        )
    return X


def as_scores(values: Any) -> Any:
    """Scores as they leave an estimator: a tensor as it is, anything else in float64."""
    return values if is_tensor(values) else np.asarray(values, dtype=np.float64)


def labels_at(index: Any, classes: np.ndarray) -> Any:
    """The labels at these indices; on the device where they are numbers and the indices are."""
    if not is_tensor(index):
        return np.asarray(classes[index])
    if classes.dtype.kind not in "biuf":
        return classes[host(index)]
    import torch

    return torch.as_tensor(classes, device=index.device)[index]


class ClassifierMixin(SklearnClassifier):
    """scikit-learn's, whose `score` takes tensors, too."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers."""
        if not (is_tensor(X) or on_gpu(X)):
            return float(super().score(X, host(y), sample_weight))
        from sklearn.metrics import accuracy_score

        predicted = host(self.predict(X))  # type: ignore[attr-defined]
        return float(accuracy_score(host(y), predicted, sample_weight=host(sample_weight)))


class RegressorMixin(SklearnRegressor):
    """scikit-learn's, whose `score` takes tensors, too."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R²: one minus the squared error relative to that of the mean."""
        if not (is_tensor(X) or on_gpu(X)):
            return float(super().score(X, host(y), sample_weight))
        from sklearn.metrics import r2_score

        predicted = host(self.predict(X))  # type: ignore[attr-defined]
        return float(r2_score(host(y), predicted, sample_weight=host(sample_weight)))


#: What can be done where scikit-learn refuses X, by what it says then.
_ADVICE = {
    "contains NaN": "{who} takes no missing values: put scikit-learn's SimpleImputer before it in "
    "a pipeline, or let mercer.compare fill them",
    "could not convert string": "{who} needs rows of numbers here: encode text (scikit-learn's "
    "OneHotEncoder or TfidfVectorizer), or take a kernel on strings such as 'spectrum(3)'",
    "Found array with dim": "Give one row per example: X.reshape(len(X), -1)",
    "not 'dict'": "{who} needs rows of numbers: pandas.DataFrame(X) makes a table of a dict",
}
#: `fit(X, None)` is an error for a supervised learner; `_start(X)` is for the others.
_NO_TARGETS: Any = object()


#: Methods that answer every row by itself: rows in pieces are answered piece by piece.
_ROW_BY_ROW = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples",
    "transform",
)  # fmt: skip


def _piece_by_piece(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which also takes rows in pieces."""

    @wraps(method)
    def answered(self: Any, X: Any = None, *args: Any, **options: Any) -> Any:
        if X is None or not is_chunked(X):
            return method(self, X, *args, **options)
        from mercer.engines.cluster.answers import answers

        check_fitted(self)
        return answers(self, method.__name__, X, *args, **options)

    return answered


class KernelLearner(Savable, KernelParams, BaseEstimator):
    """The base of estimators with a `kernel`: put it after scikit-learn's own mixins."""

    #: Whether the mathematics needs a positive semi-definite k (then a refuted one is warned of).
    _needs_psd = True
    #: Whether examples on a GPU are learned from there; otherwise they are fetched.
    _keeps_rows_in_place = True
    #: Whether `fit` takes rows in pieces, which no process holds together.
    _learns_from_pieces = False
    #: What each parameter of the constructor may be; `_start` checks them.
    _parameters: ClassVar[dict[str, Check]] = {}
    #: Whether a width far off the data spoils the model: not where only the order of k counts.
    _needs_width = True
    kernel: Any
    kernel_: Kernel

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _ROW_BY_ROW:
            if isfunction(vars(cls).get(name)):
                setattr(cls, name, _piece_by_piece(vars(cls)[name]))

    def _with_numbers(self, kernel: Kernel, X: Any, sample_weight: Any) -> Kernel:
        """The kernel with the widths that these examples choose."""
        if sample_weight is None:
            return kernel.fitted(X, None)
        weight = np.asarray(host(sample_weight))
        listed = weight.dtype.kind in "biuf" and weight.shape == (count(X),)
        # One number for all changes nothing; what is no weight at all is refused later.
        usable = listed and bool((weight >= 0).all()) and bool((weight != weight[0]).any())
        return kernel.fitted(X, weight if usable else None)

    def _start(
        self, X: Any, y: Any = _NO_TARGETS, *, sample_weight: Any = None, **checks: Any
    ) -> tuple[Any, Any]:
        """The first call in `fit`: sets `kernel_`, gives checked examples and targets (if any)."""
        check_parameters(self, self._parameters)
        self.kernel_ = given = self._given_kernel()
        if is_chunked(X) and not self._learns_from_pieces:
            raise TypeError(
                f"{type(self).__name__} learns from rows in one process, and these are in pieces: "
                "give it an array (X.compute()), or take ridge or logistic regression, a support "
                "vector machine or a perceptron, which learn from pieces"
            )
        X = self._examples(X, reset=True)
        self.kernel_ = self._with_numbers(given, X, sample_weight)
        chosen = (type(self).__name__, count(X), self.kernel_)
        logging.getLogger("mercer").info("%s: %d examples, %r", *chosen)
        if self.kernel_.takes_matrix and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel matrix must be square, got shape {X.shape}: fit takes "
                "k between all training examples, predict k between new examples and those"
            )
        if self._needs_psd:
            warn_if_refuted(self.kernel_, getattr(self, "n_features_in_", None))
        if self._needs_width and not given.words:
            warn_if_far_off(given, X)
        return X, None if y is _NO_TARGETS else targets(X, y, type(self).__name__, **checks)

    def _examples(self, X: Any, *, reset: bool) -> Any:
        """The examples as the kernel takes them; with `reset`, their width becomes the norm."""
        if passes(self, X, reset=reset):
            return X
        keeper = keeper_of(self.kernel_.with_widths(), X) if self._keeps_rows_in_place else None
        if keeper is not None:
            return checked_rows(self, keeper.check_rows(X, "X"), reset=reset)
        X = host(X)
        X = as_pandas(X) if self.kernel_.picks_columns else X
        refuse_masked(X)
        if not goes_as_it_is(self.kernel_, X):
            return self._table(X, reset)
        if count(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if hasattr(X, "iloc"):
            # Names of columns are remembered and compared; values are the kernel's business.
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        return X

    def _table(self, X: Any, reset: bool) -> Any:
        """Rows of numbers, by scikit-learn's checks; what does not pass is told what to do."""
        refuse_text(X, type(self).__name__)
        numbers = (np.float64, np.float32)
        try:
            # One order of memory: a model that was saved and loaded rounds as it did before.
            return validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=numbers, order="C"
            )
        except (ValueError, TypeError) as error:
            said = str(error)
            advice = next((text for sign, text in _ADVICE.items() if sign in said), "")
            if self.kernel_.takes_matrix and "is expecting" in said:
                advice = (
                    "The kernel is precomputed: predict takes a matrix of k between each new "
                    "example and every training example"
                )
            if not advice:
                raise
            kind = type(error) if isinstance(error, (ValueError, TypeError)) else ValueError
            first = said.splitlines()[0].rstrip(".")
            raise kind(f"{first}. {advice.format(who=type(self).__name__)}") from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kernel = self.kernel  # not yet checked: an expression, say
        given = isinstance(kernel, Kernel) and kernel.takes_matrix
        tags.input_tags.pairwise = given or (isinstance(kernel, str) and kernel == "precomputed")
        return tags


def check_fitted(learner: Any, attribute: str = "kernel_") -> None:
    """As scikit-learn's `check_is_fitted`, which is asked only where the answer may be no."""
    if attribute not in vars(learner):
        check_is_fitted(learner, attribute)


def refuse_text(X: Any, who: str) -> None:
    """A column of text in a frame is named, with what can be done about it."""
    if not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return
    for name in getattr(X, "columns", ()):
        values = X[name]
        if getattr(values, "ndim", 1) != 1 or getattr(values.dtype, "kind", "O") in "biufc":
            continue
        word = next((v for v in values if isinstance(v, str)), None)
        if word is not None:
            raise ValueError(
                f"{who} needs numbers, but the column {name!r} holds text such as {word!r:.40}. "
                "Choose columns with kernel.on([...]) (Hamming() is a kernel on words), encode it "
                "(scikit-learn's OneHotEncoder), or let mercer.compare do that"
            )


def goes_as_it_is(kernel: Kernel, X: Any) -> bool:
    """Whether only the kernel can read X."""
    if hasattr(X, "iloc"):
        numbers = all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes)
        return kernel.takes_objects or kernel.picks_columns or (not numbers and kernel.takes_words)
    return (kernel.takes_objects or kernel.takes_words) and not _is_table(X)


def _is_table(X: Any) -> bool:
    """Whether X is, or reads as, rows of numbers."""
    if is_sparse(X):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # examples of different lengths
        return False
    return array.dtype.kind in "biuf" and array.ndim == 2


def warn_if_refuted(kernel: Kernel, n_features: int | None) -> None:
    """One warning, with the reason, where the rules refute k; they cost nothing and never guess."""
    claim = kernel.claim(n_features)
    if claim.holds is False:
        reason = f"{claim.rule}: {claim.because}" if claim.because else claim.rule
        warn(
            f"{kernel!r} is not a positive semi-definite kernel ({reason}). It is used as it is, "
            "but what theory promises need not hold; mercer.prove gives a counterexample, "
            "mercer.repair a valid matrix.",
            KernelWarning,
        )


# --- targets ---------------------------------------------------------------------------------


def targets(
    X: Any,
    y: Any,
    who: str,
    *,
    labels: bool = False,
    multi_output: bool = False,
    whole: bool = False,
) -> Any:
    """One target per example: numbers, or with `labels` classes of any type.

    With `multi_output` there may be several, in columns. `whole`: as one array, even of examples
    in pieces.
    """
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None: {who} is supervised")
    if is_chunked(X):
        y = X.aligned(y)
        if not whole:
            return y
        y = y[:]
    if _are_plain_targets(y, labels, multi_output) and len(y) == count(X):
        return y
    y = host(y)
    if labels:
        array = np.asarray(y)  # before any other function of NumPy: it may only look like an array
        several = multi_output and array.ndim == 2 and array.shape[1] != 1
        y = array if several else column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y", estimator_name=who)
        check_classification_targets(y)
    else:
        _refuse_text(y, who)
        y = _numbers(y, multi_output)
    check_consistent_length(np.empty((count(X), 0)) if is_tensor(X) else X, y)
    return y


def _numbers(y: Any, multi_output: bool) -> Any:
    """Finite real targets: a vector or, with `multi_output`, a column for each output."""
    y = y if multi_output else column_or_1d(y, warn=True)
    y = check_array(y, accept_sparse="csr", ensure_2d=False, dtype=None, input_name="y")
    return y.astype(np.float64) if y.dtype.kind == "O" else y


def _are_plain_targets(y: Any, labels: bool, multi_output: bool) -> bool:
    """Whether all checks below would let y pass as it is, and warn of nothing."""
    whole = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"
    if not labels:
        return whole or (is_plain(y) and (y.ndim == 1 or (multi_output and y.ndim == 2)))
    if not (whole and y.flags.c_contiguous and len(y)):
        return False
    close = y.dtype.kind == "i" and 2 * (int(y.max()) - int(y.min()) + 1) <= len(y)
    return close or 2 * len(distinct(y)) <= len(y)


def _refuse_text(y: Any, who: str) -> None:
    """Words are no targets of a regression; one that is the name of a class is told apart here."""
    values = np.asarray(y)
    words = values.ravel() if values.dtype.kind in "OUS" else ()
    word = next((v for v in words if isinstance(v, (str, bytes))), None)
    if word is not None:
        raise ValueError(
            f"{who} predicts numbers, but y holds text such as {str(word)!r:.40}: convert it, or "
            "use a classifier"
        )


def distinct(y: np.ndarray) -> np.ndarray:
    """As `np.unique`, by counting where y holds whole numbers that lie close together.

    >>> distinct(np.array([7, 3, 7]))
    array([3, 7])
    """
    if y.dtype.kind == "i" and y.ndim == 1 and len(y):
        low, high = y.min(), y.max()
        if int(high) - int(low) < 2 * len(y):
            return (np.flatnonzero(np.bincount(y - low)) + low).astype(y.dtype)
    return np.unique(y)


def classes_of(y: np.ndarray, who: str) -> np.ndarray:
    """The distinct labels, sorted; at least two."""
    try:
        classes = distinct(y)
    except TypeError:
        kinds = ", ".join(sorted({type(v).__name__ for v in y}))
        raise TypeError(f"labels of one type are needed, got a mixture of {kinds}") from None
    if len(classes) < 2:
        raise ValueError(
            f"{who} needs at least 2 classes; the training labels hold 1 class: {classes.tolist()}"
        )
    return classes


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The position of every label among the sorted classes; a label that is new is named."""
    codes = np.searchsorted(classes, y).astype(np.int64)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not known.all():
        new = np.unique(y[~known])[:10].tolist()
        raise ValueError(f"y holds classes that are new: {new}; the model knows {classes.tolist()}")
    return codes
