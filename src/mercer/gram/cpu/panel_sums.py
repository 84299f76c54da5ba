"""Sums over the columns of a panel, in registers: x·z, ‖x − z‖² and ‖x − z‖₁ of one x or several.

Rows z lie in panels of BLOCK, column by column (`mercer.gram.rows.prepared`). A row of K reads all
of them once, and memory is slower than the sums: `TOGETHER` rows take little longer than one. Every
sum stays in a register from the first column to the last.

`byte_sums` are the same of rows on a grid, whose columns are words of four bytes: a quarter of the
memory, and of the instructions where the processor multiplies bytes
(`mercer.gram.byte_products.vnni`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from mercer.gram.byte_products.rows import BEFORE
from mercer.gram.cpu.vectors import INDEX, Vectors, data_of
from mercer.gram.rows.prepared import BLOCK, TOGETHER

_WORD = ir.IntType(32)


@lru_cache(maxsize=1)
def _register() -> int:
    """Bytes of a register of this processor, as far as it matters."""
    settings: Any = config
    own = not (settings.CPU_NAME or settings.CPU_FEATURES) and settings.ENABLE_AVX
    return 64 if own and binding.get_host_cpu_features().get("avx512f") else 32


def width(rows: int, size: int) -> int:
    """How many z have room in registers beside so many x; a number takes `size` bytes."""
    vectors = 4 * TOGETHER if _register() == 64 else 2 * TOGETHER
    return min(BLOCK, vectors // rows * _register() // size)


def panel_sums(op: str, rows: int, size: int) -> Any:
    """``sums(x, i, j, k, m, z, start, columns, out, at)``: of x[i …], x[j …], … with each z.

    Of one row `i` alone, or of four; z: `width(rows, size)` of them, whose first column begins at
    z[start]. The sums go to out[0 …, at …].
    """

    def totals(v: Vectors, own: list[Any], z: Any, start: Any, columns: Any, parts: range) -> Any:
        def grown(total: Any, number: Any, other: Any) -> Any:
            return v.add(total, v.term(op, number, other))

        zero = v.filled(z.type.pointee, 0.0)
        return _over_columns(v, own, z, start, (0, columns), parts, zero, grown)

    return _stored(rows, size, totals)


def byte_sums(op: str, rows: int) -> Any:
    """The same of rows as `mercer.gram.byte_products.rows.GridRows.words` gives them.

    Whole numbers are added up exactly, and rounded to float32 at the end.
    """

    def totals(v: Vectors, own: list[Any], z: Any, start: Any, columns: Any, parts: range) -> Any:
        builder, kind = v.builder, ir.VectorType(_WORD, v.lanes)
        step = builder.module.declare_intrinsic(
            f"llvm.x86.avx512.vpdpbusd.{32 * v.lanes}", (), ir.FunctionType(kind, [kind] * 3)
        )
        numbers = own
        z, *own = (builder.bitcast(data, _WORD.as_pointer()) for data in (z, *own))

        def grown(total: Any, four: Any, other: Any) -> Any:
            return builder.call(step, [total, four, other])

        none, found = v.filled(_WORD, 0), []
        sums = _over_columns(v, own, z, start, (BEFORE, columns), parts, none, grown)
        times = v.filled(_WORD, -2 if op == "sqdist" else 1)
        lacking = _column(v, z, start, 0, parts)
        for r, row in enumerate(own):
            mine = v.everywhere(builder.load(row))
            scale = v.everywhere(builder.load(builder.gep(numbers[r], [INDEX(1)])))
            for rest, total in zip(lacking, sums[r * len(parts) :], strict=False):
                whole = builder.add(builder.mul(times, total), builder.add(mine, rest))
                found.append(v.times(scale, builder.sitofp(whole, scale.type)))
        return found

    return _stored(rows, 4, totals)


def product_sums(op: str, rows: int, size: int) -> Any:
    """‖x − z‖² from x·z, half the instructions: of rows that begin with ‖x‖² and a 0."""
    assert op == "sqdist"

    def totals(v: Vectors, own: list[Any], z: Any, start: Any, columns: Any, parts: range) -> Any:
        def grown(total: Any, number: Any, other: Any) -> Any:
            return v.add(total, v.times(number, other))

        zero, found = v.filled(z.type.pointee, 0.0), []
        sums = _over_columns(v, own, z, start, (BEFORE, columns), parts, zero, grown)
        norms = _column(v, z, start, 0, parts)
        for r, row in enumerate(own):
            mine = v.everywhere(v.builder.load(row))
            for norm, total in zip(norms, sums[r * len(parts) :], strict=False):
                found.append(v.larger(v.less(v.add(mine, norm), v.add(total, total)), zero))
        return found

    return _stored(rows, size, totals)


def _over_columns(
    v: Vectors,
    own: list[Any],
    z: Any,
    start: Any,
    columns: Any,
    parts: range,
    none: Any,
    grown: Any,
) -> list[Any]:
    """Per row of `own` and part of z: what `grown` makes of `none`, column by column.

    `columns`: the first one, and how many there are in all.
    """
    builder, (first, end) = v.builder, columns

    def body(d: Any, *sums: Any) -> list[Any]:
        column = builder.add(d, INDEX(first))
        others, so_far, found = _column(v, z, start, column, parts), iter(sums), []
        for row in own:
            number = v.everywhere(builder.load(builder.gep(row, [column])))
            found += [grown(next(so_far), number, other) for other in others]
        return found

    count = builder.sub(end, INDEX(first))
    return list(v.loop(count, 1, [none] * (len(own) * len(parts)), body))


def _column(v: Vectors, z: Any, start: Any, column: Any, parts: range) -> list[Any]:
    """One column of the rows z, a vector per part."""
    column = INDEX(column) if isinstance(column, int) else column
    first = v.builder.add(start, v.builder.mul(column, INDEX(BLOCK)))
    return [v.load(z, v.builder.add(first, INDEX(part))) for part in parts]


def _stored(rows: int, size: int, totals: Any) -> Any:
    """The function of `panel_sums` whose sums are values that `totals` makes."""
    count, lanes = width(rows, size), _register() // size

    def sums(
        typing_context: Any, x: Any, i: Any, j: Any, k: Any, m: Any, z: Any, start: Any,
        columns: Any, out: Any, at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x, z, start, columns, at = (arguments[place] for place in (0, 5, 6, 7, 9))
            (result,) = data_of(context, builder, signature.args[8:9], arguments[8:9])
            v, parts = Vectors(builder, lanes), range(0, count, lanes)
            own = [builder.gep(x, [offset]) for offset in arguments[1 : 1 + rows]]
            found = totals(v, own, z, start, columns, parts)
            for r in range(rows):
                for part, total in zip(parts, found[r * len(parts) :], strict=False):
                    v.store(total, result, builder.add(at, INDEX(r * BLOCK + part)))
            return context.get_dummy_value()

        i8 = types.int64
        return types.void(x, i8, i8, i8, i8, z, i8, i8, out, i8), generate

    return intrinsic(sums)
