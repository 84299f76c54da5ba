"""Weights, classes, widths and centers that several learners check, and what they say when cut
short."""

from __future__ import annotations

from functools import partial
from numbers import Number
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_array

from mercer._arrays import host, is_chunked
from mercer._examples import count
from mercer._notices import NumericalWarning, warn
from mercer.kernels import Kernel
from mercer.learners._base import classes_of, encode
from mercer.maps.centers import given_index


class NotConverged(NumericalWarning, ConvergenceWarning):
    """Stopped before the tolerance was met; the model is the best one so far."""


def weights_or_none(sample_weight: Any, X: Any) -> np.ndarray | None:
    """One weight ≥ 0 per example, not all zero; None where all are 1."""
    if sample_weight is None:
        return None
    weights = finite_weights(sample_weight, count(X))
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative")
    if not weights.any():
        raise ValueError("sample_weight must hold at least one non-zero number")
    return None if (weights == 1).all() else weights


def finite_weights(sample_weight: Any, n: int) -> np.ndarray:
    """n finite numbers in double precision; a single number is meant for every example."""
    given = host(sample_weight)
    if isinstance(given, Number):
        given = np.full(n, given)
    weights: np.ndarray = check_array(
        given, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has the shape {weights.shape}: give one number for each of the {n} "
            "examples, or a single number"
        )
    return weights


def labeled(
    who: str, y: Any, weights: np.ndarray | None, class_weight: Any
) -> tuple[np.ndarray, Any, np.ndarray | None]:
    """The classes, each example's index among them, and its weight times that of its class.

    An example without weight counts as absent: it makes no class and balances none. Labels in
    pieces stay there as codes; only what depends on all of them at once fetches them.
    """
    if is_chunked(y):
        if weights is None and class_weight is None:
            classes = classes_of(y.unique(), who)
            return classes, y.mapped(partial(codes_of, classes), (), np.int64), None
        classes, codes, weights = labeled(who, y[:], weights, class_weight)
        return classes, y.aligned(codes), weights
    if weights is None:
        classes = classes_of(y, who)
        codes = np.searchsorted(classes, y).astype(np.int64, copy=False)
    else:
        counted = weights > 0
        classes = classes_of(y[counted], who)
        codes = np.zeros(len(y), dtype=np.int64)
        codes[counted] = np.searchsorted(classes, y[counted])
    factors = class_factors(classes, codes, weights, class_weight)
    if factors is None:
        return classes, codes, weights
    return classes, codes, factors[codes] if weights is None else weights * factors[codes]


def together(learner: Any, X: Any, what: str) -> None:
    """Refuse rows in pieces where all of them are needed in one process."""
    if is_chunked(X):
        raise TypeError(
            f"{type(learner).__name__} with {what} needs all rows in one process, and these are in "
            "pieces: give it an array (X.compute()), or leave that option out"
        )


def fetched(y: Any) -> Any:
    """Targets in this process, where they are in pieces: a number or two per row."""
    return y[:] if is_chunked(y) else y


def codes_of(classes: np.ndarray, labels: Any) -> np.ndarray:
    """The index of every label of one piece among the classes."""
    return encode(np.asarray(labels), classes)


def class_factors(
    classes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, class_weight: Any
) -> np.ndarray | None:
    """The weight of each class, as `class_weight` gives it; None where all are 1."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(codes, weights, len(classes))  # weights count, as copies would
        factors = sums.sum() / (len(classes) * sums)
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(f"class_weight must be positive for every class, not {class_weight!r}")
    return factors


def log_weights(
    classes: np.ndarray, index: np.ndarray, weights: np.ndarray | None, class_weight: Any
) -> np.ndarray:
    """log w of each class, which a decision by distances adds to the score of the class."""
    factors = class_factors(classes, index, weights, class_weight)
    return np.zeros(len(classes)) if factors is None else np.log(factors)


def finite_dims(kernel: Kernel, n_features: int | None) -> int | None:
    """The length of φ where it is finite and known, and k is not known to be indefinite."""
    if n_features is None or kernel.is_opaque:
        return None
    try:
        size = kernel.n_dims(n_features)
        if size in (0, float("inf")) or kernel.claim(n_features).holds is False:
            return None
        if kernel.claim(n_features).holds is None:
            kernel.features(np.zeros((1, n_features)))  # an offset below 0, say, has no φ
    except (TypeError, ValueError, NotImplementedError, OverflowError):
        return None
    return int(size)


def refuse_number_beside_path(learner: Any, name: str) -> None:
    """Refuse a number beside a path: ``alphas=`` lists what ``alpha="auto"`` chooses from."""
    value = getattr(learner, name)
    if not (isinstance(value, str) and value == "auto"):
        raise ValueError(
            f"{name}={value!r} leaves nothing to choose: {name}s= lists what 'auto' chooses from, "
            f"so give one of the two"
        )


def check_width(who: str, kernel: Kernel, X: Any, n_train: int) -> None:
    """New rows of a precomputed matrix have one column for every training example."""
    if kernel.takes_matrix and X.shape[1] != n_train:
        raise ValueError(
            f"X has {X.shape[1]} columns, but {who} is expecting {n_train}: k between each new "
            "example and every training example"
        )


def warn_if_stopped(who: str, stopped: str, detail: str, advice: str) -> None:
    """Warn, with the reason, where the solver ended before it converged."""
    reasons = {
        "interrupt": f"{who} was interrupted: the model is what the solver had found so far",
        "max_iter": f"{who} did not converge within max_iter={detail}. {advice}",
        "rounding": f"{who} stopped at the rounding of the kernel values ({detail}). {advice}",
        "indefinite": f"{who} stopped: the kernel is not positive semi-definite on these "
        "examples, so that the objective has no minimum; the model is the last one that made "
        "sense. mercer.repair gives a matrix that can be used",
    }
    if stopped:
        warn(reasons[stopped].strip(), NotConverged)


# --- centers -------------------------------------------------------------------------------


def given_centers(learner: Any) -> Any:
    """The parameter `centers`: a name and indices as they are, examples checked as those of fit."""
    centers = learner.centers
    if isinstance(centers, str) or given_index(centers, np.iinfo(np.int64).max) is not None:
        return centers
    if learner.kernel_.takes_matrix:
        raise ValueError(
            "with a precomputed matrix, centers are indices of training examples: k between "
            "other points and these is not in it"
        )
    return learner._examples(centers, reset=False)


def solver_for(learner: Any) -> str:
    """The solver asked for; who asks for special centers asks for the one that has them."""
    plain = isinstance(learner.centers, str) and learner.centers == "uniform"
    if plain or learner.solver == "nystrom":
        return str(learner.solver)
    if learner.solver == "auto":
        return "nystrom"
    raise ValueError(
        f"solver={learner.solver!r} has no centers, and centers= gives some: leave solver at "
        "'auto' or 'nystrom', or centers at 'uniform'"
    )


def points_of(kernel: Kernel, X: Any, centers: Any) -> Any:
    """What an expansion over centers, kept as indices or as examples, has to hold."""
    if centers is None or (isinstance(centers, np.ndarray) and centers.ndim == 1):
        return kernel.points(X, centers)
    return centers
