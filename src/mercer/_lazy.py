"""What keeps imports cheap: names that load on first use (PEP 562), and read-only records.

``@dataclass(frozen=True)`` writes and compiles six functions per class, 0.4 ms; with a hundred
classes that was half of the time from ``import mercer`` to a first prediction. `record` has the
constructor written and shares the rest.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields
from importlib import import_module
from operator import attrgetter
from pkgutil import get_data
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: C) -> C:
    """A read-only dataclass, equal to others of its class and printed by its fields.

    >>> @record
    ... class Pair:
    ...     first: int
    ...     second: int = 2
    >>> Pair(1), Pair(1) == Pair(1, 2), hash(Pair(1)) == hash(Pair(1, 2))
    (Pair(first=1, second=2), True, True)
    >>> Pair(1).first = 3
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'first'
    """
    read_only(cls)
    compared = [f.name for f in fields(cls) if f.compare]
    get = attrgetter(*compared) if compared else type

    def __eq__(self: Any, other: Any) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(get(self))

    def __repr__(self: Any) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    for method in (__eq__, __hash__, __repr__):
        _unless_given(cls, method)
    return cls


def read_only(cls: C) -> C:
    """A dataclass each field of which is set once, by its constructor."""
    dataclass(eq=False, repr=False)(cls)  # changes the class in place
    names = frozenset(f.name for f in fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        is_field, values = name in names, self.__dict__
        if (is_field and name in values) or (not is_field and type(self) is cls):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        if is_field:
            values[name] = value  # the constructor of a record: there are many
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if name in names or type(self) is cls:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    for method in (__setattr__, __delattr__):
        _unless_given(cls, method)
    return cls


def _unless_given(cls: type, method: Callable[..., Any]) -> None:
    """Give a class a method that it does not write itself."""
    written = vars(cls).get(method.__name__)
    # A class that has its own __eq__ has a __hash__ of None, by the rules of the language.
    if written is None:
        setattr(cls, method.__name__, method)


def in_stub(package: str, stub: str = "__init__.pyi") -> dict[str, str]:
    """Names and their modules, as a stub imports them, one by one and under their own names.

    >>> in_stub("mercer", "extend.pyi")["SIZE"]
    'mercer.kernels.parameters'
    """
    text = (get_data(package, stub) or b"").decode()
    imports = re.findall(r"^from (\S+) import \(?\s*(\w+) as \2\b", text, re.MULTILINE)
    return {name: module for module, name in imports}


def by_name(
    package: str, where: Mapping[str, str], modules: Iterable[str] = ()
) -> Callable[[str], Any]:
    """A package's `__getattr__`: `where` says which module has a name; `modules` are its own."""
    parts = frozenset(modules)

    def load(name: str) -> Any:
        if name in parts:
            return import_module(f"{package}.{name}")
        if name not in where:
            raise unknown(package, name, where)
        value = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def from_stub(
    module: str, package: str = "", stub: str = "__init__.pyi"
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a module whose names load on first use."""
    where = in_stub(package or module, stub)
    listed = sorted(where)
    return listed, by_name(module, where), lambda: sorted({*vars(sys.modules[module]), *listed})


def unknown(module: str, name: str, names: Iterable[str], hint: str = "") -> AttributeError:
    """The error for a name that a module does not have, with what it is called there."""
    from mercer._suggest import called_here

    said = f"module {module!r} has no attribute {name!r}{hint or called_here(name, module, names)}"
    return AttributeError(said, name=name, obj=None)


class ImportHints:
    """Say in ``from mercer import SVC``, too, what the name is called here.

    Python replaces the words of an AttributeError there by its own. Before that it looks for a
    module ``mercer.SVC``, and asks the finders in ``sys.meta_path``, this one last. No module of
    ours has a capital letter.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        package, _, last = name.rpartition(".")
        if package.partition(".")[0] == "mercer" and last[:1].isupper():
            try:
                getattr(sys.modules[package], last)
            except AttributeError as error:
                raise ImportError(str(error), name=package) from None
