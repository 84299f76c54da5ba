"""Films as pages that compute what their frames show: the numbers of the kernel have sliders."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import frame
from mercer.formula import NotRenderable
from mercer.kernels.parameters import is_number
from mercer.live import kernel_for_page, page, sliders_of

#: Points that a page computes with, at most; of a curve, each of which is left out in turn.
MOST, MOST_OF_A_CURVE = 400, 200
#: Learners by class: their name in a page, and the number beside the kernel's.
_PLANE = {
    "KernelRidgeClassifier": ("ridge", "alpha"),
    "KernelSVC": ("svm", "C"),
    "KernelLogisticRegression": ("logistic", "alpha"),
    "KernelNeighborsClassifier": ("neighbors", "n_neighbors"),
    "KernelCentroidClassifier": ("centroid", None),
}
_LINE = {
    "KernelRidge": ("ridge", "alpha"),
    "NadarayaWatsonRegressor": ("nadaraya", "bandwidth"),
    "LocalLinearRegressor": ("local", "bandwidth"),
}
_SYMBOLS = {"alpha": "λ", "bandwidth": "h", "n_neighbors": "k"}
#: Names of the averages of a perceptron.
_AVERAGES = {"last": "perceptron", "average": "averaged", "vote": "voted"}


def perceptron_page(model: Any, final: Any, X: np.ndarray, y: np.ndarray) -> str | None:
    """The visits, which play; None where a page cannot make the same ones."""
    seed = 0 if model.random_state is None else model.random_state
    known = ("epochs", "averaging", "tie", "shuffle", "random_state")
    if not hasattr(final, "kernel_") or not _usual(model, *known) or not is_number(seed):
        return None
    visits = {"shuffle": model.shuffle, "tie": model.tie, "seed": int(seed)}
    options = {"epochs": int(final.epochs), "visits": visits}
    name = _AVERAGES[final.averaging]
    return _plane_page(final, X, y, name, options, [], "A perceptron learns")


def fit_page(model: Any, final: Any, X: Any, y: Any) -> str | None:
    """One fit that follows the sliders; None where a page has no such learner."""
    name, width = type(model).__name__, np.shape(X)[1:]
    known = _PLANE if width == (2,) else _LINE if width == (1,) else {}
    if name not in known or not _usual(model, known[name][1], "fit_intercept"):
        return None
    learner, option = known[name]
    value = getattr(final, f"{option}_", getattr(final, option)) if option else 0.0
    if option and not is_number(value):
        return None
    sliders = [_slider(option, value)] if option else []
    options: dict[str, Any] = {option: value} if option else {}
    if known is _PLANE:
        usual = getattr(model, "fit_intercept", True)
        return _plane_page(final, X, y, learner, options, sliders, name) if usual else None
    x, y = np.ravel(np.asarray(X, dtype=np.float64)), np.asarray(y, dtype=np.float64)
    if len(x) > MOST_OF_A_CURVE or y.ndim > 1:
        return None
    options["intercept"] = bool(getattr(model, "fit_intercept", False))
    points = {"x": x.tolist(), "y": y.tolist()}
    ends = {"range": [float(x.min()), float(x.max())]}
    return _page("curves", final, points, learner, options, sliders, name, **ends)


def _usual(model: Any, *known: str | None) -> bool:
    """Whether all parameters but these and the kernel are the usual ones."""
    usual = type(model)(model.kernel) if hasattr(model, "kernel") else type(model)()
    given = usual.get_params(deep=False).items()
    return all(n in ("kernel", *known) or repr(getattr(model, n)) == repr(v) for n, v in given)


def _slider(option: str, value: float) -> dict[str, Any]:
    whole = option == "n_neighbors"
    ends = {"low": 1, "high": 30} if whole else {"low": value / 100, "high": 100 * value}
    return {"name": option, "label": _SYMBOLS.get(option, option), "default": value,
            "log": not whole, "whole": whole} | ends  # fmt: skip


def _plane_page(final: Any, X: Any, y: Any, name: str, *rest: Any) -> str | None:
    low, high = (end.tolist() for end in frame(np.asarray(X, dtype=np.float64)))
    codes = np.unique(y, return_inverse=True)[1]
    points = {"X": np.ravel(np.asarray(X, dtype=np.float64)).tolist(), "y": codes.tolist()}
    center = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    half = max(b - a for a, b in zip(low, high, strict=True)) / 2
    return _page("playground", final, points, name, *rest, center=center, view=half)


def _page(
    panel: str, final: Any, points: Any, learner: str, options: Any, sliders: Any, title: str,
    **more: Any,
) -> str | None:  # fmt: skip
    text = repr(final.kernel_)
    if len(points["y"]) > MOST:
        return None
    try:
        kernel = kernel_for_page(final.kernel_, text, sliders_of(text))
    except NotRenderable:
        return None
    spec = {"panel": panel, "kernel": kernel, "title": title, "learner": learner}
    return page(spec | {"options": options, "sliders": sliders, "points": points} | more, title)
