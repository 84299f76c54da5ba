"""Films as pages that compute what their frames show: the numbers of the kernel have sliders."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import frame
from mercer.formula import NotRenderable
from mercer.kernels.parameters import is_number
from mercer.live import kernel_for_page, page, sliders_of

#: Points that a page computes with, at most; of a curve, each of which is left out in turn.
MOST = {"playground": 400, "curves": 200}
#: Learners by class: panel, name there, and the number beside the kernel's with its symbol.
_FITS = {
    "KernelRidgeClassifier": ("playground", "ridge", "alpha", "λ"),
    "KernelSVC": ("playground", "svm", "C", "C"),
    "KernelLogisticRegression": ("playground", "logistic", "alpha", "λ"),
    "KernelNeighborsClassifier": ("playground", "neighbors", "n_neighbors", "k"),
    "KernelRidge": ("curves", "ridge", "alpha", "λ"),
    "NadarayaWatsonRegressor": ("curves", "nadaraya", "bandwidth", "h"),
    "LocalLinearRegressor": ("curves", "local", "bandwidth", "h"),
}
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
    return _page("playground", final, X, y, {"learner": name, "options": options, "sliders": []})


def fit_page(model: Any, final: Any, X: Any, y: Any) -> str | None:
    """One fit that follows the sliders; None where a page has no such learner."""
    panel, learner, option, symbol = _FITS.get(type(model).__name__, ("", "", "", ""))
    width = {"playground": 2, "curves": 1}.get(panel)
    if np.shape(X)[1:] != (width,) or np.ndim(y) != 1 or not _usual(model, option, "fit_intercept"):
        return None
    value = getattr(final, f"{option}_", getattr(final, option))
    intercept = getattr(final, "fit_intercept", panel == "playground")
    if not is_number(value) or (panel == "playground" and not intercept):
        return None
    whole = option == "n_neighbors"
    slider = {"name": option, "label": symbol, "default": value, "log": not whole, "whole": whole,
              "low": 1 if whole else value / 100, "high": 30 if whole else 100 * value}  # fmt: skip
    options = {option: value, "intercept": bool(intercept)}
    given = {"learner": learner, "options": options, "sliders": [slider]}
    return _page(panel, final, np.asarray(X, dtype=np.float64), np.asarray(y), given)


def _usual(model: Any, *known: str) -> bool:
    """Whether all parameters but these and the kernel are the usual ones."""
    given = type(model)().get_params(deep=False).items()
    return all(n in ("kernel", *known) or repr(getattr(model, n)) == repr(v) for n, v in given)


def _page(
    panel: str, final: Any, X: np.ndarray, y: np.ndarray, given: dict[str, Any]
) -> str | None:
    text, ends = repr(final.kernel_), frame(X, 0.0 if panel == "curves" else 0.08)
    if len(X) > MOST[panel]:
        return None
    try:
        kernel = kernel_for_page(final.kernel_, text, sliders_of(text))
    except NotRenderable:
        return None
    if panel == "curves":
        points = {"x": X.ravel().tolist(), "y": y.astype(float).tolist()}
        given |= {"range": [float(end[0]) for end in ends], "points": points}
    else:
        codes = np.unique(y, return_inverse=True)[1].tolist()
        given |= {"points": {"X": X.ravel().tolist(), "y": codes},
                  "center": ((ends[0] + ends[1]) / 2).tolist(),
                  "view": float(np.max(ends[1] - ends[0]) / 2)}  # fmt: skip
    title = f"{type(final).__name__}, which follows its sliders"
    return page({"panel": panel, "kernel": kernel, "title": title} | given, title)
