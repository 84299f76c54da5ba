"""Films of learning: a perceptron, gradient descent, sequential minimal optimization."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._figures import INK, QUIET, arrow, color_of, legend, level, rings, shades, short, tidy
from mercer.formula.written import number
from mercer.kernels import Linear
from mercer.plot.films.field import Field, chosen, fitted, stage
from mercer.plot.films.living import perceptron_page
from mercer.plot.films.reel import Film
from mercer.plot.perceptrons import convergence_proof, proof_curves

#: Examples whose sums are written out term by term, as on the board, at most.
FEW = 6


def perceptron_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """Visit by visit: boundary, w, α, the proof that it ends, mistakes under their bound."""
    final = fitted(model, X, y)
    field = Field(final, X, y)
    visits = list(model.steps(X, y))
    try:
        curves = proof_curves(final, X, y)
    except ValueError:  # not separable: there is no w* to compare with
        curves = None
    shown = chosen([t for t, v in enumerate(visits) if v.updated], len(visits), frames)
    largest = max(float(np.abs(v.alpha).max()) for v in visits) or 1.0
    made = np.array([0] + [v.mistakes for v in visits])
    linear = isinstance(getattr(final, "kernel_", None), Linear) or (
        getattr(final, "feature_map_", 0) is None
    )
    reach = 0.3 * float(np.min(field.high - field.low))
    longest = max(np.sqrt(max(v.squared_norm, 0.0)) for v in visits) or 1.0
    few = len(field.X) <= FEW and hasattr(final, "kernel_")
    K = np.asarray(final.kernel_(field.X)) if few else None
    figure, left, (bars, proof, count) = stage(3)

    def draw(index: int) -> str:
        visit = visits[shown[index]]
        caption = f"epoch {visit.epoch}, visit {shown[index] + 1}: " + (
            f"mistake {visit.mistakes}" if visit.updated else "right"
        )
        if K is not None:
            caption += f"\n{by_hand(K, visits, shown[index])}"
        field.show(left, field.scores(visit.alpha, visit.intercept), caption)
        rings(left, field.X[[visit.index]])
        if visit.updated:
            left.plot(*field.X[visit.index], "x", color=INK, markersize=13, markeredgewidth=2)
        w = visit.alpha @ field.X
        if linear and w.any():
            foot = -visit.intercept * w / (w @ w)
            arrow(left, foot, foot + reach * w / longest, INK, "w")
        field.bars(bars, visit.alpha, largest, "α")
        _proof_panel(proof, final, X, y, curves, visits, visit.mistakes)
        _mistakes_panel(count, made, shown[index] + 1, curves)
        return caption

    live = perceptron_page(model, final, field.X, field.signs)
    return Film(figure, draw, len(shown), page=live)


def by_hand(K: np.ndarray, visits: list[Any], t: int) -> str:
    """The score of visit t as the lecture writes it: the row of α before it times a row of K."""
    visit = visits[t]
    before = visits[t - 1].alpha if t else np.zeros(len(K))
    terms = " + ".join(
        f"{number(a)}×{number(k)}" for a, k in zip(before, K[visit.index], strict=True)
    )
    offset = visits[t - 1].intercept if t else 0.0
    bias = f" + {number(offset)}" if offset else ""
    return f"$x^{{{visit.index + 1}}}$: {terms}{bias} = {number(visit.score)}, so {visit.predicted}"


def _proof_panel(
    ax: Any, model: Any, X: Any, y: Any, curves: Any, visits: list[Any], j: int
) -> None:
    ax.clear()
    if curves is not None:
        convergence_proof(model, X, y, ax, curves, upto=j)
        tidy(ax, "⟨w, w*⟩ ≤ ‖w‖ between two curves")
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, top * (12 if ax.get_yscale() == "log" else 1.5))  # room for names
        legend(ax, frameon=False, fontsize="x-small", ncols=2, loc="upper left")
        return
    norms = [0.0, *(np.sqrt(max(v.squared_norm, 0.0)) for v in visits if v.updated)]
    ax.plot(norms[: j + 1], ".-", color=color_of(1), markersize=4)
    ax.set(xlim=(0, len(norms)), ylim=(0, 1.1 * max(norms) or 1.0))
    tidy(ax, "‖w‖: not separable", "updates j")


def _mistakes_panel(ax: Any, made: np.ndarray, seen: int, curves: Any) -> None:
    ax.clear()
    ax.plot(made[: seen + 1], color=color_of(0), drawstyle="steps-post")
    ax.plot(seen, made[seen], "o", color=color_of(0), markersize=4)
    ax.set(xlim=(0, len(made)), ylim=(0, 1.15 * max(made[-1], 1)))
    if curves is not None:
        ax.axhline(curves.bound, color=color_of(1), linestyle="--", linewidth=1)
        far = curves.bound > 20 * max(made[-1], 1)
        if far:  # both are seen on a logarithmic axis only
            ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(0, (3 if far else 1.25) * curves.bound)
        ax.annotate(
            f"{curves.formulas[2]} = {short(curves.bound)}", (1, curves.bound), (-2, -2), va="top",
            ha="right", xycoords=("axes fraction", "data"), textcoords="offset points",
            fontsize="x-small", color=color_of(1),
        )  # fmt: skip
    tidy(ax, f"mistakes: {made[seen]}", "examples seen")


def descent_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """Step by step: P(Y|x) over the plane, the objective on its way down, the coefficients."""
    final = fitted(model, X, y)
    field = Field(final, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps = list(model.steps(X, y))
    # Early steps change most: frames are even on a logarithmic scale.
    early = np.unique(np.geomspace(1, len(steps), frames).astype(int)) - 1
    shown = chosen([int(i) for i in early], len(steps), min(frames, len(early) + 1))
    objectives = np.array([s.objective for s in steps])
    largest = float(np.abs([s.coef for s in steps]).max()) or 1.0
    figure, left, (curve, bars) = stage(2)

    def draw(index: int) -> str:
        step = steps[shown[index]]
        caption = f"{final.solver_}, step {step.number}: objective {step.objective:.4g}"
        f = field.scores(step.coef, float(np.ravel(step.intercept)[0]))
        left.clear()
        p = 1 / (1 + np.exp(-np.clip(f, -50, 50)))
        left.contourf(field.a, field.b, p, np.linspace(0, 1, 21), cmap=shades())
        level(left, field.a, field.b, f, 0.0)
        field.mark(left, caption)
        curve.clear()
        curve.plot(np.arange(1, len(steps) + 1), objectives, color=QUIET, linewidth=1)
        curve.plot(np.arange(1, step.number + 1), objectives[: step.number], color=color_of(0))
        curve.plot(step.number, step.objective, "o", color=color_of(0))
        curve.set_xscale("log" if len(steps) > 30 else "linear")
        tidy(curve, "objective", "steps")
        field.bars(bars, step.coef, largest, "a: one coefficient per example")
        return caption

    return Film(figure, draw, len(shown))


def pair_film(model: Any, X: Any, y: Any, frames: int) -> Film:
    """SMO: the pair that moves, the boundary with its margins, the gap, and α within its bounds."""
    final = fitted(model, X, y)
    field = Field(final, X, y)
    steps = list(model.steps(X, y))
    shown = chosen([], len(steps), frames)
    gaps, largest = np.array([s.gap for s in steps]), float(final.C)
    largest = min(largest, float(np.abs([s.coef for s in steps]).max()))
    figure, left, (curve, bars) = stage(2)

    def draw(index: int) -> str:
        step = steps[shown[index]]
        caption = f"SMO, step {step.number} of {len(steps)}: " + (
            f"the pair {step.pair[0]}, {step.pair[1]}" if step.pair else "several coefficients"
        )
        field.show(left, field.scores(step.coef, step.intercept), caption, (-1.0, 0.0, 1.0))
        pair = field.X[list(step.pair)]
        left.plot(*pair.T, color=INK, linewidth=1.2, linestyle=":", zorder=4)
        rings(left, pair)
        curve.clear()
        curve.semilogy(np.arange(1, len(steps) + 1), gaps, color=QUIET, linewidth=1)
        curve.semilogy(np.arange(1, step.number + 1), gaps[: step.number], color=color_of(0))
        curve.plot(step.number, step.gap, "o", color=color_of(0))
        curve.axhline(final.tol, color=color_of(1), linestyle="--", linewidth=1)
        tidy(curve, "gap, down to tol", "steps")
        field.bars(bars, step.coef, largest, f"α, {np.count_nonzero(step.coef)} support vectors")
        if largest == final.C:
            for bound in (-final.C, final.C):
                bars.axhline(bound, color=INK, linestyle="--", linewidth=0.8)
        for i in step.pair:
            bars.axvspan(i - 0.5, i + 0.5, color=QUIET, alpha=0.3, linewidth=0)
        return caption

    return Film(figure, draw, len(shown))
