# What type checkers see, and what `__init__.py` loads on first use.
from mercer.selection.board.scoreboard import OutOfFold as OutOfFold
from mercer.selection.board.scoreboard import Row as Row
from mercer.selection.board.scoreboard import Scoreboard as Scoreboard
from mercer.selection.comparison import compare as compare
from mercer.selection.contest import Contest as Contest
from mercer.selection.kernel_search.alignment import alignment as alignment
from mercer.selection.kernel_search.search import SearchResult as SearchResult
from mercer.selection.kernel_search.search import search_kernel as search_kernel
from mercer.selection.kernel_search.tree import SearchNode as SearchNode
from mercer.selection.kernel_search.tree import SearchTree as SearchTree
from mercer.selection.parameters import Learnt as Learnt
from mercer.selection.parameters import learn_parameters as learn_parameters
