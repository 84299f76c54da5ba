"""Form: what a formula decides by itself, whatever the rows are, computed once.

    formula ──► form_of(formula) ──► inputs, distances, checks of range ──► programs

A program is what runs for each tile. It has *sources* (products, differences, opaque blocks: each
gives one value per pair), *row values* (what depends on one row only, computed once and kept as a
vector), and an *epilogue*: the formula that is left, over those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import FLOATS
from mercer._lazy import record
from mercer.formula import nodes
from mercer.formula.nodes import Formula, Input, Kind, const, dependence, statistics
from mercer.formula.simplify import simplify
from mercer.gram.accuracy import BY_SIZE, Method, needs_double
from mercer.gram.base import simplified
from mercer.gram.range import is_always_in_range
from mercer.gram.rows import numeric_inputs
from mercer.kernels.core import Kernel


def _show_number(node: Formula) -> str:
    return f"{node.op}{node.value}"


def _show_prepared(node: Formula) -> str:
    return f"{node.op}()"


# The nodes of programs, which no kernel writes: a source's value, a row value, and statistics of
# the rows as a product sees them.
nodes.declare(
    Kind("tile", "pair", _show_number, statistic=False),
    Kind("rowx", "", _show_number, statistic=False),
    Kind("rowz", "", _show_number, statistic=False),
    Kind("prepared_norm", "row", _show_prepared),
    Kind("prepared_shift", "row", _show_prepared),
)


#: What every target can write in a loop, powers by whole numbers included.
IN_LOOPS = frozenset({"const", "tile", "rowx", "rowz", "coord", "pow"})


@record
class Source:
    """One value per pair. `kind`: "product", "repaired" (‖x−z‖²), "direct" or "opaque"."""

    kind: str
    node: Formula

    @cached_property
    def rows(self) -> Input:
        """The input that the source reads."""
        return nodes.rows_of(self.node)


@record
class Program:
    """The steps that make a tile of K, and those that are done once for each row.

    `compile_program` returns one object per formula and choice of methods, so that programs are
    compared by identity, and what is derived from one is computed once.
    """

    formula: Formula
    sources: tuple[Source, ...]
    row_x: tuple[Formula, ...]
    row_z: tuple[Formula, ...]
    epilogue: Formula

    __eq__: ClassVar[Any] = object.__eq__
    __hash__: ClassVar[Any] = object.__hash__

    @cached_property
    def opaque(self) -> tuple[Any, ...]:
        """The kernels without a formula among the sources."""
        return tuple(s.node.value[0] for s in self.sources if s.kind == "opaque")

    @cached_property
    def symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x): of a formula always, of an opaque kernel where it says so."""
        return all(leaf.symmetric for leaf in self.opaque)

    @cached_property
    def direct(self) -> tuple[Input, ...]:
        """The inputs whose coordinates a loop over pairs reads, one per source."""
        return tuple(s.rows for s in self.sources if s.kind == "direct")

    @cached_property
    def multiplied(self) -> frozenset[Input]:
        """The inputs whose rows are multiplied."""
        return frozenset(s.rows for s in self.sources if s.kind in ("product", "repaired"))

    @cached_property
    def fused(self) -> bool:
        """Whether every source can be computed inside the generated loop: no tile has to exist."""
        return len(self.direct) == len(self.sources)

    def written_in(self, form: Callable[[str], Any]) -> bool:
        """Whether a target has a form for every operation of the loop."""
        formulas = [self.epilogue]
        formulas += [s.node.args[0] for s in self.sources if s.kind == "direct" and s.node.args]
        return all(n.op in IN_LOOPS or form(n.op) for f in formulas for n in f.walk())


def prepared_norm(side: str, rows: Input) -> Formula:
    """‖x − c‖² of the rows as the product sees them."""
    return Formula("prepared_norm", value=(side, rows))


def prepared_shift(side: str, rows: Input) -> Formula:
    """(x − c)·c + ‖c‖²/2: what turns the product of centered rows back into x·z."""
    return Formula("prepared_shift", value=(side, rows))


def compile_program(formula: Formula, methods: Mapping[Input, Method]) -> Program:
    """The program of a formula in which each distance is made by its method."""
    return _compiled(formula, frozenset((i, m.how, m.center) for i, m in methods.items()))


@lru_cache(maxsize=1024)
def _compiled(formula: Formula, choices: frozenset[tuple[Input, str, bool]]) -> Program:
    """Choose a source for every statistic, then lift all that depends on one row alone."""
    methods = {rows: (how, center) for rows, how, center in choices}
    sources: dict[Source, int] = {}

    def tile(kind: str, node: Formula) -> Formula:
        index = sources.setdefault(Source(kind, node), len(sources))
        return Formula("tile", value=index)

    def realize(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if node.op == "sqdist":
            how, _ = methods[node.value]
            if how == "loop":
                return tile("direct", node)
            if how == "product":
                norms = prepared_norm("x", node.value) + prepared_norm("z", node.value)
                product = tile("product", nodes.dot(node.value))
                return (norms + const(-2.0) * product).plus()
            return tile(how, node)
        if node.op == "dot":
            how, centered = methods.get(node.value, ("", False))
            if how == "loop":
                return tile("direct", node)
            product = tile("product", node)
            if not centered:
                return product
            return product + prepared_shift("x", node.value) + prepared_shift("z", node.value)
        if node.op in ("l1", "linf"):
            return tile("direct", node)
        if node.op == "reduce" and dependence(node)[id(node)] == "pair":
            return tile("direct", node)
        if node.op == "opaque":
            return tile("opaque", node)
        return Formula(node.op, args, node.value)

    realized = simplify(formula.rebuild(realize))
    rows: dict[str, dict[Formula, int]] = {"x": {}, "z": {}}
    epilogue = _lift(realized, rows)
    return Program(formula, tuple(sources), tuple(rows["x"]), tuple(rows["z"]), epilogue)


def _lift(formula: Formula, rows: dict[str, dict[Formula, int]]) -> Formula:
    """Replace every largest subtree that depends on one operand only by a row value."""
    sides = dependence(formula)

    def vector(node: Formula, side: str) -> Formula:
        return Formula(f"row{side}", value=rows[side].setdefault(node, len(rows[side])))

    def of_pair(node: Formula) -> bool:
        return sides[id(node)] not in ("x", "z")

    def joined(op: str, args: list[Formula]) -> Formula:
        return args[0] if len(args) == 1 else Formula(op, args)

    def values(op: str, group: list[Formula]) -> list[Formula]:
        parts = {side: [a for a in group if sides[id(a)] == side] for side in ("x", "z")}
        return [vector(joined(op, part), side) for side, part in parts.items() if part]

    def visit(node: Formula) -> Formula:
        side = sides.get(id(node), "")
        if side in ("x", "z"):
            return vector(node, side)
        if not side or node.op == "tile" or not node.args:
            return node
        if node.op in ("add", "mul"):
            # Terms of one operand are added up first: one vector, not several. Factors only where
            # they stand side by side, at the end of a part of k: all of them may underflow.
            args = sorted(node.args, key=of_pair) if node.op == "add" else node.args
            rest: list[Formula] = []
            for pairs, group in [(key, list(run)) for key, run in groupby(args, of_pair)]:
                terms = [visit(a) for a in group] if pairs else values(node.op, group)
                rest += [joined(node.op, terms)] if rest and not pairs else terms
            return joined(node.op, rest)
        return Formula(node.op, [visit(a) for a in node.args], node.value)

    return visit(formula)


class Form:
    """A formula, and the answers that all rows share.

    `inputs`: what is read as numbers; `reads_as_given`: rows of numbers need no input map;
    `distances`: the nodes ‖x − z‖²; `multiplied`: inputs of which products are made;
    `by_size`: the methods where sizes decide.

    >>> from mercer import Gaussian
    >>> form_of(Gaussian().formula()).distances
    (sqdist,)
    """

    def __init__(self, formula: Formula) -> None:
        nodes_read = statistics(formula)
        self.formula = formula
        self.inputs: tuple[Input, ...] = tuple(numeric_inputs(formula))
        self.reads_as_given: bool = bool(self.inputs) and not any(key.steps for key in self.inputs)
        self.distances: tuple[Formula, ...] = tuple(
            node for node in nodes_read if node.op == "sqdist"
        )
        self.multiplied: tuple[Input, ...] = tuple(
            dict.fromkeys(node.value for node in nodes_read if node.op in ("dot", "sqdist"))
        )
        self.by_size: dict[Any, Method] = {node.value: BY_SIZE for node in self.distances}
        self.is_double: bool = needs_double(formula)

    @cached_property
    def of_differences(self) -> Program:
        """The program that computes every distance from differences."""
        return compile_program(self.formula, self.by_size)

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operations of the formula, those inside reductions included."""
        return frozenset(node.op for node in self.formula.walk())

    @cached_property
    def in_range(self) -> frozenset[np.dtype]:
        """The types of numbers in which no finite rows make a part of k overflow or underflow."""
        return frozenset(t for t in FLOATS if is_always_in_range(self.formula, t))

    @cached_property
    def reads_products(self) -> frozenset[Any]:
        """Inputs of which k reads x·z itself."""
        return frozenset(n.value for n in statistics(self.formula) if n.op == "dot")


@lru_cache(maxsize=1024)
def form_of(formula: Formula) -> Form:
    """The form of a simplified formula."""
    return Form(formula)


def form_for(kernel: Kernel | Formula) -> Form:
    """The form of a kernel's formula, cached for all kernels that are equal."""
    try:
        return _form(kernel)
    except TypeError:  # a parameter that cannot be hashed, or no kernel at all
        return form_of(simplified(kernel))


@lru_cache(maxsize=1024)
def _form(kernel: Kernel | Formula) -> Form:
    return form_of(simplified(kernel))
