"""The formula: k(x, z) as an expression over a few statistics of the pair (x, z).

A formula is a small immutable tree. Its leaves are numbers, parameters and *pair statistics*
(x·z, ‖x−z‖², …), each taken over an `Input`: the rows after the maps that act on one row at a
time. Nodes are interned, so that two equal expressions are the same object: sharing a statistic
needs no search, and ``is`` is equality.

>>> from mercer.formula.nodes import ROOT, const, sqdist
>>> f = (const(-0.5) * sqdist(ROOT)).exp()
>>> f is (const(-0.5) * sqdist(ROOT)).exp()
True
>>> f
exp((-0.5 * sqdist))
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mercer._lazy import record

if TYPE_CHECKING:
    from mercer.formula.inputs import Step

_POOL: weakref.WeakValueDictionary[Hashable, Formula] = weakref.WeakValueDictionary()
_INPUTS: weakref.WeakValueDictionary[tuple[Step, ...], Input] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


class Input:
    """The rows a statistic is taken over: the data after `steps`, each applied once per row.

    Equal steps are one object, so that inputs are looked up by identity.
    """

    __slots__ = ("__weakref__", "steps")
    steps: tuple[Step, ...]

    def __new__(cls, steps: Iterable[Step] = ()) -> Input:
        steps = tuple(steps)
        with _LOCK:
            rows = _INPUTS.get(steps)
            if rows is None:
                rows = _INPUTS[steps] = object.__new__(cls)
                rows.steps = steps
        return rows

    def __reduce__(self) -> tuple[Any, ...]:
        return (Input, (self.steps,))

    def then(self, *steps: Step) -> Input:
        """These rows after more steps."""
        return Input(self.steps + steps)

    def __str__(self) -> str:
        return " → ".join(str(s) for s in self.steps) or "x"


ROOT = Input()


class Formula:
    """One node: an operation, the nodes it acts on, and a constant that belongs to it."""

    __slots__ = ("__weakref__", "args", "op", "value")
    op: str
    args: tuple[Formula, ...]
    value: Any

    def __new__(cls, op: str, args: Iterable[Formula] = (), value: Hashable = None) -> Formula:
        args = tuple(args)
        # repr keeps 0.0 and -0.0, and 1 and 1.0, apart where equality would merge them.
        tag = repr(value) if isinstance(value, float) else value
        key = (op, tuple(id(a) for a in args), tag)
        with _LOCK:
            node = _POOL.get(key)
            if node is None:
                node = object.__new__(cls)
                node.op, node.args, node.value = op, args, value
                _POOL[key] = node
        return node

    def __reduce__(self) -> tuple[Any, ...]:
        return (Formula, (self.op, self.args, self.value))

    def __add__(self, other: Formula | float) -> Formula:
        return Formula("add", (self, as_formula(other)))

    def __mul__(self, other: Formula | float) -> Formula:
        return Formula("mul", (self, as_formula(other)))

    def __neg__(self) -> Formula:
        return const(-1.0) * self

    def __sub__(self, other: Formula | float) -> Formula:
        return self + (-as_formula(other))

    def __radd__(self, other: float) -> Formula:
        return self + other

    def __rmul__(self, other: float) -> Formula:
        return self * other

    def __rsub__(self, other: float) -> Formula:
        return as_formula(other) + (-self)

    def __pow__(self, exponent: int) -> Formula:
        return Formula("pow", (self,), int(exponent))

    def exp(self) -> Formula:
        return Formula("exp", (self,))

    def log(self) -> Formula:
        return Formula("log", (self,))

    def sqrt(self) -> Formula:
        return Formula("sqrt", (self,))

    def rsqrt(self) -> Formula:
        """1/√u, and 0 where u is 0 (a zero vector stays a zero vector when normalized)."""
        return Formula("rsqrt", (self,))

    def over(self, other: Formula | float) -> Formula:
        """u / v, and 0 where v is 0."""
        return Formula("div", (self, as_formula(other)))

    def apply(self, op: str, *others: Formula | float) -> Formula:
        return Formula(op, (self, *map(as_formula, others)))

    def plus(self) -> Formula:
        """The positive part max(u, 0)."""
        return self.apply("max", 0.0)

    def walk(self, bodies: bool = True) -> Iterator[Formula]:
        """Every distinct node below this one, children before parents.

        ``bodies=False`` does not step into the bodies of coordinate-wise reductions.
        """
        seen: set[int] = set()
        stack: list[tuple[Formula, bool]] = [(self, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in seen:
                continue
            if ready:
                seen.add(id(node))
                yield node
                continue
            stack.append((node, True))
            if bodies or node.op != "reduce":
                stack.extend((a, False) for a in reversed(node.args))

    def rebuild(
        self,
        table: Callable[[Formula, tuple[Formula, ...]], Formula],
        images: dict[int, Formula] | None = None,
    ) -> Formula:
        """Replace every node, bottom-up, by ``table(node, new_args)``.

        A reduction's body speaks of coordinates, not of pairs: it is left as it is. ``images``
        receives what became of each node, by its id.
        """
        new: dict[int, Formula] = {} if images is None else images
        for node in self.walk(bodies=False):
            args = node.args if node.op == "reduce" else tuple(new[id(a)] for a in node.args)
            new[id(node)] = table(node, args)
        return new[id(self)]

    def __repr__(self) -> str:
        return _show(self)


def as_formula(value: Formula | float) -> Formula:
    return value if isinstance(value, Formula) else const(value)


def const(value: float) -> Formula:
    return Formula("const", value=float(value))


def param(path: str, value: float) -> Formula:
    """A number that has a name: the formula can be differentiated in it."""
    return Formula("param", value=(path, float(value)))


def dot(rows: Input) -> Formula:
    return Formula("dot", value=rows)


def sqdist(rows: Input) -> Formula:
    return Formula("sqdist", value=rows)


def l1(rows: Input) -> Formula:
    return Formula("l1", value=rows)


def linf(rows: Input) -> Formula:
    return Formula("linf", value=rows)


def sqnorm(side: str, rows: Input) -> Formula:
    """‖x‖² (side "x") or ‖z‖² (side "z")."""
    return Formula("sqnorm", value=(side, rows))


def row_function(side: str, function: Any, rows: Input) -> Formula:
    """f(x) or f(z) for a function of one row."""
    return Formula("rowfn", value=(side, function, rows))


def opaque(leaf: Any, rows: Input) -> Formula:
    """A kernel that is not a formula: it gives whole blocks."""
    return Formula("opaque", value=(leaf, rows))


def opaque_diagonal(side: str, leaf: Any, rows: Input) -> Formula:
    return Formula("opaque_diag", value=(side, leaf, rows))


X_J = Formula("coord", value="x")
Z_J = Formula("coord", value="z")
#: xⱼ − zⱼ: zero on the diagonal, and the only way a translation-invariant body speaks of both.
DIFFERENCE = X_J - Z_J


#: π with all its digits: 2 arcsin(1) is rounded only where it is computed.
PI = const(2.0) * const(1.0).apply("arcsin")


#: The reduction "sets of 3": the sum over all sets of 3 columns of the products of their bodies.
SETS = "sets of "


def reduce_columns(how: str, body: Formula, rows: Input) -> Formula:
    """Σⱼ, Πⱼ, maxⱼ, the mean or "sets of n" over columns of a body in xⱼ (`X_J`) and zⱼ (`Z_J`)."""
    if how not in ("sum", "prod", "max", "mean") and not set_size(how):
        raise ValueError(f"columns reduce by sum, prod, max, mean or sets of n, not {how!r}")
    return Formula("reduce", (body,), (how, rows))


def is_column_product(node: Formula) -> bool:
    """Whether a node multiplies one factor per column."""
    return node.op == "reduce" and node.value[0] == "prod"


def set_size(how: str) -> int:
    """How many columns are in each of the sets; 0 for the other reductions.

    >>> set_size("sets of 3"), set_size("sum")
    (3, 0)
    """
    size = how.removeprefix(SETS)
    return int(size) if size != how and size.isdecimal() else 0


@record
class Kind:
    """A kind of node that no operation makes: what it depends on, and how it is written.

    `depends` is "pair", "row" (its value then begins with the side, "x" or "z") or "". `statistic`:
    it is computed from the data.
    """

    op: str
    depends: str
    show: Callable[[Formula], str]
    statistic: bool = True


#: Kinds by the `op` of their nodes. An engine declares its own.
KINDS: dict[str, Kind] = {}


def declare(*kinds: Kind) -> None:
    """Make kinds of nodes known: the formula then says what they depend on and shows them."""
    KINDS.update({kind.op: kind for kind in kinds})


def rows_of(node: Formula) -> Input:
    """The rows that a statistic is taken over: its value, or the last part of it."""
    rows = node.value if isinstance(node.value, Input) else node.value[-1]
    assert isinstance(rows, Input)
    return rows


def side_of(node: Formula) -> str:
    """The rows that a statistic or coordinate depends on: "x", "z", "pair", or "" for none."""
    depends = KINDS[node.op].depends if node.op in KINDS else ""
    return str(node.value[0]) if depends == "row" else depends


def dependence(formula: Formula) -> dict[int, str]:
    """The rows that each node below `formula` (by id) depends on: "", "x", "z" or "pair"."""
    sides_of: dict[int, str] = {}
    for node in formula.walk():
        sides = {sides_of[id(a)] for a in node.args} | {side_of(node)}
        sides.discard("")
        if node.op == "reduce" and not sides:
            sides.add("x")  # a number, but one that depends on the width of the data
        sides_of[id(node)] = sides.pop() if len(sides) == 1 else ("pair" if sides else "")
    return sides_of


@lru_cache(maxsize=4096)
def statistics(formula: Formula) -> tuple[Formula, ...]:
    """The distinct statistics of the pair or of a row, in order of first use."""
    nodes = formula.walk(bodies=False)
    return tuple(n for n in nodes if n.op in KINDS and KINDS[n.op].statistic)


def at_diagonal(
    formula: Formula, side: str = "x", images: dict[int, Formula] | None = None
) -> Formula:
    """The formula of k(x, x), in statistics of one row only."""

    def table(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if node.op == "dot":
            return sqnorm(side, node.value)
        if node.op in ("sqdist", "l1", "linf"):
            return const(0.0)
        if node.op == "sqnorm":
            return sqnorm(side, node.value[1])
        if node.op == "rowfn":
            return row_function(side, *node.value[1:])
        if node.op == "opaque":
            return opaque_diagonal(side, *node.value)
        if node.op == "opaque_diag":
            return opaque_diagonal(side, *node.value[1:])
        if node.op == "reduce":
            return Formula("reduce", (args[0].rebuild(coordinate),), node.value)
        return Formula(node.op, args, node.value)

    def coordinate(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if node is DIFFERENCE:
            return const(0.0)
        if node.op == "coord":
            return X_J if side == "x" else Z_J
        return Formula(node.op, args, node.value)

    return formula.rebuild(table, images)


_INFIX = {"add": " + ", "mul": " * "}


def _show(node: Formula) -> str:
    if node.op in KINDS:
        return KINDS[node.op].show(node)
    if node.op in _INFIX:
        return "(" + _INFIX[node.op].join(map(_show, node.args)) + ")"
    if node.op == "pow":
        return f"{_show(node.args[0])}^{node.value}"
    return f"{node.op}({', '.join(map(_show, node.args))})"


def over_rows(shown: Callable[[Formula], str]) -> Callable[[Formula], str]:
    """The text of a statistic, and the maps that its rows went through before."""

    def show(node: Formula) -> str:
        rows = rows_of(node)
        return shown(node) + (f"[{rows}]" if rows.steps else "")

    return show


def _name(node: Formula) -> str:
    return node.op


def _function(node: Formula) -> str:
    side, function, _ = node.value
    return f"{getattr(function, '__name__', function)}({side})"


declare(
    Kind("const", "", lambda n: f"{n.value:g}", statistic=False),
    Kind("param", "", lambda n: f"{n.value[0]}[{n.value[1]:g}]", statistic=False),
    Kind("coord", "row", lambda n: f"{n.value}ⱼ", statistic=False),
    *(Kind(op, "pair", over_rows(_name)) for op in ("dot", "sqdist", "l1", "linf")),
    Kind("reduce", "", over_rows(lambda n: f"{n.value[0]}ⱼ[{_show(n.args[0])}]")),
    Kind("opaque", "pair", over_rows(lambda n: f"{n.value[0]!r}")),
    Kind("opaque_diag", "row", over_rows(lambda n: f"{n.value[1]!r}({n.value[0]}, {n.value[0]})")),
    Kind("sqnorm", "row", over_rows(lambda n: f"‖{n.value[0]}‖²")),
    Kind("rowfn", "row", over_rows(_function)),
)
