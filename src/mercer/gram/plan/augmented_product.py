"""a x·z + v(x) + w(z) = (x, v(x), 1)·(a z, 1, w(z)): a sum that becomes part of the product.

‖x − z‖² is such a sum. Two more columns of a product cost less than three passes over K.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.formula import Formula


def beside(rows: np.ndarray, *columns: Any) -> np.ndarray:
    """The rows with more columns on their right."""
    n, width = rows.shape
    wide = np.empty((n, width + len(columns)), dtype=rows.dtype)
    wide[:, :width] = rows
    for j, column in enumerate(columns):
        wide[:, width + j] = column
    return wide


@lru_cache(maxsize=1024)
def folded_sum(epilogue: Formula) -> tuple[float, Formula] | None:
    """The factor a, and the formula with one source in place of a x·z + v(x) + w(z).

    None where there is no such sum, or more than it reads the product and the values.
    """
    read = Counter(id(a) for node in epilogue.walk() for a in node.args)
    for node in epilogue.walk():
        factor, leaves = _parts_of_sum(node)
        if leaves and all(read[id(leaf)] == 1 and leaf.value == 0 for leaf in leaves):
            return factor, _replaced(epilogue, node, leaves[0])
    return None


def _parts_of_sum(node: Formula) -> tuple[float, list[Formula]]:
    """The factor a of a x·z + v(x) + w(z), and the product and the values; none of another node."""
    scaled = [a for a in node.args if a.op == "mul" and len(a.args) == 2]
    if node.op != "add" or len(node.args) != 3 or len(scaled) != 1:
        return 0.0, []
    number, tile = sorted(scaled[0].args, key=lambda part: part.op)
    values = [a for a in node.args if a is not scaled[0]]
    if [number.op, tile.op, *sorted(a.op for a in values)] != ["const", "tile", "rowx", "rowz"]:
        return 0.0, []
    return float(number.value), [tile, *values]


def _replaced(formula: Formula, node: Formula, by: Formula) -> Formula:
    def table(part: Formula, args: tuple[Formula, ...]) -> Formula:
        return by if part is node else Formula(part.op, args, part.value)

    return formula.rebuild(table)
