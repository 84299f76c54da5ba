"""Where the rows of K of some problems come from, and in which precision.

Rows are computed by the kernel's own machine code (`mercer.gram.cpu.row_function`) when a step
first needs them, in float32 at first, as LIBSVM keeps them. A problem whose solution is too large
for the digits of float32 is resumed in float64, whatever the type of the data. Where K is small,
and is read by many problems or has no such code, all of K is computed at once; where it is large
and has none, the loop stops where a row is missing, and a Gram computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import widened
from mercer.gram import HostGram, host_gram
from mercer.tuning import (
    SVM_FEW_COLUMNS,
    SVM_NARROW,
    SVM_OPAQUE_ROWS,
    SVM_SHARED_ROWS,
    SVM_SINGLE,
    SVM_SPARSE_BYTES,
)


@dataclass(frozen=True)
class Source:
    """Rows of K from a row function, from all of K, or else block by block from `gram`.

    `diagonal`: k(x, x) of every example; `last`: no source with more digits follows.
    """

    gram: HostGram
    dtype: np.dtype
    diagonal: np.ndarray
    function: Any = None
    K: Any = None
    last: bool = True

    @property
    def rounding(self) -> float:
        return float(np.finfo(self.dtype).eps)


def row_sources(gram: HostGram, most: int, exact: bool = False) -> Iterator[Source]:
    """Yield the source to begin with, then one with more digits, for problems of `most` rows.

    Only the one with most digits if it is to be `exact`.
    """
    from mercer._machine.lanes import CALLS
    from mercer.gram.cpu.row_function import columns, loop_program

    n = gram.shape[0]
    program = loop_program(gram) if CALLS else None
    width = 0 if program is None else columns(gram, program)
    opaque = bool(gram.program.opaque)
    narrow = gram.dtype == np.float32 and not opaque | exact
    whole = 4 * n * n * gram.dtype.itemsize <= gram.limit_bytes
    whole &= (not opaque) | (n <= SVM_OPAQUE_ROWS)
    shared = most <= SVM_SHARED_ROWS and width > SVM_NARROW
    # A row function makes sparse rows dense.
    sparse = any(is_sparse(rows) for rows in gram.operands()[0].matrices.values())
    wide = sparse and 4 * width * most > SVM_SPARSE_BYTES
    if program is not None and not wide and not (whole and shared):
        large = most * max(width, SVM_FEW_COLUMNS) >= SVM_SINGLE
        yield from _by_rows(gram, program, large and not exact)
    elif whole:
        K = gram.dense()
        yield Source(gram, K.dtype, K.diagonal(), K=K, last=not narrow)
    else:
        yield Source(gram, gram.dtype, gram.diagonal(), last=not narrow)
    if narrow:
        yield from row_sources(host_gram(gram.kernel, widened(gram.points())), most, exact=True)


def _by_rows(gram: HostGram, program: Any, large: bool) -> Iterator[Source]:
    from mercer.gram.accuracy import errors_in_single, is_far
    from mercer.gram.cpu.row_function import byte_function, row_function

    narrow = gram.dtype == np.float32
    if large:
        as_they_are = narrow or (not is_far(gram) and errors_in_single(gram) is not None)
        single = byte_function(gram, program) if as_they_are else None
        begins = as_they_are or errors_in_single(gram, centered=True) is not None
        if single is None and not narrow and begins:
            single = row_function(gram, program, single=True, centered=not as_they_are)
        if single is not None:
            yield Source(gram, single.left.dtype, gram.diagonal(), single, last=False)
            if narrow:
                return
    exact = row_function(gram, program, single=False)
    yield Source(gram, exact.left.dtype, gram.diagonal(), exact, last=not narrow)
