"""Tests by kernels: do two samples differ, do two columns depend, where does a series change?

The p-values come from permutations and are exact: if nothing differs, a p-value of at most α has a
probability of at most α, whatever the kernel, the number of examples and their distribution.
"""

from __future__ import annotations

from mercer._lazy import by_name, in_stub

_WHERE = in_stub(__name__)
__all__ = sorted(_WHERE)
__getattr__ = by_name(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
