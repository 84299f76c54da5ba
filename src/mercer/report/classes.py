"""Classes one by one: how often each is found and how often rightly, over all thresholds too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mercer
from mercer._escape.html import Markup
from mercer._figures import QUIET, color_of, legend, tidy
from mercer.report.svg import figure
from mercer.report.tables import shown, table
from mercer.selection.board.scoreboard import OutOfFold

#: Classes that are seen at once in the table; the rest unfold.
MOST_ROWS = 20
#: Classes beyond which a table of mistakes is no picture.
MOST_CLASSES = 30
#: Curves that have a color and a name each; of more classes, the mean and the worst have.
MOST_CURVES, WORST = 6, 3
#: Fewer rows say too little about how often something came true.
ROWS_PER_BIN = 20
#: Where curves of several fits are averaged.
GRID = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True)
class Curve:
    """A curve over thresholds, averaged over the fits that answered, and the area under it."""

    x: np.ndarray
    y: np.ndarray
    area: float


def per_class(held: OutOfFold, classes: np.ndarray) -> list[dict[str, float]]:
    """Rows, precision, recall and F1 per class; the areas under its curves where it has scores."""
    from sklearn.metrics import precision_recall_fscore_support

    figures = precision_recall_fscore_support(
        held.truth, held.predicted, labels=classes, zero_division=0.0
    )
    names = ("precision", "recall", "F1", "rows")
    rows = [
        dict(zip(names, map(float, values), strict=True)) for values in zip(*figures, strict=True)
    ]
    for made, kind in ((roc_curves(held, classes), "AUC"), (recall_curves(held, classes), "AP")):
        for row, curve in zip(rows, made, strict=False):
            row[kind] = np.nan if curve is None else curve.area
    return rows


def class_table(held: OutOfFold, classes: np.ndarray) -> Markup:
    """The figures of each class, in per cent."""
    figures = per_class(held, classes)
    names = [name for name in ("precision", "recall", "F1", "AUC", "AP") if name in figures[0]]
    heads = ["class", "rows", *names]
    lines = [
        [shown(label), f"{row['rows']:,.0f}", *(_percent(row[name]) for name in names)]
        for label, row in zip(classes.tolist(), figures, strict=True)
    ]
    return table(heads, lines, frozenset(range(1, len(heads))), most=MOST_ROWS, fixed=True)


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f}"


# --- curves --------------------------------------------------------------------------------------


def roc_curves(held: OutOfFold, classes: np.ndarray) -> list[Curve | None]:
    """True against false alarms, each class against the rest."""
    from sklearn.metrics import roc_auc_score, roc_curve

    def one(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        wrong, right, _ = roc_curve(truth, scores)
        return wrong, right, float(roc_auc_score(truth, scores))

    return _curves(held, classes, one, np.interp)


def recall_curves(held: OutOfFold, classes: np.ndarray) -> list[Curve | None]:
    """Precision over recall, each class against the rest; the area is the average precision."""
    from sklearn.metrics import average_precision_score, precision_recall_curve

    def one(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        precision, recall, _ = precision_recall_curve(truth, scores)
        # What follows the threshold that finds the whole class finds no more of it.
        end = int(np.argmax(recall[::-1] == 1.0)) + 1
        area = float(average_precision_score(truth, scores))
        return recall[::-1][:end], precision[::-1][:end], area

    return _curves(held, classes, one, _stepped)


def _stepped(at: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The value at the next x: precision between two thresholds is not a mean of both."""
    return y[np.minimum(np.searchsorted(x, at), len(x) - 1)]


def _curves(
    held: OutOfFold,
    classes: np.ndarray,
    one: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, float]],
    between: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> list[Curve | None]:
    """A curve per class; none without scores, None for a class that no fit was asked about."""
    if held.scores is None or held.part is None or not np.isfinite(held.scores).all():
        return []
    curves: list[Curve | None] = []
    for column, label in enumerate(classes.tolist()):
        # Scores of different fits have different scales: their curves are averaged, not pooled.
        made = []
        for number in np.unique(held.part):
            mine = held.part == number
            truth = held.truth[mine] == label
            if truth.any() and not truth.all():
                made.append(one(truth, held.scores[mine, column]))
        if len(made) > 1:
            mean = np.mean([between(GRID, x, y) for x, y, _ in made], axis=0)
            curves.append(Curve(GRID, mean, float(np.mean([area for *_, area in made]))))
        else:
            curves.append(Curve(*made[0]) if made else None)
    return curves


def class_figures(held: OutOfFold, classes: np.ndarray) -> Iterator[tuple[Markup, str]]:
    """Confusion, curves over thresholds and calibration, each with a caption."""
    if len(classes) <= MOST_CLASSES:
        side = 4.4 if len(classes) > 6 else 3.6

        def confusion(ax: Any) -> None:
            mercer.plot.confusion(held.truth, held.predicted, labels=classes, ax=ax)

        yield (
            figure(confusion, (side + 0.6, side), "confusion matrix"),
            "Which class (left) was taken for which (below).",
        )
    fits = "" if held.part is None or len(np.unique(held.part)) < 2 else ", averaged over the fits"
    against = f"{classes[1]} against {classes[0]}" if len(classes) == 2 else "each against the rest"
    for name, made, axes in (
        ("receiver operating characteristic", roc_curves(held, classes),
         ("share of others taken for it", "share of the class found")),
        ("precision over recall", recall_curves(held, classes),
         ("recall: share of the class found", "precision: share of answers that are right")),
    ):  # fmt: skip
        if made:
            drawn = figure(partial(_draw, made, classes, axes), (4.4, 4.0), name)
            yield drawn, f"{name.capitalize()} over all thresholds{fits}: {against}."
    sure = certainties(held)
    if sure is not None:
        bins = int(np.clip(len(sure[0]) // ROWS_PER_BIN, 3, 10))
        yield (
            figure(lambda ax: mercer.plot.calibration(*sure, bins, ax).set_title(""), (4.4, 4.0),
                   "calibration"),
            "How sure the model was of its answer, and how often it was right.",
        )  # fmt: skip


def certainties(held: OutOfFold) -> tuple[np.ndarray, np.ndarray] | None:
    """(whether right, how sure) where the answers came with probabilities."""
    if held.scores is None or held.probable is None or not held.probable.any():
        return None
    right = (held.truth == held.predicted)[held.probable]
    sure = held.scores[held.probable].max(axis=1)
    if len(np.unique(right)) < 2 or len(np.unique(np.round(sure, 2))) < 5:
        return None  # votes of few neighbors are no probabilities
    return right, sure


def _draw(curves: list[Curve | None], classes: np.ndarray, names: tuple[str, str], ax: Any) -> None:
    known = [(shown(c), made) for c, made in zip(classes.tolist(), curves, strict=True) if made]
    if len(classes) == 2:
        known = known[1:]
    known.sort(key=lambda pair: pair[1].area)
    style = "default" if names[0].startswith("share") else "steps-pre"
    named = known if len(known) <= MOST_CURVES else known[:WORST]
    for _, curve in known[len(named) :]:
        ax.plot(curve.x, curve.y, color=QUIET, linewidth=0.7, drawstyle=style)
    for i, (label, curve) in enumerate(named):
        name = f"{label}: area {100 * curve.area:.1f} %"
        ax.plot(curve.x, curve.y, color=color_of(i), label=name, drawstyle=style)
    if len(named) < len(known):
        mean = np.mean([curve.area for _, curve in known])
        ax.plot([], [], color=QUIET, label=f"mean of all {len(known)}: {mean:.3f}")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    legend(ax, frameon=False, loc="lower right" if names[0].startswith("share") else "lower left")
    tidy(ax, "", *names)
