"""How K is computed, on one road.

    kernel ──► Form ┐
    X, Z   ──► Rows ┴─► prepare ──► two operands, a program ──► plan ──► fill, tile by tile

`form` holds what the formula decides by itself, `rows` the examples, validated once; `prepare`
chooses how distances are made, `plan` the tiles, `fill` makes their numbers. `base` is the Gram
that solvers see, `host` the one of arrays in memory, `rows_of_k` its rows by index, `dispatch` the
choice of an engine. `cpu` has the compiled loops.

Other packages import from here: `make_gram` (K where the data is), `solver_gram` (the same, with
results on the host), `host_gram` (K on the host, whatever the device), `held` (the Rows of points
that are compared again and again). The modules in here are for engines, which make their own K.
"""

from mercer.gram.base import Gram, constant_diagonal, formula_of, simplified
from mercer.gram.dispatch import (
    HOST,
    Engine,
    engine_for,
    held,
    host_gram,
    keeper_of,
    make_gram,
    register,
    solver_gram,
)
from mercer.gram.functions import diagonal, distance_to_mean

__all__ = [
    "HOST",
    "Engine",
    "Gram",
    "constant_diagonal",
    "diagonal",
    "distance_to_mean",
    "engine_for",
    "formula_of",
    "held",
    "host_gram",
    "keeper_of",
    "make_gram",
    "register",
    "simplified",
    "solver_gram",
]
