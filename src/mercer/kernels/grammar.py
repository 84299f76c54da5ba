"""The expression language: text to kernel, through a grammar on Python's `ast`.

Beside the names of kernels it reads formulas of x and z as they stand on a blackboard,
``exp(-|x-z|^2/2)``, ``(1 + x·z)^2``, ``min(x, z)``: `expressions.mathematics`.

A bare name is a word of the field: "rbf", "poly", "sigmoid", "laplacian" and "linear" mean what
they mean in scikit-learn, and the data chooses their widths.

Nothing is ever evaluated: names, signed numbers, strings, lists, keyword arguments, ``+ - * / **``
and calls of known kernels and building blocks are all there is, with limits on length, depth and
the size of numbers.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from mercer._suggest import suggest
from mercer.kernels.catalog import LEAVES, respelled
from mercer.kernels.core import Kernel
from mercer.kernels.dots import Polynomial
from mercer.kernels.expressions import mathematics
from mercer.kernels.expressions.blackboard import Typed
from mercer.kernels.expressions.errors import ExpressionError, GrammarError
from mercer.kernels.parameters import WORDS, as_width, grammar_name
from mercer.kernels.radial import Gaussian

MAX_LENGTH = 10_000
MAX_DEPTH = 60
MAX_NUMBER = 1e300
MAX_DEGREE = 1_000

#: The building blocks, as methods of a kernel.
BLOCKS = ("polynomial", "exp", "warp", "metric", "reweight", "normalized", "on")
_INFINITY = {"inf": math.inf, "infinity": math.inf}


def parse(text: str) -> Kernel:
    """The kernel an expression describes.

    Parameters
    ----------
    text : str
        An expression, such as kernels print themselves, or a formula of x and z.

    Returns
    -------
    Kernel
        What the text describes. No Python is evaluated.

    Examples
    --------
    >>> parse("0.5*gaussian(sigma=2).on(['age']) + polynomial(3, offset=1).normalized()")
    0.5 * Gaussian(sigma=2.0).on(['age']) + Polynomial(degree=3, offset=1.0).normalized()

    A bare name is a kernel whose widths the data chooses, "scale" and "median" need no quotes:

    >>> parse("rbf + 2*matern(length=median)")
    Gaussian(sigma='scale') + 2.0 * Matern(length='median')

    A formula of x and z, with ``^``, ``·`` and ``|…|``, is read as well:

    >>> parse("exp(-|x-z|^2/2) + 3 (1 + x·z)^2")
    Gaussian() + 3.0 * Polynomial(degree=2, offset=1.0)
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is a string, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ValueError(
            f"the expression has {len(text)} characters; at most {MAX_LENGTH} are read"
        )
    if _nesting(text) > MAX_DEPTH:
        raise ValueError(f"the expression is nested more than {MAX_DEPTH} deep")
    typed = Typed(text)
    try:
        tree = typed.tree()
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise GrammarError(
            f"this is not a kernel expression: {_shorten(text)!r} "
            f"({error.msg if isinstance(error, SyntaxError) else error}). It is written like "
            "'2*gaussian(sigma=3) + linear()**2' or 'exp(-|x-z|^2/2)'",
            *(typed.blamed(error) if isinstance(error, SyntaxError) else (0, len(text))),
        ) from None
    reader = _Reader(typed)
    value = reader.at(tree, lambda: mathematics.finished(reader.read(tree, 0)))
    if not isinstance(value, Kernel):
        words = f"the expression {_shorten(text)!r} is {value!r}, not a kernel"
        raise GrammarError(words, *typed.span(tree))
    if typed.mathematics:
        reader.at(tree, lambda: mathematics.check_symmetric(value))
    return value


def _nesting(text: str) -> int:
    """The deepest bracket, found before the parser of the language could run out of stack."""
    deepest = depth = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


class _Reader:
    def __init__(self, typed: Typed) -> None:
        self.typed, self.span = typed, typed.span

    def read(self, node: ast.AST, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"the expression is nested more than {MAX_DEPTH} deep")
        rule = _RULES.get(type(node))
        if rule is None:
            raise self.refuse(node, "is not part of the language of kernels")
        return self.at(node, lambda: rule(self, node, depth + 1))

    def at(self, node: ast.AST, work: Callable[[], Any]) -> Any:
        """What `work` gives; an error that does not say where it arose is one of this node."""
        try:
            return work()
        except GrammarError as error:
            if not error.end:
                error.start, error.end = self.span(node)
            raise
        except ValueError as error:
            raise GrammarError(str(error), *self.span(node)) from None

    def refuse(self, node: ast.AST, why: str) -> GrammarError:
        start, end = self.span(node)
        part = self.typed.text[start:end].strip()
        return GrammarError(f"{_shorten(part)!r} {why}", start, end)

    def constant(self, node: ast.Constant, depth: int) -> Any:
        value = node.value
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            if abs(value) > MAX_NUMBER:
                raise self.refuse(node, "is too large a number")
            return value
        raise self.refuse(node, "is not a number, a string or a list")

    def sequence(self, node: ast.List | ast.Tuple, depth: int) -> list[Any]:
        return [self.read(item, depth) for item in node.elts]

    def name(self, node: ast.Name, depth: int) -> Any:
        if node.id in _INFINITY:
            return _INFINITY[node.id]
        known = mathematics.letter(node.id) if self.typed.mathematics else None
        return known or (node.id if node.id in WORDS else bare(node.id))

    def unary(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self.read(node.operand, depth)
        if self.typed.mathematics and isinstance(node.op, ast.USub):
            return mathematics.negative(node, value)
        if isinstance(node.op, ast.USub) and isinstance(value, (Kernel, int, float)):
            return -value
        if isinstance(node.op, ast.UAdd) and isinstance(value, (Kernel, int, float)):
            return value
        raise self.refuse(node, "is not part of the language of kernels")

    def binary(self, node: ast.BinOp, depth: int) -> Any:
        operation = _OPERATORS.get(type(node.op))
        if operation is None:
            raise self.refuse(node, "uses an operator other than + - * / ** (the last is a power)")
        left, right = self.read(node.left, depth), self.read(node.right, depth)
        if self.typed.mathematics:
            return mathematics.combined(node, left, right)
        if not all(isinstance(v, (Kernel, int, float)) for v in (left, right)):
            raise self.refuse(node, "mixes kernels or numbers with something else")
        if not isinstance(left, Kernel) and not isinstance(right, Kernel):
            raise self.refuse(node, "is arithmetic on bare numbers: write the result")
        if isinstance(node.op, ast.Pow) and (isinstance(right, Kernel) or right > MAX_DEGREE):
            raise self.refuse(node, f"needs a whole number up to {MAX_DEGREE} as its exponent")
        try:
            return operation(left, right)
        except TypeError:
            raise self.refuse(node, "does not make a kernel") from None

    def call(self, node: ast.Call, depth: int) -> Any:
        """A kernel by its name, or a method of one, with its arguments."""
        arguments = [self.read(a, depth) for a in node.args]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(node, "uses **, which is not part of the language of kernels")
            if keyword.arg in keywords:
                raise self.refuse(node, f"gives {keyword.arg} twice")
            keywords[keyword.arg] = self.read(keyword.value, depth)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if self.typed.mathematics and name in mathematics.CALLS:
                return mathematics.called(name, node, arguments)
            target: Callable[..., Any] = self.at(
                node.func, lambda: ALIASES.get(name.lower()) or find(name)
            )
        elif isinstance(node.func, ast.Attribute):
            target = self.method(node.func, depth)
        else:
            raise self.refuse(node, "is not a call of a kernel")
        try:
            if isinstance(target, type):
                keywords = respelled(target, keywords)
            _check_names(target, arguments, keywords)
            return target(*arguments, **keywords)
        except (TypeError, ValueError) as error:
            words = f"in {self.refuse(node, '').args[0].strip()}: {error}"
            raise ExpressionError(words, *self.blamed(node, target, str(error))) from None

    def blamed(self, node: ast.Call, target: Callable[..., Any], words: str) -> tuple[int, int]:
        """The characters of the argument that an error names, else those of the call."""
        said = set(re.findall(r"\w+", words))
        for keyword in node.keywords:
            if keyword.arg in said:
                start, end = self.span(keyword)
                known = keyword.arg in inspect.signature(target).parameters
                return (start, end) if known else (start, start + len(str(keyword.arg)))
        for value, parameter in zip(node.args, inspect.signature(target).parameters, strict=False):
            if parameter in said:
                return self.span(value)
        return self.span(node)

    def method(self, node: ast.Attribute, depth: int) -> Callable[..., Any]:
        if node.attr == "from_gamma" and isinstance(node.value, ast.Name):
            family = find(node.value.id)
            if not hasattr(family, "from_gamma"):
                raise self.refuse(node, "does not exist; there is gaussian.from_gamma")
            return family.from_gamma  # type: ignore[no-any-return]
        if node.attr not in BLOCKS:
            near = difflib.get_close_matches(node.attr, BLOCKS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(BLOCKS)}"
            end = self.span(node)[1]
            words = f"kernels have no building block {node.attr!r}{hint}"
            raise GrammarError(words, end - len(node.attr), end, near[0] if near else "")
        owner = self.read(node.value, depth)
        if not isinstance(owner, Kernel):
            raise self.refuse(node, "is not a building block of a kernel")
        return getattr(owner, node.attr)  # type: ignore[no-any-return]


def _check_names(
    target: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any]
) -> None:
    """Arguments in the words of who typed them; Python's own speak of `__init__` and `self`."""
    name, parameters = target.__name__, inspect.signature(target).parameters
    known = list(parameters)
    for keyword in keywords:
        if keyword not in parameters:
            hint = suggest(keyword, known) or " It has none."
            raise ValueError(f"{name} has no parameter {keyword!r}.{hint}")
        if keyword in known[: len(arguments)]:
            raise ValueError(f"{name} is given {keyword} twice, once by position")
    if len(arguments) > len(known):
        most = f"at most {len(known)} ({', '.join(known)})" if known else "no parameters"
        raise ValueError(f"{name} takes {most}, got {len(arguments)}")
    for missing in known[len(arguments) :]:
        if parameters[missing].default is inspect.Parameter.empty and missing not in keywords:
            raise ValueError(f"{name} needs a value for {missing}")


_RULES: dict[type, Callable[..., Any]] = {
    ast.Constant: _Reader.constant,
    ast.List: _Reader.sequence,
    ast.Tuple: _Reader.sequence,
    ast.Name: _Reader.name,
    ast.UnaryOp: _Reader.unary,
    ast.BinOp: _Reader.binary,
    ast.Call: _Reader.call,
}

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def find(name: str) -> type[Kernel]:
    """The kernel class of that name, in any of its spellings (`gaussian`, `squared_distance`)."""
    found = _spelled(name)
    if found is None:
        raise unknown_name(name)
    return found


def _spelled(name: str) -> type[Kernel] | None:
    key = name.lower()
    if key in LEAVES:
        return LEAVES[key]
    return {spelling.replace("_", ""): cls for spelling, cls in LEAVES.items()}.get(key)


def unknown_name(name: str) -> ValueError:
    known = sorted([*LEAVES, *ALIASES])
    near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.5)
    near = ["x·z"] if name in ("xz", "zx") else near
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
    words = f"there is no kernel named {_shorten(name)!r}. {hint}"
    return GrammarError(words, hint=near[0] if near else "")


# --- the field's words -----------------------------------------------------------------------

#: Parameters of a bare name that are neither a width nor at their default.
_SETTINGS: dict[str, dict[str, Any]] = {"polynomial": {"degree": 3}, "laplacian": {"norm": 1}}
#: Arguments that scikit-learn's estimators take beside the name of a kernel.
BESIDE = ("gamma", "degree", "coef0")


def rbf(gamma: Any = "scale") -> Gaussian:
    """exp(−γ‖x − z‖²), under the name it has elsewhere."""
    return Gaussian.from_gamma(gamma)


#: Names of the field for kernels that are called otherwise here.
ALIASES: dict[str, Callable[..., Kernel]] = {"rbf": rbf, "poly": Polynomial}
_CLASSES: dict[str, type[Kernel]] = {"rbf": Gaussian, "poly": Polynomial}


def bare(cls: type[Kernel] | str, **beside: Any) -> Kernel:
    """The kernel that a class or a bare name stands for; `gamma`, `degree` and `coef0` set parts.

    >>> from mercer import Laplacian, Matern
    >>> bare("poly"), bare("rbf", gamma=0.5), bare(Matern)
    (Polynomial(degree=3, gamma='scale'), Gaussian(), Matern(length='scale'))

    scikit-learn's "laplacian" is of the norm 1; the class is of the Euclidean one:

    >>> bare("laplacian"), bare(Laplacian)
    (Laplacian(rate='scale', norm=1), Laplacian(rate='scale'))
    """
    settings: dict[str, Any] = {}
    if isinstance(cls, str):
        cls = _CLASSES.get(cls.lower()) or find(cls)
        settings = dict(_SETTINGS.get(grammar_name(cls), {}))
    elif cls is Polynomial:
        settings = dict(_SETTINGS["polynomial"])
    # What a kernel has no parameter for is ignored, as scikit-learn does: a search over "rbf" and
    # "poly" gives a degree to both.
    for name, value in beside.items():
        if value is not None and (name in cls.parameters or name in cls.spellings):
            settings.pop(cls.spellings.get(name, (name,))[0], None)
            settings[name] = value
    return cls(**settings, **_chosen(cls, settings))


def _chosen(cls: type[Kernel], settings: dict[str, Any]) -> dict[str, str]:
    """ "scale" for the widths that are not set; an error for what has no default."""
    taken = {cls.spellings.get(name, (name,))[0] for name in settings}
    others = [field for field in fields(cls) if field.name not in taken]  # type: ignore[arg-type]
    lacking = [f.name for f in others if f.default is MISSING and f.default_factory is MISSING]
    if lacking:
        name = grammar_name(cls)
        raise ValueError(f"{name} needs its {' and '.join(lacking)}: write {name}({lacking[0]}=…)")
    widths = [f for f in others if as_width(cls.parameters.get(f.name))]
    return {f.name: "scale" for f in widths if isinstance(f.default, float)}
