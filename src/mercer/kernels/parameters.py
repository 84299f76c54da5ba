"""Parameters: what makes two kernels equal, how their parameters are read, changed and written."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer.formula import nodes
from mercer.formula.inputs import FrozenArray
from mercer.formula.nodes import Formula

if TYPE_CHECKING:
    from mercer.kernels.core import Kernel


class Parameters:
    """A frozen dataclass as a value: identity by its fields, scikit-learn's names, text."""

    # NumPy must leave `np.float64(2) * k` to the kernel.
    __array_ufunc__ = None

    def children(self) -> tuple[tuple[str, Kernel], ...]:
        """The kernels among the parameters, by name."""
        return tuple((name, value) for name, value in self._fields() if _is_kernel(value))

    def _fields(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]  # type: ignore[arg-type]

    def _key(self) -> tuple[Any, ...]:
        values = (FrozenArray.of(v) if isinstance(v, np.ndarray) else v for _, v in self._fields())
        return (type(self), *values)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Parameters) and self._key() == other._key())

    def __hash__(self) -> int:
        # Kept, because formulas that hold kernels are looked up often.
        if "_hash" not in self.__dict__:
            self._set("_hash", hash(self._key()))
        return self.__dict__["_hash"]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        # The hash of a text differs from process to process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that arrays come back read-only.
        return type(self), tuple(value for _, value in self._fields())

    def __sklearn_clone__(self) -> Self:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of sub-kernels as ``left__sigma``."""
        params = dict(self._fields())
        if deep:
            for name, child in self.children():
                params |= {f"{name}__{k}": v for k, v in child.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """A new kernel with these parameters; kernels never change."""
        if not params:
            return self
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        known = dict(self._fields())
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {head!r}; it has {sorted(known)}"
                )
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                own[head] = value
        for head, inner in nested.items():
            child = own.get(head, known[head])
            if not _is_kernel(child):
                raise ValueError(f"the parameter {head!r} of {type(self).__name__} has no parts")
            own[head] = child.set_params(**inner)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING or not _same(value, field.default):
                shown.append(f"{field.name}={literal(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _named(self, path: str, name: str) -> Formula:
        """This kernel's parameter as a node of the formula."""
        return nodes.param(f"{path}{name}", getattr(self, name))

    # --- checks, for `__post_init__` -----------------------------------------------------------

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _make_positive(self, *names: str) -> None:
        for name in names:
            self._make_float(name)
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"{type(self).__name__}: {name} must be positive, got {getattr(self, name)!r}"
                )

    def _make_width(self, *names: str) -> None:
        """Lengths and rates: positive, and not so far out that their squares leave float64."""
        for name in names:
            self._make_positive(name)
            check_width(type(self).__name__, name, getattr(self, name))

    def _make_float(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not is_number(value):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a number, got {type(value).__name__}"
                )
            try:
                value = float(value)
            except OverflowError:  # an integer beyond all floats
                value = math.inf
            if not math.isfinite(value):
                raise ValueError(f"{type(self).__name__}: {name} must be finite, got {value}")
            self._set(name, value)

    def _make_integer(self, name: str, least: int, most: int | None = None) -> None:
        value = getattr(self, name)
        if not is_number(value):
            raise TypeError(
                f"{type(self).__name__}: {name} must be an integer, got {type(value).__name__}"
            )
        whole = math.isfinite(value) and value == int(value)
        if not whole or value < least or (most is not None and value > most):
            span = f"an integer ≥ {least}" if most is None else f"one of {least}, …, {most}"
            raise ValueError(f"{type(self).__name__}: {name} must be {span}, got {value!r}")
        self._set(name, int(value))


#: Squares of widths, and of differences some digits below them, are normal float64 numbers.
WIDTHS = (1e-150, 1e150)


def check_width(kernel: str, name: str, value: Any) -> None:
    """An error where the square of a width, or of one of several, leaves the range of float64."""
    if not WIDTHS[0] <= np.min(value) <= np.max(value) <= WIDTHS[1]:
        raise ValueError(
            f"{kernel}: {name} must lie between {WIDTHS[0]:g} and {WIDTHS[1]:g}, got {value}; "
            "its square leaves the range of float64. Scale the data instead."
        )


def _is_kernel(value: Any) -> bool:
    return isinstance(value, Parameters)


def is_number(value: Any) -> bool:
    """Whether it is a real number, a truth value excepted."""
    # NumPy registers its real scalars as Real, and its complex ones not.
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    return bool(a == b)


def literal(value: Any) -> str:
    """A parameter as an expression writes it."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, tuple):
        return repr(list(value))
    if callable(value):
        return getattr(value, "__name__", repr(value))
    return repr(value)
