"""The summary, in sentences."""

from __future__ import annotations

from typing import Any

from mercer.selection.board.render import as_percent, show_score, show_spread
from mercer.selection.board.scoreboard import show_seconds


def score(value: float, metric: str) -> str:
    return f"{show_score(value, metric)}{' %' if as_percent(metric) else ''}"


def metric_name(metric: str) -> str:
    names = {"r2": "R²", "neg_mean_absolute_error": "−(mean absolute error)",
             "neg_root_mean_squared_error": "−(root mean squared error)"}  # fmt: skip
    return names.get(metric, metric.replace("_", " "))


def summary(board: Any) -> str:
    """What was found, against what knowing nothing gives."""
    best, base = board.best_row, board.baseline
    tried = sum(bool(r.kernel) for r in board.rows)
    spread = show_spread(best.spread, board.metric)
    name = metric_name(board.metric)
    found = (
        f"Of {tried} candidates, {best.learner} with the kernel below did best: {name} "
        f"{score(best.mean, board.metric)} (± {spread} between folds) on rows that were held out. "
        f"{_baseline(board)} reaches {score(base.mean, board.metric)}."
    )
    return found + _verdict(board)


def _baseline(board: Any) -> str:
    if board.task == "classification":
        return "Always guessing the most frequent class"
    return "Always guessing the mean"


def _verdict(board: Any) -> str:
    best, base = board.best_row, board.baseline
    if not best.kernel or best.mean <= base.mean + best.spread / 2:
        return (
            " That is no better than knowing nothing: these columns hardly say anything about "
            "the target, or there are too few rows."
        )
    others = [r for r in board.rows if r.kernel and not r.stopped and r is not best]
    close = [r for r in others if r.mean >= best.mean - best.spread]
    if len(close) > 2:
        return f" {len(close)} others are within one spread of it, so the choice hardly matters."
    return ""


def fine_print(board: Any) -> str:
    """How much to believe the number."""
    return (
        f"{board.n_rows} rows, {board.folds}; parameters were chosen inside each training fold. "
        "The best of many candidates is a little flattered by having been chosen: rows that were "
        "never in this file would tell by how much. "
        f"Everything took {show_seconds(board.seconds)}"
        + ("" if board.budget is None else f" of a budget of {board.budget:g} s")
        + "."
    )
