"""Weighted means and exact leave-one-out: ŷ(x) = Σₙ w(x, xₙ) tₙ / Σₙ w(x, xₙ).

`gather` makes any sums over the training examples for each query, by the way that suits kernel and
data: all tiles, near tiles, or interpolation on the line; rows that would underflow are made again
relative to their largest weight, and rows without any weight are reported. `weighted_means` is the
smoother on top of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from mercer._examples import take
from mercer._lazy import record
from mercer.formula import simplify
from mercer.formula.profile import gaussian_exponent
from mercer.gram import PROMISED, constant_diagonal, engine_for
from mercer.solvers.local.weights import Weights
from mercer.solvers.neighbors.search import nearest, ranking_among

# Sums of Gaussians on the line, from a few of them: f(x) = Σⱼ vⱼ e^(−(x−zⱼ)²/2σ²) is smooth. On a
# stretch of length 2σ such a sum is a polynomial to working precision. So f is computed at the
# Chebyshev points of each stretch that holds queries, and interpolated from there: the work is
# (stretches · points) · N instead of queries · N. The same holds for the moments Σⱼ (zⱼ − x)ᵖ vⱼ
# e^(−(x−zⱼ)²/2σ²) of a local polynomial.
#
# The error is about 1e-14 of the largest value on the stretch. Where f is far smaller than that,
# or too steep for the polynomial (the edge of a cloud of points), the caller computes it again,
# exactly: those queries are reported.


#: Chebyshev points per stretch, and the length of a stretch in units of σ. For a Gaussian anywhere
#: the error is 4e-12 of the largest value with 16 points and rounding with 20; moments need more.
CHEBYSHEV_POINTS, INTERVAL = 24, 2.0
#: Sums below this share of the largest on their stretch, which rounds them, are made again: those
#: above keep at least 12 digits.
DOUBTFUL = 1e-2
#: Queries per Chebyshev point from which on interpolation saves work.
QUERIES_PER_POINT = 2.0


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


#: Sums for each query of some weights, one row per query; the first is the sum of weights.
Reduce = Callable[[Weights], np.ndarray]
#: The share of an interpolated sum that must be left when a query's own weight is taken off: three
#: of its fourteen digits may cancel.
LEFT = 1e-3


def gather(
    weights: Weights, reduce: Reduce, own_terms: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The sums for every query, up to a factor each, and which queries are far from everything."""
    sums, _, far = gather_relative(weights, reduce, own_terms)
    return sums, far


def gather_relative(
    weights: Weights, reduce: Reduce, own_terms: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums, log₂ of the factor that each row of them lacks, and where k is 0 in the computer.

    Where log k is known, the sums of a far query are made relative to its largest weight, which is
    that factor; where it is not, they are 0. `own_terms`: what each query's own example adds to the
    sums, at full weight: with them leave-one-out can be interpolated, too.
    """
    least = np.full(weights.shape[0], weights.smallest)
    line = _on_the_line(weights, reduce, own_terms)
    if line is None:
        sums = reduce(weights)
        least[:] = _least(weights)
    else:
        sums, again = line
        if len(again):
            part = weights.at(again)
            sums[again], least[again] = reduce(part), _least(part)
    far, shift = np.zeros(len(sums), dtype=bool), np.zeros(len(sums))
    low = np.flatnonzero(~(sums[:, 0] > least))
    if len(low):
        careful = weights.careful(low)
        if careful is None:
            far[low] = ~(sums[low, 0] > 0)
        else:
            sums[low] = reduce(careful)
            shift[low] = np.where(np.isfinite(careful.largest), careful.largest, 0.0)
            far[low] = ~(careful.largest > np.log2(weights.smallest))
    return sums, shift, far


def _least(weights: Weights) -> float:
    """Row sums above this have all their digits: none underflowed, none was skipped that shows."""
    missing = 0.0 if weights.near is None else weights.near.missing
    return max(weights.smallest, missing / PROMISED[8])


def _on_the_line(
    weights: Weights, reduce: Reduce, own_terms: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """The sums by interpolation, where k is a Gaussian of one column and queries are many; and
    the queries for which that has too few digits."""
    gaussian = gaussian_exponent(simplify(weights.formula))
    if gaussian is None or gaussian[1].steps or not isinstance(weights.X, np.ndarray):
        return None
    if weights.X.shape[1] != 1 or (weights.own is not None and own_terms is None):
        return None
    stretches = Stretches.over(weights.X[:, 0].astype(np.float64), math.sqrt(0.5 / gaussian[0]))
    if stretches is None:
        return None
    Z = np.asarray(weights.Z, dtype=np.float64)
    nodes = Weights(weights.formula, stretches.nodes[:, None], Z)
    sums, doubtful = stretches.interpolate(reduce(nodes))
    doubtful |= ~(sums[:, 0] > _least(nodes))
    if own_terms is not None and weights.own is not None:
        before = sums[:, 0].copy()
        sums -= own_terms
        doubtful |= ~(sums[:, 0] > LEFT * before)
    return sums, np.flatnonzero(doubtful)


@record
class Means:
    """For each query: the mean, the local variance, Σw² / (Σw)², and whether nothing was near."""

    mean: np.ndarray
    variance: np.ndarray | None
    concentration: np.ndarray | None
    far: np.ndarray


@record
class LocalSums:
    """For each query wᵀV, up to a factor, whether all is far, and Σw² / (Σw)² for bands."""

    sums: np.ndarray
    far: np.ndarray
    concentration: np.ndarray | None


def local_sums(weights: Weights, V: np.ndarray, spread: bool) -> LocalSums:
    """The sums where examples are at hand; the first column of V are their own weights."""
    sums, far = gather(weights, lambda w: w.product(V), own_terms(weights, V))
    return LocalSums(sums, far, concentration_of(weights, V[:, 0]) if spread else None)


def weighted_means(
    weights: Weights,
    targets: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    spread: bool = False,
) -> Means:
    """Σ w t / Σ w for each query and each column of `targets`; with `spread`, what bands need.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> W = Weights(Gaussian().formula(), np.array([[0.5]]), np.array([[0.0], [1.0]]))
    >>> weighted_means(W, np.array([[2.0], [4.0]])).mean
    array([[3.]])
    """
    # Centered, so that a variance does not cancel against the square of a large mean.
    v = unit_weights(sample_weight, len(targets))
    center = v @ targets / v.sum()
    t = targets - center
    columns = [v[:, None], v[:, None] * t]
    if spread:
        columns.append(v[:, None] * t * t)
    V = np.hstack(columns)
    engine = engine_for(weights.formula, weights.X, weights.Z)
    found = engine.solver("local sums", local_sums)(weights, V, spread)
    sums, outputs = found.sums, targets.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums[:, 1 : 1 + outputs] / sums[:, :1]
        variance = sums[:, 1 + outputs :] / sums[:, :1] - mean**2 if spread else None
    if variance is not None:
        np.maximum(variance, 0.0, out=variance)
    concentration = found.concentration
    alone = np.flatnonzero(~(sums[:, 0] > 0))
    if len(alone):
        mean[alone] = t[closest(weights, alone, v)]
        if variance is not None and concentration is not None:
            variance[alone], concentration[alone] = 0.0, 1.0
    return Means(mean + center, variance, concentration, found.far)


def unit_weights(sample_weight: np.ndarray | None, n: int) -> np.ndarray:
    """Sample weights with largest 1; all 1 where there are none."""
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(sample_weight, dtype=np.float64) / np.max(sample_weight)


def own_terms(weights: Weights, V: np.ndarray) -> np.ndarray | None:
    """k(x, x) V of each query's own example; None where k(x, x) is not one number."""
    if weights.own is None:
        return None
    peak = constant_diagonal(weights.formula)
    return None if peak is None else peak * V[weights.own]


def squared(weights: Weights) -> Weights:
    """The weights w²."""
    formula = simplify(weights.formula**2)
    return Weights(formula, weights.X, weights.Z, weights.own)


def concentration_of(weights: Weights, v: np.ndarray) -> np.ndarray:
    """Σ w² / (Σ w)²: 1 / the number of examples that share the weight."""
    squares = squared(weights)
    one, two = weights.product(v[:, None])[:, 0], squares.product(v[:, None] ** 2)[:, 0]
    # Both relative to the largest weight where either has too few digits.
    low = np.flatnonzero(~((one > _least(weights)) & (two > _least(squares))))
    careful, relative = weights.careful(low), squares.careful(low)
    if len(low) and careful is not None and relative is not None:
        one[low] = careful.product(v[:, None])[:, 0]
        two[low] = relative.product(v[:, None] ** 2)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(one > 0, two / one**2, 1.0)


def closest(weights: Weights, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The training example nearest to each of some queries; those of weight 0 do not count."""
    counted = np.flatnonzero(v > 0)
    careful = weights.careful(rows) if len(counted) == len(v) else None
    if careful is not None and careful.best[1].min() >= 0:
        return careful.best[1]
    Z = weights.Z if len(counted) == len(v) else take(weights.Z, counted)
    own = None
    if weights.own is not None:
        index = np.full(len(v), -1)
        index[counted] = np.arange(len(counted))
        own = index[weights.own[rows]] if len(counted) > 1 else None
    found = nearest(ranking_among(weights.formula, Z), take(weights.X, rows), Z, 1, own)
    return counted[found.index[:, 0]]
