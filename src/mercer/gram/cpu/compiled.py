"""Compiled loops: generated text, compiled once per machine, and kept under its digest."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.jit import may_compile
from mercer.formula.nodes import is_column_product
from mercer.gram.cpu.generated import load_generated
from mercer.gram.cpu.numba_source import render, renderable
from mercer.gram.form import Program
from mercer.gram.operand import Operand


@record
class Compiled:
    """The compiled functions of one program in one dtype."""

    program: Program
    module: ModuleType
    numbers: np.ndarray
    source: str

    def fill(
        self, x: Operand, z: Operand, rows: slice, columns: slice, tiles: list[Any], out: np.ndarray
    ) -> None:
        """Write k of these rows and columns into `out`; `tiles`: the matrices of the sources."""
        matrices = [t for t in tiles if t is not None and t is not out]
        self.module.fill(
            self.numbers, *matrices, *self._operands(x, z, rows, columns), whole_rows(out)
        )

    def multiply(self, x: Operand, z: Operand, rows: slice, V: np.ndarray, out: np.ndarray) -> None:
        """Add k(x[rows], z) Vᵀ to `out` without a tile in memory; `V` holds one vector per row."""
        self.module.multiply(self.numbers, *self._operands(x, z, rows, slice(0, z.n)), V, out)

    def _operands(self, x: Operand, z: Operand, rows: slice, columns: slice) -> list[Any]:
        operands: list[Any] = []
        for source in self.program.sources:
            if source.kind == "direct":
                block = np.ascontiguousarray(x.dense(source.rows, rows))
                operands += [block, z.packed(source.rows)]
        operands += [v[rows] for v in x.values]
        operands += [v[columns] for v in z.values]
        return [*operands, columns.start, columns.stop]


def whole_rows(out: np.ndarray) -> np.ndarray:
    """A slice of columns seen as rows of the full length: loops over it are then contiguous.

    What lies beyond the slice is never touched; the view only shows the compiler that neighbors in
    a row are neighbors in memory.
    """
    if out.flags.c_contiguous or out.strides[1] != out.itemsize or out.strides[0] % out.itemsize:
        return out
    length = out.strides[0] // out.itemsize
    return np.lib.stride_tricks.as_strided(out, (out.shape[0], length), out.strides)


@lru_cache(maxsize=1024)
def can_compile(program: Program, dtype: np.dtype | None = None) -> bool:
    """Whether the loops of a program have a compiled form, in this precision if it is given.

    A product over many columns loses a digit in float32: NumPy makes it in float64.
    """
    single = dtype == np.float32 and any(is_column_product(s.node) for s in program.sources)
    return may_compile() and not single and renderable(program)


@lru_cache(maxsize=512)
def compile_epilogue(program: Program, dtype: np.dtype, widths: tuple[int, ...]) -> Compiled:
    """The compiled loops of a program; `widths`: columns of its direct sources, in order."""
    source, numbers = render(program, dtype.name, list(widths))
    return Compiled(program, load_generated(source), constants(numbers, dtype.name), source)


def constants(numbers: list[float], dtype: Any) -> np.ndarray:
    """The numbers of a text; what float32 cannot hold, such as a bound, is infinite there."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers or [0.0], dtype=dtype)
