"""The last word on a counterexample: rounding must never refute a true kernel.

Where k can be enclosed in intervals (a formula, or a function that computes with the numbers it is
given), cᵀKc < 0 is decided on the exact values: what cancels is seen, and the answer is a proof.

Anything else has float64 only, and a violation counts where it is larger than all the noise that
could have made it. The noise is measured: along a line through the points a smooth k has small
fourth differences, while rounding inside of k, however large the numbers were that canceled
there, makes them large. Several steps are tried, and the same points further out, because noise
that comes from adding a large number to the points shows only where they move by more than its last
digit. A function of other things than numbers has nothing to be moved; its values are taken as
correct to 8n roundings.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._examples import count

from .target import OutOfTime, Target, rounding_of

SAFETY = 8.0
#: Steps as a share of the spread of the points; the smallest is a few of their last digits.
STEPS = (2.0**-20, 2.0**-6)
#: The points are looked at where they are and further out.
SCALES = (1.0, 2.0**5, 2.0**10)
SAMPLES = 7  # on a line: three fourth differences, so that chance does not hide the noise


def indefinite(
    target: Target, points: Any, vector: np.ndarray, deadline: float = math.inf
) -> tuple[float, bool] | None:
    """(cᵀKc, exact) if cᵀKc < 0 beyond doubt, else None."""
    try:
        enclosed = target.enclosures(points, deadline)
    except OutOfTime:
        return None
    if enclosed is not None:
        # The terms are intervals, so the weights become ones by themselves.
        value = _form(enclosed, [float(c) for c in vector], sum)[0]
        return (float(value), True) if value.is_negative else None
    entries = target.entries(points)
    if not np.isfinite(entries).all():
        return None
    value, size = _form(entries, [float(c) for c in vector], math.fsum)
    if not value < -8 * count(points) * rounding_of(entries) * size:
        return None
    doubt = _noise(target, points)
    spread = float(np.sum(np.abs(vector) * _lengths(entries)))
    return (float(value), False) if value < -SAFETY * doubt * spread**2 else None


def asymmetric(target: Target, points: Any) -> tuple[float, bool] | None:
    """(k(x, z) − k(z, x), exact) for two points if it is not zero beyond doubt, else None."""
    enclosed = target.enclosures(points)
    if enclosed is not None:
        difference = enclosed[0][1] - enclosed[1][0]
        return (float(difference), True) if difference.excludes_zero() else None
    entries = target.entries(points)
    if not np.isfinite(entries).all():
        return None
    gap = float(entries[0, 1] - entries[1, 0])
    if not abs(gap) > 64 * rounding_of(entries) * float(np.abs(entries).max()):
        return None
    doubt = _noise(target, points) * float(np.prod(_lengths(entries)))
    return (gap, False) if abs(gap) > SAFETY * doubt else None


def recompute(target: Target, points: Any, vector: np.ndarray | None) -> float:
    """cᵀKc (or k(x, z) − k(z, x) if there is no vector), from intervals where k has them."""
    K: Any = target.enclosures(points)
    exact = K is not None
    if not exact:
        K = target.entries(points)
    if vector is None:
        return float(K[0][1] - K[1][0])
    return float(_form(K, [float(c) for c in vector], sum if exact else math.fsum)[0])


def _form(K: Any, c: list[Any], fsum: Any) -> tuple[Any, Any]:
    """Σ cᵢKᵢⱼcⱼ and Σ |cᵢKᵢⱼcⱼ|, summed without further rounding."""
    terms = [c[i] * K[i][j] * c[j] for i in range(len(c)) for j in range(len(c))]
    return fsum(terms), fsum(abs(term) for term in terms)


def _lengths(K: np.ndarray) -> np.ndarray:
    """√|k(x, x)|, or the root of the row's largest entry where that is zero."""
    diagonal = np.abs(np.diagonal(K))
    return np.sqrt(np.where(diagonal > 0, diagonal, np.abs(K).max(axis=1)))


def _noise(target: Target, points: Any) -> float:
    """How rough the entries are, relative to √(k(x,x) k(z,z)), as the points move along a line."""
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        return 0.0
    direction = np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    spread = np.ptp(points, axis=0)
    spread = np.where(spread > 0, spread, np.abs(points).max(axis=0))
    digits = 32 * np.finfo(np.float64).eps * np.abs(points)
    moves = [(1.0, digits), *((scale, step * spread) for scale in SCALES for step in STEPS)]
    try:
        return max(_roughness(target, s * points, s * move * direction) for s, move in moves)
    except Exception:  # the function may refuse the moved points: then nothing is known
        return math.inf


def _roughness(target: Target, points: np.ndarray, move: np.ndarray) -> float:
    line = np.array([target.entries(points + t * move) for t in range(SAMPLES)])
    lengths = _lengths(line[0])
    size = np.outer(lengths, lengths)
    size[size == 0] = 1.0
    # Unit noise has fourth differences of √(1 + 16 + 36 + 16 + 1).
    rough = np.abs(np.diff(line, 4, axis=0)).max(axis=0) / (size * math.sqrt(70.0))
    return float(np.nan_to_num(rough, nan=np.inf).max())
