"""A contest as in a class: hand in answers, see the board, try again."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer._escape.terminal import printable


class Contest:
    """Answers handed in against hidden truth, and the board: the best try of everybody counts.

    The scoreboard that opens "Perceptron and Kernels" (G. Gordon, A. Smola): name, number of tries,
    time of the best one, share of right answers. Who failed at every try has a dash, and of equals
    the one who came first stands first.

    Parameters
    ----------
    X : array or list
        The examples to be answered.
    y : array of shape (n,)
        The truth, which the board does not show.

    Examples
    --------
    >>> from mercer import KernelSVC, data, selection
    >>> X, y = data.moons(80)
    >>> contest = selection.Contest(X[40:], y[40:])
    >>> contest.enter("guess", [-1] * 40)
    0.5
    >>> contest.enter("svm", KernelSVC("gaussian(0.5)").fit(X[:40], y[:40])) > 0.9
    True
    """

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, np.asarray(y)
        self.entries: list[tuple[str, float, float | None]] = []

    def enter(self, name: str, answers: Any) -> float | None:
        """Judge a fitted model, or its answers; None where there are no answers to judge."""
        score = None
        try:
            said = np.asarray(answers.predict(self.X) if hasattr(answers, "predict") else answers)
            if said.shape == self.y.shape:
                score = float(np.mean(said == self.y))
        except Exception:  # a model of somebody else: whatever it raises, this try has failed
            score = None
        self.entries.append((str(name), time.time(), score))
        return score

    def board(self) -> list[tuple[str, int, float, float | None]]:
        """(name, tries, time of the best try, its score or None), the best first."""
        tries: dict[str, list[tuple[float, float | None]]] = {}
        for name, when, score in self.entries:
            tries.setdefault(name, []).append((when, score))
        rows = []
        for name, made in tries.items():
            # Of equal tries the first one counts.
            when, score = max(made, key=lambda one: -1.0 if one[1] is None else one[1])
            rows.append((name, len(made), when, score))
        return sorted(rows, key=lambda row: (row[3] is None, -(row[3] or 0.0), row[2]))

    @printable
    def __str__(self) -> str:
        board = self.board()
        width = max([4, *(len(row[0]) for row in board)])
        lines = [f"   {'name':{width}}  tries  {'time':19}  right"]
        for place, (name, tries, when, score) in enumerate(board, 1):
            clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))
            share = "–" if score is None else f"{100 * score:.2f} %"
            lines.append(f"{place:2} {name:{width}}  {tries:5}  {clock}  {share}")
        return "\n".join(lines)
