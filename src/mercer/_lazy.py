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
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
