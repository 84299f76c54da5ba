"""The scoreboard of a choice that has been made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._notices import log
from mercer.proof import prove
from mercer.selection.board.scoreboard import Saved, Scoreboard, show_seconds
from mercer.selection.choice import Choice
from mercer.selection.holdout import Headline
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.rows_of_board import baseline, out_of_fold, row_of, with_baseline
from mercer.selection.rivals.verdict import verdict

#: Candidates that failed which are named.
MOST_FAILED = 5


def board_of(choice: Choice, clock: Clock, headline: Headline | None = None) -> Scoreboard:
    """Its candidates, its winner and its headline; `clock` is that of the whole comparison."""
    race, standing = choice.contest, choice.standing
    fitted = choice.last.best[-1]
    model = getattr(fitted, "estimator_", fitted)  # without its calibration
    listed = [row_of(entry, race) for entry in standing]
    won = standing.index(choice.winner)
    # Where time was short the winner may not have seen all rows; it won nevertheless.
    top = listed[won] = replace(listed[won], params=_params(model), stopped=False)
    base = baseline(choice.data)
    notes = choice.notes + _outcome(choice, top.mean > base.mean)
    if clock.budget is not None and clock.compiled():
        took = show_seconds(clock.compiled())
        notes.append(f"compiling, once for this processor, took {took} beside the budget")
    log("compare: %s after %.1f s; %s", top.learner, clock.spent(), "; ".join(notes))
    oof = out_of_fold(choice.winner, choice.found, choice.drawn, len(choice.data.splits[0]))
    points = choice.winner.trainer.support(model, len(choice.last.rows))
    memory = choice.winner.trainer.memory(model)
    return Scoreboard(
        rows=with_baseline(listed, base),
        best=choice.last.best,
        best_row=top,
        headline=headline,
        saved=Saved(
            len(choice.last.rows),
            points,
            choice.last.seconds,
            memory or int(points * top.memory_bytes / max(1, top.n_support)),
        ),
        proof=_proof(choice),
        task=choice.task,
        task_reason=choice.whole.reason,
        metric=choice.metric,
        classes=choice.whole.classes,
        oof=replace(oof, rows=choice.rows_given[oof.rows]),
        search=choice.search,
        notes=tuple(notes),
        folds=_folds(choice),
        seconds=clock.spent(),
        budget=clock.budget,
        n_rows=len(choice.whole),
        kind=choice.found.kind,
        interrupted=choice.interrupted,
        seed=choice.seed,
    )


def _folds(choice: Choice) -> str:
    """How the winner was judged in the race."""
    winner = choice.winner
    if len(winner.scores) >= winner.first and not (
        winner.final and len(choice.drawn) < len(choice.found)
    ):
        return choice.folds
    if winner.final:
        judged = len(np.unique(np.concatenate(winner.tests)))
        return f"decided on {judged} rows held out, by fits on {winner.size}"
    return f"decided on {len(winner.scores)} of the folds of a {choice.folds}"


def _proof(choice: Choice) -> Any:
    kernel, X = choice.winner.kernel, choice.data.X
    if kernel is None:
        return None
    return prove(kernel, n_features=int(X.shape[1]) if hasattr(X, "shape") else None)


def _outcome(choice: Choice, learned: bool) -> list[str]:
    """What is to be said about the race and its winner."""
    race, rows, notes = choice.contest, len(choice.whole), []
    judged = len(choice.winner.tests[0]) if choice.winner.final else 0
    if race.last + judged < rows:
        fitted = len(choice.last.rows)
        notes.append(
            f"candidates are compared on {race.last} of {rows} rows, the winner is fitted on "
            f"{'all' if fitted == rows else fitted}"
        )
    failed = [e for e in race.entries if e.failed][:MOST_FAILED]
    notes += [f"{e.name} was left out: {e.failed}" for e in failed]
    slow = [e for e in race.entries if e.in_vain and not e.scores][:MOST_FAILED]
    notes += [f"{e.name} was left out: stopped after {show_seconds(e.in_vain)}" for e in slow]
    notes += [
        f"{name} cannot run in a process that can be ended, so it runs here, and may last longer "
        f"than its time ({why})"
        for name, why in race.here.items()
    ]
    notes += verdict(choice.standing, choice.winner, choice.metric)
    if not learned:
        notes.append(
            "in the race the best is no better than the baseline: nothing was learned from the "
            "examples, or too few of them were judged to show it"
        )
    return notes


def _params(model: Any) -> dict[str, Any]:
    """What was chosen, under the names of the learner."""
    shown = {}
    for name in ("C", "epsilon", "alpha", "n_neighbors", "bandwidth", "n_trees"):
        if not hasattr(model, name):
            continue
        value = getattr(model, f"{name}_", getattr(model, name))
        shown[name] = float(value) if isinstance(value, (float, np.floating)) else value
    return shown
