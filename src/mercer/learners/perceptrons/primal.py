"""The primal perceptron, on x or on φ(x)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from mercer._arrays import is_sparse
from mercer._bases import BaseEstimator
from mercer._config import get_config
from mercer._examples import count as n_rows
from mercer._examples import take
from mercer._parameters import check_parameters
from mercer.expansion import KernelExpansion
from mercer.gram import diagonal
from mercer.kernels import Linear
from mercer.kernels.catalog import check_function, resolve
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import targets
from mercer.learners.perceptrons.shared import EPOCHS, PerceptronBase, Trace, Visit
from mercer.learners.saving import Savable
from mercer.solvers.online.fit import learn_primal
from mercer.solvers.online.run import Schedule


@estimator
class Perceptron(Savable, PerceptronBase, BaseEstimator):
    """f(x) = w·φ(x) + b, where w ← w + η y φ(x) and b ← b + η y whenever f errs on x.

    The primal twin of `KernelPerceptron`, with the same conventions, options and defaults: in the
    same order it makes the same mistakes as that one with k(x, z) = φ(x)·φ(z), and its w is
    ``expansion_.primal()`` of that one. It costs one product with w an example, however many
    mistakes there were.

    Parameters
    ----------
    feature_map : transformer, function of rows, or None
        φ; None takes x itself. A transformer is cloned and fitted.
    epochs, fit_intercept, averaging, tie, margin, learning_rate, multi_class, max_updates, \
validation_fraction, n_iter_no_change, class_weight, shuffle, random_state
        As in `KernelPerceptron`.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features of φ)
        w; averaged if `averaging` says so. A vote has its last w here.
    intercept_ : ndarray of shape (1 or n_classes,)
    expansion_ : KernelExpansion
        f as a function of φ(x).
    classes_, n_iter_, mistakes_, n_mistakes_, n_visits_, history_, converged_, interrupted_
        As in `KernelPerceptron`.
    feature_map_ : the fitted transformer, or the function

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Perceptron
    >>> X = np.array([[2.0, 1.0], [-1.0, 1.0], [-2.0, -1.0]])
    >>> model = Perceptron(shuffle=False).fit(X, [1, -1, -1])
    >>> model.coef_
    array([[2., 1.]])
    """

    feature_map: Any = None
    epochs: float = parameter(EPOCHS, default=10)

    # --- learning ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from nothing, or from a given w (one row per output) and b.

        An update on an example of weight w goes w times as far; one of weight 0 is not visited.
        """
        check_parameters(self, self._parameters)
        X = self._checked(X, reset=True)
        y = targets(X, y, type(self).__name__, labels=True)
        return self._fit(X, y, coef_init, intercept_init, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on where the last call stopped: one pass over X, in the order given.

        `classes` (all that will ever come) are needed in the first call, which also fits φ.
        """
        check_parameters(self, self._parameters)
        X = self._checked(X, reset=not hasattr(self, "_memory"))
        y = targets(X, y, type(self).__name__, labels=True)
        return self._go_on(X, y, classes, sample_weight)

    def _begin(self, X: Any, y: Any, coef: Any, random: Any) -> None:
        self._fit_map(X, y)
        shape = (self._memory.rule.outputs, self._phi(take(X, slice(0, 1))).shape[1])
        given = np.zeros(shape) if coef is None else np.atleast_2d(np.asarray(coef, dtype=float))
        if given.shape != shape or not np.isfinite(given).all():
            raise ValueError(
                f"coef_init needs finite numbers of shape {shape}, got {np.shape(coef)}"
            )
        self._start_coef = self._last = given
        self._late = np.zeros(shape)
        self._reach = np.linalg.norm(given, axis=1)

    def _learn(self, X: Any, labels: np.ndarray, schedule: Schedule, held: Any, start: Any) -> Any:
        memory, row = self._memory, 8 * self._last.shape[1]
        # φ of everything at once if there is room for it, else block by block in each pass.
        if self.feature_map is None or row * len(labels) <= get_config().memory_bytes // 2:
            phi, block = self._phi(X), 4096
        else:
            phi, block = None, max(1, min(4096, get_config().memory_bytes // (8 * row)))

        def features(index: Any) -> Any:
            return self._phi(take(X, index)) if phi is None else take(phi, index)

        # A model from a file of an earlier version has no Σ |u| ‖φ‖: ‖w‖ then stands for it.
        reach = getattr(self, "_reach", np.linalg.norm(self._last, axis=1))
        state, patience = (self._last, self._late, reach), self.n_iter_no_change
        *told, self._last, self._late, self._reach = learn_primal(
            features, labels, memory, schedule, *state, held=held, block=block, patience=patience
        )
        self.coef_: np.ndarray = memory.averaged(self._last, self._late)
        self.intercept_: np.ndarray = memory.intercept.copy()
        return told

    # --- features ---------------------------------------------------------------------------

    def _checked(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
        )

    def _fit_map(self, X: Any, y: Any) -> None:
        given = self.feature_map
        if given is None:
            self.feature_map_: Any = None
        elif hasattr(given, "fit"):
            self.feature_map_ = clone(given).fit(X, y)
        else:
            check_function(given, "Perceptron(feature_map=…)")
            self.feature_map_ = given

    def _phi(self, X: Any) -> Any:
        if self.feature_map_ is None:
            return X
        phi = resolve(self.feature_map_)(X)
        if is_sparse(phi):
            return phi.tocsr()
        phi = np.asarray(phi)
        if phi.ndim != 2 or len(phi) != n_rows(X):
            raise ValueError(f"feature_map gave shape {phi.shape} for {n_rows(X)} rows")
        return phi if phi.dtype.kind == "f" else phi.astype(np.float64)

    # --- predictions, teaching --------------------------------------------------------------

    @property
    def expansion_(self) -> KernelExpansion:
        if len(self.coef_) == 1:
            return KernelExpansion(Linear(), self.coef_, np.ones(1), self.intercept_[0])
        return KernelExpansion(Linear(), self.coef_, np.eye(len(self.coef_)), self.intercept_)

    def _scores(self, X: Any) -> np.ndarray:
        phi = self._phi(self._checked(X, reset=False))
        if self._memory.averaging == "vote":
            before = np.asarray(phi @ self._start_coef.T)
            return self._memory.votes(Linear(), phi, n_rows(phi), before)
        return np.asarray(phi @ self.coef_.T) + self.intercept_

    def steps(self, X: Any, y: Any, separator: Any = None) -> Iterator[Visit]:
        """Every visit of `fit`; see `KernelPerceptron.steps`.

        `separator` is w* (as `coef_`), or an expansion on φ(x).
        """
        return self.trace(X, y, separator).visits(n_rows(X))

    def trace(self, X: Any, y: Any, separator: Any = None) -> Trace:
        """Every visit of `fit` as arrays; see `steps` for the quantities."""
        model = clone(self)
        visits = model._visits(X, y)
        phi, ideal = model._phi(model._checked(X, reset=False)), None
        if isinstance(separator, KernelExpansion):
            ideal = (np.asarray(separator(phi)) - separator.intercept).reshape(n_rows(phi), -1)
        elif separator is not None:
            ideal = np.asarray(phi @ np.atleast_2d(separator).T)
        return model._trace(visits, y, diagonal(Linear(), phi), ideal)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
