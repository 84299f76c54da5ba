"""`compare`: a choice on some rows, judged on rows that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from mercer._arrays import is_chunked
from mercer._config import config, get_config
from mercer._machine.deadline import now
from mercer._machine.interrupts import noting_interrupts
from mercer.data.dataset import Dataset
from mercer.kernels import as_kernel
from mercer.selection.board.scoreboard import OutOfFold, Scoreboard
from mercer.selection.board.summary import board_of
from mercer.selection.choice import Choice
from mercer.selection.data_checks import check
from mercer.selection.holdout import (
    TURN_SHARE,
    Headline,
    Plan,
    answers,
    answers_until,
    headline_of,
    plan_holdout,
    promised,
)
from mercer.selection.preprocess import check_targets
from mercer.selection.racing.apart import Apart, CannotTravel
from mercer.selection.racing.clock import Clock, seconds_of
from mercer.selection.racing.forecasts import ALL_ROWS, CAREFUL, with_workers
from mercer.selection.rivals.named import rivals_of
from mercer.selection.trainers.grid import names_of_learners


def compare(
    X: Any,
    y: Any = None,
    *,
    task: str | None = None,
    kernels: Iterable[Any] | None = None,
    learners: Iterable[str] | None = None,
    rivals: Any = "auto",
    cv: Any = 5,
    repeats: int = 1,
    budget: Any = None,
    search: bool = False,
    random_state: int = 0,
    metric: Any = None,
    probabilities: bool = False,
    class_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    holdout: Any = "auto",
    progress: Callable[[str, float], None] | bool | None = None,
) -> Scoreboard:
    """Try kernels × learners, and judge them by the same held-out rows.

    Parameters
    ----------
    X : anything that `mercer.data.Dataset.of` takes
        A table, an array, a CSR matrix, a list of strings or messages, a file. Raw rows: missing
        values, categories, dates and scales are dealt with, and said. Of rows in pieces, such as
        a data frame of Dask's, a sample of 20,000 is looked at.
    y : array, or the name of a column of the table X
        Not needed for a `mercer.data.Dataset`.
    task : "classification", "regression" or None
        None reads it off the targets.
    kernels, learners : iterables or None
        What to try: kernels or expressions; "ridge", "svm", "logistic", "perceptron",
        "neighbors", "smoother" or any other name in `mercer.learners.catalog`, or names of
        classes. None takes those that suit the data.
    rivals : "auto", "all", None, names, or scikit-learn estimators in a list or a dictionary
        Learners without a kernel that take part, on the columns as they come out of the
        preprocessing: "linear", "nearest", "boosting", "forest", or estimators of your own. A
        model file cannot hold your own: they are shown, and the best of the others is fitted.
        "auto" is all four, unless `learners` names what is to be tried.
    cv, repeats : int
        Folds, and how often they are drawn anew; `cv` may be a scikit-learn splitter.
    budget : seconds, or a text such as "60s" or "5min"
        The time for everything, the last fit included; what has to be compiled, once for a
        processor, comes on top and is said.
    search : bool
        Also grow a kernel from building blocks (`mercer.selection.search_kernel`).
    random_state : int
        Draws folds and samples. Without a budget the result depends on nothing else.
    metric : str, function or None
        "accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision",
        "neg_log_loss"; "r2", "neg_mean_absolute_error", "neg_root_mean_squared_error",
        "neg_mean_pinball_loss" or "pinball(0.9)" for a quantile ("auc", "ap", "log_loss", "mae",
        "rmse", "pinball" for short); or a function of (truth, predicted), the higher the better.
    probabilities : bool
        Whether the winner is to have `predict_proba`: its scores for held-out rows of the race are
        calibrated by logistic regression. A metric that judges probabilities asks for them, too.
    class_weight : "balanced", a dictionary of weights by class, or None
        What an error in a class costs; "balanced" makes rare classes count as much as others.
    groups : array, or the name of a column, which is then left out
        Rows of one group (a patient, a customer) are held out together.
    time : array, the name of a column, which is then left out, or True
        When a row was; True: rows are in order. Those held out lie after those fitted on, and the
        headline is of the last ones.
    holdout : "auto", a share, or None
        Rows that the choice does not see, for the headline: "auto" holds out five parts in turn
        where there are few rows, and else keeps back a fifth; a share between 0 and 1 is kept back.
        None, fewer than 20 rows or a splitter as `cv` give no headline. With few rows it takes five
        sixths of the time.
    progress : callable, bool or None
        Called with what is being done and the share that is done; None or True draws a bar in a
        terminal, False draws none.

    Returns
    -------
    Scoreboard
        All candidates, the winner fitted on all rows, and its headline.

    Notes
    -----
    Parameters of a learner (λ, C, …) are chosen inside each training fold, so a row's score is
    that of the whole procedure with this kernel and learner. The winner is the best of many rows,
    and its mean therefore a little flattered. The `headline` is not: it comes from rows that took
    no part in any choice.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(80)
    >>> board = mercer.selection.compare(X, y, kernels=["linear", "gaussian"], learners=["ridge"])
    >>> board.task, board.headline.score > 0.8, board.baseline.mean < 0.6
    ('classification', True, True)
    """
    clock = Clock(seconds_of(budget))
    found, seed = check_targets(_dataset(X, y, task)), int(random_state)
    checked = check(found, groups, time)
    found = checked.found
    kernels = None if kernels is None else [as_kernel(k) for k in kernels]
    names = None if learners is None else names_of_learners(learners)
    others = rivals_of(rivals if rivals != "auto" else ("all" if names is None else None))
    # A splitter of the user's own knows which rows belong together; a part of them may not fit it.
    counted = isinstance(cv, (int, np.integer))
    plan = plan_holdout(checked, holdout if counted else None, clock, seed)
    own = clock.budget is not None and not with_workers() and any(not r.stored for r in others)

    bar = config(progress=get_config().progress and progress is not False)
    with bar, noting_interrupts(), Apart() if own else nullcontext() as apart:

        def chosen(rows: Any, seconds: float | None, tell: Any, **more: Any) -> Choice:
            part = checked if rows is None else checked.part(rows)
            made = Choice(
                part,
                learners=names,
                rivals=others,
                metric=metric,
                probabilities=probabilities,
                class_weight=class_weight,
                budget=seconds,
                seed=seed,
                apart=apart,
                **more,
            )
            made.run(kernels, cv, repeats, search, tell)
            return made

        if apart is not None:
            with suppress(CannotTravel):  # each candidate tries again, and says so
                apart.begin()  # it gets ready while the first candidates run
        if plan is None:
            return _board(chosen(None, clock.rest(), progress), clock)
        run = _parts_in_turn if plan.in_turn else _part_kept_back
        return run(chosen, found, plan, clock, progress)


def _board(made: Choice, clock: Clock, headline: Headline | None = None) -> Scoreboard:
    with made.until_interrupted():
        return board_of(made, clock, headline)
    return board_of(made, clock, headline)


def _part_kept_back(
    chosen: Callable[..., Choice], found: Dataset, plan: Plan, clock: Clock, progress: Any
) -> Scoreboard:
    """The choice on most rows, judged on the others; then the winner fitted on all of them."""
    ((train, test),) = plan.parts
    refit = len(found) <= ALL_ROWS
    made = chosen(train, clock.rest(), progress, held=len(test), refit=refit)
    # What a fit with the rows kept back will take, where it is made.
    again = CAREFUL * made.contest.fit_seconds(made.winner, len(found))
    if clock.budget is not None and not refit:
        refit = clock.left() > again and len(made.last.rows) == len(train)
    headline = None
    with made.until_interrupted():
        end = made.clock.end if made.interrupted else clock.end - again * refit
        judged = answers_until(end, made.last.best, found, test, made.seed)
        how = plan.how if len(judged.rows) == len(test) else f"{len(judged.rows)} of {plan.how}"
        # As long as that fit follows, its rows promise more.
        less = made.answers_of_half(found, judged.rows, end) if refit else []
        growth = promised(len(made.last.rows), len(found))
        headline = headline_of([judged], made.measure, how, made.seed, found.classes, less, growth)
    last = now() + clock.for_last_fit()
    made.settle(found, train, last if refit and not made.interrupted else None)
    return _board(made, clock, headline)


def _dataset(X: Any, y: Any, task: str | None) -> Dataset:
    """The data in any form; of rows in pieces a sample."""
    if is_chunked(X):
        from mercer.engines.cluster.tables import sample_of

        X, y = sample_of(X, y), None
    return Dataset.of(X, y, task=task)


def _parts_in_turn(
    chosen: Callable[..., Choice], found: Dataset, plan: Plan, clock: Clock, progress: Any
) -> Scoreboard:
    """The choice on all rows first, so that Ctrl-C keeps it; then anew without each part."""
    made = chosen(None, clock.rest(1 - TURN_SHARE), progress)
    share = None if clock.budget is None else TURN_SHARE / len(plan.parts) * clock.budget
    judged: list[OutOfFold] = []
    less: list[OutOfFold] = []
    for train, test in plan.parts:
        if made.interrupted or clock.left() < 0.5 * (share or 0.0):
            break
        with made.until_interrupted():
            end = now() + (share or math.inf)
            part = chosen(train, share, None, keep=False)
            judged.append(answers(part.last.best, found, test, len(judged)))
            less += part.answers_of_half(found, test, end, len(judged))
    if not judged:
        return _board(made, clock)
    how = plan.how if len(judged) == len(plan.parts) else f"{len(judged)} of {plan.how}"
    growth = promised(len(found) - len(plan.parts[0][1]), len(found))
    headline = headline_of(judged, made.measure, how, made.seed, found.classes, less, growth)
    return _board(made, clock, headline)
