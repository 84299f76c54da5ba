"""By which statistic neighbors in feature space are ranked, and how far away it says they are.

‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z), so z is nearer where 2k(x, z) − k(z, z) is larger.
Where k(z, z) is one number that is k itself, and where k is a monotone function of a distance it is
that distance, which tells far points apart that k rounds to 0 alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.formula.evaluate import evaluate
from mercer.formula.nodes import Formula, sqdist, statistics
from mercer.formula.profile import ordering


@dataclass(frozen=True)
class Ranking:
    """z is nearer to x where scale · statistic(x, z) + offset(z) is larger.

    `kernel` is k itself; `diagonal` is k(z, z), None where it is not known (columns of a given
    matrix); `offset` is −k(z, z), None where that is one number.
    """

    kernel: Formula
    statistic: Formula
    scale: float
    diagonal: np.ndarray | None
    offset: np.ndarray | None = None

    @property
    def kernel_is_linear(self) -> bool:
        """Whether k is x·z (times a number, plus a number): then d² is ‖x − z‖² itself."""
        return linear_part(self.kernel)[0] is not None and self.by_distance

    @property
    def by_profile(self) -> bool:
        """Whether distances in feature space follow from the statistic alone."""
        return only(self.kernel, self.statistic) or self.kernel_is_linear

    @property
    def by_distance(self) -> bool:
        """Whether points are ranked by ‖x − z‖² (of rows that may be mapped first)."""
        return self.statistic.op == "sqdist"


def rank_by(kernel: Formula, diagonal: np.ndarray | None) -> Ranking:
    """How neighbors are ranked among points whose k(z, z) is `diagonal`; `kernel` is simple."""
    linear, slope = linear_part(kernel)
    if linear is not None and slope > 0:
        # ‖x − z‖² itself: 2x·z − ‖z‖² would cancel far from the origin.
        return Ranking(kernel, sqdist(linear.value), -1.0, diagonal)
    if diagonal is None or np.ptp(diagonal) <= 1e-14 * np.abs(diagonal).max():
        statistic, sign = ordering(kernel)
        return Ranking(kernel, statistic, sign, diagonal)
    return Ranking(kernel, kernel, 2.0, diagonal, -diagonal)


def linear_part(kernel: Formula) -> tuple[Formula | None, float]:
    """The dot product that k is a multiple of, plus a number, and the factor."""
    if kernel.op == "add":
        rest = [a for a in kernel.args if a.op != "const"]
        return linear_part(rest[0]) if len(rest) == 1 else (None, 0.0)
    if kernel.op == "mul" and len(kernel.args) == 2 and kernel.args[0].op == "const":
        inner, slope = linear_part(kernel.args[1])
        return inner, slope * float(kernel.args[0].value)
    return (kernel, 1.0) if kernel.op == "dot" else (None, 0.0)


def profile_distance(rank: Ranking, statistic: np.ndarray) -> np.ndarray:
    """The feature-space distance where k is a function of the statistic."""
    if rank.kernel_is_linear:
        slope = linear_part(rank.kernel)[1]
        return np.sqrt(slope * np.maximum(statistic, 0.0))
    factor, exponent = _exponential(rank.kernel)
    if exponent is not None:
        u = evaluated(exponent, rank.statistic, statistic) * np.log(2.0)
        return np.sqrt(np.maximum(-2.0 * factor * np.expm1(u), 0.0))
    assert rank.diagonal is not None
    gap = rank.diagonal[0] - profile_value(rank, statistic)
    return np.sqrt(np.maximum(2.0 * gap, 0.0))


def profile_value(rank: Ranking, statistic: np.ndarray) -> np.ndarray:
    """k where it is a function of the statistic (for x·z, which is not, NaN)."""
    if rank.kernel_is_linear:
        return np.full(statistic.shape, np.nan)
    return evaluated(rank.kernel, rank.statistic, statistic)


def _exponential(kernel: Formula) -> tuple[float, Formula | None]:
    """c and u where k = c · 2ᵘ."""
    if kernel.op == "mul" and len(kernel.args) == 2 and kernel.args[0].op == "const":
        return float(kernel.args[0].value), _exponential(kernel.args[1])[1]
    return 1.0, kernel.args[0] if kernel.op == "exp2" else None


def only(formula: Formula, statistic: Formula) -> bool:
    """Whether the statistic is all that the formula depends on."""
    return formula is statistic or statistics(formula) == [statistic]


def evaluated(formula: Formula, statistic: Formula, values: np.ndarray) -> np.ndarray:
    """A formula of one statistic, at these values of it."""
    if formula is statistic:
        return values
    with np.errstate(divide="ignore"):
        result = evaluate(formula, {statistic: values})
    return np.asarray(np.broadcast_to(result, values.shape), dtype=float)


def statistic_at(rank: Ranking, radius: float) -> float:
    """The largest statistic whose feature-space distance is within the radius."""
    low, high = 0.0, 1.0
    while high < 1e300 and profile_distance(rank, np.array([high]))[0] <= radius:
        high *= 4.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if profile_distance(rank, np.array([middle]))[0] <= radius:
            low = middle
        else:
            high = middle
    return low
