"""What can be read off a formula's form: its sign, its logarithm, its order, its reach.

Local methods use k as a weight or a closeness. They ask four things of a formula: can it be
negative; what is log k, where k itself would underflow; by which statistic are points ordered
(k is e^(−s) of a distance s: then s orders far points that k rounds to 0 alike); and beyond
which distance is k nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from mercer._lazy import record
from mercer.formula.evaluate import evaluate
from mercer.formula.inputs import Columns, Matrix, NonNegative, Scale
from mercer.formula.nodes import DIFFERENCE, Formula, Input, const, statistics
from mercer.formula.ops import OPS, Sign, SignRule, nonnegative
from mercer.formula.simplify import LOG2E, simplify

DISTANCES = ("sqdist", "l1", "linf")
#: Where a function of one distance is looked at: 24 decades, 250 points each.
_GRID = np.concatenate([[0.0], np.logspace(-12, 12, 6001)])


# --- sign ------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def never_negative(formula: Formula, coordinates: bool = False) -> bool:
    """Whether the value is ≥ 0 for every pair, by form alone; False means "not known".

    `coordinates`: the data itself is known to be ≥ 0.
    """
    return bool(sign_of(formula, coordinates=coordinates) & Sign.NEVER_NEGATIVE)


def sign_of(
    formula: Formula,
    leaf: Callable[[Formula], Sign] = lambda node: Sign.UNKNOWN,
    coordinates: bool = False,
) -> Sign:
    """Facts about the sign of a formula, by form alone.

    `leaf` knows the signs of nodes that only its caller has; see `never_negative` for the rest.
    """
    signs: dict[int, Sign] = {}
    for node in formula.walk(bodies=False):
        parts = [] if node.op == "reduce" else [signs[id(a)] for a in node.args]
        rule = OPS[node.op].sign if node.op in OPS else _LEAF_SIGN.get(node.op)
        if node.op == "coord" and coordinates:
            signs[id(node)] = Sign.NEVER_NEGATIVE
        else:
            signs[id(node)] = leaf(node) if rule is None else rule(node, parts)
    return signs[id(formula)]


def _of_number(value: float) -> Sign:
    up = Sign.NEVER_NEGATIVE if value >= 0 else Sign.UNKNOWN
    return up | (Sign.NEVER_POSITIVE if value <= 0 else Sign.UNKNOWN)


def _of_reduction(node: Formula, parts: Sequence[Sign]) -> Sign:
    inside = any(isinstance(step, NonNegative) for step in node.value[1].steps)
    return Sign.NEVER_NEGATIVE if never_negative(node.args[0], inside) else Sign.UNKNOWN


_LEAF_SIGN: dict[str, SignRule] = {
    "const": lambda node, parts: _of_number(node.value),
    "param": lambda node, parts: _of_number(node.value[1]),
    "reduce": _of_reduction,
    **dict.fromkeys((*DISTANCES, "sqnorm"), nonnegative),
}


# --- logarithm -------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def log2_of(formula: Formula) -> Formula | None:
    """log₂ k as a formula that does not underflow, or None where no exponential comes off.

    >>> from mercer import Gaussian
    >>> log2_of(simplify(Gaussian().formula()))
    (-0.721348 * sqdist)
    """
    bodies: list[Formula] = []

    def visit(node: Formula) -> Formula:
        if node.op == "exp2":
            bodies.append(node)
            return node.args[0]
        if node.op == "mul":
            return Formula("add", [visit(a) for a in node.args])
        if node.op == "pow" and never_negative(node.args[0]):
            return float(node.value) * visit(node.args[0])
        if (
            node.op == "pow"
        ):  # an even power: the logarithm of what may be negative is not asked for
            return (0.5 * float(node.value) * LOG2E) * (node.args[0] ** 2).log()
        if node.op == "sqrt":
            return 0.5 * visit(node.args[0])
        if node.op == "const" and node.value > 0:
            return const(math.log2(node.value))
        return LOG2E * node.log()

    result = simplify(visit(simplify(formula)))
    return result if bodies and never_negative(formula) else None


# --- order -----------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def ordering(formula: Formula) -> tuple[Formula, float]:
    """A simpler formula u and a sign: k is an increasing function of sign · u.

    Outer functions that rise or fall are dropped. Where k is flat (beyond the reach of a compact
    kernel) u still orders, and nowhere does it contradict k.

    >>> from mercer import Matern
    >>> ordering(simplify(Matern(1.5).formula()))
    (sqdist, -1.0)
    """
    node, sign = simplify(formula), 1.0
    while True:
        peeled = _peel(node)
        if peeled is None:
            break
        node, sign = peeled[0], sign * peeled[1]
    distance = _only_distance(node)
    if distance is not None and distance is not node:
        values = _profile(node, distance)
        slack = 1e-13 * np.abs(values[np.isfinite(values)]).max(initial=0.0)
        if np.isfinite(values).all():
            steps = np.diff(values)
            if (steps <= slack).all() and values[0] > values[-1]:
                return distance, -sign
            if (steps >= -slack).all() and values[0] < values[-1]:
                return distance, sign
    return node, sign


def _peel(node: Formula) -> tuple[Formula, float] | None:
    """One outer monotone function off, with the sign of its slope."""
    slope = OPS[node.op].slope if node.op in OPS else 0
    if slope:
        return node.args[0], float(slope)
    if node.op == "pow":
        if node.value % 2 or never_negative(node.args[0]):
            return node.args[0], 1.0 if node.value > 0 else -1.0
        return None
    return _peel_numbers(node) if node.op in ("add", "mul", "max", "min") else None


def _peel_numbers(node: Formula) -> tuple[Formula, float] | None:
    """The one argument that is no number, or what a product of exponentials is one of."""
    numbers = [a.value for a in node.args if a.op == "const"]
    rest = [a for a in node.args if a.op != "const"]
    sign = math.copysign(1.0, math.prod(numbers)) if node.op == "mul" else 1.0
    if node.op == "mul" and len(rest) > 1 and all(a.op == "exp2" for a in rest):
        return simplify(Formula("add", [a.args[0] for a in rest])), sign
    return (rest[0], sign) if len(rest) == 1 and numbers else None


def _only_distance(formula: Formula) -> Formula | None:
    """The one distance that the formula is a function of."""
    nodes = statistics(formula)
    return nodes[0] if len(nodes) == 1 and nodes[0].op in DISTANCES else None


@lru_cache(maxsize=512)
def _profile(formula: Formula, distance: Formula) -> np.ndarray:
    return _values(formula, distance, _GRID)


def _values(formula: Formula, distance: Formula, at: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(evaluate(formula, {distance: at}), float), at.shape)


# --- reach -----------------------------------------------------------------------------------


@record
class Reach:
    """|k| is at most `floor` where ‖x − z‖ > radius, in that norm, over those rows."""

    rows: Input
    norm: float
    radius: float
    floor: float = 0.0


@lru_cache(maxsize=512)
def reach(formula: Formula, floor: float = 0.0) -> Reach | None:
    """The distance beyond which k is nothing: 0 for `floor` 0, else at most floor · k(0).

    >>> from mercer.kernels import Tricube
    >>> round(reach(simplify(Tricube(width=3.0).formula())).radius, 9)
    3.0
    """
    formula = simplify(formula)
    extent = _reach(formula, floor)
    if extent is None and floor == 0.0 and formula.op in ("mul", "pow"):
        # A product is zero where one of its factors is.
        parts = [r for a in formula.args if (r := reach(a)) is not None]
        extent = min(parts, key=lambda r: r.radius, default=None)
    return extent


def _reach(formula: Formula, floor: float) -> Reach | None:
    if formula.op == "reduce":
        return _box(formula)
    distance = _only_distance(formula)
    if distance is None:
        return None
    radius = _last(lambda s: _values(formula, distance, s), floor)
    if radius is None:
        return None
    rest = floor * float(_values(formula, distance, np.zeros(1))[0])
    if distance.op == "sqdist":
        return Reach(distance.value, 2.0, math.sqrt(radius), rest)
    return Reach(distance.value, 1.0 if distance.op == "l1" else math.inf, radius, rest)


def _box(node: Formula) -> Reach | None:
    """A product over columns of a compact function of xⱼ − zⱼ: zero outside a box."""
    how, rows = node.value
    if how != "prod" or not is_stationary(node):
        return None

    def body(d: np.ndarray) -> np.ndarray:
        scales = {n: d if n.value == "x" else 0.0 for n in node.args[0].walk() if n.op == "coord"}
        both = [evaluate(node.args[0], {n: s * v for n, v in scales.items()}) for s in (1.0, -1.0)]
        return np.maximum(*(np.abs(np.broadcast_to(b, d.shape)) for b in both))

    radius = _last(body, 0.0)
    return None if radius is None else Reach(rows, math.inf, radius)


def _last(function: Callable[[np.ndarray], np.ndarray], floor: float) -> float | None:
    """The end of the interval where a function exceeds floor · f(0); None if it has no end.

    Where rounding ends an exponential, e^(−745) = 0, k is not compact: for floor 0 the function
    must still be of some size shortly before.
    """
    values = function(_GRID)
    top = values[0]
    if not (np.isfinite(values).all() and top > 0):
        return None
    above = np.flatnonzero(values > floor * top)
    if above[-1] == len(_GRID) - 1:
        return None
    low, high = _GRID[above[-1]], _GRID[above[-1] + 1]
    if floor == 0.0 and function(np.array([0.9 * low]))[0] < 1e-12 * top:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        if function(np.array([middle]))[0] > floor * top:
            low = middle
        else:
            high = middle
    return float(high)


def gaussian_exponent(node: Formula) -> tuple[float, Input] | None:
    """γ and the rows of exp2(−γ log₂e · sqdist)."""
    if node.op != "exp2" or node.args[0].op != "mul" or len(node.args[0].args) != 2:
        return None
    number, distance = node.args[0].args
    if number.op != "const" or distance.op != "sqdist" or number.value >= 0:
        return None
    return -number.value * math.log(2.0), distance.value


# --- Questions about a formula's form: translation-invariant? radial? legal? ----------------------


_LINEAR = (Columns, Scale, Matrix)


def is_stationary(formula: Formula) -> bool:
    """k(x, z) is a function of x − z."""
    return all(_depends_on_difference(node) for node in statistics(formula))


def is_radial(formula: Formula) -> bool:
    """k(x, z) is a function of ‖x − z‖."""
    return all(n.op == "sqdist" and not n.value.steps for n in statistics(formula))


def _depends_on_difference(node: Formula) -> bool:
    if node.op == "reduce":
        return _linear(node.value[1]) and _only_difference(node.args[0])
    return node.op in ("sqdist", "l1", "linf") and _linear(node.value)


def _linear(rows: Input) -> bool:
    return all(isinstance(step, _LINEAR) for step in rows.steps)


def _only_difference(body: Formula) -> bool:
    if body is DIFFERENCE:
        return True
    if body.op == "coord":
        return False
    return all(_only_difference(a) for a in body.args)
