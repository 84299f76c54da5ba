"""Formulas of x and z: the kernels that are known by them, and `Written` for all others."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer._lazy import record
from mercer._parameters import declare
from mercer.formula import nodes
from mercer.formula.inputs import Columns
from mercer.formula.nodes import X_J, Z_J, Formula, Input, const, dot, reduce_columns, sqdist
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
_NORMS = {1: 1, 2: 2, math.inf: "inf"}
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


@record
class Vector:
    """The vector a x + b z."""

    a: float
    b: float

    def of(self, op: type, other: Vector | float) -> Vector | None:
        """The sum or the difference of two vectors, a multiple of one; None for anything else."""
        if isinstance(other, Vector) and op in (ast.Add, ast.Sub):
            work = _ARITHMETIC[op]
            return Vector(work(self.a, other.a), work(self.b, other.b))
        if isinstance(other, (int, float)) and op in (ast.Mult, ast.Div):
            return Vector(_ARITHMETIC[op](self.a, other), _ARITHMETIC[op](self.b, other))
        return None

    @property
    def sides(self) -> str:
        return "x" * (self.a != 0) + "z" * (self.b != 0)


@record
class OneSided:
    """A number that depends on x alone, or on z alone; `tree` is how it was written."""

    tree: ast.expr
    sides: str


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
    parameters = declare()

    @property
    def tree(self) -> ast.expr:
        return Typed(self.text).tree()

    def lower(self, rows: Input, path: str = "") -> Formula:
        return nodes.as_formula(_Lowered(rows).of(self.tree))

    def claim(self, n_features: int | None = None) -> Claim:
        halves = separated(self.tree)
        if halves is not None and halves["x"] == halves["z"]:
            return Claim(True, "f(x) f(z)", self, "φ(x) = f(x), one number")
        if _is_cosine(self.tree):
            because = "cos(a − b) = cos a cos b + sin a sin b"
            return Claim(True, "cosine of a difference", self, because)
        return Claim(None, "no rule", self, "no rule for this formula is known")

    def latex(self, x: str = "x", z: str = "z") -> str:
        return latex(self.tree, {"x": x, "z": z})

    def __repr__(self) -> str:
        return self.text


# --- reading: what a formula means --------------------------------------------------------------


def letter(name: str) -> Vector | OneSided | None:
    """x, z or a coordinate; None for any other name."""
    found = LETTER.fullmatch(name)
    if found is None:
        return None
    side, index = found.groups()
    if index:
        return OneSided(ast.Name(name), side)
    return Vector(1.0, 0.0) if side == "x" else Vector(0.0, 1.0)


def negative(node: ast.UnaryOp, value: Any) -> Any:
    if isinstance(value, Vector):
        return Vector(-value.a, -value.b)
    if isinstance(value, OneSided):
        return OneSided(node, value.sides)
    return _times(value, -1.0) if isinstance(value, Kernel) else -value


def combined(node: ast.BinOp, left: Any, right: Any) -> Any:
    """left + right and so on, of numbers, vectors, numbers of one side, and kernels."""
    op = type(node.op)
    if isinstance(left, Vector) or isinstance(right, Vector):
        return _of_vectors(node, left, right)
    if not isinstance(left, (Kernel, OneSided)) and not isinstance(right, (Kernel, OneSided)):
        return _ARITHMETIC[op](left, right)
    if isinstance(left, OneSided) or isinstance(right, OneSided):
        return _of_sides(node, left, right)
    if op is ast.Pow:
        return _power(node, left, right)
    if op in (ast.Mult, ast.Div) and not isinstance(right, Kernel):
        return _times(left, _ARITHMETIC[op](1.0, right))
    if op is ast.Mult and not isinstance(left, Kernel):
        return _times(right, left)
    if op is ast.Div:
        if isinstance(left, (int, float)):
            rational = _rational(right, 1.0)
            return written(node) if rational is None else _times(rational, left)
        halves = separated(right.tree) if isinstance(right, Written) else None
        inverse = ast.BinOp(ast.Constant(1), ast.Div(), node.right)
        return written(node) if halves is None else left * written(inverse)
    return _ARITHMETIC[op](left, right)


def _of_vectors(node: ast.BinOp, left: Any, right: Any) -> Any:
    op = type(node.op)
    both = isinstance(left, Vector) and isinstance(right, Vector)
    if op is ast.Mult and both:
        if sorted((left.sides, right.sides)) == ["x", "z"]:
            factor = (left.a or left.b) * (right.a or right.b)
            return Linear() if factor == 1 else factor * Linear()
        if left.sides == right.sides and len(left.sides) == 1:
            return OneSided(node, left.sides)
        return written(node)
    if not isinstance(left, Vector) and op is ast.Mult:
        left, right = right, left
    found = left.of(op, right) if isinstance(left, Vector) else None
    if found is None:
        raise ValueError(VECTORS)
    return found


def _of_sides(node: ast.BinOp, left: Any, right: Any) -> Any:
    """Numbers of one side: of the same side again one, of both a kernel, f(x) f(z) apart."""
    sides = "".join(sorted({*getattr(left, "sides", ""), *getattr(right, "sides", "")}))
    if len(sides) == 1 and not isinstance(left, Kernel) and not isinstance(right, Kernel):
        return OneSided(node, sides)
    if isinstance(node.op, ast.Mult) and isinstance(left, _Waiting):
        return left.times(right, node)
    if isinstance(node.op, ast.Mult) and isinstance(right, OneSided) and isinstance(left, Kernel):
        return _Waiting(node, right.sides, right.tree, left)
    if isinstance(node.op, ast.Mult) and isinstance(left, OneSided) and isinstance(right, Kernel):
        return _Waiting(node, left.sides, left.tree, right)
    return written(node)


@record
class _Waiting(OneSided):
    """f(x) k(x, z), which is a kernel once f(z) comes."""

    factor: ast.expr = None  # type: ignore[assignment]
    kernel: Kernel = None  # type: ignore[assignment]

    def times(self, other: Any, node: ast.BinOp) -> Any:
        if isinstance(other, OneSided) and other.sides != self.sides:
            return written(ast.BinOp(self.factor, ast.Mult(), other.tree)) * self.kernel
        if isinstance(other, (Kernel, int, float)):
            return _Waiting(node, self.sides, self.factor, self.kernel * other)
        return written(node)


def called(name: str, node: ast.Call, arguments: list[Any]) -> Any:
    """A function of numbers, a norm of a vector, or min and max of two vectors."""
    if name == "norm":
        vector, order = arguments[0], arguments[1] if len(arguments) > 1 else 2
        if not isinstance(vector, Vector):  # |u| of a number
            return called("abs", ast.Call(ast.Name("abs"), node.args, []), arguments)
        if order not in _NORMS:
            raise ValueError(f"there are the norms 1, 2 and inf, not {order}")
        return OneSided(node, vector.sides) if len(vector.sides) == 1 else written(node)
    two = name in ("min", "max")
    if len(arguments) != 1 + two:
        raise ValueError(f"{name} takes {'two numbers' if two else 'one number'}")
    if sorted(arguments, key=repr) == [Vector(0.0, 1.0), Vector(1.0, 0.0)]:
        return Intersection() if name == "min" else written(node)
    if any(isinstance(value, Vector) for value in arguments):
        raise ValueError(VECTORS)
    if all(isinstance(value, (int, float)) for value in arguments):
        return OPS[name].fold(Formula(name, map(const, arguments)))
    sides = {side for value in arguments for side in getattr(value, "sides", "")}
    if len(sides) == 1 and not any(isinstance(value, Kernel) for value in arguments):
        return OneSided(node, sides.pop())
    if isinstance(arguments[0], Kernel) and name in ("exp", "tanh"):
        known = (_exp if name == "exp" else _tanh)(arguments[0])
        return written(node) if known is None else known
    return written(node)


def written(tree: ast.expr) -> Written:
    """A formula without a name of its own, as the text that `parse` reads it from."""
    text = re.sub(r"norm\(([^(),|]*)\)", r"|\1|", ast.unparse(tree)).replace(" ** ", "^")
    return Written(re.sub(r"\b([xz]) \* ([xz])\b", r"\1·\2", text))


def finished(value: Any) -> Any:
    """What a whole formula is: numbers of one side are functions of two that ignore one."""
    if isinstance(value, Vector):
        raise ValueError(VECTORS)
    return written(value.tree) if isinstance(value, OneSided) else value


def check_symmetric(kernel: Kernel) -> None:
    """Refuse a formula with k(x, z) ≠ k(z, x), with the pair that shows it."""
    formulas = [part for _, part in kernel.parts() if isinstance(part, Written)]
    letters = [found for part in formulas for node in ast.walk(part.tree)
               if isinstance(node, ast.Name) and (found := LETTER.fullmatch(node.id))]  # fmt: skip
    columns = max([2, *(int(found[2] or 0) for found in letters)])
    X, Z = np.random.RandomState(0).uniform(0.1, 1.0, (2, 3, columns)).round(2)
    if formulas:
        there, back = np.asarray(kernel(X, Z)), np.asarray(kernel(Z, X)).T
        i, j = np.unravel_index(np.abs(there - back).argmax(), there.shape)
        if abs(there[i, j] - back[i, j]) > 1e-9 * max(1.0, float(abs(there[i, j]))):
            raise ValueError(
                f"this is no kernel, because it is not symmetric: for x = {X[i].tolist()} and "
                f"z = {Z[j].tolist()} it gives {there[i, j]:.4g}, for z and x {back[i, j]:.4g}"
            )


# --- kernels that are known by their formula -----------------------------------------------------


def _multiple(kernel: Kernel) -> tuple[float, Kernel]:
    return (kernel.factor, kernel.kernel) if isinstance(kernel, Scaled) else (1.0, kernel)


def _times(kernel: Kernel, factor: float) -> Kernel:
    before, base = _multiple(kernel)
    return base if before * factor == 1.0 else before * factor * base


def _affine(kernel: Kernel, inner: type[Kernel]) -> tuple[float, float] | None:
    """(a, b) where the kernel is a·inner + b."""
    constant = 0.0
    if isinstance(kernel, Sum):
        parts = [kernel.left, kernel.right]
        numbers = [part for part in parts if isinstance(part, Constant)]
        if len(numbers) != 1:
            return None
        constant = float(numbers[0].value)
        kernel = parts[1 - parts.index(numbers[0])]
    factor, base = _multiple(kernel)
    return (factor, constant) if type(base) is inner else None


def _distance(kernel: Kernel) -> tuple[Any, float] | None:
    """(p, q) where the kernel is ‖x − z‖ₚ to the power q."""
    if isinstance(kernel, SquaredDistance):
        return 2, 2.0
    tree: Any = kernel.tree if isinstance(kernel, Written) else None
    power: Any = 1.0
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
        tree, power = tree.left, _number(tree.right)
    if not (isinstance(tree, ast.Call) and ast.unparse(tree.func) == "norm") or power is None:
        return None
    if ast.unparse(tree.args[0]) not in ("x - z", "z - x"):
        return None
    return _NORMS[_number(tree.args[1]) if len(tree.args) > 1 else 2], power


def _number(tree: ast.expr) -> Any:
    value = getattr(tree, "value", None)
    return math.inf if ast.unparse(tree) == "inf" else value


def _exp(kernel: Kernel) -> Kernel | None:
    factor, base = _multiple(kernel)
    found = _distance(base)
    if found is None or factor >= 0:
        return kernel.exp() if not isinstance(base, Written) or base.claim().holds else None
    norm, power = found
    if (norm, power) == (2, 2.0):
        return Gaussian(sigma=1.0 / math.sqrt(-2.0 * factor))
    if power == 1.0:
        return Laplacian(rate=-factor, norm=norm)
    if norm == "inf" or power <= 0:
        return None
    return PowerExponential(length=(-factor) ** (-1.0 / power), power=power, norm=norm)


def _tanh(kernel: Kernel) -> Kernel | None:
    found = _affine(kernel, Linear)
    return None if found is None else Sigmoid(*found)


def _power(node: ast.BinOp, left: Any, right: Any) -> Kernel:
    if not isinstance(left, Kernel) or isinstance(right, Kernel):
        return written(node)
    if right == 2 and _distance(left) == (2, 1.0):
        return SquaredDistance()
    if isinstance(right, float) and right.is_integer():
        right = int(right)
    if not isinstance(right, int) or right < 1:
        rational = _rational(left, -right) if right < 0 else None
        return written(node) if rational is None else rational
    dots = _affine(left, Linear)
    if dots is not None and dots[0] > 0 and right > 1:
        return Polynomial(right, offset=dots[1], gamma=dots[0])
    unknown = isinstance(left, Written) and not left.claim().holds
    return written(node) if unknown else left**right


def _rational(kernel: Kernel, alpha: float) -> Kernel | None:
    """(a r² + b)^(−α) as a multiple of a rational quadratic."""
    found = _affine(kernel, SquaredDistance)
    if found is None or min(found) <= 0:
        return None
    a, b = found
    inner = RationalQuadratic(alpha=alpha, length=math.sqrt(b / (2.0 * alpha * a)))
    return inner if b == 1 else b**-alpha * inner


def separated(tree: ast.expr) -> dict[str, Counter[str]] | None:
    """The factors of f(x) f(z) by side, letters left out; None where a part has both sides."""
    found: dict[str, Counter[str]] = {"x": Counter(), "z": Counter()}
    return found if _separate(tree, "{}", found) else None


def _is_cosine(tree: ast.expr) -> bool:
    """cos(f(x) − f(z))"""
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != "cos":
        return False
    terms: dict[str, Counter[str]] = {"x": Counter(), "z": Counter()}
    whole = all(_separate(term, "{}", terms) for term in _terms(tree.args[0]))
    return whole and terms["x"] == Counter({_opposite(t): n for t, n in terms["z"].items()})


def _opposite(term: str) -> str:
    return term[1:] if term.startswith("-") else f"-{term}"


def _separate(tree: ast.expr, shape: str, found: dict[str, Counter[str]]) -> bool:
    sides = {node.id[0] for node in ast.walk(tree) if isinstance(node, ast.Name)
             and LETTER.fullmatch(node.id)}  # fmt: skip
    if not sides:
        return isinstance(tree, ast.Constant) and _number(tree) >= 0
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        below = f"1/({shape})" if isinstance(tree.op, ast.Div) else shape
        return _separate(tree.left, shape, found) and _separate(tree.right, below, found)
    if len(sides) == 1:
        found[sides.pop()][shape.format(_nameless(tree))] += 1
        return True
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
        raised = f"({shape})**({ast.unparse(tree.right)})"
        return isinstance(tree.right, ast.Constant) and _separate(tree.left, raised, found)
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "exp":
        return all(_separate(term, f"exp({shape})", found) for term in _terms(tree.args[0]))
    return False


def _nameless(tree: ast.expr) -> str:
    """The text of a formula, with one letter for x and z."""
    return ast.unparse(_Renamed().visit(ast.parse(ast.unparse(tree), mode="eval")))


def _terms(tree: ast.expr, sign: str = "") -> list[ast.expr]:
    """The terms of a sum, a minus of a sum with each of them."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return _terms(tree.operand, "" if sign else "-")
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub)):
        other = sign if isinstance(tree.op, ast.Add) else ("" if sign else "-")
        return _terms(tree.left, sign) + _terms(tree.right, other)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        number, rest = tree.right, tree.left
        if isinstance(rest, ast.Constant) and isinstance(tree.op, ast.Mult):
            number, rest = rest, number
        if isinstance(number, ast.Constant):
            return [ast.BinOp(t, tree.op, number) for t in _terms(rest, sign)]
    return [ast.UnaryOp(ast.USub(), tree)] if sign else [tree]


class _Renamed(ast.NodeTransformer):
    """x and z under one name."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"_{node.id[1:]}") if LETTER.fullmatch(node.id) else node


# --- what it computes, and how it looks ----------------------------------------------------------


class _Lowered:
    """The formula over pair statistics of what is written."""

    def __init__(self, rows: Input) -> None:
        self.rows = rows

    def of(self, tree: ast.AST) -> Any:
        if isinstance(tree, ast.Constant):
            return float(tree.value)  # type: ignore[arg-type]
        if isinstance(tree, ast.Name):
            return self.name(tree.id)
        if isinstance(tree, ast.UnaryOp):
            value = self.of(tree.operand)
            return value if isinstance(tree.op, ast.UAdd) else _scaled(value, -1.0)
        if isinstance(tree, ast.Call):
            return self.call(ast.unparse(tree.func), tree.args)
        assert isinstance(tree, ast.BinOp)
        return self.binary(type(tree.op), self.of(tree.left), self.of(tree.right))

    def name(self, name: str) -> Any:
        found = letter(name)
        if isinstance(found, OneSided):
            column = self.rows.then(Columns((int(name[1:]) - 1,)))
            return reduce_columns("sum", X_J if found.sides == "x" else Z_J, column)
        return math.inf if found is None else found

    def binary(self, op: type, left: Any, right: Any) -> Any:
        if isinstance(left, Vector) and isinstance(right, Vector) and op is ast.Mult:
            return self.product(left, right)
        if isinstance(right, Vector) and op is ast.Mult:
            left, right = right, left
        if isinstance(left, Vector):
            return left.of(op, right)
        if not isinstance(left, Formula) and not isinstance(right, Formula):
            return _ARITHMETIC[op](left, right)
        if op is ast.Div:
            return nodes.as_formula(left).over(right)
        if op is not ast.Pow:
            return _ARITHMETIC[op](left, right)
        if isinstance(right, float) and right.is_integer():
            squared = left.op == "sqrt" and right == 2
            return left.args[0] if squared else left ** int(right)
        return nodes.as_formula(left).apply("power", right)

    def product(self, u: Vector, v: Vector) -> Formula:
        cross = u.a * v.b + u.b * v.a
        total = const(0.0) if not cross else _scaled(dot(self.rows), cross)
        for side, factor in (("x", u.a * v.a), ("z", u.b * v.b)):
            if factor:
                total = total + _scaled(nodes.sqnorm(side, self.rows), factor)
        return total

    def call(self, name: str, given: list[ast.expr]) -> Any:
        values = [self.of(value) for value in given]
        if isinstance(values[0], Vector):
            if name == "norm":
                return self.norm(values[0], values[1] if len(values) > 1 else 2)
            return reduce_columns("sum", X_J.apply(name, Z_J), self.rows)
        name = "abs" if name == "norm" else name
        first = nodes.as_formula(values[0])
        return first.apply(name, *values[1:])

    def norm(self, v: Vector, order: float) -> Formula:
        if v.a == -v.b:
            stat = {1: nodes.l1, 2: lambda rows: sqdist(rows).sqrt(), math.inf: nodes.linf}[order]
            return _scaled(stat(self.rows), abs(v.a))
        if order == 2:
            return self.product(v, v).sqrt()
        body = (v.a * X_J + v.b * Z_J).apply("abs")
        return reduce_columns("sum" if order == 1 else "max", body, self.rows)


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, Vector):
        return Vector(factor * value.a, factor * value.b)
    return value if factor == 1.0 else factor * value


def latex(tree: ast.AST, names: dict[str, str]) -> str:
    """A formula in LaTeX; `names` are those of x and z."""
    if isinstance(tree, ast.Constant):
        return f"{_number(tree):g}"
    if isinstance(tree, ast.Name):
        found = LETTER.fullmatch(tree.id)
        index = f"_{{{found[2]}}}" if found and found[2] else ""
        return names[found[1]] + index if found else r"\infty"
    if isinstance(tree, ast.UnaryOp):
        inner = latex(tree.operand, names)
        return f"-{_fenced(tree.operand, inner)}" if isinstance(tree.op, ast.USub) else inner
    if isinstance(tree, ast.Call):
        inside = ", ".join(latex(value, names) for value in tree.args)
        name = ast.unparse(tree.func)
        if name == "norm":
            order = "".join(f"_{{{latex(value, names)}}}" for value in tree.args[1:])
            return rf"\|{latex(tree.args[0], names)}\|{order}"
        if name == "abs":
            return rf"\lvert {inside} \rvert"
        return rf"\sqrt{{{inside}}}" if name == "sqrt" else rf"\{name}\left({inside}\right)"
    assert isinstance(tree, ast.BinOp)
    left, right = latex(tree.left, names), latex(tree.right, names)
    if isinstance(tree.op, ast.Pow):
        atom = isinstance(tree.left, (ast.Constant, ast.Name)) or left.startswith(r"\|")
        base = left if atom else rf"\left({left}\right)"
        return f"{base}^{{{right}}}"
    if isinstance(tree.op, ast.Div):
        return rf"\frac{{{left}}}{{{right}}}"
    if isinstance(tree.op, ast.Mult):
        vectors = all(isinstance(side, ast.Name) for side in (tree.left, tree.right))
        sign = r" \cdot " if vectors else r" \, "
        return f"{_fenced(tree.left, left)}{sign}{_fenced(tree.right, right)}"
    sign = "+" if isinstance(tree.op, ast.Add) else "-"
    return f"{left} {sign} {right if sign == '+' else _fenced(tree.right, right)}"


def _fenced(tree: ast.AST, text: str) -> str:
    sums = isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub))
    return rf"\left({text}\right)" if sums else text
