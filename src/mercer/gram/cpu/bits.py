"""The float whose bits an integer holds, and back: instructions Numba has no name for."""

from __future__ import annotations

from typing import Any

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
