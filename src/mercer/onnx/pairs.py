"""k(x, z) between the rows that are fed in and the points of a model, as nodes.

What depends on the points alone is computed here, in float64. Squared distances come from a matrix
product of centered rows where that keeps enough digits, else from differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import take, widened
from mercer.formula import evaluate as in_numpy
from mercer.formula.inputs import Categories
from mercer.formula.nodes import Formula, Input, at_diagonal, const, dependence, statistics
from mercer.formula.profile import is_stationary
from mercer.formula.simplify import simplify
from mercer.gram import accuracy, host_gram, matrix
from mercer.gram.row_values import reduced, row_weights
from mercer.onnx import NotExportable
from mercer.onnx.graph import Graph, Wire
from mercer.onnx.inputs import apply, row_number
from mercer.onnx.operations import along, evaluate, over_columns, squared_differences
from mercer.onnx.preprocessing.table import Table


class Pairs:
    """Values of formulas between the rows of `table` (wires) and `points` (numbers).

    `dtype` is the precision of the pairs; input maps and centering are done in float64 before.
    """

    def __init__(self, table: Table, points: Any, formula: Formula, dtype: str) -> None:
        self.graph: Graph = table.graph
        self.table: Table = table
        self.dtype: str = dtype
        self.points: Any = dense(points)
        self.formula = formula
        self._rows: dict[Input, Table] = {}
        self._known: dict[Formula, Any] = {}
        check_vectors(formula)

    def kernel(self) -> Wire:
        """k, of shape (N, points)."""
        factor, rest = without_factor(self.formula)
        if self.dtype == "float32" or factor == 1.0:
            return self.value(self.formula)
        # ONNX Runtime rounds a number that a matrix product is scaled with to float32, but no row.
        with precision(self.graph, self.dtype):
            row = np.full((1, len(self.points)), factor)
            return Wire(self.graph.add("Mul", self.value(rest), row))

    def value(self, formula: Formula) -> Wire:
        """Any formula over the pairs, of shape (N, points)."""
        found = self._evaluated(formula)
        if isinstance(found, Wire) and dependence(formula)[id(formula)] == "pair":
            return found
        # k that does not depend on both sides still is one number per pair.
        with precision(self.graph, self.dtype):
            zeros = self.graph.zeros(self.table.column(0).wire)
            wide = self.graph.add("Add", zeros, np.zeros((1, len(self.points))))
            return Wire(self.graph.add("Add", wide, found))

    def own(self, formula: Formula) -> Any:
        """k(x, x), of shape (N, 1) or a number."""
        return self._evaluated(at_diagonal(formula, "x"))

    def _evaluated(self, formula: Formula) -> Any:
        with precision(self.graph, self.dtype):
            for node in statistics(formula):
                if node not in self._known:
                    self._known[node] = self._statistic(node, formula)
            return evaluate(self.graph, formula, self._known)

    # --- both sides -------------------------------------------------------------------------

    def rows(self, key: Input) -> Table:
        """The rows fed in, after an input map, in float64."""
        if key not in self._rows:
            with precision(self.graph, "float64"):
                table = self.table
                for step in key.steps:
                    table = apply(step, table)
            self._rows[key] = table
        return self._rows[key]

    def numbers(self, key: Input) -> np.ndarray:
        """The points after an input map, in float64."""
        values = matrix(self.points, key, "the points of the model")
        found = dense(values).astype(np.float64)
        if any(isinstance(step, Categories) for step in key.steps):
            return self._as_fed(found)
        return found

    def _as_fed(self, found: np.ndarray) -> np.ndarray:
        """Categories as they will come in, which must not merge any of them."""
        rounded = found.astype(self.graph.fed).astype(np.float64)
        pairs = zip(found.T, rounded.T, strict=True)
        if any(len(np.unique(a)) != len(np.unique(b)) for a, b in pairs):
            raise NotExportable(
                "some categories are numbers that float32 does not tell apart; export with "
                "dtype='float64'"
            )
        return rounded

    def _agreements(self, node: Formula) -> Wire:
        """Categories of which some are words: 1 where two agree, column by column."""
        how, key = node.value
        g, table = self.graph, self.rows(key)
        words = self.points
        for step in key.steps:
            words = words if isinstance(step, Categories) else step(words)
        words = np.asarray(words, dtype=object).reshape(len(self.points), -1)
        total: Any = None
        for j, column in enumerate(words.T):
            mine = table.column(j)
            if mine.text:
                wanted = np.array([str(value) for value in column], dtype=object)
            else:
                wanted = self._as_fed(np.asarray(column, dtype=float)[:, None])[:, 0]
            with precision(g, "float64"):
                same = g.add("Equal", mine.wire, wanted.reshape(1, -1))
            agree = g.number(same)
            join = "Mul" if how == "prod" else "Add"
            total = agree if total is None else g.add(join, total, agree)
        return Wire(g.add("Div", total, float(words.shape[1])) if how == "mean" else total)

    def _cast(self, wire: Wire) -> Wire:
        """Rows in the precision of the pairs; in float32 such that no square overflows."""
        if self.dtype == "float64":
            return wire
        with precision(self.graph, "float64"):
            wire = self.graph.add("Clip", wire, -FAR, FAR)
        return self.graph.cast(wire, self.dtype)

    # --- statistics -------------------------------------------------------------------------

    def _statistic(self, node: Formula, formula: Formula) -> Any:
        if node.op in ("sqnorm", "rowfn"):
            return self._of_row(node)
        if node.op == "reduce":
            return self._reduced(node)
        x, z = self.rows(node.value), self.numbers(node.value)
        if node.op == "dot":
            return self.graph.add("MatMul", self._cast(x.numbers()), z.T)
        center = z.mean(axis=0)
        with precision(self.graph, "float64"):
            rows = self._cast(x.affine(center).numbers())
        if node.op == "sqdist":
            return self._squared_distance(rows, z - center, formula, node)
        g = self.graph
        how = "sum" if node.op == "l1" else "max"
        return over_columns(
            g, how, rows, z - center, lambda x, point: g.add("Abs", g.add("Sub", x, point))
        )

    def _squared_distance(self, rows: Wire, z: np.ndarray, formula: Formula, node: Formula) -> Wire:
        g = self.graph
        norms = np.einsum("ij,ij->i", z, z)
        largest = float(norms.max(initial=0.0))
        ends, dtype = accuracy.Ends(largest, largest, largest), np.dtype(self.dtype)
        error = accuracy.product_error(formula, node, z.shape[1], ends, dtype)
        if error > accuracy.TOLERANCE[dtype.itemsize]:
            return squared_differences(g, rows, z)
        own = g.add("ReduceSumSquare", rows, np.array([1]))
        cross = g.add("MatMul", rows, -2.0 * z.T)
        total = g.add("Add", g.add("Add", cross, own), norms.reshape(1, -1))
        return Wire(g.add("Max", total, 0.0))

    def _of_row(self, node: Formula) -> Any:
        side, key = node.value[0], node.value[-1]
        if side == "z":
            if node.op == "sqnorm":
                z = self.numbers(key)
                return np.einsum("ij,ij->i", z, z).reshape(1, -1)
            values = self.points
            for step in key.steps:
                values = step(values)
            return row_weights(node.value[1], values, "the points").reshape(1, -1)
        with precision(self.graph, "float64"):
            table = self.rows(key)
            if node.op == "sqnorm":
                wire = self.graph.add("ReduceSumSquare", table.numbers(), np.array([1]))
            else:
                wire = row_number(node.value[1], table)
        return self._cast(wire)

    def _reduced(self, node: Formula) -> Any:
        """A sum, product, mean or maximum over columns of both rows, of one of them, or of none."""
        how, key = node.value
        body = node.args[0]
        if body.op == "eq" and body.args[0] is body.args[1]:
            body = const(1.0)  # a category equals itself
        sides = {n.value for n in body.walk() if n.op == "coord"}
        if not sides:
            each = np.broadcast_to(in_numpy(body, {}), (1, self.rows(key).width))
            return reduced(how, each, axis=1).reshape(1, 1)
        if len(sides) == 2 and self.rows(key).has_text:
            return self._agreements(node)
        z = self.numbers(key)
        if sides == {"z"}:
            values = in_numpy(body, {n: z for n in body.walk() if n.op == "coord"})
            return reduced(how, np.broadcast_to(values, z.shape), axis=1).reshape(1, -1)
        table = self.rows(key)
        if is_stationary(node):
            # Only differences matter: near the origin they are rounded less.
            center = z.mean(axis=0)
            with precision(self.graph, "float64"):
                table = table.affine(center)
            z = z - center
        rows = self._cast(table.numbers())

        def value(x: Wire, point: np.ndarray) -> Wire:
            at = {"x": x, "z": point}
            known = {n: at[n.value] for n in body.walk() if n.op == "coord"}
            return Wire(evaluate(self.graph, body, known))

        if "z" in sides:
            return over_columns(self.graph, how, rows, z, value)
        one = along(self.graph, how, value(rows, z), 1, z.shape[1])
        return self.graph.add("Div", one, float(z.shape[1])) if how == "mean" else one


def without_factor(formula: Formula) -> tuple[float, Formula]:
    """A number that k is multiplied with, and the rest of k."""
    k = simplify(formula)
    if k.op != "mul" or k.args[0].op != "const" or len(k.args) < 2:
        return 1.0, k
    rest = k.args[1:]
    return float(k.args[0].value), rest[0] if len(rest) == 1 else Formula("mul", rest)


def check_vectors(formula: Formula) -> None:
    """An error where a part of the kernel is not a function of vectors."""
    for node in statistics(formula):
        if node.op not in ("opaque", "opaque_diag"):
            continue
        leaf = node.value[0] if node.op == "opaque" else node.value[1]
        if type(leaf).__name__ == "FromFeatures":
            raise NotExportable(
                f"{leaf!r} stays in Python: write it as linear().warp(phi), where phi is a "
                "transformer or a named function that can be exported"
            )
        raise NotExportable(
            f"{leaf!r} is not a formula of two vectors, so it has no form in ONNX: kernels on "
            "strings, graphs, images, densities, black boxes and given matrices stay in Python. "
            "Save the model with mercer.save(model, path) instead"
        )


@contextmanager
def precision(graph: Graph, dtype: str) -> Iterator[None]:
    """Floating constants of nodes made inside have this dtype."""
    before, graph.dtype = graph.dtype, dtype
    try:
        yield
    finally:
        graph.dtype = before


def dense(points: Any) -> Any:
    """Points as arrays (frames stay frames, so that columns can be picked by name)."""
    if is_sparse(points):
        return points.toarray()
    if hasattr(points, "iloc"):
        return points
    try:
        return np.asarray(points)
    except ValueError:
        return points


# --- whether float32 holds enough digits ---------------------------------------------------------
#
# f(x) = Σᵢ αᵢ k(xᵢ, x) + b cancels where α is large and of both signs: rounding each term by a unit
# u leaves about u·√Σ(αᵢkᵢ)² in f. Where that, or the rounding of a squared distance, would show in
# the fifth digit of the largest value, the pairs of a float32 model are computed in float64.

#: What rounding may do to f, relative to its largest value: a choice, for five digits.
ALLOWED = 2e-6
#: Points at which f is looked at.
SAMPLE = 256
#: Differences from which on, in float32, rows are equally far: the square of one, summed over
#: columns, is still a number.
FAR = 1e17


def working_dtype(formula: Formula, points: Any, coef: np.ndarray, intercept: Any, fed: str) -> str:
    """The precision of the pairs of an expansion that is fed `fed`."""
    if fed == "float64" or not len(coef):
        return fed
    if not is_stationary(formula):
        return "float64"  # a power of a product overflows in float32 where the library has a number
    coef = coef.reshape(len(coef), -1).astype(np.float64)
    some = np.unique(np.linspace(0, len(coef) - 1, SAMPLE).astype(int))
    gram = host_gram(formula, widened(take(points, some)), widened(points))
    K = np.asarray(gram.dense(), dtype=float)
    values = np.abs(K @ coef + intercept).max(initial=0.0)
    if not values > 0:
        return "float64"
    unit = float(np.finfo(np.float32).eps)
    largest_k = np.abs(K).max(initial=0.0)
    terms = np.sqrt(np.square(K) @ np.square(coef)).max()
    noise = 2.0 * unit * (terms + largest_k * unit)
    for node in statistics(formula):
        if node.op == "sqdist":
            z = dense(points)
            for step in node.value.steps:
                z = step(z)
            z = np.asarray(dense(z), dtype=float)
            spread = float(np.square(z - z.mean(axis=0)).sum(axis=1).max())
            ends = accuracy.Ends(spread, spread, spread)
            error = accuracy.product_error(formula, node, z.shape[1], ends, np.dtype(np.float32))
            noise += error * largest_k * float(np.sqrt(np.square(coef).sum(axis=0)).max())
    return "float32" if noise <= ALLOWED * values else "float64"
