"""Mercer: kernel machines with proofs, at the speed of the matrix product under them.

>>> import mercer
>>> k = 0.5 * mercer.Gaussian(sigma=2.0) + mercer.Polynomial(2, offset=1.0)
>>> bool(k.prove())
True

Docstrings name the lectures that a formula follows: Ritter ("Kernels and Kernelized Perceptron"),
Abernethy ("Lecture 09: Kernel Methods"), Gordon and Smola ("Perceptron and Kernels"), Klein
("Lecture 14: Kernel Methods"), and handwritten notes on feature vectors.
"""

from __future__ import annotations

import sys
from typing import Any

from mercer._lazy import ImportHints, by_name, in_stub, unknown

__version__ = "0.2.0"

#: Names and the modules that have them, from the stub; those of kernels are in their catalog.
_HOME = in_stub(__name__)
_MODULES = [name for name, module in _HOME.items() if module == __name__]
_load = by_name(__name__, _HOME, _MODULES)
sys.meta_path.append(ImportHints)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):  # a module that is yet to be imported: nobody needs a hint
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if name[:1].isupper() and name not in _HOME:
        from mercer import kernels

        if name in kernels.KERNELS:
            return globals().setdefault(name, getattr(kernels, name))
    if name in _HOME:
        return _load(name)
    raise unknown(__name__, name, __dir__(), _elsewhere(name))


def _elsewhere(name: str) -> str:
    """The end of the error: which module has a name that is not here; or nothing."""
    from importlib import import_module

    from mercer._suggest import CALLED_HERE

    called = CALLED_HERE.get(name, name)
    if called in __dir__():
        return ""
    for module in (f"mercer.{part}" for part in _MODULES if part != "solvers"):
        try:
            names = dir(import_module(module))
        except ModuleNotFoundError:  # an extra that is not installed
            continue
        if called in names:
            return f"; {f'{name} is called' if called != name else 'it is'} {module}.{called}"
    return ""


def __dir__() -> list[str]:
    from mercer import kernels

    return sorted([*_HOME, *kernels.KERNELS, "__version__"])
