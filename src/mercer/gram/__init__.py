"""How K is computed, on one road.

    kernel ──► Form ┐
    X, Z   ──► Rows ┴─► prepare ──► two operands, a program ──► plan ──► fill, tile by tile

`form` holds what the formula decides by itself, `rows` the examples, validated once; `prepare`
chooses how distances are made, `plan` the tiles, `fill` makes their numbers. `base` is the Gram
that solvers see, `host` the one of arrays in memory, `dispatch` the choice of an engine. `cpu` has
the compiled loops.

Other packages import from here: `make_gram` (K where the data is), `solver_gram` (the same, with
results on the host), `host_gram` (K on the host, whatever the device), `held` (the Rows of points
that are compared again and again), `matrix` (the numbers of rows). The modules in here are for
engines, which make their own K; `tests/test_layers.py` counts who else imports them.
"""

from mercer.gram.accuracy import PROMISED as PROMISED
from mercer.gram.base import Gram
from mercer.gram.base import constant_diagonal as constant_diagonal
from mercer.gram.base import formula_of as formula_of
from mercer.gram.base import simplified as simplified
from mercer.gram.dispatch import HOST as HOST
from mercer.gram.dispatch import Engine, register
from mercer.gram.dispatch import engine_for as engine_for
from mercer.gram.dispatch import held as held
from mercer.gram.dispatch import host_gram as host_gram
from mercer.gram.dispatch import keeper_of as keeper_of
from mercer.gram.dispatch import make_gram as make_gram
from mercer.gram.dispatch import solver_gram as solver_gram
from mercer.gram.functions import diagonal as diagonal
from mercer.gram.functions import distance_to_mean
from mercer.gram.host import HostGram as HostGram
from mercer.gram.parameter_gradients import diagonal_slopes as diagonal_slopes
from mercer.gram.parameter_gradients import weighted_slopes as weighted_slopes
from mercer.gram.rows import Rows as Rows
from mercer.gram.rows import as_rows as as_rows
from mercer.gram.rows import check_not_empty as check_not_empty
from mercer.gram.rows import matrix as matrix
from mercer.gram.rows import squared_norms as squared_norms

__all__ = ["Engine", "Gram", "distance_to_mean", "register"]
