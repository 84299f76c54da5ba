"""`compare`: kernels × learners on the same held-out rows, and the winner fitted on all of them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._examples import count
from mercer._progress import progress as progress_bar
from mercer.data.dataset import Dataset
from mercer.kernels import as_kernel
from mercer.selection.board.scoreboard import Scoreboard
from mercer.selection.folds import draw_order, splits_of
from mercer.selection.metrics import metric_of
from mercer.selection.preprocess import Preprocessing, preprocessing
from mercer.selection.problem import Problem, as_problem, seconds_of
from mercer.selection.racing.candidates import kernels_for
from mercer.selection.racing.race import Clock, Data, Entry, Race
from mercer.selection.racing.stages import EXTRA_REPEATS, planned, run_stages
from mercer.selection.racing.standing import baseline, out_of_fold, row_of, with_baseline
from mercer.selection.trainers.grid import trainers_for

#: Rows that the choice is made on; beyond this, a sample of so many is drawn.
MOST_ROWS = 6_000
#: The part of a time budget that a kernel search may take.
SEARCH_SHARE = 0.25
#: N×N matrices that are alive at once during a fold (K, its blocks, a factor), with room.
COPIES = 4.0


def compare(
    X: Any,
    y: Any = None,
    *,
    task: str | None = None,
    kernels: Iterable[Any] | None = None,
    learners: Iterable[str] | None = None,
    cv: Any = 5,
    repeats: int = 1,
    budget: Any = None,
    search: bool = False,
    random_state: int = 0,
    metric: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Scoreboard:
    """Kernels × learners, judged by the same held-out rows.

    Parameters
    ----------
    X : Dataset, DataFrame, array, CSR matrix, or list of strings or messages
        Raw rows: missing values, categories, dates and scales are dealt with, and said.
    y : array, or the name of a column of the DataFrame X
        Not needed for a `mercer.data.Dataset`.
    task : "classification", "regression" or None
        None reads it off the targets.
    kernels, learners : iterables or None
        What to try: kernels or expressions; "ridge", "svm", "logistic", "perceptron",
        "neighbors", "smoother" or any other name in `mercer.learners.catalog`, or names of
        classes. None takes those that suit the data.
    cv, repeats : int
        Folds, and how often they are drawn anew; `cv` may be a scikit-learn splitter.
    budget : seconds, or a text such as "60s" or "5min"
        The time for everything, the last fit included.
    search : bool
        Also grow a kernel from building blocks (`mercer.selection.search_kernel`).
    random_state : int
        Draws folds and samples. Without a budget the result depends on nothing else.
    metric : str or None
        "accuracy", "balanced_accuracy", "f1_macro"; "r2", "neg_mean_absolute_error",
        "neg_root_mean_squared_error".
    progress : callable or None
        Called with what is being done and the share that is done; None draws a bar.

    Notes
    -----
    Parameters of a learner (λ, C, …) are chosen inside each training fold, so a row's score is
    that of the whole procedure. The winner is the best of many rows, and its score therefore a
    little flattered; a test set that was never in X says how much.

    Examples
    --------
    >>> import mercer
    >>> board = mercer.selection.compare(*mercer.data.moons(80))
    >>> board.task, board.best_row.mean > 0.9, board.baseline.mean < 0.6
    ('classification', True, True)
    """
    clock = Clock(seconds_of(budget))
    seed = int(random_state)
    problem = as_problem(X, y, task)
    name, measure = metric_of(problem.task, metric)
    trainers = trainers_for(problem.task, learners)
    made = preprocessing(problem)
    notes = [*problem.notes, *made.notes]

    order = draw_order(problem.y, problem.task == "classification", seed)
    most = min(MOST_ROWS, _rows_that_fit())
    drawn = np.sort(order[:most])
    begin = time.perf_counter()
    rows = _prepared(made, problem.take(drawn))
    overhead = (time.perf_counter() - begin) * problem.n / len(drawn)
    coded = problem.y[drawn]
    if problem.classes is not None:
        coded = np.searchsorted(problem.classes, coded)
    extra = 0 if clock.budget is None else EXTRA_REPEATS
    splits, folds, said = splits_of(
        cv, rows, coded, problem.classes is not None, repeats, seed, extra
    )
    notes += said
    data = Data(
        rows,
        coded,
        0 if problem.classes is None else len(problem.classes),
        measure,
        splits,
        draw_order(coded, problem.classes is not None, seed + 1),
        seed,
    )
    named = kernels_for(rows, made.kind) if kernels is None else [as_kernel(k) for k in kernels]
    tree = None
    with _Progress(progress, clock, planned(len(named), trainers)) as say:
        if search and made.kind != "strings":
            from mercer.selection.kernel_search.search import search_kernel

            say("kernel search")
            share = None if clock.budget is None else SEARCH_SHARE * clock.budget
            found = search_kernel(rows, coded, task=problem.task, random_state=seed, seconds=share)
            tree = found.tree
            notes.append(
                f"the kernel {found.kernel!r} was grown on targets of all folds: its score is "
                "flattered more than those of the others"
            )
            named = [found.kernel, *named]
        race = Race(data, clock, problem.n, overhead, say)
        # The search may find, and a caller may name, what is there already: it races once.
        try:
            run_stages(race, list(dict.fromkeys(named)), trainers, repeats)
        except KeyboardInterrupt:
            if not race.best():
                raise
            notes.append("interrupted: the best of what had been tried until then was fitted")
        standing = race.best()
        if not standing:
            why = next((e.failed for e in race.entries if e.failed), "no candidate")
            raise ValueError(f"nothing could be fitted: {why}")
        winner = _affordable(race, standing)
        standing = race.best()
        say(f"last fit: {winner.trainer.learner}")
        best, params = _fit(problem, made, winner, race)
    from mercer.proof import prove

    if race.last < problem.n:
        notes.append(
            f"candidates are compared on {race.last} of {problem.n} rows, the winner is fitted "
            "on all"
        )
    listed = [row_of(entry, race) for entry in standing]
    # It may not have seen everything where time was short, but it is what is left standing.
    top = replace(listed[0], params=params, stopped=False)
    notes += [
        f"{e.kernel!r} with {e.trainer.learner} was left out: {e.failed}"
        for e in race.entries
        if e.failed
    ][:5]
    base = baseline(data)
    if top.mean <= base.mean:
        notes.append(
            "the best is no better than the baseline: nothing was learnt from the examples"
        )
    if isinstance(X, Dataset) and X.schema is not None:
        best.schema_ = X.schema  # so that a saved model knows how to read new rows
    return Scoreboard(
        rows=with_baseline([top, *listed[1:]], base),
        best=best,
        best_row=top,
        proof=prove(winner.kernel, n_features=_width(rows)),
        task=problem.task,
        task_reason=problem.reason,
        metric=name,
        classes=problem.classes,
        oof=out_of_fold(winner, problem, drawn, len(splits[0])),
        search=tree,
        notes=tuple(notes),
        folds=folds,
        seconds=clock.spent(),
        budget=clock.budget,
        n_rows=problem.n,
        kind=problem.kind,
    )


# --- the parts -----------------------------------------------------------------------------------


def _rows_that_fit() -> int:
    """So many that K and what is made of it stay within the memory limit."""
    return max(200, int(math.sqrt(get_config().memory_bytes / (COPIES * 8))))


def _prepared(made: Preprocessing, X: Any) -> Any:
    from sklearn.pipeline import Pipeline

    if not made.steps:
        return X
    rows = Pipeline(list(made.steps)).fit_transform(X)
    if count(rows) > 2_000 and getattr(rows, "dtype", None) == np.float64:
        return rows.astype(np.float32)
    return rows


def _width(rows: Any) -> int | None:
    return int(rows.shape[1]) if hasattr(rows, "shape") else None


def _affordable(race: Race, standing: list[Entry]) -> Entry:
    """The best candidate whose fit on all rows fits into the time left, or else the fastest."""
    if race.clock.budget is None:
        return standing[0]
    left = race.clock.left() + 0.05 * race.clock.budget
    fastest = min(standing, key=race.reserve)
    for entry in standing:
        if entry is fastest or race.reserve(entry) <= left:
            return entry
        entry.slow = True
    return fastest


def _fit(
    problem: Problem, made: Preprocessing, winner: Entry, race: Race
) -> tuple[Any, dict[str, Any]]:
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    model = winner.trainer.final(winner.kernel, winner.outcomes, winner.unit, problem.y)
    steps = [(name, clone(step)) for name, step in made.steps]
    pipeline = Pipeline([*steps, ("model", model)])
    with race.threads(problem.n), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(problem.X, problem.y)
    return pipeline, _params(model)


def _params(model: Any) -> dict[str, Any]:
    """What was chosen, under the names of the learner."""
    shown = {}
    for name in ("C", "epsilon", "alpha", "n_neighbors", "bandwidth"):
        if not hasattr(model, name):
            continue
        value = getattr(model, f"{name}_", getattr(model, name))
        shown[name] = float(value) if isinstance(value, (float, np.floating)) else value
    return shown


class _Progress:
    """One sentence at a time, and the share that is done, to a bar or to whoever asked."""

    def __init__(self, told: Callable[[str, float], None] | None, clock: Clock, steps: int) -> None:
        self.told, self.clock, self.steps = told, clock, steps
        self.done, self.share = 0, 0.0

    def __enter__(self) -> Callable[[str], None]:
        self._bar = progress_bar("compare", 1.0)
        self._bar.__enter__()
        return self._say

    def _say(self, text: str) -> None:
        if self.clock.budget is None:
            share = self.done / self.steps
        else:
            share = time.perf_counter() - self.clock.begin
            share /= self.clock.budget
        self.done += 1
        # Never backwards, and at the end only when it is.
        share = min(max(share, self.share), 0.99)
        self._bar.advance(share - self.share, note=text)
        self.share = share
        if self.told is not None:
            self.told(text, share)

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)


__all__ = ["compare"]
