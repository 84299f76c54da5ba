"""Sums of Gaussians on the line, from a few of them: f(x) = Σⱼ vⱼ e^(−(x−zⱼ)²/2σ²) is smooth.

On a stretch of length 2σ such a sum is a polynomial to working precision. So f is computed at the
Chebyshev points of each stretch that holds queries, and interpolated from there: the work is
(stretches · points) · N instead of queries · N. The same holds for the moments
Σⱼ (zⱼ − x)ᵖ vⱼ e^(−(x−zⱼ)²/2σ²) of a local polynomial.

The error is about 1e-14 of the largest value on the stretch. Where f is far smaller than that, or
too steep for the polynomial (the edge of a cloud of points), the caller computes it again, exactly:
those queries are reported.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from mercer._lazy import record
from mercer.formula import Formula, simplify
from mercer.formula.nodes import Input
from mercer.formula.simplify import LOG2E
from mercer.gram import PROMISED

#: Chebyshev points per stretch, and the length of a stretch in units of σ. For a Gaussian anywhere
#: the error is 4e-12 of the largest value with 16 points and rounding with 20; moments need more.
CHEBYSHEV_POINTS, INTERVAL = 24, 2.0
#: Sums below this share of the largest on their stretch, which rounds them, are made again: those
#: above keep at least 12 digits.
DOUBTFUL = 1e-2
#: Queries per Chebyshev point from which on interpolation saves work.
QUERIES_PER_POINT = 2.0


@record
class Line:
    """A Gaussian of one coordinate: the rows it is taken over, and its σ there."""

    rows: Input
    sigma: float


@lru_cache(maxsize=256)
def gaussian_of(formula: Formula) -> Line | None:
    """The Gaussian that a formula is, if it is one (of any number of columns)."""
    formula = simplify(formula)
    if formula.op != "exp2" or formula.args[0].op != "mul" or len(formula.args[0].args) != 2:
        return None
    rate, distance = formula.args[0].args
    if rate.op != "const" or distance.op != "sqdist" or rate.value >= 0:
        return None
    return Line(distance.value, float(np.sqrt(-0.5 * LOG2E / rate.value)))


@record
class Stretches:
    """The stretches that hold queries: their Chebyshev points one after the other, which stretch
    each query is on, and its position there (−1 to 1)."""

    nodes: np.ndarray
    stretch: np.ndarray
    position: np.ndarray

    @classmethod
    def over(cls, x: np.ndarray, sigma: float) -> Stretches | None:
        """For queries x, or None where there are too few of them to save anything."""
        length = INTERVAL * sigma
        start = float(x.min())
        spread = (float(x.max()) - start) / length
        if spread > 1e9:  # a stretch number would not be exact
            return None
        number = np.floor((x - start) / length).astype(np.int64)
        used, stretch = np.unique(number, return_inverse=True)
        if len(x) < QUERIES_PER_POINT * CHEBYSHEV_POINTS * len(used):
            return None
        center = start + (used + 0.5) * length
        nodes = center[:, None] + 0.5 * length * chebpts1(CHEBYSHEV_POINTS)[None, :]
        return cls(nodes.ravel(), stretch, (x - center[stretch]) / (0.5 * length))

    def interpolate(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values at the nodes (nodes × sums) to the queries; and which queries are doubtful.

        The first of the sums is a sum of weights; it decides what is doubtful.
        """
        at = values.reshape(-1, CHEBYSHEV_POINTS, values.shape[1])
        series = np.einsum("kp,spv->svk", _coefficients(), at)
        terms = chebvander(self.position, CHEBYSHEV_POINTS - 1)
        result = np.empty((len(self.position), values.shape[1]))
        order = np.argsort(self.stretch, kind="stable")
        ends = np.cumsum(np.bincount(self.stretch))[:-1]
        for own, rows in zip(series, np.split(order, ends), strict=True):
            result[rows] = terms[rows] @ own.T
        # Rounding is relative to the largest value, truncation of the order of the last terms.
        error = np.maximum(
            DOUBTFUL * at[:, :, 0].max(axis=1), np.abs(series[:, 0, -3:]).max(axis=1) / PROMISED[8]
        )
        return result, ~(result[:, 0] > error[self.stretch])


def _coefficients() -> np.ndarray:
    """From values at the Chebyshev points to coefficients: a discrete cosine transform."""
    transform = chebvander(chebpts1(CHEBYSHEV_POINTS), CHEBYSHEV_POINTS - 1).T
    transform[1:] *= 2.0
    return np.asarray(transform / CHEBYSHEV_POINTS)
