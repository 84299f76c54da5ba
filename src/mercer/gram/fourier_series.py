"""Gaussians of few columns as Fourier series: K = Φ(X) Φ(Z)ᵀ up to rounding, Φ of few columns.

On an interval of length R a Gaussian is, up to ε, the sum of a few waves:

    exp(−γ t²) ≈ Σ_{|k| ≤ m} w_k e^{2πikt/L},  w_k = √(π/γ)/L · exp(−(πk/L)²/γ),

with a period L that is longer than R by √(log(1/ε)/γ) and m ≈ √(γ log(1/ε)) L/π: about twenty
waves for data whose range is a few widths. Over D columns the waves multiply, and since
e^{ik(x−z)} = e^{ikx} e^{−ikz}, a product K V needs one pass over the rows of Z and one over those
of X instead of all pairs. All weights are positive: the series is a kernel itself. The error is
bounded before anything is computed (`error`), so it is taken wherever it costs less (`Price`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer.formula.nodes import Formula, Input
from mercer.formula.profile import gaussian_exponent

#: Columns up to which a series can have fewer terms than there are rows.
SERIES_COLUMNS = 5
#: Vectors that are multiplied at the price of one.
SERIES_VECTORS = 64
#: Units of rounding that are counted for the sum of all waves.
ROUNDINGS = 8


@record
class Series:
    """Waves along each column: k(x, z) ≈ Re Σ_k weights[k] Π_d e^{2πi k_d (x_d − z_d)/L_d}."""

    #: The columns in the order of the axes of `weights`, the one with the most waves last.
    columns: tuple[int, ...]
    center: tuple[float, ...]
    periods: tuple[float, ...]
    #: The highest wave of each column. The first has waves 0 … m, counted twice above 0, because
    #: those of −k are their conjugates; the others have −m … m.
    highest: tuple[int, ...]
    weights: np.ndarray
    #: No value of k is farther off, relative to the largest.
    error: float

    @property
    def terms(self) -> int:
        """Complex multiplications per row of either operand and vector."""
        return int(self.weights.size)


@lru_cache(maxsize=256)
def mixture(formula: Formula) -> tuple[Input, tuple[tuple[float, float], ...]] | None:
    """(c, γ) of k = Σ c exp(−γ‖x − z‖²) with all c > 0 and γ ≥ 0, and what the rows are."""
    rows: set[Input] = set()
    terms = []
    for part in formula.args if formula.op == "add" else (formula,):
        c, gamma = 1.0, 0.0
        for factor in part.args if part.op == "mul" else (part,):
            if factor.op == "const":
                c *= factor.value
            elif (exponent := gaussian_exponent(factor)) is not None:
                gamma += exponent[0]
                rows.add(exponent[1])
            else:
                return None
        terms.append((c, gamma))
    if len(rows) != 1 or min(terms)[0] <= 0:
        return None
    return rows.pop(), tuple(terms)


def series_for(
    parts: Sequence[tuple[float, float]],
    low: np.ndarray,
    high: np.ndarray,
    accuracy: float,
    most: float,
) -> list[Series]:
    """The series of every (c, γ), for rows between `low` and `high`; none if one has too many."""
    series = [series_of(*part, low, high, accuracy, most) for part in parts]
    return [s for s in series if s is not None] if all(series) else []


#: For the rows of an input: the least and the largest number of each column of both operands; None
#: where these are no numbers in a few columns.
Ends = Callable[[Input], tuple[np.ndarray, np.ndarray] | None]


def cheaper_series(
    gram: Any, vectors: int, price: Price, few_pairs: float, ends: Ends, accuracy: float
) -> tuple[Input, list[Series]] | None:
    """The rows and the series of each Gaussian in k, if K V costs less by them; kept in `gram`.

    `few_pairs`: with fewer there is nothing to save.
    """
    few = pairs_of(gram.shape, gram.square, vectors) < few_pairs
    gaussians = None if few else mixture(gram.formula)
    if gaussians is None:
        return None
    rows, parts = gaussians
    if gram.series is None:
        within, most = ends(rows), max(gram.shape) / price.term
        gram.series = [] if within is None else series_for(parts, *within, accuracy, most)
    serves = price.worth_it(gram.series, gram.shape, gram.square, vectors)
    return (rows, gram.series) if serves else None


def in_words(series: Sequence[Series], unit: float) -> str:
    """A sentence on how K V is computed by these series, in numbers whose rounding unit is `unit`.

    The error is relative to the largest k times Σ|v|. Sums of waves had a rounding of up to 4 units
    in 1 to 3 columns, whatever their number, because the weights of the waves add up to k(x, x).
    """
    if not series:
        return ""
    terms, error = sum(s.terms for s in series), max(s.error for s in series) + ROUNDINGS * unit
    return f"Fourier series of {terms} terms, error ≤ {error:.0e}; one pass over the rows, no pairs"


def not_below_zero(image: Any, V: Any) -> Any:
    """K V, where V has no negative entry in a column without the negative ones of rounding."""
    return image * ((image > 0) | (V < 0).any(0))


@record
class Price:
    """The cost of one term, and of one wave of one column, per row; its unit is a pair of rows."""

    term: float
    wave: float

    def worth_it(
        self, series: Sequence[Series], shape: tuple[int, int], square: bool, vectors: int
    ) -> bool:
        """Whether the series cost less than all pairs."""
        cost = sum(self.term * vectors * s.terms + self.wave * sum(s.weights.shape) for s in series)
        return bool(series) and sum(shape) * cost < pairs_of(shape, square, vectors)


def pairs_of(shape: tuple[int, int], square: bool, vectors: int) -> float:
    """The pairs that K V needs: half of them for one vector and a symmetric K."""
    half = 0.5 if square and vectors == 1 else 1.0
    return half * shape[0] * shape[1] * -(-vectors // SERIES_VECTORS)


def series_of(
    c: float, gamma: float, low: np.ndarray, high: np.ndarray, accuracy: float, most: float
) -> Series | None:
    """c exp(−γ‖x − z‖²) for rows between `low` and `high`; None above `most` terms."""
    ranges = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
    periods, highest = np.ones(len(ranges)), np.zeros(len(ranges))
    if gamma > 0:
        # Half of each column's share of the error is for the period, half for the waves left out.
        digits = math.log(8 * len(ranges) / accuracy)
        periods = ranges + math.sqrt(digits / gamma)
        highest = np.ceil(np.sqrt(gamma * digits) * periods / math.pi)
    if not np.isfinite(highest).all() or np.prod(2 * highest + 1) > 2 * most:
        return None
    order = np.argsort(highest, kind="stable")
    weights, error = np.array(c), 0.0
    for axis, d in enumerate(order):
        waves, wrong = _waves(gamma, periods[d], ranges[d], int(highest[d]))
        weights = weights[..., None] * (waves if axis else _folded(waves))
        error += wrong
    center = 0.5 * (np.asarray(low) + high)
    return Series(
        tuple(int(d) for d in order),
        tuple(float(v) for v in center[order]),
        tuple(float(v) for v in periods[order]),
        tuple(int(v) for v in highest[order]),
        weights,
        # The factors are at most 1: the error of their product is the sum of theirs, nearly.
        error * (1 + len(order) * error),
    )


def _folded(waves: np.ndarray) -> np.ndarray:
    """The waves 0 … m, those above 0 counted twice."""
    half = waves[len(waves) // 2 :] * 2
    half[0] /= 2
    return half


def _waves(gamma: float, period: float, reach: float, highest: int) -> tuple[np.ndarray, float]:
    """The weights of the waves −m … m of one column, and how far off their sum is."""
    if gamma == 0:
        return np.ones(1), 0.0
    k, beyond = np.arange(-highest, highest + 1), np.arange(1, 64)
    root = math.sqrt(math.pi / gamma) / period
    missing = 2 * root * np.exp(-((math.pi * (highest + beyond) / period) ** 2) / gamma).sum()
    repeated = 2 * np.exp(-gamma * (period * beyond - reach) ** 2).sum()
    return root * np.exp(-((math.pi * k / period) ** 2) / gamma), float(missing + repeated)
