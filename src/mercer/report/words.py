"""The summary, in sentences."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer.selection.board.render import fitted_words
from mercer.selection.board.scoreboard import OutOfFold, show_seconds
from mercer.selection.board.shown import as_percent, metric_name, show_mean, with_unit
from mercer.selection.metrics import r2


def unbroken(words: str) -> str:
    """No line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=(%|s|ms|min)(\W|$))", "\N{NO-BREAK SPACE}", words)


def in_short(board: Any, held: OutOfFold, target: str) -> str:
    """How often, or how nearly, the target is predicted right, and what guessing would give."""
    if board.task == "classification":
        labels, sizes = np.unique(held.truth, return_counts=True)
        right, guess = np.mean(held.truth == held.predicted), sizes.max() / sizes.sum()
        return (
            f"Of 100 rows it has not seen, the model gives {100 * right:.3g} the right {target}; "
            f"always saying {labels[sizes.argmax()]} would be right for {100 * guess:.3g}."
        )
    off, guess = (np.median(abs(held.truth - s)) for s in (held.predicted, held.truth.mean()))
    return (
        f"For half of the rows it has not seen, the model is off by less than {off:.3g} in "
        f"{target}; always saying the mean, by less than {guess:.3g}."
    )


def summary(board: Any) -> str:
    """What was found, against what knowing nothing gives."""
    best, base = board.best_row, board.baseline
    what = best.name if best.rival else f"{best.learner} with the kernel below"
    guess = "the most frequent class" if board.task == "classification" else "the mean"
    found = (
        f"Of {len(board.rows) - 1} candidates, {what} did best: {_scored(board)}. "
        f"Always guessing {guess} reaches {with_unit(base.mean, board.metric)}."
    )
    return found + _verdict(board) + _kernel_and_rival(board)


def _kernel_and_rival(board: Any) -> str:
    """The best with a kernel beside the best without, on the folds that both had."""
    kernel = next((r for r in board.rows if r.kernel), None)
    rival = next((r for r in board.rows if r.rival), None)
    if kernel is None or rival is None or kernel.rows_seen != rival.rows_seen:
        return ""
    gaps = np.array([a - b for a, b in zip(kernel.scores, rival.scores, strict=False)])
    doubt = f" ± {np.std(gaps, ddof=1) / np.sqrt(len(gaps)):.2g}" if len(gaps) > 1 else ""
    return (
        f" The best with a kernel, {kernel.name}, is {abs(gaps.mean()):.2g}{doubt} "
        f"{'ahead of' if gaps.mean() >= 0 else 'behind'} the best without, {rival.name} (on the "
        f"same held-out parts: {len(gaps)})."
    )


def _scored(board: Any) -> str:
    """The headline where there is one, or else the mean of the race, marked as such."""
    best, top, name = board.best_row, board.headline, metric_name(board.metric)
    if top is None:
        unit = " %" if as_percent(board.metric) else ""
        return f"{name} {show_mean(best.scores, board.metric)}{unit} in the race that has chosen it"
    low, high = with_unit(top.low, board.metric), with_unit(top.high, board.metric)
    return (
        f"{name} {with_unit(top.score, board.metric)} (90 % interval {low} to {high}) on rows that "
        "took no part in the choice"
    )


def _verdict(board: Any) -> str:
    best, base = board.best_row, board.baseline
    if best.mean <= base.mean + best.spread / 2:
        return (
            " That is no better than knowing nothing: these columns hardly say anything about "
            "the target, or there are too few rows."
        )
    others = [r for r in board.rows if r not in (best, base) and not r.stopped]
    close = [r for r in others if r.mean >= best.mean - best.spread]
    if len(close) > 2:
        return f" {len(close)} others are within one spread of it, so the choice hardly matters."
    return ""


def fine_print(board: Any) -> str:
    """How much to believe the number."""
    if board.headline is None:
        unseen = "rows that were never in this file would tell by how much. "
    else:
        unseen = f"the headline is not ({board.headline.how}). "
    return (
        f"{board.n_rows} rows, {board.folds}; parameters were chosen inside each training fold. "
        "The means of the race are a little flattered, since the best of many was chosen by them; "
        f"{unseen}The model that is saved was fitted on {fitted_words(board)}. "
        f"Everything took {show_seconds(board.seconds)}"
        + ("" if board.budget is None else f" of a budget of {board.budget:g} s")
        + "."
    )


def held_words(board: Any) -> str:
    """Where the rows come from that the figures are judged by."""
    if board.headline is None:
        return "held out in the race, by fits that had not seen them"
    return f"that took no part in the choice ({board.headline.how})"


def error_sizes(truth: np.ndarray, predicted: np.ndarray) -> list[tuple[str, str]]:
    """The errors of a regression, in the unit of the target."""
    off = truth - predicted
    sizes = np.abs(off)
    return [
        (f"{np.median(sizes):.4g}", "half of the errors are below"),
        (f"{np.quantile(sizes, 0.9):.4g}", "nine in ten are below"),
        (f"{sizes.mean():.4g}", "mean absolute error"),
        (f"{np.sqrt(np.mean(off**2)):.4g}", "root mean squared error"),
        (f"{off.mean():+.3g}", "mean of truth − prediction"),
        (f"{r2(truth, predicted):.4f}", "R²: share of the variance explained"),
    ]
