"""What flows between the steps of a model: a matrix of numbers, or columns of numbers and text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.operations import cosine


@dataclass(frozen=True)
class Column:
    """One column, of shape (N, 1): numbers in float64, or text."""

    wire: Wire
    text: bool = False


@dataclass(frozen=True)
class Table:
    """`whole` is the matrix of all columns where there is one; `names` may be empty."""

    graph: Graph
    width: int
    names: tuple[str, ...] = ()
    whole: Wire | None = None
    parts: tuple[Column, ...] = ()

    @classmethod
    def of(cls, graph: Graph, whole: Wire, width: int, names: Sequence[str] = ()) -> Table:
        return cls(graph, width, tuple(map(str, names)), whole)

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """Tables of numbers, side by side."""
        graph = tables[0].graph
        tables = [t for t in tables if t.width]
        return cls.of(
            graph, graph.side_by_side([t.numbers() for t in tables]), sum(t.width for t in tables)
        )

    def numbers(self) -> Wire:
        """The matrix (N, width) in float64."""
        if self.whole is not None:
            return self.whole
        text = [self._name(i) for i, part in enumerate(self.parts) if part.text]
        if text:
            raise NotExportable(
                f"text reaches a step that takes numbers (columns {', '.join(text[:5])}): encode "
                "it first, with OneHotEncoder or OrdinalEncoder"
            )
        return self.graph.side_by_side([part.wire for part in self.parts])

    def column(self, i: int) -> Column:
        if self.parts:
            return self.parts[i]
        assert self.whole is not None
        return Column(self.graph.columns(self.whole, [i]))

    def take(self, positions: Sequence[int]) -> Table:
        """Some of the columns."""
        positions = [int(i) for i in positions]
        names = tuple(self.names[i] for i in positions) if self.names else ()
        if self.parts:
            parts = tuple(self.parts[i] for i in positions)
            return Table(self.graph, len(positions), names, None, parts)
        assert self.whole is not None
        if positions == list(range(self.width)):
            return self
        whole = self.graph.columns(self.whole, positions)
        return Table(self.graph, len(positions), names, whole)

    def replaced(self, whole: Wire, width: int | None = None) -> Table:
        """Other numbers in its place; as many columns keep their names."""
        if width is None or width == self.width:
            return Table(self.graph, self.width, self.names, whole)
        return Table(self.graph, width, (), whole)

    def apply(self, op: str, *args: Any) -> Table:
        """An element-wise operation on all numbers."""
        return self.replaced(self.graph.add(op, self.numbers(), *args))

    def affine(self, shift: Any = None, factor: Any = None) -> Table:
        """(x − shift) · factor, column by column."""
        table = self
        if shift is not None:
            table = table.apply("Sub", np.asarray(shift, dtype=float).reshape(1, -1))
        if factor is not None:
            table = table.apply("Mul", np.asarray(factor, dtype=float).reshape(1, -1))
        return table

    @property
    def has_text(self) -> bool:
        return any(part.text for part in self.parts)

    def each(self, change: Callable[[Column], Wire]) -> Table:
        """Column by column, text too, where there is text."""
        parts = tuple(Column(change(part), part.text) for part in self.parts)
        return Table(self.graph, self.width, self.names, None, parts)

    def _name(self, i: int) -> str:
        return repr(self.names[i]) if self.names else str(i)


#: Functions of single numbers that have an operator.
ELEMENTWISE: dict[Any, Callable[[Table], Table]] = {
    np.log1p: lambda t: t.apply("Add", 1.0).apply("Log"),
    np.expm1: lambda t: t.apply("Exp").apply("Sub", 1.0),
    np.square: lambda t: t.apply("Mul", t.numbers()),
    np.sqrt: lambda t: t.apply("Sqrt"),
    np.abs: lambda t: t.apply("Abs"),
    np.tanh: lambda t: t.apply("Tanh"),
    np.exp: lambda t: t.apply("Exp"),
    np.log: lambda t: t.apply("Log"),
    np.sin: lambda t: t.apply("Sin"),
    np.cos: lambda t: t.replaced(cosine(t.graph, t.numbers())),
}
