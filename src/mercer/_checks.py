"""What is asked of parameters, and of the memory that a result would take."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from mercer._config import get_config


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


def memory_bytes() -> int:
    """The memory one call may take: `mercer.set_config(memory=...)`."""
    return get_config().memory_bytes


def fits(n_rows: int, n_features: int, n_bytes: int, instead: str) -> None:
    """Refuse, with the exact count, an output that the memory limit does not allow."""
    limit = memory_bytes()
    if n_bytes > limit:
        rows = "one row" if n_rows == 1 else f"{n_rows} rows"
        raise ValueError(
            f"to make {rows} of {n_features} features takes {_human(n_bytes)} and the limit is "
            f"{_human(limit)} (mercer.set_config(memory=...)). {instead}"
        )


def _human(n_bytes: int) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            return f"{n_bytes} {unit}"
        # Exact integers overflow floats where a count is absurd, so divide as integers.
        n_bytes = -(-n_bytes // 1000)
    raise AssertionError
