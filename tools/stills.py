"""Still pictures of the laboratory's states, for pages that are read without scripts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from mercer.lab.compute.curves import curve
from mercer.lab.compute.digits import training
from mercer.lab.compute.grams import gram
from mercer.lab.compute.models import fitted
from mercer.lab.compute.states import VIEW, lattice

COLORS = (
    np.array([[31, 95, 168], [180, 84, 10], [47, 125, 59], [134, 54, 138], [179, 38, 46]]) / 255
)
MARKS = "oD^sP"
SIZE = 96


def save(panel: str, state: Any, path: Path) -> None:
    """One picture of a state."""
    figure, ax = plt.subplots(figsize=(3.6, 3.6))
    with warnings.catch_warnings(action="ignore"):
        draw = {"playground": _plane, "gram": _matrix, "curves": _curve, "digits": _digits}
        draw[panel](ax, state)
    ax.set_xticks([])
    ax.set_yticks([])
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)


def _digits(ax: Any, _state: Any) -> None:
    """What the judges learned from; the drawing itself is the page's."""
    rows = training()[0][:16].reshape(4, 4, 8, 8)
    ax.imshow(rows.transpose(0, 2, 1, 3).reshape(32, 32), cmap="gray_r")


def _plane(ax: Any, state: Any) -> None:
    found = fitted(state)
    scores = found.scores(lattice(SIZE)).T.reshape(-1, SIZE, SIZE)
    if len(scores) == 1:
        best, lead = (scores[0] > 0).astype(int), np.abs(scores[0])
    else:
        best, lead = scores.argmax(axis=0), np.ptp(np.sort(scores, axis=0)[-2:], axis=0)
    part = 0.48 * np.tanh(lead / max(float(lead.mean()), 1e-12))[..., None]
    ground = np.array([241, 238, 231]) / 255
    ends = (-VIEW, VIEW, -VIEW, VIEW)
    ax.imshow(ground + part * (COLORS[best] - ground), extent=ends)
    if len(scores) == 1:
        ax.contour(scores[0][::-1], [0.0], colors="k", linewidths=2, extent=ends)
    for c in np.unique(state.y):
        X = state.X[state.y == c]
        ax.scatter(*X.T, color=COLORS[c], marker=MARKS[c], edgecolor="white", s=28, linewidth=0.8)


def _matrix(ax: Any, state: Any) -> None:
    given = {"kernel": state.kernel, "learner": "ridge", "options": {}, "source": None}
    points = {"X": state.X.ravel().tolist(), "y": state.y.tolist()}
    ax.imshow(gram({"state": given | points}).arrays["K"], cmap="gray_r")


def _curve(ax: Any, state: Any) -> None:
    given = {"kernel": state.kernel, "learner": state.learner, "options": state.options}
    points = {"x": state.x.tolist(), "y": state.y.tolist(), "source": None}
    found = curve({"state": given | points}).arrays
    ax.fill_between(found["grid"], found["low"], found["high"], color="k", alpha=0.1)
    ax.plot(found["grid"], found["mean"], color="k", linewidth=2)
    ax.scatter(state.x, state.y, color=COLORS[0], s=18)
    ax.set_xlim(0, 10)
