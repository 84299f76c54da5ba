"""The float whose bits an integer holds: an instruction Numba has no name for."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def float_from_bits(typing_context: Any, value: Any) -> Any:  # pragma: no cover - compiled
    kinds: dict[Any, Any] = {types.int32: types.float32, types.int64: types.float64}
    if value not in kinds:
        return None
    result = kinds[value]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return result(value), generate
