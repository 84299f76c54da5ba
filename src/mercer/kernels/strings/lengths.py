"""Weights of grams by their length, as `Spectrum` and `WeightedDegree` take them."""

from __future__ import annotations

import math
from typing import Any

from mercer.kernels.parameters import is_number


def checked_weights(weights: Any, p: int, who: str) -> tuple[float, ...]:
    """One finite number for each length 1, …, p."""
    if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
        raise TypeError(f"{who}: weights is a list of p = {p} numbers, got {weights!r:.60}")
    values = tuple(weights)
    if len(values) != p:
        raise ValueError(
            f"{who}: one weight for each length 1, …, p = {p} is needed, got {len(values)}"
        )
    if not all(is_number(w) and math.isfinite(w) for w in values):
        raise ValueError(f"{who}: the weights must be finite numbers, got {list(values)}")
    return tuple(float(w) for w in values)
