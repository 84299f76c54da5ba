"""Form: what a formula decides by itself, whatever the rows are, found once and kept.

    formula ──► form_of(formula) ──► inputs, distances, checks of range ──► programs

A program is what runs for each tile. It has *sources* (products, differences, opaque blocks: each
gives one value per pair), *row values* (what depends on one row only, computed once and kept as a
vector), and an *epilogue*: the formula that is left, over those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer.formula import nodes
from mercer.formula.nodes import Formula, Input, Kind, const, dependence, statistics
from mercer.formula.simplify import simplify
from mercer.gram.accuracy import LITTLE_WORK, Method, needs_double
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
        return nodes.rows_of(self.node)


@record
class Program:
    """What is computed for each tile, and what once for each row."""

    formula: Formula
    sources: tuple[Source, ...]
    row_x: tuple[Formula, ...]
    row_z: tuple[Formula, ...]
    epilogue: Formula
    methods: Mapping[Input, Method] = field(default_factory=dict)

    @cached_property
    def is_opaque(self) -> bool:
        """Whether a kernel without a formula is part of it."""
        return any(s.kind == "opaque" for s in self.sources)

    @cached_property
    def rounds_distances(self) -> bool:
        """Whether a distance comes out of a product, so that it need not be 0 where x is z."""
        return any(s.kind in ("product", "repaired") for s in self.sources)

    @cached_property
    def fused(self) -> bool:
        """Every source can be computed inside the generated loop: no tile needs to exist."""
        return all(s.kind == "direct" for s in self.sources)

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
    """Choose a source for every statistic, then lift all that depends on one row alone."""
    choices = frozenset((rows, method.how, method.center) for rows, method in methods.items())
    return Program(formula, *_compiled(formula, choices), dict(methods))


@lru_cache(maxsize=1024)
def _compiled(
    formula: Formula, choices: frozenset[tuple[Input, str, bool]]
) -> tuple[tuple[Source, ...], tuple[Formula, ...], tuple[Formula, ...], Formula]:
    """Sources, row values of both sides and epilogue; the same for all data of these choices."""
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
    return tuple(sources), tuple(rows["x"]), tuple(rows["z"]), epilogue


def _lift(formula: Formula, rows: dict[str, dict[Formula, int]]) -> Formula:
    """Replace every largest subtree that depends on one side only by a row value."""
    sides = dependence(formula)

    def vector(node: Formula, side: str) -> Formula:
        return Formula(f"row{side}", value=rows[side].setdefault(node, len(rows[side])))

    def visit(node: Formula) -> Formula:
        side = sides.get(id(node), "")
        if side in ("x", "z"):
            return vector(node, side)
        if not side or node.op == "tile" or not node.args:
            return node
        if node.op in ("add", "mul"):
            # Terms of the same side are added up first: one vector, not several.
            rest = []
            for own in ("x", "z"):
                group = [a for a in node.args if sides[id(a)] == own]
                if group:
                    joined = group[0] if len(group) == 1 else Formula(node.op, group)
                    rest.append(vector(joined, own))
            rest += [visit(a) for a in node.args if sides[id(a)] not in ("x", "z")]
            return rest[0] if len(rest) == 1 else Formula(node.op, rest)
        return Formula(node.op, [visit(a) for a in node.args], node.value)

    return visit(formula)


class Form:
    """A formula, and the answers that all rows share.

    `inputs`: what is read as numbers; `distances`: its nodes ‖x − z‖²; `multiplied`: inputs of
    which products are made; `reduced`: inputs whose columns are read one by one.

    >>> from mercer import Gaussian
    >>> form_of(Gaussian().formula()).distances
    (sqdist,)
    """

    def __init__(self, formula: Formula) -> None:
        found = statistics(formula)
        self.formula = formula
        self.inputs = tuple(numeric_inputs(formula))
        self.distances = tuple(node for node in found if node.op == "sqdist")
        self.multiplied: tuple[Input, ...] = tuple(
            dict.fromkeys(node.value for node in found if node.op in ("dot", "sqdist"))
        )
        self.reduced = frozenset(node.value[1] for node in found if node.op == "reduce")
        self.is_double = needs_double(formula)
        self._in_range: dict[np.dtype, bool] = {}

    def program(self, methods: Mapping[Input, Method]) -> Program:
        """The program in which each distance is made by its method."""
        return compile_program(self.formula, methods)

    @cached_property
    def of_differences(self) -> Program:
        """The program of a K that is little work: every distance from differences."""
        return self.program({node.value: LITTLE_WORK for node in self.distances})

    def is_always_in_range(self, dtype: np.dtype) -> bool:
        """Whether no rows of finite numbers make a part of k overflow or underflow."""
        if dtype not in self._in_range:
            self._in_range[dtype] = is_always_in_range(self.formula, dtype)
        return self._in_range[dtype]

    @cached_property
    def reads_products(self) -> frozenset[Any]:
        """Inputs of which k reads x·z itself."""
        return frozenset(n.value for n in statistics(self.formula) if n.op == "dot")


@lru_cache(maxsize=1024)
def form_of(formula: Formula) -> Form:
    """The form of a simplified formula."""
    return Form(formula)


def form_for(kernel: Kernel | Formula) -> Form:
    """The form of a kernel's formula, found again for every kernel that equals an earlier one."""
    try:
        return _form(kernel)
    except TypeError:  # a parameter that cannot be hashed, or no kernel at all
        return form_of(simplified(kernel))


@lru_cache(maxsize=1024)
def _form(kernel: Kernel | Formula) -> Form:
    return form_of(simplified(kernel))
