"""Which columns and directions a learned metric found to matter, in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._escape.html import Markup, tag
from mercer._figures import color_of, tidy
from mercer.report.svg import figure
from mercer.report.tables import shown

#: Columns that have a bar, and columns of a direction that are named.
MOST_BARS, MOST_NAMED = 12, 4


def learned_metric(board: Any, data: Any) -> Iterator[Markup]:
    """Nothing where the winner has no metric of its own."""
    model = board.best[-1]
    learner = getattr(model, "estimator_", model)  # without its calibration
    if not hasattr(learner, "metric_"):
        return
    shares = np.asarray(learner.importances_)
    names = _names(board, data, len(shares))
    best = [j for j in np.argsort(-shares, kind="stable")[:MOST_BARS] if shares[j] > 0]
    yield tag("p", _words(learner, names), class_="soft")
    if not best:
        return

    def bars(ax: Any) -> None:
        ax.barh(range(len(best)), 100 * shares[best], color=color_of(0))
        ax.set_yticks(range(len(best)), [names[j] for j in best], fontsize="small")
        ax.invert_yaxis()
        tidy(ax, "", "% of the squared slope of f")

    drawn = figure(bars, (5.0, 0.3 * len(best) + 1.2), "columns of the learned metric")
    words = "How steep f is along each column, columns being of one spread."
    drawing = tag("figure", drawn, tag("figcaption", words)) if drawn.startswith("<svg") else drawn
    yield tag("div", drawing, class_="pictures")


def _words(learner: Any, names: list[str]) -> str:
    M = np.asarray(learner.metric_)
    if not learner.rounds_:
        return "No metric was learned: all columns count alike, which folds found to be best."
    rounds = "1 round" if learner.rounds_ == 1 else f"{learner.rounds_} rounds"
    if M.ndim == 1:
        return f"One weight per column, learned in {rounds}; the bars show what came of it."
    values, vectors = np.linalg.eigh(M)
    folded = learner.inputs_.folded(vectors[:, -1])  # values and ranks of a column together
    folded = folded * np.sign(folded[np.abs(folded).argmax()])
    most = np.argsort(-np.abs(folded), kind="stable")[:MOST_NAMED]
    parts = [f"{folded[j]:+.2f} · {names[j]}" for j in most if abs(folded[j]) >= 0.05]
    share = 100 * values[-1] / values.sum()
    return (
        f"A full metric, learned in {rounds}. Its leading direction has {share:.0f} % of it: "
        f"{' '.join(parts)} …"
    )


def _names(board: Any, data: Any, count: int) -> list[str]:
    """What the columns of the kernel are called."""
    given = [str(c) for c in getattr(data.X, "columns", ())]
    try:
        names = board.best[:-1].get_feature_names_out(given or None)
    except (AttributeError, ValueError):
        names = given
    plain = [str(name).split("__")[-1] for name in names]
    return [shown(n) for n in plain] if len(plain) == count else [f"x{j}" for j in range(count)]
