"""GaussianProcessClassifier: probabilities whose kernel is learned by Laplace's evidence."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import winners
from mercer._config import get_config
from mercer._examples import count, take, widened
from mercer.expansion import KernelExpansion
from mercer.gram import host_gram
from mercer.kernels import DEFAULT
from mercer.kernels.estimators import estimator
from mercer.learners._base import ClassifierMixin, classes_of, encode, labels_at
from mercer.learners.processes.base import Process
from mercer.learners.processes.numbers import Numbers
from mercer.solvers.evidence.exact import Evidence
from mercer.solvers.evidence.laplace import Mode, laplace_evidence, mode

#: Nodes of the Gauss-Hermite rule for the mean of a sigmoid: its error is below 1e-6.
PROBABILITY_NODES = 40


@estimator
class GaussianProcessClassifier(ClassifierMixin, Process):
    """f ~ GP(0, k), P(y = 1|x) = 1/(1 + e^(−f(x))): k maximizes Laplace's form of log p(y).

    Use it for probabilities that know where there is no data, and to learn a kernel's parameters
    without a grid. More than two classes are each told from the rest, with one kernel for all.

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k, with the values from which its parameters are learned, as in `GaussianProcessRegressor`.
        A factor (``4.0 * k``) says how sure of itself f may become.
    optimizer, bounds, n_restarts, tol, max_iter, random_state
        As in `GaussianProcessRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel
        k as learned.
    log_marginal_likelihood_value_ : float
        Laplace's log p(y) there, summed over the classes where there are more than two.
    theta_, theta_names_ : ndarray, list of str
        The logarithms of what was learned, and the name of each.
    dual_coef_ : ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two
    expansion_ : KernelExpansion
        The mean of f.
    X_train_, y_train_ : the examples, and a column of zeros and ones per f
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessClassifier
    >>> x, y = np.array([[-2.0], [-1.0], [-0.5], [0.5], [1.0], [2.0]]), [0, 0, 0, 1, 1, 1]
    >>> model = GaussianProcessClassifier(4.0 * Gaussian(1.0), optimizer=None).fit(x, y)
    >>> model.predict_proba([[1.0], [30.0]]).round(3)  # no data at 30: nothing is known there
    array([[0.225, 0.775],
           [0.5  , 0.5  ]])
    """

    _keeps_rows_in_place = False  # Newton's exact steps and what follows from them are LAPACK's

    kernel: Any = DEFAULT

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the numbers of the kernel, and find the best f."""
        X, y = self._start(X, y, labels=True)
        self.classes_: np.ndarray = classes_of(y, type(self).__name__)
        codes = encode(y, self.classes_)
        wanted = [1] if len(self.classes_) == 2 else np.arange(len(self.classes_))
        self.X_train_: Any = widened(X)
        self.y_train_: np.ndarray = (codes[:, None] == wanted).astype(np.float64)
        self.__dict__.pop("_modes", None)
        numbers = Numbers.of(self.kernel_, self._bounds_of_kernel())
        self._numbers = numbers
        self._learn(numbers.start, numbers.bounds)
        coef = np.stack([one.coef for one in self._modes], axis=1)
        self.dual_coef_: np.ndarray = coef[:, 0] if len(self.classes_) == 2 else coef
        points = self.kernel_.points(self.X_train_, None)
        self.expansion_: KernelExpansion = KernelExpansion(
            self.kernel_, points, self.dual_coef_, 0.0
        )
        return self

    def _evidence(
        self, theta: np.ndarray, slopes: bool, rows: np.ndarray | None = None
    ) -> Evidence:
        X, y = self.X_train_, self.y_train_
        if rows is not None:
            X, y = take(X, rows), y[rows]
        return laplace_evidence(host_gram(self._numbers.at(theta), X), y, slopes)

    def _of_nothing(self) -> float:
        return -self.y_train_.size * math.log(2.0)

    def _value_learned(self) -> float:
        self.kernel_ = self._numbers.at(self.theta_)
        return float(sum(one.value for one in self._modes))

    @cached_property
    def _modes(self) -> list[Mode]:
        """The best f of each class; their factors are as large as K and are not kept in files."""
        K = host_gram(self.kernel_, self.X_train_).in_double()
        return [mode(K, column) for column in self.y_train_.T]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_modes"}

    # --- predicting -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """The mean of f(x): above 0 for the second of two classes, or one column per class."""
        X = self._checked(X)
        return np.asarray(self.expansion_(X), dtype=np.float64)

    def predict(self, X: Any) -> Any:
        """The most probable class (at a tie the first)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return labels_at(winners(self.decision_function(X)), self.classes_)
        return labels_at(self.predict_proba(X).argmax(axis=1), self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(y = c|x), the mean of the sigmoid over what is known of f(x): one column per class."""
        mean, variance = self._latent(X, "predict_proba")
        nodes, weights = np.polynomial.hermite_e.hermegauss(PROBABILITY_NODES)
        shares = np.zeros_like(mean)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            shares += weight * expit(mean + node * np.sqrt(variance))
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - shares, shares])
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the variance of f(x): numbers, or a column per class for more than two.

        Near examples the variance is small; far from all of them it is k(x, x), and nothing is
        known.

        >>> model = GaussianProcessClassifier("4 * gaussian(1)", optimizer=None)
        >>> mean, variance = model.fit([[-1.0], [1.0]], [0, 1]).latent_mean_and_variance([[1], [9]])
        >>> mean.round(3), variance.round(3)
        (array([0.959, 0.   ]), array([2.21, 4.  ]))
        """
        mean, variance = self._latent(X, "latent_mean_and_variance")
        one = len(self.classes_) == 2
        return (mean[:, 0], variance[:, 0]) if one else (mean, variance)

    def _latent(self, X: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the variance of each f, a column each."""
        X = self._checked(X)
        if self.kernel_.takes_matrix:
            raise ValueError(
                f"{who} needs k(x, x) of the new examples, which a precomputed matrix does "
                "not hold; give the kernel itself"
            )
        step = int(max(1, min(1024, get_config().memory_bytes // (64 * len(self.y_train_)))))
        parts = [take(X, slice(i, i + step)) for i in range(0, count(X), step)]
        found = [self._latent_of_few(part) for part in parts]
        mean, variance = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return mean, variance

    def _latent_of_few(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = np.asarray(host_gram(self.kernel_, X, self.X_train_).dense(), dtype=np.float64)
        own = np.asarray(self.kernel_.diag(X), dtype=np.float64)
        mean = rows @ np.stack([one.coef for one in self._modes], axis=1)
        return mean, np.stack([one.variance(rows, own) for one in self._modes], axis=1)
