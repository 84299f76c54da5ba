"""The film of Gordon and Smola's lecture: an SVM with a polynomial kernel, seen in φ-space."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._figures import QUIET, few_ticks_in_space, frame, mesh, scatter, tidy
from mercer.plot.films.field import Field, fitted
from mercer.plot.films.reel import Film
from mercer.plot.lifting import plane_in_space


def lifting_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """The inputs rise from their plane to φ(x); the plane w·φ + b = 0 comes; the camera turns.

    First third: the sheet of all inputs bends. Second: the plane of the machine appears, and its
    boundary in the input. Last: once around both.
    """
    from matplotlib.figure import Figure

    final = fitted(model, X, y)
    field = Field(final, X, y)
    width = final.kernel_.n_dims(2)
    if width != 3:
        raise ValueError(
            f"{final.kernel_!r} has {width} features; in space there is room for 3, as those of "
            "polynomial(2)"
        )
    a, _, grid = mesh(field.X, 15, 0.05)
    phi, sheet = final.kernel_.features(field.X), final.kernel_.features(grid)
    flat, flat_sheet = _on_the_floor(field.X, phi), _on_the_floor(grid, phi)
    w, b = np.ravel(final.expansion_.primal()), float(final.expansion_.intercept)
    f = field.scores(_full(final, len(field.X)), b)
    low, high = frame(np.vstack([phi, flat]), 0.08)
    figure = Figure(figsize=(9.6, 4.9))
    left = figure.add_axes((0.07, 0.12, 0.36, 0.76))
    space: Any = figure.add_axes((0.47, 0.02, 0.52, 0.92), projection="3d")

    def draw(index: int) -> str:
        time = 3 * index / max(frames - 1, 1)
        lift = _smooth(time)
        cut = _smooth(time - 1)
        space.clear()
        now = (1 - lift) * flat_sheet + lift * sheet
        space.plot_wireframe(*now.T.reshape(3, *a.shape), color=QUIET, linewidth=0.5, alpha=0.6)
        if cut > 0:
            plane_in_space(space, w, b, low, high, 0.5 * cut)
        scatter(space, (1 - lift) * flat + lift * phi, field.y, 38.0, labels=False)
        space.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        space.set(xlabel="φ₁", ylabel="φ₂", zlabel="φ₃")
        few_ticks_in_space(space, 0.88)
        space.view_init(elev=22, azim=-60 + 360 * _smooth(time - 2))
        left.clear()
        if cut > 0.5:
            field.show(left, f, "input space", (-1.0, 0.0, 1.0))
        else:
            field.mark(left, "input space")
        tidy(left)
        rising = f"the inputs rise to φ(x): {100 * lift:.0f} %"
        title = "a plane in feature space is a curve in the input" if cut > 0 else rising
        tidy(space, title)
        return title

    return Film(figure, draw, frames, seconds=0.1)


def _smooth(time: float) -> float:
    """0 before 0, 1 after 1, without a jolt in between."""
    t = min(max(time, 0.0), 1.0)
    return t * t * (3 - 2 * t)


def _on_the_floor(X: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """The inputs as points of the lowest plane φ₃ = const, in the frame of the features."""
    low, high = phi.min(axis=0), phi.max(axis=0)
    scale = (high[:2] - low[:2]).max() / (2 * np.abs(X).max())
    return np.column_stack([(low + high)[:2] / 2 + scale * X, np.full(len(X), low[2])])


def _full(model: Any, n: int) -> np.ndarray:
    coef = np.zeros(n)
    coef[model.support_] = np.ravel(model.expansion_.coef)
    return coef
