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

#: Names and the modules that have them, from the stub.
_HOME = in_stub(__name__)
_MODULES = [name for name, module in _HOME.items() if module == __name__]
_load = by_name(__name__, _HOME, _MODULES)
#: Names of version 0.2 that stand in a module only, as most kernels do.
_MOVED = {
    **dict.fromkeys(("Counterexample", "Proof", "Undecided", "fourier_check"), "mercer.proof"),
    **dict.fromkeys(("formula", "solvers"), "mercer"),
}
sys.meta_path.append(ImportHints)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):  # a module that is yet to be imported: nobody needs a hint
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if name in _HOME:
        return _load(name)
    home = _former_home(name)
    if home is not None:
        return home
    raise unknown(__name__, name, __dir__(), _elsewhere(name))


def _former_home(name: str) -> Any:
    """Find what version 0.2 had under that name, and warn of where it is now; None if nothing."""
    from importlib import import_module

    from mercer._deprecated import warn_of

    module = _MOVED.get(name)
    if module == __name__:
        warn_of(f"mercer.{name}", f"`import mercer.{name}`", "what packages may use is in extend")
        return import_module(f"{__name__}.{name}")
    if module is None and name[:1].isupper():
        from mercer.kernels.catalog import KERNELS

        module = "mercer.kernels" if name in KERNELS else None
    if module is None:
        return None
    warn_of(f"mercer.{name}", f"{module}.{name}")
    return getattr(import_module(module), name)


def _elsewhere(name: str) -> str:
    """The end of the error: which module has a name that is not here; or nothing."""
    from importlib import import_module

    from mercer._suggest import CALLED_HERE

    called = CALLED_HERE.get(name, name)
    if called in __dir__():
        return ""
    for module in (f"mercer.{part}" for part in _MODULES):
        try:
            names = dir(import_module(module))
        except ModuleNotFoundError:  # an extra that is not installed
            continue
        if called in names:
            return f"; {f'{name} is called' if called != name else 'it is'} {module}.{called}"
    return ""


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
