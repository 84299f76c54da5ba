"""Vectors of numbers as values of LLVM: for loops that the compiler does not vectorize well itself.

An intrinsic of Numba's builds its instructions with `Vectors`; every processor has some way to run
them. What lies in memory is loaded wherever it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir

INDEX, DOUBLE = ir.IntType(64), ir.DoubleType()
_FAST = ("nnan", "nsz", "contract", "reassoc")


class Shape(NamedTuple):
    """A tile of sums that fits the registers: rows × vectors of so many lanes."""

    lanes: int
    rows: int
    vectors: int

    @property
    def columns(self) -> int:
        return self.lanes * self.vectors


class Vectors:  # pragma: no cover - runs in the compiler
    """Instructions on vectors of so many numbers."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes

    def filled(self, real: Any, number: float) -> Any:
        """A constant in every lane."""
        return ir.Constant(ir.VectorType(real, self.lanes), [number] * self.lanes)

    def everywhere(self, scalar: Any) -> Any:
        kind = ir.VectorType(scalar.type, self.lanes)
        unset = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(unset, scalar, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, unset, zeros)

    def place(self, data: Any, at: Any) -> Any:
        kind = ir.VectorType(data.type.pointee, self.lanes)
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

    def term(self, op: str, x: Any, z: Any) -> Any:
        """What a column adds to x·z ("dot"), ‖x − z‖² ("sqdist") or ‖x − z‖₁ ("l1")."""
        if op == "dot":
            return self.times(x, z)
        gap = self.less(x, z)
        return self.times(gap, gap) if op == "sqdist" else self.absolute(gap)

    def absolute(self, a: Any) -> Any:
        name = f"llvm.fabs.v{self.lanes}{_name(a.type.element)}"
        function = self.builder.module.declare_intrinsic(
            name, (), ir.FunctionType(a.type, [a.type])
        )
        return self.builder.call(function, [a])

    def wide(self, a: Any) -> Any:
        """In float64."""
        kind = ir.VectorType(DOUBLE, self.lanes)
        return a if a.type == kind else self.builder.fpext(a, kind)

    def narrow(self, a: Any, real: Any) -> Any:
        kind = ir.VectorType(real, self.lanes)
        return a if a.type == kind else self.builder.fptrunc(a, kind)

    def largest(self, value: Any) -> Any:
        """The largest lane."""
        name = _name(value.type.element)
        kind = ir.FunctionType(value.type.element, [value.type])
        reduce = self.builder.module.declare_intrinsic(
            f"llvm.vector.reduce.fmax.v{self.lanes}{name}", (), kind
        )
        return self.builder.call(reduce, [value], fastmath=("nnan", "nsz"))

    def indices(self, whole: Any = INDEX) -> Any:
        """0, 1, 2 …"""
        return ir.Constant(ir.VectorType(whole, self.lanes), list(range(self.lanes)))

    def first(self, value: Any, best: Any, where: Any) -> Any:
        """The least index of a row whose value is `best`; `where`: the index of each lane."""
        whole = where.type.element
        same = self.builder.fcmp_ordered("==", value, self.everywhere(best))
        last = ir.Constant(where.type, [(1 << (whole.width - 1)) - 1] * self.lanes)
        reduce = self.builder.module.declare_intrinsic(
            f"llvm.vector.reduce.umin.v{self.lanes}i{whole.width}",
            (),
            ir.FunctionType(whole, [where.type]),
        )
        found = self.builder.call(reduce, [self.builder.select(same, where, last)])
        return found if whole == INDEX else self.builder.zext(found, INDEX)

    def loop(
        self, n: Any, step: int, starts: list[Any], body: Callable[..., list[Any]]
    ) -> list[Any]:
        """What is left of values that begin as `starts` and go through `body` for 0, step … < n."""
        builder, before = self.builder, self.builder.block
        inside, after = builder.append_basic_block("rows"), builder.append_basic_block("found")
        builder.branch(inside)
        builder.position_at_end(inside)
        at = builder.phi(INDEX)
        values = [builder.phi(start.type) for start in starts]
        following = [builder.add(at, INDEX(step)), *body(at, *values)]
        for phi, start, then in zip([at, *values], [INDEX(0), *starts], following, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(then, inside)
        builder.cbranch(builder.icmp_signed("<", following[0], n), inside, after)
        builder.position_at_end(after)
        return following[1:]


def _size(kind: Any) -> int:  # pragma: no cover - runs in the compiler
    return 8 if kind in (DOUBLE, INDEX) else 4


def _name(kind: Any) -> str:  # pragma: no cover - runs in the compiler
    return "f64" if kind == DOUBLE else "f32"


def data_of(context: Any, builder: Any, kinds: Any, arrays: Any) -> list[Any]:
    """Where the numbers of arrays are."""
    return [
        context.make_array(kind)(context, builder, array).data
        for kind, array in zip(kinds, arrays, strict=True)
    ]
