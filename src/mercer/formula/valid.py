"""Whether a node is one that this library would make: for formulas that come from outside.

Code is generated from formulas, so a node that was read from a file is looked at first: its
operation, how many arguments it has, and the constant that belongs to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mercer.formula.nodes import Formula, Input, set_size
from mercer.formula.ops import OPS

#: Powers beyond this are no kernel of anyone.
MOST_POWER = 1_000_000


def check_node(op: Any, args: Sequence[Any], value: Any) -> None:
    """A ValueError that says what is wrong, if anything is."""
    if not isinstance(op, str) or (op not in OPS and op not in _VALUES):
        raise ValueError(f"a formula has no operation {op!r:.60}")
    if not all(isinstance(a, Formula) for a in args):
        raise ValueError(f"{op!r} has parts that are no formulas")
    arity = OPS[op].arity if op in OPS else (1 if op == "reduce" else 0)
    if arity is None and not args:
        raise ValueError(f"{op!r} needs arguments")
    if arity is not None and len(args) != arity:
        raise ValueError(f"{op!r} takes {arity} arguments, not {len(args)}")
    if not _VALUES.get(op, _is_none)(value):
        raise ValueError(f"{value!r:.60} does not belong to {op!r}")


def _is_none(value: Any) -> bool:
    return value is None


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_power(value: Any) -> bool:
    return type(value) is int and abs(value) <= MOST_POWER


def _is_parameter(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and value[0].isidentifier()
        and _is_number(value[1])
    )


def _is_side(value: Any) -> bool:
    return value in ("x", "z")


def _parts(*rules: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A tuple whose parts each follow a rule."""

    def rule(value: Any) -> bool:
        fits = isinstance(value, tuple) and len(value) == len(rules)
        return fits and all(one(part) for one, part in zip(rules, value, strict=True))

    return rule


def _is_input(value: Any) -> bool:
    return isinstance(value, Input) and all(callable(step) for step in value.steps)


def _is_leaf(value: Any) -> bool:
    return hasattr(value, "prepare") and hasattr(value, "block")


def _is_function(value: Any) -> bool:
    return callable(value) or isinstance(value, str)


def _is_reduction(value: Any) -> bool:
    listed = value in ("sum", "prod", "max", "mean")
    return listed or (isinstance(value, str) and len(value) < 20 and set_size(value) > 0)


_VALUES: dict[str, Callable[[Any], bool]] = {
    "const": _is_number,
    "param": _is_parameter,
    "coord": _is_side,
    "pow": _is_power,
    "dot": _is_input,
    "sqdist": _is_input,
    "l1": _is_input,
    "linf": _is_input,
    "sqnorm": _parts(_is_side, _is_input),
    "rowfn": _parts(_is_side, _is_function, _is_input),
    "opaque": _parts(_is_leaf, _is_input),
    "opaque_diag": _parts(_is_side, _is_leaf, _is_input),
    "reduce": _parts(_is_reduction, _is_input),
}
