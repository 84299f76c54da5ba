"""Kernels from models of densities: two points are alike if the same causes explain them."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer._parameters import Declared, Flag, declare
from mercer.formula.inputs import Warped, numeric
from mercer.formula.nodes import Formula, Input, dot
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Claim, Rule
from mercer.kernels.core import Examples, Kernel
from mercer.kernels.opaque import OpaqueKernel


@record
class TwoNormals:
    """Normal densities around −1 and 1, in any number of columns: the model of the examples."""

    weights: ClassVar[tuple[float, float]] = (0.25, 0.75)

    def log_densities(self, X: Any) -> np.ndarray:
        return -0.5 * np.stack([np.square(X - mean).sum(axis=1) for mean in (-1.0, 1.0)], axis=1)

    def fisher_scores(self, X: Any) -> np.ndarray:
        """As if the mean of the second were the one parameter."""
        return np.asarray(X) - 1.0


class _WithModel(Kernel):
    """A kernel that holds a fitted model: its own copy, compared by what the model has learned."""

    _field: str

    def _keep(self, model: Any) -> None:
        import joblib

        try:
            digest = joblib.hash(model)
            # A model that is fitted again elsewhere must not change a kernel.
            model = copy.deepcopy(model)
        except Exception:  # a model that cannot be pickled is shared, and equal to itself only
            digest = id(model)
        self._set(self._field, model)
        self._set("_digest", digest)

    def _key(self) -> tuple[Any, ...]:
        others = [value for name, value in self._fields() if name != self._field]
        return (type(self), self._digest, *others)  # type: ignore[attr-defined]


@kernel
class ConditionalExpectation(_WithModel, OpaqueKernel):
    """k(x, z) = E_c[p(x | c) p(z | c)] = Σ_c P(c) p(x | c) p(z | c), c the hidden class.

    `mixture` is a fitted model: scikit-learn's GaussianMixture (or anything with `weights_`,
    `predict_proba` and `score_samples`), its naive Bayes classifiers (`predict_joint_log_proba`),
    or any object with `weights` (one for each class) and ``log_densities(X)`` (rows × classes).

    Densities are handled as logarithms. In many dimensions k itself leaves the range of numbers;
    ``.normalized()``, which is ``unit=True``, never does: it is computed from ratios of densities.

    Parameters
    ----------
    mixture : fitted model
        Of the hidden classes and their densities.
    unit : bool, default False
        Whether k is divided so that k(x, x) = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import ConditionalExpectation
    >>> class Coins:
    ...     weights = np.array([0.5, 0.5])
    ...     def log_densities(self, X):
    ...         heads = np.array([0.9, 0.1])
    ...         return np.log(np.where(X > 0, heads, 1 - heads))
    >>> k = ConditionalExpectation(Coins())
    >>> k([[1.0], [0.0]])
    array([[0.41, 0.09],
           [0.09, 0.41]])
    >>> k.normalized()([[1.0]], [[0.0]]).round(4)
    array([[0.2195]])
    """

    mixture: Any
    unit: bool = False
    _field = "mixture"
    examples: ClassVar[Examples] = (lambda: ConditionalExpectation(TwoNormals()),)

    parameters: ClassVar[Declared] = declare(unit=Flag())

    def _check_together(self) -> None:
        _reader(self.mixture)  # an unsuitable or unfitted model is reported here
        self._keep(self.mixture)

    def normalized(self) -> Kernel:
        """k(x, z) / √(k(x, x) k(z, z)), from logarithms of densities."""
        return ConditionalExpectation(self.mixture, unit=True)

    def prepare(self, X: Any) -> np.ndarray:
        """ln √P(c) p(x | c), rows × classes, as (ratios to the row's own peak | that peak)."""
        logs = _reader(self.mixture)(X)
        if np.isnan(logs).any() or np.isposinf(logs).any():
            bad = int(np.argmax((np.isnan(logs) | np.isposinf(logs)).any(axis=1)))
            raise ValueError(f"the model gives no finite density for row {bad}")
        peak = logs.max(axis=1, keepdims=True)
        possible = np.isfinite(peak)  # a row that no class can explain has features 0
        ratios = np.exp(np.where(possible, logs - np.where(possible, peak, 0.0), -np.inf))
        if self.unit:
            ratios /= np.maximum(np.linalg.norm(ratios, axis=1, keepdims=True), 1.0)
            peak = np.zeros_like(peak)
        return np.hstack([ratios, np.where(possible, peak, 0.0)])

    def block(self, state_x: np.ndarray, state_z: np.ndarray) -> np.ndarray:
        product = state_x[:, :-1] @ state_z[:, :-1].T
        if not self.unit:
            product *= np.exp(state_x[:, -1:] + state_z[:, -1])
        return product

    def diag_of(self, state: np.ndarray) -> np.ndarray:
        squares = np.einsum("ij,ij->i", state[:, :-1], state[:, :-1])
        return squares * np.exp(2.0 * state[:, -1])

    def bytes_per_pair(self) -> int:
        return 8

    def features(self, X: Any) -> np.ndarray:
        state = self.prepare(X)
        return state[:, :-1] * np.exp(state[:, -1:])

    def n_dims(self, n_features: int) -> int | float:
        return int(np.count_nonzero(_weights(self.mixture)))

    def claim(self, n_features: int | None = None) -> Claim:
        because = "φ_c(x) = √P(c) p(x | c)" + (", of unit length" if self.unit else "")
        return Claim(True, "conditional expectation", self, because, generic=False)

    def latex(self, x: str = "x", z: str = "z") -> str:
        k = rf"\sum_c P(c) \, p({x} \mid c) \, p({z} \mid c)"
        return k if not self.unit else rf"\left[{k}\right]_{{\mathrm{{normalized}}}}"


def _weights(model: Any) -> np.ndarray:
    """P(c) of every class."""
    for name in ("weights_", "weights", "class_prior_"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name), dtype=float).ravel()
    return np.exp(np.asarray(model.class_log_prior_, dtype=float))


def _reader(model: Any) -> Any:
    """The function that gives ln √P(c) p(x | c), for classes with P(c) > 0."""
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class; give a fitted {model.__name__}(…)")
    conditional = hasattr(model, "log_densities")  # p(x | c), where the others give p(x, c)
    if conditional:
        densities = _of_object
    elif hasattr(model, "predict_joint_log_proba"):
        densities = _of_naive_bayes
    elif hasattr(model, "predict_proba") and hasattr(model, "score_samples"):
        densities = _of_mixture
    else:
        raise TypeError(
            f"{type(model).__name__} is no model of densities: it needs log_densities(X) and "
            "weights, or scikit-learn's predict_joint_log_proba (naive Bayes), or "
            "predict_proba and score_samples (mixtures)"
        )
    try:
        weights = _weights(model)
    except AttributeError:
        name = type(model).__name__
        raise ValueError(f"this {name} has no class weights yet: fit it first") from None
    if not (weights >= 0).all() or not np.isfinite(weights).all():
        raise ValueError(f"the weights of the classes must be ≥ 0 and finite, got {weights}")
    used = weights > 0
    half = 0.5 * np.log(weights[used])

    def logs(X: Any) -> np.ndarray:
        with np.errstate(divide="ignore"):
            values = np.asarray(densities(model, _rows(X)), dtype=float)
        if values.ndim != 2 or values.shape[1] != len(weights):
            raise ValueError(
                f"the model has {len(weights)} class weights and gives densities of shape "
                f"{values.shape}; expected one column for each class"
            )
        return values[:, used] + (half if conditional else -half)

    return logs


def _rows(X: Any) -> Any:
    """As models take them: CSR where it is, otherwise an array of numbers, checked."""
    rows = numeric(X)
    if not is_sparse(rows) and not np.isfinite(rows).all():
        raise ValueError("X contains NaN or infinite values")
    return rows


def _of_object(model: Any, X: Any) -> Any:
    return model.log_densities(X)


def _of_naive_bayes(model: Any, X: Any) -> Any:
    return model.predict_joint_log_proba(X)


def _of_mixture(model: Any, X: Any) -> Any:
    # p(x, c) = P(c | x) p(x): a posterior below 10⁻³⁰⁸ is lost, which no entry of k can see.
    return np.log(model.predict_proba(X)) + np.asarray(model.score_samples(X))[:, None]


@kernel
class Fisher(_WithModel, Kernel):
    """k(x, z) = U(x)ᵀ I⁻¹ U(z), U(x) = ∇_θ ln p(x | θ): how x and z would pull at the model.

    `model` is a fitted GaussianMixture; θ are its weights and means, and its variances where the
    covariances are diagonal or spherical. I is taken block by block in closed form, for classes
    that overlap little. Or any object with ``fisher_scores(X)``, which gives I^(−1/2) U(x).

    Parameters
    ----------
    model : fitted GaussianMixture, or any object with ``fisher_scores(X)``
        The density p(x | θ).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Fisher
    >>> class Normal:  # mean 0, variance 1, θ the mean
    ...     def fisher_scores(self, X):
    ...         return X
    >>> Fisher(Normal())([[2.0]], [[3.0]])
    array([[6.]])
    """

    model: Any
    _field = "model"
    tex = r"U(x)^\top I^{-1} U(z), \quad U(x) = \nabla_\theta \ln p(x \mid \theta)"
    examples: ClassVar[Examples] = (lambda: Fisher(TwoNormals()),)
    proof: ClassVar[Rule] = Rule(
        True, "Fisher kernel", "φ(x) = I^(−1/2) ∇ ln p(x | θ)", generic=False
    )

    def _check_together(self) -> None:
        model = self.model
        if not hasattr(model, "fisher_scores") and not hasattr(model, "covariance_type"):
            raise TypeError(
                f"Fisher needs a GaussianMixture or an object with fisher_scores(X), "
                f"not {type(model).__name__}"
            )
        if not hasattr(model, "fisher_scores") and not hasattr(model, "means_"):
            raise ValueError(f"this {type(model).__name__} has no means yet: fit it first")
        self._keep(model)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows.then(Warped(self.features, "Fisher scores")))

    def features(self, X: Any) -> np.ndarray:
        rows = numeric(X)
        if is_sparse(rows):
            rows = rows.toarray()
        if hasattr(self.model, "fisher_scores"):
            scores = np.asarray(self.model.fisher_scores(rows))
            return scores.reshape(len(rows), -1)
        return _mixture_scores(self.model, rows).astype(rows.dtype, copy=False)

    def n_dims(self, n_features: int) -> int | float:
        return int(self.features(np.zeros((1, n_features))).shape[1])


def _mixture_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """The gradient in the weights, the means and, where diagonal, the variances; whitened."""
    weights = np.asarray(model.weights_)
    posterior = model.predict_proba(X)
    parts = [(posterior - weights) / np.sqrt(weights)]
    for c, mean in enumerate(model.means_):
        root = _root_of_precision(model, c)
        offset = X - mean
        white = offset @ root if root.ndim == 2 else offset * root
        share = posterior[:, c : c + 1] / np.sqrt(weights[c])
        parts.append(share * white)
        if root.ndim < 2:
            parts.append(share * (white**2 - 1.0) / np.sqrt(2.0))
    return np.hstack(parts)


def _root_of_precision(model: Any, c: int) -> np.ndarray:
    roots = np.asarray(model.precisions_cholesky_)
    return roots if model.covariance_type == "tied" else np.asarray(roots[c])
