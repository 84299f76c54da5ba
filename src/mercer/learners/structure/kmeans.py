"""Groups around means in feature space."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, like, winners
from mercer._bases import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from mercer._examples import count
from mercer._parameters import Count, random_from
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import KernelLearner
from mercer.learners._options import check_width, warn_if_stopped, weights_or_none
from mercer.solvers.groups.lloyd import best_groups, first_labels


@estimator
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelLearner):
    """min Σᵢ wᵢ ‖φ(xᵢ) − μ_c(i)‖², μ_c the mean of φ over group c: k-means for any kernel.

    With the linear kernel it is k-means; with others groups need not be round, and examples may be
    strings or graphs. μ_c itself is never computed.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        The similarity k.
    n_clusters : int, default 8
        Number of groups.
    n_init : int, default 10
        Starts by k-means++ in feature space; all run side by side, and the best one is kept.
    max_iter : int, default 300
        Steps at most.
    random_state : int, RandomState or None
        Draws the starts. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_examples,)
        The group of each training example, counted from 0.
    inertia_ : float
        What was minimized.
    expansion_ : f_c(x) = Σᵢ A_ic k(xᵢ, x) − ½‖μ_c‖², one output per group; the largest wins
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelKMeans
    >>> X = np.array([[0.0], [0.2], [4.0], [4.1]])
    >>> groups = KernelKMeans("linear", n_clusters=2, random_state=0).fit(X)
    >>> bool(groups.labels_[0] == groups.labels_[1] != groups.labels_[2]), round(groups.inertia_, 3)
    (True, 0.025)
    """

    expansion_: KernelExpansion = field(init=False)

    kernel: Any = DEFAULT
    n_clusters: int = parameter(Count(), default=8)
    _: KW_ONLY
    n_init: int = parameter(Count(), default=10)
    max_iter: int = parameter(Count(), default=300)
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the groups. `y` is ignored."""
        X, _ = self._start(X, sample_weight=sample_weight)
        n, groups = count(X), int(self.n_clusters)
        if n < groups:
            raise ValueError(f"{groups} groups need as many examples, and there is n_samples={n}")
        given = weights_or_none(sample_weight, X)
        weight = np.ones(n) if given is None else given
        gram = solver_gram(self.kernel_, X)
        # An example without weight is put to a group, and makes none.
        counted = np.flatnonzero(weight)
        part = gram if len(counted) == n else solver_gram(self.kernel_, gram.points(counted))
        random = random_from(self.random_state)
        first = first_labels(part, groups, int(self.n_init), random)
        found = best_groups(part, first, groups, weight[counted], int(self.max_iter))
        warn_if_stopped(type(self).__name__, found.stopped, str(self.max_iter), "Raise it.")
        points = self.kernel_.points(X, None if len(counted) == n else counted)
        self.expansion_ = KernelExpansion(self.kernel_, points, found.A, -0.5 * found.squares)
        self.inertia_, self.n_iter_ = found.inertia, found.n_iter
        self.labels_: np.ndarray | Any = (
            found.labels if len(counted) == n else host(winners(self.expansion_(X)))
        )
        self._n_features_out = groups
        self._n_train = n
        return self

    def _scores(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self, "expansion_")
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self._n_train)
        return X, self.expansion_(X)

    def predict(self, X: Any) -> Any:
        """The group whose mean is nearest; of equal ones the first."""
        return self._scores(X)[1].argmax(axis=1)

    def transform(self, X: Any) -> Any:
        """‖φ(x) − μ_c‖ for every row, one column per group."""
        X, scores = self._scores(X)
        if self.kernel_.takes_matrix:
            raise ValueError("distances need k(x, x), which a matrix of new rows does not hold")
        own = np.asarray(host(self.kernel_.diag(X)), dtype=np.float64)
        squares = own[:, None] - 2.0 * np.asarray(host(scores), dtype=np.float64)
        return like(np.sqrt(np.maximum(squares, 0.0)), X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """−Σ ‖φ(x) − μ‖² to the nearest mean, as in scikit-learn."""
        nearest = np.square(np.asarray(host(self.transform(X))).min(axis=1))
        return -float(np.sum(nearest if sample_weight is None else sample_weight * nearest))
