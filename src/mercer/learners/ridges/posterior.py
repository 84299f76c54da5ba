"""Predicted variances of a fitted ridge model: which form, and in blocks that fit the memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._config import get_config
from mercer._examples import count, take
from mercer._parameters import random_from
from mercer.gram import host_gram
from mercer.maps.centers import center_matrix
from mercer.solvers.linear.cg import RidgeSystem
from mercer.solvers.linear.factor import Shifted
from mercer.solvers.linear.panels import FeaturePanels, GramPanels
from mercer.solvers.linear.posterior import Dual, Iterative, Posterior, Primal
from mercer.solvers.requirements import Request, Size, check, solvers_for


class Posteriors:
    """One posterior for each distinct λ; the last one made is kept."""

    def __init__(self, model: Any) -> None:
        if model.kernel_.takes_matrix:
            raise ValueError(
                "return_std needs k(x, x) of the new examples, which a precomputed matrix does not "
                "hold; give the kernel itself"
            )
        if count(model.X_fit_) != model._n_train:
            raise ValueError(
                f"return_std needs sums over all {model._n_train} training rows, and a model of "
                f"rows in pieces keeps its {count(model.X_fit_)} centers only: fit it on an array"
            )
        self.model = model
        self._kept: tuple[float, Posterior] | None = None

    @cached_property
    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """The variances of f, in units of k, and of the noise that make y most likely, per target.

        f ~ GP(0, s k) and noise of variance s λ: log p(y) is the largest at s = yᵀ(K + λI)⁻¹y / n,
        which is (Σ w (y − f)² / λ + ‖f‖²) / n. An intercept takes one of the n.
        """
        model, targets = self.model, self.model._targets
        if targets is None:
            raise ValueError("the file of this model was written before it kept targets: fit again")
        wrong = targets - np.reshape(host(model._values(model.X_fit_)), targets.shape)
        weights = np.ones(len(wrong)) if model._weights is None else model._weights
        n = max(float(weights.sum()) - bool(model.fit_intercept), 1.0)
        left, norms = weights @ np.square(wrong), np.maximum(self._norms(), 0.0)
        lambdas = model._lambdas
        noise = (left + lambdas * norms) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(lambdas > 0, noise / lambdas, norms / n), noise

    def _norms(self) -> np.ndarray:
        """‖f‖² of every target, without the intercept."""
        model = self.model
        if model._primal is not None:
            return np.asarray(np.square(model._primal).sum(axis=0))
        found = model.expansion_.squared_norm
        return np.atleast_1d(np.asarray(host(found), dtype=np.float64))

    def variances(self, X: Any) -> np.ndarray:
        """(n_rows, n_targets), of f ~ GP(0, k) with noise of variance λ."""
        lambdas = self.model._lambdas
        result = np.empty((count(X), len(lambdas)))
        for alpha in np.unique(lambdas):
            result[:, lambdas == alpha] = self._variance(X, float(alpha))[:, None]
        return result

    def covariance(self, X: Any, alpha: float) -> np.ndarray:
        """(n_rows, n_rows) for one λ."""
        prior = np.asarray(host_gram(self.model.kernel_, X).dense(), dtype=np.float64)
        found = self._at(alpha).covariance(self._rows(X), prior)
        np.fill_diagonal(found, np.maximum(found.diagonal(), 0.0))  # but for rounding it is
        return found

    def _at(self, alpha: float) -> Posterior:
        if self._kept is None or self._kept[0] != alpha:
            self._kept = None  # two factorizations need not fit
            self._kept = (alpha, self._make(alpha))
        return self._kept[1]

    def _variance(self, X: Any, alpha: float) -> np.ndarray:
        posterior, model = self._at(alpha), self.model
        own = np.asarray(model.kernel_.diag(X), dtype=np.float64)
        n = len(own)
        width = model._primal.shape[0] if model._primal is not None else len(model.expansion_)
        step = int(max(1, min(1024, get_config().memory_bytes // (256 * width))))
        result = np.empty(n)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            result[part] = posterior.variance(self._rows(take(X, part)), own[part])
        return result

    def _rows(self, X: Any) -> np.ndarray:
        model = self.model
        if model._primal is not None:
            return model.kernel_.features(X)
        return host_gram(model.kernel_, X, host(model.expansion_.points)).dense()

    def _make(self, alpha: float) -> Posterior:
        model = self.model
        n = count(model.X_fit_)
        intercept, weights = bool(model.fit_intercept), model._weights
        none = np.zeros((n, 0))
        if model.solver_ == "primal":
            panels = FeaturePanels(model.kernel_, host(model.X_fit_), n)
            return Primal(panels.normal(none, weights), alpha, intercept)
        gram = host_gram(model.kernel_, host(model.X_fit_))
        if model.solver_ == "nystrom":
            points = host(model.expansion_.points)
            columns = GramPanels(host_gram(model.kernel_, gram.points(), points))
            penalty = center_matrix(host_gram(model.kernel_, points), None)
            return Primal(columns.normal(none, weights), alpha, intercept, penalty)
        scale = np.ones(n) if weights is None else np.sqrt(weights)
        if model.solver_ == "cg":
            random = random_from(model.random_state)
            system = RidgeSystem(gram, scale, np.array([alpha]), model.preconditioner, None, random)
            return Dual(Iterative(system, model.tol, model.max_iter), scale, intercept)
        size = Size(n, itemsize=gram.dtype.itemsize)
        wanted = Request("ridge", gram, size, {"std": "return_std="})
        solvers = solvers_for("ridge")
        for name in {model.solver_, "cholesky"} & solvers.keys():
            check(solvers[name], wanted)
        shifted = Shifted(gram, None if weights is None else scale, once=True)
        return Dual(shifted.factor(alpha), scale, intercept)
