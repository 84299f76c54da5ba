"""What every map asks of its parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from mercer._memory import fits, memory_bytes

__all__ = ["count", "fits", "memory_bytes", "nonnegative", "one_of"]


def count(name: str, value: Any, minimum: int = 1) -> int:
    """`value` as a whole number of at least `minimum`, or an error that quotes it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return int(value)


def nonnegative(name: str, value: Any, why: str) -> float:
    """`value` as a finite number ≥ 0, or an error that quotes it and says why."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not 0.0 <= float(value) < math.inf:
        raise ValueError(f"{name} must be at least 0 and finite, not {value!r}: {why}")
    return float(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`, or an error that lists them."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, not {value!r}")
    return value
