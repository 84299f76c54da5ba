"""Sums over the columns of a panel, in registers: x·z, ‖x − z‖² and ‖x − z‖₁ of one x or several.

Rows z lie in panels of CHUNK, column by column (`mercer.gram.rows.prepared`). A row of K reads all
of them once, and memory is slower than the sums: `TOGETHER` rows take little longer than one. Every
sum stays in a register from the first column to the last.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import binding
from numba import types
from numba.core import config
from numba.extending import intrinsic

from mercer.gram.cpu.vectors import INDEX, Vectors, data_of
from mercer.gram.rows.prepared import BLOCK, CHUNK, TOGETHER


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

            def body(d: Any, *totals: Any) -> list[Any]:
                first = builder.add(start, builder.mul(d, INDEX(CHUNK)))
                others = [v.load(z, builder.add(first, INDEX(part))) for part in parts]
                terms = []
                for row in own:
                    number = v.everywhere(builder.load(builder.gep(row, [d])))
                    terms += [v.term(op, number, other) for other in others]
                return [v.add(total, term) for total, term in zip(totals, terms, strict=True)]

            zero = v.filled(x.type.pointee, 0.0)
            found = v.loop(columns, 1, [zero] * (rows * len(parts)), body)
            for r in range(rows):
                for part, total in zip(parts, found[r * len(parts) :], strict=False):
                    v.store(total, result, builder.add(at, INDEX(r * CHUNK + part)))
            return context.get_dummy_value()

        i8 = types.int64
        return types.void(x, i8, i8, i8, i8, z, i8, i8, out, i8), generate

    return intrinsic(sums)
