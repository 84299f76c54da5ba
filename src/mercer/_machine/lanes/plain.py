"""The words of `mercer._machine.lanes.llvm` for vectors of one lane: numbers, in plain Numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import chosen_by_types, inner

FORM, CALLS = "plain", False


def lanes_of(wanted: int) -> int:
    return 1


def load_of(lanes: int) -> Any:
    return _load


def everywhere_of(lanes: int) -> Any:
    return _everywhere


@inner
def _load(array: Any, at: Any) -> Any:
    return array.ravel()[at]


@inner
def _everywhere(number: Any) -> Any:
    return number


@inner
def store(value: Any, array: Any, at: Any) -> None:
    array.ravel()[at] = value


@inner
def counting(like: Any) -> Any:
    return np.int64(0)


@inner
def ahead(where: Any, by: Any) -> Any:
    return where + by


@chosen_by_types
def like(value: Any, other: Any) -> Any:
    def single(value: Any, other: Any) -> Any:
        return np.float32(value)

    def double(value: Any, other: Any) -> Any:
        return np.float64(value)

    return single if _is_single(other) else double


def _is_single(kind: Any) -> bool:
    """Whether a type of Numba's, or a number, has 32 bits, or an array such numbers."""
    return "32" in str(getattr(kind, "dtype", kind))


@inner
def larger(a: Any, b: Any) -> Any:
    return a if a > b else b


@inner
def choose(mask: Any, a: Any, b: Any) -> Any:
    return a if mask else b


@inner
def largest(value: Any) -> Any:
    return value


@inner
def first(value: Any, best: Any, where: Any) -> Any:
    return where


@inner
def bits_of_mask(mask: Any) -> Any:
    return np.uint64(mask)


@inner
def lowest(bits: Any) -> Any:
    at = 0
    while not (bits >> np.uint64(at)) & np.uint64(1):
        at += 1
    return at


@inner
def shifted(value: Any, begin: Any) -> Any:
    return begin


def tile_sums(op: str, lanes: int, rows: int, vectors: int, apart: int, even: bool = True) -> Any:
    squares, sign = op in ("sqdist", "near"), -1 if op == "near" else 1

    @inner
    def sums(x: Any, starts: Any, z: Any, start: Any, columns: Any, out: Any, at: Any) -> None:
        left, right, result = x.ravel(), z.ravel(), out.ravel()
        for r in range(rows):
            head = starts[0] + r * starts[1] if even else starts[r]
            to = at + r * apart
            for j in range(lanes * vectors):
                result[to + j] = 0
            for d in range(columns):
                number, line = left[head + d], start + d * apart
                for j in range(lanes * vectors):
                    if op == "dot":
                        result[to + j] += number * right[line + j]
                    else:
                        gap = number - right[line + j]
                        result[to + j] += sign * (gap * gap if squares else abs(gap))

    return sums


@chosen_by_types
def float_from_bits(value: Any) -> Any:
    def single(value: Any) -> Any:
        return np.int32(value).view(np.float32)

    def double(value: Any) -> Any:
        return np.int64(value).view(np.float64)

    return single if _is_single(value) else double


@chosen_by_types
def bits_of_float(value: Any) -> Any:
    def single(value: Any) -> Any:
        return np.float32(value).view(np.int32)

    def double(value: Any) -> Any:
        return np.float64(value).view(np.int64)

    return single if _is_single(value) else double


@inner
def call_at(address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> None:
    raise RuntimeError("plain Numba calls no function at an address")


def processor() -> dict[str, bool]:
    return {}
