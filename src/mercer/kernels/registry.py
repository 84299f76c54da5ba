"""Functions by name: what `warp` and `reweight` may call in an expression string or a file.

A kernel that names its function instead of holding it can be written down, parsed and saved.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.formula.inputs import is_sparse


def _norm(rows: Any) -> np.ndarray:
    if is_sparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return np.linalg.norm(np.asarray(rows, dtype=float), axis=1)


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
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
    _FUNCTIONS[name] = function


def resolve(function: Any) -> Callable[..., Any]:
    """The function itself, from a name, a callable or an object with `transform`."""
    if isinstance(function, str):
        if function not in _FUNCTIONS:
            near = difflib.get_close_matches(function, _FUNCTIONS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"no function is registered as {function!r}.{hint} "
                "Use mercer.kernels.register(name, function) first."
            )
        return _FUNCTIONS[function]
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
