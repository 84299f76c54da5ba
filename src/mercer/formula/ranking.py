"""How a kernel ranks neighbors, and what the statistic it ranks by says of k and of distances.

‖φ(x) − φ(z)‖² = k(x, x) − 2k(x, z) + k(z, z), so z is nearer where 2k(x, z) − k(z, z) is larger.
Where k(z, z) is one number that is k itself, and where k is a monotone function of a distance (a
Gaussian, a Matérn, a compact kernel) it is that distance: e^(−800) and e^(−900) are both 0 in a
computer, 800 and 900 are not, and √(2 − 2k) has lost half its digits long before.
"""

from __future__ import annotations

import numpy as np

from mercer._lazy import record
from mercer.formula.evaluate import evaluate
from mercer.formula.nodes import Formula, sqdist, statistics
from mercer.formula.profile import DISTANCES, log2_of, ordering
from mercer.formula.simplify import simplify

#: Neighbors found beyond those asked for where a matrix product, which cancels, finds them: exact
#: distances then put all of them in order. A choice; more of them make second searches rarer.
SPARE = 8


@record
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
        return linear_part(self.kernel)[0] is not None and self.statistic.op == "sqdist"

    @property
    def by_distance(self) -> bool:
        """Whether the nearest are those of least ‖x − z‖² (of rows that may be mapped first).

        k = ‖x − z‖² itself ranks the other way round.
        """
        return self.statistic.op == "sqdist" and self.scale < 0

    @property
    def kernel_by_statistic(self) -> bool:
        """Whether k is a function of the statistic alone."""
        return depends_only_on(self.kernel, self.statistic)

    @property
    def distance_by_statistic(self) -> bool:
        """Whether ‖φ(x) − φ(z)‖ is a function of the statistic, which is a distance, alone."""
        decides = self.kernel_by_statistic or self.kernel_is_linear
        return self.offset is None and self.statistic.op in DISTANCES and decides

    @property
    def log2(self) -> Formula | None:
        """log₂ k, where it is known and a function of the statistic alone."""
        log2 = log2_of(self.kernel)
        return log2 if log2 is not None and depends_only_on(log2, self.statistic) else None

    def evaluate(self, formula: Formula, statistic: np.ndarray) -> np.ndarray:
        """A function of the statistic, at some of its values."""
        if formula is self.statistic:
            return statistic
        with np.errstate(divide="ignore"):
            result = evaluate(formula, {self.statistic: statistic})
        return np.asarray(np.broadcast_to(result, statistic.shape), dtype=float)

    def similarity(self, statistic: np.ndarray) -> np.ndarray:
        """k where it is a function of the statistic (for x·z, which is not, NaN)."""
        if self.kernel_is_linear:
            return np.full(statistic.shape, np.nan)
        return self.evaluate(self.kernel, statistic)

    def distance(self, statistic: np.ndarray) -> np.ndarray:
        """‖φ(x) − φ(z)‖ where it is a function of the statistic."""
        if self.kernel_is_linear:
            return np.sqrt(linear_part(self.kernel)[1] * np.maximum(statistic, 0.0))
        factor, exponent = _exponential(self.kernel)
        if exponent is not None:
            # 1 − e^(−u) as such, without its cancellation where u is small.
            u = self.evaluate(exponent, statistic) * np.log(2.0)
            return np.sqrt(np.maximum(-2.0 * factor * np.expm1(u), 0.0))
        assert self.diagonal is not None
        return np.sqrt(np.maximum(2.0 * (self.diagonal[0] - self.similarity(statistic)), 0.0))

    def statistic_at(self, radii: np.ndarray) -> np.ndarray:
        """The largest statistic whose feature-space distance is within each radius."""
        low, high = np.zeros(radii.shape), np.ones(radii.shape)
        while (inside := (high < 1e300) & (self.distance(high) <= radii)).any():
            high[inside] *= 4.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not ((low < middle) & (middle < high)).any():  # neighbors in float64
                break
            inside = self.distance(middle) <= radii
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.where(np.isinf(radii), radii, low)


def ranking(kernel: Formula, diagonal: np.ndarray | None) -> Ranking:
    """How neighbors are ranked among examples z, given k(z, z) of each where it is known.

    >>> import numpy as np
    >>> from mercer import Gaussian, Polynomial
    >>> ranking(Gaussian().formula(), np.ones(2)).statistic
    sqdist
    >>> ranking(Polynomial(2).formula(), np.array([0.0, 1.0])).offset
    array([-0., -1.])
    """
    kernel = simplify(kernel)
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


def depends_only_on(formula: Formula, statistic: Formula) -> bool:
    """Whether the statistic is all that the formula depends on."""
    return formula is statistic or statistics(formula) == (statistic,)


def _exponential(kernel: Formula) -> tuple[float, Formula | None]:
    """c and u where k = c · 2ᵘ."""
    if kernel.op == "mul" and len(kernel.args) == 2 and kernel.args[0].op == "const":
        return float(kernel.args[0].value), _exponential(kernel.args[1])[1]
    return 1.0, kernel.args[0] if kernel.op == "exp2" else None
