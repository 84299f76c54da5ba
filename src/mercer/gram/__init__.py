"""How K is computed, on one road.

    kernel ──► Form ┐
    X, Z   ──► Rows ┴─► prepare ──► two operands, a program ──► plan ──► fill, tile by tile

`form` holds what the formula decides by itself, `rows` the examples, validated once; `prepare`
chooses how distances are made, `plan` the tiles, `fill` makes their numbers. `base` is the Gram
that solvers see, `host` the one of arrays in memory, `rows_of_k` its rows by index, `dispatch` the
choice of an engine. `cpu` has the compiled loops.
"""

from mercer.gram.base import Gram
from mercer.gram.dispatch import Engine, register
from mercer.gram.functions import distance_to_mean

__all__ = ["Engine", "Gram", "distance_to_mean", "register"]
