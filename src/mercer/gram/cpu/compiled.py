"""Compiled loops: generated text, compiled once per machine, and kept under its digest."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._machine.jit import is_imported, may_compile
from mercer.gram.cpu.generated import has_run, load_generated
from mercer.gram.cpu.numba_source import render, renderable
from mercer.gram.plan.program import Program
from mercer.gram.rows.prepared import Side


@record
class Compiled:
    """The functions of one program in one dtype."""

    program: Program
    module: ModuleType
    numbers: np.ndarray
    source: str

    def fill(
        self, x: Side, z: Side, rows: slice, columns: slice, tiles: list[Any], out: np.ndarray
    ) -> None:
        matrices = [t for t in tiles if t is not None and t is not out]
        self.module.fill(
            self.numbers, *matrices, *self._operands(x, z, rows, columns), whole_rows(out)
        )

    def multiply(self, x: Side, z: Side, rows: slice, V: np.ndarray, out: np.ndarray) -> None:
        """out += k(x[rows], z) Vᵀ without a tile in memory; `V` holds one vector per row."""
        self.module.multiply(self.numbers, *self._operands(x, z, rows, slice(0, z.n)), V, out)

    def _operands(self, x: Side, z: Side, rows: slice, columns: slice) -> list[Any]:
        operands: list[Any] = []
        for source in self.program.sources:
            if source.kind == "direct":
                block = np.ascontiguousarray(x.dense(source.rows, rows))
                operands += [block, z.packed(source.rows)]
        operands += [v[rows] for v in x.values]
        operands += [v[columns] for v in z.values]
        return [*operands, columns.start, columns.stop]


def whole_rows(out: np.ndarray) -> np.ndarray:
    """A stretch of columns seen as rows of the full length: loops over it are then contiguous.

    What lies beyond the stretch is never touched; it only tells the compiler that neighbors in a
    row are neighbors in memory.
    """
    if out.flags.c_contiguous or out.strides[1] != out.itemsize or out.strides[0] % out.itemsize:
        return out
    length = out.strides[0] // out.itemsize
    return np.lib.stride_tricks.as_strided(out, (out.shape[0], length), out.strides)


def can_compile(program: Program) -> bool:
    return may_compile() and _can_compile(program.epilogue, program.sources)


@lru_cache(maxsize=1024)
def _can_compile(epilogue: Any, sources: tuple[Any, ...]) -> bool:
    return renderable(Program(epilogue, sources, (), (), epilogue))


def compile_epilogue(program: Program, dtype: np.dtype, widths: list[int]) -> Compiled:
    """The compiled loops of a program; `widths`: features of its direct sources, in order."""
    source, numbers = _text(program, dtype, widths)
    return Compiled(program, load_generated(source), numbers, source)


#: Operations that NumPy did in place of a loop, by the text of that.
_done: Counter[str] = Counter()


def work_done(program: Program, dtype: np.dtype, widths: list[int]) -> float:
    """Operations that NumPy has done in this process in place of these loops, for other numbers
    perhaps; infinity where they have run: a call of them then costs no compiling."""
    if not (_done or is_imported()) or not can_compile(program):
        return 0.0
    source = _text(program, dtype, widths)[0]
    return math.inf if has_run(source) else float(_done[source])


def done_by_numpy(program: Program, dtype: np.dtype, widths: list[int], operations: float) -> None:
    """To be told when NumPy does the work of these loops."""
    if can_compile(program):
        _done[_text(program, dtype, widths)[0]] += int(operations)


def _text(program: Program, dtype: np.dtype, widths: list[int]) -> tuple[str, np.ndarray]:
    parts = (program.formula, program.sources, program.row_x, program.row_z, program.epilogue)
    return _rendered(parts, dtype.name, tuple(widths))


@lru_cache(maxsize=512)
def _rendered(
    parts: tuple[Any, ...], dtype: str, widths: tuple[int, ...]
) -> tuple[str, np.ndarray]:
    source, numbers = render(Program(*parts), dtype, list(widths))
    return source, constants(numbers, dtype)


def constants(numbers: list[float], dtype: Any) -> np.ndarray:
    """The numbers of a text; what float32 cannot hold, such as a bound, is infinite there."""
    with np.errstate(over="ignore"):
        return np.asarray(numbers or [0.0], dtype=dtype)
