"""Numbers that carry their own error bound: what a counterexample is decided with.

An `Interval` holds two 170-bit ends that enclose the exact value. A comparison that the ends leave
open raises `Open` instead of guessing, so that whatever is concluded is true of the exact numbers.
Intervals pass through Python and NumPy code (object arrays) like other numbers; `trace` runs a
function on them and notices where it left them for float64.
"""

from __future__ import annotations

import contextvars
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from mpmath import libmp, mp

BITS = 170  # about 50 digits


class Open(ArithmeticError):
    """The enclosures are too wide to decide, or the value is not defined there."""


class Interval:
    """[low, high], each end a number of mpmath's `libmp`; every operation rounds outwards."""

    __slots__ = ("ends",)

    def __init__(self, ends: tuple[Any, Any]) -> None:
        if libmp.fnan in ends:
            raise Open("the value is not defined")
        self.ends: tuple[Any, Any] = ends

    @classmethod
    def of(cls, value: Any) -> Interval:
        """The number itself, every float taken as exactly what it is."""
        if isinstance(value, Interval):
            return value
        if isinstance(value, numbers.Integral | np.bool_):
            end = libmp.from_int(int(value))
        elif isinstance(value, numbers.Real):
            end = libmp.from_float(float(value))
        else:
            raise TypeError(f"{type(value).__name__} is no real number")
        return cls((end, end))

    @classmethod
    def around(cls, value: float, error: float) -> Interval:
        """[value − error, value + error]."""
        exact = libmp.from_float(error)
        return cls.of(value) + cls((libmp.mpf_neg(exact), exact))

    def _with(self, operation: Callable[..., Any], other: Any, swap: bool = False) -> Interval:
        if isinstance(other, np.ndarray) or not isinstance(other, numbers.Real | Interval):
            return NotImplemented
        u, v = self.ends, Interval.of(other).ends
        return Interval(operation(v, u, BITS) if swap else operation(u, v, BITS))

    def __add__(self, other: Any) -> Interval:
        return self._with(libmp.mpi_add, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Interval:
        return self._with(libmp.mpi_sub, other)

    def __rsub__(self, other: Any) -> Interval:
        return self._with(libmp.mpi_sub, other, swap=True)

    def __mul__(self, other: Any) -> Interval:
        return self._with(libmp.mpi_mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Interval:
        return self._with(_quotient, other)

    def __rtruediv__(self, other: Any) -> Interval:
        return self._with(_quotient, other, swap=True)

    def __pow__(self, exponent: Any) -> Interval:
        if isinstance(exponent, int | float | np.number) and exponent == int(exponent):
            power = Interval(libmp.mpi_pow_int(self.ends, abs(int(exponent)), BITS))
            return power if exponent >= 0 else 1 / power
        return (self.log() * exponent).exp()

    def __rpow__(self, base: Any) -> Interval:
        return Interval.of(base) ** self

    def __neg__(self) -> Interval:
        return Interval(libmp.mpi_neg(self.ends))

    def __pos__(self) -> Interval:
        return self

    def __abs__(self) -> Interval:
        return Interval(libmp.mpi_abs(self.ends, BITS))

    def __lt__(self, other: Any) -> bool:
        (a, b), (c, d) = self.ends, Interval.of(other).ends
        if libmp.mpf_lt(b, c):
            return True
        if libmp.mpf_le(d, a):
            return False
        raise Open("which of two numbers is smaller is not known")

    def __gt__(self, other: Any) -> bool:
        return Interval.of(other) < self

    def __le__(self, other: Any) -> bool:
        return not Interval.of(other) < self

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, numbers.Real | Interval):
            return NotImplemented
        (a, b), (c, d) = self.ends, Interval.of(other).ends
        if libmp.mpf_lt(b, c) or libmp.mpf_lt(d, a):
            return False
        if a == b == c == d:
            return True
        raise Open("whether two numbers are equal is not known")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.ends)

    def __bool__(self) -> bool:
        return self != 0

    def __float__(self) -> float:
        value = float(self.middle)
        _LEFT.get([]).append(value)
        return value

    @property
    def middle(self) -> Any:
        """The number halfway between the ends, of mpmath."""
        return mp.make_mpf(libmp.mpi_mid(self.ends, BITS))

    @property
    def is_negative(self) -> bool:
        """True if every number between the ends is below zero."""
        return bool(libmp.mpf_lt(self.ends[1], libmp.fzero))

    def excludes_zero(self) -> bool:
        return self.is_negative or bool(libmp.mpf_lt(libmp.fzero, self.ends[0]))

    def larger(self, other: Any) -> Interval:
        (a, b), (c, d) = self.ends, Interval.of(other).ends
        return Interval((a if libmp.mpf_ge(a, c) else c, b if libmp.mpf_ge(b, d) else d))

    def exp(self) -> Interval:
        return Interval(libmp.mpi_exp(self.ends, BITS))

    def log(self) -> Interval:
        if not libmp.mpf_lt(libmp.fzero, self.ends[0]):
            raise Open("the logarithm of a number that may not be positive")
        return Interval(libmp.mpi_log(self.ends, BITS))

    def sqrt(self) -> Interval:
        if libmp.mpf_lt(self.ends[0], libmp.fzero):
            raise Open("the root of a number that may be negative")
        return Interval(libmp.mpi_sqrt(self.ends, BITS))

    def sin(self) -> Interval:
        return Interval(libmp.mpi_sin(self.ends, BITS))

    def cos(self) -> Interval:
        return Interval(libmp.mpi_cos(self.ends, BITS))

    def square(self) -> Interval:
        return self**2

    def tanh(self) -> Interval:
        return _rising(libmp.mpf_tanh, self)

    def arcsin(self) -> Interval:
        return _rising(libmp.mpf_asin, self)

    def arccos(self) -> Interval:
        return pi() / 2 - self.arcsin()

    def log1p(self) -> Interval:
        return (1 + self).log()

    def expm1(self) -> Interval:
        return self.exp() - 1

    def __repr__(self) -> str:
        return f"Interval({', '.join(libmp.to_str(end, 20) for end in self.ends)})"


def _quotient(u: Any, v: Any, bits: int) -> Any:
    if libmp.mpf_le(v[0], libmp.fzero) and libmp.mpf_ge(v[1], libmp.fzero):
        raise Open("a division by a number that may be zero")
    return libmp.mpi_div(u, v, bits)


def _rising(function: Callable[..., Any], u: Interval) -> Interval:
    """A rising function at both ends, each moved outwards by more than mpmath may be off."""
    try:
        low, high = (function(end, BITS + 20) for end in u.ends)
    except libmp.ComplexResult:
        raise Open("the value is not defined") from None
    step = libmp.mpf_shift(libmp.fone, -BITS)
    low = libmp.mpf_sub(low, libmp.mpf_mul(libmp.mpf_abs(low), step), BITS, libmp.round_floor)
    high = libmp.mpf_add(high, libmp.mpf_mul(libmp.mpf_abs(high), step), BITS, libmp.round_ceiling)
    return Interval((low, high))


def pi() -> Interval:
    ends = (libmp.mpf_pi(BITS, to) for to in (libmp.round_floor, libmp.round_ceiling))
    return Interval(tuple(ends))  # type: ignore[arg-type]


class Context:
    """The functions that the table of operations takes from `mpmath`, for intervals."""

    mpf = staticmethod(Interval.of)
    exp, log, sqrt = Interval.exp, Interval.log, Interval.sqrt
    sin, cos, tanh = Interval.sin, Interval.cos, Interval.tanh
    asin, acos = Interval.arcsin, Interval.arccos

    @staticmethod
    def fsum(terms: Iterable[Any]) -> Interval:
        return sum(terms, Interval.of(0))

    @staticmethod
    def fprod(factors: Iterable[Any]) -> Interval:
        return math.prod(factors, start=Interval.of(1))

    @staticmethod
    def sign(u: Interval) -> Interval:
        return Interval.of((u > 0) - (u < 0) if u else 0)

    @staticmethod
    def trace(function: Callable[..., Any], *arguments: Any) -> Any:
        return trace(function, *arguments)


#: The float64 numbers that the traced function turned intervals into.
_LEFT: contextvars.ContextVar[list[float]] = contextvars.ContextVar("_LEFT")


def trace(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on arrays of intervals; its array, if it computed with intervals alone.

    A plain number is as good where it is whole (a count, a truth value), for no rounding reached
    it; and where it is the one interval that was turned into a float, as in ``float(x @ z)``.
    """
    left: list[float] = []
    token = _LEFT.set(left)
    try:
        once, again = (np.asarray(function(*arguments), dtype=object) for _ in range(2))
    except Open:
        raise
    except Exception as error:  # the function may do anything with numbers it does not know
        raise Open(f"the function does not take intervals: {error}") from None
    finally:
        _LEFT.reset(token)
    if once.shape != again.shape or not all(map(_same, once.ravel(), again.ravel())):
        raise Open("the function does not give the same value twice")
    enclosed = [_enclosed(value, left[: len(left) // 2]) for value in once.ravel()]
    result = np.empty(once.shape, dtype=object)
    result.ravel()[:] = enclosed
    return result


def _same(u: Any, v: Any) -> bool:
    if isinstance(u, Interval) and isinstance(v, Interval):
        return u.ends == v.ends
    return bool(u == v)


def _enclosed(value: Any, left: list[float]) -> Interval:
    if isinstance(value, Interval):
        if left:
            raise Open("some of the value was computed in float64")
        return value
    number = float(value)
    if left == [number]:
        return Interval.around(number, math.ulp(number))
    if left or number != round(number) or abs(number) > 2**53:
        raise Open("the value was computed in float64")
    return Interval.of(value)
