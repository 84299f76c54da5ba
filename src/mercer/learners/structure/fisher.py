"""Fisher's discriminant in feature space: what separates classes best, relative to their width."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, like, winners
from mercer._bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._examples import count
from mercer._parameters import Count, Maybe, NonNegative, Positive, Several
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import ClassifierMixin, KernelLearner, labels_at
from mercer.learners._options import check_width, labeled, warn_if_stopped, weights_or_none
from mercer.solvers.groups.fisher import directions


@estimator
class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, KernelLearner
):
    """max wᵀS_b w / wᵀ(S_w + λI)w over w in feature space, then the nearest class mean.

    S_b is the scatter between the means of the classes, S_w that within them. `transform` gives the
    coordinates along the best directions (one fewer than classes), scaled to variance 1 within
    classes; a class is as probable as a Gaussian of that width around its mean says. With the
    linear kernel and a small λ this is linear discriminant analysis.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        The similarity k.
    alpha : float, default 0.1
        λ > 0. Larger values trust the scatter of the examples less.
    priors : array of shape (n_classes,) or None
        How frequent the classes are; None counts the examples.
    n_components : int or None
        Directions that `transform` and `predict` use; None takes all.
    tol, max_iter : float, int
        Of conjugate gradients, which find the directions beyond 20 000 examples or where the matrix
        does not fit into the memory limit.

    Attributes
    ----------
    classes_ : the labels
    strengths_ : ndarray of shape (n_directions,)
        The ratio that each direction has, strongest first.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        The shares of the directions in what lies between the classes.
    directions_ : z(x) as a kernel expansion, one output per direction
    means_ : ndarray of shape (n_classes, n_directions), the mean of z over each class
    expansion_ : the score of each class as a kernel expansion; the largest wins

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelFisherDiscriminant
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [3.0, 3.0], [4.0, 3.0], [3.0, 4.0]])
    >>> model = KernelFisherDiscriminant("linear").fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[1.0, 1.0], [3.0, 2.0]]), model.transform(X).shape
    (array([0, 1]), (6, 1))
    """

    classes_: np.ndarray = field(init=False)
    expansion_: KernelExpansion = field(init=False)

    kernel: Any = DEFAULT
    alpha: float = parameter(
        Positive(why="the scatter within classes alone is singular"), default=0.1
    )
    _: KW_ONLY
    priors: Any = parameter(Maybe(Several(NonNegative())), default=None)
    n_components: int | None = parameter(Maybe(Count()), default=None)
    tol: float = parameter(Positive(), default=1e-8)
    max_iter: int = parameter(Count(), default=1000)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions and the means of the classes along them.

        A weight w stands for w equal examples.
        """
        X, y = self._start(X, y, sample_weight=sample_weight, labels=True)
        given = weights_or_none(sample_weight, X)
        self.classes_, codes, _ = labeled(type(self).__name__, np.asarray(y), given, None)
        groups, n = len(self.classes_), count(X)
        weights = np.ones(n) if given is None else given
        gram = solver_gram(self.kernel_, X)
        found = directions(
            gram, codes, groups, float(self.alpha), float(self.tol), int(self.max_iter), given
        )
        warn_if_stopped(type(self).__name__, found.stopped, str(self.max_iter), "Raise alpha.")
        most = groups - 1 if self.n_components is None else min(groups - 1, self.n_components)
        # wᵀ(S_w + λI)w = 1 is a sum over examples: times this, the variance within classes is 1.
        scale = np.sqrt(weights.sum())
        coef, values = scale * found.coef[:, :most], scale * found.values[:, :most]
        sizes = np.bincount(codes, weights, groups)
        center = np.average(values, axis=0, weights=weights)
        sums = np.stack([np.bincount(codes, weights * v, groups) for v in values.T], axis=1)
        self.means_: np.ndarray = sums / sizes[:, None] - center
        self.strengths_: np.ndarray = found.strengths[:most]
        total = max(float(found.strengths.sum()), 1e-300)
        self.explained_variance_ratio_: np.ndarray = self.strengths_ / total
        points = self.kernel_.points(X)
        self.directions_: KernelExpansion = KernelExpansion(self.kernel_, points, coef, -center)
        b = np.log(self._priors(sizes)) - 0.5 * np.square(self.means_).sum(axis=1)
        b = b - center @ self.means_.T
        self.expansion_ = KernelExpansion(self.kernel_, points, coef @ self.means_.T, b)
        self.n_iter_, self._n_features_out, self._n_train = max(1, found.n_iter), most, n
        return self

    def _priors(self, sizes: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return np.asarray(sizes / sizes.sum())
        given = np.atleast_1d(np.asarray(self.priors, dtype=np.float64))
        if given.shape != sizes.shape or not given.sum() > 0 or not (given > 0).all():
            raise ValueError(
                f"priors must be one positive number per class ({len(sizes)} of them), got "
                f"{self.priors!r}"
            )
        return np.asarray(given / given.sum())

    def _evaluated(self, expansion: KernelExpansion, X: Any) -> Any:
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self._n_train)
        return expansion(X)

    def transform(self, X: Any) -> Any:
        """The coordinates along the directions, from the mean of all examples."""
        check_is_fitted(self, "expansion_")
        return self._evaluated(self.directions_, X)

    def decision_function(self, X: Any) -> Any:
        """log of the prior times the likelihood, one column per class, up to a common term.

        For two classes the difference: the log-odds of the second.
        """
        check_is_fitted(self, "expansion_")
        scores = self._evaluated(self.expansion_, X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The most probable class; of equal ones the first."""
        return labels_at(winners(self.decision_function(X)), self.classes_)

    def predict_log_proba(self, X: Any) -> Any:
        """log P(Y = c|x), one column per class."""
        check_is_fitted(self, "expansion_")
        scores = np.asarray(host(self._evaluated(self.expansion_, X)), dtype=np.float64)
        return like(log_softmax(scores, axis=1), X)

    def predict_proba(self, X: Any) -> Any:
        """P(Y = c|x), one column per class."""
        logs = self.predict_log_proba(X)
        return np.exp(logs) if isinstance(logs, np.ndarray) else logs.exp()
