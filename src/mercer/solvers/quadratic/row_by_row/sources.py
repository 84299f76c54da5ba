"""Where the rows of K of some problems come from, in which precision.

From the kernel's own machine code where few columns make that the fastest way
(`mercer.gram.cpu.row_function`), in float32 at first: LIBSVM keeps them so, too. A problem whose
solution is too large for the digits of float32 is taken up again in float64. For other kernels all
of K is computed, where it is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._machine.jit import compiles
from mercer.gram.base import Gram
from mercer.gram.host import HostGram
from mercer.solvers.quadratic.problem import Task, Tasks

#: Rows of the largest problem times columns (at least FEW_COLUMNS) from which float32 pays; below,
#: rows of K are the smaller part.
SINGLE, FEW_COLUMNS = 32_000, 32
#: Columns up to which a row by its function is no slower than by a matrix product, and the bytes of
#: a problem's rows up to which it is not much slower: they stay in the cache from row to row.
COLUMNS, BYTES = 128, 8_000_000
#: Rows up to which all of K is computed: for any kernel, and for several problems by a formula.
FEW_ROWS, WHOLE = 500, 3000
#: So many problems share rows of K, and those of so few rows rather read than make them; with many
#: columns those of more, too. The more examples there are, the fewer of them support the machine.
MANY, SMALL, MEDIUM = 6, 256, 800
#: All of them together may have so many times as many entries as K.
OFTEN = 4
#: Columns up to which making a row takes no longer than reading it from a K beyond the cache.
NARROW = 24


@dataclass(frozen=True)
class Source:
    """Where rows of K come from: a row function, or all of K; `place`: where examples are in it."""

    dtype: np.dtype
    diagonal: np.ndarray
    function: Any = None
    K: Any = None
    place: Any = None

    @cached_property
    def rounding(self) -> float:
        return float(np.finfo(self.dtype).eps)


def sources(gram: HostGram, tasks: Sequence[Task]) -> Iterator[Source]:
    """What to begin with, then what has more digits; nothing for problems of another kind."""
    if not compiles():
        return
    from mercer._machine.lanes import CALLS
    from mercer.gram.cpu.row_function import columns, loop_program

    program, flat = loop_program(gram) if CALLS else None, Tasks.of(tasks)
    most, width = flat.most, 0 if program is None else columns(gram, program)
    # Most examples of a regression are support vectors.
    dense = len(flat.problem.linear) == 2 and width > COLUMNS
    whole = _whole(gram, len(tasks), most, dense)
    rows = program is not None and _lazily(width, flat, whole, gram.shape[0])
    if rows and not (dense and whole):
        yield from _by_rows(gram, program, most)
    elif whole:
        yield from _at_once(gram, flat)


def _by_rows(gram: HostGram, program: Any, most: int) -> Iterator[Source]:
    from mercer.gram.cpu.row_function import byte_function, columns, row_function
    from mercer.gram.cpu.single_precision import is_far, suffices

    narrow = gram.dtype == np.float32
    if most * max(columns(gram, program), FEW_COLUMNS) >= SINGLE:
        as_they_are = narrow or (not is_far(gram) and suffices(gram))
        single = byte_function(gram, program) if as_they_are else None
        if single is None and not narrow and (as_they_are or suffices(gram, centered=True)):
            single = row_function(gram, program, single=True, centered=not as_they_are)
        if single is not None:
            yield Source(single.dtype, gram.diagonal(), single)
            if narrow:
                return
    exact = row_function(gram, program, single=False)
    yield Source(exact.dtype, gram.diagonal(), exact)


def from_matrix(K: np.ndarray) -> Iterator[Source]:
    if compiles():
        yield Source(K.dtype, K.diagonal(), K=K)


def _at_once(gram: HostGram, tasks: Tasks) -> Iterator[Source]:
    from mercer.gram.cpu.single_precision import narrowed

    if gram.shape[0] < FEW_ROWS:
        yield from from_matrix(gram.dense())
        return
    apart = len(tasks) > 1 and not is_opaque(gram)
    order = _side_by_side(gram.shape[0], tasks) if apart else None
    place = None if order is None else np.argsort(order)
    single = narrowed(gram, order)
    if single is not None:
        yield Source(single.dtype, single.diagonal(), K=single.dense(), place=place)
    exact = gram if order is None else gram.reordered(order)
    yield Source(exact.dtype, exact.diagonal(), K=exact.dense(), place=place)


def _side_by_side(n: int, tasks: Tasks) -> np.ndarray:
    """An order in which examples of the same problems are neighbors.

    A problem of two classes then reads two stretches of a row of K, not an entry here and there.
    """
    number = np.repeat(np.arange(len(tasks)), np.diff(tasks.starts))
    first, last = np.zeros(n, np.intp), np.zeros(n, np.intp)
    first[tasks.rows[::-1]], last[tasks.rows] = number[::-1], number
    return np.lexsort((last, first))


def is_opaque(gram: HostGram) -> bool:
    return any(source.kind == "opaque" for source in gram.program.sources)


def _lazily(width: int, tasks: Tasks, whole: bool, n: int) -> bool:
    """Whether rows of K of so many columns are made as they are asked for, by each problem."""
    most, sizes = tasks.most, np.diff(tasks.starts)
    if width <= COLUMNS:
        return width <= NARROW or most > SMALL or not whole or len(tasks) < MANY
    if len(tasks) >= MANY and (not whole or most <= MEDIUM or sizes @ sizes > OFTEN * n * n):
        return False  # many examples: matrix products of bytes, and working sets
    return 4 * width * most <= BYTES


def _whole(gram: HostGram, tasks: int, most: int, dense: bool) -> bool:
    """Whether all of K is computed: it is small, and most of it will be asked for."""
    n = gram.shape[0]
    if not has_room(gram):
        return False
    if tasks >= MANY and most <= SMALL:
        return True
    return n <= FEW_ROWS or (n <= WHOLE and not is_opaque(gram) and (dense or tasks >= MANY))


def has_room(gram: Gram) -> bool:
    return 4 * gram.shape[0] ** 2 * gram.dtype.itemsize <= gram.limit_bytes
