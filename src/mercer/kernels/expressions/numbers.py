"""The numbers of an expression: where each stands, which parameter it is, and what it may be."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from mercer._lazy import record
from mercer._parameters import Among, Count, Number
from mercer.kernels.core import Kernel
from mercer.kernels.expressions.blackboard import Typed
from mercer.kernels.grammar import parse
from mercer.kernels.parameters import as_width


@record
class NumberInText:
    """``text[start:end]`` is `value`, the parameter at `path` of the kernel.

    `low` and `high` are bounds (infinite where there is none), `default` is None where the kernel
    has none; `width`: a length or a rate, which the data could choose; `itself`: the number is the
    parameter, and not, as the γ of a Gaussian, another name for it.
    """

    start: int
    end: int
    value: float
    path: str
    whole: bool
    low: float
    high: float
    default: float | None
    width: bool
    itself: bool = True

    @property
    def name(self) -> str:
        """The parameter without the path."""
        return self.path.rpartition("__")[2]


def numbers_in(text: str) -> list[NumberInText]:
    """Every number of an expression that can be varied, from the left.

    A number that only takes a few values (the norm of a Laplacian) is not among them.

    >>> for n in numbers_in("0.5*gaussian(2) + 1"):
    ...     print(n.start, n.end, n.path, n.value)
    0 3 left__factor 0.5
    13 14 left__kernel__sigma 2.0
    18 19 right__value 1.0
    """
    kernel, typed = parse(text), Typed(text)
    found = (_described(typed, kernel, node) for node in _constants(typed.tree()))
    return sorted((one for one in found if one is not None), key=lambda one: one.start)


def _constants(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node


def _described(typed: Typed, kernel: Kernel, node: ast.Constant) -> NumberInText | None:
    """The parameter that a number sets, and its limits; None where it cannot be any other."""
    start, end = typed.span(node)
    value = float(node.value)  # type: ignore[arg-type]
    path = _path(typed.text, kernel, start, end, node.value)
    if path is None:
        return None
    owner, _, name = path.rpartition("__")
    part: Any = dict(kernel.parts())[f"{owner}__" if owner else ""]
    check = part.parameters.get(name)
    width = as_width(check)
    inner = check if width is None else width.check  # type: ignore[attr-defined]
    if isinstance(inner, Among):
        return None
    low, high = -math.inf, math.inf
    if isinstance(inner, Count):
        low, high = float(inner.least), math.inf if inner.most is None else float(inner.most)
    elif isinstance(inner, Number):
        low, high = inner.low, inner.high
    elif width is not None:
        low = 0.0  # one width per column is checked by itself
    default = {f.name: f.default for f in dataclasses.fields(part)}.get(name)
    same = abs(part.get_params(deep=False)[name]) == abs(value)
    usual = float(default) if same and isinstance(default, (int, float)) else None
    whole = isinstance(inner, Count)
    return NumberInText(start, end, value, path, whole, low, high, usual, width is not None, same)


def _path(text: str, kernel: Kernel, start: int, end: int, value: Any) -> str | None:
    """The one parameter that changes with this number; None where no other number is allowed."""
    for other in (value + 1, value * 1.5 + 0.25):
        try:
            changed = parse(f"{text[:start]}{other!r}{text[end:]}").get_params()
        except (ValueError, TypeError):
            continue
        params = kernel.get_params()
        moved = [
            name
            for name, now in changed.items()
            if not isinstance(now, Kernel)
            and isinstance(params.get(name), (int, float))
            and now != params[name]
        ]
        if len(moved) == 1 and changed.keys() == params.keys():
            return moved[0]
    return None
