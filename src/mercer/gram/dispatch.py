"""Which engine computes K: the data picks it, or ``config(device=…)`` does.

An engine is a place where data can be, with a Gram of its own and the solvers that only it has. It
registers itself under a name; a package outside this library does the same, by calling `register`
or by an entry point of the group "mercer.engines" that names a module to import. The host is the
engine that takes whatever no other one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any

import numpy as np

from mercer._arrays import is_chunked, is_tensor
from mercer._config import DEVICES, get_config
from mercer._lazy import record
from mercer._notices import MachineWarning, warn
from mercer._plugins import load_plugins
from mercer.formula import Formula
from mercer.formula.ops import without_form
from mercer.gram.base import Gram
from mercer.gram.form import form_for
from mercer.gram.host import HostGram
from mercer.gram.rows import Rows

#: Modules that register an engine when they are imported; they must be cheap to import.
BUILT_IN = {"cuda": "mercer.engines.cuda", "cluster": "mercer.engines.cluster"}


@record
class Engine:
    """A place for data: which rows belong there, and how their Gram is made.

    Parameters
    ----------
    name : str
        As ``config(device=name)`` takes it.
    takes : callable
        Whether rows belong there: ``takes(kernel, X, Z)``. NumPy arrays are the host's while
        ``config(device="cpu")`` holds, and no engine is asked for them.
    make : callable
        Their Gram: ``make(kernel, X, Z)``.
    keeps : callable
        Whether learners leave these rows where they are instead of fetching them.
    check_rows : callable
        Validates rows that stay there, and gives them back.
    solvers : dict of str to callable or str
        Functions for named problems, or "module:function", imported on first use.
    device : bool, default True
        Whether ``config(device=name)`` sends arrays there.

    Examples
    --------
    >>> from mercer import gram
    >>> engine = gram.Engine("nowhere", lambda kernel, X, Z: False, lambda kernel, X, Z: None)
    >>> engine.name
    'nowhere'
    """

    name: str
    takes: Callable[[Any, Any, Any], bool]
    make: Callable[[Any, Any, Any], Gram]
    keeps: Callable[[Any, Any], bool] = lambda kernel, X: False
    check_rows: Callable[[Any, str], Any] = lambda X, name: X
    solvers: Mapping[str, Any] = field(default_factory=dict)
    device: bool = True

    def solver(self, name: str, default: Any = None) -> Any:
        """The engine's own function for a problem, else `default`."""
        solver = self.solvers.get(name, default)
        if isinstance(solver, str):
            module, _, function = solver.partition(":")
            solver = getattr(import_module(module), function)
        return solver


HOST = Engine(
    "cpu",
    lambda kernel, X, Z: True,
    HostGram,
    solvers={"shifted": "mercer.solvers.linear.factor:shifted"},
)
_engines: dict[str, Engine] = {}
_told: set[str] = set()


def register(engine: Engine) -> None:
    """Let an engine take the data it says it takes; it is asked before those registered earlier.

    Parameters
    ----------
    engine : Engine
        What to add.

    Examples
    --------
    >>> from mercer import gram
    >>> gram.register(gram.Engine("nowhere", lambda kernel, X, Z: False, lambda kernel, X, Z: None))
    >>> gram.dispatch.unregister("nowhere")  # leave nothing behind
    """
    if engine.name == HOST.name:
        raise ValueError("'cpu' is the engine of the host and cannot be replaced")
    _engines.pop(engine.name, None)
    _engines[engine.name] = engine
    if engine.device:
        DEVICES.add(engine.name)


register_engine = register


def unregister(name: str) -> None:
    """Forget an engine that was registered, and its device."""
    _engines.pop(name, None)
    DEVICES.discard(name)


def _load() -> None:
    """Import what registers itself: the engines of this library, and the one that is configured."""
    for name, module in BUILT_IN.items():
        if name not in _engines:
            import_module(module)
    if get_config().device.partition(":")[0] not in (HOST.name, *_engines):
        load_plugins("engines")


def engine_named(name: str) -> Engine:
    """The engine of this name; an error that lists those there are."""
    if name == HOST.name:
        return HOST
    _load()
    if name not in _engines:
        names = ", ".join(sorted([HOST.name, *_engines]))
        raise ValueError(f"no engine is called {name!r}; there are {names}")
    return _engines[name]


def engine_for(kernel: Any, X: Any, Z: Any = None) -> Engine:
    """The engine that this data belongs to: arrays to the host, unless a device is set."""
    here = type(X) is np.ndarray and (Z is None or type(Z) is np.ndarray)
    if here and get_config().device == HOST.name:
        return HOST
    _load()
    for engine in reversed(_engines.values()):
        if engine.takes(kernel, X, Z):
            return engine
    return HOST


def make_gram(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K on the engine this data belongs to; Z may be `held`."""
    raw = Z.raw if isinstance(Z, Rows) else Z
    engine = engine_for(kernel, X, raw)
    return engine.make(kernel, X, Z if engine is HOST else raw)


#: K on the host, of a kernel or a formula, whatever device is set: ``host_gram(kernel, X, Z)``.
host_gram = HostGram


def held(kernel: Any, points: Any) -> Rows | Any:
    """The Rows of points that others are compared with again and again; tensors stay tensors."""
    if is_tensor(points) or is_chunked(points):
        return points
    rows = Rows(form_for(kernel), points, "Z")
    rows.is_held = True
    return rows


def solver_gram(kernel: Any, X: Any, Z: Any = None) -> Gram:
    """K for a solver: where its data belongs, and with results on the host either way."""
    return make_gram(kernel, X, Z).facing_host()


def keeper_of(kernel: Any, X: Any) -> Engine | None:
    """The engine on which a learner leaves X; None where X is fetched to the host."""
    if isinstance(X, (np.ndarray, list)):
        return None
    _load()
    return next((e for e in reversed(_engines.values()) if e.keeps(kernel, X)), None)


def has_formula(kernel: Any, target: str) -> bool:
    """Whether all of k is a formula of operations that `target` ("torch", say) has a form for.

    What has none runs on the host, which is said once.
    """
    if not isinstance(kernel, Formula) and kernel.is_opaque:
        _tell_once(
            f"{type(kernel).__name__} holds an opaque kernel, which has no GPU form: it is "
            "computed on the CPU"
        )
        return False
    form = form_for(kernel)
    lacking = without_form(form.operations, target)
    if lacking:
        names = ", ".join(map(repr, lacking))
        _tell_once(f"the operation {names} has no form for {target}: k is computed on the CPU")
    return not lacking and "opaque" not in form.operations


def _tell_once(message: str) -> None:
    if message not in _told:
        _told.add(message)
        warn(message, MachineWarning)
