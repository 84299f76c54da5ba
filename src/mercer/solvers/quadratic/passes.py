"""The two passes over all rows that a step of SMO takes, as LLVM instructions.

    partner   the row that gains most together with row i, and the largest f that may shrink
    move      F and Q after a step, and the row that now most wants to grow

A pass is a few loads and operations per row, and of some hundred rows what surrounds its loop costs
more than the loop. The compiler's own loops have to be sure that arrays do not overlap, and find
the index of a maximum in a second loop over what the first one has to store. Here a vector of
`LANES` rows is one value, and the best ones so far and where they were stay in registers. Arrays
have a multiple of `LANES` entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

#: Rows of a vector: eight numbers of float64 fill the widest registers there are.
LANES = 8

_INDEX, _DOUBLE = ir.IntType(64), ir.DoubleType()
_FAST = ("nnan", "nsz", "contract", "reassoc")


class Vectors:  # pragma: no cover - runs in the compiler
    """Instructions on vectors of `LANES` numbers."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def everywhere(self, scalar: Any) -> Any:
        kind = ir.VectorType(scalar.type, LANES)
        unset = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(unset, scalar, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, unset, zeros)

    def place(self, data: Any, at: Any) -> Any:
        kind = ir.VectorType(data.type.pointee, LANES)
        return self.builder.bitcast(self.builder.gep(data, [at]), kind.as_pointer())

    def load(self, data: Any, at: Any) -> Any:
        return self.builder.load(self.place(data, at), align=_size(data.type.pointee))

    def store(self, value: Any, data: Any, at: Any) -> None:
        self.builder.store(value, self.place(data, at), align=_size(data.type.pointee))

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.above(a, b), a, b)

    def above(self, a: Any, b: Any) -> Any:
        return self.builder.fcmp_ordered(">", a, b, flags=("nnan", "nsz"))

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FAST)

    def less(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=_FAST)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FAST)

    def over(self, a: Any, b: Any) -> Any:
        return self.builder.fdiv(a, b, flags=_FAST)

    def wide(self, a: Any) -> Any:
        """In float64."""
        kind = ir.VectorType(_DOUBLE, LANES)
        return a if a.type == kind else self.builder.fpext(a, kind)

    def narrow(self, a: Any, real: Any) -> Any:
        kind = ir.VectorType(real, LANES)
        return a if a.type == kind else self.builder.fptrunc(a, kind)

    def largest(self, value: Any) -> Any:
        """The largest lane."""
        name = {_DOUBLE: "f64"}.get(value.type.element, "f32")
        kind = ir.FunctionType(value.type.element, [value.type])
        reduce = self.builder.module.declare_intrinsic(
            f"llvm.vector.reduce.fmax.v{LANES}{name}", (), kind
        )
        return self.builder.call(reduce, [value], fastmath=("nnan", "nsz"))

    def first(self, value: Any, best: Any, where: Any) -> Any:
        """The least index of a row whose value is `best`; `where`: the first row of each vector."""
        kind = ir.VectorType(_INDEX, LANES)
        index = self.builder.add(where, ir.Constant(kind, list(range(LANES))))
        same = self.builder.fcmp_ordered("==", value, self.everywhere(best))
        index = self.builder.select(same, index, ir.Constant(kind, [(1 << 63) - 1] * LANES))
        reduce = self.builder.module.declare_intrinsic(
            f"llvm.vector.reduce.umin.v{LANES}i64", (), ir.FunctionType(_INDEX, [kind])
        )
        return self.builder.call(reduce, [index])

    def loop(self, n: Any, starts: list[Any], body: Callable[..., list[Any]]) -> list[Any]:
        """What is left of values that begin as `starts` and go through `body` with each vector."""
        builder, before = self.builder, self.builder.block
        inside, after = builder.append_basic_block("rows"), builder.append_basic_block("found")
        builder.branch(inside)
        builder.position_at_end(inside)
        at = builder.phi(_INDEX)
        values = [builder.phi(start.type) for start in starts]
        following = [builder.add(at, _INDEX(LANES)), *body(at, *values)]
        for phi, start, then in zip([at, *values], [_INDEX(0), *starts], following, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(then, inside)
        builder.cbranch(builder.icmp_signed("<", following[0], n), inside, after)
        builder.position_at_end(after)
        return following[1:]


def _size(kind: Any) -> int:  # pragma: no cover - runs in the compiler
    return 8 if kind == _DOUBLE else 4


def _lowest(real: Any) -> Any:  # pragma: no cover - runs in the compiler
    return ir.Constant(ir.VectorType(real, LANES), [float("-inf")] * LANES)


def _data(context: Any, builder: Any, signature: Any, arguments: Any, count: int) -> list[Any]:
    """Where the numbers of the first `count` arguments are."""
    return [
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args[:count], arguments[:count], strict=True)
    ]


def _partner(
    typing_context: Any, F: Any, low: Any, row: Any, diagonal: Any, n: Any, i: Any, top: Any,
    floor: Any,
) -> Any:  # fmt: skip
    """The j that gains most with i (−1: none), its gain, and the largest f that may shrink."""
    real = row.dtype
    found = types.Tuple((types.int64, real, types.float64))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        f, may, k, d = _data(context, builder, signature, arguments, 4)
        n, i, top, floor = arguments[4:]
        v, kind = Vectors(builder), context.get_value_type(real)
        zero = ir.Constant(ir.VectorType(kind, LANES), [0.0] * LANES)
        none = ir.Constant(ir.VectorType(_DOUBLE, LANES), [0.0] * LANES)
        own, every, least = (
            v.everywhere(one) for one in (builder.load(builder.gep(d, [i])), top, floor)
        )

        def body(at: Any, best: Any, where: Any, bottom: Any) -> list[Any]:
            falls = v.add(v.load(may, at), v.load(f, at))
            slope = v.narrow(v.larger(v.add(every, falls), none), kind)
            across = v.load(k, at)
            curve = v.less(v.add(own, v.load(d, at)), v.add(across, across))
            gain = v.over(v.times(slope, slope), v.larger(curve, least))
            more = v.above(gain, best)
            return [
                builder.select(more, gain, best),
                builder.select(more, v.everywhere(at), where),
                v.larger(falls, bottom),
            ]

        indices = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        best, where, bottom = v.loop(n, [zero, indices, _lowest(_DOUBLE)], body)
        gain = v.largest(best)
        at = v.first(best, gain, where)
        some = builder.fcmp_ordered(">", gain, ir.Constant(kind, 0.0))
        at = builder.select(some, at, _INDEX(-1))
        return context.make_tuple(builder, found, [at, gain, v.largest(bottom)])

    whole = types.int64
    return found(F, low, row, diagonal, whole, whole, types.float64, real), generate


def _move(
    typing_context: Any, F: Any, Q: Any, up: Any, row_i: Any, row_j: Any, n: Any, new: Any,
    gamma: Any, step: Any,
) -> Any:  # fmt: skip
    """Q = new (kᵢ − kⱼ) + γ Q, F += step Q; the row that now most wants to grow, and its −f."""
    found = types.Tuple((types.int64, types.float64))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        f, q, may, left, right = _data(context, builder, signature, arguments, 5)
        v, n = Vectors(builder), arguments[5]
        fresh, kept, far = (v.everywhere(one) for one in arguments[6:])

        def body(at: Any, best: Any, where: Any) -> list[Any]:
            difference = v.less(v.wide(v.load(left, at)), v.wide(v.load(right, at)))
            along = v.add(v.times(fresh, difference), v.times(kept, v.load(q, at)))
            value = v.add(v.load(f, at), v.times(far, along))
            v.store(along, q, at)
            v.store(value, f, at)
            wish = v.less(v.load(may, at), value)
            more = v.above(wish, best)
            return [
                builder.select(more, wish, best),
                builder.select(more, v.everywhere(at), where),
            ]

        indices = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        best, where = v.loop(n, [_lowest(_DOUBLE), indices], body)
        top = v.largest(best)
        return context.make_tuple(builder, found, [v.first(best, top, where), top])

    real = types.float64
    return found(F, Q, up, row_i, row_j, types.int64, real, real, real), generate


#: As compiled functions see them: without the context of the compiler.
partner: Any = intrinsic(_partner)
move: Any = intrinsic(_move)
