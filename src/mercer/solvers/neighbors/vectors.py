"""A small tile of scores that stays in registers: the innermost loop of a search for neighbors.

    x·z summed over the columns, or −‖x − z‖², for a few queries and one panel of examples

Numba has no name for a vector of numbers, and a loop that keeps its sums in memory runs at a third
of the speed; so this one is written as LLVM instructions, as `mercer.gram.byte_products.vnni` does
for bytes. `above` tells which scores of a row are larger than a number, as the bits of a word.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from mercer.gram.cpu.vectors import INDEX, Shape, Vectors


def _shape() -> Shape:
    """What the registers of this processor hold; any shape runs on any processor."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return Shape(16, 6, 4)
    return Shape(8, 4, 3) if features.get("avx2") else Shape(4, 4, 3)


SHAPE = _shape()
#: Neighbors up to which a list is one vector.
LISTED = 16
LANES, _ROWS, _VECTORS = SHAPE
_SINGLE, _BIT = ir.FloatType(), ir.IntType(1)
#: A product and a sum may be rounded once.
_FUSED = ("contract", "nsz")


def _scores(differences: bool) -> Any:
    @intrinsic
    def scores(typing_context: Any, x: Any, row: Any, panels: Any, panel: Any, out: Any) -> Any:
        """`x`: rows from `row` on; `panels[panel]`: columns × examples; all contiguous."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left, right, sums = (
                context.make_array(signature.args[i])(context, builder, arguments[i])
                for i in (0, 2, 4)
            )
            width = builder.extract_value(left.shape, 1)
            row, panel = arguments[1], arguments[3]
            start = builder.gep(left.data, [builder.mul(row, width)])
            size = builder.mul(width, INDEX(SHAPE.columns))
            z = builder.gep(right.data, [builder.mul(panel, size)])
            _write(builder, differences, start, z, width, sums.data)
            return context.get_dummy_value()

        return types.void(x, types.int64, panels, types.int64, out), generate

    return scores


def _write(  # pragma: no cover - runs in the compiler
    builder: Any, differences: bool, x: Any, z: Any, width: Any, out: Any
) -> None:
    """The loop over columns; every sum is a value of its own."""
    v = Vectors(builder, LANES)

    def body(d: Any, *sums: Any) -> list[Any]:
        start = builder.mul(d, INDEX(SHAPE.columns))
        right = [v.load(z, builder.add(start, INDEX(LANES * j))) for j in range(_VECTORS)]
        grown = []
        for i in range(_ROWS):
            offset = builder.add(d, builder.mul(width, INDEX(i)))
            left = v.everywhere(builder.load(builder.gep(x, [offset])))
            for j in range(_VECTORS):
                total = sums[i * _VECTORS + j]
                if differences:
                    gap = builder.fsub(right[j], left)
                    square = builder.fmul(gap, gap, flags=_FUSED)
                    grown.append(builder.fsub(total, square, flags=_FUSED))
                else:
                    product = builder.fmul(left, right[j], flags=_FUSED)
                    grown.append(builder.fadd(total, product, flags=_FUSED))
        return grown

    sums = v.loop(width, 1, [v.filled(_SINGLE, 0.0)] * (_ROWS * _VECTORS), body)
    for k, total in enumerate(sums):
        v.store(total, out, INDEX(LANES * k))


#: ``products(x, row, panels, panel, out)`` and the same with −‖x − z‖².
products, differences = _scores(False), _scores(True)


@intrinsic
def _above(typing_context: Any, scores: Any, row: Any, least: Any) -> Any:
    """The bits of a word: which scores of this row are larger than `least`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        start = builder.mul(arguments[1], INDEX(SHAPE.columns))
        v, bits = Vectors(builder, LANES), INDEX(0)
        limit = v.everywhere(arguments[2])
        for j in range(_VECTORS):
            values = v.load(array.data, builder.add(start, INDEX(LANES * j)))
            larger = builder.fcmp_ordered(">", values, limit)
            part = builder.bitcast(larger, ir.IntType(LANES))
            part = builder.zext(part, INDEX)
            bits = builder.or_(bits, builder.shl(part, INDEX(LANES * j)))
        return bits

    return types.uint64(scores, types.int64, types.float32), generate


@intrinsic
def _largest_of_lanes(typing_context: Any, scores: Any, row: Any, k: Any) -> Any:
    """What at least k scores of this row reach: the k-th largest of what each lane has at most.

    Or less, where some are equal. k is from 1 to LANES.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        start = builder.mul(arguments[1], INDEX(SHAPE.columns))
        v = Vectors(builder, LANES)
        parts = [v.load(array.data, builder.add(start, INDEX(LANES * j))) for j in range(_VECTORS)]
        nothing = v.filled(_SINGLE, float("-inf"))

        def body(_: Any, left: Any, best: Any) -> list[Any]:
            best = v.largest(left)
            taken = builder.fcmp_ordered("==", left, v.everywhere(best))
            return [builder.select(taken, nothing, left), best]

        starts = [reduce(v.larger, parts), _SINGLE(float("-inf"))]
        return v.loop(arguments[2], 1, starts, body)[1]

    return types.float32(scores, types.int64, types.int64), generate


@intrinsic
def _lowest(typing_context: Any, bits: Any) -> Any:
    """The index of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _BIT(1))

    return types.int64(types.uint64), generate


@intrinsic
def _insert(typing_context: Any, values: Any, index: Any, row: Any, value: Any, column: Any) -> Any:
    """Put a number into a row of LISTED sorted ones, behind equal ones; and its index likewise.

    Without a branch: every place keeps its number, takes the new one, or that of its neighbor.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(32), LISTED)
        shift = ir.Constant(lanes, [LISTED, *range(LISTED - 1)])
        start, stays, moves = builder.mul(arguments[2], INDEX(LISTED)), None, None
        for i, kind in ((0, _SINGLE), (1, ir.IntType(32))):
            vector = ir.VectorType(kind, LISTED)
            array = context.make_array(signature.args[i])(context, builder, arguments[i])
            place = builder.bitcast(builder.gep(array.data, [start]), vector.as_pointer())
            old, new = builder.load(place, align=4), arguments[3 + i]
            new = Vectors(builder, LISTED).everywhere(new)
            before = builder.shuffle_vector(old, new, shift)
            if stays is None:
                stays = builder.fcmp_ordered(">=", old, new)
                moves = builder.fcmp_ordered("<", before, new)
            changed = builder.select(moves, before, new)
            builder.store(builder.select(stays, old, changed), place, align=4)
        return context.get_dummy_value()

    return types.void(values, index, types.int64, types.float32, types.int32), generate


#: Called from compiled code, without the first argument.
above: Any = _above
insert: Any = _insert
largest_of_lanes: Any = _largest_of_lanes
lowest: Any = _lowest
