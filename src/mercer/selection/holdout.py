"""The headline: a score on rows that the whole choice, kernels and parameters, has not seen.

The means of a race are those of the winners of a competition, and therefore flattered. So some rows
are kept from it. Of many rows a fifth is kept back once. Of few, five parts are held out in turn,
and everything is chosen anew on the rest each time: that costs six competitions, and judges every
row once. The interval says how far the score may be off because so few rows were judged, and
because the model that is saved has seen more rows than those that were judged: what the first half
of their rows was worth tells what these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer._escape.terminal import printable
from mercer._machine.deadline import now
from mercer.data.dataset import Dataset
from mercer.learners.probabilities import by_class, scores_of
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.data_checks import Checked
from mercer.selection.folds import draw_order, splits_of
from mercer.selection.metrics import Metric, accuracy, needs
from mercer.selection.racing.clock import Clock
from mercer.selection.scores import cross_calibrated
from mercer.selection.trainers.base import decide

#: Up to so many rows, parts are held out in turn; with a budget, from so many seconds of work on.
TURN_ROWS, ENOUGH_SECONDS = 1_000, 45.0
#: Fewer rows than this cannot be spared.
SPARED_ROWS = 20
#: Parts that are held out in turn, and the share of a budget that choosing for them may take.
PARTS, TURN_SHARE = 5, 0.55
#: The share of rows that is kept back once, and how many of them at most.
KEPT_SHARE, MOST_KEPT = 0.2, 10_000
#: So many rows are judged whatever the time.
FEWEST_ANSWERS = 250
#: Added to the seed: these rows are drawn apart from the folds of the race.
SEED = 17
#: How sure the interval is, and how often rows are drawn anew for it.
LEVEL, DRAWS = 0.9, 500
#: By how much intervals are wider than what rows drawn anew say: few rows hold few of those that
#: count most; and models of parts in turn differ from each other, and from the one that is saved.
#: Measured by `bench/coverage.py`.
DRAWN, ANEW = 1.12, 1.25


@dataclass(frozen=True)
class Headline:
    """The score of the procedure on rows that it has not seen.

    Attributes
    ----------
    score, low, high : float
        The metric, and its 90 % interval.
    rows : int
        How many rows were judged.
    how : str
        Where they come from, in words.
    predictions : OutOfFold
        What was answered for each of them.
    """

    score: float
    low: float
    high: float
    rows: int
    how: str
    predictions: OutOfFold = field(repr=False)

    @printable
    def __str__(self) -> str:
        return (
            f"{self.score:.4g} (90 % interval {self.low:.4g} to {self.high:.4g}) on rows that took "
            f"no part in the choice: {self.how}"
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("score", "low", "high", "rows", "how")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Plan:
    """Pairs of rows to choose on and rows to judge by; whether they are all parts in turn."""

    parts: list[tuple[np.ndarray, np.ndarray]]
    in_turn: bool
    how: str


def plan_holdout(checked: Checked, holdout: Any, clock: Clock, seed: int) -> Plan | None:
    """What is held out, for `holdout` as `compare` takes it; copies of a row on one side."""
    if holdout is None:
        return None
    found, groups = checked.found, checked.groups
    assert found.y is not None
    n, classified = len(found.y), found.classes is not None
    if n < SPARED_ROWS and holdout == "auto":
        return None
    share = KEPT_SHARE
    in_turn = n <= TURN_ROWS and clock.left() >= ENOUGH_SECONDS * clock.crowding()
    in_turn &= checked.times is None
    if holdout != "auto":
        share, in_turn = _share(holdout), False
    if in_turn:
        splits = splits_of(PARTS, found.X, found.y, classified, 1, seed + SEED, groups=groups)[0][0]
        tests = [test for _, test in splits]
        how = f"{len(tests)} parts held out in turn, everything chosen anew on the others"
    else:
        count = int(min(max(1, round(share * n)), MOST_KEPT))
        # A group is as likely to be drawn as any other, however many rows it has.
        each = np.arange(n) if groups is None else np.unique(groups, return_index=True)[1]
        order = each[draw_order(found.y[each], classified, seed + SEED)]
        if checked.times is not None:
            order = np.argsort(checked.times, kind="stable")[::-1]
        test = order[:count] if groups is None else _whole_groups(groups, order, count)
        tests, last = [np.sort(test)], "last " if checked.times is not None else ""
        how = f"{len(test)} {last}rows kept back from the choice"
    everything = np.arange(n)
    return Plan([(np.setdiff1d(everything, t), t) for t in tests], in_turn, how)


def _whole_groups(groups: np.ndarray, order: np.ndarray, count: int) -> np.ndarray:
    """Rows of the groups that come first in an order, until they are as many as asked for.

    >>> _whole_groups(np.array([7, 7, 8, 9, 9]), np.array([3, 2, 0]), 2)
    array([3, 4])
    """
    index, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    firsts = np.unique(index[order], return_index=True)[1]
    turn = index[order][np.sort(firsts)]
    enough = int(np.searchsorted(np.cumsum(sizes[turn]), count)) + 1
    return np.flatnonzero(np.isin(index, turn[: min(enough, len(turn) - 1)]))  # never all


def _share(holdout: Any) -> float:
    if isinstance(holdout, (int, float)) and not isinstance(holdout, bool) and 0 < holdout < 1:
        return float(holdout)
    raise ValueError(
        f"holdout is 'auto', a share of the rows between 0 and 1, or None; got {holdout!r}"
    )


def answers(model: Any, found: Dataset, rows: np.ndarray, part: int = 0) -> OutOfFold:
    """What a fitted pipeline says of rows, and how sure it is where it has scores."""
    assert found.y is not None
    said = answers_for(model, found.take(rows), found.y[rows], found.classes)
    return replace(said, rows=rows, part=np.full(len(rows), part))


def answers_for(model: Any, examples: Any, truth: np.ndarray, classes: Any) -> OutOfFold:
    """The same of these examples; `classes` are all that there are, None for numbers."""
    rows = np.arange(len(truth))
    predicted = np.asarray(model.predict(examples))
    raw, probable = (None, False) if classes is None else scores_of(model, examples)
    certainty = np.full(len(rows), np.nan)
    scores = np.full((len(rows), 0 if classes is None else len(classes)), np.nan)
    if raw is not None and classes is not None:
        certainty = decide(raw, len(classes))[1]
        scores = by_class(raw, np.searchsorted(classes, model.classes_), len(classes))
    part, sure = np.zeros(len(rows), dtype=int), np.full(len(rows), probable)
    return OutOfFold(rows, truth, predicted, certainty, part, scores, sure)


def answers_until(end: float, model: Any, found: Dataset, rows: np.ndarray, seed: int) -> OutOfFold:
    """Answers for as many of the rows as there is time for, drawn in turn; for a few anyway."""
    if math.isinf(end):
        return answers(model, found, rows)
    order, done = np.random.default_rng(seed).permutation(rows), 0
    made: list[OutOfFold] = []
    while done < len(order):
        begin, count = now(), max(done, FEWEST_ANSWERS)
        made.append(answers(model, found, np.sort(order[done : done + count])))
        done += count
        # The next part is as large as all before it, and takes at least as long as this one.
        if now() + 2 * (now() - begin) > end:
            break
    return joined(made)


def joined(made: list[OutOfFold]) -> OutOfFold:
    """Answers in the order of their rows."""
    every = {name: np.concatenate([getattr(p, name) for p in made]) for name in vars(made[0])}
    order = np.argsort(every["rows"], kind="stable")
    return OutOfFold(**{name: values[order] for name, values in every.items()})


def headline_of(
    made: list[OutOfFold],
    metric: Metric,
    how: str,
    seed: int,
    classes: np.ndarray | None = None,
    less: Sequence[OutOfFold] = (),
    growth: float = 0.0,
) -> Headline:
    """The metric over all judged rows, with its interval.

    `less`: the answers of models fitted on half as many rows; `growth`: how much more than from
    these to those the score is to change up to the model that is saved.
    """
    every = joined(made)
    truth, said = judged_answers(every, metric, classes)
    score, (low, high) = metric(truth, said), interval(truth, said, metric, seed)
    if len(made) > 1:
        low, high = score - ANEW * (score - low), min(1.0, score + ANEW * (high - score))
    if len(less) == len(made):
        gain = growth * (score - metric(*judged_answers(joined(list(less)), metric, classes)))
        low, high = min(low, low + gain), max(high, min(1.0, high + gain))
    return Headline(score, low, high, len(every.rows), how, every)


def promised(rows: int, more: int) -> float:
    """What `more` rows add to a score, as a share of what the second half of `rows` added: errors
    fall with the square root of rows.

    >>> round(promised(100, 200) * (1 / 50**0.5 - 1 / 100**0.5) / (1 / 100**0.5 - 1 / 200**0.5), 9)
    1.0
    """
    return (1 - math.sqrt(rows / more)) / (math.sqrt(2) - 1)


def judged_answers(
    every: OutOfFold, metric: Metric, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Truth and what a metric needs beside it: answers, or scores or probabilities by class."""
    truth, said = every.truth, every.predicted
    if needs(metric) != "answers" and classes is not None and every.scores is not None:
        truth, said = np.searchsorted(classes, truth), every.scores
        if np.isnan(said).any():
            said = np.searchsorted(classes, every.predicted)[:, None] == np.arange(len(classes))
            said = said.astype(float)
        if needs(metric) == "probabilities" and not np.all(every.probable):
            said = cross_calibrated(said, truth)
    return truth, said


def interval(
    truth: np.ndarray, predicted: np.ndarray, metric: Metric, seed: int = 0
) -> tuple[float, float]:
    """Wilson's interval for a share of right answers; for other metrics by drawing rows anew.

    >>> low, high = interval(np.ones(50), np.ones(50), accuracy)
    >>> round(low, 3), high  # fifty of fifty right does not mean that all will be
    (0.949, 1.0)
    """
    n = len(truth)
    if metric is accuracy:
        z, p = float(ndtri(0.5 + LEVEL / 2)), accuracy(truth, predicted)
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return float(max(0.0, middle - half)), float(min(1.0, middle + half))
    random = np.random.default_rng(seed)
    drawn = [random.integers(n, size=n) for _ in range(DRAWS)]
    values = [metric(truth[rows], predicted[rows]) for rows in drawn]
    ends, score = np.quantile(values, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]), metric(truth, predicted)
    low, high = score + DRAWN * (ends - score)
    return float(low), min(1.0, float(high))
