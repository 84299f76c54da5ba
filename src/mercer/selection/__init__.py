"""Choosing: which kernel with which learner, at which scale, for data at hand.

In the order in which `comparison` uses them: `preprocess` makes rows ready, `folds` holds some out,
`racing` runs candidates against each other by means of `trainers` and `metrics`, `board` shows what
came out. `contest` is a board for people. `kernel_search` grows kernels from building blocks;
`parameters` learns theirs by descent.
"""

from mercer.selection.board.scoreboard import OutOfFold, Row, Scoreboard
from mercer.selection.comparison import compare
from mercer.selection.contest import Contest
from mercer.selection.kernel_search.alignment import alignment
from mercer.selection.kernel_search.search import SearchResult, search_kernel
from mercer.selection.kernel_search.tree import SearchNode, SearchTree
from mercer.selection.parameters import Learnt, learn_parameters

__all__ = [
    "Contest",
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
