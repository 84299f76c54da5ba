"""The result of `compare`: a row per candidate, best first, and the winner, fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._escape.terminal import printable
from mercer._json import plain

if TYPE_CHECKING:
    from mercer.selection.holdout import Headline
    from mercer.selection.kernel_search.tree import SearchTree

#: Characters of a printed board.
WIDTH = 80


@dataclass(frozen=True)
class Row:
    """One candidate: a kernel with a learner, and how it did on rows it had not seen.

    Attributes
    ----------
    name : str
        Kernel and learner in one line.
    kernel : str
        The kernel as an expression that `mercer.parse` reads; empty for the baseline and rivals.
    learner : str
        The class of the learner, or the name of the rival.
    params : dict
        What was chosen for the fit on all rows (λ, C, …), besides the kernel.
    mean, spread : float
        Of `scores`: their mean, and their standard deviation.
    scores : tuple of float
        The metric on each held-out fold that was tried.
    fit_seconds, predict_seconds : float
        For one fold, its share of the kernel matrix and the choice of parameters included.
    n_support : int
        Training examples that predictions depend on.
    memory_bytes : int
        What a fitted model holds: those examples and their coefficients.
    rows_seen : int
        Rows that were drawn for it; fewer than all where it was stopped early.
    stopped : bool
        Whether it was left behind before it had seen everything; `note` says where.
    note : str
    rival : bool
        Whether it is a learner without a kernel, which the others are measured by.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], holdout=None)
    >>> board.rows[0].learner
    'KernelRidgeClassifier'
    """

    name: str
    kernel: str
    learner: str
    params: dict[str, Any]
    mean: float
    spread: float
    scores: tuple[float, ...]
    fit_seconds: float
    predict_seconds: float
    n_support: int
    memory_bytes: int
    rows_seen: int
    stopped: bool = False
    note: str = ""
    rival: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of the winner for rows that its fit had not seen.

    `rows` are positions in the data given to `compare`; `certainty` is the distance between the
    two highest scores (classification), where the learner has scores; else NaN.

    The headline's have more: `part` numbers the fits that answered; `scores` has a column per
    class, NaN where the learner has none; `probable` says in which rows they are probabilities.

    Parameters
    ----------
    rows : ndarray of int
        Positions in the data given to `compare`.
    truth : ndarray
        The targets of these rows.
    predicted : ndarray
        The answers.
    certainty : ndarray
        The distance between the two highest scores; NaN where there are none.
    part : ndarray of int or None
        Which fit answered.
    scores : ndarray or None
        A column per class; NaN where the learner has none.
    probable : ndarray of bool or None
        Where the scores are probabilities.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], holdout=None)
    >>> len(board.oof.truth) == len(board.oof.predicted)
    True
    """

    rows: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    certainty: np.ndarray
    part: np.ndarray | None = None
    scores: np.ndarray | None = None
    probable: np.ndarray | None = None

    @property
    def errors(self) -> np.ndarray:
        """1 where a label is wrong; the absolute error of a number."""
        if self.truth.dtype.kind == "f" and self.predicted.dtype.kind == "f":
            return np.abs(self.truth - self.predicted)
        return (self.truth != self.predicted).astype(float)

    def worst(self, count: int = 10) -> np.ndarray:
        """Indices in these arrays of the most instructive errors: surest, or largest, first."""
        errors = self.errors
        wrong = np.flatnonzero(errors > 0)
        sure = np.where(np.isnan(self.certainty), 0.0, self.certainty)
        order = np.lexsort((wrong, -sure[wrong], -errors[wrong]))
        return np.asarray(wrong[order[:count]])


@dataclass(frozen=True)
class Saved:
    """The model that is kept: rows it was fitted on, points it keeps, seconds of the fit, bytes."""

    rows: int
    points: int
    seconds: float
    memory_bytes: int


@dataclass(frozen=True, eq=False)
class Scoreboard:
    """What `compare` found.

    Attributes
    ----------
    rows : list of Row
        Those that saw everything by their means, best first, then those stopped on the way; a
        baseline that ignores the examples is among them.
    best : scikit-learn Pipeline
        Preprocessing and learner of the winner, fitted on `saved.rows` rows; predicts for rows
        like those given, and is saved with `mercer.save`.
    best_row : Row
        How it did in the race, which has chosen it.
    headline : Headline or None
        How it does on rows that took no part in the choice.
    saved : Saved
        What is kept of it.
    proof : Proof or None
        Why the winner's kernel is one; None where a rival has won.
    task, task_reason : str
        "classification" or "regression", and how that is known.
    metric : str
        Higher is better.
    classes : ndarray or None
    oof : OutOfFold
        The winner's predictions for rows it had not seen.
    search : SearchTree or None
        How the kernel search went, if it was asked for.
    notes : tuple of str
        What was noticed and done, in sentences.
    folds : str
        How rows were held out.
    seconds : float
        All in all.
    budget : float or None
    n_rows : int
    kind : str
        "table", "vectors", "images", "strings" or "mail".
    interrupted : bool
        Whether Ctrl-C ended the race; the notes say so.
    seed : int
        What folds and samples were drawn with.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.data.moons(60)
    >>> board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["ridge"], holdout=None)
    >>> board.task, board.best_row.mean > board.baseline.mean
    ('classification', True)
    """

    rows: list[Row]
    best: Any
    best_row: Row
    headline: Headline | None
    saved: Saved
    proof: Any
    task: str
    task_reason: str
    metric: str
    classes: np.ndarray | None
    oof: OutOfFold
    search: SearchTree | None
    notes: tuple[str, ...]
    folds: str
    seconds: float
    budget: float | None
    n_rows: int
    kind: str
    interrupted: bool = False
    seed: int = 0

    @property
    def baseline(self) -> Row:
        """The row that ignores the examples."""
        return next(row for row in self.rows if not row.kernel and not row.rival)

    # --- for programs -----------------------------------------------------------------------

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, ready for JSON."""
        as_it_is = "task", "task_reason", "metric", "kind", "n_rows", "folds", "seconds", "budget"
        return {name: getattr(self, name) for name in as_it_is} | {
            "classes": None if self.classes is None else plain(self.classes),
            "notes": list(self.notes),
            "headline": None if self.headline is None else self.headline.to_dict(),
            "saved": vars(self.saved) | {},
            "best": self.best_row.to_dict(),
            "proof": None if self.proof is None else str(self.proof),
            "rows": [row.to_dict() for row in self.rows],
            "search": None if self.search is None else self.search.to_dict(),
        }

    # --- for people -------------------------------------------------------------------------

    def plot(self, ax: Any = None, most: int = 15) -> Any:
        """Mean and spread of the best rows, and the baseline as a line."""
        from mercer.selection.board.render import plot_board

        return plot_board(self, ax, most)

    def __rich__(self) -> Any:
        from mercer.selection.board.render import Board

        return Board(self)

    def _repr_html_(self) -> str:
        from mercer.selection.board.render import as_html

        return as_html(self)

    @printable
    def __str__(self) -> str:
        from mercer.selection.board.render import as_text

        return as_text(self, WIDTH)

    def __repr__(self) -> str:
        best, top = self.best_row, self.headline
        score = (
            f"{best.mean:.4g} in the race"
            if top is None
            else (f"{top.score:.4g} ({top.low:.4g} to {top.high:.4g}) on rows kept from the choice")
        )
        return f"<Scoreboard: {len(self.rows)} candidates, best {best.name}: {self.metric} {score}>"


def show_seconds(seconds: float) -> str:
    """
    >>> show_seconds(0.0042), show_seconds(3.14159), show_seconds(75)
    ('4 ms', '3.1 s', '75 s')
    """
    if not np.isfinite(seconds):
        return "–"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
