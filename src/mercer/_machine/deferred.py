"""Modules of others that are loaded when something of them is used, not when they are named.

scikit-learn names `scipy.stats` in its first module, and calls a function of it now and then. What
is not called costs a command a quarter of the time that it takes to start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module until a name of it is asked for that is not one of those `known`."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(name)
        spec = find_spec(name)  # loads the package that it is in, no more
        if spec is not None and spec.submodule_search_locations is not None:
            self.__path__ = spec.submodule_search_locations
        for later in known:
            setattr(self, later, _Later(self, later))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import of other modules looks at in all of them
            raise AttributeError(name)
        return getattr(_loaded(self), name)


class _Later:
    """Stands for something in a module that is loaded when it is called, or looked into."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return getattr(_loaded(self._module), self._name)(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_loaded(self._module), self._name), name)


def _loaded(module: ModuleType) -> ModuleType:
    """The module itself."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    return import_module(module.__name__)


def defer(name: str, known: Iterable[str] = ()) -> None:
    """Load a module on its first use; naming these functions or objects of it is none yet.

    For a process of our own: other programs may look at modules in ways that this does not foresee.

    >>> defer("json.tool", ["main"])
    >>> from json.tool import main
    >>> "argparse" in vars(sys.modules["json.tool"]), callable(main), main.__name__
    (False, True, 'main')
    >>> "argparse" in vars(sys.modules["json.tool"])
    True
    """
    if name not in sys.modules:
        sys.modules[name] = _Deferred(name, known)


__all__ = ["defer"]
