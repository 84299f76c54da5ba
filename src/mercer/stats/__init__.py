"""Tests by kernels: do two samples differ, do two columns depend, where does a series change?

The p-values come from permutations and are exact: if nothing differs, a p-value of at most α has a
probability of at most α, whatever the kernel, the number of examples and their distribution.
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
