"""The playground: a field of scores, the visits of a perceptron, errors, one pixel explained."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.model_selection import KFold, cross_val_predict

from mercer import theory
from mercer.lab.compute.models import Fitted, contributions, fit, fitted, support
from mercer.lab.compute.presets import PRESETS, TEST_ROWS, TEST_SEED
from mercer.lab.compute.states import (
    MOST_CELLS,
    REACH,
    Source,
    State,
    lattice,
    number,
    takes,
    view_of,
    whole,
)
from mercer.lab.compute.wire import Reply
from mercer.live import sliders_of

#: Numbers of K(picture, points) that are sent to move through the visits, at most: 4 MB.
MOST_COLUMNS = 1_000_000
#: Points per side of the picture that moves while a perceptron learns.
MOVING = 64
FOLDS = 5
#: Values of a number of the kernel along the curve of errors.
TRIED = 15
#: Points per side at which variances are computed, at most; they take longer than scores, and are
#: smooth, so that half as many as the picture has will do.
VARYING = 64
_COORDINATE = number(-REACH, REACH, "a coordinate")


@takes(source=Source.read)
def points(source: Source) -> Reply:
    """The points of a preset."""
    X, y = source.points()
    return Reply({"X": X.ravel(), "y": y})


@takes(state=State.read, size=whole(8, MOST_CELLS, "the size"), visits=bool, view=view_of)
def field(state: State, size: int, visits: bool, view: Any = None) -> Reply:
    """Scores on a picture, and what the learner found on the way there."""
    found = fitted(state)
    facts, arrays = _described(found)
    arrays["field"] = found.scores(lattice(size, view)).T.reshape(-1, size, size)
    arrays |= _uncertain(found, arrays["field"], view)
    if visits and state.entry.averaging is not None:
        more, numbers = _visits(found)
        facts["visits"] = more
        arrays |= numbers
    return Reply(facts | {"size": size}, arrays)


def _uncertain(found: Fitted, scores: np.ndarray, view: np.ndarray) -> dict[str, np.ndarray]:
    """The log-odds of the mean probability, and the share of f's first deviation that is left.

    The mean of a sigmoid over N(m, v) is nearly that of m/√(1 + πv/8).
    """
    size = scores.shape[-1]
    small = min(size // 2, VARYING)
    variance = found.variances(lattice(small, view))
    if variance is None:
        return {}
    first = np.asarray(found.model.kernel_.diag(lattice(small, view)), dtype=np.float64)
    left = np.sqrt(variance.mean(axis=1) / np.maximum(first, 1e-300)).reshape(small, small)
    smooth = variance.T.reshape(-1, small, small)
    smooth = np.stack([zoom(one, size / small, order=1) for one in smooth])
    return {"field": scores / np.sqrt(1.0 + np.pi / 8.0 * smooth), "doubt": left}


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
    if not state.entry.takes_kernel:  # round by round, in the units of the picture
        scale = model.inputs_.scale
        arrays["metrics"] = np.array([np.eye(2), *model.metrics_]) / np.outer(scale, scale)
    elif hasattr(model, "expansion_"):
        coef = np.zeros((len(state.y), math.prod(model.expansion_.coef.shape[1:])))
        coef[support(found)] = model.expansion_.coef.reshape(len(model.expansion_), -1)
        arrays["alpha"] = coef
    return facts, arrays


def _visits(found: Fitted) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The visits as arrays, and the points that were updated on."""
    trace = found.trace
    arrays = {
        "index": trace.index,
        "epoch": trace.epoch,
        "update": trace.update,
        "norm": trace.squared_norm,
        "mistakes": trace.mistakes,
        "used": _used(trace),
    }
    radius = float(np.max(found.model.kernel_.diag(found.state.X)))  # R²
    return {"averaging": found.state.entry.averaging, "radius": radius}, arrays


def _used(trace: Any) -> np.ndarray:
    return np.unique(trace.index[trace.update.any(axis=1)])


@takes(state=State.read, view=view_of)
def columns(state: State, view: Any = None) -> Reply:
    """K between the moving picture and the points updated on, for the field after any visit.

    These are many numbers, and a picture that does not move needs none of them.
    """
    found = fitted(state)
    if found.trace is None:
        raise ValueError(f"the {found.state.entry.title} does not learn visit by visit")
    X = found.state.X[_used(found.trace)]
    size = int(min(MOVING, math.isqrt(MOST_COLUMNS // max(1, len(X)))))
    pixels = lattice(size, view)
    K = np.asarray(found.model.kernel_(X, pixels)) if len(X) else np.zeros((0, size * size))
    return Reply({"size": size}, {"columns": K})


@takes(state=State.read)
def errors(state: State) -> Reply:
    """What takes longer than a picture: errors on points that were not learned from, and bounds."""
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
    if found.trace is not None:
        arrays["training_path"] = _path(found, state.X, state.y)
        if left_out is not None:
            arrays["left_path"] = _left_path(found)
        if facts["test"] is not None:
            arrays["test_path"] = _path(found, *_new_points(found))
    if not state.entry.takes_kernel:
        arrays |= _by_round(state)
    return Reply(facts, arrays)


def _by_round(state: State) -> dict[str, np.ndarray]:
    """The errors of a learned metric after each round, that of no round first."""
    count = int(state.entry.settings(state.options)["rounds"])
    fits = [fit(replace(state, options=state.options | {"rounds": r})) for r in range(count + 1)]
    paths: dict[str, list[float | None]] = {
        "training": [found.errors(state.X, state.y) for found in fits],
        "left": [_left_out(found)[0] for found in fits],
        "test": [_test(found) for found in fits],
    }
    return {f"{name}_path": np.array(p) for name, p in paths.items() if None not in p}


@takes(state=State.read, number=whole(0, 50, "the number"))
def errors_over(state: State, number: int) -> Reply:
    """Errors in training and on points left out, for other values of one number of the kernel."""
    sliders = sliders_of(state.kernel)
    if number >= len(sliders):
        raise ValueError(f"the kernel has {len(sliders)} numbers")
    slider = sliders[number]
    low, high, log = slider["low"], slider["high"], slider["log"]
    tried = np.geomspace(low, high, TRIED) if log else np.linspace(low, high, TRIED)
    tried = np.unique(np.round(tried)) if slider["whole"] else tried
    training, left = np.full((2, len(tried)), np.nan)
    for i, value in enumerate(tried):
        shown = str(int(value)) if slider["whole"] else f"{value:.4g}"
        text = f"{state.kernel[: slider['start']]}{shown}{state.kernel[slider['end'] :]}"
        with contextlib.suppress(ValueError):  # there is no such kernel, or it cannot be learned
            found = fit(replace(state, kernel=text))
            training[i], out = found.errors(state.X, state.y), _left_out(found)[0]
            left[i] = np.nan if out is None else out
    return Reply({"log": log}, {"tried": tried, "training": training, "left_out": left})


def _course(found: Fitted, X: np.ndarray, visits: int | None = None) -> Iterator[np.ndarray]:
    """The scores at X after every visit, by the predictor that is shown then."""
    trace, averaging = found.trace, found.state.entry.averaging
    K = np.asarray(found.model.kernel_(found.state.X, X), dtype=np.float64)
    last = total = np.zeros((len(X), trace.update.shape[1]))
    seen = zip(trace.index[:visits], trace.update[:visits], strict=True)
    for t, (i, u) in enumerate(seen, 1):
        last = now = last + K[i][:, None] * u
        if averaging == "vote":
            several = last.shape[1] > 1
            now = (
                np.eye(last.shape[1])[last.argmax(axis=1)] if several else np.where(last > 0, 1, -1)
            )
        total = total + now
        yield last if averaging == "last" else total / t


def _path(found: Fitted, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of wrong answers after every visit."""
    classes = found.model.classes_
    shown = (f[:, 0] if f.shape[1] == 1 else f for f in _course(found, X))
    return np.array([np.mean(_winner(scores, classes) != y) for scores in shown])


def _left_path(found: Fitted) -> np.ndarray:
    """The same on points left out, by five folds: each after the same share of its visits."""
    state, visits = found.state, np.arange(1, len(found.trace.index) + 1)
    wrong = np.zeros(len(visits))
    for rest, held in _folds(len(state.y)).split(state.X):
        part = fit(replace(state, X=state.X[rest], y=state.y[rest]))
        path = _path(part, state.X[held], state.y[held])
        wrong += path[-(-visits * len(path) // len(visits)) - 1] * len(held) / len(state.y)
    return wrong


def _folds(n: int) -> KFold:
    return KFold(min(FOLDS, n), shuffle=True, random_state=0)


def _left_out(found: Fitted) -> tuple[float | None, str]:
    """The error on points left out: in closed form where there is one, else by five folds."""
    state, model = found.state, found.model
    X, y = state.X, state.y
    with warnings.catch_warnings(action="ignore"):
        if state.learner == "ridge":
            alpha = state.entry.settings(state.options)["alpha"]
            scores = type(model)(state.parsed, alphas=[alpha]).fit(X, y).loo_predictions_
            return float(np.mean(_winner(scores, model.classes_) != y)), "leaving one out"
        if state.learner == "smoother":
            answers = _winner(model.leave_one_out(), model.classes_)
            return float(np.mean(answers != y)), "leaving one out"
        if state.learner == "neighbors" and model.n_neighbors < len(y):
            return float(np.mean(model.predict(None) != y)), "leaving one out"
        cut = _folds(len(y))
        fresh, how = state.entry.make(state.parsed, state.options), f"{cut.n_splits} folds"
        try:
            answers = cross_val_predict(fresh, X, y, cv=cut)
        except ValueError:  # a fold without one of the classes, or with too few neighbors
            return None, how
        return float(np.mean(answers != y)), how


def _winner(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(classes[best])


def _test(found: Fitted) -> float | None:
    """The error on new points from the preset; None where points were drawn by hand."""
    if not found.state.generated:
        return None
    X, y = _new_points(found)
    if not set(found.model.classes_) <= set(y):
        return None
    return found.errors(X, y)


def _new_points(found: Fitted) -> tuple[np.ndarray, np.ndarray]:
    source = found.state.source
    return PRESETS[source.preset].sample(TEST_ROWS, source.noise, TEST_SEED + source.seed)


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


@takes(
    state=State.read,
    x=lambda v: [_COORDINATE(part) for part in v],
    visit=lambda v: None if v is None else whole(0, 10**6, "the visit")(v),
)
def pixel(state: State, x: list[float], visit: int | None) -> Reply:
    """One point of the picture: its scores, and what training points and coordinates add to them.

    With `visit`, those of a perceptron after so many visits.
    """
    if len(x) != 2:
        raise ValueError("a point of the picture has two coordinates")
    found, row = fitted(state), np.array([x])
    if visit is not None and found.trace is not None:
        score, shares = _after(found, row, visit)
        return Reply({"score": score, "x": x}, {"shares": shares})
    facts, variances = {"score": found.scores(row)[0], "x": x}, found.variances(row)
    facts["coordinates"] = _coordinates(found, row)
    if variances is not None:
        facts["deviation"] = np.sqrt(variances[0])
    return Reply(facts, {"shares": contributions(found, row)})


def _coordinates(found: Fitted, x: np.ndarray) -> np.ndarray:
    """Exact Shapley values of x₁ and x₂ against the training points: (2, outputs).

    Two columns become known in two orders only, so this holds for every model.
    """
    points = found.state.X
    rows = [np.where([known], x, points) for known in ((0, 0), (1, 0), (0, 1))]
    base, first, second = (found.scores(part).mean(axis=0) for part in rows)
    score = found.scores(x)[0]
    return np.stack([score - second + first - base, score - first + second - base]) / 2.0


def _after(found: Fitted, x: np.ndarray, visits: int) -> tuple[np.ndarray, np.ndarray]:
    """The scores of a perceptron at x after some visits, and what each point adds to them."""
    trace, averaging = found.trace, found.state.entry.averaging
    index, update = trace.index[:visits], trace.update[:visits]
    k = np.asarray(found.model.kernel_(found.state.X, x), dtype=np.float64)
    # The average counts an update for all visits from its own to the last.
    stayed = np.arange(len(index), 0, -1) / len(index) if averaging == "average" else 1.0
    shares = np.zeros((len(k), update.shape[1]))
    np.add.at(shares, index, update * np.reshape(stayed, (-1, 1)))
    *_, score = np.zeros((1, update.shape[1])), *_course(found, x, visits)
    return score[0], shares * k
