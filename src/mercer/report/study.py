"""What more fits of the winner tell: which columns matter, and whether more rows would help.

All of it is judged on rows kept back from the choice, by fits that had not seen them, and takes a
few seconds: what is left out for want of time is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import take
from mercer._machine.deadline import OutOfTime, announced_seconds, check_time, now, until
from mercer._machine.threads import single_threaded_blas
from mercer.data.dataset import Dataset
from mercer.selection.board.scoreboard import OutOfFold
from mercer.selection.folds import draw_order
from mercer.selection.holdout import interval
from mercer.selection.metrics import Metric, answers_metric

#: Seconds for everything here, without a budget.
PATIENCE = 6.0
#: Parts of the training rows that the winner is fitted on, and the fewest rows that make sense.
SHARES, FEWEST = (1.0, 1 / 2, 1 / 4, 1 / 8), 16
#: Rows below which several BLAS threads only wait for each other.
WORTH_THREADS = 1_500
#: Rows that a column is shuffled in, per fit; how often; columns beyond which none is shuffled.
SHUFFLED, REPEATS, MOST_COLUMNS = 500, 5, 2_000


@dataclass(frozen=True)
class Point:
    """A point of the learning curve: rows per fit, score and interval, and the loss of each row."""

    rows: int
    score: float
    low: float
    high: float
    losses: np.ndarray


@dataclass(frozen=True)
class Importance:
    """By how much the score falls when a column is shuffled: mean and spread over repetitions."""

    names: list[str]
    fall: np.ndarray
    spread: np.ndarray
    left_out: int


@dataclass(frozen=True)
class Study:
    """`missing` says why no column has an importance, where none has."""

    curve: list[Point]
    importance: Importance | None
    missing: str = ""


def held_back(board: Any) -> OutOfFold:
    """Answers for rows that took no part in the choice, or else those of the race."""
    found: OutOfFold = board.oof if board.headline is None else board.headline.predictions
    return found


def study(board: Any, data: Dataset, seconds: float | None = None) -> Study:
    """Fit the winner on growing parts of the rows that were not kept back, and shuffle columns."""
    if board.headline is None:
        return Study([], None, "no rows were kept back from the choice")
    if seconds is None:  # of what a budget leaves, most is for pictures
        seconds = min(PATIENCE, max(0.0, announced_seconds() / 3))
    end = now() + seconds
    _, metric = answers_metric(board.task, board.metric)
    parts = _parts(board.headline.predictions, len(data))
    data = as_fitted(board, data)
    few = single_threaded_blas() if len(data) < WORTH_THREADS else nullcontext()
    curve: list[Point] = []
    models: list[tuple[Any, np.ndarray]] = []
    names = _column_names(data) if data.kind in ("table", "vectors") else []
    falls: list[list[float]] = [[] for _ in names]
    with few, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        half = (now() + end) / 2
        with suppress(OutOfTime), until(half):
            _learning_curve(board, data, parts, metric, half, curve, models)
        if not models and len(parts) == 1:  # answers of a fit on all of them are there already
            held, count = board.headline.predictions, min(len(parts[0][0]), board.saved.rows)
            fit = (None, held.rows, held.truth, held.predicted, count)
            curve.insert(0, _point([fit], metric, board.task))
        if names:
            with suppress(OutOfTime), until(end):
                _shuffle_columns(data, models, metric, falls)
    missing = "there was no time for it" if names else f"more than {MOST_COLUMNS:,} columns"
    return Study(curve[::-1], _importance(names, falls), missing)


def as_fitted(board: Any, data: Dataset) -> Dataset:
    """Tables without the columns that were left out before the choice."""
    schema = getattr(board.best, "schema_", None)
    if data.kind != "table" or schema is None or not schema.columns:
        return data
    return replace(data, X=data.X[[c for c in data.X.columns if c in schema.columns]])


def _parts(held: OutOfFold, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    part = np.zeros(len(held.rows)) if held.part is None else held.part
    tests = [held.rows[part == number] for number in np.unique(part)]
    return [(np.setdiff1d(np.arange(n), test), test) for test in tests]


# --- the learning curve --------------------------------------------------------------------------


def _learning_curve(
    board: Any,
    data: Dataset,
    parts: list[Any],
    metric: Metric,
    end: float,
    curve: list[Point],
    models: list[tuple[Any, np.ndarray]],
) -> None:
    """Adds points from all rows to few, and the fits on all of them with their held-back rows.

    The fits on all rows come first, since they tell most; smaller ones follow while there is time.
    """
    cost = board.saved.seconds * len(parts)  # of fits on all rows; on fewer, not less than linear
    for share in SHARES:
        check_time()
        begin = now()
        ready = share == 1.0 and _is_fitted_on(board, parts)
        if ready or begin + cost * share < end:
            try:
                fits = [_fit(board, data, train, test, share) for train, test in parts]
            except ValueError:  # too few rows for this learner, or for one of the classes
                break
            curve.append(_point(fits, metric, board.task))
            cost = cost if ready else (now() - begin) / share
            models += [(model, test) for model, test, *_ in fits if share == 1.0]


def _is_fitted_on(board: Any, parts: list[Any]) -> bool:
    """Whether the saved model was fitted on the rows that were not kept back, and on no others."""
    return len(parts) == 1 and board.saved.rows == len(parts[0][0])


def _fit(board: Any, data: Dataset, train: np.ndarray, test: np.ndarray, share: float) -> Any:
    """(model, test rows, their truth, what was predicted, rows that were fitted on)."""
    from sklearn.base import clone

    y = np.asarray(data.y)
    classified = board.task == "classification"
    # No more rows than the winner had: what a fit on more would take is not known.
    count = round(share * min(len(train), board.saved.rows))
    if count < FEWEST:
        raise ValueError("too few rows")
    some = train[np.sort(draw_order(y[train], classified, 0)[:count])]
    if share == 1.0 and _is_fitted_on(board, [(train, test)]):
        model = board.best
    else:
        model = clone(board.best).fit(take(data.X, some), y[some])
    return model, test, y[test], np.asarray(model.predict(take(data.X, test))), count


def _point(fits: list[Any], metric: Metric, task: str) -> Point:
    truth = np.concatenate([fit[2] for fit in fits])
    said = np.concatenate([fit[3] for fit in fits])
    low, high = interval(truth, said, metric)
    losses = (truth != said).astype(float) if task == "classification" else (truth - said) ** 2
    rows = round(float(np.mean([fit[4] for fit in fits])))
    return Point(rows, metric(truth, said), low, high, losses)


def more_rows(curve: list[Point], task: str) -> str:
    """Whether more rows would help, in sentences, from the last doubling of the rows."""
    if len(curve) < 2:
        return "There was no time to fit on parts of the rows, so this is not known."
    before, after = curve[-2:]
    gains = before.losses - after.losses
    gain, doubt = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    shown = [_loss(point, task) for point in (before, after)]
    step = (
        f"From {before.rows:,} to {after.rows:,} rows the error went from {shown[0]} to {shown[1]}"
    )
    if not after.losses.any():
        return f"{step}: with no error left on {len(gains):,} held-back rows, more need not help."
    if gain > 2 * doubt and gain > 0.02 * before.losses.mean():
        return f"{step}: it is still falling, and more rows would probably help."
    if gain + 2 * doubt < 0.1 * before.losses.mean():
        return (
            f"{step}: the curve is level. More rows of this kind would hardly help; other columns "
            "might."
        )
    return (
        f"{step}: {len(gains):,} held-back rows are too few to tell whether more rows would help."
    )


def _loss(point: Point, task: str) -> str:
    mean = float(point.losses.mean())
    return f"{100 * mean:.2f} %" if task == "classification" else f"{np.sqrt(mean):.4g} (RMS)"


# --- importance of columns -----------------------------------------------------------------------


def _column_names(data: Dataset) -> list[str]:
    """Names of all columns that are shuffled; none of very many."""
    names = [str(c) for c in data.X.columns] if hasattr(data.X, "columns") else None
    names = names or list(data.names) or [f"x{j}" for j in range(data.X.shape[1])]
    return names if len(names) == data.X.shape[1] <= MOST_COLUMNS else []


def _shuffle_columns(
    data: Dataset, models: list[tuple[Any, np.ndarray]], metric: Metric, falls: list[list[float]]
) -> None:
    """Shuffle one column at a time in the held-back rows; adds by how much the score falls."""
    y = np.asarray(data.y)
    for repeat in range(REPEATS):
        for part, (model, test) in enumerate(models):
            rows = np.sort(np.random.default_rng(0).permutation(test)[:SHUFFLED])
            X, truth = take(data.X, rows), y[rows]
            score = metric(truth, np.asarray(model.predict(X)))
            random = np.random.default_rng((repeat, part))
            for fall, changed in zip(falls, _shuffled(X, random), strict=True):
                check_time()
                fall.append(score - metric(truth, np.asarray(model.predict(changed))))


def _shuffled(X: Any, random: np.random.Generator) -> Iterator[Any]:
    """The rows with one column shuffled, for each column in turn."""
    sparse = is_sparse(X)
    dense = X.toarray() if sparse else X
    for j in range(X.shape[1]):
        order = random.permutation(len(dense))
        changed = dense.copy()
        if hasattr(X, "iloc"):
            changed.isetitem(j, dense.iloc[order, j].set_axis(dense.index))
        else:
            changed[:, j] = dense[order, j]
        yield type(X)(changed) if sparse else changed


def _importance(names: list[str], falls: list[list[float]]) -> Importance | None:
    done = [j for j, values in enumerate(falls) if values]
    if not done:
        return None
    mean = np.array([np.mean(falls[j]) for j in done])
    spread = np.array([np.std(falls[j]) for j in done])
    order = np.argsort(-mean, kind="stable")
    chosen = [names[done[i]] for i in order]
    return Importance(chosen, mean[order], spread[order], len(names) - len(done))
