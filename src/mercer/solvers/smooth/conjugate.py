"""One step of Newton's method, H d = −gradient, by conjugate gradients.

All that is asked of the curvature H is its product with a direction; where examples are at hand and
where sums over pieces of them come from elsewhere, the steps are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer._lazy import record
from mercer.tuning import LOOSEST_STEP


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
