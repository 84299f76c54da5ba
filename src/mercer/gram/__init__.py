"""How K is computed: the lazy operator, the planner, the one loop over tiles, the engines.

    formula ──accuracy──► program ──plan──► tiles ──► engine (numpy: BLAS + compiled epilogue)

`operator` is what users see; `program` turns a formula into sources, row values and an epilogue;
`plan` cuts tiles from the memory limit; `tiles` walks them; an engine fills them.
"""

from mercer.gram.base import Gram
from mercer.gram.dispatch import Engine, register
from mercer.gram.functions import distance_to_mean

__all__ = ["Engine", "Gram", "distance_to_mean", "register"]
