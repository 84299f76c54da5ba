"""The catalog: kernels by name, and functions by name for `warp` and `reweight`.

A class enters itself with ``@kernel``, and everything else reads the catalog.

The grammar, the names of this package, the tests, the tables of the documentation and the ONNX
cases all come from `LEAVES`. A kernel of your own enters in the same way:

>>> from mercer.formula.nodes import Formula, Input, sqdist
>>> from mercer.kernels import KERNELS, Kernel, kernel, parse
>>> @kernel
... class BellCurve(Kernel):
...     width: float = 1.0
...     def lower(self, rows: Input, path: str = "") -> Formula:
...         return (1.0 + sqdist(rows).over(self._named(path, "width") ** 2)) ** -1
>>> parse("2*bell_curve(width=2)")
2.0 * BellCurve(width=2.0)
>>> parse("bell_curve()")([[0.0]], [[2.0]])
array([[0.2]])
>>> "BellCurve" in KERNELS  # which has those of this package
False
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import MISSING, fields
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from mercer._arrays import is_sparse
from mercer._lazy import read_only
from mercer._parameters import Check, Number, Positive
from mercer._plugins import load_plugins
from mercer._suggest import suggest
from mercer.kernels.core import Kernel
from mercer.kernels.parameters import grammar_name

K = TypeVar("K", bound=type[Kernel])

#: Where kernels are that few programs need: what is in there is imported when it is asked for.
LATER = tuple(f"{__package__}.{name}" for name in ("graphs", "images", "strings"))


class Catalog(MutableMapping[str, type[Kernel]]):
    """Classes by name; an unknown name, or a question about all of them, imports those of `LATER`
    and those of other packages.

    >>> "spectrum" in LEAVES, "Spectrum" in KERNELS, "spectre" in LEAVES
    (True, True, False)
    """

    def __init__(self) -> None:
        #: Those that have been imported.
        self.loaded: dict[str, type[Kernel]] = {}

    def __getitem__(self, name: str) -> type[Kernel]:
        return (self.loaded if name in self.loaded else self._all())[name]

    def __setitem__(self, name: str, cls: type[Kernel]) -> None:
        self.loaded[name] = cls

    def __delitem__(self, name: str) -> None:
        del self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, type[Kernel]]:
        for module in LATER:
            import_module(module)
        load_plugins("kernels")
        return self.loaded


#: Every kernel that has a name in the grammar, by that name.
LEAVES = Catalog()
#: The kernels of this package, by the name of their class.
KERNELS = Catalog()


@dataclass_transform(frozen_default=True, eq_default=False)
def frozen(cls: K) -> K:
    """What every kernel is: a read-only dataclass; `Kernel` gives it identity and text."""
    read_only(cls)
    init, order = cls.__init__, [field.name for field in fields(cls)]  # type: ignore[arg-type]
    defaults = {f.name: f.default for f in fields(cls) if f.default is not MISSING}  # type: ignore[arg-type]

    @wraps(init)
    def by_any_name(self: Kernel, *values: Any, **named: Any) -> None:
        if not named.keys() <= set(order):
            named = respelled(cls, named)
        every = defaults | dict(zip(order, values, strict=False)) | named
        twice = named and not named.keys().isdisjoint(order[: len(values)])
        if twice or len(values) > len(order) or len(every) < len(order):
            init(self, *values, **named)  # the error in Python's own words
        self.__dict__.update(every)
        self.__post_init__()

    cls.__init__ = by_any_name  # type: ignore[assignment]
    return cls


def respelled(cls: type[Kernel], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the names of this library; those of other libraries are in `spellings`."""
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for name, value in named.items():
        if name not in known and name not in cls.spellings:
            hint = suggest(name, [*known, *cls.spellings]) or " It has none."
            raise TypeError(f"{cls.__name__} has no parameter {name!r}.{hint}")
        meant = cls.by_spelling(name, value)
        if twice := given.keys() & meant.keys():
            ours = " and ".join(sorted(twice))
            raise TypeError(f"{cls.__name__}: {name} and {ours} are one parameter; give one")
        given |= meant
    return given


@dataclass_transform(frozen_default=True, eq_default=False)
def kernel(cls: K) -> K:
    """Enter a kernel class in the grammar: `SquaredDistance` is ``squared_distance()`` there.

    Parameters
    ----------
    cls : type of Kernel
        With examples, parameters and a proof.

    Returns
    -------
    type of Kernel
        The same class.

    Examples
    --------
    >>> from mercer.kernels import SquaredDistance
    >>> from mercer.kernels.catalog import KERNELS
    >>> KERNELS["SquaredDistance"] is SquaredDistance
    True
    """
    name = grammar_name(cls)
    own = cls.__module__.startswith(f"{__package__}.")
    known = (LEAVES.loaded if own else LEAVES).get(name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"there is a kernel named {name!r} already, {known.__module__}.{known.__qualname__}; "
            f"give the class {cls.__name__} another name"
        )
    LEAVES[name] = frozen(cls)
    if own:
        KERNELS[cls.__name__] = cls
    else:
        cls.parameters = _implied(cls) | dict(cls.parameters)
    return cls


def _implied(cls: type[Kernel]) -> dict[str, Check]:
    """What undeclared numbers of a class from outside may be: positive where their default is."""
    found = {f.name: f.default for f in fields(cls)}  # type: ignore[arg-type]
    numbers = {name: value for name, value in found.items() if isinstance(value, float)}
    return {name: Positive() if value > 0 else Number() for name, value in numbers.items()}


def leaves() -> tuple[type[Kernel], ...]:
    """Every kernel the expression language knows.

    Returns
    -------
    tuple of type
        In the order of their names in the grammar.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> from mercer.kernels.catalog import leaves
    >>> Gaussian in leaves()
    True
    """
    return tuple(LEAVES.values())


def examples(cls: type[Kernel]) -> list[Kernel]:
    """The kernels of a class that tests try.

    Parameters
    ----------
    cls : type of Kernel
        A class of the catalog.

    Returns
    -------
    list of Kernel
        With typical and with extreme parameters.

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> examples(Constant)
    [Constant(value=2.0), Constant(value=0.0), Constant(value=-2.0)]
    """
    from mercer.kernels.grammar import parse

    given = vars(cls).get("examples", ()) or (cls,)  # those of a parent are the parent's
    return [parse(one) if isinstance(one, str) else one() for one in given]


# --- functions ------------------------------------------------------------------------------


def _norm(rows: Any) -> np.ndarray:
    if is_sparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return np.linalg.norm(np.asarray(rows, dtype=float), axis=1)


#: Functions of rows that `warp` and `reweight` may call by name, in an expression or a file.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "square": np.square,
    "abs": np.abs,
    "tanh": np.tanh,
    "norm": _norm,
    "inverse_norm": lambda rows: 1.0 / np.maximum(_norm(rows), np.finfo(float).tiny),
}


def register(name: str, function: Callable[[Any], Any]) -> None:
    """Give a function of rows a name for `warp`, `reweight`, `FromFeatures` and `Similarity`.

    Parameters
    ----------
    name : str
        By which expressions and model files call it.
    function : callable
        Takes rows, and gives rows or numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> mercer.kernels.register("halve", lambda X: np.asarray(X) / 2)
    >>> k = mercer.kernels.parse("linear().warp('halve')")
    >>> k([[2.0]], [[4.0]])
    array([[2.]])
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a registered name is a Python identifier, not {name!r}")
    if not callable(function):
        raise TypeError(f"register({name!r}, …) needs a function, not {type(function).__name__}")
    FUNCTIONS[name] = function


register_function = register


def resolve(function: Any) -> Callable[..., Any]:
    """The function itself, from a name, a callable or an object with `transform`."""
    if isinstance(function, str):
        if function not in FUNCTIONS:
            near = difflib.get_close_matches(function, FUNCTIONS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"no function is registered as {function!r}.{hint} "
                "Use mercer.kernels.register(name, function) first."
            )
        return FUNCTIONS[function]
    if hasattr(function, "transform"):
        return function.transform  # type: ignore[no-any-return]
    return function  # type: ignore[no-any-return]


def check_function(function: Any, what: str) -> None:
    if isinstance(function, str):
        resolve(function)
    elif not callable(function) and not hasattr(function, "transform"):
        raise TypeError(
            f"{what} takes a function of rows, a transformer or a registered name, "
            f"not {type(function).__name__}"
        )


def name_of(function: Any) -> str:
    """How the function is written in an expression."""
    if isinstance(function, str):
        return repr(function)
    return getattr(function, "__name__", None) or repr(function)
