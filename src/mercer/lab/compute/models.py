"""A state fitted: scores of any points, and what they are made of."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.lab.compute.states import State

#: Fitted models that a worker keeps, for the questions that follow one fit.
KEPT = 4
_models: OrderedDict[str, Fitted] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and what it said by the way."""

    state: State
    model: Any
    notes: tuple[str, ...]
    #: The visits of a perceptron.
    trace: Any = None

    def scores(self, X: np.ndarray) -> np.ndarray:
        """One column for two classes (positive: the second), else one column per class."""
        with warnings.catch_warnings(action="ignore"):  # the fit has said it
            if hasattr(self.model, "decision_function"):
                values = np.asarray(self.model.decision_function(X), dtype=np.float64)
                return values.reshape(len(X), -1)
            shares = self.model.predict_proba(X)
        return shares[:, 1:] - shares[:, :1] if shares.shape[1] == 2 else shares

    def variances(self, X: np.ndarray) -> np.ndarray | None:
        """How uncertain the scores are, columns as theirs; None where the learner does not know."""
        if not hasattr(self.model, "latent_mean_and_variance"):
            return None
        return np.asarray(self.model.latent_mean_and_variance(X)[1].reshape(len(X), -1))

    def errors(self, X: np.ndarray, y: np.ndarray) -> float:
        """The share of wrong answers."""
        with warnings.catch_warnings(action="ignore"):
            return float(np.mean(self.model.predict(X) != y))


def fitted(state: State) -> Fitted:
    """The model of a state; the last few are kept."""
    if state.key not in _models:
        _models[state.key] = fit(state)
        while len(_models) > KEPT:
            _models.popitem(last=False)
    _models.move_to_end(state.key)
    return _models[state.key]


def fit(state: State) -> Fitted:
    """A model of a state, which is not kept."""
    check(state)
    model, trace = state.entry.make(state.parsed, state.options), None
    with warnings.catch_warnings(record=True, action="always") as told:
        if state.entry.averaging is None:
            model.fit(state.X, state.y)
        else:
            trace = model.trace(state.X, state.y)
            model = trace.model
    notes = [" ".join(str(w.message).split()) for w in told]
    if trace is not None and not model.converged_:
        made = model.history_[-1]["mistakes"]
        notes.append(f"The last pass still made {made} mistakes: more passes, or another kernel?")
    return Fitted(state, model, tuple(dict.fromkeys(notes)), trace)


def check(state: State) -> None:
    """What a learner could only say in its own words."""
    classes = len(np.unique(state.y))
    if classes < 2:
        raise ValueError("draw points of two classes at least")
    neighbors = state.options.get("n_neighbors")
    if neighbors is not None and neighbors > len(state.y):
        raise ValueError(f"{neighbors:g} neighbors need as many points; there are {len(state.y)}")


def contributions(found: Fitted, x: np.ndarray) -> np.ndarray:
    """What each training point adds to the scores at x: one row per point, columns as `scores`.

    For a sum over the points these are αᵢ k(xᵢ, x); for a vote, the weight of the point's vote.
    """
    model, n = found.model, len(found.state.y)
    x = np.asarray(x, dtype=np.float64).reshape(1, -1)
    if found.state.learner == "smoother":
        k = np.asarray(model.kernel_(x, found.state.X), dtype=np.float64)[0]
        return _votes(found, k / k.sum() if k.sum() > 0 else 0.0 * k)
    if found.state.learner == "neighbors":
        index = model.kneighbors(x, return_distance=False)[0]
        weight = np.zeros(n)
        weight[index] = 1.0 / len(index)
        return _votes(found, weight)
    if not found.state.entry.takes_kernel:  # its kernel acts on other columns
        return np.zeros((n, 1 if len(model.classes_) == 2 else len(model.classes_)))
    expansion = model.expansion_
    shares = expansion.contributions(x).reshape(len(expansion), -1)
    classes = len(model.classes_)
    if found.state.learner == "svm" and classes > 2:
        shares = for_classes(shares, classes)
    if found.state.learner == "centroid" and classes == 2:
        shares = shares[:, 1:] - shares[:, :1]
    whole = np.zeros((n, shares.shape[1]))
    whole[support(found)] = shares
    return whole


def support(found: Fitted) -> np.ndarray:
    """The indices of the points that an expansion holds, in its order."""
    n = len(found.state.y)
    return np.asarray(getattr(found.model, "support_", np.arange(n)))


def _votes(found: Fitted, weight: np.ndarray) -> np.ndarray:
    codes = np.searchsorted(found.model.classes_, found.state.y)
    if len(found.model.classes_) == 2:
        return (weight * np.where(codes == 1, 1.0, -1.0))[:, None]
    return np.asarray(weight[:, None] * np.eye(len(found.model.classes_))[codes])


def for_classes(pairs: np.ndarray, classes: int) -> np.ndarray:
    """Contributions to the scores of pairs, as contributions for and against each class."""
    first, second = (np.eye(classes)[index] for index in np.triu_indices(classes, 1))
    return np.asarray(pairs @ (first - second))
