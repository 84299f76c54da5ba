"""Formulas of x and z: the kernels that are known by them, and `Written` for all others."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from mercer._lazy import record
from mercer._parameters import Declared, declare
from mercer.formula import nodes
from mercer.formula.inputs import Columns
from mercer.formula.nodes import ROOT, X_J, Z_J, Formula, Input, at_diagonal, dependence
from mercer.formula.ops import OPS
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.catalog import frozen
from mercer.kernels.claims import Claim
from mercer.kernels.columnwise import Intersection
from mercer.kernels.core import SUM, Kernel
from mercer.kernels.dots import Constant, Linear, Polynomial, Sigmoid
from mercer.kernels.expressions.blackboard import LETTER, Typed
from mercer.kernels.radial import (
    Gaussian,
    Laplacian,
    PowerExponential,
    RationalQuadratic,
    SquaredDistance,
)

#: Functions of one number, and those of two.
FUNCTIONS = ("exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "arcsin", "arccos", "min", "max")
VECTORS = "x and z are vectors: write x·z, |x - z|, or a coordinate such as x1"
CALLS = (*FUNCTIONS, "norm")
#: ‖x − z‖ in each norm, by the number that is typed for it.
_NORMS: dict[float, Callable[[Input], Formula]] = {
    1: nodes.l1,
    2: lambda rows: nodes.sqdist(rows).sqrt(),
    math.inf: nodes.linf,
}


def _over(a: Any, b: Any) -> Any:
    if isinstance(a, Formula) or isinstance(b, Formula):
        return nodes.as_formula(a).over(b)
    if b == 0:
        raise ValueError("nothing can be divided by 0")
    return a / b


def _raised(a: Any, b: Any) -> Any:
    if not isinstance(a, Formula) and not isinstance(b, Formula):
        return a**b
    if isinstance(b, Formula) or not float(b).is_integer():
        return nodes.as_formula(a).apply("power", b)
    return a.args[0] if a.op == "sqrt" and b == 2 else a ** int(b)


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _over,
    ast.Pow: _raised,
}


@record
class Vector:
    """The vector a x + b z."""

    a: float
    b: float

    def of(self, op: type, other: Any) -> Vector:
        """The sum or the difference of two vectors, or a multiple of one."""
        work = _ARITHMETIC[op]
        if isinstance(other, Vector) and op in (ast.Add, ast.Sub):
            return Vector(work(self.a, other.a), work(self.b, other.b))
        if isinstance(other, (int, float)) and op in (ast.Mult, ast.Div):
            return Vector(work(self.a, other), work(self.b, other))
        raise ValueError(VECTORS)

    @property
    def sides(self) -> str:
        return "x" * (self.a != 0) + "z" * (self.b != 0)


@record
class Half:
    """f(x) or f(z), as it was written; or such a `factor` of a kernel that waits for the other."""

    tree: ast.expr
    side: str
    factor: ast.expr | None = None
    kernel: Kernel | None = None


@frozen
class Written(Kernel):
    """k(x, z) as it is written on a blackboard, where it is no kernel that has a name here.

    Parameters
    ----------
    text : str
        A formula of x and z: ``x·z``, ``|x - z|``, coordinates ``x1``, numbers, ``+ - * / ^``,
        exp, log, sqrt, tanh, sin, cos, abs, arcsin, arccos, min and max. `parse` reads the same,
        and gives the kernels it recognizes (a Gaussian, a polynomial) by their names.

    Examples
    --------
    >>> from mercer.kernels import parse
    >>> parse("log(1 + |x - z|^2)")([[0.0]], [[1.0]]).round(4)
    array([[0.6931]])
    >>> parse("exp(-|x-z|^2/2) + x·z")
    Gaussian() + Linear()
    """

    text: str
    binding: ClassVar[int] = SUM
    parameters: ClassVar[Declared] = declare()

    @property
    def tree(self) -> ast.expr:
        return Typed(self.text).tree()

    def lower(self, rows: Input, path: str = "") -> Formula:
        return nodes.as_formula(_lowered(self.tree, rows))

    def claim(self, n_features: int | None = None) -> Claim:
        formula = self.formula()
        if _is_product_of_halves(formula):
            return Claim(True, "f(x) f(z)", self, "φ(x) = f(x), one number")
        if formula.op == "cos" and _is_difference_of_halves(formula.args[0]):
            because = "cos(a − b) = cos a cos b + sin a sin b"
            return Claim(True, "cosine of a difference", self, because)
        return Claim(None, "no rule", self, "no rule for this formula is known")

    def latex(self, x: str = "x", z: str = "z") -> str:
        return _latex(self.tree, {"x": x, "z": z})

    def __repr__(self) -> str:
        return self.text


# --- reading: what a formula means --------------------------------------------------------------


def letter(name: str) -> Vector | Half | None:
    """x, z or a coordinate; None for any other name."""
    found = LETTER.fullmatch(name)
    if found is None:
        return None
    side, index = found.groups()
    return Half(ast.Name(name), side) if index else Vector(float(side == "x"), float(side == "z"))


def negative(node: ast.UnaryOp, value: Any) -> Any:
    if isinstance(value, Vector):
        return value.of(ast.Mult, -1.0)
    if isinstance(value, Half):
        kernel = None if value.kernel is None else -value.kernel
        return Half(node, value.side, value.factor, kernel)
    return _times(value, -1.0) if isinstance(value, Kernel) else -value


def combined(node: ast.BinOp, left: Any, right: Any) -> Any:
    """left + right and so on, of numbers, vectors, numbers of one side, and kernels."""
    kinds, work = (type(left), type(right)), _ARITHMETIC[type(node.op)]
    if Vector in kinds:
        return _of_vectors(node, left, right)
    if Half in kinds:
        return _of_halves(node, left, right)
    if isinstance(left, Kernel) or isinstance(right, Kernel):
        work = _OF_KERNELS.get(type(node.op), work)
    found = work(left, right)
    return written(node) if found is None else found


def _of_vectors(node: ast.BinOp, left: Any, right: Any) -> Any:
    op = type(node.op)
    if op is ast.Mult and isinstance(left, Vector) and isinstance(right, Vector):
        if left.sides + right.sides in ("xz", "zx"):
            return _times(Linear(), (left.a or left.b) * (right.a or right.b))
        one = left.sides == right.sides and len(left.sides) == 1
        return Half(node, left.sides) if one else written(node)
    if op is ast.Mult and isinstance(right, Vector):
        left, right = right, left
    if not isinstance(left, Vector):
        raise ValueError(VECTORS)
    return left.of(op, right)


def _of_halves(node: ast.BinOp, left: Any, right: Any) -> Any:
    """What is on one side is a half again; f(x) k(x, z) waits for f(z) as a factor."""
    halves, others = _apart(left, right)
    sides = {half.side for half in halves}
    if len(sides) == 1 and not any(isinstance(value, Kernel) for value in others):
        return Half(node, halves[0].side)
    if not isinstance(node.op, ast.Mult):
        return written(node)
    first, *second = [half.factor or half.tree for half in halves]
    factor = ast.BinOp(first, ast.Mult(), *second) if second else first
    if len(sides) == 1:
        return Half(node, halves[0].side, factor, reduce(operator.mul, others))
    return reduce(operator.mul, others, written(factor))


def _apart(*values: Any) -> tuple[list[Half], list[Any]]:
    """The halves, and all other factors, kernels that wait for a half among them."""
    halves = [value for value in values if isinstance(value, Half)]
    waiting = [half.kernel for half in halves if half.kernel is not None]
    return halves, waiting + [value for value in values if not isinstance(value, Half)]


def called(name: str, node: ast.Call, arguments: list[Any]) -> Any:
    """A function of numbers, a norm of a vector, or min and max of two vectors."""
    if name == "norm":
        return _norm(node, arguments)
    two = name in ("min", "max")
    if len(arguments) != 1 + two:
        raise ValueError(f"{name} takes {'two numbers' if two else 'one number'}")
    if any(isinstance(value, Vector) for value in arguments):
        if sorted(arguments, key=repr) != [Vector(0.0, 1.0), Vector(1.0, 0.0)]:
            raise ValueError(VECTORS)
        return Intersection() if name == "min" else written(node)
    return _of_numbers(name, node, arguments)


def _of_numbers(name: str, node: ast.Call, arguments: list[Any]) -> Any:
    halves, others = _apart(*arguments)
    kernels = [value for value in others if isinstance(value, Kernel)]
    if halves and not kernels and len({half.side for half in halves}) == 1:
        return Half(node, halves[0].side)
    if not halves and not kernels:
        return OPS[name].fold(Formula(name, map(nodes.const, arguments)))
    known = _FUNCTIONS[name](kernels[0]) if name in _FUNCTIONS and not halves else None
    return written(node) if known is None else known


def _norm(node: ast.Call, arguments: list[Any]) -> Any:
    if not isinstance(arguments[0], Vector):  # |u| of a number
        return called("abs", ast.Call(ast.Name("abs"), node.args, []), arguments)
    value, order = (*arguments, 2)[:2]
    if order not in _NORMS:
        raise ValueError(f"there are the norms 1, 2 and inf, not {order}")
    return Half(node, value.sides) if len(value.sides) == 1 else written(node)


def written(tree: ast.expr) -> Written:
    """A formula without a name of its own, as the text that `parse` reads it from."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else "inf"
        if name not in (*CALLS, "inf", "infinity") and not LETTER.fullmatch(name):
            raise ValueError(f"{name} cannot stand here: write it as a formula of x and z")
    text = re.sub(r"norm\(([^(),|]*)\)", r"|\1|", ast.unparse(tree)).replace(" ** ", "^")
    return Written(re.sub(r"\b([xz]) \* ([xz])\b", r"\1·\2", text))


def finished(value: Any) -> Any:
    """What a whole formula is: numbers of one side are functions of two that ignore one."""
    if isinstance(value, Vector):
        raise ValueError(VECTORS)
    return written(value.tree) if isinstance(value, Half) else value


def check_symmetric(kernel: Kernel) -> None:
    """Refuse a formula with k(x, z) ≠ k(z, x), with the pair that shows it."""
    columns = max([2, *map(int, re.findall(r"\b[xz](\d+)", repr(kernel)))])
    X, Z = np.random.RandomState(0).uniform(0.1, 1.0, (2, 3, columns)).round(2)
    if any(isinstance(part, Written) for _, part in kernel.parts()):
        there, back = np.asarray(kernel(X, Z)), np.asarray(kernel(Z, X)).T
        i, j = np.unravel_index(np.abs(there - back).argmax(), there.shape)
        if abs(there[i, j] - back[i, j]) > 1e-9 * max(1.0, float(abs(there[i, j]))):
            raise ValueError(
                f"this is no kernel, because it is not symmetric: for x = {X[i].tolist()} and "
                f"z = {Z[j].tolist()} it gives {there[i, j]:.4g}, for z and x {back[i, j]:.4g}"
            )


# --- kernels that are known by their formula: None stands for all others --------------------------


def _multiple(kernel: Kernel) -> tuple[float, Kernel]:
    return (kernel.factor, kernel.kernel) if isinstance(kernel, Scaled) else (1.0, kernel)


def _times(kernel: Kernel, factor: float) -> Kernel:
    before, base = _multiple(kernel)
    return base if before * factor == 1.0 else before * factor * base


def _affine(kernel: Kernel, inner: type[Kernel]) -> tuple[float, float] | None:
    """(a, b) where the kernel is a·inner + b."""
    parts = [kernel.left, kernel.right] if isinstance(kernel, Sum) else [kernel]
    numbers = [part.value for part in parts if isinstance(part, Constant)]
    others = [part for part in parts if not isinstance(part, Constant)]
    if len(others) != 1:
        return None
    factor, base = _multiple(others[0])
    return (factor, sum(numbers, 0.0)) if type(base) is inner else None


def _distance(kernel: Kernel) -> tuple[float, float] | None:
    """(p, q) where the kernel is ‖x − z‖ₚ to the power q."""
    if isinstance(kernel, SquaredDistance):
        return 2, 2.0
    power: float | None = 1.0
    base = kernel.formula() if isinstance(kernel, Written) else None
    if base is not None and base.op in ("pow", "power"):
        base, power = base.args[0], _exponent(base)
    orders = [order for order, of in _NORMS.items() if of(ROOT) is base]
    return (orders[0], power) if orders and power is not None else None


def _exponent(formula: Formula) -> float | None:
    """The number that u is raised to."""
    if formula.op == "power":
        return formula.args[1].value if formula.args[1].op == "const" else None
    return float(formula.value)


def _product(left: Any, right: Any) -> Kernel:
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        return left * right
    return _times(left, right) if isinstance(left, Kernel) else _times(right, left)


def _quotient(left: Any, right: Any) -> Kernel | None:
    if not isinstance(right, Kernel):
        return _times(left, _over(1.0, right))
    if not isinstance(left, Kernel):
        inverse = _rational(right, 1.0)
        return None if inverse is None else _times(inverse, left)
    if not isinstance(right, Written) or not _is_product_of_halves(right.formula()):
        return None
    return left * written(ast.BinOp(ast.Constant(1), ast.Div(), right.tree))


def _power(left: Any, right: Any) -> Kernel | None:
    if not isinstance(left, Kernel) or isinstance(right, Kernel):
        return None
    if right == 2 and _distance(left) == (2, 1.0):
        return SquaredDistance()
    if right < 1 or not float(right).is_integer():
        return _rational(left, -right) if right < 0 else None
    dots = _affine(left, Linear)
    if dots is not None and dots[0] > 0 and right > 1:
        return Polynomial(int(right), offset=dots[1], gamma=dots[0])
    unknown = isinstance(left, Written) and not left.claim().holds
    return None if unknown else left ** int(right)


def _rational(kernel: Kernel, alpha: float) -> Kernel | None:
    """(a r² + b)^(−α) as a multiple of a rational quadratic."""
    found = _affine(kernel, SquaredDistance)
    if found is None or min(found) <= 0:
        return None
    a, b = found
    inner = RationalQuadratic(alpha=alpha, length=math.sqrt(b / (2.0 * alpha * a)))
    return inner if b == 1 else b**-alpha * inner


def _exp(kernel: Kernel) -> Kernel | None:
    factor, base = _multiple(kernel)
    found = _distance(base)
    if found is None or factor >= 0:
        return kernel.exp() if not isinstance(base, Written) or base.claim().holds else None
    norm, power = found
    if found == (2, 2.0):
        return Gaussian(sigma=1.0 / math.sqrt(-2.0 * factor))
    if power == 1.0:
        return Laplacian(rate=-factor, norm=norm)
    if norm == math.inf or power <= 0:
        return None
    return PowerExponential(length=(-factor) ** (-1.0 / power), power=power, norm=norm)


def _tanh(kernel: Kernel) -> Kernel | None:
    found = _affine(kernel, Linear)
    return None if found is None else Sigmoid(*found)


_OF_KERNELS: dict[type, Callable[[Any, Any], Kernel | None]] = {
    ast.Mult: _product,
    ast.Div: _quotient,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[[Any], Kernel | None]] = {"exp": _exp, "tanh": _tanh}


# --- what is a kernel by its form -----------------------------------------------------------------

#: Operations that never give a number below 0: real powers of their products come apart.
_NEVER_NEGATIVE = ("exp", "sqrt", "abs", "sqnorm")


def _is_product_of_halves(formula: Formula) -> bool:
    """c f(x) f(z), c ≥ 0: each factor in x stands in z with the same power."""
    sides, powers = dependence(formula), defaultdict[Any, float](float)

    def comes_apart(node: Formula, power: float) -> bool:
        if node.op in ("mul", "div"):
            signs = (power, -power if node.op == "div" else power)
            return all(map(comes_apart, node.args, signs))
        if node.op in ("pow", "power") and (exponent := _exponent(node)) is not None:
            return comes_apart(node.args[0], power * exponent)
        if node.op == "const":
            powers[-1] += power if node.value < 0 else 0
            return True
        # e^(u + v) is a product as well.
        parts = _terms(node.args[0]) if node.op == "exp" else [(node, 1.0)]
        for part, factor in parts:
            key = at_diagonal(part), node.op == "exp"
            powers[key] += power * factor * {"x": 1, "z": -1}.get(sides[id(part)], math.nan)
        return power == int(power) or node.op in _NEVER_NEGATIVE

    apart = comes_apart(formula, 1.0)
    return apart and powers.pop(-1, 0) % 2 == 0 and not any(powers.values())


def _is_difference_of_halves(formula: Formula) -> bool:
    """f(x) − f(z)"""
    sides, found = dependence(formula), defaultdict[Formula, float](float)
    for term, factor in _terms(formula):
        found[at_diagonal(term)] += factor if sides[id(term)] in ("x", "z") else math.nan
    return not any(found.values())


def _terms(formula: Formula, factor: float = 1.0) -> list[tuple[Formula, float]]:
    """The terms of a sum, each without the number that it is multiplied by, and that number."""
    args = formula.args
    if formula.op == "add":
        return [term for arg in args for term in _terms(arg, factor)]
    if formula.op == "mul" and "const" in (args[0].op, args[1].op):
        number, other = args if args[0].op == "const" else args[::-1]
        return _terms(other, factor * number.value)
    if formula.op == "div" and args[1].op == "const" and args[1].value:
        return _terms(args[0], factor / args[1].value)
    return [(formula, factor)]


# --- what it computes, and how it looks ----------------------------------------------------------


def _lowered(tree: ast.expr, rows: Input) -> Any:
    """A number, a vector, or a formula of pair statistics."""
    match tree:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return _named(name, rows)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_lowered(operand, rows), -1.0)
        case ast.UnaryOp(operand=operand):
            return _lowered(operand, rows)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _applied(name, [_lowered(value, rows) for value in args], rows)
    assert isinstance(tree, ast.BinOp)
    op, left, right = type(tree.op), _lowered(tree.left, rows), _lowered(tree.right, rows)
    if isinstance(left, Vector) and isinstance(right, Vector) and op is ast.Mult:
        return _inner(left, right, rows)
    if isinstance(right, Vector) and op is ast.Mult:
        left, right = right, left
    return left.of(op, right) if isinstance(left, Vector) else _ARITHMETIC[op](left, right)


def _named(name: str, rows: Input) -> Any:
    found = letter(name)
    if isinstance(found, Half):
        column = rows.then(Columns((int(name[1:]) - 1,)))
        return nodes.reduce_columns("sum", X_J if found.side == "x" else Z_J, column)
    return math.inf if found is None else found


def _inner(u: Vector, v: Vector, rows: Input) -> Formula:
    """The inner product of two vectors."""
    cross = u.a * v.b + u.b * v.a
    parts = [(nodes.dot(rows), cross), (nodes.sqnorm("x", rows), u.a * v.a)]
    parts += [(nodes.sqnorm("z", rows), u.b * v.b)]
    terms = [_scaled(part, factor) for part, factor in parts if factor]
    return reduce(operator.add, terms) if terms else nodes.const(0.0)


def _applied(name: str, values: list[Any], rows: Input) -> Any:
    first = values[0]
    if not isinstance(first, Vector):
        return nodes.as_formula(first).apply("abs" if name == "norm" else name, *values[1:])
    if name != "norm":
        return nodes.reduce_columns("sum", X_J.apply(name, Z_J), rows)
    order = values[1] if len(values) > 1 else 2
    if first.a == -first.b:
        return _scaled(_NORMS[order](rows), abs(first.a))
    if order == 2:
        return _inner(first, first, rows).sqrt()
    body = (first.a * X_J + first.b * Z_J).apply("abs")
    return nodes.reduce_columns("sum" if order == 1 else "max", body, rows)


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, Vector):
        return value.of(ast.Mult, factor)
    return value if factor == 1.0 else factor * value


#: How operations and functions are written; other functions with their name.
_IN_LATEX: dict[Any, str] = {
    "norm": r"\|%s\|", "abs": r"\lvert %s \rvert", "sqrt": r"\sqrt{%s}", ast.Add: "%s + %s",
    ast.Sub: "%s - %s", ast.Mult: r"%s \, %s", ast.Div: r"\frac{%s}{%s}", ast.Pow: "%s^{%s}",
}  # fmt: skip


def _latex(tree: ast.expr, names: dict[str, str]) -> str:
    """A formula in LaTeX; `names` are those of x and z."""
    match tree:
        case ast.Constant(value=int() | float() as number):
            return f"{number:g}"
        case ast.Name(id=name):
            found = LETTER.fullmatch(name)
            index = f"_{{{found[2]}}}" if found and found[2] else ""
            return names[found[1]] + index if found else r"\infty"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_fenced(operand, names)}"
        case ast.UnaryOp(operand=operand):
            return _latex(operand, names)
        case ast.Call(func=ast.Name(id=name), args=args):
            inside = [_latex(value, names) for value in args]
            order = f"_{{{inside.pop()}}}" if name == "norm" and args[1:] else ""
            form = _IN_LATEX.get(name, rf"\{name}\left(%s\right)")
            return form % ", ".join(inside) + order
    assert isinstance(tree, ast.BinOp)
    return _binary_in_latex(tree, names)


def _binary_in_latex(tree: ast.BinOp, names: dict[str, str]) -> str:
    kind, left, right = type(tree.op), _latex(tree.left, names), _latex(tree.right, names)
    if kind is ast.Mult and isinstance(tree.left, ast.Name) and isinstance(tree.right, ast.Name):
        return rf"{left} \cdot {right}"
    if kind is ast.Pow and not (
        left[:2] == r"\|" or isinstance(tree.left, (ast.Name, ast.Constant))
    ):
        left = rf"\left({left}\right)"
    if kind is ast.Mult:
        left = _fenced(tree.left, names)
    if kind in (ast.Mult, ast.Sub):
        right = _fenced(tree.right, names)
    return _IN_LATEX[kind] % (left, right)


def _fenced(tree: ast.expr, names: dict[str, str]) -> str:
    text = _latex(tree, names)
    sums = isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub))
    return rf"\left({text}\right)" if sums else text
