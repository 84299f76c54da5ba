"""All pairs of classes of a machine: their examples, problems and answers, in flat arrays.

Pair p, of classes ``first[p]`` and ``second[p]`` (the first is the positive one), has the entries
``starts[p] : starts[p + 1]`` of every flat array. 300 classes are 44 850 pairs: what can be done
for all of them at once is not done pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.solvers.quadratic.problem import (
    Quadratic,
    Solutions,
    Task,
    Tasks,
    c_svc,
    nearest_points,
    nu_svc,
    start_from,
)


@dataclass
class Pairs:
    """`rows`, `signs` and `weights` of the examples; after `finish`, their `coef` and `signed` yf.

    `intercept`, `margin` 1/‖w‖, `objective` and `n_iter` have one number per pair.
    """

    first: np.ndarray
    second: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    C: float
    nu: float | None
    coef: np.ndarray = field(default_factory=lambda: np.empty(0))
    signed: np.ndarray = field(default_factory=lambda: np.empty(0))
    intercept: np.ndarray = field(default_factory=lambda: np.empty(0))
    margin: np.ndarray = field(default_factory=lambda: np.empty(0))
    objective: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_iter: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, codes: np.ndarray, weights: np.ndarray, C: float, nu: float | None) -> Pairs:
        """Every two classes; `codes` numbers the class of each example (−1: of none)."""
        classes = int(codes.max()) + 1
        counted = np.flatnonzero(weights > 0)
        if classes == 2:
            ends, signs = np.array([0, len(counted)]), 1 - 2 * codes[counted]
            one = np.ones(1, np.intp)
            return cls(one - 1, one, ends, counted, signs, weights[counted], C, nu)
        by_class = counted[np.argsort(codes[counted], kind="stable")]
        sizes = np.bincount(codes[counted], minlength=classes)
        ends = np.cumsum(sizes)
        first, second = np.triu_indices(classes, 1)
        # The examples of the first class of each pair, then those of the second, as in LIBSVM: what
        # belongs together lies together, in K ordered by class, too.
        both = np.stack([first, second], axis=1).ravel()
        lengths = sizes[both]
        each = np.repeat(ends[both] - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        rows = by_class[each]
        starts = np.concatenate([[0], np.cumsum(sizes[first] + sizes[second])])
        signs = np.repeat(np.tile([1, -1], len(first)), lengths)
        return cls(first, second, starts, rows, signs, weights[rows], C, nu)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def pair(self) -> np.ndarray:
        """The pair of every entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def parts(self) -> list[slice]:
        ends = self.starts.tolist()
        return [slice(s, e) for s, e in pairwise(ends)]

    # --- problems ----------------------------------------------------------------------------

    def problems(self) -> list[Quadratic]:
        signs, weights = self.signs, self.weights
        if self.nu is not None:
            return [nu_svc(signs[part], weights[part], self.nu) for part in self.parts()]
        if math.isinf(self.C):
            return [nearest_points(signs[part]) for part in self.parts()]
        return [task.problem for task in self._by_C()]

    def _by_C(self) -> Tasks:
        return Tasks(self.starts, self.rows, c_svc(self.signs, self.C * self.weights))

    def tasks(self, old: Any = None) -> Sequence[Task]:
        """One problem per pair; with `old` pairs on the same examples, from their solution."""
        hard = self.nu is None and math.isinf(self.C)
        follows = self._follows(old)
        if self.nu is None and not hard and not follows:
            return self._by_C()
        rows, problems = [self.rows[part] for part in self.parts()], self.problems()
        if not follows:
            method = "hard margin" if hard else "solve"
            return [Task(r, p, method) for r, p in zip(rows, problems, strict=True)]
        together = zip(rows, problems, old.problems(), self.parts(), strict=True)
        return [
            Task(r, new.starting(start_from(old.coef[None, part], before, new)), "resume")
            for r, new, before, part in together
        ]

    def _follows(self, old: Any) -> bool:
        """Whether `old` solved the same for another C."""
        if old is None or self.nu is not None or old.nu is not None:
            return False
        same = np.array_equal(self.rows, old.rows) and np.array_equal(self.signs, old.signs)
        return same and math.isfinite(old.C * self.C)

    # --- answers -----------------------------------------------------------------------------

    def finish(self, found: Solutions) -> None:
        """Keep α, b and yf of every example, in units where the margin is at ±1."""
        a, image, objective = found.a[0], found.image, found.objective
        b = found.thresholds[:, 0]
        separate = found.thresholds.shape[1] == 2
        if separate:
            # F is ρ₊ and ρ₋ on the margins: they become +1 and −1. As in LIBSVM, the unit may be
            # negative, which it is only where the kernel is indefinite.
            last = found.thresholds[:, 1]
            unit = (last - b) / 2
            unit[unit == 0] = 1.0
            b, objective, units = (b + last) / 2 / unit, objective / unit**2, self._each(unit)
            a, image = a / units, image / units
        self.coef, self.intercept, self.objective = a, b, objective
        self.signed = self.signs * (image + self._each(b))
        square = np.add.reduceat(a * image, self.starts[:-1])
        self.margin = np.full(len(self), math.inf)
        np.divide(1.0, np.sqrt(np.maximum(square, 0.0)), out=self.margin, where=square > 0)
        if self.nu is None and separate:
            # The hard margin's own dual.
            self.objective = objective - np.add.reduceat(np.abs(self.coef), self.starts[:-1])
        self.n_iter = found.n_iter.astype(np.int32)

    def _each(self, numbers: np.ndarray) -> np.ndarray:
        """The number of its pair for every entry."""
        return numbers if len(self) == 1 else np.repeat(numbers, np.diff(self.starts))

    def per_example(self, values: np.ndarray, n: int) -> np.ndarray:
        """Values of the entries as (examples, pairs), NaN where an example is of neither class."""
        table = np.full((n, len(self)), np.nan)
        table[self.rows, self.pair] = values
        return table[:, 0] if len(self) == 1 else table


class Pair:
    """One pair as files of the first format hold it."""


def as_pairs(solved: Any) -> Any:
    """The pairs of a fitted machine, from a list if it comes from a file of the first format."""
    if not isinstance(solved, list):
        return solved
    flat = {
        name: np.concatenate([getattr(pair, name) for pair in solved])
        for name in ("rows", "signs", "weights", "coef", "signed")
    }
    each = {
        name: np.array([getattr(pair, name) for pair in solved])
        for name in ("intercept", "margin", "objective", "n_iter")
    }
    starts = np.concatenate([[0], np.cumsum([len(pair.rows) for pair in solved])])
    first, second = (np.array([getattr(pair, k) for pair in solved]) for k in "ij")
    return Pairs(first, second, starts, C=solved[0].C, nu=solved[0].nu, **flat, **each)
