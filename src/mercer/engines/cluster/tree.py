"""Sums in a fixed binary tree: the same to the last bit in whichever order the terms are found.

leaves   s₁  s₂  s₃  s₄  s₅
           ╲╱      ╲╱    │
          s₁₂      s₃₄   │
             ╲    ╱      │
             s₁₂₃₄ ───── s     equal heights are added once both are there
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def tree_sum(terms: Iterable[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Terms of equal height are added once there are two: log₂ n of them are held.

    >>> tree_sum("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, Any]] = []
    for term in terms:
        height = 0
        while stack and stack[-1][0] == height:
            term = add(stack.pop()[1], term)
            height += 1
        stack.append((height, term))
    _, total = stack.pop()
    while stack:
        total = add(stack.pop()[1], total)
    return total
