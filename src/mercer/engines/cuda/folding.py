"""Row values inside the product:  c·x·z + r(x) + s(z)  as one product of slightly longer rows.

A squared distance is such a sum, ‖x‖² + ‖z‖² − 2 x·z, and the exponent of a Gaussian is a multiple
of it. Appending (r, 1) to the row of x and (1, s) to the row of z lets the tensor cores add the
row values, which costs nothing where the rows are padded anyway: what is left for each pair of a
Gaussian is one exponential and one multiplication. The multiple −1/2σ² (in base two) goes into the
rows as well, and so does the positive part: rounding may lift an exponent above zero by no more
than the tolerance with which the product was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from mercer.formula.nodes import Formula
from mercer.gram.form import Program


@dataclass(frozen=True)
class Fold:
    """The value of a product: factor · x·z + multiple · (rowx + rowz) + shift, not x·z."""

    #: The part of the epilogue that the product stands for.
    target: Formula
    #: The indices of the row values of x and of z.
    rows: tuple[int | None, int | None]
    factor: float
    multiple: float
    shift: float
    #: The value is an exponent: its scale is given, and it is not large.
    exponent: bool

    @property
    def sides(self) -> tuple[float, float]:
        """The factors of the rows of x and of z: exact where the factor is a power of 2."""
        if math.frexp(abs(self.factor))[0] == 0.5:
            return self.factor, 1.0
        root = math.sqrt(abs(self.factor))
        return math.copysign(root, self.factor), root


@lru_cache(maxsize=256)
def folds_of(epilogue: Formula, products: tuple[int, ...]) -> dict[int, Fold]:
    """Map each product whose value is used in one sum with row values only to that sum."""
    parents: dict[int, list[Formula]] = {}
    for node in epilogue.walk():
        for argument in set(node.args):
            parents.setdefault(id(argument), []).append(node)
    found = {i: _fold(Formula("tile", value=i), parents) for i in products}
    return {i: fold for i, fold in found.items() if fold is not None}


def folded(program: Program, folds: dict[int, Fold]) -> Program:
    """The program whose epilogue takes those sums from the products."""
    targets = {id(fold.target): Formula("tile", value=i) for i, fold in folds.items()}

    def place(node: Formula, args: tuple[Formula, ...]) -> Formula:
        return targets.get(id(node)) or Formula(node.op, args, node.value)

    return replace(program, epilogue=program.epilogue.rebuild(place))


def _fold(tile: Formula, parents: dict[int, list[Formula]]) -> Fold | None:
    term, factor = tile, 1.0
    above = _only(term, parents)
    if above is not None and above.op == "mul":
        number = _number_beside(term, above)
        if number is None:
            return None
        term, factor, above = above, number, _only(above, parents)
    if above is None or above.op != "add":
        return None
    rows: dict[str, int | None] = {"rowx": None, "rowz": None}
    shift = 0.0
    for other in above.args:
        if other.op in rows and rows[other.op] is None:
            rows[other.op] = other.value
        elif other.op == "const":
            shift += other.value
        elif other is not term:
            return None
    if rows["rowx"] is None and rows["rowz"] is None:
        return None
    plain = Fold(above, (rows["rowx"], rows["rowz"]), factor, 1.0, shift, False)
    return _exponent(plain, parents) or plain


def _exponent(fold: Fold, parents: dict[int, list[Formula]]) -> Fold | None:
    """2 to the power of m·max(sum, 0) with m < 0, and nothing else made of it."""
    positive = _only(fold.target, parents)
    if positive is None or positive.op != "max" or _number_beside(fold.target, positive) != 0.0:
        return None
    multiple = _only(positive, parents)
    if multiple is None or multiple.op != "mul":
        return None
    m = _number_beside(positive, multiple)
    powers = parents.get(id(multiple), [])
    if m is None or m >= 0 or not powers or any(p.op != "exp2" for p in powers):
        return None
    return replace(
        fold, target=multiple, factor=m * fold.factor, multiple=m, shift=m * fold.shift,
        exponent=True,
    )  # fmt: skip


def _only(node: Formula, parents: dict[int, list[Formula]]) -> Formula | None:
    above = parents.get(id(node), [])
    return above[0] if len(above) == 1 else None


def _number_beside(node: Formula, parent: Formula) -> float | None:
    """The constant of a node of two arguments, a number and `node`."""
    others = [a for a in parent.args if a is not node]
    if len(parent.args) != 2 or len(others) != 1 or others[0].op != "const":
        return None
    return float(others[0].value)
