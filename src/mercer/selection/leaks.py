"""Columns that give the target away: copies of it, perhaps recoded or blurred, and what was
computed from it. They are told and kept: such a column may be a leak or the point of the exercise,
and only the reader knows.
"""

from __future__ import annotations

import re

import numpy as np

from mercer.data.columns import listed
from mercer.data.dataset import Dataset, Note
from mercer.selection.metrics import r2, ranks

#: Rows looked at for a column that tells the target alone; for means of the target, as all rows of
#: a group must be there, tables of at most so many.
LEAK_ROWS, MEANS_ROWS = 2_000, 50_000
#: The share of the error of guessing that one column takes away, on rows not fitted on, so that it
#: decides the target, and so that it nearly does; for a column of few values, less will do, since
#: measurements have many. The best column of Fisher's irises takes 0.93 of it away.
DECIDES = {"classification": 0.99, "regression": 0.999}
NEARLY = {"classification": 0.95, "regression": 0.98}
FEW_VALUES = 0.92
#: Distinct values that a column of means must have, the share of the rows where it must be the
#: mean, and how near to it, in standard deviations of the target.
LEAST_MEANS, MEANS, NEAR = 4, 0.9, 0.01
#: The share of texts that hold the name of their own class and of no other.
NAMED = 0.95


class Telling:
    """Looks at columns one by one, and says in the end which of them tell the target."""

    def __init__(self, found: Dataset) -> None:
        assert found.y is not None
        assert found.task is not None
        self.y, self.task = found.y, found.task
        self.order: np.ndarray = np.random.default_rng(0).permutation(len(found.y))[:LEAK_ROWS]
        self.decide: list[str] = []
        self.nearly: list[str] = []
        self.means: list[str] = []
        self.gaps: list[str] = []

    def look(self, name: str, values: np.ndarray) -> None:
        told = self._told(values[self.order])
        if told >= DECIDES[self.task]:
            self.decide.append(name)
        elif len(self.y) <= MEANS_ROWS and self._is_mean(values):
            self.means.append(name)
        elif told >= self._threshold(values[self.order]):
            self.nearly.append(name)
        elif self._gaps_tell(~np.isfinite(values)):
            self.gaps.append(name)

    def notes(self) -> list[Note]:
        """A sentence for each kind."""
        end = "; kept; if they are not known when a prediction is made, leave them out"
        kinds = (
            (self.decide, "columns that decide the target alone"),
            (self.nearly, "columns that nearly decide the target alone"),
            (self.gaps, "columns whose gaps tell one class from the rest"),
            (self.means, "columns that hold means of the target over groups of rows"),
        )
        return [Note("trap", f"{words}: {listed(names)}{end}") for names, words in kinds if names]

    def _threshold(self, values: np.ndarray) -> float:
        if self.task == "classification":
            levels = len(np.unique(values[np.isfinite(values)]))
            if levels <= 2 * len(np.unique(self.y)):
                return FEW_VALUES
        return NEARLY[self.task]

    def _told(self, values: np.ndarray) -> float:
        """The share of the error of guessing that this column alone takes away.

        Each half of the rows is answered by what the other half shows.
        """
        y, half = self.y[self.order], len(self.order) // 2
        rule = _by_value if self.task == "classification" else _between
        told = rule(values[:half], y[:half], values[half:], y[half:])
        if told < FEW_VALUES - 0.1:
            return told
        return (told + rule(values[half:], y[half:], values[:half], y[:half])) / 2

    def _gaps_tell(self, gaps: np.ndarray) -> bool:
        """Whether values are missing in the rows of one class, or in all others, and only there."""
        if self.task == "regression" or not 0.02 <= gaps.mean() <= 0.98:
            return False
        agree = [np.mean(gaps == (self.y == label)) for label in np.unique(self.y)]
        return max(*agree, *(1 - share for share in agree)) >= DECIDES[self.task]

    def _is_mean(self, values: np.ndarray) -> bool:
        """Whether, over the rows that share a value of this column, the targets average to it."""
        few = len(np.unique(values[self.order])) < LEAST_MEANS  # which a sample shows soon
        if few or not np.isfinite(values).all():
            return False
        at, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
        if not LEAST_MEANS <= len(at) <= len(values) / 1.5:
            return False
        if self.task == "regression":
            targets = [self.y]
        elif at[0] < 0 or at[-1] > 1:
            return False
        else:
            targets = [(self.y == label).astype(float) for label in np.unique(self.y)]
        return any(
            sizes[np.abs(np.bincount(group, y) / sizes - at) <= NEAR * y.std()].sum()
            >= MEANS * len(y)
            for y in targets
        )


def _by_value(values: np.ndarray, y: np.ndarray, others: np.ndarray, truth: np.ndarray) -> float:
    """Of a tree over one column; 0 where guessing leaves next to no error to take away."""
    from sklearn.tree import DecisionTreeClassifier

    guess = np.unique(truth, return_counts=True)[1].max() / len(truth)
    if guess > 0.97 or len(np.unique(y)) < 2:
        return 0.0
    tree = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(values[:, None], y)
    right = float(tree.score(others[:, None], truth))
    return 1 - (1 - right) / (1 - guess)


def _between(values: np.ndarray, y: np.ndarray, others: np.ndarray, truth: np.ndarray) -> float:
    """R² of a line through the means of the targets at each value, or of their ranks."""
    known, asked = np.isfinite(values), np.isfinite(others)
    if known.mean() < 0.9 or asked.mean() < 0.9:
        return 0.0
    at, index = np.unique(values[known], return_inverse=True)
    means = np.bincount(index, y[known]) / np.bincount(index)
    line = r2(truth[asked], np.interp(others[asked], at, means))
    if len(at) < 3:
        return line
    # A function of the target with a long tail has no line, but the same order.
    alike = np.corrcoef(ranks(others[asked]), ranks(truth[asked]))[0, 1]
    return max(line, float(alike**2))


def named_classes(found: Dataset) -> list[Note]:
    """Texts that say their own class, such as paths of files in a folder per class."""
    assert found.y is not None
    classes = [str(c).lower() for c in np.unique(found.y)]
    if found.kind != "strings" or found.task != "classification" or len(classes) < 2:
        return []
    rows = np.random.default_rng(0).permutation(len(found.y))[:LEAK_ROWS]
    right = 0
    for row in rows:
        words = set(re.split(r"[\W_]+", str(found.X[row]).lower()))
        right += [c for c in classes if c in words] == [str(found.y[row]).lower()]
    if right < NAMED * len(rows):
        return []
    said = "nearly every text holds the name of its own class, and of no other"
    return [Note("trap", f"{said}; kept; if new texts do not, take it out of these")]
