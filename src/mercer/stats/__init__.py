"""Tests by kernels: do two samples differ, do two columns depend, where does a series change?

The p-values come from permutations and are exact: if nothing differs, a p-value of at most α has a
probability of at most α, whatever the kernel, the number of examples and their distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import suggesting
from mercer.stats.changes import ChangePointsResult, change_points
from mercer.stats.independence import HSICResult, hsic_test
from mercer.stats.two_samples import MMDResult, mmd_test

__all__ = [
    "ChangePointsResult", "HSICResult", "MMDResult", "change_points", "hsic_test", "mmd_test",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker then knows that other names do not exist
    __getattr__ = suggesting(__name__, __all__)
