"""Which pictures a comparison deserves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mercer
from mercer._escape.html import Markup, tag
from mercer._examples import take
from mercer._figures import color_of, tidy
from mercer.report.classes import MOST_CLASSES
from mercer.report.study import Point
from mercer.report.svg import figure
from mercer.selection.board.scoreboard import OutOfFold

#: Rows of the Gram matrix that is drawn.
MOST = 400


def pictures(board: Any, data: Any) -> Iterator[Markup]:
    """Figures with captions, in the order they are shown."""
    yield from _plane(board, data)
    yield from _gram(board, data)


def captioned(svg: Markup, caption: str) -> Markup:
    """A figure; what stands for one that was not drawn needs no caption."""
    return tag("figure", svg, tag("figcaption", caption)) if svg.startswith("<svg") else svg


def number_figures(held: OutOfFold) -> Iterator[tuple[Markup, str]]:
    """Numbers: predictions against the truth, and what is left to explain."""
    truth, said = held.truth, held.predicted
    yield (
        figure(lambda ax: mercer.plot.predicted_against_truth(truth, said, ax=ax), (4.6, 4.2),
               "predictions against the truth"),
        "On the line, the prediction is the truth.",
    )  # fmt: skip
    yield (
        figure(lambda ax: mercer.plot.residuals(truth, said, ax=ax), (4.6, 4.2), "residuals"),
        "What is left to explain, against what was predicted.",
    )


def learning_figure(curve: list[Point], name: str) -> Markup:
    """The score on held-back rows over the number of rows that were fitted on."""

    def draw(ax: Any) -> None:
        rows = [point.rows for point in curve]
        scores = np.array([point.score for point in curve])
        bars = np.abs(np.array([[p.low, p.high] for p in curve]).T - scores)
        ax.errorbar(rows, scores, yerr=bars, fmt="o-", color=color_of(0), capsize=3, markersize=5)
        ax.set_xscale("log")
        ax.set_xticks(rows, [f"{n:,}" for n in rows])
        ax.set_xticks([], minor=True)
        tidy(ax, "", "rows that were fitted on", name)

    return figure(draw, (4.6, 3.4), "learning curve")


def _plane(board: Any, data: Any) -> Iterator[Markup]:
    """Where inputs are one or two numbers, the model itself can be seen."""
    X = data.X
    if not hasattr(X, "shape") or X.shape[1] > 2 or hasattr(X, "tocsr"):
        return
    names = [str(c) for c in X.columns] if hasattr(X, "iloc") else ["x₁", "x₂"][: X.shape[1]]
    try:
        points = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return
    if np.isnan(points).any():
        return
    model = _OnArrays(board.best, X)
    if board.task == "classification" and X.shape[1] == 2:

        def regions(ax: Any) -> None:
            mercer.plot.decision_regions(
                model, points, data.y, ax=ax, support=model.support_, margins=model.has_margins
            )
            ax.set(title="", xlabel=names[0], ylabel=names[1])
            if ax.get_legend() is not None:  # its paper would stay white on a dark page
                ax.get_legend().get_frame().set_alpha(0.0)

        yield captioned(figure(regions, (5.0, 4.2), "decision regions"), "What is predicted where.")
    elif board.task == "regression" and X.shape[1] == 1:

        def curve(ax: Any) -> None:
            mercer.plot.regression_curve(model, points, data.y, ax=ax)
            ax.set(xlabel=names[0], ylabel=str(data.target))

        yield captioned(figure(curve, (5.0, 4.0), "fitted curve"), "The fitted curve.")


class _OnArrays:
    """A pipeline that was fitted on a table, for pictures that hand it arrays."""

    def __init__(self, model: Any, like: Any) -> None:
        self.model, self.like = model, like
        self.classes_ = getattr(model, "classes_", None)
        if hasattr(model, "decision_function"):
            self.decision_function = lambda X: model.decision_function(self._rows(X))
        # Positions of rows, where the learner knows them: the same in the table.
        support = np.asarray(getattr(model[-1], "support_", ()), dtype=int)
        self.support_ = support if len(support) < len(like) else support[:0]
        self.has_margins = hasattr(model[-1], "C")

    def _rows(self, X: np.ndarray) -> Any:
        if not hasattr(self.like, "iloc"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=self.like.columns)

    def predict(self, X: np.ndarray) -> Any:
        return self.model.predict(self._rows(X))


def _gram(board: Any, data: Any) -> Iterator[Markup]:
    kernel, rows, y = sample(board, data)
    if kernel is None:
        return
    classes = board.task == "classification" and len(np.unique(y)) <= MOST_CLASSES

    def heat(ax: Any) -> None:
        mercer.plot.gram(kernel, rows, y if classes else None, ax=ax, title="")

    order = "by class" if classes else f"by {data.target or 'target'}"
    yield captioned(
        figure(heat, (5.0, 4.2), "kernel matrix"),
        f"k between {len(y)} rows in order {order}: blocks on the diagonal are classes that k "
        "tells apart." if classes else f"k between {len(y)} rows in order {order}.",
    )  # fmt: skip

    def eigenvalues(ax: Any) -> None:
        mercer.plot.spectrum(kernel, rows, ax=ax)
        ax.set_title("")

    yield captioned(
        figure(eigenvalues, (5.0, 4.2), "spectrum"),
        "Eigenvalues of that matrix: the faster they fall, the fewer directions matter.",
    )


def sample(board: Any, data: Any) -> tuple[Any, Any, np.ndarray]:
    """The winner's kernel, at most `MOST` preprocessed rows ordered by target, their targets."""
    learner = board.best[-1]
    kernel = getattr(learner, "kernel_", None)
    y = np.asarray(data.y)
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST])
    some = some[np.argsort(y[some], kind="stable")]
    rows = take(data.X, some)
    if len(board.best) > 1:
        rows = board.best[:-1].transform(rows)
    if hasattr(learner, "metric_"):
        rows = learner.inputs_(rows)
    width = getattr(learner, "bandwidth_", None)
    if width is not None and isinstance(rows, np.ndarray):
        rows = rows / np.asarray(width)
    return kernel, rows, y[some]
