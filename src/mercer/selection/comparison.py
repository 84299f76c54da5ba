"""`compare`: kernels × learners on the same held-out rows, and the winner fitted on all of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._config import get_config
from mercer._examples import count as count_of
from mercer._machine.deadline import OutOfTime, run_until
from mercer._progress import progress as progress_bar
from mercer.data.dataset import Dataset, Note
from mercer.kernels import Kernel, as_kernel
from mercer.learners.probabilities import CalibratedScores, evidence
from mercer.proof import prove
from mercer.selection.board.scoreboard import OutOfFold, Saved, Scoreboard
from mercer.selection.folds import draw_order, splits_of
from mercer.selection.holdout import (
    REFIT_LEAVES,
    REFIT_ROWS,
    SHARE,
    Headline,
    Plan,
    answers,
    headline_of,
    plan_holdout,
)
from mercer.selection.kernel_search.search import search_kernel
from mercer.selection.kernel_search.tree import SearchTree
from mercer.selection.metrics import metric_of, needs
from mercer.selection.preprocess import Preprocessing, check_targets, preprocessing
from mercer.selection.racing.candidates import kernels_for
from mercer.selection.racing.clock import Clock, seconds_of
from mercer.selection.racing.more_rows import MoreRows
from mercer.selection.racing.race import Data, Entry, Race
from mercer.selection.racing.stages import EXTRA_REPEATS, planned, run_stages
from mercer.selection.racing.standing import baseline, out_of_fold, row_of, with_baseline
from mercer.selection.rivals.named import Rival, rivals_of
from mercer.selection.rivals.trainer import rival_trainers
from mercer.selection.rivals.verdict import verdict
from mercer.selection.trainers.base import Outcome
from mercer.selection.trainers.grid import trainers_for
from mercer.selection.traps import Checked, check

#: Rows that the choice is made on; beyond this, a sample of so many is drawn.
MOST_ROWS = 6_000
#: A winner is fitted on all rows, or at least on so many times those that it was compared on.
ENOUGH = 3
#: The part of a time budget that a kernel search may take.
SEARCH_SHARE = 0.25
#: Candidates that failed which are named.
MOST_FAILED = 5
#: N×N matrices that are alive at once during a fold (K, its blocks, a factor), with room.
COPIES = 4.0


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
    progress: Callable[[str, float], None] | None = None,
) -> Scoreboard:
    """Try kernels × learners, and judge them by the same held-out rows.

    Parameters
    ----------
    X : anything that `mercer.data.Dataset.of` takes
        A table, an array, a CSR matrix, a list of strings or messages, a file. Raw rows: missing
        values, categories, dates and scales are dealt with, and said.
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
        The time for everything, the last fit included.
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
    progress : callable or None
        Called with what is being done and the share that is done; None draws a bar.

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
    >>> board = mercer.selection.compare(*mercer.data.moons(80))
    >>> board.task, board.headline.score > 0.8, board.baseline.mean < 0.6
    ('classification', True, True)
    """
    clock = Clock(seconds_of(budget))
    found, seed = check_targets(Dataset.of(X, y, task=task)), int(random_state)
    checked = check(found, groups, time)
    found = checked.found
    kernels = None if kernels is None else [as_kernel(k) for k in kernels]
    names = None if learners is None else list(learners)
    others = rivals_of(rivals if rivals != "auto" else ("all" if names is None else None))

    def chosen(rows: Any, seconds: float | None, tell: Any) -> Comparison:
        part = checked if rows is None else checked.part(rows)
        made = Comparison(
            part,
            learners=names,
            rivals=others,
            metric=metric,
            probabilities=probabilities,
            class_weight=class_weight,
            budget=seconds,
            seed=seed,
        )
        made.run(kernels, cv, repeats, search, tell)
        return made

    # A splitter of the user's own knows which rows belong together; a part of them may not fit it.
    counted = isinstance(cv, (int, np.integer))
    plan = plan_holdout(checked, holdout if counted else None, clock.budget, seed)
    if plan is None:
        return chosen(None, clock.budget, progress).board(clock=clock)
    if plan.in_turn:
        return _parts_in_turn(chosen, found, plan, clock, progress)
    ((train, test),) = plan.parts
    refit = len(found) < REFIT_ROWS
    budget = None if clock.budget is None else (REFIT_LEAVES if refit else 1.0) * clock.budget
    made = chosen(train, budget, progress)
    headline = headline_of(
        [answers(made.best, found, test)], made.measure, plan.how, seed, found.classes
    )
    complete = len(made.fitted_on) == len(train)
    refit = refit and complete and clock.left() > made.fit_seconds
    made.settle(found, train, clock.end if refit else None)
    return made.board(headline, clock)


def _parts_in_turn(
    chosen: Callable[[Any, float | None, Any], Comparison],
    found: Dataset,
    plan: Plan,
    clock: Clock,
    progress: Any,
) -> Scoreboard:
    """The choice on all rows first, so that Ctrl-C keeps it; then anew without each part."""
    made = chosen(None, None if clock.budget is None else (1 - SHARE) * clock.budget, progress)
    share = None if clock.budget is None else SHARE / len(plan.parts) * clock.budget
    judged: list[OutOfFold] = []
    for train, test in plan.parts:
        if made.interrupted or clock.left() < 0.5 * (share or 0.0):
            break
        part = chosen(train, share, None)
        made.interrupted |= part.interrupted
        if not part.interrupted:
            judged.append(answers(part.best, found, test, len(judged)))
    if not judged:
        return made.board(clock=clock)
    how = plan.how if len(judged) == len(plan.parts) else f"{len(judged)} of {plan.how}"
    return made.board(headline_of(judged, made.measure, how, made.seed, found.classes), clock)


class Comparison:
    """One comparison, step by step: prepare, race, finish, board. `notes` are for the user."""

    def __init__(
        self,
        checked: Checked,
        *,
        learners: Iterable[str] | None,
        rivals: list[Rival],
        metric: Any,
        probabilities: bool,
        class_weight: Any,
        budget: Any,
        seed: int,
    ) -> None:
        self.clock = Clock(seconds_of(budget))
        found, self.groups, self.seed = checked.found, checked.groups, seed
        self.times = checked.times
        self.found = found
        self.steps = preprocessing(found, checked.left_out)
        assert found.y is not None
        assert found.task is not None
        self.y, self.task, self.classes = found.y, found.task, found.classes
        self.metric, self.measure = metric_of(self.task, metric)
        self.coded = self.measure
        self.probabilities = probabilities or needs(self.measure) == "probabilities"
        if probabilities and self.classes is None:
            raise ValueError("probabilities are of classes, and the targets are numbers")
        if callable(metric) and self.classes is not None:
            # In the race classes are numbers; a user's own function knows their names.
            names, own = self.classes, self.measure
            self.coded = lambda t, p: float(own(names[t.astype(int)], names[p.astype(int)]))
        self.class_weight = _weights(class_weight, self.classes)
        self.trainers = trainers_for(self.task, learners, self.class_weight)
        self.rivals = rivals
        # The board states the task, and the preprocessing what it does with missing values.
        about = {n: n.kind if isinstance(n, Note) else "" for n in found.notes}
        self.notes = [n for n, kind in about.items() if kind not in ("task", "missing")]
        self.notes += [*self.steps.notes, *checked.notes]
        self.search: SearchTree | None = None
        #: The kernels that the caller named, if any.
        self.named: list[Kernel] = []
        self.interrupted = False
        self.whole, self.rows_given = found, np.arange(len(found))
        self.fitted_on = self.rows_given

    def run(self, kernels: Any, cv: Any, repeats: int, search: bool, told: Any) -> None:
        """Everything from the rows to the winner."""
        self.prepare(cv, repeats)
        candidates = self.candidates(kernels)
        steps = planned(len(candidates), self.trainers, len(self.rivals))
        with _Progress(told, self.clock, steps) as say:
            if search and self.steps.kind != "strings":
                candidates = [self.grown_kernel(say), *candidates]
            self.race(candidates, repeats, say)
            self.standing = self.finish(say)

    @property
    def classified(self) -> bool:
        return self.classes is not None

    def prepare(self, cv: Any, repeats: int) -> None:
        """Draw the rows that the choice is made on, make them ready, and cut them into folds."""
        order = draw_order(self.y, self.classified, self.seed)
        self.drawn = np.sort(order[: min(MOST_ROWS, _rows_that_fit())])
        begin = perf_counter()
        rows = _prepared(self.steps, self.found.take(self.drawn))
        self.overhead = (perf_counter() - begin) * len(self.y) / len(self.drawn)
        y = self.y[self.drawn]
        y = y if self.classes is None else np.searchsorted(self.classes, y)
        extra = 0 if self.clock.budget is None else EXTRA_REPEATS
        together = None if self.groups is None else self.groups[self.drawn]
        splits, self.folds, notes = splits_of(
            cv,
            rows,
            y,
            self.classified,
            repeats,
            self.seed,
            extra,
            together,
            None if self.times is None else self.times[self.drawn],
        )
        self.notes += notes
        count = 0 if self.classes is None else len(self.classes)
        order = draw_order(y, self.classified, self.seed + 1)
        asked = self.probabilities or needs(self.measure) != "answers"
        self.data = Data(rows, y, count, self.coded, splits, order, self.seed, asked)

    def candidates(self, kernels: Iterable[Any] | None) -> list[Kernel]:
        """The kernels that were named, or those that suit the data."""
        if kernels is None:
            return kernels_for(self.data.X, self.steps.kind)
        self.named = [as_kernel(k) for k in kernels]
        return self.named

    def grown_kernel(self, say: Callable[[str], None]) -> Kernel:
        """The kernel that a search over building blocks finds."""
        say("kernel search")
        share = None if self.clock.budget is None else SEARCH_SHARE * self.clock.budget
        grown = search_kernel(
            self.data.X, self.data.y, task=self.task, random_state=self.seed, seconds=share
        )
        self.search = grown.tree
        self.notes.append(
            f"the kernel {grown.kernel!r} was grown on targets of all folds: its score is "
            "flattered more than those of the others"
        )
        return grown.kernel

    def race(self, kernels: list[Kernel], repeats: int, say: Callable[[str], None]) -> None:
        """Run the candidates; Ctrl-C ends the race and keeps what was found."""
        race = self.contest = Race(self.data, self.clock, len(self.y), self.overhead, say)
        try:
            # The search may find, and a caller may name, what is there already: it races once.
            rivals = rival_trainers(
                self.rivals, self.data.X, self.task, self.data.classes, self.class_weight
            )
            more = self.clock.budget is not None and len(self.drawn) < len(self.y)
            go_on = self._more_rows if more and self.times is None else None
            run_stages(race, list(dict.fromkeys(kernels)), self.trainers, repeats, rivals, go_on)
        except KeyboardInterrupt:
            if not race.best():
                raise
            self.interrupted = True
            self.notes.append("interrupted: the best of what had been tried until then was fitted")

    def _more_rows(self) -> bool:
        """There are more rows than were drawn: the best few go on with them."""
        if self.contest.last < self.data.n:
            return False
        order = draw_order(self.y, self.classified, self.seed)
        return MoreRows(
            self.contest, self.found, self.drawn, order, self.groups, self.measure, self._pipeline
        ).run()

    def finish(self, say: Callable[[str], None]) -> list[Entry]:
        """Fit the winner on all rows; the candidates, best first, without those too slow for it."""
        race = self.contest
        standing = race.best()
        if not standing:
            why = next((e.failed for e in race.entries if e.failed), "no candidate")
            raise ValueError(f"nothing could be fitted: {why}")
        asked_for = [e for e in race.entries if e.kernel in self.named]
        if asked_for and all(e.failed for e in asked_for):
            # Learners that bring a kernel of their own are not what was asked about.
            raise ValueError(
                f"no learner could be fitted with {', '.join(map(repr, self.named))}: "
                f"{asked_for[0].failed}. Name another kernel, or none for those that suit the data."
            )
        stored = [e for e in standing if e.rival is None or e.rival.stored]
        self.winner = _affordable(race, stored or standing)
        say(f"last fit: {self.winner.trainer.learner}")
        least = min(self.winner.size, len(self.y))
        try:
            rows = max(least, race.rows_in(self.winner, self.clock.left()))
            run_until(self.clock.end, self._fit, self.found, rows)
        except OutOfTime:
            # As many as it was compared on: what that takes is known, and little.
            self._fit(self.found, least)
        return race.best()

    def _pipeline(self, entry: Entry, y: np.ndarray) -> Pipeline:
        """Preprocessing and a candidate as it is to be fitted on rows with these targets."""
        outcomes = entry.chosen or entry.outcomes
        model = entry.trainer.final(entry.kernel, outcomes, entry.unit, y)
        if self.probabilities:
            model = _calibrated(model, outcomes)
        steps = [(name, clone(step)) for name, step in self.steps.steps]
        return Pipeline([*steps, ("model", model)])

    def _fit(self, found: Dataset, count: int) -> None:
        """The winner on so many rows of a data set."""
        assert found.y is not None
        rows = np.sort(draw_order(found.y, self.classified, self.seed)[:count])
        part = found if count == len(found) else replace(found, X=found.take(rows), y=found.y[rows])
        assert part.y is not None
        best = self._pipeline(self.winner, part.y)
        begin = perf_counter()
        with self.contest.threads(count, self.winner), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best.fit(part.X, part.y)
        best.schema_ = found.schema  # a saved model knows how to read new rows
        self.best, self.fitted_on = best, rows
        self.fit_seconds = perf_counter() - begin

    def settle(self, whole: Dataset, rows: np.ndarray, end: float | None) -> None:
        """Rows were kept back: fit the winner on all of them until `end`, if there is one."""
        self.whole, self.rows_given, kept = whole, rows, rows[self.fitted_on]
        if end is not None:
            with suppress(OutOfTime):
                run_until(end, self._fit, whole, len(whole))
                return
        self.fitted_on = kept

    def board(self, headline: Headline | None = None, clock: Clock | None = None) -> Scoreboard:
        """The scoreboard of a race that is over."""
        race, standing = self.contest, self.standing
        model = getattr(self.best[-1], "estimator_", self.best[-1])  # without its calibration
        listed = [row_of(entry, race) for entry in standing]
        won = standing.index(self.winner)
        # Where time was short the winner may not have seen all rows; it won nevertheless.
        top = listed[won] = replace(listed[won], params=_params(model), stopped=False)
        base = baseline(self.data)
        self._note_outcome(race, top.mean > base.mean)
        oof = out_of_fold(self.winner, self.found, self.drawn, len(self.data.splits[0]))
        points = self.winner.trainer.support(model, len(self.fitted_on))
        memory = self.winner.trainer.memory(model)
        return Scoreboard(
            rows=with_baseline(listed, base),
            best=self.best,
            best_row=top,
            headline=headline,
            saved=Saved(
                len(self.fitted_on),
                points,
                self.fit_seconds,
                memory or int(points * top.memory_bytes / max(1, top.n_support)),
            ),
            proof=self._proof(),
            task=self.task,
            task_reason=self.whole.reason,
            metric=self.metric,
            classes=self.whole.classes,
            oof=replace(oof, rows=self.rows_given[oof.rows]),
            search=self.search,
            notes=tuple(self.notes),
            folds=self.folds,
            seconds=(clock or self.clock).spent(),
            budget=(clock or self.clock).budget,
            n_rows=len(self.whole),
            kind=self.found.kind,
        )

    def _proof(self) -> Any:
        kernel = self.winner.kernel
        return None if kernel is None else prove(kernel, n_features=_width(self.data.X))

    def _note_outcome(self, race: Race, learned: bool) -> None:
        if race.last < len(self.whole):
            self.notes.append(
                f"candidates are compared on {race.last} of {len(self.whole)} rows, the winner is "
                f"fitted on {_of(len(self.fitted_on), len(self.whole))}"
            )
        failed = [e for e in race.entries if e.failed][:MOST_FAILED]
        self.notes += [f"{e.name} was left out: {e.failed}" for e in failed]
        self.notes += verdict(self.standing, self.winner, self.metric)
        if not learned:
            self.notes.append(
                "the best is no better than the baseline: nothing was learned from the examples"
            )


# --- the parts -----------------------------------------------------------------------------------


def _rows_that_fit() -> int:
    """So many that K and what is made of it stay within the memory limit."""
    return max(200, int(math.sqrt(get_config().memory_bytes / (COPIES * 8))))


def _prepared(made: Preprocessing, X: Any) -> Any:
    if not made.steps:
        return X
    rows = Pipeline(list(made.steps)).fit_transform(X)
    if count_of(rows) > 2_000 and getattr(rows, "dtype", None) == np.float64:
        return rows.astype(np.float32)
    return rows


def _of(some: int, rows: int) -> str:
    return "all" if some == rows else str(some)


def _calibrated(model: Any, outcomes: Sequence[Outcome]) -> CalibratedScores:
    """The model with probabilities, from the scores of all folds for rows held out."""
    known = [o for o in outcomes if o.scores is not None and o.truth is not None]
    scores = [evidence(np.asarray(o.scores), o.probable) for o in known]
    truth = np.concatenate([np.asarray(o.truth) for o in known])
    return CalibratedScores.fitted(model, np.concatenate(scores), truth)


def _weights(class_weight: Any, classes: np.ndarray | None) -> tuple[Any, Any]:
    """Weights of classes by number, for the folds, and by name, for the last fit."""
    if class_weight is None or class_weight == "balanced":
        if class_weight is not None and classes is None:
            raise ValueError("class_weight is for classes, and the targets are numbers")
        return class_weight, class_weight
    if classes is None or not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight is 'balanced' or a dictionary by class; got {class_weight!r}"
        )
    names = classes.tolist()
    strange = [c for c in class_weight if c not in names]
    if strange:
        raise ValueError(f"class_weight names {strange[0]!r}; the classes are {names}")
    return {names.index(c): w for c, w in class_weight.items()}, class_weight


def _width(rows: Any) -> int | None:
    return int(rows.shape[1]) if hasattr(rows, "shape") else None


def _affordable(race: Race, standing: list[Entry]) -> Entry:
    """The best candidate that can be fitted on enough rows in the time left, or the fastest."""
    if race.clock.budget is None:
        return standing[0]
    left, n = race.clock.left() + 0.05 * race.clock.budget, race.final_rows
    fastest = min(standing, key=lambda e: race.fit_seconds(e, n))
    for entry in standing:
        if entry is fastest or race.rows_in(entry, left) >= min(n, ENOUGH * entry.size):
            return entry
        entry.slow = True
    return fastest


def _params(model: Any) -> dict[str, Any]:
    """What was chosen, under the names of the learner."""
    shown = {}
    for name in ("C", "epsilon", "alpha", "n_neighbors", "bandwidth", "n_trees"):
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
            share = perf_counter() - self.clock.begin
            share /= self.clock.budget
        self.done += 1
        # The bar never moves backwards, and is full only when the comparison has ended.
        share = min(max(share, self.share), 0.99)
        self._bar.advance(share - self.share, note=text)
        self.share = share
        if self.told is not None:
            self.told(text, share)

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)


__all__ = ["compare"]
