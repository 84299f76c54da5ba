"""The last word on a counterexample: rounding must never refute a true kernel.

A formula is evaluated in 50 digits at the points, which are exact float64 values. A black box has
float64 only; its negative value has to be larger than all the rounding that could have made it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .target import Target, count

MP_MARGIN = "1e-40"  # of the sum's magnitude: far above 50-digit rounding, far below any float64
PROBES = 4
SAFETY = 8.0
PLAIN = 1e-4  # a violation this large on short numbers is no rounding error


def indefinite(target: Target, points: Any, vector: np.ndarray) -> tuple[float, bool] | None:
    """(cᵀKc, exact) if cᵀKc < 0 beyond doubt, else None."""
    K = target.exact(points)
    if K is not None:
        import mpmath

        with mpmath.workdps(50):
            value, size = _form(K, [mpmath.mpf(float(c)) for c in vector], mpmath.fsum)
            return (float(value), True) if value < -mpmath.mpf(MP_MARGIN) * size else None
    entries = target.entries(points)
    if not np.isfinite(entries).all():
        return None
    value, size = _form(entries, [float(c) for c in vector], math.fsum)
    if not value < -8 * count(points) * rounding_of(entries) * size:
        return None
    if value < -PLAIN * size and _short(points):
        return float(value), False
    doubt = _noise(target, points, entries)
    spread = float(np.sum(np.abs(vector) * _lengths(entries)))
    return (float(value), False) if value < -SAFETY * doubt * spread**2 else None


def asymmetric(target: Target, points: Any) -> tuple[float, bool] | None:
    """(k(x, z) − k(z, x), exact) for two points if it is not zero beyond doubt, else None."""
    K = target.exact(points)
    if K is not None:
        import mpmath

        with mpmath.workdps(50):
            value = K[0][1] - K[1][0]
            size = max(abs(entry) for row in K for entry in row)
            return (float(value), True) if abs(value) > mpmath.mpf(MP_MARGIN) * size else None
    entries = target.entries(points)
    if not np.isfinite(entries).all():
        return None
    difference = float(entries[0, 1] - entries[1, 0])
    if not abs(difference) > 64 * rounding_of(entries) * float(np.abs(entries).max()):
        return None
    doubt = _noise(target, points, entries) * float(np.prod(_lengths(entries)))
    return (difference, False) if abs(difference) > SAFETY * doubt else None


def recompute(target: Target, points: Any, vector: np.ndarray | None) -> float:
    """cᵀKc (or k(x, z) − k(z, x) if there is no vector), in 50 digits where k is a formula."""
    K: Any = target.exact(points)
    if K is None:
        K = target.entries(points)
    if vector is None:
        return float(K[0][1] - K[1][0])
    if not isinstance(K, list):
        return float(_form(K, [float(c) for c in vector], math.fsum)[0])
    import mpmath

    with mpmath.workdps(50):
        return float(_form(K, [mpmath.mpf(float(c)) for c in vector], mpmath.fsum)[0])


def rounding_of(K: np.ndarray) -> float:
    """ε of the arithmetic K was computed in: float32 leaves its mark on the entries."""
    with np.errstate(over="ignore"):
        single = bool((K.astype(np.float32) == K).all())
    return float(np.finfo(np.float32 if single else np.float64).eps)


def _form(K: Any, c: list[Any], fsum: Any) -> tuple[Any, Any]:
    """Σ cᵢKᵢⱼcⱼ and Σ |cᵢKᵢⱼcⱼ|, summed without further rounding."""
    terms = [c[i] * K[i][j] * c[j] for i in range(len(c)) for j in range(len(c))]
    return fsum(terms), fsum(abs(term) for term in terms)


def _lengths(K: np.ndarray) -> np.ndarray:
    """√|k(x, x)|, or the root of the row's largest entry where that is zero."""
    diagonal = np.abs(np.diagonal(K))
    return np.sqrt(np.where(diagonal > 0, diagonal, np.abs(K).max(axis=1)))


def _short(points: Any) -> bool:
    """True if the coordinates have few binary digits, so that sums and products of them are exact.

    Then no cancellation inside the function can have amplified a rounding error.
    """
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        return True
    scaled = points * 2.0**12
    return bool(np.abs(points).max(initial=0.0) < 2.0**13 and (scaled == np.round(scaled)).all())


def _noise(target: Target, points: Any, K: np.ndarray) -> float:
    """How far the entries move, relative to √(k(x,x) k(z,z)), if the points move by a few ulps.

    Formulas such as acos(x·z / ‖x‖‖z‖) or ‖x‖² − 2x·z + ‖z‖² far from the origin lose many more
    digits than the last one; this makes the loss visible without knowing the formula.
    """
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        return 0.0
    rng = np.random.default_rng(0)
    lengths = _lengths(K)
    size = np.outer(lengths, lengths)
    size[size == 0] = 1.0
    worst, eps = 0.0, float(np.finfo(np.float64).eps)
    for _ in range(PROBES):
        moved = points * (1.0 + eps * rng.integers(-8, 9, size=points.shape))
        try:
            change = np.abs(target.entries(moved) - K) / size
        except Exception:  # the function may refuse the moved points: then nothing is known
            return math.inf
        worst = max(worst, float(np.nan_to_num(change, nan=np.inf).max()))
    return worst
