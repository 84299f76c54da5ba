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

    def tasks(self, old: Any = None) -> Sequence[Task]:
        """One problem per pair; with `old` pairs on the same examples, from their solution."""
        parts = [slice(s, e) for s, e in pairwise(self.starts.tolist())]
        if self.nu is not None:
            problems = [nu_svc(self.signs[p], self.weights[p], self.nu) for p in parts]
            return [Task(self.rows[p], q) for p, q in zip(parts, problems, strict=True)]
        if math.isinf(self.C):
            return [Task(self.rows[p], nearest_points(self.signs[p]), "hard margin") for p in parts]
        problem = c_svc(self.signs, self.C * self.weights)
        follows = old is not None and old.nu is None and math.isfinite(old.C)
        if not follows or not all(
            np.array_equal(getattr(self, name), getattr(old, name)) for name in ("rows", "signs")
        ):
            return Tasks(self.starts, self.rows, problem)
        before = c_svc(old.signs, old.C * old.weights)
        starts = [start_from(old.coef[None, p], before.take(p), problem.take(p)) for p in parts]
        problem = problem.starting(np.concatenate(starts, axis=1))
        return Tasks(self.starts, self.rows, problem, "resume")

    def finish(self, solved: Solutions) -> None:
        """Keep α, b and yf of every example, in units where the margin is at ±1."""
        a, image, objective = solved.a[0], solved.image, solved.objective
        b, sizes = solved.thresholds[:, 0], np.diff(self.starts)
        separate = solved.thresholds.shape[1] == 2
        if separate:
            # F is ρ₊ and ρ₋ on the margins: they become +1 and −1. As in LIBSVM, the unit may be
            # negative, which it is only where the kernel is indefinite.
            last = solved.thresholds[:, 1]
            unit = (last - b) / 2
            unit[unit == 0] = 1.0
            b, objective, units = (b + last) / 2 / unit, objective / unit**2, np.repeat(unit, sizes)
            a, image = a / units, image / units
        self.coef, self.intercept, self.objective = a, b, objective
        self.signed = self.signs * (image + np.repeat(b, sizes))
        square = np.add.reduceat(a * image, self.starts[:-1])
        self.margin = np.full(len(self), math.inf)
        np.divide(1.0, np.sqrt(np.maximum(square, 0.0)), out=self.margin, where=square > 0)
        if self.nu is None and separate:
            # The hard margin's own dual.
            self.objective = objective - np.add.reduceat(np.abs(self.coef), self.starts[:-1])
        self.n_iter = solved.n_iter.astype(np.int32)

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
