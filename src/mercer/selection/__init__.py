"""Choosing: which kernel with which learner, at which scale, for data at hand.

In the order in which `comparison` uses them: `preprocess` makes rows ready, `folds` holds some out,
`racing` runs candidates against each other by means of `trainers` and `metrics`, `board` shows what
came out. `kernel_search` grows kernels from building blocks; `parameters` learns theirs by descent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import by_name

if TYPE_CHECKING:
    from mercer.selection.board.scoreboard import OutOfFold, Row, Scoreboard
    from mercer.selection.comparison import compare
    from mercer.selection.kernel_search.alignment import alignment
    from mercer.selection.kernel_search.search import SearchResult, search_kernel
    from mercer.selection.kernel_search.tree import SearchNode, SearchTree
    from mercer.selection.parameters import Learnt, learn_parameters

_WHERE = {
    "Learnt": "parameters",
    "OutOfFold": "board.scoreboard",
    "Row": "board.scoreboard",
    "Scoreboard": "board.scoreboard",
    "SearchNode": "kernel_search.tree",
    "SearchResult": "kernel_search.search",
    "SearchTree": "kernel_search.tree",
    "alignment": "kernel_search.alignment",
    "compare": "comparison",
    "learn_parameters": "parameters",
    "search_kernel": "kernel_search.search",
}

__all__ = [
    "Learnt",
    "OutOfFold",
    "Row",
    "Scoreboard",
    "SearchNode",
    "SearchResult",
    "SearchTree",
    "alignment",
    "compare",
    "learn_parameters",
    "search_kernel",
]

__getattr__ = by_name(__name__, {name: f"{__name__}.{file}" for name, file in _WHERE.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
