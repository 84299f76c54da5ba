"""Vectors of numbers as values that compiled functions hold in registers, and words for them.

    load = load_of(8)                          everything else takes its lanes from its arguments
    best = everywhere(0.0)                     `everywhere_of(8)`
    for at in range(0, n, 8):
        value = load(a, at) * load(b, at)      + − * / > >= == & of vectors of one type
        best = larger(best, value)
    largest(best)

A product and a sum may be rounded once, and sums in any order. Every processor has some way to run
these instructions. What lies in memory is an array or a pointer, and is read wherever it starts.

This is the only file that writes instructions of LLVM; `plain` has the same words without them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import extending, types
from numba.core import config
from numba.extending import lower_builtin, models, register_model, type_callable

#: Compiled functions call what it makes without the context of the compiler.
intrinsic: Any = extending.intrinsic
#: What these words are called where machine code is kept: code of another form must not be read.
FORM = "vectors"
#: Whether compiled code can call functions at an address.
CALLS = True
WORD, INDEX = ir.IntType(32), ir.IntType(64)
_FAST = ("nnan", "nsz", "contract", "reassoc")
#: A product and a sum may be rounded once, and sums keep their order.
_FUSED = ("contract", "nsz")
_ORDER = ("nnan", "nsz")
_VECTOR, _UNDEFINED = ir.VectorType, ir.Undefined


class Lanes(types.Type):  # type: ignore[misc]
    """A vector of `count` numbers of one type."""

    def __init__(self, dtype: Any, count: int) -> None:
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype} x {count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        bits = kind.dtype == types.boolean
        element = ir.IntType(1) if bits else manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, _VECTOR(element, kind.count))


# --- operators -----------------------------------------------------------------------------------

_ARITHMETIC = {
    operator.add: ("fadd", "add"),
    operator.sub: ("fsub", "sub"),
    operator.mul: ("fmul", "mul"),
    operator.truediv: ("fdiv", ""),
    operator.and_: ("", "and_"),
}
_COMPARED = {operator.gt: ">", operator.ge: ">=", operator.lt: "<", operator.eq: "=="}


def _define(op: Any) -> None:
    @type_callable(op)
    def typed(context: Any) -> Any:
        def result(a: Any, b: Any) -> Any:
            if isinstance(a, Lanes) and a == b:
                return Lanes(types.boolean, a.count) if op in _COMPARED else a
            return None

        return result

    @lower_builtin(op, Lanes, Lanes)
    def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        real = isinstance(signature.args[0].dtype, types.Float)
        if op in _COMPARED:
            if real:
                flags = _ORDER if op is operator.gt else ()
                return builder.fcmp_ordered(_COMPARED[op], *arguments, flags=flags)
            return builder.icmp_signed(_COMPARED[op], *arguments)
        if real:
            return getattr(builder, _ARITHMETIC[op][0])(*arguments, flags=_FAST)
        return getattr(builder, _ARITHMETIC[op][1])(*arguments)


for _op in (*_ARITHMETIC, *_COMPARED):
    _define(_op)


# --- instructions that several words share -------------------------------------------------------


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The address of the first number of an array; a pointer stays what it is."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, builder, value).data
    return value


def _place(builder: Any, data: Any, at: Any, vector: Any) -> Any:
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _spread(builder: Any, scalar: Any, lanes: int) -> Any:
    kind = _VECTOR(scalar.type, lanes)
    unset = ir.Constant(kind, _UNDEFINED)
    one = builder.insert_element(unset, scalar, WORD(0))
    return builder.shuffle_vector(one, unset, ir.Constant(_VECTOR(WORD, lanes), [0] * lanes))


def _loop(builder: Any, n: Any, starts: list[Any], body: Callable[..., list[Any]]) -> list[Any]:
    """Emit a loop over 0, 1 … < n; returns the values that `body` makes of `starts` in turn."""
    before = builder.block
    inside, after = builder.append_basic_block("columns"), builder.append_basic_block("done")
    builder.branch(inside)
    builder.position_at_end(inside)
    at = builder.phi(INDEX)
    values = [builder.phi(start.type) for start in starts]
    following = [builder.add(at, INDEX(1)), *body(at, *values)]
    for phi, start, then in zip([at, *values], [INDEX(0), *starts], following, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(then, inside)
    builder.cbranch(builder.icmp_signed("<", following[0], n), inside, after)
    builder.position_at_end(after)
    return following[1:]


def _reduced(builder: Any, how: str, value: Any, flags: Any = ()) -> Any:
    """All lanes folded into one number."""
    element, lanes = value.type.element, value.type.count
    name = f"llvm.vector.reduce.{how}.v{lanes}{_name(element)}"
    kind = ir.FunctionType(element, [value.type])
    return builder.call(builder.module.declare_intrinsic(name, (), kind), [value], fastmath=flags)


def _name(element: Any) -> str:
    if isinstance(element, ir.IntType):
        return f"i{element.width}"
    return "f64" if isinstance(element, ir.DoubleType) else "f32"


def _is_memory(kind: Any) -> bool:
    contiguous = isinstance(kind, types.Array) and kind.layout == "C"
    return contiguous or isinstance(kind, types.CPointer)


# --- words ---------------------------------------------------------------------------------------


def lanes_of(wanted: int) -> int:
    """The number of lanes of a vector where `wanted` would be best."""
    return wanted


def load_of(lanes: int) -> Any:
    """``load(array, at)``: a vector of `lanes` numbers from flat index `at` on."""

    @intrinsic
    def load(typing_context: Any, array: Any, at: Any) -> Any:
        if not _is_memory(array):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            vector = context.get_value_type(signature.return_type)
            data = _data(context, builder, kind, arguments[0])
            place = _place(builder, data, arguments[1], vector)
            return builder.load(place, align=kind.dtype.bitwidth // 8)

        return Lanes(array.dtype, lanes)(array, types.int64), generate

    return load


@intrinsic
def store(typing_context: Any, value: Any, array: Any, at: Any) -> Any:
    """All lanes to flat index `at` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, kind = arguments[0], signature.args[1]
        data = _data(context, builder, kind, arguments[1])
        place = _place(builder, data, arguments[2], value.type)
        builder.store(value, place, align=kind.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(value, array, types.int64), generate


def everywhere_of(lanes: int) -> Any:
    """``everywhere(number)``: the same in every lane."""

    @intrinsic
    def everywhere(typing_context: Any, number: Any) -> Any:
        number = types.unliteral(number)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _spread(builder, arguments[0], lanes)

        return Lanes(number, lanes)(number), generate

    return everywhere


@intrinsic
def counting(typing_context: Any, like: Any) -> Any:
    """0, 1, 2 … in lanes as wide as those of `like`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(signature.return_type)
        return ir.Constant(vector, list(range(vector.count)))

    whole = types.int64 if like.dtype.bitwidth == 64 else types.int32
    return Lanes(whole, like.count)(like), generate


@intrinsic
def ahead(typing_context: Any, where: Any, by: Any) -> Any:
    """Indices, each larger by the same."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, by = arguments
        by = builder.trunc(by, where.type.element) if where.type.element != INDEX else by
        return builder.add(where, _spread(builder, by, where.type.count))

    return where(where, types.int64), generate


@intrinsic
def like(typing_context: Any, value: Any, other: Any) -> Any:
    """A vector of floats as numbers of the type that `other` has."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(signature.return_type)
        if arguments[0].type == vector:
            return arguments[0]
        narrow = other.dtype.bitwidth < value.dtype.bitwidth
        return (builder.fptrunc if narrow else builder.fpext)(arguments[0], vector)

    return Lanes(other.dtype, value.count)(value, other), generate


@intrinsic
def larger(typing_context: Any, a: Any, b: Any) -> Any:
    """max(a, b) of equal types, neither of them NaN: a comparison that loops can be vectorized by.

    Numba's own form of ``a if a > b else b`` is a branch, and a running maximum by it is not.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        greater = builder.fcmp_ordered(">", *arguments, flags=_ORDER)
        return builder.select(greater, *arguments, flags=_ORDER)

    return a(a, a), generate


@intrinsic
def choose(typing_context: Any, mask: Any, a: Any, b: Any) -> Any:
    """a where the mask is set, and b elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return a(mask, a, a), generate


@intrinsic
def largest(typing_context: Any, value: Any) -> Any:
    """The largest lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _reduced(builder, "fmax", arguments[0], _ORDER)

    return value.dtype(value), generate


@intrinsic
def first(typing_context: Any, value: Any, best: Any, where: Any) -> Any:
    """The least index of a lane whose value is `best`; `where`: the index of each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, best, where = arguments
        whole, lanes = where.type.element, where.type.count
        same = builder.fcmp_ordered("==", value, _spread(builder, best, lanes))
        last = ir.Constant(where.type, [(1 << (whole.width - 1)) - 1] * lanes)
        first = _reduced(builder, "umin", builder.select(same, where, last))
        return first if whole == INDEX else builder.zext(first, INDEX)

    return types.int64(value, value.dtype, where), generate


@intrinsic
def bits_of_mask(typing_context: Any, mask: Any) -> Any:
    """A word whose lowest bits show which lanes are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], ir.IntType(mask.count))
        return bits if mask.count == INDEX.width else builder.zext(bits, INDEX)

    return types.uint64(mask), generate


@intrinsic
def lowest(typing_context: Any, bits: Any) -> Any:
    """The index of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@intrinsic
def shifted(typing_context: Any, value: Any, begin: Any) -> Any:
    """Every lane takes the number of the lane before it, and the first one that of `begin`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = value.count
        order = ir.Constant(_VECTOR(WORD, lanes), [lanes, *range(lanes - 1)])
        return builder.shuffle_vector(*arguments, order)

    return value(value, value), generate


# --- sums of a tile ------------------------------------------------------------------------------


def tile_sums(op: str, lanes: int, rows: int, vectors: int, apart: int, even: bool = True) -> Any:
    """``sums(x, starts, z, start, columns, out, at)``: all sums stay in registers to the end.

        out[at + r · apart + j] = Σ over d of op(x[starts[r] + d], z[start + d · apart + j])

    for d < columns, r < rows, j < lanes · vectors. `op`: "dot" x z, "sqdist" (x − z)², "near"
    −(x − z)², "l1" |x − z|, or "bytes": words of four bytes, of x from 0 to 255, of z signed, whose
    four products are added up in int32 (x86 with VNNI only). `starts`: a tuple, of the first start
    and how far apart they are where rows are `even`, and else of all starts.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (x, starts, z, start, columns, out, at) = signature.args, arguments
        element = WORD if op == "bytes" else context.get_value_type(kinds[2].dtype)
        vector, size = _VECTOR(element, lanes), 4 if op == "bytes" else kinds[2].dtype.bitwidth // 8
        x, z, out = (
            builder.bitcast(_data(context, builder, kinds[i], arguments[i]), element.as_pointer())
            for i in (0, 2, 5)
        )
        heads = [builder.gep(x, [s]) for s in _starts(builder, starts, rows, even)]
        parts = range(0, lanes * vectors, lanes)
        term = _term(builder, op, vector)

        def body(d: Any, *sums: Any) -> list[Any]:
            line = builder.add(start, builder.mul(d, INDEX(apart)))
            others = [
                builder.load(_place(builder, z, builder.add(line, INDEX(p)), vector), align=size)
                for p in parts
            ]
            so_far, terms = iter(sums), []
            for row in heads:
                number = builder.load(builder.gep(row, [d]), align=1 if op == "bytes" else size)
                number = _spread(builder, number, lanes)
                terms += [term(next(so_far), number, other) for other in others]
            return terms

        zero = ir.Constant(vector, [0 if op == "bytes" else 0.0] * lanes)
        totals = iter(_loop(builder, columns, [zero] * (rows * vectors), body))
        for r in range(rows):
            for p in parts:
                place = _place(builder, out, builder.add(at, INDEX(r * apart + p)), vector)
                builder.store(next(totals), place, align=size)
        return context.get_dummy_value()

    @intrinsic
    def sums(
        typing_context: Any, x: Any, starts: Any, z: Any, start: Any, columns: Any, out: Any,
        at: Any,
    ) -> Any:  # fmt: skip
        whole = types.int64
        each = types.UniTuple(whole, len(starts))
        return types.void(x, each, z, whole, whole, out, whole), generate

    return sums


def _starts(builder: Any, starts: Any, rows: int, even: bool) -> list[Any]:
    if not even:
        return [builder.extract_value(starts, r) for r in range(rows)]
    first, step = (builder.extract_value(starts, i) for i in (0, 1))
    return [builder.add(first, builder.mul(step, INDEX(r))) for r in range(rows)]


def _term(builder: Any, op: str, vector: Any) -> Callable[[Any, Any, Any], Any]:
    """total + what x and z add to it."""
    if op == "bytes":
        kind = ir.FunctionType(vector, [vector] * 3)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * vector.count}"
        step = builder.module.declare_intrinsic(name, (), kind)
        return lambda total, x, z: builder.call(step, [total, x, z])

    def term(total: Any, x: Any, z: Any) -> Any:
        if op == "dot":
            return builder.fadd(total, builder.fmul(x, z, flags=_FUSED), flags=_FUSED)
        gap = builder.fsub(x, z)
        if op == "l1":
            name = f"llvm.fabs.v{vector.count}{_name(vector.element)}"
            kind = ir.FunctionType(vector, [vector])
            size = builder.call(builder.module.declare_intrinsic(name, (), kind), [gap])
            return builder.fadd(total, size)
        add = builder.fsub if op == "near" else builder.fadd
        return add(total, builder.fmul(gap, gap, flags=_FUSED), flags=_FUSED)

    return term


# --- bits, and functions at an address -----------------------------------------------------------

_FLOAT_OF: dict[Any, Any] = {types.int32: types.float32, types.int64: types.float64}
_INTEGER_OF: dict[Any, Any] = {f: i for i, f in _FLOAT_OF.items()}


def _reinterpret(result: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return result(value), generate


@intrinsic
def float_from_bits(typing_context: Any, value: Any) -> Any:
    return _reinterpret(_FLOAT_OF[value], value) if value in _FLOAT_OF else None


@intrinsic
def bits_of_float(typing_context: Any, value: Any) -> Any:
    return _reinterpret(_INTEGER_OF[value], value) if value in _INTEGER_OF else None


@intrinsic
def call_at(
    typing_context: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any
) -> Any:
    """Call the C function at `address` with six pointers, all of them given as integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 6)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(address, pointer) for address in arguments[1:]])
        return context.get_dummy_value()

    return types.void(*[types.intp] * 7), generate


# --- this processor ------------------------------------------------------------------------------


def processor() -> dict[str, bool]:
    """Features of the processor that code is made for; none where Numba's settings name another."""
    settings: Any = config
    if settings.CPU_NAME or settings.CPU_FEATURES or not settings.ENABLE_AVX:
        return {}
    return dict(binding.get_host_cpu_features())
