"""Parameters declared once: what a parameter may be, the error where it is something else.

A class declares its parameters as data,

    parameters = {"alpha": Positive(), "solver": OneOf("auto", "cg"), "max_iter": Maybe(Count())}

and calls `check_parameters` (or `checked` for one of them) before it uses them. The same
declaration gives the words of the error, the type in the documentation and the values that one test
tries on every class (`bad`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from inspect import Parameter, signature
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from mercer._lazy import record
from mercer._suggest import nearest


class Check(Protocol):
    """The rule of a parameter."""

    @property
    def words(self) -> str:
        """The rule in words, as in "alpha must be {words}"."""

    def __call__(self, value: Any) -> Any:
        """The value as it is used; TypeError or ValueError if it may not be that."""

    def bad(self) -> Iterable[Any]:
        """Some values that are refused, for tests."""


@record
class Number:
    """A real number between two ends; `open_low`, `open_high`: not that end itself.

    `why` says, in the error, what speaks against other numbers.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    infinite: bool = False
    open_high: bool = False
    why: str = ""

    @property
    def words(self) -> str:
        ends = []
        if self.low > -math.inf:
            above = "positive" if self.low == 0 else f"above {self.low:g}"
            ends.append(above if self.open_low else f"at least {self.low:g}")
        if self.high < math.inf:
            ends.append(f"{'below' if self.open_high else 'at most'} {self.high:g}")
        if not self.infinite and self.high == math.inf:
            ends.append("finite")
        return "a number" + (f", {' and '.join(ends)}" if ends else "")

    def __call__(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError
        try:
            number = float(value)
        except OverflowError:  # an integer beyond all floats
            raise ValueError from None
        too_low = number <= self.low if self.open_low else number < self.low
        too_high = number >= self.high if self.open_high else number > self.high
        if math.isnan(number) or too_low or too_high:
            raise ValueError
        if math.isinf(number) and not self.infinite:
            raise ValueError
        return number

    def bad(self) -> Iterable[Any]:
        yield from (math.nan, "1", None, True, [1.0])
        if self.low > -math.inf:
            yield self.low if self.open_low else self.low - 1.0
        if self.high < math.inf:
            yield self.high if self.open_high else self.high + 1.0
        if not self.infinite:
            yield math.inf


def Positive(infinite: bool = False, why: str = "") -> Number:
    """A number > 0."""
    return Number(0.0, open_low=True, infinite=infinite, why=why)


def NonNegative(why: str = "") -> Number:
    """A number ≥ 0."""
    return Number(0.0, why=why)


def Share(why: str = "") -> Number:
    """A number > 0 and ≤ 1."""
    return Number(0.0, 1.0, open_low=True, why=why)


@record
class Count:
    """A whole number of 64 bits from `least` to `most`; `floats`: 2.0 is one, too.

    `why` says, in the error, what speaks against other numbers.
    """

    least: int = 1
    most: int = sys.maxsize
    floats: bool = False
    why: str = ""

    @property
    def words(self) -> str:
        if self.most == sys.maxsize:
            return f"a whole number of at least {self.least}"
        return f"a whole number from {self.least} to {self.most}"

    def __call__(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError
        if not (isinstance(value, Integral) or (self.floats and float(value).is_integer())):
            raise ValueError
        number = int(value)  # type: ignore[call-overload]
        if not self.least <= number <= self.most:
            raise ValueError
        return number  # type: ignore[no-any-return]

    def bad(self) -> Iterable[Any]:
        yield from (self.least - 1, self.least + 0.5, self.most + 1, "3", True, math.nan, None)


class Among:
    """One of a few values; `spelled`: other ways to write them; `why` there are no others."""

    def __init__(
        self, *values: Any, spelled: Mapping[Any, Any] | None = None, why: str = ""
    ) -> None:
        self.values: tuple[Any, ...] = values
        self.spelled: dict[Any, Any] = dict(spelled or {})
        self.why: str = why

    @property
    def words(self) -> str:
        return "one of " + ", ".join(repr(v) for v in self.values)

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, (str, Real)) or isinstance(value, bool):
            raise TypeError
        value = self.spelled.get(value, value)
        if value not in self.values:
            raise ValueError
        return self.values[self.values.index(value)]

    def bad(self) -> Iterable[Any]:
        return ("no such value", 3.25, None, True, math.nan)


class OneOf:
    """One of a few words; `more` gives those of a registry, which is read at each check."""

    def __init__(self, *choices: str, more: Callable[[], Iterable[str]] = tuple) -> None:
        self._choices, self._more = choices, more

    @property
    def choices(self) -> tuple[str, ...]:
        return (*self._choices, *self._more())

    @property
    def words(self) -> str:
        listed = ", ".join(repr(c) for c in self.choices)
        return f"one of {listed}" if len(self.choices) > 1 else listed

    def __call__(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ValueError
        return value

    def bad(self) -> Iterable[Any]:
        return ("no such choice", 3, None, self.choices[0].upper() + "!")


class Flag:
    """True or False."""

    words = "True or False"

    def __call__(self, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError
        return bool(value)

    def bad(self) -> Iterable[Any]:
        return ("yes", 2, None)


@record
class Maybe:
    """A value that another check takes, or None."""

    check: Check

    @property
    def words(self) -> str:
        return f"{self.check.words}, or None"

    @property
    def why(self) -> str:
        return getattr(self.check, "why", "")

    def __call__(self, value: Any) -> Any:
        return None if value is None else self.check(value)

    def bad(self) -> Iterable[Any]:
        return (value for value in self.check.bad() if value is not None)


class Either:
    """A value that one of several checks takes."""

    def __init__(self, *checks: Check) -> None:
        self.checks = checks

    @property
    def words(self) -> str:
        return ", or ".join(check.words for check in self.checks)

    def __call__(self, value: Any) -> Any:
        errors: list[Exception] = []
        for check in self.checks:
            try:
                return check(value)
            except (TypeError, ValueError) as error:
                errors.append(error)
        raise ValueError if any(isinstance(e, ValueError) for e in errors) else TypeError

    def bad(self) -> Iterable[Any]:
        return (v for check in self.checks for v in check.bad() if not self._takes(v))

    def _takes(self, value: Any) -> bool:
        try:
            self(value)
        except (TypeError, ValueError):
            return False
        return True


@record
class Several:
    """One value that another check takes, or a non-empty list of them; always an array."""

    check: Check

    @property
    def words(self) -> str:
        return f"{self.check.words}, or a list of such"

    def __call__(self, value: Any) -> np.ndarray:
        if isinstance(value, (str, bytes)) or np.ndim(value) > 1:
            raise TypeError
        one = np.ndim(value) == 0 and not isinstance(value, Set)
        values = [value] if one else list(value)
        if not values:
            raise ValueError
        # One number of a NumPy array is no Python number.
        plain = [v.item() if isinstance(v, np.generic) else v for v in values]
        return np.array([self.check(v) for v in plain])

    def bad(self) -> Iterable[Any]:
        return (*(v for v in self.check.bad() if not isinstance(v, list)), [], [[1.0]])


@record
class Pair:
    """Two values that another check takes; always a tuple."""

    check: Check

    @property
    def words(self) -> str:
        return f"a pair, each {self.check.words}"

    def __call__(self, value: Any) -> tuple[Any, Any]:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise TypeError
        if len(value) != 2:
            raise ValueError
        first, second = value
        return self.check(first), self.check(second)

    def bad(self) -> Iterable[Any]:
        yield from (3, "ab", [], [1, 1, 1])
        yield from ((value, value) for value in self.check.bad())


class Function:
    """Something that can be called."""

    words = "a function"

    def __call__(self, value: Any) -> Any:
        if not callable(value):
            raise TypeError
        return value

    def bad(self) -> Iterable[Any]:
        return ("f", 3, None)


class Anything:
    """Checked elsewhere, where there is more to go by: a kernel, a random state, class weights."""

    words = "anything"

    def __call__(self, value: Any) -> Any:
        return value

    def bad(self) -> Iterable[Any]:
        return ()


#: What `declare` gives.
Declared = Mapping[str, Any]


def declare(**entries: Any) -> Declared:
    """A read-only table of parameters by name, for the body of a class."""
    return MappingProxyType(entries)


def random_from(random_state: Any) -> np.random.RandomState:
    """Random numbers from a seed or a RandomState; None is the seed 0, so that fits are repeatable.

    >>> random_from(None).randint(10) == random_from(0).randint(10)
    True
    """
    from sklearn.utils import check_random_state

    return check_random_state(0 if random_state is None else random_state)  # type: ignore[no-any-return]


def checked(owner: str, name: str, value: Any, check: Check, why: str = "") -> Any:
    """The value as it is used, or an error that names class, parameter, rule and value."""
    try:
        return check(value)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if kind is ValueError:  # a reason speaks about numbers, not about what is none
            why = why or getattr(check, "why", "")
        beyond = isinstance(value, int) and abs(value) > sys.float_info.max
        shown = "an integer that is larger than every float" if beyond else repr(value)
        if isinstance(value, int) and sys.maxsize < abs(value) <= sys.float_info.max:
            shown += ", which has more than 64 bits"
        said = str(error) or f"must be {check.words}, got {shown}"
        near = nearest(value, getattr(check, "choices", ()), 0.6) if type(value) is str else None
        hint = f". Did you mean {near!r}?" if near else ""
        raise kind(f"{owner}: {name} {said}{f' ({why})' if why else ''}{hint}") from None


def check_parameters(owner: Any, parameters: Mapping[str, Check]) -> None:
    """An error for the first of the declared parameters of an object that breaks its rule."""
    kind: Any = type(owner)
    who, defaults = kind.__name__, _defaults(kind)
    for name, check in parameters.items():
        value = getattr(owner, name)
        if value is not defaults.get(name, _NONE):  # a default keeps the rule, as a test sees to
            checked(who, name, value, check)


@lru_cache(maxsize=256)
def _defaults(cls: Any) -> dict[str, Any]:
    """The parameters of the constructor that need not be given, with their values."""
    arguments = signature(cls.__init__).parameters.values()
    return {p.name: p.default for p in arguments if p.default is not Parameter.empty}


#: What no parameter is.
_NONE = object()
