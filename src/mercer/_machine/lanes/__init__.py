"""Vectors of numbers for compiled loops: as instructions of LLVM, or else one number at a time.

`llvm` says what the words mean. Where llvmlite or Numba has changed so that it cannot be imported,
`plain` has the same words for vectors of one lane: slower, and the same numbers up to rounding.
"""

from typing import NamedTuple

try:
    from mercer._machine.lanes.llvm import *  # noqa: F403
except (ImportError, AttributeError):
    from mercer._machine.lanes.plain import *  # noqa: F403


class Shape(NamedTuple):
    """A tile of sums that fits the registers: rows × vectors of `lanes` numbers."""

    lanes: int
    rows: int
    vectors: int

    @property
    def columns(self) -> int:
        return self.lanes * self.vectors
