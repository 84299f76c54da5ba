"""The one quadratic problem under all support vector machines.

    min ½ aᵀKa + cᵀa    with    lower ≤ a ≤ upper    and    Σ a fixed within every group

`a` has the sign of its example built in (a = yα), so nothing else does. Each formulation below
is LIBSVM's, and says which c, bounds and sums make it. A learner asks for a `Task` and gets a
`Solution`, from the solver of the place where its data is.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from mercer._lazy import record
from mercer.tuning import SVM_STEPS, SVM_STEPS_PER_ROW


@record
class Quadratic:
    """Arrays are (sides, rows): one side, or two where a⁺ ≥ 0 and a⁻ ≤ 0 share a row of K.

    `start` is feasible, so it fixes the sums; None is zero. `groups` numbers the equality
    constraint of each variable; None means that there is one for all.
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray | None = None
    groups: np.ndarray | None = None

    @property
    def n(self) -> int:
        return int(self.linear.shape[1])

    def members(self) -> list[np.ndarray]:
        """For every equality constraint, which variables share it."""
        if self.groups is None:
            return [np.ones(self.linear.shape, dtype=bool)]
        return [self.groups == g for g in range(int(self.groups.max()) + 1)]

    @property
    def has_separate_sides(self) -> bool:
        """Whether each of two sides has a sum of its own, as in the ν formulation of regression."""
        return len(self.linear) == 2 and self.groups is not None

    def apart(self) -> Quadratic:
        """The same problem with two sides as variables of their own, over the same rows twice."""
        arrays = {f.name: getattr(self, f.name) for f in fields(Quadratic)}
        flat: Any = {name: None if v is None else v.reshape(1, -1) for name, v in arrays.items()}
        return Quadratic(**flat)

    def starting(self, a: np.ndarray | None) -> Quadratic:
        """The same problem from another feasible point."""
        return replace(self, start=a)

    def take(self, rows: Any) -> Quadratic:
        """The problem of some rows alone, from 0."""
        groups = None if self.groups is None else self.groups[:, rows]
        linear, lower, upper = self.linear[:, rows], self.lower[:, rows], self.upper[:, rows]
        return Quadratic(linear, lower, upper, None, groups)


@record
class Task:
    """One problem over some rows of the Gram, and the method that solves it.

    "solve" from scratch; "resume" from a start that is near the solution; "hard margin" takes
    `nearest_points`, and "hard tube" an `epsilon_svr` without bounds.
    """

    rows: np.ndarray
    problem: Quadratic
    method: str = "solve"


@record
class Solution:
    """The a of every variable, F = K Σa for every row, and how it ended.

    `thresholds`: for every group the value −f takes on its free variables (b of the machine).
    """

    a: np.ndarray
    image: np.ndarray
    objective: float
    thresholds: np.ndarray
    gap: float
    n_iter: int
    converged: bool
    rows_computed: int


class _Flat:
    """A sequence in flat arrays: item p has the entries starts[p] : starts[p + 1] of each."""

    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def _part(self, p: int) -> slice:
        if not -len(self) <= p < len(self):
            raise IndexError(p)
        p %= len(self)
        return slice(int(self.starts[p]), int(self.starts[p + 1]))


@record
class Tasks(_Flat, Sequence[Task]):
    """Several problems over rows of one Gram: of 325 pairs of classes none costs anything alone."""

    starts: np.ndarray
    rows: np.ndarray
    problem: Quadratic
    method: str = "solve"

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Tasks:
        """Tasks of one method and as many sides, joined."""
        if isinstance(tasks, Tasks):
            return tasks
        if len(tasks) == 1:
            one = tasks[0]
            return cls(np.array([0, one.problem.n]), one.rows, one.problem, one.method)
        problems = [task.problem for task in tasks]
        starts = np.cumsum([0, *(problem.n for problem in problems)])

        def joined(name: str) -> Any:
            parts = [getattr(problem, name) for problem in problems]
            if all(part is None for part in parts):
                return None
            return np.concatenate(
                [
                    np.zeros(q.linear.shape, np.int8) if part is None else part
                    for part, q in zip(parts, problems, strict=True)
                ],
                axis=1,
            )

        whole = Quadratic(**{f.name: joined(f.name) for f in fields(Quadratic)})
        rows = np.concatenate([task.rows for task in tasks])
        return cls(starts, rows, whole, tasks[0].method)

    @property
    def most(self) -> int:
        """Rows of the largest problem."""
        return int(np.diff(self.starts).max())

    def __getitem__(self, p: Any) -> Any:
        part = self._part(p)
        arrays = {f.name: getattr(self.problem, f.name) for f in fields(Quadratic)}
        cut: Any = {name: None if v is None else v[:, part] for name, v in arrays.items()}
        return Task(self.rows[part], Quadratic(**cut), self.method)


@record
class Solutions(_Flat, Sequence[Solution]):
    """`Solution`s of several problems; the numbers of a problem are entries of an array each."""

    starts: np.ndarray
    a: np.ndarray
    image: np.ndarray
    objective: np.ndarray
    thresholds: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    rows_computed: np.ndarray

    @classmethod
    def of(cls, found: Sequence[Solution]) -> Solutions:
        if isinstance(found, Solutions):
            return found
        names = [f.name for f in fields(Solution)]
        values = {name: [getattr(one, name) for one in found] for name in names}
        starts = np.cumsum([0, *map(len, values["image"])])
        a, image = np.concatenate(values.pop("a"), axis=1), np.concatenate(values.pop("image"))
        return cls(starts, a, image, **{name: np.array(v) for name, v in values.items()})

    def __getitem__(self, p: Any) -> Any:
        part = self._part(p)
        return Solution(
            self.a[:, part], self.image[part], float(self.objective[p]), self.thresholds[p],
            float(self.gap[p]), int(self.n_iter[p]), bool(self.converged[p]),
            int(self.rows_computed[p]),
        )  # fmt: skip


def fill_up(lower: np.ndarray, upper: np.ndarray, total: float) -> np.ndarray:
    """Variables that sum to `total`, the first ones at their bounds; one bound of each is 0."""
    room = np.abs(upper if total >= 0 else lower)
    full = np.concatenate([[0.0], np.cumsum(room)])
    with np.errstate(invalid="ignore"):
        level = np.clip(abs(total) - full[:-1], 0.0, room)
    return np.where(full[:-1] >= abs(total), 0.0, level) * (1.0 if total >= 0 else -1.0)


def start_from(a: np.ndarray, old: Quadratic, new: Quadratic) -> np.ndarray:
    """The solution of one problem as a start for the next: other bounds, the same Σ a = 0.

    Variables at a bound move to the new bound, the others stay. Then those of the sign whose sum
    is larger shrink until the sums agree.
    """
    a = np.where((old.upper > 0) & (a >= old.upper), new.upper, a)
    a = np.where((old.lower < 0) & (a <= old.lower), new.lower, a)
    a = np.clip(a, new.lower, new.upper)
    surplus = float(a.sum())
    heavy = a * surplus > 0
    free = heavy & (a > new.lower) & (a < new.upper)
    for part in (free, heavy):
        weight = abs(float(a[part].sum()))
        if weight >= abs(surplus) > 0:
            a[part] *= 1 - abs(surplus) / weight
            break
    return a


def c_svc(signs: np.ndarray, bounds: np.ndarray) -> Quadratic:
    """min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢf(xᵢ)):  c = −y,  a between 0 and yC,  Σ a = 0."""
    lower, upper = np.where(signs > 0, 0.0, -bounds), np.where(signs > 0, bounds, 0.0)
    return Quadratic(-signs.astype(np.float64)[None], lower[None], upper[None])


def epsilon_svr(y: np.ndarray, bounds: np.ndarray, epsilon: float) -> Quadratic:
    """min ½‖w‖² + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε):  c = ±ε − y on the two sides,  Σ a = 0."""
    zero = np.zeros(len(y))
    linear = np.stack([epsilon - y, -epsilon - y])
    return Quadratic(linear, np.stack([zero, -bounds]), np.stack([bounds, zero]))


def pinball(y: np.ndarray, bounds: np.ndarray, level: float) -> Quadratic:
    """min ½‖w‖² + Σ Cᵢ ρ_τ(yᵢ − f(xᵢ)):  c = −y,  a between (τ − 1)C and τC,  Σ a = 0.

    The start is that of a constant f: the smallest targets are at their lower bound, and as many
    weights as τ says; all others at the upper one.
    """
    order = np.argsort(y, kind="stable")
    sorted_bounds = bounds[order]
    before = np.cumsum(sorted_bounds) - sorted_bounds
    start = np.empty(len(y))
    below = np.clip(level * bounds.sum() - before, 0.0, sorted_bounds)
    start[order] = level * sorted_bounds - below
    lower, upper = (level - 1.0) * bounds, level * bounds
    return Quadratic(-y[None], lower[None], upper[None], np.clip(start, lower, upper)[None])


def nu_svc(signs: np.ndarray, weights: np.ndarray, nu: float) -> Quadratic:
    """Each class carries Σ|a| = ν Σw/2 with |aᵢ| ≤ wᵢ; the answer is scaled to margin 1 later."""
    share = nu * float(weights.sum()) / 2
    lightest = min(weights[signs > 0].sum(), weights[signs < 0].sum())
    if lightest < share * (1 - 1e-12):
        raise ValueError(
            f"specified nu is infeasible: with nu={nu} each of two classes must carry half of nu "
            f"times their total weight; for these two nu can be {2 * lightest / weights.sum():.6g} "
            "at most"
        )
    lower, upper = np.where(signs > 0, 0.0, -weights), np.where(signs > 0, weights, 0.0)
    start = np.zeros(len(signs))
    for sign in (1, -1):
        rows = signs == sign
        start[rows] = fill_up(lower[rows], upper[rows], sign * share)
    groups = np.where(signs > 0, 0, 1).astype(np.int8)
    zero = np.zeros((1, len(signs)))
    return Quadratic(zero, lower[None], upper[None], start[None], groups[None])


def nu_svr(y: np.ndarray, bounds: np.ndarray, nu: float) -> Quadratic:
    """ε becomes a variable: each side carries Σ|a| = ν ΣC/2,  c = −y."""
    zero = np.zeros(len(y))
    start = fill_up(zero, bounds, nu * float(bounds.sum()) / 2)
    groups = np.repeat(np.array([[0], [1]], dtype=np.int8), len(y), axis=1)
    lower, upper = np.stack([zero, -bounds]), np.stack([bounds, zero])
    return Quadratic(np.stack([-y, -y]), lower, upper, np.stack([start, -start]), groups)


def one_class(weights: np.ndarray, nu: float) -> Quadratic:
    """The smallest half-space of φ that holds all but a share ν:  c = 0,  0 ≤ a ≤ w,  Σ a = νΣw."""
    zero = np.zeros(len(weights))
    start = fill_up(zero, weights, nu * float(weights.sum()))
    return Quadratic(zero[None], zero[None], weights[None].astype(np.float64), start[None])


def nearest_points(signs: np.ndarray) -> Quadratic:
    """The nearest points of the two convex hulls: Σ a = 1 and −1 on the classes, no upper bound.

    Its answer, scaled to margin 1, is the hard margin; distance 0 proves that there is none.
    """
    start = np.zeros(len(signs))
    start[np.argmax(signs > 0)], start[np.argmax(signs < 0)] = 1.0, -1.0
    lower, upper = np.where(signs > 0, 0.0, -np.inf), np.where(signs > 0, np.inf, 0.0)
    groups = np.where(signs > 0, 0, 1).astype(np.int8)
    zero = np.zeros((1, len(signs)))
    return Quadratic(zero, lower[None], upper[None], start[None], groups[None])


# --- as loops read them -----------------------------------------------------------------------

#: Columns of the table of variables: linear terms on both sides of 0, bounds, value and F = K a.
PLUS, MINUS, LOWER, UPPER, A, IMAGE = range(6)
#: What stands for a curvature that is not positive (LIBSVM's value).
TAU: Final = 1e-12
#: What a call of the compiled loop finds in its memory: nothing, the rows of the same problem, or
#: kept rows of K alone, because rows have left.
FRESH, SAME, FEWER = range(3)
#: The rounding of f, as a share of the tolerance, up to which float32 is enough. It is estimated as
#: ε ‖a‖ max k, which was at least 1.5 times the largest error of Gaussians and polynomials.
SINGLE_SHARE = 0.5


def masks(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part of −f beside −F where a variable may grow, and of f where it may shrink; or −∞."""
    a, plus, minus = flat[:, A], flat[:, PLUS], flat[:, MINUS]
    up = np.where(a < 0, -minus, np.where(a < flat[:, UPPER], -plus, -np.inf))
    low = np.where(a > 0, plus, np.where(a > flat[:, LOWER], minus, -np.inf))
    return up, low


class Problems:
    """The problems as flat arrays, one after the other, with their present values."""

    def __init__(self, tasks: Sequence[Task], tol: float, max_iter: int) -> None:
        self.tol: float = tol
        self.max_iter: int = max_iter
        flat = Tasks.of(tasks)
        self.starts: np.ndarray = flat.starts
        self.rows: np.ndarray = flat.rows.astype(np.int64, copy=False)
        self.sizes: np.ndarray = self.starts[1:] - self.starts[:-1]
        self.sides: int = len(flat.problem.linear)
        problem = flat.problem
        # A variable with two sides is one with a kink at 0.
        self.variables: np.ndarray = np.zeros((len(self.rows), 6))
        self.variables[:, PLUS], self.variables[:, MINUS] = problem.linear[0], problem.linear[-1]
        self.variables[:, LOWER], self.variables[:, UPPER] = problem.lower[-1], problem.upper[0]
        self.started: bool = problem.start is not None
        if problem.start is not None:
            self.variables[:, A] = problem.start.sum(axis=0)
        self.groups: np.ndarray = np.zeros(len(self.rows), np.int8)
        self.n_groups: int = 1
        if problem.groups is not None:
            self.groups[:] = problem.groups[0]
            self.n_groups = int(self.groups.max()) + 1
        self.computed: np.ndarray = np.zeros(len(flat))
        limits = np.maximum(SVM_STEPS, SVM_STEPS_PER_ROW * self.sizes)
        self.limits: np.ndarray = np.minimum(limits, max_iter) if max_iter >= 0 else limits
        self.taken: np.ndarray = np.zeros(len(flat), dtype=np.int64)

    def measure(self) -> None:
        """Compute the `objective`, the `gap` and the `thresholds` of every problem.

        The threshold of a group is the mean of −f over its variables that may grow and shrink, else
        the middle of what the variables at their bounds leave.
        """
        begins, flat = self.starts[:-1], self.variables
        a, F, (up, low) = flat[:, A], flat[:, IMAGE], masks(flat)
        linear = np.where(a > 0, flat[:, PLUS], flat[:, MINUS])
        self.objective: np.ndarray = np.add.reduceat(a * (0.5 * F + linear), begins)
        self.gap: np.ndarray = np.full(len(begins), -np.inf)
        self.thresholds: np.ndarray = np.empty((len(begins), self.n_groups))
        for g in range(self.n_groups):
            grows, shrinks = up - F, -low - F
            if self.n_groups > 1:
                grows[self.groups != g], shrinks[self.groups != g] = -np.inf, np.inf
            free = grows == shrinks  # not at a bound, and not at the kink
            top, bottom = np.maximum.reduceat(grows, begins), np.minimum.reduceat(shrinks, begins)
            self.gap = np.maximum(self.gap, top - bottom)
            total = np.add.reduceat(np.where(free, grows, 0.0), begins)
            count = np.add.reduceat(free.astype(float), begins)
            top = np.where(np.isfinite(top), top, bottom)
            bottom = np.where(np.isfinite(bottom), bottom, top)
            middle = np.where(np.isfinite(top), (top + bottom) / 2, 0.0)
            self.thresholds[:, g] = np.where(count > 0, total / np.maximum(count, 1), middle)

    def rounded(self, rounding: float, diagonal: np.ndarray) -> np.ndarray:
        """Problems whose f may be wrong, by the rounding of K, by a share of the tolerance."""
        a = self.variables[:, A]
        length = np.sqrt(np.add.reduceat(a * a, self.starts[:-1]))
        error = rounding * float(np.abs(diagonal).max()) * length
        return np.flatnonzero(error > SINGLE_SHARE * self.tol)

    def alone(self, p: int) -> Problems:
        """Problem `p` by itself, in the same memory."""
        one, part = copy(self), slice(int(self.starts[p]), int(self.starts[p + 1]))
        one.starts, one.sizes = self.starts[p : p + 2] - part.start, self.sizes[p : p + 1]
        for name in ("rows", "variables", "groups"):
            setattr(one, name, getattr(self, name)[part])
        for name in ("computed", "limits", "taken"):
            setattr(one, name, getattr(self, name)[p : p + 1])
        return one

    def late(self) -> np.ndarray:
        """Problems that took all steps before Newton's help, and may take more."""
        late = self.taken >= self.limits
        return np.flatnonzero(late & ((self.max_iter < 0) | (self.taken < self.max_iter)))

    def solutions(self) -> Solutions:
        a = self.variables[:, A]
        both = [a] if self.sides == 1 else [np.maximum(a, 0.0), np.minimum(a, 0.0)]
        return Solutions(
            self.starts,
            np.stack(both),
            self.variables[:, IMAGE].copy(),
            self.objective,
            self.thresholds,
            self.gap,
            self.taken,
            self.gap <= self.tol,
            self.computed,
        )
