"""Means in feature space: the nearest class mean, or the nearest example that stands for one.

μ_c = Σᵢ A_ic φ(xᵢ), and ‖φ(x) − μ_c‖² = k(x, x) − 2 Σᵢ A_ic k(x, xᵢ) + (AᵀKA)_cc. Since k(x, x) is
the same for all classes, the nearest mean has the largest Σᵢ A_ic k(x, xᵢ) − ½ (AᵀKA)_cc.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np

from mercer._arrays import host, is_chunked, like, winners
from mercer._examples import count
from mercer._parameters import Number, OneOf
from mercer._tiles import cut
from mercer.expansion import KernelExpansion
from mercer.gram import Gram, solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, KernelLearner, check_fitted, labels_at
from mercer.learners._options import fetched, labeled, log_weights, together, weights_or_none
from mercer.tuning import PANEL_ROWS


@estimator
class KernelCentroidClassifier(ClassifierMixin, KernelLearner):
    """argmin over classes c of ‖φ(x) − μ_c‖², μ_c the mean of φ over the class.

    ‖φ(x) − μ_c‖² = k(x, x) − 2 Σᵢ Aᵢ k(x, xᵢ) + AᵀKA: by kernel values only, μ_c itself is never
    computed. The decision value of a class is (k(x, x) − ‖φ(x) − μ_c‖²) / 2.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        The similarity k.
    shrinkage : float from 0 to 1
        Moves every mean that far toward the mean of all examples.
    prototype : "mean" or "medoid"
        Whether a class stands for itself by its mean, or by its member with the least sum of
        feature-space distances to the others (`medoids_` holds their indices).
    class_weight : dict, "balanced" or None
        Adds log w_c to the decision value of class c, as P(c) ∝ w_c does for classes that are
        Gaussians of variance 1 in feature space. None counts all classes alike, however many
        examples they have.

    Attributes
    ----------
    classes_ : the labels
    expansion_ : f_c(x) = Σᵢ A_ic k(xᵢ, x) − ½‖μ_c‖², one output per class; the largest wins
    medoids_ : indices in the training set, for prototype="medoid"

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCentroidClassifier
    >>> X, y = np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]]), [0, 0, 1]
    >>> KernelCentroidClassifier("linear()").fit(X, y).predict([[1.0, 2.0], [3.0, 1.0]])
    array([0, 1])
    """

    _needs_psd = False
    _learns_from_pieces = True

    classes_: np.ndarray = field(init=False)
    expansion_: KernelExpansion = field(init=False)

    kernel: Any = DEFAULT
    _: KW_ONLY
    shrinkage: float = parameter(Number(0, 1), default=0.0)
    prototype: str = parameter(OneOf("mean", "medoid"), default="mean")
    class_weight: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients of the means, or the medoids."""
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True)
        given, who = weights_or_none(sample_weight, X), type(self).__name__
        self.classes_, labels, given = labeled(who, np.asarray(fetched(y)), given, None)
        weight = np.ones(count(X)) if given is None else given
        gram = solver_gram(self.kernel_, X)
        A = means(labels, len(self.classes_), weight)
        if self.prototype == "medoid":
            together(self, X, "prototype='medoid'")
            self.medoids_: np.ndarray = medoids(gram, labels, len(self.classes_), weight)
            A = np.zeros_like(A)
            A[self.medoids_, np.arange(len(self.classes_))] = 1.0
        A = shrunk(A, weight, float(self.shrinkage))
        half = 0.5 * squared_norms_of(gram, A)
        self._log_weight = log_weights(self.classes_, labels, given, self.class_weight)
        b = self._log_weight - half
        means_of = KernelExpansion(self.kernel_, self.kernel_.points(X), A, b)
        self.expansion_ = means_of if is_chunked(X) else means_of.pruned()
        return self

    def distances(self, X: Any) -> Any:
        """‖φ(x) − μ_c‖ for every row, one column per class."""
        check_fitted(self, "expansion_")
        X = self._examples(X, reset=False)
        if self.kernel_.takes_matrix:
            raise ValueError("distances need k(x, x), which a matrix of new rows does not hold")
        own = np.asarray(host(self.kernel_.diag(X)), dtype=np.float64)
        # A model from a file of an earlier version has no weights of classes.
        scores = host(self.expansion_(X)) - getattr(self, "_log_weight", 0.0)
        squares = own[:, None] - 2.0 * scores
        return like(np.sqrt(np.maximum(squares, 0.0)), X)

    def decision_function(self, X: Any) -> Any:
        """f_c(x), one column per class; for two classes f₂ − f₁."""
        check_fitted(self, "expansion_")
        scores = self.expansion_(self._examples(X, reset=False))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class whose mean is nearest; of equal ones the first."""
        return labels_at(winners(self.decision_function(X)), self.classes_)


def means(labels: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """The coefficients A of the weighted mean of every class.

    >>> means(np.array([0, 0, 1]), 2, np.array([1.0, 3.0, 1.0]))
    array([[0.25, 0.  ],
           [0.75, 0.  ],
           [0.  , 1.  ]])
    """
    A = np.zeros((len(labels), n_classes))
    A[np.arange(len(labels)), labels] = weight
    return np.asarray(A / A.sum(axis=0))


def shrunk(A: np.ndarray, weight: np.ndarray, shrinkage: float) -> np.ndarray:
    """Each mean moved by `shrinkage` (0 to 1) toward the mean of all examples."""
    return np.asarray((1.0 - shrinkage) * A + shrinkage * (weight / weight.sum())[:, None])


def squared_norms_of(gram: Gram, A: np.ndarray) -> np.ndarray:
    """‖μ_c‖² = (AᵀKA)_cc, one number per class."""
    return np.einsum("ic,ic->c", A, np.asarray(gram @ A, dtype=np.float64))


def medoids(gram: Gram, labels: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """For each class the member with the least sum of distances to the others, by index."""
    own = gram.diagonal().astype(np.float64)
    found = []
    for c in range(n_classes):
        members = np.flatnonzero((labels == c) & (weight > 0))
        total = np.empty(len(members))
        for part in cut(0, len(members), PANEL_ROWS):
            some = members[part]
            k = gram.block(some, members).astype(np.float64)
            square = own[some, None] - 2.0 * k + own[None, members]
            total[part] = np.sqrt(np.maximum(square, 0.0)) @ weight[members]
        found.append(int(members[total.argmin()]))
    return np.asarray(found)
