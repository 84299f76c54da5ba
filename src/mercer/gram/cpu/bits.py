"""Instructions that Numba has no name for: bits of floats, a maximum, a call at an address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_FLOAT_OF: dict[Any, Any] = {types.int32: types.float32, types.int64: types.float64}
_INTEGER_OF: dict[Any, Any] = {f: i for i, f in _FLOAT_OF.items()}


def _reinterpret(result: Any, value: Any) -> Any:  # pragma: no cover - runs in the compiler
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return result(value), generate


@intrinsic
def float_from_bits(typing_context: Any, value: Any) -> Any:
    return _reinterpret(_FLOAT_OF[value], value) if value in _FLOAT_OF else None


@intrinsic
def bits_of_float(typing_context: Any, value: Any) -> Any:
    return _reinterpret(_INTEGER_OF[value], value) if value in _INTEGER_OF else None


def _larger(typing_context: Any, a: Any, b: Any) -> Any:
    """max(a, b) of equal types, neither of them NaN: a comparison that loops can be vectorized by.

    Numba's own form of ``a if a > b else b`` is a branch, and a running maximum by it is not.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, two = arguments
        greater = builder.fcmp_ordered(">", one, two, flags=("nnan", "nsz"))
        return builder.select(greater, one, two, flags=("nnan", "nsz"))

    return (a(a, a), generate) if a == b and isinstance(a, types.Float) else None


def _call_at(
    typing_context: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any
) -> Any:
    """Call the C function at `address` with six pointers, all of them given as integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 6)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(given, pointer) for given in arguments[1:]])
        return context.get_dummy_value()

    return types.void(*[types.intp] * 7), generate


#: As compiled functions see them: without the context of the compiler.
larger: Any = intrinsic(_larger)
call_at: Any = intrinsic(_call_at)
