"""Choosing: which kernel with which learner, at which scale, for data at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import by_name

if TYPE_CHECKING:
    from mercer.selection.comparison import compare
    from mercer.selection.descent import Learnt, learn_parameters
    from mercer.selection.scoreboard import OutOfFold, Row, Scoreboard
    from mercer.selection.search import SearchResult, search_kernel
    from mercer.selection.target_alignment import alignment
    from mercer.selection.tree import SearchNode, SearchTree

_WHERE = {
    "Learnt": "descent",
    "OutOfFold": "scoreboard",
    "Row": "scoreboard",
    "Scoreboard": "scoreboard",
    "SearchNode": "tree",
    "SearchResult": "search",
    "SearchTree": "tree",
    "alignment": "target_alignment",
    "compare": "comparison",
    "learn_parameters": "descent",
    "search_kernel": "search",
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
