"""The two passes over all rows that a step of SMO takes, as LLVM instructions.

    partner     the row that gains most together with row i, and the largest f that may shrink
    move        F after a step, and the row that now most wants to grow
    begin       the same, and Q of a direction that begins with this step
    go_on       the same of a direction that a step continues
    violators   where a row of K has to be made: rows that will be needed soon

A pass is a few loads and operations per row, and of some hundred rows what surrounds its loop costs
more than the loop. The compiler's own loops have to be sure that arrays do not overlap, and find
the index of a maximum in a second loop over what the first one has to store. Here a vector of
`LANES` rows is one value, and the best ones so far and where they were stay in registers. Arrays
have a multiple of `LANES` entries.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mercer.gram.cpu.vectors import DOUBLE, INDEX, Vectors, data_of

#: Rows of a vector: eight numbers of float64 fill the widest registers there are.
LANES = 8


def _partner(
    typing_context: Any, F: Any, low: Any, row: Any, diagonal: Any, n: Any, i: Any, top: Any,
    floor: Any,
) -> Any:  # fmt: skip
    """The j that gains most with i (−1: none), its gain, and the largest f that may shrink."""
    real = row.dtype
    found = types.Tuple((types.int64, real, types.float64))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        f, may, k, d = data_of(context, builder, signature.args[:4], arguments[:4])
        n, i, top, floor = arguments[4:]
        v, kind = Vectors(builder, LANES), context.get_value_type(real)
        whole = INDEX if kind == DOUBLE else ir.IntType(32)
        zero, twice = v.filled(kind, 0.0), v.filled(kind, 2.0)
        own, every, least = (
            v.everywhere(one) for one in (builder.load(builder.gep(d, [i])), top, floor)
        )

        def body(at: Any, index: Any, best: Any, where: Any, bottom: Any) -> list[Any]:
            falls = v.add(v.load(may, at), v.load(f, at))
            slope = v.larger(v.narrow(v.add(every, falls), kind), zero)
            curve = v.less(v.add(own, v.load(d, at)), v.times(twice, v.load(k, at)))
            gain = v.over(v.times(slope, slope), v.larger(curve, least))
            more = v.above(gain, best)
            return [
                builder.add(index, v.filled(whole, LANES)),
                builder.select(more, gain, best),
                builder.select(more, index, where),
                v.larger(falls, bottom),
            ]

        starts = [v.indices(whole), zero, v.indices(whole), v.filled(DOUBLE, -math.inf)]
        _, best, where, bottom = v.loop(n, LANES, starts, body)
        gain = v.largest(best)
        at = v.first(best, gain, where)
        some = builder.fcmp_ordered(">", gain, ir.Constant(kind, 0.0))
        at = builder.select(some, at, INDEX(-1))
        return context.make_tuple(builder, found, [at, gain, v.largest(bottom)])

    whole = types.int64
    return found(F, low, row, diagonal, whole, whole, types.float64, real), generate


def _mover(begins: bool, goes_on: bool) -> Any:
    """Q = kᵢ − kⱼ, or with γ Q more where the direction goes on; F += step Q.

    Gives the row that now most wants to grow, and its −f. A step that ends at a bound leaves no
    direction behind: then Q is neither read nor written.
    """

    def typed(
        typing_context: Any, F: Any, Q: Any, up: Any, row_i: Any, row_j: Any, n: Any, step: Any,
        gamma: Any,
    ) -> Any:  # fmt: skip
        found = types.Tuple((types.int64, types.float64))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            f, q, may, left, right = data_of(context, builder, signature.args[:5], arguments[:5])
            v, n = Vectors(builder, LANES), arguments[5]
            far, kept = (v.everywhere(one) for one in arguments[6:])

            def body(at: Any, index: Any, best: Any, where: Any) -> list[Any]:
                along = v.less(v.wide(v.load(left, at)), v.wide(v.load(right, at)))
                if goes_on:
                    along = v.add(along, v.times(kept, v.load(q, at)))
                value = v.add(v.load(f, at), v.times(far, along))
                if begins or goes_on:
                    v.store(along, q, at)
                v.store(value, f, at)
                wish = v.less(v.load(may, at), value)
                more = v.above(wish, best)
                return [
                    builder.add(index, v.filled(INDEX, LANES)),
                    builder.select(more, wish, best),
                    builder.select(more, index, where),
                ]

            starts = [v.indices(), v.filled(DOUBLE, -math.inf), v.indices()]
            _, best, where = v.loop(n, LANES, starts, body)
            top = v.largest(best)
            return context.make_tuple(builder, found, [v.first(best, top, where), top])

        real = types.float64
        return found(F, Q, up, row_i, row_j, types.int64, real, real), generate

    return intrinsic(typed)


def _violators(
    typing_context: Any, F: Any, up: Any, low: Any, slots: Any, n: Any, violation: Any,
    violator: Any,
) -> Any:  # fmt: skip
    """Rows without a slot that most want to shrink, and to grow: the first of every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (*arrays, n, values, rows) = signature.args, arguments
        f, grows, shrinks, slots = data_of(context, builder, kinds[:4], arrays)
        values, rows = data_of(context, builder, kinds[5:], [values, rows])
        v = Vectors(builder, LANES)
        lowest, zero = v.filled(DOUBLE, -math.inf), v.filled(INDEX, 0)

        def body(at: Any, *found: Any) -> list[Any]:
            value, here = v.load(f, at), v.everywhere(at)
            absent = builder.icmp_signed("<", v.load(slots, at), zero)
            after = []
            for side in (0, 1):
                best, where = found[2 * side : 2 * side + 2]
                wish = (
                    v.less(v.load(grows, at), value) if side else v.add(v.load(shrinks, at), value)
                )
                more = builder.and_(absent, v.above(wish, best))
                after += [builder.select(more, wish, best), builder.select(more, here, where)]
            return after

        found = v.loop(n, LANES, [lowest, zero, lowest, zero], body)
        for side in (0, 1):
            v.store(found[2 * side], values, INDEX(side * LANES))
            v.store(builder.add(found[2 * side + 1], v.indices()), rows, INDEX(side * LANES))
        return context.get_dummy_value()

    return types.void(F, up, low, slots, types.int64, violation, violator), generate


#: As compiled functions see them: without the context of the compiler.
partner: Any = intrinsic(_partner)
move: Any = _mover(False, False)
begin: Any = _mover(True, False)
go_on: Any = _mover(False, True)
violators: Any = intrinsic(_violators)
