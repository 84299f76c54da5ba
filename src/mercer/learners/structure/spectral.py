"""Groups that hang together: the eigenvectors of the graph whose edges are weighted by k."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.cluster import k_means
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host, like
from mercer._bases import ClusterMixin
from mercer._examples import count
from mercer._parameters import Count, Maybe, OneOf, random_from
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import NumbersBeside, estimator, parameter
from mercer.learners._base import KernelLearner
from mercer.learners._options import check_width, warn_if_stopped
from mercer.maps.centers import CenterChoice
from mercer.solvers.spectral.graph import embedding


@estimator
class SpectralClustering(ClusterMixin, NumbersBeside, KernelLearner):
    """K-means on the eigenvectors of D^(−½)(K − diag K)D^(−½), D the row sums: cuts of a graph.

    k(x, z) ≥ 0 is the weight of the edge between x and z. Groups are parts with strong edges inside
    and weak ones between: of any shape, as long as they hang together.

    Parameters
    ----------
    kernel : Kernel, expression, callable or "precomputed"
        k ≥ 0. Its width decides what hangs together: smaller is more strict.
    n_clusters : int, default 8
        Number of groups.
    solver : {"auto", "dense", "blocks", "nystrom"}
        Who finds the eigenvectors: as in `KernelPCA`, or "nystrom" from some centers, for large N
        ("auto" beyond 20 000 examples).
    n_centers : int or None
        Of "nystrom"; None takes 20 √N, at most 5000.
    centers : {"uniform", "kmeans++", "leverage", "greedy"}, indices or examples
        Of "nystrom": who chooses the centers (see `mercer.maps.NystromMap`).
    n_init : int, default 10
        Starts of k-means on the eigenvectors.
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    random_state : int, RandomState or None
        Draws the starts and the centers. None draws as 0 does, the same in every fit.

    Attributes
    ----------
    labels_ : ndarray of shape (n_examples,)
        The group of each training example, counted from 0.
    embedding_ : ndarray of shape (n_examples, n_clusters)
        The eigenvectors over √D, in which groups are points.
    eigenvalues_ : ndarray of shape (n_clusters,)
        At most 1; as many are near 1 as there are groups that hardly touch.
    expansion_ : Σᵢ k(xᵢ, x) eᵢ/λ and the degree Σᵢ k(xᵢ, x), of which `predict` takes the ratio

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> X = np.array([[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]])
    >>> groups = SpectralClustering("gaussian(0.5)", n_clusters=2, random_state=0).fit(X)
    >>> bool(len(set(groups.labels_[:3])) == len(set(groups.labels_[3:])) == 1)
    True
    """

    _needs_psd = False

    expansion_: KernelExpansion = field(init=False)

    kernel: Any = DEFAULT
    n_clusters: int = parameter(Count(), default=8)
    _: KW_ONLY
    solver: str = parameter(OneOf("auto", "dense", "blocks", "nystrom"), default="auto")
    n_centers: int | None = parameter(Maybe(Count()), default=None)
    centers: Any = parameter(CenterChoice(), default="uniform")
    n_init: int = parameter(Count(), default=10)
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the groups. `y` is ignored."""
        X, _ = self._start(X)
        n, groups = count(X), int(self.n_clusters)
        if n < groups or n < 2:
            raise ValueError(
                f"{groups} groups need as many examples, and 2 at least; there is n_samples={n}"
            )
        random = random_from(self.random_state)
        gram = solver_gram(self.kernel_, X)
        found = embedding(gram, groups, self.solver, self.n_centers, self.centers, random)
        warn_if_stopped(type(self).__name__, found.stopped, str(found.n_iter), "")
        self.eigenvalues_, self.embedding_ = found.values, found.rows
        means, labels, _ = k_means(found.rows, groups, n_init=self.n_init, random_state=random)
        self.labels_, self._means = labels, means
        points = self.kernel_.points(X, found.index)
        self.expansion_ = KernelExpansion(self.kernel_, points, found.coef)
        self._n_train = n
        return self

    def predict(self, X: Any) -> Any:
        """The group of new rows: each is put where its neighbors are, weighted by k.

        A training example counts as its own neighbor there, and in `labels_` it does not.
        """
        check_is_fitted(self, "expansion_")
        X = self._examples(X, reset=False)
        check_width(type(self).__name__, self.kernel_, X, self._n_train)
        values = np.asarray(host(self.expansion_(X)), dtype=np.float64)
        degree = np.where(values[:, -1] > 0, values[:, -1], 1.0)
        rows = values[:, :-1] / degree[:, None]
        gaps = np.square(self._means).sum(axis=1) - 2.0 * rows @ self._means.T
        return like(gaps.argmin(axis=1), X)
