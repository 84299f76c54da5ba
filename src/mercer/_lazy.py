"""Names that load on first use (PEP 562), so that importing a package costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


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


def suggesting(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that has nothing to load, and says what a name may have meant."""

    def refuse(name: str) -> Any:
        raise unknown(module, name, names)

    return refuse


def unknown(module: str, name: str, names: Iterable[str], hint: str = "") -> Exception:
    """The error for the caller of the caller, who asked a module for a name that it has not.

    In ``from module import name`` Python puts words of its own in the place of those of an
    AttributeError, and the hint would be lost: there it is an ImportError.
    """
    from opcode import opmap

    from mercer._suggest import called_here

    said = f"module {module!r} has no attribute {name!r}{hint or called_here(name, module, names)}"
    caller = sys._getframe(2)
    if caller.f_code.co_code[caller.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(said.replace("has no attribute", "has no name"), name=module)
    return AttributeError(said, name=name, obj=None)
