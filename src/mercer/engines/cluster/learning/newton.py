"""Newton's method for a smooth loss of rows in chunks: a pass over them gives what a step needs.

A task evaluates f at its rows from the coefficients, and gives the loss, its gradient ΦᵀG, and for
one score per example the curvature ΦᵀDΦ, so that the step is solved for here, exactly. With several
scores, or where M² is too much, conjugate gradients ask for products with the curvature, a pass
each. No number per row travels, and none is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mercer._linalg import dot
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.sums import ChunkPanels, MakePanels, Terms, from_triangle, triangle_of
from mercer.solvers.linear.nystrom import by_products
from mercer.solvers.smooth.losses import Binary, Multinomial, SmoothLoss
from mercer.solvers.smooth.newton import Curvature, Direction, Point, Step, centered, conjugate_step
from mercer.solvers.smooth.spaces import CenterSpan
from mercer.tuning import CHUNK_ROWS

#: Steps of half, a quarter, … of Newton's that are tried, all in one pass.
HALVINGS = 0.5 ** np.arange(1, 40)


def loss_of(n_classes: int, codes: Any, weights: Any = None) -> SmoothLoss:
    """The log-loss of examples, of two classes or more."""
    if n_classes == 2:
        return Binary(codes, weights)
    return Multinomial(np.asarray(codes), n_classes, weights)


def class_sums(n_classes: int, codes: Any, weights: Any = None) -> np.ndarray:
    """The weight of every class in one chunk."""
    return np.bincount(np.asarray(codes), weights, n_classes).astype(np.float64)


def indicators(n_classes: int, codes: Any) -> np.ndarray:
    return loss_of(n_classes, codes).y


@dataclass(frozen=True, eq=False)
class PieceLoss:
    """The log-loss of labels in chunks: `codes` from 0 on, and one weight per example or None."""

    codes: Chunks
    n_classes: int
    weights: np.ndarray | None = None

    @property
    def columns(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def y(self) -> Chunks:
        """The targets: 0 and 1, one column per score."""
        return self.codes.mapped(partial(indicators, self.n_classes), (self.columns,), np.float64)

    @cached_property
    def classes(self) -> SmoothLoss:
        """The loss of one example per class, which has the weight of its class."""
        weights = None if self.weights is None else self.codes.aligned(self.weights).pieces
        sums = self.codes.summed(partial(class_sums, self.n_classes), weights)
        return loss_of(self.n_classes, np.arange(self.n_classes), sums)

    steepest = property(lambda self: self.classes.steepest)
    shift_invariant = property(lambda self: self.classes.shift_invariant)
    xp = property(lambda self: self.classes.xp)

    def start(self) -> Any:
        return self.classes.start()

    def moved(self, asarray: Any) -> PieceLoss:
        return self


# --- in a task -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewtonSums(Terms):
    """Σ wℓ, its slope ΦᵀG and Σ G in the intercept; the curvature as `triangle` of ΦᵀDΦ and its
    `border` ΦᵀD1; and the sum of D's diagonal."""

    value: float
    slope: np.ndarray
    slope_b: np.ndarray
    curvature: np.ndarray
    triangle: np.ndarray | None = None
    border: np.ndarray | None = None


def newton_sums(
    make: MakePanels,
    n_classes: int,
    at: tuple[Any, Any],
    matrix: bool,
    X: Any,
    y: Any,
    w: Any = None,
) -> NewtonSums:
    """The sums of one chunk for scores ΦB + b, (B, b) = `at`."""
    panels, loss = make(X), loss_of(n_classes, y, w)
    panels.keep()
    scores = panels.product(at[0]) + at[1]
    mean = loss.link(scores)
    g, D = loss.gradient(mean), loss.diagonal(mean)
    slope = panels.transposed_product(g)
    sums = NewtonSums(loss.value(scores), slope, g.sum(axis=0), D.sum(axis=0))
    if not matrix:
        return sums
    curved = panels.normal(np.zeros((len(g), 0)), D[:, 0])
    return replace(sums, triangle=triangle_of(curved.H), border=curved.sums)


@dataclass(frozen=True)
class CurvatureImage(Terms):
    """The curvature times a direction, in the coefficients and in the intercept."""

    coef: np.ndarray
    intercept: np.ndarray


def curvature_image(
    make: MakePanels, n_classes: int, at: Any, direction: Any, X: Any, y: Any, w: Any = None
) -> CurvatureImage:
    """The term of one chunk, at scores ΦB + b."""
    panels, loss = make(X), loss_of(n_classes, y, w)
    panels.keep()
    both = panels.product(np.hstack([at[0], direction[0]]))
    columns = at[0].shape[1]
    mean = loss.link(both[:, :columns] + at[1])
    curved = loss.curvature(mean, both[:, columns:] + direction[1])
    return CurvatureImage(panels.transposed_product(curved), curved.sum(axis=0))


def values_along(
    make: MakePanels, n_classes: int, at: Any, direction: Any, X: Any, y: Any, w: Any = None
) -> np.ndarray:
    """The loss of one chunk after each of `HALVINGS` of a step."""
    loss = loss_of(n_classes, y, w)
    both = make(X).product(np.hstack([at[0], direction[0]]))
    columns = at[0].shape[1]
    scores, change = both[:, :columns] + at[1], both[:, columns:] + direction[1]
    return np.array([loss.value(scores + length * change) for length in HALVINGS])


# --- at the client ---------------------------------------------------------------------------


class SumsNewton:
    """`mercer.solvers.smooth.newton.Newton` for rows in chunks and centers that are here."""

    def __init__(self, space: CenterSpan, loss: PieceLoss, alpha: float, intercept: bool) -> None:
        assert isinstance(space.panels, ChunkPanels)
        self.space, self.panels, self.loss = space, space.panels, loss
        self.alpha, self.intercept, self.n_products = alpha, intercept, 0
        self.direct: bool = loss.columns == 1 and not by_products(*self.panels.shape)

    def _total(self, function: Any, *args: Any, what: str, least: int = 1) -> Any:
        self.n_products += 1
        terms = partial(function, self.panels.make, self.loss.n_classes, *args)
        return self.panels.total(terms, [self.loss.codes, self.loss.weights], what, least)

    def _place(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Coefficients of the centers, as tasks take them."""
        return self.space.basis @ coef, intercept

    def _at(self, coef: Any, intercept: Any, matrix: bool) -> Point:
        least, at = CHUNK_ROWS if matrix else 1, self._place(coef, intercept)
        sums = self._total(newton_sums, at, matrix, what="Newton's method", least=least)
        return Point(coef, intercept, sums, dot(coef, coef))

    def start(self, start: tuple[Any, Any] | None) -> Point:
        if start is not None:
            return self._at(*start, matrix=False)
        b = self.loss.start() if self.intercept else np.zeros(self.loss.columns)
        return self._at(np.zeros((self.space.size, self.loss.columns)), b, self.direct)

    def objective(self, point: Point) -> float:
        return float(point.values.value + 0.5 * self.alpha * point.penalty)

    def step(self, point: Point, objective: float) -> Step:
        sums = point.values
        r = -(self.space.basis.T @ sums.slope + self.alpha * point.coef)
        rb = (-1.0 if self.intercept else 0.0) * sums.slope_b
        if self.direct:
            return self._solved(sums, r, rb)
        mean = sums.curvature / self.panels.shape[0]
        precondition = self.space.preconditioner_of_mean(mean, self.alpha, self.intercept)
        at = self._place(point.coef, point.intercept)

        def toward(r: Any, rb: Any) -> tuple[Direction, float]:
            z, zb = centered(self.loss, *precondition(r, rb))
            return Direction(z, zb), dot(r, z) + float(rb @ zb)

        def along(q: Direction) -> Curvature:
            direction = self._place(q.coef, q.intercept)
            image = self._total(curvature_image, at, direction, what="product")
            Hq = self.space.basis.T @ image.coef + self.alpha * q.coef
            bend = dot(q.coef, Hq) + float(q.intercept @ image.intercept)
            return Curvature(bend, lambda: (Hq, image.intercept if self.intercept else 0.0))

        nothing = Direction(0.0 * r, 0.0 * rb)
        return conjugate_step(nothing, (r, rb), toward, along, objective)

    def _solved(self, sums: NewtonSums, r: Any, rb: Any) -> Step:
        """The step itself, from the whole matrix."""
        m, basis = self.space.size, self.space.basis
        assert sums.triangle is not None
        assert sums.border is not None
        H = np.zeros((m + 1, m + 1))
        H[:m, :m] = basis.T @ from_triangle(sums.triangle, m) @ basis
        H[np.arange(m), np.arange(m)] += self.alpha
        H[m, m] = sums.curvature[0] * (1 + 1e-10) + 1e-300 if self.intercept else 1.0
        if self.intercept:
            H[m, :m] = H[:m, m] = basis.T @ sums.border
        right = np.append(r[:, 0], rb)
        step = np.linalg.solve(H, right)
        return Step(step[:m, None], step[m:], None, 0.5 * float(right @ step), 0.0)

    def searched(self, point: Point, step: Step, objective: float) -> Point:
        """The full step, or the first of its halves, quarters, … that is low enough."""
        full = self._at(point.coef + step.coef, point.intercept + step.intercept, self.direct)
        if self.objective(full) <= objective - 1e-4 * step.gain:
            return full
        at, along = self._place(point.coef, point.intercept), self._place(step.coef, step.intercept)
        values = self._total(values_along, at, along, what="line search")
        cross, square = dot(point.coef, step.coef), dot(step.coef, step.coef)
        penalties = point.penalty + 2 * HALVINGS * cross + HALVINGS**2 * square
        values = values + 0.5 * self.alpha * penalties
        low = np.flatnonzero(values <= objective - 1e-4 * HALVINGS * step.gain)
        length = HALVINGS[low[0] if len(low) else -1]
        coef, b = point.coef + length * step.coef, point.intercept + length * step.intercept
        return self._at(coef, b, self.direct)
