"""Sums of four products of bytes in one instruction, as AVX-VNNI and AVX-512 VNNI have it.

    accumulator[lane] += Σ over t < 4 of  a[4 lane + t] · b[4 lane + t],   a from 0 to 255, b signed

A processor takes four times as many of them as it takes multiplications in float32. Numba has no
name for the instruction, so the innermost loop of a matrix product over it is written here as LLVM
instructions: a small tile of the result stays in registers from the first column to the last.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from mercer.gram.cpu.vectors import Shape, Vectors


@lru_cache(maxsize=1)
def tile_shape() -> Shape | None:
    """The tile for this processor; None where it has no such instruction."""
    settings: Any = config
    if settings.CPU_NAME or settings.CPU_FEATURES or not settings.ENABLE_AVX:
        return None  # code is made for another processor
    features = binding.get_host_cpu_features()
    if features.get("avx512vnni") and features.get("avx512f"):
        return Shape(16, 6, 4)
    if features.get("avxvnni"):
        return Shape(8, 3, 4)
    return None


def add_products(shape: Shape) -> Any:
    """``tile(a, b, out, row, length, steps)`` for a tile of this shape.

    a: bytes, rows of `length` from row `row` on; b: words of four signed bytes, `steps` × columns;
    out: rows × columns sums. All contiguous.
    """

    @intrinsic
    def tile(
        typing_context: Any, a: Any, b: Any, out: Any, row: Any, length: Any, steps: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [
                builder.bitcast(context.make_array(t)(context, builder, v).data, _BYTE.as_pointer())
                for t, v in zip(signature.args[:3], arguments[:3], strict=True)
            ]
            _write(builder, shape, *arrays, *arguments[3:])
            return context.get_dummy_value()

        return types.void(a, b, out, types.int64, types.int64, types.int64), generate

    return tile


_BYTE, _WORD, _INDEX = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _write(  # pragma: no cover - runs in the compiler
    builder: Any, shape: Shape, a: Any, b: Any, out: Any, row: Any, length: Any, steps: Any
) -> None:
    """The loop over `steps`, in LLVM's instructions; every sum is a value of its own."""
    lanes, rows, vectors = shape
    vector, v = ir.VectorType(_WORD, lanes), Vectors(builder, lanes)
    width = 4 * lanes  # bytes of a vector
    step = builder.module.declare_intrinsic(
        f"llvm.x86.avx512.vpdpbusd.{8 * width}", (), ir.FunctionType(vector, [vector] * 3)
    )

    def at(base: Any, offset: Any, kind: Any) -> Any:
        return builder.bitcast(builder.gep(base, [offset]), kind.as_pointer())

    a = builder.gep(a, [builder.mul(row, length)])

    def body(t: Any, *sums: Any) -> list[Any]:
        start = builder.mul(t, _INDEX(width * vectors))
        offsets = [builder.add(start, _INDEX(width * j)) for j in range(vectors)]
        columns = [builder.load(at(b, offset, vector), align=4) for offset in offsets]
        grown = []
        for i in range(rows):
            offset = builder.add(builder.mul(t, _INDEX(4)), builder.mul(length, _INDEX(i)))
            four = v.everywhere(builder.load(at(a, offset, _WORD), align=1))
            for j in range(vectors):
                grown.append(builder.call(step, [sums[i * vectors + j], four, columns[j]]))
        return grown

    sums = v.loop(steps, 1, [v.filled(_WORD, 0)] * (rows * vectors), body)
    for k, total in enumerate(sums):
        builder.store(total, at(out, _INDEX(width * k), vector), align=4)
