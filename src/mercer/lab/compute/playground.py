"""The playground: a field of scores, the visits of a perceptron, errors, one pixel explained."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict

from mercer import theory
from mercer.lab.compute.models import Fitted, contributions, fitted, support
from mercer.lab.compute.presets import PRESETS, TEST_ROWS, TEST_SEED
from mercer.lab.compute.states import (
    MOST_CELLS,
    REACH,
    Source,
    State,
    fields_of,
    lattice,
    number,
    whole,
)
from mercer.lab.compute.wire import Reply

#: Numbers of K(picture, points) that are sent with the visits of a perceptron, at most: 4 MB.
MOST_COLUMNS = 1_000_000
#: Points per side of the picture that moves while a perceptron learns.
MOVING = 64
FOLDS = 5


def points(request: dict[str, Any]) -> Reply:
    """The points of a preset."""
    source = fields_of(request, {"source": Source.read}, "the request")["source"]
    X, y = source.points()
    return Reply({"X": X.ravel(), "y": y})


def field(request: dict[str, Any]) -> Reply:
    """Scores on a picture, and what the learner found on the way there."""
    given = fields_of(
        request,
        {"state": State.read, "size": whole(8, MOST_CELLS, "the size"), "visits": bool},
        "the request",
    )
    state, size = given["state"], given["size"]
    found = fitted(state)
    facts, arrays = _described(found)
    arrays["field"] = found.scores(lattice(size)).T.reshape(-1, size, size)
    if given["visits"] and state.entry.averaging is not None:
        more, numbers = _visits(found)
        facts["visits"] = more
        arrays |= numbers
    return Reply(facts | {"size": size}, arrays)


def _described(found: Fitted) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    state, model = found.state, found.model
    facts: dict[str, Any] = {
        "classes": model.classes_.tolist(),
        "gives": state.entry.gives,
        "training": found.errors(state.X, state.y),
        "notes": found.notes,
        "kernel": repr(getattr(model, "kernel_", state.parsed)),
    }
    arrays: dict[str, np.ndarray] = {}
    if hasattr(model, "expansion_"):
        coef = np.zeros((len(state.y), math.prod(model.expansion_.coef.shape[1:])))
        coef[support(found)] = model.expansion_.coef.reshape(len(model.expansion_), -1)
        arrays["alpha"] = coef
    return facts, arrays


def _visits(found: Fitted) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The visits as arrays, and K between the moving picture and the points updated on."""
    state, trace, kernel = found.state, found.trace, found.model.kernel_
    updated = trace.update.any(axis=1)
    used = np.unique(trace.index[updated])
    size = int(min(MOVING, math.isqrt(MOST_COLUMNS // max(1, len(used)))))
    arrays = {
        "index": trace.index,
        "epoch": trace.epoch,
        "update": trace.update,
        "norm": trace.squared_norm,
        "mistakes": trace.mistakes,
        "used": used,
        "columns": np.asarray(kernel(state.X[used], lattice(size)))
        if len(used)
        else np.zeros((0, size * size)),
    }
    radius = float(np.max(kernel.diag(state.X)))  # R²
    return {"size": size, "averaging": state.entry.averaging, "radius": radius}, arrays


def errors(request: dict[str, Any]) -> Reply:
    """What takes longer than a picture: errors on points that were not learned from, and bounds."""
    state = fields_of(request, {"state": State.read}, "the request")["state"]
    found = fitted(state)
    left_out, how = _left_out(found)
    facts: dict[str, Any] = {
        "training": found.errors(state.X, state.y),
        "left_out": left_out,
        "how": how,
        "test": _test(found),
    }
    arrays: dict[str, np.ndarray] = {}
    if state.entry.averaging is not None and len(found.model.classes_) == 2:
        bound = _bound(found)
        if bound is not None:
            facts["bound"], facts["margin"], arrays["alignment"] = bound
    return Reply(facts, arrays)


def _left_out(found: Fitted) -> tuple[float | None, str]:
    """The error on points left out: in closed form where there is one, else by five folds."""
    state, model = found.state, found.model
    X, y = state.X, state.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if state.learner == "ridge":
            alpha = state.entry.settings(state.options)["alpha"]
            scores = type(model)(state.parsed, alphas=[alpha]).fit(X, y).loo_predictions_
            return float(np.mean(_winner(scores, model.classes_) != y)), "leaving one out"
        if state.learner == "smoother":
            shares = model.leave_one_out()
            return float(np.mean(model.classes_[shares.argmax(axis=1)] != y)), "leaving one out"
        if state.learner == "neighbors" and model.n_neighbors < len(y):
            return float(np.mean(model.predict(None) != y)), "leaving one out"
        folds = min(FOLDS, len(y))
        cut = KFold(folds, shuffle=True, random_state=0)
        fresh = state.entry.make(state.parsed, state.options)
        try:
            answers = cross_val_predict(fresh, X, y, cv=cut)
        except ValueError:  # a fold without one of the classes, or with too few neighbors
            return None, f"{folds} folds"
        return float(np.mean(answers != y)), f"{folds} folds"


def _winner(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if scores.ndim == 1:
        return np.asarray(classes[(scores > 0).astype(int)])
    return np.asarray(classes[scores.argmax(axis=1)])


def _test(found: Fitted) -> float | None:
    """The error on new points from the preset; None where the points were drawn by hand."""
    source = found.state.source
    if source is None:
        return None
    X, y = PRESETS[source.preset].sample(TEST_ROWS, source.noise, TEST_SEED + source.seed)
    if not set(found.model.classes_) <= set(y):
        return None
    return found.errors(X, y)


def _bound(found: Fitted) -> tuple[float, float, np.ndarray] | None:
    """(R/ρ)², ρ and ⟨w, w*⟩ per visit, where the classes are separable in feature space."""
    state = found.state
    signs = np.where(state.y == found.model.classes_[1], 1, -1)
    try:
        kernel = found.model.kernel_
        separation = theory.separability(kernel, state.X, signs)
        if separation.separator is None:
            return None
        bound = theory.mistake_bound(separation.separator, state.X, signs)
    except ValueError:  # not a kernel: there is no feature space
        return None
    unit = math.sqrt(float(separation.separator.squared_norm))
    values = np.asarray(separation.separator(state.X))[found.trace.index] / unit
    return bound, separation.margin, np.cumsum(found.trace.update[:, 0] * values)


def pixel(request: dict[str, Any]) -> Reply:
    """One point of the picture: its scores, and what each training point adds to them."""
    reach = number(-REACH, REACH, "a coordinate")
    given = fields_of(
        request,
        {"state": State.read, "x": lambda v: [reach(part) for part in v]},
        "the request",
    )
    if len(given["x"]) != 2:
        raise ValueError("a point of the picture has two coordinates")
    found, x = fitted(given["state"]), np.array([given["x"]])
    return Reply(
        {"score": found.scores(x)[0], "x": given["x"]},
        {"shares": contributions(found, x)},
    )
