"""min Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + (α/2)‖f‖² by Newton's method, each step by conjugate gradients.

The problem is convex and smooth; a step needs only products with K. Steps are as exact as they
have to be: roughly far from the optimum, more and more finely near it. Along a step the scores are
known, so that a line search costs no product. All of it runs on arrays and on tensors alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mercer._lazy import record
from mercer._linalg import dot
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer._steps import DescentStep, listener
from mercer.solvers.smooth.losses import SmoothLoss
from mercer.solvers.smooth.spaces import Space
from mercer.tuning import LOOSEST_STEP, ROUGH_GAP

# --- One step of Newton's method, H d = −gradient, by conjugate gradients -------------------------
# All that is asked of the curvature H is its product with a direction; where examples are at hand
# and where sums over pieces of them come from elsewhere, the steps are the same.


@record
class Step:
    """A direction, its values at the examples, what its model gains and what it leaves to gain.

    `negative`: an inner product of something with itself was below zero.
    """

    coef: Any
    intercept: Any
    values: Any
    gain: float
    left: float
    negative: bool = False


@record
class Direction:
    """A change of f as coefficients, of b, and of the scores f(xᵢ) + b (0 where none are kept)."""

    coef: Any
    intercept: Any
    values: Any = 0.0

    def plus(self, length: float, other: Direction) -> Direction:
        return Direction(
            self.coef + length * other.coef,
            self.intercept + length * other.intercept,
            self.values + length * other.values,
        )


@record
class Curvature:
    """qᵀHq of a direction q, and what gives Hq in coefficients and intercept, if it is needed.

    `negative`: the inner product of q with itself is below zero.
    """

    bend: float
    image: Callable[[], tuple[Any, Any]]
    negative: bool = False


def conjugate_step(
    nothing: Direction,
    residual: tuple[Any, Any],
    toward: Callable[[Any, Any], tuple[Direction, float]],
    along: Callable[[Direction], Curvature],
    objective: float,
) -> Step:
    """H d = residual, as finely as the distance from the optimum asks for; `nothing` is zero.

    `toward` gives a residual's direction after preconditioning, and its inner product with the
    residual; `along` gives the curvature along a direction.
    """
    d = q = nothing
    r, rb = residual
    rz = gain = last = 0.0
    turn, negative = 0, False
    for turn in range(1, 201):
        z, new = toward(r, rb)
        q, rz = z.plus(new / rz if turn > 1 else 0.0, q), new
        curvature = along(q)
        negative = curvature.negative
        if negative or not (curvature.bend > 0 and rz > 0):
            break
        length = rz / curvature.bend
        last = 0.5 * length * rz
        gain += last
        d = d.plus(length, q)
        # The gains fall geometrically; the nearer the optimum, the finer the step.
        if turn * last <= min(LOOSEST_STEP, gain / max(objective, 1e-300)) * gain:
            break
        image, of_intercept = curvature.image()
        r, rb = r - length * image, rb - length * of_intercept
    return Step(d.coef, d.intercept, d.values, gain, turn * last, negative)


@dataclass
class Point:
    """f as coefficients, b, and the scores f(xᵢ) + b; `penalty` is ‖f‖²."""

    coef: Any
    intercept: Any
    values: Any
    penalty: float


@record
class SmoothSolution:
    """`objectives` after every step; `coef` in the coordinates of the space, if one was given.

    From `minimize`, `coef` belongs to all examples, or to `centers`, indices or points.
    """

    coef: Any
    intercept: Any
    objective: float
    n_iter: int
    n_products: int
    stopped: str = ""
    objectives: list[float] = field(default_factory=list)
    centers: Any = None
    solver: str = ""
    reason: str = ""


def newton(
    space: Space,
    loss: SmoothLoss,
    alpha: float,
    *,
    intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 100,
    start: tuple[Any, Any] | None = None,
    system: Callable[..., Any] | None = None,
) -> SmoothSolution:
    """Ends where the objective is within `tol`, relative, of its minimum, by Newton's own estimate.

    That is what conjugate gradients left over, and δ²/objective after a step that gained δ.
    `system`: who finds steps, `Newton` if nobody else does.
    """
    solver = (system or Newton)(space, loss, alpha, intercept)
    point = solver.start(start)
    objective = solver.objective(point)
    history, stopped, steps = [objective], "max_iter", 0
    tell = listener()
    with progress("Newton's method", None) as bar, single_threaded_blas():
        try:
            while steps < max_iter:
                step = solver.step(point, objective)
                after = solver.searched(point, step, objective)
                lowered = objective - solver.objective(after)
                if step.negative or lowered > objective:
                    stopped = "indefinite"  # no loss is negative, and no ‖f‖² either
                    break
                left = step.left + 2 * step.gain * min(1.0, step.gain / objective)
                if lowered > 0:
                    point, objective, steps = after, objective - lowered, steps + 1
                    history.append(objective)
                    bar.advance(note=f"objective {objective:.6g}")
                if left <= tol * objective or not lowered > 0:
                    # A step that lowers nothing: the products have no more digits to give.
                    stopped = "" if left <= max(tol, ROUGH_GAP) * objective else "rounding"
                    break
                if tell is not None and steps < max_iter:
                    tell(DescentStep(steps, point.coef, point.intercept, objective))
            # Sums over many steps gather rounding: what is reported is evaluated afresh.
            point = solver.start((point.coef, point.intercept))
            objective = history[-1] = solver.objective(point)
            if tell is not None and steps:
                tell(DescentStep(steps, point.coef, point.intercept, objective))
        except KeyboardInterrupt:
            stopped = "interrupt"
    return SmoothSolution(
        point.coef, point.intercept, objective, steps, solver.n_products, stopped, history
    )


class Newton:
    """Steps for examples that are at hand: the scores of all of them are kept."""

    def __init__(self, space: Space, loss: SmoothLoss, alpha: float, intercept: bool) -> None:
        self.space, self.loss, self.alpha, self.intercept = space, loss, alpha, intercept
        space.weights = loss.weights
        self.n_products, self.longest = 0, 0.0

    def start(self, given: tuple[Any, Any] | None) -> Point:
        shape = (self.space.size, self.loss.columns)
        n = len(self.loss.weights)
        if given is None:
            b = self.space.asarray(self.loss.start())
            b = b if self.intercept else 0.0 * b
            return Point(self.space.zeros(*shape), b, self.space.zeros(n, shape[1]) + b, 0.0)
        coef, b = given
        values = self._evaluate(coef)
        return Point(coef, b, values + b, self.space.inner(coef, coef, values))

    def objective(self, point: Point) -> float:
        penalty = point.penalty
        if penalty < 0:  # a sum over all steps, of whose large numbers rounding may be left
            self.longest = max(self.longest, float(dot(point.coef, point.coef)))
            penalty = 0.0 if -penalty <= self.space.rounding * self.longest else penalty
        return self.loss.value(point.values) + 0.5 * self.alpha * penalty

    def step(self, point: Point, objective: float) -> Step:
        mean = self.loss.link(point.values)
        g = self.loss.gradient(mean)
        r = -(self.space.gradient(g) + self.alpha * point.coef)
        rb = (-1.0 if self.intercept else 0.0) * g.sum(axis=0)
        diagonal = self.loss.diagonal(mean)
        precondition = self.space.preconditioner(diagonal, self.alpha, self.intercept)

        def toward(r: Any, rb: Any) -> tuple[Direction, float]:
            z, zb = centered(self.loss, *precondition(r, rb))
            f = self._evaluate(z)
            return Direction(z, zb, f + zb), self.space.inner(r, z, f) + float(rb @ zb)

        def along(q: Direction) -> Curvature:
            curved = self.loss.curvature(mean, q.values)
            square = self.space.inner(q.coef, q.coef, q.values - q.intercept)

            def image() -> tuple[Any, Any]:
                of_intercept = curved.sum(axis=0) if self.intercept else 0.0
                return self.space.gradient(curved) + self.alpha * q.coef, of_intercept

            negative = square < -self.space.rounding * dot(q.coef, q.coef)
            return Curvature(dot(q.values, curved) + self.alpha * square, image, negative)

        nothing = Direction(0.0 * r, 0.0 * rb, 0.0 * mean)
        return conjugate_step(nothing, (r, rb), toward, along, objective)

    def searched(self, point: Point, step: Step, objective: float) -> Point:
        """The full step, or half of it, or half of that, …"""
        d, f = step.coef, step.values - step.intercept
        cross, square = self.space.inner(point.coef, d, f), self.space.inner(d, d, f)
        length = 1.0
        for _ in range(40):
            penalty = point.penalty + 2 * length * cross + length**2 * square
            scores = point.values + length * step.values
            value = self.loss.value(scores) + 0.5 * self.alpha * penalty
            if value <= objective - 1e-4 * length * step.gain:
                break
            length /= 2
        intercept = point.intercept + length * step.intercept
        return Point(point.coef + length * d, intercept, scores, penalty)

    def _evaluate(self, coef: Any) -> Any:
        self.n_products += 1
        return self.space.evaluate(coef)


def centered(loss: Any, z: Any, zb: Any) -> tuple[Any, Any]:
    """Scores that all columns share change nothing: keep their sum at zero."""
    if not loss.shift_invariant:
        return z, zb
    xp = loss.xp
    return z - xp.mean(z, axis=1, keepdims=True), zb - xp.mean(zb)
