"""A reply as bytes: uint32 length, JSON padded to 8 bytes, then float32 data.

The JSON names each array with its index in the float32 data and its shape.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._json import plain

ALIGNMENT = 8
LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class Reply:
    """What a request is answered with: facts as JSON, and arrays of numbers."""

    facts: dict[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


def packed(reply: Reply, request: Any = None) -> bytes:
    """
    >>> packed(Reply({"a": 1}, {"f": np.array([0.5])}), 7)[4:].split(b"}")[0]
    b'{"id": 7, "a": 1, "arrays": {"f": {"start": 0, "shape": [1]'
    """
    start, described, parts = 0, {}, []
    for name, values in reply.arrays.items():
        numbers = np.ascontiguousarray(values, dtype="<f4")
        described[name] = {"start": start, "shape": list(numbers.shape)}
        parts.append(numbers.tobytes())
        start += numbers.size
    header = {"id": request, **plain(reply.facts), "arrays": described}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(LENGTH.size + len(text)) % ALIGNMENT)
    return b"".join([LENGTH.pack(len(text)), text, *parts])


def unpacked(data: bytes) -> Reply:
    """What `packed` packed, for tests and for programs."""
    (length,) = LENGTH.unpack_from(data)
    facts = json.loads(data[LENGTH.size : LENGTH.size + length])
    numbers = np.frombuffer(data, dtype="<f4", offset=LENGTH.size + length)
    arrays = {}
    for name, what in facts.pop("arrays").items():
        size = int(np.prod(what["shape"]))
        arrays[name] = numbers[what["start"] : what["start"] + size].reshape(what["shape"])
    return Reply(facts, arrays)
